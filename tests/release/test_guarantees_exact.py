"""Every guarantee against every adversary, kept by every calibrator that guarantees: by
enumeration.

The exact table of two or three steps is walked in fractions; each history is judged by the exact
quantities of the adversary's own priors.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.exact_adversaries import start_distributions
from tests.oracles.exact_near import near_exceed, near_odds
from tests.release.exact_stream import (
    JointProbabilities,
    below_exp,
    exact_matrix,
    exceeds,
    joint_of,
    leakage,
    mixed,
    negated,
    speaks_for,
)
from tests.release.small_streams import EVENTS, LINE, WALK, begin, histories

from priste import (
    AnyPrior,
    BeliefBound,
    EmissionTable,
    Identity,
    InvalidParameter,
    KnownPrior,
    LastSeen,
    OddsBound,
    PriorsWithin,
    Protector,
    Quantifier,
    StartsIn,
    at,
)
from priste.maps import Grid
from priste.mobility import MarkovModel
from priste.quantify import Adversary, Guarantee
from priste.release import Calibrator, Certified, Optimal, StreamNode

LEAKAGE_TOLERANCE = 1e-8
"""Between a reported number and the exact one: SLACK of the worst prior, and rounding."""

ROUNDING = Fraction(1, 10**9)
"""A cap this near to what is believed already may be refused."""

EVENT = EVENTS["present later"]
MECHANISM = EmissionTable(
    LINE, [[0.75, 0.1875, 0.0625], [0.125, 0.75, 0.125], [0.0625, 0.1875, 0.75]]
)

ADVERSARIES: dict[str, Adversary] = {
    "any start": AnyPrior(),
    "some starts": StartsIn([1, 2]),
    "one prior": KnownPrior([0.25, 0.25, 0.5]),
    "two priors": KnownPrior([[0.25, 0.25, 0.5], [0.0, 0.5, 0.5]]),
    "seen before": LastSeen(2),
    "near": PriorsWithin([0.25, 0.25, 0.5], factor=3.0),
    "near, excluding": PriorsWithin([0.0, 0.5, 0.5], factor=8.0),
}
GUARANTEES: dict[str, Guarantee] = {
    "both ways": OddsBound(0.5, 0.5),
    "up": OddsBound(up=0.5, down=math.inf),
    "down": OddsBound(up=math.inf, down=0.5),
    "unequal": OddsBound(up=0.25, down=1.0),
    "belief": BeliefBound(0.9),
}
CALIBRATORS: dict[str, Calibrator] = {
    "certified": Certified(guess=False),
    "certified, guessed": Certified(),
    "certified, paced": Certified(pace=0.5, guess=False),
    "optimal": Optimal(pace=1.0),
    "optimal, scheduled": Optimal(),
}


MAY_BE_SILENT = ("certified, guessed", "optimal, scheduled", "optimal")
"""On three cells one guess may be the best whatever was drawn."""


def exact_quantities(
    adversary: Adversary, columns: list[list[Fraction]], model: MarkovModel = WALK
) -> JointProbabilities:
    rows = joint_of(exact_matrix(model.transition(0).toarray()), EVENT, columns)
    return mixed(rows, start_distributions(model, adversary))


def learns(adversary: Adversary, rows: JointProbabilities, r: Fraction) -> bool:
    """Whether the ratio for the event is above r for some prior of the class."""
    if isinstance(adversary, PriorsWithin):
        weights = [Fraction(float(w)) for w in adversary.prior]
        return near_exceed(rows, weights, Fraction(adversary.factor), r)
    return speaks_for(rows, r)


def largest_belief(adversary: Adversary, rows: JointProbabilities) -> Fraction:
    """How sure the surest prior of the class is. Beliefs of mixtures lie between those of rows."""
    if isinstance(adversary, PriorsWithin):
        weights = [Fraction(float(w)) for w in adversary.prior]
        odds = near_odds(rows, weights, Fraction(adversary.factor))
        return Fraction(1) if odds is None else odds / (1 + odds)
    return max(b / (b + d) for _, _, b, d in rows if b + d)


def keeps(adversary: Adversary, rows: JointProbabilities, guarantee: Guarantee) -> bool:
    """Whether the guarantee is kept for every prior of the class, exactly."""
    if isinstance(guarantee, BeliefBound):
        return largest_belief(adversary, rows) <= Fraction(guarantee.at_most)
    sides = ((rows, guarantee.up), (negated(rows), guarantee.down))
    return not any(learns(adversary, x, below_exp(bound)) for x, bound in sides if bound < math.inf)


def begun(guarantee: Guarantee, adversary: Adversary, calibrator: Calibrator) -> StreamNode:
    return begin(WALK, EVENT, MECHANISM, guarantee, calibrator, adversary)


@pytest.mark.parametrize("calibrator", CALIBRATORS)
@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_every_history_keeps_the_guarantee(adversary: str, guarantee: str, calibrator: str) -> None:
    """The table is within the bounds for every prior of the class, and something is released."""
    guaranteed, who = GUARANTEES[guarantee], ADVERSARIES[adversary]
    told = False
    for state, columns in histories(begun(guaranteed, who, CALIBRATORS[calibrator]), [], 2):
        rows = exact_quantities(who, columns)
        assert keeps(who, rows, guaranteed)
        told |= len(set(columns[-1])) > 1
        belief = float(largest_belief(who, rows))
        assert belief <= state.belief[0] == pytest.approx(belief, abs=LEAKAGE_TOLERANCE)
        if isinstance(guaranteed, BeliefBound):
            continue
        told_of = ((rows, guaranteed.up), (negated(rows), guaranteed.down))
        sides = [each for each, bound in told_of if bound < math.inf]
        above, below = state.leakage[0] + 1e-15, state.leakage[0] - LEAKAGE_TOLERANCE
        assert not any(learns(who, each, below_exp(above)) for each in sides)
        assert any(learns(who, each, below_exp(below)) for each in sides)
    # One public cell may cost less than any distribution under which both ways are bounded.
    assert told or guarantee == "both ways" or calibrator in MAY_BE_SILENT


@pytest.mark.parametrize("adversary", [name for name in ADVERSARIES if name != "any start"])
def test_a_prior_outside_the_class_learns_more(adversary: str) -> None:
    """A smaller class is a weaker guarantee: some start learns more than ε after some history."""
    who, guaranteed = ADVERSARIES[adversary], GUARANTEES["both ways"]
    walked = list(histories(begun(guaranteed, who, Certified(guess=False)), [], 2))
    assert all(keeps(who, exact_quantities(who, columns), guaranteed) for _, columns in walked)
    anybody = [exact_quantities(AnyPrior(), columns) for _, columns in walked]
    assert any(exceeds(rows, below_exp(0.5)) for rows in anybody)


def test_a_direction_that_is_free_is_told() -> None:
    """Upwards only, some history speaks against the event by more than the bound upwards."""
    walked = histories(
        begun(GUARANTEES["up"], KnownPrior([0.25, 0.25, 0.5]), Certified(guess=False)), [], 2
    )
    rows = [exact_quantities(KnownPrior([0.25, 0.25, 0.5]), columns) for _, columns in walked]
    assert any(speaks_for(negated(each), below_exp(0.5)) for each in rows)


@pytest.mark.parametrize("calibrator", ["certified", "optimal"])
def test_few_days_without_the_event_are_recognised(calibrator: str) -> None:
    """Upwards only, histories that exclude the event have at most 1 - e^-up of its negation."""
    adversary, up = ADVERSARIES["one prior"], 0.5
    bound = OddsBound(up, math.inf)
    first = begin(WALK, EVENT, Identity(LINE), bound, CALIBRATORS[calibrator], adversary)
    excluding = Fraction(0)
    for state, columns in histories(first, [], 3):
        ((_, complement, b, d),) = exact_quantities(adversary, columns)
        if state.step == 3 and b == 0:
            excluding += d / complement
    assert excluding <= 1 - 1 / (below_exp(up) + Fraction(1, 10**40))


def test_the_walk_finds_a_broken_guarantee() -> None:
    """The same judgement does find histories that break each guarantee when nobody cares."""
    for guaranteed in GUARANTEES.values():
        walked = histories(begin(WALK, EVENT, Identity(LINE), guaranteed, "uncalibrated"), [], 2)
        assert not all(
            keeps(AnyPrior(), exact_quantities(AnyPrior(), columns), guaranteed)
            for _, columns in walked
        )


BOUNDS = st.sampled_from([0.125, 0.5, 2.0])
SIXTEENTHS = st.integers(0, 16)


@st.composite
def priors(draw: st.DrawFn) -> list[float]:
    low, high = sorted((draw(SIXTEENTHS), draw(SIXTEENTHS)))
    return [low / 16, (high - low) / 16, (16 - high) / 16]


RANDOM_ADVERSARIES: st.SearchStrategy[Adversary] = st.one_of(
    st.just(AnyPrior()),
    st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True).map(StartsIn),
    st.lists(priors(), min_size=1, max_size=3).map(KnownPrior),
    st.integers(1, 3).map(LastSeen),
    st.builds(PriorsWithin, priors(), st.sampled_from([1.0, 2.0, 16.0])),
)
RANDOM_GUARANTEES: st.SearchStrategy[Guarantee] = st.one_of(
    st.builds(OddsBound, BOUNDS, BOUNDS | st.just(math.inf)),
    st.builds(OddsBound, st.just(math.inf), BOUNDS),
    st.sampled_from([0.25, 0.5, 0.75, 0.95]).map(BeliefBound),
)


@examples(20)
@given(RANDOM_ADVERSARIES, RANDOM_GUARANTEES)
def test_random_guarantees_are_kept_or_refused(adversary: Adversary, guaranteed: Guarantee) -> None:
    """Any guarantee to any adversary: refused where no release could keep it, else always kept."""
    before = exact_quantities(adversary, [])
    if isinstance(adversary, PriorsWithin):
        before = [row for row, weight in zip(before, adversary.prior, strict=True) if weight]
    is_open = any(a for a, *_ in before) and any(abar for _, abar, *_ in before)
    try:
        state = begun(guaranteed, adversary, Certified(pace=0.5))
    except InvalidParameter:
        capped = isinstance(guaranteed, BeliefBound)
        unkept = largest_belief(adversary, exact_quantities(adversary, []))
        assert not is_open or (capped and unkept >= Fraction(guaranteed.at_most) - ROUNDING)
        return
    assert is_open
    for _, columns in histories(state, [], 2):
        assert keeps(adversary, exact_quantities(adversary, columns), guaranteed)


# ---------------------------------------------------------------- several models

TWO = Grid(rows=1, columns=2, cell_size=1.0)
# Every move goes to one cell with 15/16, wherever it comes from; the models differ in which.
FIRST, SECOND = (MarkovModel(TWO, [[[1 - x, x]] * 2] * 3) for x in (0.0625, 0.9375))
LAST = at([0], 3)


def test_who_does_not_know_the_model_learns_more_than_under_either() -> None:
    """Two models under each of which releases say nothing; somebody unsure of them learns 2.6."""
    columns = [np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 0.0])]
    for model in (FIRST, SECOND):
        alone = Quantifier(model, LAST)
        for column in columns:
            alone.observe(column)
        assert alone.leakage().value < 1e-9
    together = Quantifier([FIRST, SECOND], LAST)
    for column in columns:
        together.observe(column)
    # To the first cell with 15/16 each, or with 1/16 each; the third time it is the event.
    odds = Fraction(15**3 + 1, 15**2 + 15)
    found = together.leakage(prior=[[0.25, 0.25], [0.25, 0.25]])
    assert found.value == pytest.approx(math.log(odds), abs=LEAKAGE_TOLERANCE)
    assert found.value > 2.6
    assert together.leakage().value > found.value


def joint_rows(columns: list[list[Fraction]]) -> JointProbabilities:
    """(a, ā, b, d) of each first cell under each model, by hand: moves do not see the cell."""
    rows = []
    for share in (Fraction(1, 16), Fraction(15, 16)):
        chances = [[1 - share, share]] * 3
        for start in range(2):
            seen = columns[0][start]
            for column, move in zip(columns[1:3], chances, strict=False):
                seen *= sum(p * c for p, c in zip(move, column, strict=True))
            last = columns[3] if len(columns) > 3 else [Fraction(1), Fraction(1)]
            happens, not_so = chances[2]
            rows.append((happens, not_so, seen * happens * last[0], seen * not_so * last[1]))
    return rows


@pytest.mark.parametrize("calibrator", ["certified", "optimal"])
def test_models_are_guarded_jointly(calibrator: str) -> None:
    """No history leaks more than ε to anybody unsure of the model; each model alone would."""
    epsilon = 0.5
    mech = EmissionTable(TWO, [[0.9375, 0.0625], [0.0625, 0.9375]])

    for state, columns in histories(begin([FIRST, SECOND], LAST, mech, epsilon, calibrator), [], 4):
        rows = joint_rows(columns)
        assert not exceeds(rows, below_exp(epsilon))
        assert state.leakage[0] == pytest.approx(leakage(rows), abs=LEAKAGE_TOLERANCE)
    # Under one model nothing before the event says anything, so it is released as it is.
    alone = [
        columns
        for state, columns in histories(begin([FIRST], LAST, mech, epsilon, calibrator), [], 3)
    ]
    assert any(exceeds(joint_rows(columns), below_exp(2.0)) for columns in alone)


# ---------------------------------------------------------------- what cannot be guaranteed


@pytest.mark.parametrize(
    ("event", "adversary", "what"),
    [
        (at([2], 1), StartsIn([0]), "cannot happen"),
        (at([0, 1], 1), StartsIn([0]), "happens for certain"),
        (at([0, 1, 2], 1), AnyPrior(), "happens for certain"),
        (at([0], 1) & ~at([0], 1), AnyPrior(), "cannot happen"),
        (at([0], 0), KnownPrior([0.0, 0.5, 0.5]), "cannot happen"),
        (at([0], 0), PriorsWithin([0.0, 0.5, 0.5], 2.0), "cannot happen"),
    ],
)
def test_events_that_are_not_open_are_refused(event, adversary: Adversary, what: str) -> None:
    """An event that is impossible or certain for the whole class is an error, not leakage 0."""
    moves = MarkovModel(LINE, [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]])
    with pytest.raises(InvalidParameter, match=what):
        Protector(moves, event, MECHANISM, 0.5, adversary=adversary)
    if adversary == AnyPrior():
        return
    Protector(moves, event, MECHANISM, 0.5, adversary=AnyPrior())  # open to those who know nothing


def test_a_cap_below_what_is_believed_already_is_refused() -> None:
    """The message has both numbers; a cap just above the prior belief is accepted."""
    adversary = KnownPrior([0.25, 0.25, 0.5])
    prior = float(largest_belief(adversary, exact_quantities(adversary, [])))
    with pytest.raises(InvalidParameter, match=f"at most 0.2,.*{prior:.4}") as caught:
        Protector(WALK, EVENT, MECHANISM, BeliefBound(0.2), adversary=adversary)
    assert "knows the population" in str(caught.value)  # the next step
    p = Protector(WALK, EVENT, MECHANISM, BeliefBound(prior + 1e-9), adversary=adversary, rng=1)
    assert p.belief[0] == pytest.approx(prior, abs=1e-12)
    assert p.release(0).belief[0] <= prior + 1e-9


@pytest.mark.parametrize(
    "epsilon",
    [OddsBound(math.inf, math.inf), OddsBound(0.0, 1.0), OddsBound(1.0, 0.0), 0.0, -1.0, math.inf,
    math.nan, "1", True, None, [0.5, 0.5], {"other": 0.5}, {}, [BeliefBound(0.5), 1.0]],
)  # fmt: skip
def test_hostile_guarantees_are_refused(epsilon) -> None:
    """What is no guarantee, or guarantees nothing, is an InvalidParameter."""
    with pytest.raises(InvalidParameter, match=r"guarantee|OddsBound"):
        Protector(WALK, EVENT, MECHANISM, epsilon, adversary=AnyPrior())


@pytest.mark.parametrize(
    "adversary", ["any", 3, AnyPrior, [0.5, 0.5], StartsIn([7]), KnownPrior([0.5, 0.5])]
)
def test_hostile_adversaries_are_refused(adversary) -> None:
    """What is no adversary, or one of another map, is an InvalidParameter."""
    with pytest.raises(InvalidParameter):
        Protector(WALK, EVENT, MECHANISM, 0.5, adversary=adversary)
