"""Simulated streams: who is simulated, against closed forms, and what is measured."""

import math
from dataclasses import replace
from datetime import timedelta
from itertools import product

import numpy as np
import pytest
from tests.cli.small_world import GRID, POLICY, START

from priste.errors import InvalidParameter
from priste.forecast import forecast, quick_forecast
from priste.forecast.simulated_people import OpenedTrace, bridge, drawn_person
from priste.forecast.simulation import USUAL_SPREAD, Simulation, predictive
from priste.maps import Grid
from priste.mobility import MarkovModel
from priste.policy import Policy, read_policy
from priste.randomness import bit_source
from priste.release.calibrators import Uncalibrated
from priste.traces import Fix, Trace

TEXT = POLICY.partition("[events.homecoming]")[0]
SMALL = read_policy(TEXT)
RARE = read_policy(TEXT.replace("epsilon = 0.8", "epsilon = 2.0"))
ALL = np.ones(SMALL.steps, dtype=np.bool_)


def trace_of(cells: list[int | None], shift: float = 0.0) -> Trace:
    """Return fixes at the centres of cells in the middles of the hours, moved north a little."""
    fixes = []
    for step, cell in enumerate(cells):
        if cell is not None:
            lat, lon = GRID.latlon(cell)
            at = START + timedelta(hours=step, minutes=30)
            fixes.append(Fix("ada", at, lat + shift, lon))
    return Trace.of(fixes)


def test_a_gap_is_drawn_as_the_model_says_given_both_ends() -> None:
    """The shares of each way through a gap of two steps, against the product of the chances."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    matrix = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.4, 0.5]])
    model = MarkovModel(grid, matrix)
    cells = np.array([0, -1, -1, 2])
    bits = bit_source(np.random.default_rng(3))
    draws = 3000
    counts = dict.fromkeys(product(range(3), repeat=2), 0)
    for _ in range(draws):
        counts[tuple(bridge(model, cells, range(1, 3), bits).tolist())] += 1  # type: ignore[index]
    ways = {(a, b): matrix[0, a] * matrix[a, b] * matrix[b, 2] for a, b in counts}
    total = sum(ways.values())
    for way, weight in ways.items():
        share = weight / total
        assert abs(counts[way] / draws - share) < 5 * math.sqrt(share * (1 - share) / draws)


def test_a_gap_at_the_end_or_without_a_way_follows_the_first_cell() -> None:
    """Nothing is known after the gap, or the model does not lead there: the model goes on."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    ring = MarkovModel(grid, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    bits = bit_source(np.random.default_rng(1))
    assert bridge(ring, np.array([0, -1, -1]), range(1, 3), bits).tolist() == [1, 2]
    assert bridge(ring, np.array([0, -1, -1, 1]), range(1, 3), bits).tolist() == [1, 2]
    assert bridge(ring, np.array([-1, -1, 0]), range(2), bits).tolist() == [1, 2]


def test_guarded_hours_of_an_opened_trace_change_nothing() -> None:
    """Two worlds: traces that differ in guarded hours alone give the same forecast."""
    kept: list[int | None] = [0, 0, 1, 5, 6, 10, 10, 9, 5, 1, 0, 0]
    hours = [step for step in range(12) if 3 <= step <= 9]
    other = [15 if step in hours else cell for step, cell in enumerate(kept)]
    gone = [None if step in hours else cell for step, cell in enumerate(kept)]
    found = [
        quick_forecast(SMALL, trace=trace_of(each), runs=2, seconds=None)
        for each in (kept, other, gone)
    ]
    assert found[0] == found[1] == found[2]
    assert found[0].opened
    assert "keep them to yourself" in found[0].basis()
    outside = [15 if step == 1 else cell for step, cell in enumerate(kept)]
    assert quick_forecast(SMALL, trace=trace_of(outside), runs=2, seconds=None) != found[0]


def test_guarded_hours_are_filled_as_the_hours_around_them() -> None:
    """With a fix in every second hour around them, about half of the guarded hours have one."""
    full, half = (
        OpenedTrace.of(SMALL, trace_of([0 if step % every == 0 else None for step in range(12)]))
        for every in (1, 2)
    )
    guarded = full.known.cells == -1
    assert 0 < guarded.sum() < 12
    assert (full.released == True).all()  # noqa: E712
    assert half.hidden.sum() == pytest.approx(guarded.sum() / 2, abs=1)
    person = half.person(bit_source(np.random.default_rng(2)))
    assert (person.cells != -1).tolist() == half.released.tolist()
    assert not np.isnan(person.places[half.released]).any()


def test_a_trace_without_a_fix_in_the_clock_is_refused() -> None:
    """There is nothing to simulate, and the message says what to do."""
    early = Trace.of([Fix("ada", START - timedelta(days=3), *GRID.latlon(0))])
    with pytest.raises(InvalidParameter, match="Forecast without it"):
        quick_forecast(SMALL, trace=early)


def test_people_are_drawn_to_whom_the_event_happens() -> None:
    """Every second person visits the clinic; the others follow the model."""
    simulation = Simulation(RARE, ALL, seed=2, events=[RARE.events["visit"].event])
    simulation.add(6)
    assert simulation.cost().happened >= 3
    bits = bit_source(np.random.default_rng(4))
    event = RARE.events["visit"].event
    person = drawn_person(RARE, bits, event)
    assert event.holds(person.cells.tolist())
    assert len(person) == RARE.steps


def exact(policy: Policy) -> Policy:
    """Return the policy with nothing but the truth released."""
    text = policy.source.replace("planar-laplace", "identity").replace("alpha = 1.5", "")
    return replace(read_policy(text), calibrator=Uncalibrated())


def test_releasing_the_truth_costs_where_one_is_in_the_cell() -> None:
    """The mean distance of a uniform point of a square to its centre is 0.3826 of its side."""
    simulation = Simulation(exact(SMALL), ALL, seed=1)
    simulation.add(30)
    cost = simulation.cost()
    by_hand = (math.sqrt(2) + math.asinh(1)) / 6  # of the side
    assert cost.released.all.value == pytest.approx(1000 * by_hand, rel=0.05)
    assert cost.released.exact.value == 1.0
    assert cost.uncalibrated.all.value == pytest.approx(cost.released.all.value)
    assert cost.constant.all.value > cost.released.all.value
    assert cost.constant_does == "nowhere"


def test_the_streams_are_those_of_a_protector_after_silence() -> None:
    """Expected errors by hand: the same person and draws, silent at steps not followed."""
    followed = ALL.copy()
    followed[:4] = False
    simulation = Simulation(SMALL, followed, seed=4)
    simulation.add(2)
    cost = simulation.cost()
    means = []
    for run in range(2):
        person = drawn_person(SMALL, bit_source(np.random.default_rng([4, run, 0])))
        stream = SMALL.protector(rng=bit_source(np.random.default_rng([4, run, 1])))
        errors = []
        for step in np.flatnonzero(followed).tolist():
            stream.release(None, step=step - 1)
            cell = int(person.cells[step])
            chances = stream.distribution().outputs()[cell]
            apart = np.hypot(*(SMALL.grid.centers - person.places[step]).T)
            errors.append(chances @ apart)
            stream.release(cell)
        means.append(1000 * np.mean(errors))
    assert cost.steps == 8
    assert cost.released.all.value == pytest.approx(math.sqrt(math.prod(means)))
    assert cost.leakage["visit"] <= 0.8


def test_the_constant_point_is_that_of_the_whole_time_of_a_person() -> None:
    """Of two releases half a day apart: the best point for all steps, tried cell by cell."""
    followed = np.zeros_like(ALL)
    followed[[0, -1]] = True
    simulation = Simulation(SMALL, followed, seed=4)
    simulation.add(2)
    means = []
    for run in range(2):
        person = drawn_person(SMALL, bit_source(np.random.default_rng([4, run, 0])))
        apart = person.places[:, None, :] - SMALL.grid.centers[None, :, :]
        means.append(1000 * np.hypot(*np.moveaxis(apart, -1, 0)).mean(axis=0).min())
    assert len(set(person.cells.tolist())) > 2
    # Positions are counted in quarters of cells, so the mean is exact to a part of their side.
    assert simulation.cost().constant.all.value == pytest.approx(
        math.sqrt(math.prod(means)), rel=0.05
    )


def test_the_whole_clock_weighs_near_and_far() -> None:
    """With the share of near steps in the clock, the mean of a stream is that of near and far."""
    long = read_policy(TEXT.replace("steps = 12", "steps = 24"))
    simulation = Simulation(long, np.ones(24, dtype=np.bool_), seed=7, near_share=0.1)
    simulation.add(1)
    found = simulation.cost().released
    assert found.near is not None
    assert found.far is not None
    assert found.all.value == pytest.approx(0.1 * found.near.value + 0.9 * found.far.value)


def test_time_off_the_map_is_counted_apart() -> None:
    """On a small map with a ring around it: the steps off it are counted and in no mean."""
    text = TEXT.replace("[release]", '[release]\noutside = "off-map"')
    simulation = Simulation(read_policy(text), ALL, seed=1)
    simulation.add(4)
    cost = simulation.cost()
    assert 0 < cost.off_map.steps < cost.releases == 48
    assert cost.off_map.released <= cost.off_map.steps
    row = quick_forecast(read_policy(text), runs=4, seconds=None)
    assert "are off the map and not in these means" in row.sentence()


def test_when_the_time_is_over_all_streams_end_at_the_same_step() -> None:
    """The first release of every stream is made in any case; what was reached is said."""
    simulation = Simulation(SMALL, ALL, seed=1)
    simulation.add(3, seconds=0.0)
    cost = simulation.cost()
    assert (cost.steps, cost.of_steps, cost.releases) == (1, 12, 3)
    assert cost.released.all.value > 0.0


def test_neighbours_stand_on_the_scale_of_the_policy() -> None:
    """A neighbour of two streams is the policy of all, times how the two differ on these two."""
    rows = forecast(SMALL, runs=4, seed=3).rows
    two = forecast(SMALL, runs=2, seed=3).rows
    base, few = rows[0].cost.released.all, two[0].cost.released.all
    for whole, pair in zip(rows[1:], two[1:], strict=True):
        factor = pair.cost.released.all.value / few.value
        assert whole.cost.released.all.value == pytest.approx(base.value * factor)
        assert whole.cost.released.all.high == pytest.approx(base.high * factor)


def test_an_interval_holds_the_mean_of_a_run_in_80_of_100_cases() -> None:
    """Log-normal values with the usual spread, and with more: by simulation, within 4 points."""
    random = np.random.default_rng(5)
    for known in (0.0, 0.4):
        hits = above = 0
        for _ in range(2000):
            person = known * random.standard_normal()
            values = np.exp(6 + USUAL_SPREAD * random.standard_normal(8))
            target = np.exp(6 + person + USUAL_SPREAD * random.standard_normal())
            found = predictive(values.tolist(), known)
            above += target > found.value
            hits += found.low <= target <= found.high
        assert 0.76 <= hits / 2000 <= 0.86, known
        assert 0.45 <= above / 2000 <= 0.55, known
