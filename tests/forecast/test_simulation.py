"""Forecasts of one setting: against closed forms, and on the same people for every setting."""

import numpy as np
import pytest

from priste.events import at
from priste.forecast.simulation import Setting, public_constant, simulate
from priste.maps import Grid
from priste.mechanisms import Identity, PlanarLaplace, Uniform
from priste.mobility import MarkovModel
from priste.quantify import AnyPrior, KnownPrior, OddsBound
from priste.randomness import bit_source

GRID = Grid(rows=1, columns=5, cell_size=1.0)
STAY = MarkovModel(GRID, np.eye(5))
WALK = MarkovModel.gaussian(GRID, sigma=1.0)
AT_HOME = np.array([0.0, 0.0, 0.0, 1.0, 0.0])
EVENT = {"visit": at([0], 2)}
GUARANTEE = {"visit": OddsBound(1.0, 1.0)}


def test_nothing_and_alone_by_hand() -> None:
    """Somebody who never leaves cell 3: a constant is exact, and so is the uncalibrated truth."""
    setting = Setting(
        (STAY,), EVENT, Identity(GRID), GUARANTEE, "uncalibrated", AnyPrior(), AT_HOME
    )
    cost = simulate(setting, np.ones(4, bool), runs=2, near_steps=1, seed=1)
    assert public_constant(setting, range(4)) == 3
    for way in (cost.released, cost.alone, cost.nothing):
        assert (way.all.value, way.exact.value) == (0.0, 1.0)
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
    assert costs[0].nothing == costs[1].nothing
    assert costs[0].released != costs[1].released
    assert all(cost.leakage["visit"] <= 1.0 for cost in costs)
    near, far = costs[0].released.near, costs[0].released.far
    assert near is not None
    assert far is not None
    assert costs[0].released.all.value == pytest.approx((3 * near.value + 3 * far.value) / 6)


def test_a_mechanism_that_tells_nothing_is_as_far_as_a_uniform_cell() -> None:
    """From the middle of five cells a uniform cell is 1.2 km away on average."""
    middle = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    setting = Setting((STAY,), EVENT, Uniform(GRID), GUARANTEE, "uncalibrated", AnyPrior(), middle)
    cost = simulate(setting, np.ones(400, bool), runs=3, near_steps=1, seed=3)
    assert cost.alone.all.low <= 1200 <= cost.alone.all.high + 150
    assert cost.alone.all.value == pytest.approx(1200, abs=150)


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
        truth = WALK.sample(4, bit_source(np.random.default_rng([4, run, 0])), start)
        protector = setting.protector(bit_source(np.random.default_rng([4, run, 2])))
        cells = [protector.release(int(truth[step]) if told[step] else None) for step in range(4)]
        by_hand.append([abs(int(truth[step]) - int(cells[step].cell or 0)) for step in (2, 3)])
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
    whole = simulate(setting, np.ones(1, bool), runs=3, near_steps=1, seed=1)
    assert cost.released == whole.released
