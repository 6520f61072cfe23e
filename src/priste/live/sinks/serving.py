"""Clients that connect and are told the latest release, again and again: gpsd and NMEA.

Whoever reads too slowly is let go; how many may be connected, and what is kept for each, is
bounded. The same report is repeated every second, as receivers do, until the next release.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from priste.errors import InvalidParameter
from priste.live.addresses import Address
from priste.live.logs import tell
from priste.live.point import Point
from priste.live.protocols import gpsd, nmea
from priste.live.protocols.fields import Unreadable
from priste.live.retrying import Line

MOST_CLIENTS = 64
MOST_UNREAD = 65_536
"""Bytes that may wait for one client, here and in the system, before it is let go."""

REPEAT = 1.0
"""Seconds between two reports of the same release."""


class _Client:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.talk = gpsd.Conversation()

    def send(self, data: bytes) -> bool:
        """Send without waiting; False if the client should be let go."""
        transport = self.writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > MOST_UNREAD:
            return False
        self.writer.write(data)
        return True


class Serving:
    """A server of one person's latest release, in gpsd's protocol or as NMEA sentences."""

    def __init__(self, address: Address) -> None:
        self.line = Line(address.shown)
        self.ready = asyncio.Event()
        self.port = address.port
        self._address = address
        self._speaks_gpsd = address.kind == "gpsd"
        self._latest: Point | None = None
        self._clients: dict[_Client, None] = {}

    def offer(self, point: Point) -> None:
        """Tell every client of a new release."""
        self._latest = point
        self._report()

    def _report(self) -> None:
        if self._latest is None:
            return
        data = (gpsd if self._speaks_gpsd else nmea).write(self._latest)
        for client in list(self._clients):
            if (self._speaks_gpsd and not client.talk.watching) or client.send(data):
                continue
            self._let_go(client)
        self.line.messages += 1

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
        if address.kind == "nmea+unix":
            path = Path(address.path)
            if path.is_socket():
                path.unlink()  # left by a process that was killed
            elif path.exists():
                raise InvalidParameter(f"{str(path)!r} is no socket; it was left as it is.")
            server: asyncio.AbstractServer = await asyncio.start_unix_server(handler, path)
            os.chmod(path, 0o666)  # the folder decides who reaches it: GeoClue is another user
        else:
            tcp = await asyncio.start_server(handler, address.host, address.port, backlog=128)
            self.port = tcp.sockets[0].getsockname()[1]
            server = tcp
        self.ready.set()
        tell("listening", line=self.line.address, port=self.port)
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(writer)
        taken = writer.get_extra_info("socket")
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_UNREAD)
        if len(self._clients) >= MOST_CLIENTS and not self._make_room():
            writer.transport.abort()
            return
        self._clients[client] = None
        self.line.waiting = len(self._clients)
        try:
            if self._speaks_gpsd:
                client.send(gpsd.greeting())
            elif self._latest is not None:
                client.send(nmea.write(self._latest))
            while received := await reader.read(gpsd.LONGEST_REQUEST):
                if self._speaks_gpsd:
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
        """Let go the client that has been connected longest without asking for anything."""
        idle = next((client for client in self._clients if not client.talk.watching), None)
        if idle is None or not self._speaks_gpsd:
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
