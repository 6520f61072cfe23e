"""What no procedure can avoid (Theorem 12), compared with an enumeration of all paths."""

from itertools import product
from math import e

import numpy as np
import pytest
from benchmarks.usefulness_floor import Sides
from scipy.optimize import linprog

from priste import Grid, MarkovModel, presence

STEPS, FIRST, LAST = 6, 2, 4
GRID = Grid(rows=1, columns=4, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=0.7)
EVENT = presence([3], [3])
START = np.array([0.4, 0.3, 0.2, 0.1])
APART = GRID.distances()


@pytest.fixture(scope="module")
def sides() -> Sides:
    """People of a line of four cells, with an event at its end."""
    return Sides(MODEL, EVENT, START, e)


@pytest.fixture(scope="module")
def paths() -> list[tuple[tuple[int, ...], float, int]]:
    """Every path, how likely it is on its side, and the side."""
    moves = [MODEL.transition(step).push(np.eye(4)) for step in range(STEPS)]
    found = []
    for path in product(range(4), repeat=STEPS):
        chance = START[path[0]]
        for step in range(STEPS - 1):
            chance *= moves[step][path[step], path[step + 1]]
        found.append((path, chance, 0 if EVENT.holds(path) else 1))
    whole = [sum(chance for _, chance, side in found if side == one) for one in (0, 1)]
    return [(path, chance / whole[side], side) for path, chance, side in found]


def test_guarded_hours_cost_what_the_best_guess_per_last_cell_costs(sides, paths) -> None:
    """The sum over steps of the best point for people with one cell before guarded hours."""
    error = 0.0
    for step in range(FIRST, LAST + 1):
        joint = np.zeros((4, 4))
        for path, chance, _ in paths:
            joint[path[FIRST - 1], path[step]] += 0.5 * chance
        error += (joint @ APART).min(axis=1).sum()
    assert sides.guarded_error(FIRST, LAST, APART) == pytest.approx(error, rel=1e-9)


def test_all_that_other_hours_say_is_in_two_cells(sides, paths) -> None:
    """Whole paths outside guarded hours are beyond the bound as often as those two cells are."""
    outside = [step for step in range(STEPS) if not FIRST <= step <= LAST]
    chances: dict[tuple[int, ...], np.ndarray] = {}
    for path, chance, side in paths:
        key = tuple(path[step] for step in outside)
        chances.setdefault(key, np.zeros(2))[side] += chance
    found = [
        sum(max(each[one] - e * each[1 - one], 0.0) for each in chances.values()) for one in (0, 1)
    ]
    assert sides.told(FIRST, LAST) == pytest.approx(found, rel=1e-9)


def test_no_table_of_one_step_is_below_the_error_outside(sides, paths) -> None:
    """The best table of a step for the whole bound, by a linear programme over all tables."""
    step = LAST + 1
    marginals = sides.marginals(STEPS)
    for one in (0, 1):
        for path_side in (0, 1):
            counted = np.zeros(4)
            for path, chance, side in paths:
                if side == path_side:
                    counted[path[step]] += chance
            np.testing.assert_allclose(marginals[step, path_side], counted, rtol=1e-9)
        floor = sides.outside_error(marginals, one, range(step), APART)
        assert 0.0 < floor <= best_error(marginals[step], one) + 1e-9


def best_error(marginals: np.ndarray, one: int) -> float:
    """Return the least mean error of the sides if no output is e times likelier on side ``one``.

    People of each side may be released differently, which no table can do.
    """
    rows, most = [], []
    for output in range(4):
        row = np.zeros((2, 4, 4))
        row[one, :, output], row[1 - one, :, output] = marginals[one], -e * marginals[1 - one]
        rows.append(row.ravel())
        most.append(0.0)
    sums = np.kron(np.eye(8), np.ones(4))
    costs = 0.5 * marginals[:, :, None] * APART
    best = linprog(costs.ravel(), A_ub=rows, b_ub=most, A_eq=sums, b_eq=np.ones(8))
    return float(best.fun)
