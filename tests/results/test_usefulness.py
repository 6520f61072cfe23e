"""Errors are measured from the true fix to the released point; the oracle is a plain loop."""

import math
from datetime import timedelta

import numpy as np
import pytest
from tests.cli.small_world import GRID, POLICY, QUICK, START, STEPS, policy_of, with_a_short_event

from priste.events import near_events, near_reach
from priste.maps import Grid
from priste.policy import Policy, read_policy
from priste.results import CONSTANT, PRISTE, UNCALIBRATED, RunErrors, usefulness
from priste.results.true_steps import NONE, true_steps
from priste.results.usefulness import OffMap, person_errors
from priste.traces import Fix, Trace

CLOSE = 1e-9
"""A sum in another order is within that, relatively."""

ROUNDED = 1e-2
"""Metres: positions are added up as whole millimetres."""

TRUTH = [0, 0, 1, 5, None, 10, 10, 9, 5, 1, 0, 0]
TOLD = [0, 1, 1, 6, 6, None, 10, 9, 5, 2, 0, 3]


def a_trace(cells: list[int | None], shift: float = 0.3) -> Trace:
    """Return a fix in the middle of each step with a cell, off its centre by shares of a cell."""
    fixes = []
    for step, cell in enumerate(cells):
        if cell is not None:
            x, y = GRID.centers[cell] + np.array([shift, -0.1]) * GRID.cell_size
            when = START + timedelta(hours=step, minutes=30)
            fixes.append(Fix("ada", when, *GRID.latlon_at(float(x), float(y))))
    return Trace.of(fixes)


def by_hand(policy: Policy, trace: Trace, told: list[int | None]) -> dict[int, float]:
    """Return the metres of each step with a fix and a release, from the fixes themselves."""
    found = {}
    for fix in trace:
        step = int((fix.time - START) / timedelta(hours=1))
        cell = told[step]
        if cell is not None:
            x, y = policy.grid.xy([fix.lat], [fix.lon])
            here = (float(x[0]), float(y[0]))
            found[step] = 1000 * math.dist(here, policy.grid.centers[cell].tolist())
    return found


def test_an_error_is_from_the_true_fix_to_the_released_point() -> None:
    """Not between centres: releasing the true cell everywhere is as far off as the fixes are."""
    policy = policy_of(QUICK)
    trace = a_trace(TRUTH)
    steps = true_steps(policy, trace)
    found = usefulness(policy, steps, TOLD)
    expected = by_hand(policy, trace, TOLD)
    near = near_events(STEPS, [e.event for e in policy.events.values()], near_reach(3600.0))
    way = found.ways[PRISTE]
    assert way.everywhere == pytest.approx(np.mean(list(expected.values())), rel=CLOSE)
    close = [metres for step, metres in expected.items() if near[step]]
    far = [metres for step, metres in expected.items() if not near[step]]
    assert way.near == pytest.approx(np.mean(close), rel=CLOSE)
    assert way.far == pytest.approx(np.mean(far) if far else math.nan, rel=CLOSE, nan_ok=True)
    for step, error in enumerate(found.errors):
        assert error == (None if step not in expected else pytest.approx(expected[step] / 1000))
    pairs = [(t, r) for t, r in zip(TRUTH, TOLD, strict=True) if t is not None and r is not None]
    apart = [1000 * math.dist(GRID.centers[t], GRID.centers[r]) for t, r in pairs]
    assert way.between_cells == pytest.approx(np.mean(apart), rel=CLOSE)
    assert way.exact == pytest.approx(np.mean([t == r for t, r in pairs]))
    assert way.within_a_cell == pytest.approx(np.mean([m <= 1000 for m in expected.values()]))
    truthful = usefulness(policy, steps, TRUTH)
    assert truthful.ways[PRISTE].exact == 1.0
    shifted = 1000 * GRID.cell_size * math.hypot(0.3, 0.1)
    assert truthful.ways[PRISTE].everywhere == pytest.approx(shifted, rel=1e-6)
    assert truthful.ways[PRISTE].between_cells == 0.0


def test_a_gap_is_a_gap() -> None:
    """A step without a fix counts nowhere."""
    policy = policy_of(QUICK)
    steps = true_steps(policy, a_trace(TRUTH))
    assert steps.cells[4] == NONE
    found = usefulness(policy, steps, TOLD)
    assert found.errors[4] is None
    assert sum(error is not None for error in found.errors) == 10


def test_the_fix_of_a_step_is_the_one_nearest_to_its_middle() -> None:
    """Of several fixes of a step the middle one is the truth, the earlier of two equally near."""
    policy = policy_of(QUICK)
    fixes = [
        Fix("ada", START + timedelta(minutes=minutes), *GRID.latlon(cell))
        for minutes, cell in ((5, 0), (25, 1), (35, 2), (59, 3))
    ]
    steps = true_steps(policy, Trace.of(fixes))
    assert steps.places[0] == pytest.approx(GRID.centers[1], abs=1e-6)
    assert np.isnan(steps.places[1:]).all()


def test_uncalibrated_is_the_expectation_of_the_mechanism() -> None:
    """Its figures are sums over the whole row of the mechanism, for every step by itself."""
    policy = policy_of(QUICK)
    trace = a_trace(TRUTH)
    steps = true_steps(policy, trace)
    found = usefulness(policy, steps, TOLD).ways[UNCALIBRATED]
    table = policy.mechanism.emission()
    kept = [s for s in range(STEPS) if TRUTH[s] is not None and TOLD[s] is not None]
    expected, exact = [], []
    for step in kept:
        row = table[TRUTH[step]]
        metres = [1000 * math.dist(steps.places[step], GRID.centers[c]) for c in range(GRID.size)]
        expected.append(float(row @ np.array(metres)))
        exact.append(float(row[TRUTH[step]]))
    assert found.everywhere == pytest.approx(np.mean(expected), rel=CLOSE)
    assert found.exact == pytest.approx(np.mean(exact), rel=CLOSE)
    sets = policy_of(QUICK.replace("alpha = 1.5", "alpha = 1.5\ndelta = 0.1"))
    assert UNCALIBRATED not in usefulness(sets, steps, TOLD).ways


def test_the_constant_point_is_the_best_one() -> None:
    """No centre of a cell is nearer on average, far from the events, near them and in all."""
    policy = policy_of(with_a_short_event(QUICK).replace("06:00-07:00", "00:00-01:00"))
    steps = true_steps(policy, a_trace(TRUTH))
    found = usefulness(policy, steps, TOLD).ways[CONSTANT]
    kept = [s for s in range(STEPS) if TRUTH[s] is not None and TOLD[s] is not None]
    metres = 1000 * np.array(
        [[math.dist(steps.places[s], center) for center in GRID.centers] for s in kept]
    )
    best = metres[:, metres.mean(axis=0).argmin()]
    near = near_events(STEPS, [e.event for e in policy.events.values()], near_reach(3600.0))[kept]
    assert found.everywhere == pytest.approx(best.mean(), abs=ROUNDED)
    assert found.near == pytest.approx(best[near].mean(), abs=ROUNDED)
    assert found.far == pytest.approx(best[~near].mean(), abs=ROUNDED)


def test_people_may_be_added_in_any_order_of_their_groups() -> None:
    """The sums are the same to the last bit, whichever group was done first."""
    policy = policy_of(QUICK)
    people = [
        person_errors(policy, true_steps(policy, a_trace(TRUTH, shift)), TOLD)
        for shift in (0.1, 0.2, 0.45)
    ]
    one, other = RunErrors(GRID), RunErrors(GRID)
    for number, each in enumerate(people):
        one.add([each], number)
    for number, each in reversed(list(enumerate(people))):
        other.add([each], number)
    assert repr(one.ways()) == repr(other.ways())
    assert one.spread() == other.spread()
    assert RunErrors(GRID).ways() == {}


def test_time_off_the_map_is_told_apart() -> None:
    """Steps beyond the map, or released as such, count in no mean."""
    text = POLICY.replace("pace = 0.3", 'calibrator = "certified"\noutside = "off-map"')
    text = text.replace("cells = [9, 10]", "circle = {lat = 46.02, lon = 7.02, radius_km = 0.7}")
    text = text.replace("cells = [0]", "circle = {lat = 46.005, lon = 7.006, radius_km = 0.5}")
    policy = read_policy(text)
    grid: Grid = policy.grid
    inside = grid.latlon(grid.columns + 1)
    beyond = (46.5, 7.02)
    fixes = [
        Fix("ada", START + timedelta(hours=step, minutes=30), *place)
        for step, place in enumerate([inside, beyond, beyond, inside])
    ]
    steps = true_steps(policy, Trace.of(fixes), 4)
    assert steps.off_map.tolist() == [False, True, True, False]
    found = usefulness(policy, steps, [grid.columns + 1, 0, grid.columns + 1, 0])
    assert found.off_map == OffMap(steps=2, released=1, wrongly=1)
    assert sum(error is not None for error in found.errors) == 1
    assert "2 steps were off the map" in found.sentence()


def test_nothing_to_compare_is_said() -> None:
    """Without a step that has both, there are no figures and no division by zero."""
    policy = policy_of(QUICK)
    found = usefulness(policy, true_steps(policy, a_trace(TRUTH)), [None] * STEPS)
    assert found.ways == {}
    assert "No step has both" in found.sentence()
