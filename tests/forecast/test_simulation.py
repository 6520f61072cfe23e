"""Forecasts of one setting: against closed forms, and on the same people for every setting."""

import math

import numpy as np
import pytest

from priste.events import at
from priste.forecast.simulation import (
    Setting,
    drawn_person,
    predictive,
    public_constant,
    simulate,
)
from priste.maps import Grid
from priste.mechanisms import Identity, PlanarLaplace, Uniform
from priste.mobility import MarkovModel
from priste.quantify import AnyPrior, KnownPrior, OddsBound
from priste.randomness import bit_source
from priste.results import TrueSteps

GRID = Grid(rows=1, columns=5, cell_size=1.0)
STAY = MarkovModel(GRID, np.eye(5))
WALK = MarkovModel.gaussian(GRID, sigma=1.0)
START = np.full(5, 0.2)
AT_HOME = np.array([0.0, 0.0, 0.0, 1.0, 0.0])
EVENT = {"visit": at([0], 2)}
GUARANTEE = {"visit": OddsBound(1.0, 1.0)}


def test_constant_and_uncalibrated_by_hand() -> None:
    """Somebody who never leaves cell 3: a constant is in the true cell, and so is plain truth."""
    setting = Setting(
        (STAY,), EVENT, Identity(GRID), GUARANTEE, "uncalibrated", AnyPrior(), AT_HOME
    )
    cost = simulate(setting, np.ones(4, bool), runs=2, near_steps=1, seed=1)
    assert public_constant(setting, range(4)) == 3
    for way in (cost.released, cost.uncalibrated, cost.constant):
        assert way.exact.value == 1.0
        assert 0.0 < way.all.value < 1000 * GRID.cell_size * 0.71  # anywhere in the cell
    assert cost.leakage["visit"] == np.inf  # "uncalibrated" guarantees nothing


def test_settings_are_compared_on_the_same_people() -> None:
    """The same seed gives the same truth, so what does not depend on the setting is equal."""
    start = np.full(5, 0.2)
    costs = [
        simulate(
            Setting(
                (WALK,), EVENT, PlanarLaplace(GRID, alpha), GUARANTEE, "certified", seen, start
            ),
            np.ones(6, bool),
            runs=3,
            near_steps=1,
            seed=7,
        )
        for alpha, seen in ((0.5, AnyPrior()), (2.0, KnownPrior(start)))
    ]
    assert costs[0].constant == costs[1].constant
    assert costs[0].released != costs[1].released
    assert all(cost.leakage["visit"] <= 1.0 for cost in costs)
    near, far = costs[0].released.near, costs[0].released.far
    assert near is not None
    assert far is not None
    assert costs[0].released.all.value == pytest.approx((3 * near.value + 3 * far.value) / 6)


def test_a_mechanism_that_tells_nothing_is_as_far_as_a_uniform_cell() -> None:
    """From the middle of five cells a uniform cell is about 1.3 km away on average."""
    middle = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    setting = Setting((STAY,), EVENT, Uniform(GRID), GUARANTEE, "uncalibrated", AnyPrior(), middle)
    cost = simulate(setting, np.ones(400, bool), runs=3, near_steps=1, seed=3)
    corner = np.linspace(-0.5, 0.5, 201)
    x, y = np.meshgrid(corner, corner)
    by_hand = 1000 * np.mean([np.hypot(x - shift, y).mean() for shift in range(-2, 3)])
    assert cost.uncalibrated.all.value == pytest.approx(by_hand, abs=150)


def test_silent_steps_are_gone_through_and_not_measured() -> None:
    """A stream that is silent at first then releases what a Protector does after silence."""
    start = np.full(5, 0.2)
    setting = Setting(
        (WALK,), EVENT, PlanarLaplace(GRID, 1.0), GUARANTEE, "certified", AnyPrior(), start
    )
    told = np.array([False, False, True, True])
    cost = simulate(setting, told, runs=2, near_steps=0, seed=4)
    assert (cost.steps, cost.of_steps) == (2, 2)
    by_hand = []
    for run in range(2):
        bits = bit_source(np.random.default_rng([4, run, 0]))
        person = drawn_person(setting, 4, bits, happening=run == 1)
        truth = person.cells
        protector = setting.protector(bit_source(np.random.default_rng([4, run, 2])))
        cells = [protector.release(int(truth[step]) if told[step] else None) for step in range(4)]
        by_hand.append(
            [
                math.dist(person.places[step], GRID.centers[int(cells[step].cell or 0)])
                for step in (2, 3)
            ]
        )
    assert cost.released.all.value == pytest.approx(1000 * np.mean(by_hand))
    assert cost.released.near is not None
    assert cost.released.near.value == pytest.approx(1000 * np.mean([near for near, _ in by_hand]))
    push = WALK.transition(0).push
    weights = push(push(start)) + push(push(push(start)))
    expected = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) @ weights
    assert public_constant(setting, [2, 3]) == expected.argmin()


def test_when_the_time_is_over_all_streams_end_at_the_same_step() -> None:
    """The first release of every stream is made in any case; what was reached is said."""
    setting = Setting(
        (WALK,), EVENT, PlanarLaplace(GRID, 1.0), GUARANTEE, "uncalibrated", AnyPrior()
    )
    cost = simulate(setting, np.ones(50, bool), runs=3, near_steps=1, seed=1, seconds=0.0)
    assert (cost.steps, cost.of_steps) == (1, 50)
    assert cost.released.all.value > 0.0


def test_half_of_the_people_are_such_that_the_event_happens() -> None:
    """Every second stream is of somebody in the guarded place; the event is rare otherwise."""
    start = np.array([0.02, 0.02, 0.02, 0.02, 0.92])
    setting = Setting(
        (STAY,), EVENT, PlanarLaplace(GRID, 1.0), GUARANTEE, "uncalibrated", AnyPrior(), start
    )
    cost = simulate(setting, np.ones(4, bool), runs=8, near_steps=1, seed=2)
    assert cost.happened >= 4
    never = Setting(
        (STAY,), EVENT, PlanarLaplace(GRID, 1.0), GUARANTEE, "uncalibrated", AnyPrior(), AT_HOME
    )
    assert simulate(never, np.ones(4, bool), runs=4, near_steps=1, seed=2).happened == 0


def test_an_opened_trace_is_followed_with_its_gaps() -> None:
    """All streams are of that person; a step without a fix is silent and counts nowhere."""
    setting = Setting(
        (WALK,), EVENT, Identity(GRID), GUARANTEE, "uncalibrated", AnyPrior(), np.full(5, 0.2)
    )
    truth = TrueSteps.of_cells(GRID, [3, None, 4, 4])
    cost = simulate(setting, np.ones(6, bool), runs=2, near_steps=0, seed=1, truth=truth)
    assert (cost.steps, cost.of_steps) == (3, 3)
    assert cost.released.all.value == 0.0  # the truth, at centres
    assert cost.constant.all.value > 0.0


def test_the_whole_clock_weighs_near_and_far() -> None:
    """With the share of near steps in the clock, the mean is that of near and far by it."""
    setting = Setting(
        (WALK,),
        EVENT,
        PlanarLaplace(GRID, 1.0),
        GUARANTEE,
        "certified",
        AnyPrior(),
        np.full(5, 0.2),
    )
    told = np.ones(6, bool)
    cost = simulate(setting, told, runs=3, near_steps=1, seed=7, near_share=0.1)
    near, far = cost.released.near, cost.released.far
    assert near is not None
    assert far is not None
    assert cost.released.all.value == pytest.approx(0.1 * near.value + 0.9 * far.value)


def test_an_interval_holds_the_next_value_in_80_of_100_cases() -> None:
    """Intervals of five log-normal values, and one more: by simulation, 80 % within 3 points."""
    random = np.random.default_rng(5)
    hits = 0
    for _ in range(2000):
        values = np.exp(6 + 0.5 * random.standard_normal(6))
        found = predictive(values[:5].tolist())
        hits += found.low <= values[5] <= found.high
    assert 0.77 <= hits / 2000 <= 0.83
