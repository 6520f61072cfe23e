"""The HTTP door: phones post their fixes, web pages read the latest release.

    POST /owntracks                 OwnTracks in HTTP mode
    GET, POST /osmand, /            Traccar Client and OsmAnd
    GET  /people/NAME/latest        the latest release, a GeoJSON feature
    GET  /people/NAME/events        releases as server-sent events
    GET  /people/NAME/told          what the releases have told about each event so far

Where a person has a token it is asked for: as a bearer, as the password of basic authentication, or
as ``?token=``. Web pages cannot post fixes, nor read through a name that was made to point here.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from priste.float_text import number_to_json
from priste.live.addresses import is_loopback
from priste.live.logs import tell
from priste.live.point import Point
from priste.live.protocols import geojson, osmand, owntracks
from priste.live.protocols.fields import LARGEST_MESSAGE, Unreadable
from priste.traces import Fix

if TYPE_CHECKING:
    from priste.live.settings import Settings

BODY_SECONDS = 10.0
"""How long a body may take to arrive."""

MOST_LISTENERS = 64
"""Pages that may follow the events of one person."""

HEARTBEAT = 15.0
"""Seconds after which an event stream says that it is still there."""


class Occupant(Protocol):
    """A person as the web sees them."""

    name: str
    token: str | None

    @property
    def latest(self) -> Point | None:
        """The latest release."""
        ...

    async def take(self, fix: Fix) -> None:
        """Take a fix."""
        ...

    async def changed(self, point: Point | None) -> None:
        """Wait until the latest release is another than this."""
        ...

    def told(self) -> dict[str, Any]:
        """What the releases have told so far: public numbers, no true location."""
        ...


Find = Callable[..., Occupant | None]
"""Returns the person of the first known device among some names, or of a name alone."""


class Refused(Exception):
    """An answer other than 200; nothing of the request is in it."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def application(settings: Settings, by_device: Find, by_name: Find) -> Starlette:
    """Return the ASGI application of a service."""

    async def post_owntracks(request: Request) -> Response:
        _refuse_pages(request)
        user = request.headers.get("x-limit-u") or request.query_params.get("u") or _user(request)
        device = request.headers.get("x-limit-d") or request.query_params.get("d") or ""
        person = _allowed(request, by_device(f"{user}/{device}", user, device))
        body = await _body(request)
        # A phone would send what is refused again and again: transitions and waypoints end here.
        with suppress(Unreadable):
            await person.take(owntracks.read(body))
        return _json(owntracks.REPLY)

    async def take_osmand(request: Request) -> Response:
        _refuse_pages(request)
        body = await _body(request)
        if body.lstrip()[:1] == b"{":
            fix = osmand.read_json(body)
        else:
            form = parse_qsl(body.decode("utf-8", "replace")) if body else []
            fields = {**dict(request.query_params), **dict(form)}
            fix = osmand.read_query(fields, datetime.now(UTC))
        await _allowed(request, by_device(fix.user or "")).take(fix)
        return Response(b"")

    async def latest(request: Request) -> Response:
        point = _named(request).latest
        return Response(status_code=204) if point is None else _json(geojson.write(point))

    async def told(request: Request) -> Response:
        found = _named(request).told()
        for event in found["events"].values():
            event["leakage"] = number_to_json(event["leakage"])
        return _json(json.dumps(found, allow_nan=False).encode())

    listeners: dict[str, int] = {}

    async def events(request: Request) -> Response:
        person = _named(request)
        if listeners.get(person.name, 0) >= MOST_LISTENERS:
            raise Refused(503)
        listeners[person.name] = listeners.get(person.name, 0) + 1

        async def stream() -> AsyncIterator[bytes]:
            told: Point | None = None
            try:
                while True:
                    point = person.latest
                    if point is not None and point != told:
                        yield geojson.write_event(point)
                        told = point
                    try:
                        await asyncio.wait_for(person.changed(told), HEARTBEAT)
                    except TimeoutError:
                        yield b": still here\n\n"
            finally:
                listeners[person.name] -= 1

        return StreamingResponse(stream(), media_type="text/event-stream", headers=_FRESH)

    def _named(request: Request) -> Occupant:
        _refuse_other_hosts(request)
        return _allowed(request, by_name(request.path_params["name"]))

    def _refuse_other_hosts(request: Request) -> None:
        host = (request.url.hostname or "").strip("[]")
        listens = None if settings.listen is None else settings.listen[0]
        if not (is_loopback(host) or host == listens or settings.expose):
            raise Refused(403)

    routes = [
        Route("/owntracks", _answering(post_owntracks), methods=["POST"]),
        Route("/pub", _answering(post_owntracks), methods=["POST"]),
        Route("/osmand", _answering(take_osmand), methods=["GET", "POST"]),
        Route("/", _answering(take_osmand), methods=["GET", "POST"]),
        Route("/people/{name}/latest", _answering(latest), methods=["GET"]),
        Route("/people/{name}/events", _answering(events), methods=["GET"]),
        Route("/people/{name}/told", _answering(told), methods=["GET"]),
    ]
    return Starlette(routes=routes)


_FRESH = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Handler = Callable[[Request], Awaitable[Response]]


def _answering(handler: Handler) -> Handler:
    """Let nothing but an answer out of a handler: no exception, no traceback, no text of one."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Refused as refusal:
            return Response(status_code=refusal.status)
        except Unreadable:
            return Response(status_code=400)
        except (ClientDisconnect, TimeoutError):
            return Response(status_code=408)
        except Exception as problem:
            tell("request failed", why=type(problem).__name__)
            return Response(status_code=500)

    return answer


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers=_FRESH)


async def _body(request: Request) -> bytes:
    received = bytearray()
    async with asyncio.timeout(BODY_SECONDS):
        async for chunk in request.stream():
            received += chunk
            if len(received) > LARGEST_MESSAGE:
                raise Refused(413)
    return bytes(received)


def _refuse_pages(request: Request) -> None:
    """Refuse what a browser sends on behalf of a page: no phone states an origin."""
    if "origin" in request.headers or request.headers.get("sec-fetch-site", "none") != "none":
        raise Refused(403)


def _allowed(request: Request, person: Occupant | None) -> Occupant:
    """Return the person if there is one and the request may speak for or ask about them."""
    if person is None:
        raise Refused(404)
    if person.token is None:
        return person
    given = request.query_params.get("token") or _password(request)
    if not hmac.compare_digest(given.encode(), person.token.encode()):
        raise Refused(401)
    return person


def _password(request: Request) -> str:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    return _basic(request)[1]


def _user(request: Request) -> str:
    return _basic(request)[0]


def _basic(request: Request) -> tuple[str, str]:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return "", ""
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password
