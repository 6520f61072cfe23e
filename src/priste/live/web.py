"""The HTTP port: phones post their fixes, apps read the latest release, the owner the status.

What phones may post is in the table of protocols. The rest::

    GET /people/NAME/latest      the latest release, a GeoJSON feature
    GET /people/NAME/events      releases as server-sent events
    GET /people/NAME/guarantee   what is guaranteed, against which adversary: the same at all times
    GET /people/NAME/leakage     only the owner: how much the releases have revealed so far
    GET /, /status               only the owner: the state of the service, as a page and as JSON

The leakage moves with a release that came from a fix and not with a cover, so an app that could
read it could tell them apart. :mod:`priste.live.access` says who may ask what.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from priste.float_text import number_to_json
from priste.live.access import Access, Refused, basic, refuse_pages
from priste.live.addresses import Reach
from priste.live.logs import tell
from priste.live.point import Point
from priste.live.protocol import Message, Post
from priste.live.protocol_table import posts
from priste.live.protocols import geojson
from priste.live.protocols.fields import LARGEST_BATCH, Unreadable
from priste.live.retrying import Line
from priste.live.status import status_of
from priste.live.status_page import status_page

if TYPE_CHECKING:
    from priste.live.service import Person, Service

BODY_SECONDS = 10.0
"""How long a body may take to arrive."""

MOST_LISTENERS = 64
"""Clients that may follow the events of one person."""

HEARTBEAT = 15.0
"""Seconds after which an event stream says that it is still there."""

_FRESH = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_PAGE = {
    **_FRESH,
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Referrer-Policy": "no-referrer",
}

Handler = Callable[[Request], Awaitable[Response]]


def application(service: Service) -> Starlette:
    """Return the ASGI application of a service."""
    return Starlette(routes=_Door(service).routes())


class _Door:
    """The handlers of one service."""

    def __init__(self, service: Service) -> None:
        listen = service.settings.listen
        self._service = service
        self._access = Access(
            service.owner_token,
            [person.token for person in service.people.values()],
            None if listen is None else listen[0],
            service.settings.reach is not Reach.HERE,
        )
        self._listeners: dict[str, int] = {}

    def routes(self) -> list[Route]:
        """Return the routes."""
        found = []
        for path, post in posts().items():
            handler = self._root(post) if path == "/" else self._taking(post)
            found.append(Route(path, _answering(handler), methods=list(post.methods)))
        for name, handler in (
            ("latest", self._latest),
            ("events", self._events),
            ("guarantee", self._guarantee),
            ("leakage", self._leakage),
        ):
            found.append(Route(f"/people/{{name}}/{name}", _answering(handler), methods=["GET"]))
        found.append(Route("/status", _answering(self._status), methods=["GET"]))
        return found

    # ------------------------------------------------------------------ what phones post

    def _taking(self, post: Post) -> Handler:
        """Return the handler of one way in; what it took and refused is counted."""
        line = self._service.doors.setdefault(post.path, Line(post.path, "listening"))

        async def take(request: Request) -> Response:
            refuse_pages(request)
            try:
                await self._take(post, line, request)
            except Unreadable as problem:
                line.reasons[str(problem)] += 1
                if not post.forgiving:
                    raise
            except Refused as refusal:
                line.reasons[refusal.reason] += 1
                raise
            return _json(post.reply) if post.reply else Response(b"")

        return take

    async def _take(self, post: Post, line: Line, request: Request) -> None:
        message = await _message(request)
        for reported in post.read(message):
            person = self._service.by_device(*reported.names)
            if person is None:
                self._access.refuse_unknown(request)
            self._access.allow(request, person.token)
            try:
                fix = reported.fix(person)
            except Unreadable as problem:
                if not post.forgiving:
                    raise
                line.reasons[str(problem)] += 1
                continue
            if await person.take(fix):
                line.messages += 1

    def _root(self, post: Post) -> Handler:
        """Return the handler of ``/``: trackers post there too, and the owner gets the page."""
        take = self._taking(post)

        async def root(request: Request) -> Response:
            if request.method == "POST" or {"id", "deviceid"} & set(request.query_params):
                return await take(request)
            self._access.refuse_other_hosts(request)
            self._access.allow_owner(request)
            page = status_page(status_of(self._service), self._service.recent())
            return Response(page, media_type="text/html; charset=utf-8", headers=_PAGE)

        return root

    # ------------------------------------------------------------------ what apps read

    def _named(self, request: Request) -> Person:
        self._access.refuse_other_hosts(request)
        person = self._service.people.get(request.path_params["name"])
        if person is None:
            self._access.refuse_unknown(request)
        self._access.allow(request, person.token)
        return person

    async def _latest(self, request: Request) -> Response:
        point = self._named(request).latest
        return Response(status_code=204) if point is None else _json(geojson.write(point))

    async def _guarantee(self, request: Request) -> Response:
        return _json(json.dumps(self._named(request).guarantee()).encode())

    async def _events(self, request: Request) -> Response:
        person = self._named(request)
        if self._listeners.get(person.name, 0) >= MOST_LISTENERS:
            raise Refused(503)
        self._listeners[person.name] = self._listeners.get(person.name, 0) + 1

        async def stream() -> AsyncIterator[bytes]:
            sent: Point | None = None
            try:
                while True:
                    point = person.latest
                    if point is not None and point != sent:
                        yield geojson.write_event(point)
                        sent = point
                    try:
                        await asyncio.wait_for(person.changed(sent), HEARTBEAT)
                    except TimeoutError:
                        yield b": still here\n\n"
            finally:
                self._listeners[person.name] -= 1

        return StreamingResponse(stream(), media_type="text/event-stream", headers=_FRESH)

    # ------------------------------------------------------------------ what the owner reads

    async def _leakage(self, request: Request) -> Response:
        self._access.allow_owner(request)
        found = self._named(request).leakage()
        for event in found["events"].values():
            event["leakage"] = number_to_json(event["leakage"])
        return _json(json.dumps(found, allow_nan=False).encode())

    async def _status(self, request: Request) -> Response:
        self._access.refuse_other_hosts(request)
        self._access.allow_owner(request)
        return _json(json.dumps(status_of(self._service)).encode())


def _answering(handler: Handler) -> Handler:
    """Turn every exception of a handler into an answer without its text or traceback."""

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


async def _message(request: Request) -> Message:
    body = await _body(request)
    fields = {**dict(request.query_params), **request.path_params}
    if body.lstrip()[:1] not in (b"{", b"["):
        fields |= dict(parse_qsl(body.decode("utf-8", "replace")))
    return Message(body, fields, request.headers, basic(request)[0], datetime.now(UTC))


async def _body(request: Request) -> bytes:
    received = bytearray()
    async with asyncio.timeout(BODY_SECONDS):
        async for chunk in request.stream():
            received += chunk
            if len(received) > LARGEST_BATCH:
                raise Refused(413)
    return bytes(received)
