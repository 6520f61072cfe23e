"""Kill a process that releases, again and again, and see whether the stream survived.

Run as a script by test_crash.py. It stays warm and forks: each child resumes the journal and
releases until it is killed, telling what it *returned* through a pipe. Every second child is
killed by the clock; the others kill themselves inside a system call, half of a write done.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
import traceback
from pathlib import Path

from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, StateError, presence
from priste.release import Release

GRID = Grid(rows=2, columns=2, cell_size=1.0)
STEPS_PER_LIFE = 6


def begin(path: Path) -> Protector:
    return Protector(
        MarkovModel.gaussian(GRID, sigma=1.0), presence([0], [1, 2]),
        PlanarLaplace(GRID, alpha=1.0), 0.7, "paper", journal=path, adversary=AnyPrior()
    )  # fmt: skip


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(calls_to_live: int, chance: random.Random) -> None:
    """Let the process die at its n-th call of write, fsync, link, unlink or truncate."""
    left = [calls_to_live]
    real = {name: getattr(os, name) for name in ("write", "fsync", "link", "unlink", "ftruncate")}

    def make(name: str):  # type: ignore[no-untyped-def]
        def deadly(*arguments: object, **options: object) -> object:
            left[0] -= 1
            if left[0] > 0:
                return real[name](*arguments, **options)
            when = chance.choice(["before", "after", "half"])
            if when == "after":
                real[name](*arguments, **options)
            if when == "half" and name == "write":
                fd, data = arguments
                real["write"](fd, bytes(data)[: chance.randrange(len(data))])  # type: ignore[call-overload]
            die()
            return None

        return deadly

    for name in real:
        setattr(os, name, make(name))


def live(path: Path, first_step: int, pipe: int, deadly_call: int | None, seed: int) -> None:
    """One life: open or begin the journal, release a few steps, report each after its return."""
    chance = random.Random(seed)
    say = os.write  # the report must not count as a call of the journal
    if deadly_call is not None:
        arm(deadly_call, chance)
    protector = Protector.resume(path) if path.exists() else begin(path)
    for step in range(first_step, first_step + STEPS_PER_LIFE):
        release = protector.release(chance.choice([0, 1, 2, 3, None]), step=step)
        say(pipe, json.dumps(as_list(release)).encode() + b"\n")
    os._exit(0)


def as_list(release: Release) -> list[object]:
    return [release.step, release.cell, release.budget, list(release.leakage), release.attempts]


def rehearse(folder: Path, lives: int, seed: int) -> dict[str, int]:
    chance = random.Random(seed)
    path = folder / "journal"
    begin(folder / "warm").release(0)  # compile and load everything before forking
    seen: dict[int, list[object]] = {}
    tally = {"lives": 0, "killed": 0, "torn": 0, "unreported": 0, "steps": 0, "streams": 1}
    for life in range(lives):
        if len(seen) > 60:  # a journal long enough: begin another
            os.unlink(path)
            seen, tally["streams"] = {}, tally["streams"] + 1
        read_end, write_end = os.pipe()
        deadly = chance.randrange(1, 16) if life % 2 else None
        child = os.fork()
        if child == 0:
            os.close(read_end)
            # Sometimes ask again for steps that were returned before.
            first = max(0, len(seen) - chance.randrange(3))
            try:
                live(path, first, write_end, deadly, seed * 1_000_003 + life)
            finally:
                traceback.print_exc()
                os._exit(3)
        os.close(write_end)
        if deadly is None:
            select.select([read_end], [], [], 1.0)
            time.sleep(chance.random() * 0.008)
            os.kill(child, signal.SIGKILL)
        with os.fdopen(read_end, "rb") as pipe:
            reported = [json.loads(line) for line in pipe if line.endswith(b"\n")]
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, -signal.SIGKILL):
            raise SystemExit(f"life {life} ended with {code}")
        tally["killed"] += code != 0
        tally["lives"] += 1
        for release in reported:
            step = int(release[0])
            if seen.setdefault(step, release) != release:
                raise SystemExit(f"step {step} was returned twice with different releases")
        if not path.exists():
            if seen:
                raise SystemExit("the journal is gone though something was released")
            continue
        try:
            ledger = Protector.load(path)
        except StateError as problem:
            raise SystemExit(f"life {life} left a journal that cannot be read: {problem}") from None
        tally["torn"] += ledger.torn_bytes > 0
        stored = [as_list(release) for release in ledger.ledger]
        for step, release in seen.items():
            if json.loads(json.dumps(stored[step])) != release:
                raise SystemExit(f"step {step} was returned but is not in the journal")
        tally["unreported"] += len(stored) - len(seen)
        for step in range(len(seen), len(stored)):  # journaled, never returned: it must come back
            seen[step] = json.loads(json.dumps(stored[step]))
        tally["steps"] += len(reported)
    return tally


if __name__ == "__main__":
    print(json.dumps(rehearse(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
