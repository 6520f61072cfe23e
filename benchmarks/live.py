"""The live service: very many fixes with flat memory and nothing lost; its start, size and delay.

Run with ``python -m benchmarks.live [--fixes N] [soak] [start]``; both parts and 100,000 fixes
unless chosen. Writes ``benchmarks/results/live.json``.

``soak``: a service runs in this process. A receiver sends it NMEA sentences over loopback, two
hundred a step of a quarter of an hour, as fast as it takes them, and a gpsd client reads. Memory
is that of the process, receiver and client included.

``start``: the command ``priste live`` with 1 and with 4 people, 225 cells, a daily event, an
adversary who knows the population, and steps of a minute. How long until it listens, its memory
after some releases (resident, and its own without the pages of libraries that processes share),
and how long after the end of its step each release was given out.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

from rich.console import Console
from tests.live.soaking import PARTS, soak

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances

STEP = 60
"""Seconds of a step in ``start``."""

STEPS = 2
"""Steps that ``start`` waits for."""

POLICY = """\
[map]
south = 46.0
west = 7.0
north = 46.1345
east = 7.1945
cell_size = 1.0
[clock]
start = {start:%Y-%m-%dT00:00:00}
step = "{step}s"
steps = 2880
[mobility]
kind = "gaussian"
sigma = 1.0
[mechanism]
kind = "planar-laplace"
alpha = 1.5
[adversary]
knows = "population"
[guarantee]
epsilon = 0.8
[regions.clinic]
circle = {{ lat = 46.05, lon = 7.05, radius_km = 0.3 }}
[events.visit]
formula = 'presence(clinic, "23:40-23:50")'
every = "day"
"""

RESULTS = Path(__file__).parent / "results" / "live.json"
FIXES = 100_000


def main(arguments: Sequence[str] = ()) -> None:
    """Run the parts that are asked for and write what came out."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", choices=["soak", "start"], help="both unless chosen")
    parser.add_argument("--fixes", type=int, default=FIXES, help="how many are sent")
    chosen = parser.parse_args(arguments)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    out = Console(highlight=False)
    if "soak" in (chosen.parts or ["soak"]):
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(soak(Path(folder), chosen.fixes))
        kept = {**found, "measured": circumstances(), "start": kept.get("start")}
        for done, (size, passed) in enumerate(
            zip(found["megabytes"], found["seconds"], strict=True)
        ):
            so_far = (done + 1) * chosen.fixes // PARTS
            out.print(f"{so_far:>8} fixes  {size:8.1f} MB  {passed:8.1f} s")
        out.print({key: value for key, value in found.items() if not isinstance(value, list)})
    if "start" in (chosen.parts or ["start"]):
        rows = [started(people) for people in (1, 4)]
        kept["start"] = {"measured": circumstances(), "people": rows}
        for row in rows:
            out.print(row)
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n")


def started(people: int) -> dict[str, object]:
    """Return what the command took for so many people."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "policy.toml").write_text(POLICY.format(start=datetime.now(UTC), step=STEP))
        names = [f"p{number}" for number in range(people)]
        tables = [
            f'[people.{name}]\npolicy = "policy.toml"\ndevices = ["{name}"]' for name in names
        ]
        (folder / "live.toml").write_text('listen = "127.0.0.1:0"\n' + "\n".join(tables))
        begin = time.monotonic()
        command = [sys.executable, "-m", "priste", "live", "--config", str(folder / "live.toml")]
        # A register of its own: the people of a benchmark are not those of this user.
        own = {**os.environ, "XDG_STATE_HOME": made}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=own) as process:
            try:
                return {"people": people, **_watched(process, names, begin)}
            finally:
                process.terminate()


def _watched(process: subprocess.Popen[str], names: list[str], begin: float) -> dict[str, object]:
    ready, worked, port, delays = 0.0, 0.0, 0, []
    assert process.stderr is not None
    for line in process.stderr:
        said = json.loads(line) if line.startswith("{") else {}
        if said.get("event") == "started":
            ready, port = time.monotonic() - begin, said["port"]
            used = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            worked = sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
        elif said.get("event") == "release":
            ended = datetime.fromisoformat(said["step_time"]) + timedelta(seconds=STEP)
            delays.append((datetime.fromisoformat(said["time"]) - ended).total_seconds())
            _post(port, said["person"])
            if len(delays) == STEPS * len(names):
                break
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    sizes = {line.split()[0]: int(line.split()[1]) / 1024 for line in rollup.splitlines()[1:]}
    return {
        "seconds_until_it_listens": round(ready, 2),
        "processor_seconds_until_it_listens": round(worked, 2),
        "resident_megabytes": round(sizes["Rss:"], 1),
        "own_megabytes": round(sizes["Private_Dirty:"] + sizes["Private_Clean:"], 1),
        "delays": [round(delay, 3) for delay in delays],
    }


def _post(port: int, device: str) -> None:
    query = f"id={device}&lat=46.05&lon=7.06&timestamp={int(time.time())}"
    urlopen(f"http://127.0.0.1:{port}/osmand?{query}", timeout=30).close()


if __name__ == "__main__":
    main(sys.argv[1:])
