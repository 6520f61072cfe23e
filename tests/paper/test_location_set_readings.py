"""Both readings of a location set: surrogates outside it, or a likelihood of zero."""

import numpy as np
from paper.experiments.budget_per_step import EARLY, synthetic_world
from paper.experiments.excluding_set import ExcludingSet
from paper.experiments.experiment import settings_for
from paper.experiments.release_runs import Case, perform
from paper.experiments.sparing_set import SparingSet

from priste import Grid, MarkovModel, PlanarLaplace, Quantifier, presence
from priste.mechanisms import LocationSet

BELIEF = np.array([0.4, 0.3, 0.2, 0.06, 0.04])


def test_outside_the_set_nothing_is_possible() -> None:
    """Columns are those of the set with surrogates inside it, and zero outside; draws are alike."""
    base = PlanarLaplace(Grid(rows=1, columns=5, cell_size=1.0), alpha=1.0)
    surrogate = LocationSet(base, 0.1, BELIEF)
    excluding = ExcludingSet(base, 0.1, BELIEF)
    assert excluding.cells == surrogate.cells == (0, 1, 2)
    for budget in (1.0, 0.5, 0.0):
        told, true = excluding.with_budget(budget), surrogate.with_budget(budget)
        assert np.array_equal(told.emission(), true.emission())
        for output in surrogate.cells:
            assert np.array_equal(told.likelihood(output)[:3], true.likelihood(output)[:3])
            assert not told.likelihood(output)[3:].any()
    moved = excluding.at_belief(BELIEF[::-1])
    assert isinstance(moved, ExcludingSet)
    assert moved.cells == (2, 3, 4)


def test_rows_and_columns_made_alone_are_those_of_the_table() -> None:
    """Rows to the bit, columns up to rounding, for sets that leave out many cells or none."""
    grid = Grid(rows=3, columns=4, cell_size=0.7)
    rng = np.random.default_rng(5)
    for delta in (0.0, 0.2, 0.6):
        for alpha in (0.01, 1.3):
            base = PlanarLaplace(grid, alpha)
            belief = rng.dirichlet(np.full(grid.size, 0.4))
            whole, single = (kind(base, delta, belief) for kind in (LocationSet, SparingSet))
            assert single.cells == whole.cells
            for budget in (alpha, alpha / 2, 0.0):
                one, other = whole.with_budget(budget), single.with_budget(budget)
                for cell in range(grid.size):
                    assert np.array_equal(other.row(cell), one.row(cell))
                for output in whole.cells:
                    column = one.likelihood(output)
                    np.testing.assert_allclose(other.rough_column(output), column, rtol=1e-13)
                shared = single.around(base.with_budget(budget))
                assert np.array_equal(shared.emission(), one.emission())


def test_no_budget_is_small_enough() -> None:
    """The price of that reading: even a release at budget 0 can decide the event."""
    grid = Grid(rows=1, columns=5, cell_size=1.0)
    stay = MarkovModel(grid, np.eye(5))
    silent = ExcludingSet(PlanarLaplace(grid, alpha=1.0), 0.1, BELIEF).with_budget(0.0)
    outside = Quantifier(stay, presence([3, 4], [1]))
    outside.observe(silent.likelihood(0))
    assert outside.leakage().value == np.inf
    held = Quantifier(stay, presence([3, 4], [1]))
    held.observe(LocationSet(PlanarLaplace(grid, 1.0), 0.1, BELIEF).with_budget(0.0).likelihood(0))
    assert held.leakage().value < 1e-9


def test_runs_of_both_readings() -> None:
    """One walk, one seed, two readings: both release at every step, and differ in the check."""
    settings = settings_for("tiny")
    case = Case.on([synthetic_world(settings)], EARLY, epsilon=0.5, alpha=0.2).but(delta=0.2)
    both = [
        perform(each.jobs(settings, 1)[0].parameters)
        for each in (case, case.but(outside="excluded"))
    ]
    assert all(len(result["budgets"]) == settings.steps for result in both)
    assert both[0]["leakage"] != both[1]["leakage"]
