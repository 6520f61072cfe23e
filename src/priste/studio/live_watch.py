"""Watching a running ``priste live``: its released points, passed on from loopback to the page.

The page itself may connect to nothing but the studio, so the studio asks. It asks this machine
alone, and what comes back are releases: nothing of the truth is known to it.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from priste.studio.wire import Refused, text_of

LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}
LONGEST_LINE = 65_536
SILENCE = 45.0
"""Seconds without a sign of life (one comes every 15) after which the service counts as gone."""

RETRY = 3.0


class Gone(Exception):
    """The service does not answer, or not with releases; the text says so in words."""

    def __init__(self, words: str, *, for_good: bool = False) -> None:
        super().__init__(words)
        self.words = words
        self.for_good = for_good


@dataclass(frozen=True)
class Watch:
    """Whom to watch, and where."""

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
                "The studio watches a service on this machine alone.",
                "Write its address as http://127.0.0.1:8787.",
            )
        person, token = given.get("person") or "me", given.get("token") or None
        if not isinstance(person, str) or not (token is None or isinstance(token, str)):
            raise Refused(422, "The person and the token must be texts.")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise Refused(422, "The token holds characters that no token has.")
        return cls(LOOPBACK[host], port, person, token)

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield server-sent events for the page, for ever: points as they come, losses in words."""
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
            except (OSError, TimeoutError, ValueError):
                yield _event("lost", {"message": "The service does not answer. Trying again."})
            await asyncio.sleep(RETRY)

    async def _connection(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        async with self._asked("events") as reader:
            yield "connected", {"person": self.person}
            while True:
                text = await _line(reader)
                if text.startswith("data:"):
                    yield "point", _point(text[5:])
                    yield "told", await self._told()

    async def _told(self) -> dict[str, Any]:
        """Return what the releases have told so far; nothing where the service does not say."""
        try:
            async with self._asked("told") as reader:
                found = json.loads(await _line(reader))
            events = [
                {
                    "name": str(name),
                    "guarantee": str(each["guarantee"]),
                    "leakage": float(each["leakage"]),
                    "belief": float(each["belief"]),
                }
                for name, each in found["events"].items()
            ]
            return {"against": str(found["against"]), "events": events}
        except (Gone, ValueError, KeyError, TypeError, AttributeError):
            return {"against": "", "events": []}

    @asynccontextmanager
    async def _asked(self, what: str) -> AsyncIterator[asyncio.StreamReader]:
        """Ask the service for something about the person; yield its answer after the headers."""
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection(self.host, self.port, limit=LONGEST_LINE)
        try:
            bearer = "" if self.token is None else f"Authorization: Bearer {self.token}\r\n"
            host = f"[{self.host}]" if ":" in self.host else self.host
            path = f"/people/{quote(self.person, safe='')}/{what}"
            request = f"GET {path} HTTP/1.0\r\nHost: {host}:{self.port}\r\n{bearer}\r\n"
            writer.write(request.encode("ascii"))
            await writer.drain()
            _check_status(await _line(reader))
            while await _line(reader):
                pass
            yield reader
        finally:
            writer.close()


async def _line(reader: asyncio.StreamReader) -> str:
    async with asyncio.timeout(SILENCE):
        line = await reader.readline()
    if not line:
        raise Gone("The service ended the connection. Trying again.")
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _check_status(line: str) -> None:
    status = line.split(" ")[1:2]
    if status == ["200"]:
        return
    words = {
        "401": "The service wants its token, and this is not it.",
        "403": "The service refuses to be watched from here.",
        "404": "The service does not know this person.",
        "503": "Too many pages watch this person already.",
    }
    raise Gone(words.get("".join(status), "This is not a running priste live."), for_good=True)


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
