"""Expected moves across gaps, against enumeration of all ways between two known cells."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from priste import Grid
from priste.mobility import fit_population
from priste.mobility.memory import expected_moves
from priste.mobility.sequences import GAP

ROUNDED = 1e-6
"""Counts are rounded to six digits."""

PHASES = np.array([0, 0, 1])
MATRICES = [
    np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]),
    np.array([[0.2, 0.2, 0.6], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]]),
]
walks = st.lists(st.sampled_from([GAP, GAP, 0, 1, 2]), max_size=10)


def by_enumeration(cells: list[int], longest: int) -> np.ndarray:
    """Add every way between two known cells with its probability given both."""
    found = np.zeros((2, 3, 3))
    known = [step for step, cell in enumerate(cells) if cell != GAP]
    for first, last in pairwise(known):
        if last - first > longest:
            continue
        ways = {}
        for middle in product(range(3), repeat=last - first - 1):
            way = (cells[first], *middle, cells[last])
            ways[way] = np.prod(
                [
                    MATRICES[PHASES[(first + step) % 3]][a, b]
                    for step, (a, b) in enumerate(pairwise(way))
                ]
            )
        total = sum(ways.values())
        for way, chance in ways.items():
            for step, (a, b) in enumerate(pairwise(way)):
                found[PHASES[(first + step) % 3], a, b] += chance / total
    return found


@given(walks, st.integers(1, 5))
def test_expected_moves_are_the_mean_over_all_ways(cells: list[int], longest: int) -> None:
    """Forward and backward sums agree with writing every way down; longer gaps count nothing."""
    found = expected_moves([np.array(cells, dtype=np.int64)], PHASES, MATRICES, longest)
    assert np.allclose(found, by_enumeration(cells, longest), rtol=0, atol=ROUNDED)


def test_a_population_that_is_seen_seldom_stays_more_than_its_known_moves_say() -> None:
    """Fixes an hour apart in one cell speak for staying; a gap of days says nothing."""
    line = Grid(1, 3, 1.0)
    moving = [0, 1, 2, 1, 0, 1]
    resting = [1, None, None, None] * 20
    seldom = [[[*moving, *resting, *moving]] for _ in range(4)]
    apart = [[moving, [1], moving, [1]] for _ in range(4)]
    stays = [
        fit_population(line, people, plain=False).model.transition(0).toarray()[1, 1]
        for people in (seldom, apart)
    ]
    assert stays[0] > 2 * stays[1]
