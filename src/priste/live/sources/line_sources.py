"""Sources that send lines: gpsd, and NMEA over TCP, UDP, a serial device or a file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
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
            except Unreadable:
                line.refused += 1
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
    if address.kind in ("nmea+file", "nmea+serial"):
        async for text in _file_lines(Path(address.path), address.options.get("baud")):
            line.state = "reading"
            yield text
        return
    reader, writer = await asyncio.open_connection(
        address.host, address.port, limit=LARGEST_MESSAGE
    )
    try:
        line.state = "connected"
        if address.kind == "gpsd":
            writer.write(gpsd.WATCH)
        while True:
            try:
                text = await reader.readline()
            except ValueError:  # a line beyond all bounds: the other side does not speak this
                raise ConnectionError("a line without an end") from None
            if not text:
                return
            yield text
    finally:
        writer.close()


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


async def _file_lines(path: Path, baud: str | None) -> AsyncIterator[bytes]:
    """Yield the lines of a file or a serial device, read in a thread."""
    handle = os.open(path, os.O_RDONLY | os.O_NOCTTY)
    try:
        _set_speed(handle, baud)
        begun = b""
        while received := await asyncio.to_thread(os.read, handle, 4_096):
            *whole, begun = (begun + received).split(b"\n")
            for text in whole:
                yield text
            begun = begun[-nmea.LONGEST_LINE * 4 :]
        if begun:
            yield begun
    finally:
        os.close(handle)


def _set_speed(handle: int, baud: str | None) -> None:
    """Make a serial device give its bytes as they are; anything else is left alone."""
    import termios
    import tty

    if not os.isatty(handle):
        return
    with suppress(termios.error):
        tty.setraw(handle)
        speed = getattr(termios, f"B{baud or '9600'}", None)
        if speed is not None:
            settings = termios.tcgetattr(handle)
            settings[4] = settings[5] = speed
            termios.tcsetattr(handle, termios.TCSANOW, settings)
