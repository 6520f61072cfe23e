"""Serve the latest release to clients that connect, again and again, as receivers do.

A client that reads too slowly is disconnected. How many may be connected, and what is kept for
each, is bounded. The same report is repeated every second until the next release.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from priste.errors import InvalidParameter
from priste.live.addresses import Address
from priste.live.logs import tell
from priste.live.point import Point
from priste.live.protocol import Sink
from priste.live.protocols.fields import Unreadable
from priste.live.retrying import Line

MOST_CLIENTS = 64
MOST_UNREAD = 65_536
"""Bytes that may wait for one client, here and in the system, before it is disconnected."""

MOST_RECEIVED = 1_024
"""Bytes that are read from a client at a time."""

REPEAT = 1.0
"""Seconds between two reports of the same release."""


class Talk(Protocol):
    """What a protocol says to one client."""

    listening: bool
    """Whether the client wants reports."""

    def greeting(self, latest: Point | None) -> bytes:
        """Return what is said first."""
        ...

    def hear(self, received: bytes, latest: Point | None) -> Iterable[bytes]:
        """Yield the answers to what was received; raise Unreadable for what is no request."""
        ...

    def report(self, point: Point) -> bytes:
        """Return the report of a release."""
        ...


class _Client:
    def __init__(self, writer: asyncio.StreamWriter, talk: Talk) -> None:
        self.writer = writer
        self.talk = talk

    def send(self, data: bytes) -> bool:
        """Send without waiting; False if the client should be disconnected."""
        transport = self.writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > MOST_UNREAD:
            return False
        self.writer.write(data)
        return True


def serving_sink(talk: Callable[[], Talk], port: int | None) -> Sink:
    """Return the sink that listens at a port, or at a path where the protocol has none."""
    return Sink(lambda address, _: Serving(address, talk), port)


class Serving:
    """A server of one person's latest release."""

    def __init__(self, address: Address, talk: Callable[[], Talk]) -> None:
        self.line = Line(address.shown)
        self.ready = asyncio.Event()
        self.port = address.port
        self._address = address
        self._talk = talk
        self._latest: Point | None = None
        self._clients: dict[_Client, None] = {}

    def offer(self, point: Point) -> None:
        """Tell every client of a new release."""
        self._latest = point
        self._report()

    def _report(self) -> None:
        if self._latest is None:
            return
        for client in list(self._clients):
            if client.talk.listening and not client.send(client.talk.report(self._latest)):
                self._let_go(client)
        self.line.messages += 1
        if self._clients:
            self.line.last = self._latest.clock

    async def run(self) -> None:
        """Serve until cancelled."""
        server = await self._listening()
        self.line.state = "serving"
        try:
            while True:
                await asyncio.sleep(REPEAT)
                self._report()
        finally:
            server.close()
            for client in list(self._clients):
                self._let_go(client)

    async def _listening(self) -> asyncio.AbstractServer:
        address = self._address
        handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
        handler = self._serve
        if not address.host:
            path = Path(address.path)
            if path.is_socket():
                path.unlink()  # left by a process that was killed
            elif path.exists():
                raise InvalidParameter(
                    f"{str(path)!r} is no socket; it was left as it is.",
                    hint="Choose another path.",
                )
            server: asyncio.AbstractServer = await asyncio.start_unix_server(handler, path)
            os.chmod(path, 0o666)  # the folder decides who reaches it: GeoClue is another user
        else:
            try:
                tcp = await asyncio.start_server(handler, address.host, address.port, backlog=128)
            except OSError as problem:
                why = os.strerror(problem.errno or 0)
                raise InvalidParameter(
                    f"{address.shown} cannot be served: {why}",
                    hint="Stop the program that uses this address, or choose another port.",
                ) from None
            self.port = tcp.sockets[0].getsockname()[1]
            server = tcp
        self.ready.set()
        tell("listening", line=self.line.address, port=self.port)
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(writer, self._talk())
        taken = writer.get_extra_info("socket")
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_UNREAD)
        if len(self._clients) >= MOST_CLIENTS and not self._make_room():
            writer.transport.abort()
            return
        self._clients[client] = None
        self.line.waiting = len(self._clients)
        try:
            client.send(client.talk.greeting(self._latest))
            while received := await reader.read(MOST_RECEIVED):
                for answer in client.talk.hear(received, self._latest):
                    if not client.send(answer):
                        return
        except Unreadable as problem:
            self.line.reasons[str(problem)] += 1
        except ConnectionError:
            pass  # a client that is gone
        finally:
            self._let_go(client)

    def _make_room(self) -> bool:
        """Disconnect the client that has been connected longest without a request."""
        idle = next((client for client in self._clients if not client.talk.listening), None)
        if idle is None:
            return False
        self._let_go(idle)
        return True

    def _let_go(self, client: _Client) -> None:
        self._clients.pop(client, None)
        self.line.waiting = len(self._clients)
        with suppress(Exception):
            if client.writer.transport.get_write_buffer_size():
                client.writer.transport.abort()
            else:
                client.writer.close()
