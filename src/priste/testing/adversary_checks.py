"""The contract of an adversary, tested on a small model."""

from __future__ import annotations

import numpy as np

from priste.events import presence
from priste.maps import Grid
from priste.mechanisms import PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import Adversary, KnownPrior, Quantifier
from priste.testing.required import Floats, require, require_distribution, require_json

TOLERANCE = 1e-9
"""How far sums of doubles may lie apart."""

MARGIN = 1e-6


def check_adversary(adversary: Adversary, model: MarkovModel | None = None) -> None:
    """Raise NotConformant if an adversary breaks a rule of its contract.

    Rows are distributions of the first cell; the mean prior is one; the dictionary is JSON and
    stands for the adversary; verdicts and leakages agree, and no prior that belongs to the class
    learns more than the class is said to learn. ``model`` is one that the adversary fits; by
    default a random walk on 3 by 3 cells.

    >>> from priste import StartsIn
    >>> check_adversary(StartsIn([0, 4]))
    """
    require(isinstance(adversary, Adversary), "An adversary must be a subclass of Adversary.")
    if model is None:
        model = MarkovModel.gaussian(Grid(rows=3, columns=3, cell_size=1.0), sigma=0.8)
    cells = model.grid.size
    rows_of_cells = _rows(adversary, model)
    require(
        rows_of_cells.shape == (adversary.row_count(cells), cells),
        "rows(model) must have row_count(cells) rows over the cells of the map.",
    )
    for row in rows_of_cells:
        require_distribution(row, TOLERANCE, "Each row of an adversary")
    mean = adversary.mean_prior(cells)
    require(mean.shape == (cells,), "mean_prior(cells) must have a number for each cell.")
    require_distribution(mean, TOLERANCE, "mean_prior()")
    _check_identity(adversary, model)
    _check_judgement(adversary, model, rows_of_cells)


def _rows(adversary: Adversary, model: MarkovModel) -> Floats:
    """Return (rows, cells), the rows as plain numbers."""
    spread, exponents = adversary.rows(model).distributions().plain()
    return np.asarray(np.ldexp(spread, np.asarray(exponents)[..., None])[:, 0, :])


def _check_identity(adversary: Adversary, model: MarkovModel) -> None:
    words, saved = adversary.words(), adversary.to_dict()
    require(isinstance(words, str) and words.strip(), "words() must say who is meant.")
    require_json(saved, "to_dict() must hold values of JSON.")
    require(
        saved.get("adversary") == adversary.kind,
        "to_dict() must have the kind of the adversary under 'adversary'.",
    )
    values = {name: value for name, value in saved.items() if name != "adversary"}
    again = type(adversary).from_dict(values)
    same = again == adversary and hash(again) == hash(adversary)
    same = same and np.array_equal(_rows(again, model), _rows(adversary, model))
    require(same, "from_dict() must give back an equal adversary from what to_dict() wrote.")


def _check_judgement(adversary: Adversary, model: MarkovModel, rows: Floats) -> None:
    """Compare what the class learns with what priors of it learn, after two releases."""
    table = PlanarLaplace(model.grid, alpha=1.0).emission()
    event = presence([0, 1], [1, 2])
    stream = Quantifier(model, event, adversary)
    stream.observe(table[:, 0])
    value = stream.leakage().value
    verdicts = [bool(stream.passes(table[:, :1], bound)[0]) for bound in _around(stream, table)]
    require(verdicts == [False, True], "passes() must turn where leakage_if() is.")
    members = [adversary.mean_prior(model.grid.size)] if adversary.states_prior else []
    if adversary.every_mixture:
        members += [rows[0], rows.mean(axis=0)]
    for prior in members:
        alone = Quantifier(model, event, KnownPrior(prior))
        alone.observe(table[:, 0])
        require(
            alone.leakage().value <= value + MARGIN,
            "A prior of the class learns more than the class is said to learn.",
        )
    if adversary.every_mixture:
        together = Quantifier(model, event, KnownPrior(rows))
        together.observe(table[:, 0])
        same = abs(together.leakage().value - value) <= MARGIN
        require(same, "An adversary of every mixture must learn what its rows learn together.")


def _around(stream: Quantifier, table: Floats) -> tuple[float, float]:
    found = float(stream.leakage_if(table[:, :1])[0])
    return found - MARGIN, found + MARGIN
