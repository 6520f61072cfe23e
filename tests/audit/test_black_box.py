"""The black-box check catches implementations that break their guarantee, and no others."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from tests.audit.broken_calibrators import (
    BudgetFromTruth,
    ChecksOnlyTheDrawn,
    ForgetsToObserve,
    LeaksNowAndThen,
)

from priste import (
    AnyPrior,
    EmissionTable,
    Event,
    Grid,
    InvalidParameter,
    MarkovModel,
    Protector,
    at,
    presence,
)
from priste.audit import Excess, black_box_check, streams_for, true_leakage
from priste.audit.black_box import lower_bound_from, outputs_and_budgets

EPSILON = 0.5
ERROR = 0.05
LINE = Grid(rows=1, columns=3, cell_size=1.0)
STAYING = MarkovModel(LINE, [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]])
AT_ONE_PLACE = MarkovModel(LINE, np.eye(3))
FLIP = EmissionTable(LINE, [[0.7, 0.2, 0.1], [0.15, 0.7, 0.15], [0.1, 0.2, 0.7]])
# Outputs 0 and 1 stay below e**0.5 alone, and together leave a telling rest.
TWO_PASS = EmissionTable(LINE, [[0.5, 0.4, 0.1], [0.35, 0.3, 0.35], [0.32, 0.26, 0.42]])
EVENT = presence([0], steps=[0, 1])


@dataclass(frozen=True)
class Case:
    """What to run: a calibrator on a model with a mechanism, for some steps."""

    make_calibrator: Callable
    model: MarkovModel = STAYING
    mech: EmissionTable = FLIP
    event: Event = EVENT
    steps: int = 1
    outcome: Callable = outputs_and_budgets
    epsilon: float = EPSILON

    def check(self, seed, **options):
        calibrator = self.make_calibrator()

        def make(bits):
            return Protector(
                self.model,
                self.event,
                self.mech,
                self.epsilon,
                calibrator,
                rng=bits,
                adversary=AnyPrior(),
            )

        return black_box_check(
            make,
            self.model,
            self.event,
            self.epsilon,
            self.steps,
            error=ERROR,
            rng=seed,
            prior=[0.5, 0.0, 0.5],
            outcome=self.outcome,
            **options,
        )


def tilt(ledger):
    """How much more often the one end was released than the other."""
    return sum((r.cell == 0) - (r.cell == 2) for r in ledger)


BROKEN = {
    "budget from truth": Case(lambda: BudgetFromTruth({0})),
    "forgets to observe": Case(
        ForgetsToObserve, model=AT_ONE_PLACE, steps=5, outcome=tilt, epsilon=1.5
    ),
    "checks only the drawn": Case(ChecksOnlyTheDrawn, mech=TWO_PASS, event=at([0], 0)),
    "leaks now and then": Case(LeaksNowAndThen),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_broken_calibrators_are_caught(case) -> None:
    """Each broken calibrator is refuted by at most 3 x 2 x 200 streams."""
    found = case.check(0, streams_per_look=200, looks=3)
    assert found.broken, found
    assert found.outcomes
    assert found.streams <= 1200


@pytest.mark.parametrize(
    "case",
    [
        Case(lambda: "certified"),
        Case(lambda: "certified", mech=TWO_PASS, event=at([0], 0)),
        Case(lambda: "certified", model=AT_ONE_PLACE, steps=2, outcome=tilt),
    ],
)
def test_certified_is_not_accused(case) -> None:
    """The certified calibrator passes the same checks, below its true leakage."""
    p = Protector(case.model, case.event, case.mech, EPSILON, adversary=AnyPrior())
    true = true_leakage(p, case.steps, sees="budgets")["event"].value
    found = case.check(0, streams_per_look=100, looks=1)
    assert not found.broken
    assert found.lower_bound <= true <= EPSILON + 1e-8


def outcomes_at_the_bound(epsilon, sizes, rng):
    """Two tables on many outcomes whose ratios are e**ε or e**-ε: the hardest honest case."""
    up = math.exp(epsilon) / (1 + math.exp(epsilon)) / sizes
    down = 1 / (1 + math.exp(epsilon)) / sizes
    chances = np.array([up] * sizes + [down] * sizes)

    def streams(happening):
        distribution = chances if happening else chances[::-1]
        return rng.choice(2 * sizes, size=400, p=distribution / distribution.sum()).tolist()

    return streams


@pytest.mark.parametrize("sizes", [1, 10, 200])
def test_false_alarms_are_as_rare_as_stated(sizes) -> None:
    """Exactly at the bound, over 400 audits of three looks each, at most 5 % raise an alarm."""
    rng = np.random.default_rng(8)
    alarms = sum(
        lower_bound_from(
            outcomes_at_the_bound(EPSILON, sizes, rng), EPSILON, looks=3, error=ERROR
        ).broken
        for _ in range(400)
    )
    assert alarms <= 400 * ERROR


def test_power_on_a_known_excess() -> None:
    """Tables with leakage 1 against a claim of 0.5 are caught in at least 95 of 100 audits."""
    rng = np.random.default_rng(9)
    caught = sum(
        lower_bound_from(outcomes_at_the_bound(1.0, 3, rng), EPSILON, looks=3, error=ERROR).broken
        for _ in range(100)
    )
    assert caught >= 95


def test_bound_approaches_the_truth() -> None:
    """With many streams the bound comes close to the true leakage from below."""
    rng = np.random.default_rng(10)
    found = lower_bound_from(outcomes_at_the_bound(1.0, 2, rng), 5.0, looks=60, error=ERROR)
    assert 0.85 <= found.lower_bound <= 1.0
    assert found.looks == 60


def test_looks_end_at_the_first_refutation() -> None:
    """A blatant leak needs one look, and the outcomes that show it are named."""
    found = lower_bound_from(lambda happening: [happening] * 200, 0.5, looks=10, error=ERROR)
    assert found.broken
    assert found.looks == 1
    assert found.streams == 400
    assert found.outcomes in (frozenset({True}), frozenset({False}))


def test_hostile_arguments() -> None:
    """An event that never happens from the given starts, and senseless numbers, are refused."""
    with pytest.raises(InvalidParameter, match="streams_per_look"):
        Case(lambda: "certified").check(0, streams_per_look=1)
    with pytest.raises(InvalidParameter, match="never was True"):
        Case(lambda: "certified", event=at([1], 0)).check(0)


def test_the_number_of_streams_follows_from_what_is_to_be_found() -> None:
    """With ``to_find`` a check draws what ``streams_for`` proposes, and states its power."""
    wanted = Excess(3.0, probability=0.5)
    found = Case(lambda: "certified").check(0, to_find=wanted, looks=1)
    assert found.streams_per_look == streams_for(EPSILON, wanted, looks=1)
    assert found.smallest_excess(probability=0.5) <= 3.0 < found.smallest_excess(probability=0.05)


def test_a_plain_function_can_be_checked() -> None:
    """A function of cells and a generator works as it is: truth is caught, a constant is not."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    model = MarkovModel(grid, np.full((3, 3), 1 / 3))
    event = at([0], 1)

    def truthful(cells: list[int], rng: np.random.Generator) -> list[int]:
        return [cell if rng.random() < 0.9 else 1 for cell in cells]

    def constant(cells: list[int], rng: np.random.Generator) -> list[int]:
        return [1 for _ in cells]

    found = black_box_check(truthful, model, event, 0.5, 2, streams_per_look=400, rng=1)
    assert found.broken
    assert not black_box_check(constant, model, event, 0.5, 2, streams_per_look=200, rng=1).broken
