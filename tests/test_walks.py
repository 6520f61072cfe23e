"""How many files a reader opens from a door to the draw: ``python -m tests.test_walks``.

A walk is the files of priste that have a frame on the stack when a release is drawn, in the order
in which they call each other: what calls what, without what each of them uses.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import httpx
import pytest
from tests.cli.small_world import write_policy, write_trips
from tests.live.one_person import one_person
from tests.live.running import serving, wait_for
from tests.live.small_town import fix_of
from tests.studio.running_studio import SMALL_SETTING
from typer.testing import CliRunner

import priste
from priste.cli.application import app
from priste.studio import job_queue
from priste.studio.routes import Studio
from priste.studio.worker import perform

PACKAGE = Path(priste.__file__).parent
DRAW = ("release/release_tables.py", "draw")

MOST = {"protect": 8, "post": 6, "run": 8}
"""ARCHITECTURE.md names these numbers."""


def files_on(frame: FrameType | None) -> list[str]:
    """Return the files of priste on a stack, the outermost first."""
    found: list[str] = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            found.append(path.relative_to(PACKAGE).as_posix())
        frame = frame.f_back
    return list(dict.fromkeys(reversed(found)))


@contextmanager
def walks(*marks: tuple[str, str]) -> Iterator[dict[tuple[str, str], list[str]]]:
    """Collect the walk to the first call of each mark, a file and a function, in all threads."""
    found: dict[tuple[str, str], list[str]] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            for file, name in marks:
                code = frame.f_code
                if code.co_name == name and code.co_filename.endswith(file):
                    found.setdefault((file, name), files_on(frame))

    before = sys.getprofile()
    sys.setprofile(look)
    threading.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def walk_of_protect(folder: Path) -> list[str]:
    """Return the walk of ``priste protect`` for one person."""
    policy, trips = write_policy(folder), write_trips(folder, ("ada",), "week.csv")
    words = ["protect", trips, "-p", policy, "-o", folder / "o.csv", "--seed", "1"]
    with walks(DRAW) as found:
        done = CliRunner().invoke(app, [*map(str, words), "--compare", "0"])
    assert done.exit_code == 0, done.output
    return found[DRAW]


def walk_of_a_post(folder: Path) -> list[str]:
    """Return the walk of a post of OwnTracks with which a step ends: it is read, and released."""
    read, take = ("live/protocols/owntracks.py", "read_post"), ("live/service.py", "take")
    marks = (read, take, DRAW)
    with walks(*marks) as found, serving(one_person(folder)) as live, httpx.Client() as phone:
        for step in range(2):
            fix = fix_of(step)
            said = {"_type": "location", "lat": fix.lat, "lon": fix.lon}
            said["tst"] = int(fix.time.timestamp())
            assert phone.post(f"{live.url}/owntracks", json=said).status_code == 200
        wait_for(lambda: len(found) == len(marks), "a release")
    return list(dict.fromkeys(file for mark in marks for file in found[mark]))


def walk_of_a_run(folder: Path) -> list[str]:
    """Return the walk of "Run" in the studio: from the request to the process, and there."""
    studio = Studio(seed=1)
    send = ("studio/job_queue.py", "begin")
    order: list[Any] = []

    async def press_run() -> None:
        page = httpx.AsyncClient(
            transport=httpx.ASGITransport(studio.application()), base_url="http://page"
        )
        session = (await page.post("/api/sessions")).json()["session"]
        path = f"/api/sessions/{session}"
        trips = write_trips(folder, ("ada",)).read_bytes()
        await page.post(f"{path}/upload", content=trips, headers={"X-Priste-Name": "trips.csv"})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(job_queue.Worker, "begin", lambda worker, given: order.append(given))
            found.clear()  # what was sent to read the file
            ran = await page.post(f"{path}/runs", json={"setting": SMALL_SETTING})
            assert ran.status_code == 200, ran.text
            while not order:
                await asyncio.sleep(0.01)
        await page.aclose()
        perform(order[0])  # as the process does
        studio.close()

    with walks(send, DRAW) as found:
        asyncio.run(press_run())
    return list(dict.fromkeys([*found[send], *found[DRAW]]))


WALKS = {"protect": walk_of_protect, "post": walk_of_a_post, "run": walk_of_a_run}


@pytest.fixture
def measured(tmp_path: Path) -> dict[str, list[str]]:
    """Return the three walks."""
    return {name: walk(tmp_path) for name, walk in WALKS.items()}


def test_the_walks_of_architecture_are_those_of_the_code(measured: dict[str, list[str]]) -> None:
    """ARCHITECTURE.md names every file of each walk, and how many they are."""
    architecture = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text("utf-8")
    for name, files in measured.items():
        assert len(files) <= MOST[name], (name, files)
        assert f"{MOST[name]} files" in architecture
        missing = [file for file in files if f"`{file}`" not in architecture]
        assert not missing, (name, missing)


if __name__ == "__main__":
    with TemporaryDirectory() as made, pytest.MonkeyPatch.context() as state:
        state.setenv("PRISTE_STATE", str(Path(made) / "state"))
        for what, measure in WALKS.items():
            print(what, *measure(Path(made)), sep="\n  ")
