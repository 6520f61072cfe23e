"""``priste live --demo``: a day of Ada's phone, posted to a real service on this machine."""

from __future__ import annotations

import asyncio
import json
import tempfile
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rich.console import Console

from priste.cli.console import progress

if TYPE_CHECKING:
    from priste.live.service import Service
    from priste.traces import Fix

DAY = date(2026, 3, 4)
"""The first Wednesday in the town: the day of Ada's treatment."""

HOURS = 17
"""From five in the morning."""


def demonstrate(out: Console, *, seed: int, hours: int = HOURS) -> None:
    """Run the service with a phone that plays Ada's Wednesday, and show what an app receives."""
    from priste.policy.town_policy import build_town

    with tempfile.TemporaryDirectory(prefix="priste-live-") as folder:
        here = Path(folder)
        with progress("Building the town"):
            build_town(here)
        asyncio.run(_play(here, out, seed, hours))


async def _play(folder: Path, out: Console, seed: int, hours: int) -> None:
    from priste.live.person_stream import StreamOptions
    from priste.live.service import Service
    from priste.live.settings import PersonSettings, Settings

    person = PersonSettings(
        "ada", folder / "policy.toml", options=StreamOptions(seed=seed), clock="fixes"
    )
    service = Service(Settings(folder / "state", (person,), listen=("127.0.0.1", 0)))
    with progress("Reading the policy"):
        service.open()
    ready = asyncio.Event()
    running = asyncio.create_task(service.run(lambda _: ready.set()))
    await asyncio.wait({running, asyncio.create_task(ready.wait())}, return_when="FIRST_COMPLETED")
    if running.done():
        running.result()
    try:
        await _post_the_day(service, out, hours)
    finally:
        service.stop()
        await running


async def _post_the_day(service: Service, out: Console, hours: int) -> None:
    import httpx

    from priste.traces.town import TOWN_ZONE, ada

    zone = ZoneInfo(TOWN_ZONE)
    begin = datetime.combine(DAY, time(5), zone)
    fixes = [fix for fix in ada() if begin <= fix.time < begin + timedelta(hours=hours)]
    url = f"http://127.0.0.1:{service.port}"
    out.print(
        f"[bold]A phone posts to {url}/owntracks[/bold], an app reads {url}/people/ada/latest\n"
        "Ada is made up, so her true whereabouts may be shown. She is treated at the hospital from "
        "14 to 16; the app must not find out, though it knows how people of her town move.\n"
    )
    out.print(f"{'step':>6}  {'Ada is':<14}{'the app gets':<24}{'off by':>8}   leakage, of ε = 1")
    shown, points = -1, 0
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        for before, fix in zip([None, *fixes], fixes, strict=False):
            await client.post(f"{url}/owntracks", content=_message(fix))
            answer = await client.get(f"{url}/people/ada/latest")
            if answer.status_code == 200 and before is not None:
                found = answer.json()
                if found["properties"]["step"] != shown:
                    shown, points = found["properties"]["step"], points + 1
                    out.print(_row(found, before, service, zone))
    leaked = max(service.people["ada"].stream.leakage.values())
    out.print(
        f"\nThe app asked {len(fixes)} times and got {points} points: one a step, the same "
        f"until the next. All of them together move the odds of the treatment by at most a factor "
        f"{2.718281828459045**leaked:.2f}; guaranteed was 2.72.\n"
        "With your own phone: priste init, then priste live --policy policy.toml"
    )


def _message(fix: Fix) -> bytes:
    """Return what the OwnTracks app posts, with fields that betray the place."""
    said: dict[str, Any] = {"_type": "location", "lat": fix.lat, "lon": fix.lon, "acc": 12}
    said |= {"tst": int(fix.time.timestamp()), "batt": 71, "SSID": "hospital-guest", "vel": 0}
    return json.dumps(said).encode()


def _row(found: dict[str, Any], true: Fix, service: Service, zone: ZoneInfo) -> str:
    from priste.traces.town import town_places

    grid = service.people["ada"].stream.policy.grid
    lon, lat = found["geometry"]["coordinates"]
    clock = datetime.fromisoformat(found["properties"]["time"]).replace(tzinfo=UTC)
    distances = {name: _metres(grid, true, *at) for name, at in town_places().items()}
    place, nearest = min(distances.items(), key=lambda item: item[1])
    where = place if nearest < 300 else "on the way"
    leaked = max(service.people["ada"].stream.leakage.values())
    return (
        f"{clock.astimezone(zone):%H:%M}   {where:<14}{lat:.4f} N  {lon:.4f} E    "
        f"{_metres(grid, true, lat, lon):>6.0f} m   {leaked:.3f}"
    )


def _metres(grid: Any, fix: Fix, lat: float, lon: float) -> float:
    (x, y), (to_x, to_y) = grid.xy(fix.lat, fix.lon), grid.xy(lat, lon)
    return 1000 * float(((x - to_x) ** 2 + (y - to_y) ** 2) ** 0.5)
