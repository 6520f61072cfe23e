"""The tables of what people use in place of priste, each against an independent computation."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import shapely

from priste import Grid, PlanarLaplace
from priste.errors import InvalidParameter
from priste.mechanisms.alternatives import (
    PLACES,
    adaptive,
    coarsened,
    constant_point,
    landmarks,
    policy_graph,
    remapped,
    rounded,
    velocity_aware,
    zones,
)
from priste.randomness import bit_source

FLAT = Grid(rows=4, columns=5, cell_size=1.0)
EARTH = Grid.covering(46.0, 7.0, 46.03, 7.04, cell_size=0.65)
SUMMED = 1e-12
"""What sums of a few hundred floats may differ by."""
BOUNDARY = 4.0 / PLACES
"""A straight or round boundary moves the counted share of a cell by less than this."""


def test_coarsening_is_the_overlap_of_rectangles() -> None:
    """The share of a cell in each square is their overlap; sides of 2.5 cut cells in halves."""
    table = coarsened(FLAT, 2.5)
    emission = table.mechanism.emission()
    for cell, (output, point) in itertools.product(range(FLAT.size), enumerate(table.points)):
        square = shapely.box(*(point - 1.25), *(point + 1.25))
        centre = FLAT.centers[cell]
        overlap = shapely.box(*(centre - 0.5), *(centre + 0.5)).intersection(square).area
        assert emission[cell, output] == overlap


def test_rounding_is_the_overlap_with_squares_of_degrees() -> None:
    """The share of a cell that each rounded position has is the area that rounds to it."""
    table = rounded(EARTH, 2)
    emission = table.mechanism.emission()
    lat, lon = EARTH.latlon_at(table.points[:, 0], table.points[:, 1])
    assert np.allclose(lat, np.round(lat, 2), atol=1e-6)
    for output in range(len(lat)):
        around = [
            (lat[output] + i, lon[output] + j)
            for i, j in itertools.product((-0.005, 0.005), repeat=2)
        ]
        corners = [EARTH.xy(*each) for each in around]
        square = shapely.MultiPoint(corners).convex_hull
        for cell in range(EARTH.size):
            box = shapely.box(*(EARTH.centers[cell] - 0.325), *(EARTH.centers[cell] + 0.325))
            share = box.intersection(square).area / box.area
            assert abs(emission[cell, output] - share) < BOUNDARY
    with pytest.raises(InvalidParameter, match="map of the earth"):
        rounded(FLAT, 2)


def test_zones_are_silent_by_the_area_of_the_circle() -> None:
    """A cell is silent by its share of the circle, and its own cell is released otherwise."""
    table = zones(FLAT, [(2.2, 1.9)], 1.1)
    emission = table.mechanism.emission()
    silent = np.flatnonzero(np.isnan(table.points[:, 0]))
    assert silent.size == 1
    circle = shapely.Point(2.2, 1.9).buffer(1.1, quad_segs=64)
    for cell in range(FLAT.size):
        box = shapely.box(*(FLAT.centers[cell] - 0.5), *(FLAT.centers[cell] + 0.5))
        assert abs(emission[cell, silent[0]] - box.intersection(circle).area) < BOUNDARY
        shown = np.flatnonzero(emission[cell])
        assert all(
            np.array_equal(table.points[o], FLAT.centers[cell]) for o in shown if o != silent
        )
    with pytest.raises(InvalidParameter, match="radius_km"):
        zones(FLAT, [(0.5, 0.5)], 1e-6)


def test_what_acts_on_the_fix_releases_what_its_table_counts() -> None:
    """Draws at random places of a cell have the frequencies of its row."""
    rng = np.random.default_rng(3)
    for table in (coarsened(FLAT, 1.7), zones(FLAT, [(2.2, 1.9)], 1.1)):
        assert table.at is not None
        cell = 7
        places = FLAT.centers[cell] + rng.uniform(-0.5, 0.5, (20_000, 2))
        drawn = np.bincount(table.at(places), minlength=table.mechanism.outputs) / 20_000
        # 20,000 draws: five standard deviations, and the boundary
        assert (
            np.abs(drawn - table.mechanism.row(cell)).max() < 5 * 0.5 / math.sqrt(20_000) + BOUNDARY
        )
        unknown = np.array([np.nan, np.nan])
        assert table.mechanism.row(cell)[table.draw(cell, unknown, bit_source(1))] > 0
        assert table.draw(cell, places[0], bit_source(1)) == table.at(places[:1])[0]


def test_landmarks_are_the_nearest_each_alike() -> None:
    """Each of the k nearest landmarks has probability 1/k, found by sorting distances."""
    marks = [0, 4, 11, 17]
    table = landmarks(FLAT, marks, 3)
    for cell in range(FLAT.size):
        order = sorted(
            range(4),
            key=lambda mark: (math.dist(FLAT.centers[cell], FLAT.centers[marks[mark]]), mark),
        )
        expected = [1 / 3 if mark in order[:3] else 0.0 for mark in range(4)]
        assert np.allclose(table.mechanism.row(cell), expected, atol=1e-15)


def test_remapping_takes_the_best_cell_for_each_output() -> None:
    """Each output of the noise goes where the expected distance is least, summed one by one."""
    noise = PlanarLaplace(FLAT, 0.8)
    prior = np.arange(1.0, FLAT.size + 1) / np.arange(1.0, FLAT.size + 1).sum()
    expected = np.zeros((FLAT.size, FLAT.size))
    emission = noise.emission()
    for output in range(FLAT.size):
        costs = [
            math.fsum(
                prior[cell]
                * emission[cell, output]
                * math.dist(FLAT.centers[cell], FLAT.centers[to])
                for cell in range(FLAT.size)
            )
            for to in range(FLAT.size)
        ]
        expected[:, costs.index(min(costs))] += emission[:, output]
    assert np.allclose(remapped(noise, prior).mechanism.emission(), expected, atol=SUMMED)


def test_policy_graph_is_laplace_noise_kept_in_its_block() -> None:
    """Entries are integrals of the density, blocks are never left, and neighbours keep epsilon."""
    epsilon = 1.3
    emission = policy_graph(FLAT, 3, epsilon).mechanism.emission()
    blocks = [(row // 3, column // 3) for row, column in itertools.product(range(4), range(5))]
    sizes = {(0, 0): (3, 3), (0, 1): (3, 2), (1, 0): (1, 3), (1, 1): (1, 2)}
    for cell, output in itertools.product(range(FLAT.size), repeat=2):
        if blocks[cell] != blocks[output]:
            assert emission[cell, output] == 0.0
            continue
        height, width = sizes[blocks[cell]]
        scale = mpmath.mpf(height + width - 2) / epsilon
        expected = mpmath.mpf(1)
        for here, there, count in zip(
            (cell // 5 % 3, cell % 5 % 3),
            (output // 5 % 3, output % 5 % 3),
            (height, width),
            strict=True,
        ):
            low = -mpmath.inf if there == 0 else there - here - mpmath.mpf(1) / 2
            high = mpmath.inf if there == count - 1 else there - here + mpmath.mpf(1) / 2
            inner = [end for end in (low, 0, high) if low <= end <= high]
            expected *= mpmath.quad(lambda x, s=scale: mpmath.exp(-abs(x) / s) / (2 * s), inner)
        assert math.isclose(emission[cell, output], float(expected), rel_tol=1e-9)
    for one, other in itertools.combinations(range(FLAT.size), 2):
        if blocks[one] == blocks[other]:
            here = emission[one] > 0
            ratio = np.abs(np.log(emission[one, here] / emission[other, here])).max()
            assert ratio <= epsilon + SUMMED


def test_a_constant_point_tells_nothing() -> None:
    """Every row is the same certain output."""
    table = constant_point(FLAT, 7)
    assert (table.mechanism.emission() == 1.0).all()
    assert np.array_equal(table.points, FLAT.centers[[7]])


def test_adaptive_noise_follows_the_length_of_the_move() -> None:
    """The level is that of Privkit's thresholds for each pair of cells, one by one."""
    alpha = 1.2
    table = adaptive(PlanarLaplace(FLAT, alpha))
    column = {level: PlanarLaplace(FLAT, level * alpha).likelihood(6) for level in (0.1, 1.0, 5.0)}
    found = table.likelihood(6)
    for before, now in itertools.product(range(FLAT.size), repeat=2):
        error = math.dist(FLAT.centers[before], FLAT.centers[now])
        level = 0.1 if error < 0.96 / alpha else 5.0 if error > 2.7 / alpha else 1.0
        assert found[before, now] == column[level][now]
    assert np.array_equal(table.first_likelihood(6), column[1.0])
    assert 0 <= table.draw(3, 4, bit_source(5)) < FLAT.size
    assert table.draw(None, 4, bit_source(5)) == PlanarLaplace(FLAT, alpha).sample(4, bit_source(5))


def test_velocity_aware_noise_follows_the_share_of_slower_moves() -> None:
    """alpha · m^(2f - 1) with f from people's speeds, summed one by one with the error function."""
    alpha, strength, hours, bandwidth = 1.1, 3.0, 0.5, 0.4
    moves = np.random.default_rng(4).uniform(size=(FLAT.size, FLAT.size))
    table = velocity_aware(
        PlanarLaplace(FLAT, alpha), strength=strength, hours=hours, moves=moves, bandwidth=bandwidth
    )
    speeds = FLAT.distances() / hours
    found = table.likelihood(8)
    for before, now in itertools.product([0, 7, 19], range(FLAT.size)):
        share = (
            math.fsum(
                moves[i, j]
                * 0.5
                * (1 + math.erf((speeds[before, now] - speeds[i, j]) / bandwidth / math.sqrt(2)))
                for i, j in itertools.product(range(FLAT.size), repeat=2)
            )
            / moves.sum()
        )
        level = alpha / strength * strength ** (2 * 0.5 * (share + 0.5))
        expected = PlanarLaplace(FLAT, level).likelihood(8)[now]
        assert math.isclose(found[before, now], expected, rel_tol=1e-9)
