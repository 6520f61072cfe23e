"""Watching a running ``priste live``: its released points, passed on from loopback to the page.

The page itself may connect to nothing but the studio, so the studio asks. It asks only this
machine, and receives only releases, no true location.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from priste.studio.wire import Refused, text_of

LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}
LONGEST_LINE = 65_536
SILENCE = 45.0
"""Seconds without a message (one comes every 15) after which the service counts as gone."""

RETRY = 3.0


class Gone(Exception):
    """The service does not answer, or not with releases; the text says so in words."""

    def __init__(self, words: str, *, for_good: bool = False) -> None:
        super().__init__(words)
        self.words = words
        self.for_good = for_good


@dataclass(frozen=True)
class Watch:
    """The person to watch, and the address."""

    host: str
    port: int
    person: str
    token: str | None = field(repr=False)

    @classmethod
    def asked(cls, given: Any) -> Watch:
        """Read what the page asks for; Refused for anything that is not on this machine."""
        if not isinstance(given, dict):
            raise Refused(422, "Say which service to watch.")
        try:
            address = urlsplit(str(given.get("url", "")))
            host, port = address.hostname or "", address.port or 80
        except ValueError:
            host, port, address = "", 0, urlsplit("")
        if address.scheme != "http" or host not in LOOPBACK or not 0 < port < 65536:
            raise Refused(
                422,
                "The studio watches a service on this machine only.",
                "Write its address as http://127.0.0.1:8787.",
            )
        person, token = given.get("person") or "me", given.get("token") or None
        if not isinstance(person, str) or not (token is None or isinstance(token, str)):
            raise Refused(422, "The person and the token must be texts.")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise Refused(422, "The token holds characters that no token has.")
        return cls(LOOPBACK[host], port, person, token)

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield server-sent events for the page: points as they come, losses in words."""
        while True:
            try:
                async for event, value in self._connection():
                    yield _event(event, value)
                raise Gone("The service ended the connection.")
            except Gone as gone:
                kind = "failed" if gone.for_good else "lost"
                yield _event(kind, {"message": gone.words})
                if gone.for_good:
                    return
            except (httpx.HTTPError, ValueError):
                yield _event("lost", {"message": "The service does not answer. Trying again."})
            await asyncio.sleep(RETRY)

    async def _connection(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        host = f"[{self.host}]" if ":" in self.host else self.host
        bearer = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        async with (
            httpx.AsyncClient(
                base_url=f"http://{host}:{self.port}/people/{quote(self.person, safe='')}/",
                headers=bearer,
                timeout=httpx.Timeout(10.0, read=SILENCE),
                trust_env=False,
            ) as client,
            client.stream("GET", "events") as answer,
        ):
            _check_status(answer.status_code)
            yield "connected", {"person": self.person}
            async for text in _lines(answer):
                if text.startswith("data:"):
                    yield "point", _point(text[5:])
                    yield "guarantee", await _guarantee(client)


async def _guarantee(client: httpx.AsyncClient) -> dict[str, Any]:
    """Return what is guaranteed, and with the owner's token also what has leaked so far."""
    try:
        answer = await client.get("leakage")
        if answer.status_code != 200:
            answer = await client.get("guarantee")
        found = answer.json()
        events = [
            {
                "name": str(name),
                "guarantee": str(each["guarantee"]),
                **{what: float(each[what]) for what in ("leakage", "belief") if what in each},
            }
            for name, each in found["events"].items()
        ]
        return {"adversary": str(found["adversary"]), "events": events}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {"adversary": "", "events": []}


async def _lines(answer: httpx.Response) -> AsyncIterator[str]:
    """Yield the lines of an answer; Gone for one without an end."""
    begun = b""
    async for received in answer.aiter_bytes():
        *whole, begun = (begun + received).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
        if len(begun) > LONGEST_LINE:
            raise Gone("What came is no release of priste live.", for_good=True)


def _check_status(status: int) -> None:
    if status == 200:
        return
    words = {
        401: "The service wants the token of this person, or does not know the person.",
        403: "The service refuses to be watched from here.",
        429: "The service was given too many wrong tokens. Wait a minute.",
        503: "Too many pages watch this person already.",
    }
    raise Gone(words.get(status, "This is not a running priste live."), for_good=True)


def _point(text: str) -> dict[str, Any]:
    """Return a released point; Gone for anything else."""
    try:
        feature = json.loads(text)
        lon, lat = (float(number) for number in feature["geometry"]["coordinates"])
        told = feature["properties"]
        found = {
            "lat": lat,
            "lon": lon,
            "step": int(told["step"]),
            "time": str(told["time"]),
            "accuracy_m": float(told["accuracy"]),
            "person": str(told["person"]),
        }
    except (ValueError, KeyError, TypeError, IndexError):
        raise Gone("What came is no release of priste live.", for_good=True) from None
    if not (math.isfinite(lat) and math.isfinite(lon)):
        raise Gone("What came is no release of priste live.", for_good=True)
    return found


def _event(name: str, value: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {text_of(value)}\n\n".encode("utf-8", "replace")
