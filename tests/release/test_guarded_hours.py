"""Guarded hours: what happens there changes nothing, whatever the model."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from priste import (
    AnyPrior,
    Grid,
    KnownPrior,
    MarkovModel,
    PlanarLaplace,
    Protector,
    at,
    presence,
)
from priste.errors import InvalidParameter
from priste.events import Event
from priste.release import Calibrator, Certified, Optimal, StreamNode, Uncalibrated
from priste.release.guarded_hours import event_steps, fitting_pads, guarded_hours_of

GRID = Grid(rows=1, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.5)
EVENT = presence([0], steps=[2, 3])
STEPS = 6


def protector_of(
    pad: int | None,
    calibrator: Calibrator | None = None,
    *,
    event: Event = EVENT,
    journal: Path | None = None,
) -> Protector:
    return Protector(
        MODEL,
        event,
        PlanarLaplace(GRID, alpha=3.0),
        0.8,
        Optimal() if calibrator is None else calibrator,
        rng=5,
        adversary=KnownPrior(MODEL.stationary()),
        guarded_hours=pad,
        journal=journal,
    )


def distribution(node: StreamNode, trajectory: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Return the exact probability of every sequence of outputs, by enumeration."""
    if not trajectory:
        return {(): 1.0}
    found: dict[tuple[int, ...], float] = {}
    table = node.distribution.outputs()[trajectory[0]]
    for output in range(len(table)):
        if table[output] > 0.0:
            drawn = node.rule.outcome(output, node.distribution.budgets[0])
            for rest, chance in distribution(node.after(drawn), trajectory[1:]).items():
                found[(output, *rest)] = float(table[output]) * chance
    return found


@pytest.mark.parametrize("calibrator", [Optimal(), Certified()])
def test_trajectories_that_differ_in_guarded_hours_only_have_one_distribution(
    calibrator: Calibrator,
) -> None:
    node = protector_of(1, calibrator).node
    ends = (0, 1)
    inside = [distribution(node, (2, *middle, 1)) for middle in itertools.product(ends, repeat=4)]
    assert all(each == inside[0] for each in inside)
    assert sum(inside[0].values()) == pytest.approx(1.0)
    assert distribution(node, (0, 1, 1, 1, 1, 1)) != inside[0]  # outside them it does matter


def test_without_guarded_hours_the_distribution_depends_on_what_happens_in_the_event() -> None:
    node = protector_of(None, Certified()).node
    assert distribution(node, (2, 2, 0, 2, 2, 1)) != distribution(node, (2, 2, 2, 2, 2, 1))


@pytest.mark.parametrize("calibrator", [Optimal(), Certified(pace=0.2)])
def test_whole_runs_are_the_same_to_the_byte(calibrator: Calibrator, tmp_path: Path) -> None:
    written = []
    for number, middle in enumerate([(0, 0, 0, 0), (2, 1, 2, 1), (1, 0, 2, 2)]):
        with protector_of(1, calibrator, journal=tmp_path / f"{number}.journal") as protector:
            for cell in (2, *middle, 1, 2, 2):
                protector.release(cell)
            written.append(json.dumps(protector.records()) + protector.ledger.csv())
    assert written[0] == written[1] == written[2]


def test_releases_in_guarded_hours_are_the_best_public_guess_and_spend_nothing() -> None:
    protector = protector_of(1)
    assert protector.guarded_hours == frozenset({1, 2, 3, 4})
    before = protector.release(2)
    for step in range(1, 5):
        predicted = protector.state.predicted()
        expected = (predicted @ GRID.distances()).argmin()
        release = protector.release(0)
        assert (release.step, release.cell, release.budget) == (step, expected, 0.0)
        assert release.leakage == before.leakage


def test_a_calibrator_without_a_guarantee_is_asked_at_every_step() -> None:
    protector = protector_of(1, Uncalibrated())
    assert protector.guarded_hours == frozenset()
    assert all(protector.release(0).budget == 3.0 for _ in range(STEPS))


def test_guarded_hours_go_on_after_a_restart(tmp_path: Path) -> None:
    journal = tmp_path / "stream.journal"
    with protector_of(2, journal=journal) as protector:
        protector.release(1)
    with Protector.resume(journal) as protector:
        assert protector.guarded_hours == frozenset(range(6))
        assert protector.release(1).budget == 0.0


def test_another_policy_has_guarded_hours_of_its_own() -> None:
    protector = protector_of(1)
    protector.release(2)
    going_on = protector.with_policy(
        {"late": at([0], 9), "free": at([1], 4)}, 1.0, guarded_hours={"late": 2}
    )
    assert going_on.guarded_hours == frozenset(range(7, 12))


def test_steps_between_those_of_an_event_are_not_guarded() -> None:
    event = at([0], 2) & at([1, 2], 9)
    assert event_steps(event) == (2, 9)
    assert guarded_hours_of(event, 1) == frozenset({1, 2, 3, 8, 9, 10})


def test_no_more_than_half_of_a_stream_is_guarded_hours() -> None:
    short, long = presence([0], [4]), presence([0], range(10, 19))
    assert fitting_pads([short, long], [1, 1], 40) == (1, 1)
    assert fitting_pads([short, long], [1, 1], 26) == (1, None)
    assert fitting_pads([long, long], [0, 0], 18) == (0, 0)
    assert fitting_pads([short, long], [None, 4], 20) == (None, None)


@pytest.mark.parametrize("pad", [-1, 1.5, True, "1h", {"nothing": 1}])
def test_pads_that_are_no_number_of_steps_are_refused(pad: object) -> None:
    with pytest.raises(InvalidParameter, match="guarded_hours"):
        protector_of(pad)  # type: ignore[arg-type]


def test_an_adversary_of_any_prior_has_guarded_hours_too() -> None:
    protector = Protector(
        MODEL, EVENT, PlanarLaplace(GRID, alpha=3.0), 0.8, adversary=AnyPrior(), guarded_hours=0
    )
    assert [protector.release(0).budget == 0.0 for _ in range(4)][2:] == [True, True]
