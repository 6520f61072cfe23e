"""Counts of docs/evidence/reliability.md: ``python -m benchmarks.reliability [PART ...]``.

Each part runs a long form of tests in a process of its own and keeps what it counted:

- crashes: states that a power loss may leave, and that priste recovers from, for short and for
  longer streams;
- fuzzing: hostile inputs of every reader, for ``--seconds`` (2) of CPU time each;
- seeds: releases of seeded streams that are the same under the float settings of older processors.

A part that finds a fault ends with an error. Writes ``benchmarks/results/reliability.json`` part by
part.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances

RESULTS = Path(__file__).parent / "results" / "reliability.json"
ROOT = Path(__file__).parent.parent
SHORT, LONG, SEEDS, STEPS = 6, 20, 8, 8


def lines(module: str, *options: object) -> list[str]:
    """Run a module of the tests and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, options)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout.splitlines()


def crashes(seconds: float) -> dict[str, Any]:
    """Count the states of each program, by the steps of its stream."""
    found: dict[str, Any] = {}
    for steps in (SHORT, LONG):
        for line in lines("tests.test_crash_states", "--steps", steps):
            name, count = re.fullmatch(r"(.*): (\d+) states recovered from", line).groups()  # type: ignore[union-attr]
            found.setdefault(name, {})[str(steps)] = int(count)
    return {"states": found}


def fuzzing(seconds: float) -> dict[str, Any]:
    """Count the inputs of each target; a finding ends the run."""
    shown = lines("tests.fuzzing", "--seconds", seconds)
    counts = dict(re.findall(r"^(.+): (\d+) inputs, .*$", "\n".join(shown), re.MULTILINE))
    return {"seconds": seconds, "inputs": {name: int(count) for name, count in counts.items()}}


def seeds(seconds: float) -> dict[str, Any]:
    """Count the releases that have the same output, and the same likelihood in addition."""
    head, *rows = lines("tests.release.seeds_elsewhere", "--seeds", SEEDS, "--steps", STEPS)
    _, *settings = head.split(" | ")
    found = {}
    for row in rows:
        kind, *counts = row.split(" | ")
        pairs = [[int(each) for each in count.split(" / ")] for count in counts]
        found[kind] = dict(zip(settings, pairs, strict=True))
    return {"of": SEEDS * STEPS, "alike": found}


PARTS = {"crashes": crashes, "fuzzing": fuzzing, "seeds": seeds}


def main(arguments: Sequence[str] = ()) -> None:
    """Run the parts named, or all."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; else all")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each fuzzing target (2)")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.parts) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}. There are {', '.join(PARTS)}.")
    for name in options.parts or PARTS:
        held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        held[name] = PARTS[name](options.seconds) | {"circumstances": circumstances()}
        RESULTS.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{name}: kept", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
