"""Read sources that send lines, over TCP or UDP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol

from priste.live.addresses import Address
from priste.live.protocol import Intake
from priste.live.protocols.fields import LARGEST_MESSAGE, Unreadable
from priste.live.retrying import Line, keep_trying
from priste.traces import Fix

MOST_DATAGRAMS = 1_000
"""Datagrams that may wait to be read; further ones are dropped."""


class Reader(Protocol):
    """Reads the lines of one source, one after the other."""

    def read(self, line: bytes, now: datetime) -> Fix | None:
        """Return the fix of a line, None where it states none; Unreadable if it is broken."""
        ...


Run = Callable[[Address, Intake, Line], Awaitable[None]]
Lines = Callable[[Address, Line], AsyncIterator[bytes]]


def read_tcp(reader: Callable[[], Reader], hello: bytes = b"") -> Run:
    """Return the source that connects, sends ``hello`` and reads lines."""

    async def lines(address: Address, line: Line) -> AsyncIterator[bytes]:
        stream, writer = await asyncio.open_connection(
            address.host, address.port, limit=LARGEST_MESSAGE
        )
        writer.write(hello)
        async for text in _lines_of(stream, line, writer.close):
            yield text

    return _for_ever(reader, lines)


def read_udp(reader: Callable[[], Reader]) -> Run:
    """Return the source that listens for datagrams."""
    return _for_ever(reader, _datagrams)


def _for_ever(reader: Callable[[], Reader], lines: Lines) -> Run:
    async def run(address: Address, intake: Intake, line: Line) -> None:
        reading = reader()
        await keep_trying(line, lambda: _session(reading, lines(address, line), intake, line))

    return run


async def _session(reader: Reader, lines: AsyncIterator[bytes], intake: Intake, line: Line) -> None:
    async for text in lines:
        try:
            fix = reader.read(text, intake.now())
        except Unreadable as problem:
            line.reasons[str(problem)] += 1
            continue
        if fix is not None and await intake.take(fix):
            line.messages += 1


async def _lines_of(
    stream: asyncio.StreamReader, line: Line, close: Callable[[], None]
) -> AsyncIterator[bytes]:
    try:
        line.state = "connected"
        while True:
            try:
                text = await stream.readline()
            except ValueError:  # a line beyond all bounds: the other side does not speak this
                raise ConnectionError("a line without an end") from None
            if not text:
                return
            yield text
    finally:
        close()


async def _datagrams(address: Address, line: Line) -> AsyncIterator[bytes]:
    waiting: asyncio.Queue[bytes] = asyncio.Queue(MOST_DATAGRAMS)

    class Receiving(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            try:
                waiting.put_nowait(data[:LARGEST_MESSAGE])
            except asyncio.QueueFull:
                line.dropped += 1

    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        Receiving, local_addr=(address.host, address.port or 0)
    )
    line.state = "listening"
    try:
        while True:
            for text in (await waiting.get()).splitlines():
                yield text
    finally:
        transport.close()
