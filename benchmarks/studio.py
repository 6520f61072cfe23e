"""The studio on small and large maps: CPU seconds from a press to what the page then shows.

Run with ``python -m benchmarks.studio [CELLS ...]``; 2,500 and 10,000 cells unless chosen. Starts
the command, opens two weeks of a made-up person, and lays the map out with cells so small that
there are about so many. Measured are the CPU seconds of the studio and all of its processes,
because the page waits for these alone: until the map is laid out, until the probabilities of the
secrets are there, until the first release of a run, and until a forecast's first answer and its
first figure that is steady enough to be shown. All are the first of their kind on that map, in
processes that have warmed up. Writes ``benchmarks/results/studio.json``. It reads /proc, so it runs
on Linux.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from tests.studio.running_studio import RunningStudio, Tab

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances

RESULTS = Path(__file__).parent / "results" / "studio.json"
CELLS = (2_500, 10_000)
HOME, OFFICE, CLINIC = (46.02, 7.02), (46.13, 7.17), (46.05, 7.14)
TICKS = os.sysconf("SC_CLK_TCK")

IDLE = 0.02
"""CPU seconds in half a second below which the studio counts as waiting."""


def main(arguments: Sequence[str] = ()) -> None:
    """Measure all sizes and write what came out."""
    parser = parser_of(__doc__)
    parser.add_argument("cells", nargs="*", type=int, default=list(CELLS), help="sizes of maps")
    chosen = parser.parse_args(arguments)
    rows = []
    out = Console(highlight=False)
    with tempfile.TemporaryDirectory() as made, studio_in(Path(made)) as studio:
        for wanted in chosen.cells:
            rows.append(measured(studio, Path(made), wanted))
            out.print(rows[-1])
    RESULTS.write_text(json.dumps({"measured": circumstances(), "maps": rows}, indent=2) + "\n")


@contextmanager
def studio_in(folder: Path) -> Iterator[RunningStudio]:
    """Start the command with a register of its own."""
    before = os.environ.get("PRISTE_STATE")
    os.environ["PRISTE_STATE"] = str(folder / "state")
    (folder / "tmp").mkdir()
    studio = RunningStudio(folder / "tmp")
    try:
        yield studio
    finally:
        studio.stop()
        os.environ.pop("PRISTE_STATE") if before is None else os.environ.update(PRISTE_STATE=before)


def measured(studio: RunningStudio, folder: Path, wanted: int) -> dict[str, Any]:
    """Return the CPU seconds of each step of the story on a map of about so many cells."""
    tab = Tab(studio)
    opened = tab.upload(week(folder / "week.csv").read_bytes(), "week.csv")
    clock = Clock(studio)
    found: dict[str, Any] = {}
    ground = finer(opened, opened["setting"], wanted)
    ground = finer(tab.post("ground", ground), opened["setting"], wanted)  # now with its edges
    first_release(clock, tab, {"setting": opened["setting"]})  # loads libraries, compiles kernels
    laid = clock.of(lambda: tab.post("ground", ground))
    setting = {"setting": laid["setting"]}
    found |= {"cells": laid["map"]["rows"] * laid["map"]["columns"], "laid_out": clock.last}
    clock.of(lambda: tab.post("chances", setting))
    found["probabilities"] = clock.last
    found["first_release"] = first_release(clock, tab, setting)
    found["next_run"] = first_release(clock, tab, setting)
    steady = False
    clock.start()
    for event, said in tab.messages(tab.post("forecasts", setting)["job"]):
        if event == "estimate" and "forecast" not in found:
            found["forecast"] = clock.stop()
        if event == "estimate" and said["is_stable"] and not steady:
            steady, found["forecast_shown"] = True, clock.stop()
        if event == "done":
            found.setdefault("forecast_shown", clock.stop())
            found["forecast_whole"] = clock.stop()
    tab.close()
    return {name: round(value, 2) for name, value in found.items()}


def first_release(clock: Clock, tab: Tab, setting: dict[str, Any]) -> float:
    """Return the CPU seconds until a run has made its first release; then it is cancelled."""
    clock.start()
    job = tab.post("runs", setting)["job"]
    for event, said in tab.messages(job):
        if event == "failed":
            raise SystemExit(said["message"])
        if event == "step":
            break
    taken = clock.stop()
    tab.post(f"jobs/{job}/cancel")
    return taken


def finer(opened: dict[str, Any], setting: dict[str, Any], wanted: int) -> dict[str, Any]:
    """Return a wish for cells so small that there are about so many, from a map that is known."""
    there = opened["map"]["rows"] * opened["map"]["columns"]
    size = opened["map"]["cell_size_km"] * (there / wanted) ** 0.5
    frame = {name: value for name, value in setting["map"].items() if name != "lattice"}
    return {"setting": setting, "map": {**frame, "cell_size": round(size, 3)}}


class Clock:
    """CPU seconds of a studio and all processes that it started."""

    def __init__(self, studio: RunningStudio) -> None:
        self._root = studio.process.pid
        self._begun = 0.0
        self.last = 0.0

    def of(self, work: Callable[[], Any]) -> Any:
        """Return what work comes to; ``last`` then says what it took."""
        self.start()
        found = work()
        self.last = self.stop()
        return found

    def start(self) -> None:
        """Wait until nothing is at work, and begin."""
        now = self._used()
        while True:
            time.sleep(0.5)
            before, now = now, self._used()
            if now - before < IDLE:
                break
        self._begun = now

    def stop(self) -> float:
        """Return the CPU seconds since the beginning."""
        return self._used() - self._begun

    def _used(self) -> float:
        ticks, waiting = 0, [self._root]
        while waiting:
            process = waiting.pop()
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                children = Path(f"/proc/{process}/task/{process}/children").read_text()
            except OSError:  # it ended meanwhile; then its parent has its time
                continue
            ticks += sum(map(int, fields[11:15]))
            waiting += map(int, children.split())
        return ticks / TICKS


def week(path: Path) -> Path:
    """Write two weeks of one person, a fix every half hour: home, office, and the clinic."""
    lines = ["time,lat,lon"]
    for step in range(2 * 7 * 48):
        at = datetime(2026, 3, 2, tzinfo=UTC) + timedelta(minutes=30 * step + 10)
        place = OFFICE if at.weekday() < 5 and 8 <= at.hour < 17 else HOME
        place = CLINIC if at.weekday() == 2 and 14 <= at.hour < 16 else place
        lines.append(f"{at:%Y-%m-%dT%H:%M:%SZ},{place[0]},{place[1]}")
    path.write_text("\n".join(lines) + "\n")
    return path


if __name__ == "__main__":
    main(sys.argv[1:])
