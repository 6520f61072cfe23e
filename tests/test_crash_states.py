"""Power loss at every moment: whatever the disk holds then, nothing handed out is contradicted.

In CI the streams are short. ``python -m tests.test_crash_states --steps 40`` takes longer ones and
prints how many states were recovered from.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from tests.cli.small_world import POLICY as TOWN
from tests.cli.small_world import write_trips
from tests.crash_states import CrashState, Recorder, crash_states
from tests.live.small_town import DAILY, START, true_position

from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.atomic_files import private_folder, write_file
from priste.batch.protection import protect_file
from priste.batch.workspace import SECRET
from priste.errors import StateError
from priste.live.person_stream import Stream, StreamOptions
from priste.policy import Policy, read_policy
from priste.release.stream_file import checkpoint
from priste.traces import Fix, read_traces

STEPS = 6
"""Releases of a stream in CI."""

MOST_STATES = 60
"""States that CI recovers from, evenly among all."""

FEWEST_STATES = 25
"""Fewer would mean that the recorder does not see what is written."""

GRID = Grid(rows=2, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)


def new_protector(path: Path) -> Protector:
    return Protector(
        MODEL,
        presence([0], [1, 2]),
        PlanarLaplace(GRID, alpha=1.0),
        0.8,
        adversary=KnownPrior(MODEL.stationary()),
        journal=path,
    )


def record_protector(folder: Path, steps: int, failing: int | None = None) -> Recorder:
    """Record a stream of releases and silences; the sync of one step may fail."""
    path = folder / "j"
    recorder = Recorder(folder)
    with recorder:
        protector = new_protector(path)
        recorder.handed_out(("begun", None))
        step = 0
        while step < steps:
            now = step == failing
            recorder.fail_sync = lambda name, now=now: name == "j" and now
            try:
                release = protector.release(None if step % 3 == 2 else step % 6, step=step)
            except StateError:
                failing = None
                recorder.fail_sync = lambda name: False
                protector = Protector.resume(path)
                continue
            recorder.handed_out((release.step, release.cell))
            step += 1
        protector.close()
    return recorder


def recover_protector(state: CrashState, folder: Path) -> None:
    """Resume the journal of a state: every release that was handed out is in it."""
    path = folder / "j"
    if not path.exists():
        assert state.said == ()
        new_protector(path).close()
        return
    with Protector.resume(path) as protector:
        known = [(release.step, release.cell) for release in protector.ledger]
        for step, cell in state.said[1:]:
            assert known[step] == (step, cell)
            assert protector.release(4, step=step).cell == cell  # asking again draws nothing
        protector.release(1)
    assert [each.name for each in folder.iterdir() if each.suffix == ".part"] == []


@cache
def live_policy() -> Policy:
    """Return a policy of four steps a day, so that a short stream takes on the next day's event."""
    text = DAILY.replace('step = "1h"', 'step = "6h"').replace("steps = 12", "steps = 8")
    return read_policy(text.replace('"04:00-06:00"', '"06:00-12:00"'))


def opened(folder: Path, policy: Policy) -> Stream:
    return Stream.open("ada", policy, folder / "ada", StreamOptions(), START)


def record_live(folder: Path, steps: int) -> Recorder:
    """Record a live stream with covers, over the change to the next day."""
    policy = live_policy()
    recorder = Recorder(folder)
    with recorder:
        stream = opened(folder, policy)
        for step in range(steps):
            if step % 3 != 2:
                when = START + (step + 0.5) * timedelta(hours=6)
                stream.take(Fix(None, when, *true_position(step)), when)
            point = stream.release(step)
            assert point is not None
            recorder.handed_out((step, point.lat, point.lon))
        stream.close()
    return recorder


def recover_live(state: CrashState, folder: Path) -> None:
    """Open the stream of a state: it goes on after what apps were given, and gives that again."""
    stream = opened(folder, live_policy())
    if state.said:
        step, lat, lon = state.said[-1]
        assert stream.next_step > step
        assert stream.latest is not None
        if stream.latest.step == step:
            assert (stream.latest.lat, stream.latest.lon) == (lat, lon)
        else:
            assert stream.latest.step == step + 1  # on the disk, and not handed out yet
    following = stream.next_step
    assert stream.release(following) is not None
    stream.close()


class Protect:
    """``priste protect`` of two people, without a seed."""

    def __init__(self) -> None:
        self.whole = b""
        self.key = b""

    def record(self, folder: Path, steps: int) -> Recorder:
        """Record a run to its end."""
        recorder = Recorder(folder)
        state = folder.parent / "state"
        with recorder, mine(state):
            protect_town(folder)
            self.whole = (folder / "out.csv").read_bytes()
            recorder.handed_out(self.whole)
        self.key = (state / KEY).read_bytes()
        return recorder

    def recover(self, state: CrashState, folder: Path) -> None:
        """Run it again: once its secret was on the disk, the same is drawn to the last byte."""
        made, out = dict(state.files), folder / "out.csv"
        if state.said:
            assert out.read_bytes() == self.whole
        if out.exists():
            assert out.read_bytes() == self.whole
            return
        begun = any(name.endswith((SECRET, ".parquet")) for name in made)
        register = private_folder(folder.parent / "register")
        write_file(register / KEY, self.key, overwrite=True)
        with mine(register):  # what the register knows of other places would help
            # A ledger is written before the result: the command says so, and how to go on.
            protect_town(folder, overwrite=(folder / "out.csv.ledger.csv").exists())
        shutil.rmtree(register)
        if begun:
            assert out.read_bytes() == self.whole


KEY = "recognition.key"


@contextmanager
def mine(state: Path) -> Iterator[None]:
    """Let the user's state folder be this one."""
    before = os.environ.get("PRISTE_STATE")
    os.environ["PRISTE_STATE"] = str(state)
    try:
        yield
    finally:
        os.environ.pop("PRISTE_STATE")
        if before is not None:
            os.environ["PRISTE_STATE"] = before


def protect_town(folder: Path, *, overwrite: bool = False) -> None:
    trips = folder.parent / "trips.csv"
    if not trips.exists():
        write_trips(folder.parent, ("ada", "ben"))
    protect_file(policy_of_town(), read_traces(trips), folder / "out.csv", overwrite=overwrite)


@cache
def policy_of_town() -> Policy:
    """Return the policy of the town, read once."""
    return read_policy(TOWN)


PROTECT = Protect()
RECORDINGS: dict[
    str, tuple[Callable[[Path, int], Recorder], Callable[[CrashState, Path], None]]
] = {
    "protector": (record_protector, recover_protector),
    "protector with a failing sync": (
        lambda folder, steps: record_protector(folder, steps, failing=steps // 2),
        recover_protector,
    ),
    "live": (record_live, recover_live),
    "protect": (PROTECT.record, PROTECT.recover),
}


def recovered(name: str, place: Path, steps: int, most: int | None = None) -> int:
    """Record, enumerate and recover; return the number of states, every so manieth if many."""
    record, recover = RECORDINGS[name]
    folder = place / "recorded"
    folder.mkdir(mode=0o700)
    states = list(crash_states(record(folder, steps).operations))
    if most is not None:
        states = states[:: -(-len(states) // most)]
    for state in states:
        made = state.make(place / "crashed")
        try:
            recover(state, made)
        except Exception as problem:
            listed = [(name, content and len(content)) for name, content in state.files]
            raise AssertionError(f"after operation {state.after}: {listed}") from problem
        shutil.rmtree(made)
    return len(states)


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_state_that_a_crash_can_leave_is_recovered_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nothing that was released is contradicted, lost or drawn again."""
    monkeypatch.setattr(checkpoint, "EVERY", 4)  # so that a short stream keeps one
    assert recovered(name, tmp_path, STEPS, MOST_STATES) >= FEWEST_STATES


def main() -> None:
    """Take longer streams and print how many states were recovered from."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--steps", type=int, default=40)
    steps = asked.parse_args().steps
    for name in RECORDINGS:
        with tempfile.TemporaryDirectory() as place:
            print(
                f"{name}: {recovered(name, Path(place), steps)} states recovered from", flush=True
            )


if __name__ == "__main__":
    main()
