"""priste.evaluate: what is compared with what, gaps, events, traces, and bad input."""

import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import priste
from priste.maps import Grid
from priste.results import evaluate
from priste.traces import Fix, StepCells, Trace

GRID = Grid(rows=3, columns=4, cell_size=1.0)
cells = st.one_of(st.none(), st.integers(0, GRID.size - 1))
pairs = st.lists(st.tuples(cells, cells), min_size=1, max_size=20).filter(
    lambda both: any(t is not None and r is not None for t, r in both)
)


@given(pairs)
def test_the_constant_is_the_best_one(both: list) -> None:
    """No constant cell is nearer to the truth than the one called constant; distances by hand."""
    truth, released = [t for t, _ in both], [r for _, r in both]
    found = evaluate(truth, released, grid=GRID)
    kept = [(t, r) for t, r in both if t is not None and r is not None]
    apart = [math.dist(GRID.centers[t], GRID.centers[r]) for t, r in kept]
    assert found.released.distance.mean == pytest.approx(1000 * np.mean(apart))
    assert found.released.distance.median == pytest.approx(1000 * np.median(apart))
    ranked = sorted(1000 * km for km in apart)
    place = 0.95 * (len(ranked) - 1)  # between two of them, in proportion
    low, high = ranked[math.floor(place)], ranked[math.ceil(place)]
    assert found.released.distance.p95 == pytest.approx(low + (place % 1) * (high - low))
    for radius, share in found.released.within.items():
        assert share == pytest.approx(np.mean([km <= radius for km in apart]))
    constants = [
        np.mean([math.dist(GRID.centers[t], GRID.centers[c]) for t, _ in kept])
        for c in range(GRID.size)
    ]
    assert found.constant.distance.mean == pytest.approx(1000 * min(constants))
    assert found.steps == len(kept)
    assert found.coverage == pytest.approx(len(kept) / sum(t is not None for t in truth))
    assert found.released.exact == pytest.approx(np.mean([t == r for t, r in kept]))
    json.dumps(found.to_dict(), allow_nan=False)


def test_near_and_far_are_about_the_events_steps() -> None:
    """Near is within so many steps of a step that an event speaks of."""
    event = priste.at([0], 4) | priste.at([1], 6)
    truth, released = [0] * 12, [1] * 12
    released[2] = released[9] = 3
    found = evaluate(truth, released, grid=GRID, events=event, near_steps=2)
    assert found.released.near is not None
    assert found.released.far is not None
    assert (found.released.near.steps, found.released.far.steps) == (7, 5)
    assert found.released.near.mean == pytest.approx(1000 * (6 * 1 + 3) / 7)
    assert found.released.far.mean == pytest.approx(1000 * (4 * 1 + 3) / 5)
    assert evaluate(truth, released, grid=GRID).released.near is None


def test_people_may_be_listed_named_or_step_cells() -> None:
    """The same people in three forms give the same figures."""
    one, two = [0, 1, 2], [4, None, 6]
    told = [[0, 1, 1], [4, 4, 4]]
    listed = evaluate([one, two], told, grid=GRID)
    named = evaluate({"a": one, "b": two}, {"b": told[1], "a": told[0]}, grid=GRID)
    stepped = evaluate(
        [StepCells("a", tuple(one), 0, 0, 0), StepCells("b", tuple(two), 0, 0, 0)],
        [np.array(path) for path in told],
        grid=GRID,
    )
    assert listed == named == stepped
    assert listed.people == 2


def test_the_uncalibrated_mechanism_is_measured_in_the_same_way() -> None:
    """What the uncalibrated mechanism put out has its own row."""
    found = evaluate([0, 1], [3, 3], uncalibrated=[0, 2], grid=GRID)
    assert found.uncalibrated is not None
    assert found.uncalibrated.distance.mean == pytest.approx(500)
    assert list(found.rows()) == ["released", "uncalibrated", "constant"]
    assert found.released.within[5.0] == 1.0
    assert found.uncalibrated.within[0.5] == pytest.approx(0.5)


def test_traces_are_compared_by_time() -> None:
    """Each released fix meets the true fix nearest in time, on a map that covers the truth."""
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)

    def trace(*points: tuple[int, float]) -> Trace:
        return Trace.of([Fix("ada", noon + timedelta(minutes=m), 46.0, lon) for m, lon in points])

    truth = trace((0, 7.0), (10, 7.1), (20, 7.2))
    found = evaluate(truth, trace((1, 7.0), (14, 7.1), (16, 7.2), (99, 7.2)))
    assert found.released.distance.mean == 0.0
    assert found.steps == 4
    far = evaluate([truth], [trace((1, 7.2))])
    assert far.released.distance.mean == pytest.approx(
        15_493, rel=1e-3
    )  # from fix to fix, whatever the cells


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0], [0]), "must be the map"),
        (([0, 1], [0]), "people and steps of"),
        (([], []), "must hold at least one person"),
        (([0], [12]), "cells 0 to 11"),
        (([0], [-1]), "cells 0 to 11"),
        (([0], [True]), "cells 0 to 11"),
        (([0.5], [0]), "cells 0 to 11"),
        (([None], [0]), "nothing to compare"),
    ],
)
def test_bad_input_is_refused_without_a_location(arguments: tuple, words: str) -> None:
    """Errors name the rule and never the value, which may be a true cell."""
    grid = None if "map" in words else GRID
    with pytest.raises(priste.InvalidParameter, match=words):
        priste.evaluate(*arguments, grid=grid)


def test_traces_and_cells_do_not_mix() -> None:
    """A trace against cells, or against other users, is an error."""
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    ada, bob = (Trace.of([Fix(name, noon, 46.0, 7.0)]) for name in ("ada", "bob"))
    with pytest.raises(priste.InvalidParameter, match="must be traces where the other is"):
        evaluate(ada, [0], grid=GRID)
    with pytest.raises(priste.InvalidParameter, match="of the users of"):
        evaluate(ada, bob)
