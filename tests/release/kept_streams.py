"""Streams of every kind that a file can hold, and the golden files of the present format.

``python -m tests.release.kept_streams`` writes the golden files where there are none. They are
never made anew: a later priste that reads version 1 of the format must read these bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from priste import (
    AnyPrior,
    BeliefBound,
    Grid,
    KnownPrior,
    LastSeen,
    LocationSet,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    PriorsWithin,
    Protector,
    StartsIn,
    at,
    presence,
)
from priste.release import Certified, Optimal, Paper
from priste.release.stream_file import checkpoint

GOLDEN = Path(__file__).parent / "golden"
LEDGERS = GOLDEN / "ledgers.json"

GRID = Grid(rows=2, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
OTHER = MarkovModel.gaussian(GRID, sigma=2.0)
PAIRS = MarkovModel.fit(GRID, [[0, 1, 2, 5, 4, 3, 0, 1, 4, 5, 2]], order=2, smoothing=1.0)
LAPLACE = PlanarLaplace(GRID, alpha=1.5)
EVENTS = {"clinic": presence([0, 1], [1, 2, 9]), "later": at([4], 5) & ~at([5], 3)}
PATH = [4, 1, None, 0, 1, 4, 5, None, 2, 1, 0, 3]

STREAMS: dict[str, dict[str, Any]] = {
    "certified": {"calibrator": Certified()},
    "optimal": {"calibrator": Optimal(), "adversary": KnownPrior(np.full((1, 6), 1 / 6))},
    "paper": {"calibrator": Paper()},
    "uncalibrated": {"calibrator": "uncalibrated"},
    "location set": {"mechanism": LocationSet(LAPLACE, delta=0.1), "calibrator": Certified()},
    "two models": {"model": [MODEL, OTHER], "calibrator": Certified()},
    "each of two models": {
        "model": [MODEL, OTHER],
        "calibrator": Certified(),
        "family": "each",
        "adversary": [StartsIn([0, 4]), PriorsWithin(np.full(6, 1 / 6), 2.0)],
    },
    "second order": {"model": PAIRS, "calibrator": Certified()},
    "stale adversary": {"model": MarkovModel.gaussian(GRID, sigma=1.0), "adversary": LastSeen(2)},
    "upwards, and a belief": {
        "adversary": KnownPrior(np.full((1, 6), 1 / 6)),
        "guarantee": [OddsBound(0.5, math.inf), BeliefBound(at_most=0.6)],
        "calibrator": Certified(),
    },
}


def begun(journal: Path, path: list[int | None] = PATH, **options: Any) -> None:
    """Write a journal, and with it its last checkpoint."""
    given = {
        "model": MODEL,
        "mechanism": LAPLACE,
        "guarantee": [0.5, 0.8],
        "rng": 6,
        "adversary": AnyPrior(),
        **options,
    }
    given.setdefault("calibrator", Certified())
    with Protector(events=EVENTS, journal=journal, **given) as p:
        for cell in path:
            p.release(cell)


def forged(head: bytes, numbers: bytes = b"") -> bytes:
    """A checkpoint with any content, and a digest that fits it."""
    rest = head + b"\n" + numbers
    return b"priste-checkpoint 1 " + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def write_golden() -> None:
    """Write the golden files; refuse where there are some."""
    GOLDEN.mkdir(exist_ok=False)
    checkpoint.EVERY = 4
    ledgers = {}
    for name, options in STREAMS.items():
        journal = GOLDEN / f"{name.replace(',', '').replace(' ', '_')}.journal"
        begun(journal, **options)
        ledgers[journal.name] = Protector.load(journal).ledger.json_lines().splitlines()
    LEDGERS.write_text(json.dumps(ledgers, indent=1) + "\n")


if __name__ == "__main__":
    write_golden()
