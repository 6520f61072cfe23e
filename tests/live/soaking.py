"""Very many fixes for a live service: a receiver sends, a gpsd client reads."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.resident_memory import resident_megabytes

from priste.live.addresses import read_input, read_output
from priste.live.person_stream import StreamOptions
from priste.live.point import Point
from priste.live.protocols import gpsd, nmea
from priste.live.service import Service
from priste.live.settings import PersonSettings, Settings
from priste.traces.town import TOWN_BOUNDS, ada

A_STEP = 200
"""Fixes in each step: one every four and a half seconds."""

STEP = timedelta(minutes=15)
START = datetime(2026, 3, 2, tzinfo=UTC)
PARTS = 10
POLICY = """\
[map]
south = {0}
west = {1}
north = {2}
east = {3}
cell_size = 1.0

[clock]
start = 2026-03-02T00:00:00
step = "15min"
steps = 96

[mobility]
kind = "gaussian"
sigma = 0.6

[mechanism]
kind = "planar-laplace"
alpha = 2.0

[guarantee]
epsilon = 1.0


[regions.hospital]
circle = {{ lat = 46.0090, lon = 7.0584, radius_km = 0.05 }}

[events.treatment]
formula = 'presence(hospital, "14:00-16:00")'
every = "day"
"""


async def soak(folder: Path, fixes: int) -> dict[str, Any]:
    """Send the fixes and return how memory and time went."""
    (folder / "policy.toml").write_text(POLICY.format(*TOWN_BOUNDS))
    receiver = await asyncio.start_server(_sender(fixes), "127.0.0.1", 0)
    port = receiver.sockets[0].getsockname()[1]
    person = PersonSettings(
        "ada",
        folder / "policy.toml",
        inputs=(read_input(f"nmea+tcp://127.0.0.1:{port}"),),
        outputs=(read_output("gpsd://127.0.0.1:0"),),
        options=StreamOptions(seed=1),
        clock="fixes",
    )
    service = Service(Settings(folder / "state", (person,), listen=None))
    service.open()
    ready = asyncio.Event()
    running = asyncio.create_task(service.run(lambda _: ready.set()))
    await ready.wait()
    heard: set[str] = set()
    reading = asyncio.create_task(_read(service, heard))
    stream = service.people["ada"].stream
    progress: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(progress) < PARTS:
        await asyncio.sleep(0.05)
        if stream.counts.kept + stream.counts.refused >= (len(progress) + 1) * fixes // PARTS:
            progress.append((resident_megabytes(), time.perf_counter() - begin))
    guarded = len(stream.leakage)
    service.stop()
    await running
    receiver.close()
    await reading  # the server has let it go
    await asyncio.sleep(0.1)
    return {
        "fixes": fixes,
        "kept": stream.counts.kept,
        "released": stream.counts.released,
        "covered": stream.counts.covered,
        "times_heard_by_gpsd_client": len(heard),
        "events_guarded_at_the_end": guarded,
        "megabytes": [round(size, 1) for size, _ in progress],
        "seconds": [round(passed, 1) for _, passed in progress],
    }


def _sender(fixes: int) -> Any:
    """Return what serves one client all sentences."""
    places = list(ada())

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(fixes):
            place = places[number // A_STEP % len(places)]
            at = START + STEP * (number / A_STEP)
            rmc, _gga = nmea.write(Point("ada", 0, at, place.lat, place.lon, 5.0)).splitlines()
            writer.write(rmc + b"\r\n")
            await writer.drain()
        await reader.read()  # until the service ends
        writer.close()

    return send


async def _read(service: Service, heard: set[str]) -> None:
    port = service.people["ada"].outlets[0].port  # type: ignore[attr-defined]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(gpsd.WATCH)
    try:
        while line := await reader.readline():
            report = json.loads(line)
            if report["class"] == "TPV":
                heard.add(report["time"])
    finally:
        writer.close()
