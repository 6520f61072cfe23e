"""Write journals, or go on with journals that were written elsewhere; run as a module.

``python -m tests.release.journals_of_a_machine write FOLDER`` makes one journal per stream and
``ledgers.json`` beside them; ``continue FOLDER...`` loads all, compares, and releases one more.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from priste import Grid, KnownPrior, LocationSet, MarkovModel, PlanarLaplace, Protector, presence
from priste.mechanisms import Mechanism
from priste.quantify import Adversary, AnyPrior
from priste.release import Calibrator, Certified, Draw, Optimal
from priste.release.stream_file import checkpoint, journal
from priste.release.stream_file.checkpoint import checkpoint_of

GRID = Grid(rows=4, columns=4, cell_size=0.7)
MODEL = MarkovModel.gaussian(GRID, sigma=0.9)
LAPLACE = PlanarLaplace(GRID, alpha=3.0)
CLINIC = presence([0, 1], [2, 3])
EPSILON = 1.0
STREAMS: dict[str, tuple[Mechanism, Calibrator | str, Adversary]] = {
    "certified": (LAPLACE, Certified(pace=0.3), AnyPrior()),
    "optimal": (LAPLACE, Optimal(pace=0.3), AnyPrior()),
    "optimal, population": (LAPLACE, Optimal(), KnownPrior(MODEL.stationary()[None, :])),
    "paper": (LAPLACE, "paper", AnyPrior()),
    "uncalibrated": (LAPLACE, "uncalibrated", AnyPrior()),
    "location set": (LocationSet(LAPLACE, delta=0.1), Certified(pace=0.3), AnyPrior()),
}
PATH = [5, 6, None, 9, 5, 1]
SAME = 1e-9
"""How far, relatively, leakages of two machines may be apart: far above the error of six steps."""


def write(folder: Path) -> None:
    """Make the journals of this machine, with checkpoints after four steps."""
    ledgers = {}
    with patch.object(checkpoint, "EVERY", 4):
        for name, (mech, calibrator, adversary) in STREAMS.items():
            path = folder / name
            with Protector(
                MODEL, CLINIC, mech, EPSILON, calibrator, adversary=adversary, rng=3, journal=path
            ) as p:
                for cell in PATH:
                    p.release(cell)
                ledgers[name] = p.ledger.json_lines()
    (folder / "ledgers.json").write_text(json.dumps(ledgers))


def lines(ledger: str) -> list[dict[str, Any]]:
    """The releases of a ledger; of what they hold only plain values, as texts."""
    return [
        {key: json.dumps(value) for key, value in json.loads(line).items()}
        for line in ledger.splitlines()
    ]


def go_on(folder: Path) -> None:
    """Load the journals of another machine: the same releases, and the stream goes on."""
    ledgers = json.loads((folder / "ledgers.json").read_text())
    for name, ledger in ledgers.items():
        copy = Path(shutil.copy(folder / name, folder / f"{name} continued"))
        replayed = after_one_more(copy)
        if checkpoint_of(folder / name).exists():
            shutil.copy(checkpoint_of(folder / name), checkpoint_of(copy))
            assert checkpoint.found(copy, journal.read(copy).chains) is not None, name
            assert np.allclose(after_one_more(copy), replayed, rtol=SAME), name
        with Protector.resume(copy, rng=4) as p:
            for then, now in zip(lines(ledger), lines(p.ledger.json_lines()), strict=True):
                assert then.items() <= now.items(), name  # later versions may tell more
            last = p.release(6)
            if name not in ("paper", "uncalibrated"):
                assert last.leakage[0] <= EPSILON, name
        assert Protector.load(copy).next_step == len(PATH) + 1, name
        copy.unlink()


def after_one_more(path: Path) -> list[float]:
    """What the event would leak after some cells told exactly, as this machine goes on."""
    state = Protector.load(path).state
    found = []
    for cell in range(0, GRID.size, 5):
        column = np.full(GRID.size, 1e-3)
        column[cell] = 1.0
        found += state.after(Draw(cell, 1.0, column)).leakage
    return found


def perform(what: str, *folders: str) -> None:
    """Write journals into folders, or go on with those that are there."""
    for folder in folders:
        {"write": write, "continue": go_on}[what](Path(folder))


if __name__ == "__main__":
    perform(*sys.argv[1:])
