"""Sources that send lines: gpsd, and NMEA over TCP, UDP, a serial device or a file."""

from __future__ import annotations

import asyncio
import os
import termios
import tty
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from priste.live.addresses import Address
from priste.live.protocols import gpsd, nmea
from priste.live.protocols.fields import LARGEST_MESSAGE, Unreadable
from priste.live.retrying import Line, keep_trying
from priste.live.sources.intake import Intake
from priste.traces import Fix

MOST_DATAGRAMS = 1_000
"""Datagrams that may wait to be read; further ones are dropped."""


async def run(address: Address, intake: Intake, line: Line) -> None:
    """Read a source for ever; a file once, to its end."""
    read = _reader(address, intake)

    async def session() -> None:
        async for text in _lines(address, line):
            try:
                fix = read(text)
            except Unreadable as problem:
                line.reasons[str(problem)] += 1
                continue
            if fix is not None:
                line.messages += 1
                await intake.take(fix)

    if address.kind == "nmea+file":
        await session()
        line.state = "read to its end"
    else:
        await keep_trying(line, session)


def _reader(address: Address, intake: Intake) -> Callable[[bytes], Fix | None]:
    if address.kind == "gpsd":
        return gpsd.read
    receiver = nmea.Receiver()
    return lambda text: receiver.read(text, intake.now())


async def _lines(address: Address, line: Line) -> AsyncIterator[bytes]:
    if address.kind == "nmea+udp":
        async for datagram in _datagrams(address, line):
            for text in datagram.splitlines():
                yield text
        return
    if address.kind == "nmea+file":
        with Path(address.path).open("rb") as file:
            while text := file.readline(LARGEST_MESSAGE):
                line.state = "reading"
                yield text
        return
    if address.kind == "nmea+serial":
        reader, close = await _serial(Path(address.path), address.options.get("baud", "9600"))
    else:
        reader, writer = await asyncio.open_connection(
            address.host, address.port, limit=LARGEST_MESSAGE
        )
        close = writer.close
        if address.kind == "gpsd":
            writer.write(gpsd.WATCH)
    try:
        line.state = "connected"
        while True:
            try:
                text = await reader.readline()
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

    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        Receiving, local_addr=(address.host, address.port or 0)
    )
    line.state = "listening"
    try:
        while True:
            yield await waiting.get()
    finally:
        transport.close()


async def _serial(path: Path, baud: str) -> tuple[asyncio.StreamReader, Callable[[], None]]:
    """Open a serial device, which then gives its bytes as they are; return how to close it, too."""
    handle = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    file = os.fdopen(handle, "rb", buffering=0)
    speed = getattr(termios, f"B{baud}", None)
    if speed is None or not os.isatty(handle):
        file.close()
        raise ConnectionError("no serial device, or no such speed")
    tty.setraw(handle)
    settings = termios.tcgetattr(handle)
    settings[4] = settings[5] = speed
    termios.tcsetattr(handle, termios.TCSANOW, settings)
    reader = asyncio.StreamReader(limit=LARGEST_MESSAGE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), file
    )
    return reader, transport.close
