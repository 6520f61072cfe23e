"""Count how many releases of seeded streams are alike on other machines.

``python -m tests.release.seeds_elsewhere [--seeds 8] [--steps 8] [--setting NAME ...]`` releases
the same streams under float settings that stand for other processors (``tests/float_settings.py``),
each in a process of its own. For each kind of stream it prints how many releases have the output
that they have on this machine as it is, and how many in addition the same distribution: the same
probability of that output at every cell, but for rounding. ``--write`` prints the releases of this
process alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tests.float_settings import FLOAT_SETTINGS, environment, usable

from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.quantify import Adversary, AnyPrior
from priste.release import Calibrator, Certified, Optimal, Paper, Uncalibrated

ROOT = Path(__file__).parents[2]
AS_IT_IS = "as it is"
OTHERS = tuple(name for name in FLOAT_SETTINGS if name != AS_IT_IS)

GRID = Grid(rows=4, columns=4, cell_size=0.7)
MODEL = MarkovModel.gaussian(GRID, sigma=0.9)
"""As symmetric as can be: wherever distributions tie, last bits could choose."""
LAPLACE = PlanarLaplace(GRID, alpha=3.0)
CLINIC = presence([0, 1], [2, 3])
POPULATION = KnownPrior(MODEL.stationary()[None, :])
STREAMS: dict[str, tuple[Calibrator, Adversary]] = {
    "certified, any prior": (Certified(), AnyPrior()),
    "paper, any prior": (Paper(), AnyPrior()),
    "uncalibrated, any prior": (Uncalibrated(), AnyPrior()),
    "optimal, any prior": (Optimal(), AnyPrior()),
    "optimal, population": (Optimal(), POPULATION),
    "optimal with a pace, any prior": (Optimal(pace=0.3), AnyPrior()),
    "optimal with a pace, population": (Optimal(pace=0.3), POPULATION),
}

SAME = 1e-6
"""Probabilities that differ by less are the same but for rounding."""

Told = tuple[int, list[float]]
"""An output and its probability at every cell; none where that is the mechanism's own."""


def released(seeds: int, steps: int) -> dict[str, list[Told]]:
    """Release the streams of all kinds as this process computes."""
    found: dict[str, list[Told]] = {}
    for name, (calibrator, adversary) in STREAMS.items():
        found[name] = []
        for seed in range(seeds):
            stream = Protector(
                MODEL, CLINIC, LAPLACE, 1.0, calibrator, adversary=adversary, rng=100 + seed
            )
            for cell in MODEL.sample(steps, rng=seed):
                stream.release(int(cell))
            for release in stream.ledger:
                assert release.cell is not None
                column = stream.ledger.likelihood(release.step)
                distribution = [release.budget] if column is None else column.tolist()
                found[name].append((release.cell, distribution))
    return found


def released_elsewhere(setting: str, seeds: int, steps: int) -> dict[str, list[Told]]:
    """Release the same streams in a process under a float setting."""
    command = [sys.executable, "-m", "tests.release.seeds_elsewhere", "--write"]
    command += ["--seeds", str(seeds), "--steps", str(steps)]
    ended = subprocess.run(
        command, env=environment(setting), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    told: dict[str, list[Told]] = json.loads(ended.stdout)
    return told


def alike(here: list[Told], there: list[Told]) -> tuple[int, int]:
    """How many releases have the same output, and how many of these the same distribution."""
    pairs = zip(here, there, strict=True)
    distributions = [(ours, theirs) for (one, ours), (other, theirs) in pairs if one == other]
    return len(distributions), sum(
        len(ours) == len(theirs) and np.allclose(ours, theirs, rtol=0.0, atol=SAME)
        for ours, theirs in distributions
    )


def main(arguments: Sequence[str]) -> None:
    """Print one line per kind of stream, two counts per setting."""
    parser = argparse.ArgumentParser(prog="python -m tests.release.seeds_elsewhere")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--setting", action="append", choices=OTHERS)
    parser.add_argument("--write", action="store_true", help="print the releases of this process")
    given = parser.parse_args(arguments)
    if given.write:
        print(json.dumps(released(given.seeds, given.steps)))
        return
    here = released_elsewhere(AS_IT_IS, given.seeds, given.steps)
    settings = [name for name in given.setting or OTHERS if usable(name)]
    there = {name: released_elsewhere(name, given.seeds, given.steps) for name in settings}
    print(
        f"of {given.seeds * given.steps}: outputs / distributions alike | " + " | ".join(settings)
    )
    for kind, ours in here.items():
        counts = (alike(ours, there[name][kind]) for name in settings)
        print(
            f"{kind} | "
            + " | ".join(f"{cells} / {distributions}" for cells, distributions in counts)
        )


if __name__ == "__main__":
    main(sys.argv[1:])
