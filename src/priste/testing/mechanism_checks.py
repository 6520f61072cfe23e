"""The contract of a mechanism; see :mod:`priste.mechanisms.mechanism`."""

from __future__ import annotations

import math

import numpy as np

from priste.errors import InvalidParameter
from priste.mechanisms import ROW_SUM_TOLERANCE, Mechanism, mechanism_from_dict
from priste.mechanisms.mechanism import ROUNDING_SLIP
from priste.testing.required import require, require_distribution, require_draws, require_json

LARGEST = 400
"""Cells of the largest map on which a mechanism is tried: all pairs of cells are compared."""

CELLS_DRAWN = 3


def check_mechanism(mechanism: Mechanism) -> None:
    """Raise NotConformant if a mechanism breaks a rule of its contract.

    Rows are distributions; ``row``, ``likelihood``, ``likelihoods`` and ``sample`` agree with
    ``emission``; budgets form a family whose rows are equal at 0; ``claimed_alpha`` is not below
    the level that the table has; the object cannot be changed, and can be copied to another
    process; the true cell is in no message. Take a small map, of at most 400 cells.

    >>> from priste import Grid, PlanarLaplace
    >>> check_mechanism(PlanarLaplace(Grid(rows=3, columns=3, cell_size=1.0), alpha=1.0))
    """
    require(isinstance(mechanism, Mechanism), "A mechanism must be a subclass of Mechanism.")
    cells = mechanism.grid.size
    require(cells <= LARGEST, f"Try a mechanism on a map of at most {LARGEST} cells.")
    _check_table(mechanism)
    _check_budgets(mechanism)
    _check_values(mechanism)
    slip = ROUNDING_SLIP / mechanism.grid.cell_size
    require(
        mechanism.claimed_alpha + slip >= mechanism.smallest_alpha(),
        "claimed_alpha must not be below the level of geo-indistinguishability of the table.",
    )
    for cell in np.unique(np.linspace(0, cells - 1, CELLS_DRAWN).astype(int)).tolist():
        require_draws(
            lambda bits, cell=cell: mechanism.sample(cell, bits),  # type: ignore[misc]
            mechanism.row(cell),
            "sample()",
        )
    for wrong in (-1, cells):
        _check_refusal(mechanism, wrong)


def _check_table(mechanism: Mechanism) -> None:
    table = mechanism.emission()
    shape = (mechanism.grid.size, mechanism.outputs)
    require(table.shape == shape, f"emission() must be (cells, outputs), here {shape}.")
    require(table.dtype == np.float64, "emission() must hold floats.")
    require(not table.flags.writeable, "emission() must be read-only.")
    # The tolerance is for exact sums; fsum rounds the sum of a row once.
    for row in table:
        require_distribution(row, ROW_SUM_TOLERANCE + 2.0**-52, "Each row of emission()")
    for cell in range(shape[0]):
        require(np.array_equal(mechanism.row(cell), table[cell]), "row(l) must be emission()[l].")
    for output in range(shape[1]):
        require(
            np.array_equal(mechanism.likelihood(output), table[:, output]),
            "likelihood(o) must be emission()[:, o], to the bit.",
        )
    some = list(range(0, shape[1], max(1, shape[1] // 3)))
    require(
        np.array_equal(mechanism.likelihoods(some), table[:, some]),
        "likelihoods(...) must be columns.",
    )
    outputs = mechanism.output_cells()
    if outputs is not None:
        fits = len(outputs) == shape[1] and ((outputs >= 0) & (outputs < shape[0])).all()
        require(fits, "output_cells() must name a cell of the map for every output.")


def _check_budgets(mechanism: Mechanism) -> None:
    own = mechanism.budget
    require(own >= 0, "budget must be a number >= 0.")
    require(
        np.array_equal(mechanism.with_budget(own).emission(), mechanism.emission()),
        "with_budget(budget) must be the same mechanism.",
    )
    silent = mechanism.with_budget(0.0)
    table = silent.emission()
    require(silent.budget == 0.0, "with_budget(0) must have budget 0.")
    require(
        np.array_equal(table, np.broadcast_to(table[0], table.shape)),
        "At budget 0 all rows must be equal to the bit: the output must say nothing.",
    )
    half = mechanism.with_budget(own / 2 if math.isfinite(own) else 1.0)
    require(half.outputs == mechanism.outputs, "Budgets must not change the outputs.")
    require(
        half.claimed_alpha <= mechanism.claimed_alpha,
        "A smaller budget must not claim a larger alpha.",
    )
    for row in half.emission():
        require_distribution(row, ROW_SUM_TOLERANCE + 2.0**-52, "Each row at half the budget")
    for wrong in (-1.0, 2 * own + 1, math.nan):
        if wrong == math.inf:
            continue
        try:
            mechanism.with_budget(wrong)
        except InvalidParameter:
            continue
        require(False, f"with_budget({wrong:g}) must raise InvalidParameter.")


def _check_values(mechanism: Mechanism) -> None:
    try:
        mechanism.changed = True
    except AttributeError:
        pass
    else:
        require(False, "A mechanism must refuse new attributes: it cannot be changed.")
    again = mechanism._twin()  # as another process gets it
    same = np.array_equal(again.emission(), mechanism.emission())
    require(same, "A mechanism must make the same table again from its state.")
    described = mechanism.describe()
    require_json(described, "describe() must hold values of JSON.")
    require(isinstance(described.get("kind"), str), "describe() must have a text under 'kind'.")
    try:
        read = mechanism_from_dict(mechanism.grid, described)
    except InvalidParameter:
        pass  # of a kind that is not registered: streams of it cannot be loaded
    else:
        same = np.array_equal(read.emission(), mechanism.emission())
        require(same, "mechanism_from_dict(describe()) must have the same table.")
    uniform = np.full(mechanism.grid.size, 1.0 / mechanism.grid.size)
    predicted = mechanism.at_belief(uniform)
    require(isinstance(predicted, Mechanism), "at_belief() must return a mechanism.")
    if not mechanism.uses_belief:
        require(predicted is mechanism, "at_belief() without uses_belief must return self.")


def _check_refusal(mechanism: Mechanism, cell: int) -> None:
    try:
        mechanism.sample(cell)
    except InvalidParameter as refused:
        require(str(cell) not in str(refused), "No message may show a true cell.")
    else:
        require(False, "sample() must raise InvalidParameter for a cell that is not on the map.")
