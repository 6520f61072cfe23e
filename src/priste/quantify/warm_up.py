"""Compile the kernels now and not with the first verdict: ``python -m priste.quantify.warm_up``.

The machine code is kept beside the kernels, so this pays once per installation. Nothing is
printed and nothing depends on it: without it the first verdicts come from a plain search that gives
the same answers, and some later one takes as much longer.
"""

from __future__ import annotations

import numpy as np

from priste.events import presence
from priste.maps import Grid
from priste.mobility import MarkovModel
from priste.quantify import bands
from priste.quantify.adversaries import AnyPrior, PriorsWithin
from priste.quantify.quantifier import Quantifier
from priste.quantify.worst_prior.searching import compile_now


def warm_up() -> None:
    """Ask for a verdict and a leakage, against any start and near a prior: every kernel is used."""
    compile_now()
    bands.compile_now()
    grid = Grid(rows=4, columns=4, cell_size=1.0)
    model, event = MarkovModel.gaussian(grid, sigma=1.0), presence([0], [1])
    column = np.linspace(0.1, 0.9, grid.size)
    for adversary in (AnyPrior(), PriorsWithin(np.full(grid.size, 1.0 / grid.size), factor=2.0)):
        quantifier = Quantifier(model, event, adversary)
        quantifier.passes(column[:, None], 0.5)
        quantifier.observe(column)
        quantifier.leakage()


if __name__ == "__main__":
    warm_up()
