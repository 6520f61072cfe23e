"""Streams that guard secrets: the attacks on events guarded apart, and that they fail together."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.release.exact_stream import speaks_for

from priste import (
    AnyPrior,
    BeliefBound,
    EmissionTable,
    Grid,
    InvalidParameter,
    KnownPrior,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    Protector,
    Quantifier,
    Secret,
    at,
    presence,
    together,
)
from priste.audit import true_leakage
from priste.release import Certified, Optimal

SQUARE = Grid(rows=2, columns=2, cell_size=1.0)
ANYWHERE = MarkovModel(SQUARE, np.full((4, 4), 0.25))
TREATMENT, GROUP = at([0, 1], 1), at([0, 2], 1)
PARITY = EmissionTable(SQUARE, [[1, 0], [0, 1], [0, 1], [1, 0]])
EVEN = KnownPrior([0.25] * 4)


def exactly_one_chance(protector: Protector) -> float:
    """How sure the releases make everybody that exactly one of the two happened."""
    asked = Quantifier(ANYWHERE, together({"t": TREATMENT, "g": GROUP}), EVEN)
    for step in range(len(protector.ledger)):
        asked.observe(protector.ledger.likelihood(step))
    found = asked.posteriors()
    return found["t only"] + found["g only"]


def test_two_events_apart_can_be_told_together() -> None:
    """At ε = 0.01 for each, a release proves that exactly one of two events happened."""
    apart = Protector(
        ANYWHERE, {"t": TREATMENT, "g": GROUP}, PARITY, 0.01, "certified", 1, adversary=EVEN
    )
    apart.release(3)
    release = apart.release(1)
    assert max(release.leakage) <= 0.01
    assert exactly_one_chance(apart) == 1.0


@pytest.mark.parametrize("calibrator", ["certified", "optimal"])
def test_two_events_together_cannot(calibrator: str) -> None:
    """Guarded together the same mechanism proves nothing: even odds stay within e^0.01."""
    mechanism = (
        PARITY
        if calibrator == "certified"
        else EmissionTable(SQUARE, np.array([[1, 0], [0, 1], [0, 1], [1, 0]]), output_cells=[0, 1])
    )
    secret = together({"t": TREATMENT, "g": GROUP})
    for seed in range(4):
        both = Protector(ANYWHERE, secret, mechanism, 0.01, calibrator, seed, adversary=EVEN)
        both.release(3)
        assert both.release(1).leakage[0] <= 0.01 + 1e-8
        odds = exactly_one_chance(both) / (1.0 - exactly_one_chance(both))
        assert math.exp(-0.01 - 1e-8) <= odds <= math.exp(0.01 + 1e-8)


WEEKS = 6
RARE = 0.0444
"""How likely a visit is in a week, at which "all six" moves by 259."""
TWO = Grid(rows=1, columns=2, cell_size=1.0)
WEEKLY = MarkovModel(TWO, [[RARE, 1 - RARE]] * 2)
VISITS = [at([0], week) for week in range(WEEKS)]
TELLING = np.array([0.5, 0.5 / math.e])
"""A release that speaks for the visit by a factor e."""


def told(event, weeks: int = WEEKS):
    """The leakage after a telling release in every week."""
    quantifier = Quantifier(WEEKLY, event, KnownPrior([RARE, 1 - RARE]))
    for _ in range(weeks):
        quantifier.observe(TELLING)
    return quantifier.leakage()


def test_every_week_within_one_moves_all_six_by_259() -> None:
    """Six events at ε = 1 each: each is kept, and "every time" moves by more than 250."""
    every_time = VISITS[0]
    at_least_once = VISITS[0]
    for visit in VISITS[1:]:
        every_time, at_least_once = every_time & visit, at_least_once | visit
    for visit in VISITS:
        assert told(visit).value == pytest.approx(1.0, abs=1e-8)
    exact = math.e**6 / ((1 - RARE + RARE * math.e) ** 6 - (RARE * math.e) ** 6)
    exact *= 1 - RARE**6
    assert math.exp(told(every_time).value) == pytest.approx(exact, rel=1e-6)
    assert exact == pytest.approx(259, abs=1)
    # Guarded as one secret at ε = 1.01, the first of these releases is all that may be made.
    secret = together({"every time": every_time, "at least once": at_least_once})
    assert secret.answers == ("every time and at least once", "at least once only", "neither")
    asked = Quantifier(WEEKLY, secret, KnownPrior([RARE, 1 - RARE]))
    kept = []
    for _ in range(WEEKS):
        kept.append(bool(asked.passes(TELLING[:, None], 1.01)[0]))
        asked.observe(TELLING)
    assert kept[0]
    assert not any(kept[1:])
    assert told(secret).value >= math.log(exact) - 1e-6


def test_four_weeks_together_bound_every_combination() -> None:
    """A stream that guards four weeks together keeps "every time" and "at least once" within ε."""
    four = VISITS[:4]
    protector = Protector(
        WEEKLY,
        {"visits": together(*four)},
        EmissionTable(TWO, np.stack([TELLING, 1 - TELLING], axis=1)),
        1.0,
        "certified",
        3,
        adversary=KnownPrior([RARE, 1 - RARE]),
    )
    for _ in four:
        protector.release(0)
    every, once = four[0], four[0]
    for visit in four[1:]:
        every, once = every & visit, once | visit
    for event in (every, once, *four):
        asked = Quantifier(WEEKLY, event, KnownPrior([RARE, 1 - RARE]))
        for step in range(4):
            asked.observe(protector.ledger.likelihood(step))
        assert asked.leakage().value <= 1.0 + 1e-8


# ------------------------------------------------------------------ whole procedures

CELLS = 5
LINE = Grid(rows=1, columns=CELLS, cell_size=1.0)
MOVES = MarkovModel.gaussian(LINE, sigma=0.7)
PRIOR = MOVES.stationary()
PAIR = together({"west": presence([0], [0, 1]), "east": presence([4], [1, 2])})
WHICH = Secret({"west": at([0], 1), "east": at([4], 1)})
STEPS = 2


def exact_rows(secret: Secret, columns) -> list[list[list[Fraction]]]:
    """[a, b] of each answer for each first cell, over every path of three steps."""
    matrix = [[Fraction(float(x)) for x in row] for row in MOVES.transition(0).toarray()]
    rows = [[[Fraction(0), Fraction(0)] for _ in secret.answers] for _ in range(CELLS)]
    exact = [[Fraction(float(x)) for x in column] for column in columns]
    for path in itertools.product(range(CELLS), repeat=3):
        chance = math.prod(matrix[i][j] for i, j in itertools.pairwise(path))
        here = rows[path[0]][secret.answers.index(secret.answer(path))]
        here[0] += chance
        here[1] += chance * math.prod(
            column[cell] for column, cell in zip(exact, path, strict=False)
        )
    return rows


@pytest.mark.parametrize(
    "calibrator", [Certified(), Optimal(pace=1.0)], ids=["certified", "optimal"]
)
@pytest.mark.parametrize("adversary", [AnyPrior(), KnownPrior(PRIOR)], ids=["any", "known"])
@pytest.mark.parametrize("secret", [PAIR, WHICH], ids=["together", "answers"])
def test_every_sequence_keeps_every_two_answers_within_the_bound(
    calibrator, adversary, secret: Secret
) -> None:
    """Enumerated in fractions: no sequence of releases tells two answers apart by more than e^ε."""
    laplace, epsilon = PlanarLaplace(LINE, alpha=2.0), 1.0
    protector = Protector(MOVES, secret, laplace, epsilon, calibrator, 0, adversary=adversary)
    bound = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**40))
    starts = [[Fraction(float(x)) for x in PRIOR]]
    if isinstance(adversary, AnyPrior):
        starts = [[Fraction(int(i == j)) for j in range(CELLS)] for i in range(CELLS)]
    largest = 0.0

    def follow(node, columns) -> None:
        nonlocal largest
        if len(columns) == STEPS:
            rows = exact_rows(secret, columns)
            mixed = [
                [
                    [sum(w * row[c][k] for w, row in zip(start, rows, strict=True)) for k in (0, 1)]
                    for c in range(len(secret.answers))
                ]
                for start in starts
            ]
            for one, other in itertools.permutations(range(len(secret.answers)), 2):
                four = [(r[one][0], r[other][0], r[one][1], r[other][1]) for r in mixed]
                assert not speaks_for(four, bound)
                for a, c, b, d in four:
                    if a and c and d:
                        largest = max(largest, math.log(b * c / (a * d)))
            return
        distribution = node.distribution
        for output in range(distribution.joint.shape[2]):
            column = distribution.joint[0, :, output]
            if column.any():
                follow(
                    node.after(node.rule.outcome(output, distribution.budgets[0])),
                    [*columns, column],
                )

    follow(protector._node, [])
    (truth,) = true_leakage(protector, STEPS).values()
    assert truth.kept
    assert largest <= truth.value + 1e-8
    if isinstance(adversary, KnownPrior):
        assert truth.value == pytest.approx(largest, abs=1e-8)
        assert largest > 0.1  # something is released


# ------------------------------------------------------------------ keeping


@pytest.mark.parametrize("calibrator", ["certified", "optimal"])
def test_a_stream_with_secrets_goes_on_from_its_journal(tmp_path, calibrator: str) -> None:
    """A journal holds secrets: the stream that resumes makes the same releases."""
    terms = {"pair": PAIR, "which": WHICH, "plain": at([1], 2)}
    options = {"adversary": KnownPrior(PRIOR)}
    path = tmp_path / "stream"
    first = Protector(
        MOVES, terms, PlanarLaplace(LINE, alpha=2.0), 1.0, calibrator, 5, journal=path, **options
    )
    whole = Protector(MOVES, terms, PlanarLaplace(LINE, alpha=2.0), 1.0, calibrator, 5, **options)
    assert [first.release(c) for c in (0, 1)] == [whole.release(c) for c in (0, 1)]
    first.close()
    again = Protector.resume(path, rng=5)
    assert again.state.terms.events == (PAIR, WHICH, at([1], 2))
    assert again.leakage == whole.leakage
    assert again.belief == whole.belief
    assert again.event_names == ("pair", "which", "plain")
    moved = again.with_policy({"pair": PAIR}, 2.0)
    assert moved.leakage[0] == pytest.approx(whole.leakage[0])


def test_a_part_that_cannot_happen_is_refused() -> None:
    """A secret about an event that the model excludes would look safe without being guarded."""
    stay = MarkovModel(LINE, np.eye(CELLS))
    secret = together({"here": at([0], 1), "moved": at([0], 1) & at([1], 2)})
    with pytest.raises(InvalidParameter, match="'moved' of 'event' cannot happen"):
        Protector(stay, secret, PlanarLaplace(LINE, alpha=1.0), 1.0, adversary=AnyPrior())


def test_guarantees_that_a_secret_cannot_have_are_refused() -> None:
    """A direction needs a "neither", and a cap on beliefs room above what is believed already."""
    sides = Secret({"west": at([0], 1), "other": ~at([0], 1)})
    laplace = PlanarLaplace(LINE, alpha=1.0)
    with pytest.raises(InvalidParameter, match="cover everything"):
        Protector(MOVES, sides, laplace, OddsBound(1.0, math.inf), adversary=AnyPrior())
    with pytest.raises(InvalidParameter, match="guaranteed a belief"):
        Protector(MOVES, sides, laplace, BeliefBound(0.5), adversary=KnownPrior([1, 0, 0, 0, 0]))
    Protector(MOVES, sides, laplace, 1.0, adversary=AnyPrior()).release(0)
