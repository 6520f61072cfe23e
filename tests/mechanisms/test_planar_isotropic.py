"""The planar isotropic mechanism: hulls, integrals, degenerate sets, and the table it means."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import PlanarIsotropic
from priste.mechanisms.hull_integrals import HullMasses, simplex_integral
from priste.mechanisms.sensitivity_hull import SensitivityHull

INTEGRAL_TOLERANCE = 1e-11
SIMPLEX_TOLERANCE = 1e-14
TOTAL_TOLERANCE = 1e-12
LEVEL_SLIP = 1e-11

POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=8)


@given(POINTS)
@examples(200)
def test_hull_is_the_unit_ball_of_differences(points):
    """All differences have norm <= 1, vertices are differences of norm 1, and K = -K."""
    hull = SensitivityHull(points)
    differences = {(a[0] - b[0], a[1] - b[1]) for a in points for b in points}
    norms = hull.norm(np.array(sorted(differences), dtype=float))
    assert (norms <= 1 + 1e-15).all()
    assert set(hull.vertices) <= differences
    assert {(-x, -y) for x, y in hull.vertices} == set(hull.vertices)
    if hull.dimension:
        np.testing.assert_allclose(hull.norm(np.array(hull.vertices, dtype=float)), 1, rtol=1e-15)


def test_hulls_of_points_and_lines_are_degenerate():
    """One cell gives a point, cells on a line a segment, other cells a body with its area."""
    assert SensitivityHull([(3, 3)]).dimension == 0
    line = SensitivityHull([(0, 0), (1, 2), (3, 6)])
    assert (line.dimension, line.vertices) == (1, ((-3, -6), (3, 6)))
    assert line.norm(np.array([[1.0, 2.0], [1.0, 2.1]])).tolist() == [1 / 3, math.inf]
    square = SensitivityHull([(0, 0), (1, 0), (0, 1), (1, 1)])
    assert (square.dimension, square.area) == (2, 4.0)


@given(st.floats(-9, 3), st.floats(-9, 3))
@examples(200)
def test_simplex_integral_is_the_divided_difference(first, second):
    """The closed form agrees with mpmath at 60 digits, in all of its ranges."""
    p, q = sorted([10.0**first, 10.0**second])
    with mp.workdps(60):
        lower, upper = mp.mpf(p), mp.mpf(q)
        if lower == upper:
            exact = (1 - mp.exp(-lower) * (1 + lower)) / lower**2
        else:
            phi = [(1 - mp.exp(-v)) / v for v in (lower, upper)]
            exact = (phi[0] - phi[1]) / (upper - lower)
        found = mp.mpf(float(simplex_integral(np.array([p]), np.array([q]))[0]))
        assert abs(found / exact - 1) < SIMPLEX_TOLERANCE


def exact_mass(hull, alpha, x_range, y_range):
    """Integrate the density over a rectangle: the norm as a maximum, rays and cuts found anew.

    Along the ray with direction u the density falls like exp(-alpha norm(u) r); one integral over
    the angle is left, cut at the vertices of the hull and the corners of the rectangle.
    """
    with mp.workdps(20):
        normals = []
        for (ax, ay), (bx, by) in hull.sectors():
            determinant = ax * by - ay * bx
            normals.append((mp.mpf(by - ay) / determinant, mp.mpf(ax - bx) / determinant))
        angles = {mp.atan2(y, x) for x, y in hull.vertices} | {-mp.pi, mp.pi, mp.mpf(0)}
        angles |= {mp.pi / 2, -mp.pi / 2}
        angles |= {mp.atan2(y, x) for x in x_range for y in y_range if mp.isfinite(x + y)}

        def along(angle):
            cos, sin = mp.cos(angle), mp.sin(angle)
            rate = alpha * max(a * cos + b * sin for a, b in normals)
            low, high = mp.mpf(0), mp.inf
            for (lower, upper), slope in ((x_range, cos), (y_range, sin)):
                if slope == 0:
                    return mp.mpf(0)
                ends = sorted([lower / slope, upper / slope])
                low, high = max(low, ends[0]), min(high, ends[1])
            if low >= high:
                return mp.mpf(0)
            tail = mp.mpf(0)
            if mp.isfinite(high):
                tail = (1 + rate * high) * mp.exp(-rate * high)
            return ((1 + rate * low) * mp.exp(-rate * low) - tail) / rate**2

        cuts = sorted(angles)
        total = sum(mp.quad(along, [a, (a + b) / 2, b]) for a, b in pairwise(cuts) if b - a > 1e-20)
        return total * mp.mpf(alpha) ** 2 / (2 * mp.mpf(hull.area))


@pytest.mark.parametrize(
    ("points", "alpha"),
    [
        ([(0, 0), (2, 0), (0, 1)], 1.0),
        ([(0, 0), (1, 0), (0, 1), (1, 1)], 6.0),
        ([(0, 0), (3, 1), (1, 2), (2, 2)], 0.05),
    ],
)
def test_masses_equal_the_integral(points, alpha):
    """Cells, strips and quadrants agree with an independent quadrature."""
    rows, columns = 3, 4
    hull = SensitivityHull(points)
    masses = HullMasses(hull, rows, columns).at(alpha)
    half = mp.mpf(1) / 2

    def bounds(slot, count):
        low = -mp.inf if slot == 0 else slot - count - half
        high = mp.inf if slot == 2 * count else slot - count + half
        return (low, high)

    for row_slot, column_slot in [(3, 4), (4, 4), (2, 6), (5, 7), (0, 4), (3, 8), (6, 8), (1, 0)]:
        exact = exact_mass(hull, alpha, bounds(column_slot, columns), bounds(row_slot, rows))
        found = mp.mpf(float(masses[row_slot, column_slot]))
        assert abs(found / exact - 1) < INTEGRAL_TOLERANCE


@given(POINTS, st.floats(-9, 4))
@examples(100)
def test_masses_are_a_symmetric_distribution(points, exponent):
    """Over all offsets the masses sum to 1 and are equal at opposite offsets, for every hull."""
    masses = HullMasses(SensitivityHull(points), 7, 7).at(10.0**exponent)
    assert (masses >= 0).all()
    assert abs(masses.sum() - 1) < TOTAL_TOLERANCE
    np.testing.assert_allclose(masses, masses[::-1, ::-1], rtol=INTEGRAL_TOLERANCE, atol=1e-290)


@given(st.integers(1, 5), st.integers(1, 5), st.floats(-3, 3), st.data())
@examples(80)
def test_levels_are_kept_on_the_set_and_on_the_map(rows, columns, exponent, data):
    """On the set, log ratios stay within alpha times the norm; on the map, within the claim."""
    grid = Grid(rows, columns, 0.5)
    cells = sorted(data.draw(st.sets(st.integers(0, grid.size - 1), min_size=1)))
    alpha = 10.0**exponent
    mechanism = PlanarIsotropic(grid, alpha, cells=cells)
    logs = np.log(mechanism.emission()[np.ix_(cells, cells)])
    places = np.array([(c % columns, c // columns) for c in cells], dtype=float)
    norms = mechanism.hull.norm(places[:, None] - places[None, :])
    apart = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    assert (apart <= alpha * norms + LEVEL_SLIP * (1 + alpha)).all()
    assert apart.max() <= alpha * (1 + LEVEL_SLIP) + LEVEL_SLIP
    assert mechanism.smallest_alpha() <= mechanism.claimed_alpha * (1 + 1e-12)


def test_segment_noise_is_laplace_along_the_line():
    """On a line of cells the distribution is Laplace noise of rate alpha per length of the set."""
    grid = Grid(1, 5, 1.0)
    distribution = PlanarIsotropic(grid, 2.0, cells=range(5)).row(1)
    rate = 2.0 / 4.0  # the set is 4 cells long
    tail = [0.5 * math.exp(-rate * (k - 0.5)) for k in range(1, 5)]
    expected = [tail[0], 1 - 2 * tail[0], tail[0] - tail[1], tail[1] - tail[2], tail[2]]
    np.testing.assert_allclose(distribution, expected, rtol=1e-14)


def test_diagonal_segment_stays_on_its_diagonal():
    """A slanted line of cells gets the same distribution as a straight one with as many steps."""
    slanted = PlanarIsotropic(Grid(5, 5, 1.0), 2.0, cells=[0, 6, 12, 18, 24])
    straight = PlanarIsotropic(Grid(1, 5, 1.0), 2.0, cells=range(5))
    diagonal = slanted.emission()[np.ix_(slanted.cells, slanted.cells)]
    np.testing.assert_allclose(diagonal, straight.emission(), rtol=1e-14)


def test_one_cell_is_always_released():
    """A set of one cell is a point: it is released from everywhere and says nothing."""
    mechanism = PlanarIsotropic(Grid(2, 2, 1.0), 3.0, cells=[2])
    assert mechanism.emission().tolist() == [[0.0, 0.0, 1.0, 0.0]] * 4
    assert mechanism.claimed_alpha == mechanism.smallest_alpha() == 0.0


@pytest.mark.parametrize("alpha", [5e-324, 1e-120, 1e120, 1.7e308])
@pytest.mark.parametrize("cells", [[0, 1, 5], [0, 1], [3]])
def test_extreme_alphas_give_distributions(alpha, cells):
    """Alphas at the ends of floating point give rows that sum to 1 and keep the claim."""
    mechanism = PlanarIsotropic(Grid(2, 3, 1.0), alpha, cells=cells)
    assert np.abs(mechanism.emission().sum(axis=1) - 1).max() <= 1e-15
    assert mechanism.smallest_alpha() <= mechanism.claimed_alpha


DRAWS = 200_000
FALSE_ALARM = 1e-6


def simulated_counts(mechanism, cell, rng, *, on_perimeter):
    """Draw Gamma(3, 1/alpha) times a uniform point of the hull (or wrongly, of its perimeter)."""
    grid, hull = mechanism.grid, mechanism.hull
    vertices = np.array(hull.vertices, dtype=float)
    following = np.roll(vertices, -1, axis=0)
    if on_perimeter:
        chances = np.hypot(*(following - vertices).T)
    else:
        chances = vertices[:, 0] * following[:, 1] - vertices[:, 1] * following[:, 0]
    side = rng.choice(len(vertices), size=DRAWS, p=chances / chances.sum())
    along = rng.random(DRAWS)[:, None]
    points = vertices[side] * along + following[side] * (1 - along)
    if not on_perimeter:
        points *= np.sqrt(rng.random(DRAWS))[:, None]
    points *= rng.gamma(3, 1 / mechanism.alpha, DRAWS)[:, None]
    row, column = divmod(cell, grid.columns)
    columns = np.clip(np.rint(column + points[:, 0]), 0, grid.columns - 1).astype(int)
    rows = np.clip(np.rint(row + points[:, 1]), 0, grid.rows - 1).astype(int)
    nearest = [
        min(
            mechanism.cells,
            key=lambda c: ((c // grid.columns - r) ** 2 + (c % grid.columns - k) ** 2, c),
        )
        for r in range(grid.rows)
        for k in range(grid.columns)
    ]
    released = np.array(nearest)[rows * grid.columns + columns]
    return np.bincount(released, minlength=grid.size)


def chi_square(counts, distribution):
    possible = distribution > 0
    expected = DRAWS * distribution[possible]
    return float(((counts[possible] - expected) ** 2 / expected).sum()), possible.sum() - 1


def test_table_is_the_distribution_of_gamma_radius_times_uniform_point():
    """200,000 simulated points agree with the table; points of the perimeter would not.

    False alarms: 1e-6. Power: the table with the perimeter in place of the body is off by more
    than ten times the limit.
    """
    grid = Grid(6, 7, 1.0)
    mechanism = PlanarIsotropic(grid, 2.0, cells=[8, 9, 10, 16, 17, 23, 24, 25, 33])
    distribution, rng = mechanism.row(17), np.random.default_rng(20)
    value, freedom = chi_square(
        simulated_counts(mechanism, 17, rng, on_perimeter=False), distribution
    )
    limit = chi2.isf(FALSE_ALARM, freedom)
    assert value < limit
    wrong, _ = chi_square(simulated_counts(mechanism, 17, rng, on_perimeter=True), distribution)
    assert wrong > 10 * limit


def test_the_set_follows_the_belief_only_when_asked():
    """With delta the set follows at_belief; with fixed cells it stays."""
    grid = Grid(1, 4, 1.0)
    following = PlanarIsotropic(grid, 1.0, delta=0.1)
    assert following.cells == (0, 1, 2, 3)
    assert following.uses_belief
    assert following.at_belief([0.5, 0.0, 0.0, 0.5]).cells == (0, 3)
    fixed = PlanarIsotropic(grid, 1.0, cells=[1, 2])
    assert not fixed.uses_belief
    assert fixed.at_belief([0.5, 0.0, 0.0, 0.5]) is fixed


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"alpha": -1.0, "cells": [0]}, "alpha"),
        ({"alpha": math.inf, "cells": [0]}, "alpha"),
        ({"alpha": math.nan, "cells": [0]}, "alpha"),
        ({"alpha": True, "cells": [0]}, "alpha"),
        ({"alpha": 1.0}, "neither"),
        ({"alpha": 1.0, "cells": [0], "delta": 0.1}, "both"),
        ({"alpha": 1.0, "cells": [4]}, "cells of its grid"),
        ({"alpha": 1.0, "cells": []}, "cells"),
        ({"alpha": 1.0, "cells": [0], "belief": [0.25] * 4}, "left out with fixed"),
        ({"alpha": 1.0, "delta": 1.0}, "delta"),
        ({"alpha": 1.0, "delta": 0.1, "belief": [1.0]}, "belief"),
    ],
)
def test_bad_arguments_are_refused(arguments, part):
    """Wrong alphas, sets, deltas and beliefs raise InvalidParameter."""
    with pytest.raises(InvalidParameter, match=part):
        PlanarIsotropic(Grid(2, 2, 1.0), **arguments)
