"""Secrets against enumeration in fractions: every adversary, every family, 2 to 8 answers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.exact_adversaries import start_distributions
from tests.oracles.exact_near import near_exceed, near_odds
from tests.oracles.exact_worst_prior import pairs_exceed, whole_rows
from tests.oracles.path_enumeration import PathEnumeration

from priste import (
    AnyPrior,
    BeliefBound,
    Grid,
    InvalidParameter,
    KnownPrior,
    LastSeen,
    MarkovModel,
    OddsBound,
    PriorsWithin,
    Quantifier,
    Secret,
    StartsIn,
    at,
    presence,
    together,
)
from priste.quantify import JointProbabilities, possible_paths_leakage

CELLS, STEPS = 3, 4
GRID = Grid(rows=1, columns=CELLS, cell_size=1.0)
ABOVE = 1 + Fraction(1, 2**40)
"""More than the roundings of e^x in this file."""
BELOW = 1 - Fraction(1, 10**6)
"""More than the slack of a reported leakage."""

SECRETS = {
    2: Secret({"visit": presence([0], [1, 2])}),
    3: Secret({"west": at([0], 2), "middle": at([1], 2)}),
    4: together({"first": presence([0], [1, 2]), "second": presence([1], [2, 3])}),
    8: together(at([0], 1), at([1], 2), at([0, 2], 3)),
    0: Secret({"west": at([0], 2), "middle": at([1], 2), "other": ~at([0, 1], 2)}),
}
"""By the number of answers; 0 is one without "neither"."""

ADVERSARIES = {
    "any prior": AnyPrior(),
    "starts in": StartsIn([0, 2]),
    "known prior": KnownPrior([0.25, 0.25, 0.5]),
    "two priors": KnownPrior([[0.25, 0.25, 0.5], [0.75, 0.125, 0.125]]),
    "last seen": LastSeen(2),
    "within": PriorsWithin([0.25, 0.25, 0.5], 3.0),
}


def models(seed: int, count: int) -> list[MarkovModel]:
    """Random models, some of whose moves are impossible."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        rows = rng.choice([0.0, 1.0, 2.0, 5.0], size=(CELLS, CELLS)) + 0.5 * np.eye(CELLS)
        found.append(MarkovModel(GRID, rows / rows.sum(axis=1, keepdims=True)))
    return found


def answer_number(secret: Secret, path) -> int:
    """The answer of a path, from what its events say of it and nothing else."""
    truths = {name: event.holds(path) for name, event in secret.events.items()}
    (number,) = [
        k
        for k in range(len(secret.answers))
        if all((k in secret.parts[name]) == true for name, true in truths.items())
    ]
    return number


def exact_rows(model, secret, columns, adversary) -> list[list[tuple[Fraction, Fraction]]]:
    """Return (a, b) of each answer, for each row of the adversary under one model."""
    count = len(secret.answers)
    walks = PathEnumeration(model, STEPS)
    by_cell = []
    for start in range(CELLS):
        found = [[Fraction(0), Fraction(0)] for _ in range(count)]
        for path, chance in walks.paths(start):
            weight = chance * math.prod(
                (Fraction(float(column[path[step]])) for step, column in enumerate(columns)),
                start=Fraction(1),
            )
            here = found[answer_number(secret, path)]
            here[0], here[1] = here[0] + chance, here[1] + weight
        by_cell.append(found)
    return [
        [
            tuple(
                sum(w * row[c][k] for w, row in zip(weights, by_cell, strict=True)) for k in (0, 1)
            )
            for c in range(count)
        ]
        for weights in start_distributions(model, adversary)
    ]


class Exact:
    """What is true of a secret after some releases, by enumeration."""

    def __init__(self, family, secret, columns, adversary, mode) -> None:
        self.secret = secret
        rows = [exact_rows(model, secret, columns, adversary) for model in family]
        self.groups = rows if mode == "each" else [[row for each in rows for row in each]]
        self.adversary = adversary
        if isinstance(adversary, PriorsWithin):
            prior = [Fraction(float(x)) for x in adversary.prior]
            self.weights = prior if mode == "each" else prior * len(family)

    def exceeds(self, first: int, second: int, r: Fraction) -> bool:
        """Tell whether a prior of the adversary has Pr(o | first) / Pr(o | second) above r."""
        return any(self._exceeds(rows, first, second, r) for rows in self.groups)

    def _exceeds(self, rows, first, second, r) -> bool:
        four = [(row[first][0], row[second][0], row[first][1], row[second][1]) for row in rows]
        if isinstance(self.adversary, PriorsWithin):
            factor = Fraction(self.adversary.factor)
            return near_exceed(four, self.weights, factor, r)
        return pairs_exceed(whole_rows(four), r)

    def ordered_pairs(self, side: int):
        """Pairs whose first answer rises (side 0) or falls (side 1) and is not "neither"."""
        last = len(self.secret.answers) - 1
        for one, other in itertools.permutations(range(last + 1), 2):
            if self.secret.has_rest and one == last:
                continue
            yield (one, other) if side == 0 else (other, one)

    def any_exceeds(self, side: int, r: Fraction) -> bool:
        return any(self.exceeds(*pair, r) for pair in self.ordered_pairs(side))

    def belief(self) -> Fraction:
        """The largest belief in an answer that is not "neither"."""
        most = Fraction(0)
        for rows in self.groups:
            for answer in range(len(self.secret.answers) - self.secret.has_rest):
                four = [
                    (
                        row[answer][0],
                        Fraction(1),
                        row[answer][1],
                        sum(b for _, b in row) - row[answer][1],
                    )
                    for row in rows
                ]
                if isinstance(self.adversary, PriorsWithin):
                    odds = near_odds(four, self.weights, Fraction(self.adversary.factor))
                    most = max(most, Fraction(1) if odds is None else odds / (1 + odds))
                    continue
                shares = [b / (b + d) for _, _, b, d in four if b + d]
                most = max([most, *shares])
        return most


def exp(x: float) -> Fraction:
    return Fraction(math.exp(x))


CASES = [
    (answers, name, mode)
    for answers in SECRETS
    for name in ADVERSARIES
    for mode in ("one", "each", "joint")
]


@pytest.mark.parametrize(("answers", "name", "mode"), CASES)
def test_leakage_verdicts_and_beliefs_are_exact(answers: int, name: str, mode: str) -> None:
    """What is reported is never below what enumeration finds, and just above it at most."""
    secret, adversary = SECRETS[answers], ADVERSARIES[name]
    seed = 1000 * answers + 10 * list(ADVERSARIES).index(name) + len(mode)
    rng = np.random.default_rng(seed)
    family = models(seed, 1 if mode == "one" else 2)
    columns = rng.choice([0.125, 0.25, 0.5, 1.0], size=(STEPS - 1, CELLS))
    given = "joint" if mode == "one" else mode
    q = Quantifier(family, secret, adversary, family=given)
    for column in columns[:-1]:
        q.observe(column)
    before_last = q.copy()
    q.observe(columns[-1])
    exact = Exact(family, secret, columns, adversary, mode)
    found = q.leakage()
    for side, reported in enumerate((found.for_event, found.against_event)):
        if reported == math.inf:
            assert exact.any_exceeds(side, Fraction(2) ** 200)
            continue
        assert not exact.any_exceeds(side, exp(reported) * ABOVE)
        assert not found.worst_rows or exact.any_exceeds(side, exp(reported) * BELOW)
    assert q.directions() == (found.for_event, found.against_event)
    assert found.value == max(found.for_event, found.against_event)
    candidate = np.array(columns[-1])[:, None]
    assert before_last.leakage_if(candidate)[0] == pytest.approx(found.value, abs=1e-9)

    belief = q.belief()
    assert exact.belief() <= Fraction(belief) <= exact.belief() * (1 + Fraction(1, 10**9))

    if found.value < math.inf:
        near = [(found.value + 1e-6, True), (found.value - 1e-6, False)]
        for bound, kept in near:
            if bound > 0.0 and found.worst_rows:
                assert bool(before_last.passes(candidate, bound)[0]) is kept
    if secret.has_rest and found.for_event < math.inf:
        up = OddsBound(max(found.for_event, 0.0) + 1e-6, math.inf)
        assert before_last.passes(candidate, up)[0]
        if found.for_event > 1e-6 and found.worst_rows:
            down = OddsBound(found.for_event - 1e-6, math.inf)
            assert not before_last.passes(candidate, down)[0]
    if 1e-6 < belief < 1.0 - 1e-6:
        assert before_last.passes(candidate, BeliefBound(belief + 1e-7))[0]
        assert not before_last.passes(candidate, BeliefBound(belief - 1e-7))[0]


@pytest.mark.parametrize("answers", SECRETS)
@pytest.mark.parametrize("method", ["forward", "replay"])
def test_joint_probabilities_are_within_their_bound(answers: int, method: str) -> None:
    """a and b of every answer and row are within the stated error of the exact ones."""
    secret = SECRETS[answers]
    (model,) = models(7 + answers, 1)
    columns = np.random.default_rng(answers).choice([0.125, 0.25, 1.0], size=(STEPS, CELLS))
    q = Quantifier(model, secret, method=method)
    for column in columns:
        q.observe(column)
    joint = q.joint_probabilities()
    assert joint.answers == len(secret.answers)
    gamma, delta = Fraction(joint.relative_error), Fraction(joint.absolute_error)
    for row, exact in enumerate(exact_rows(model, secret, columns, AnyPrior())):
        for answer, (a, b) in enumerate(exact):
            unit = Fraction(2) ** int(joint.exponent[row])
            stored = Fraction(float(joint.joint[answer, row]))
            assert abs(Fraction(float(joint.prior[answer, row])) - a) <= gamma * a + delta
            assert abs(stored - b / unit) <= gamma * b / unit + delta
    weights = np.array([0.25, 0.25, 0.5])
    total = [
        sum(
            Fraction(float(w)) * row[k][1]
            for w, row in zip(weights, exact_rows(model, secret, columns, AnyPrior()), strict=True)
        )
        for k in range(len(secret.answers))
    ]
    told = q.posteriors(weights)
    assert list(told) == list(secret.answers)
    np.testing.assert_allclose(
        list(told.values()), [float(x / sum(total)) for x in total], rtol=1e-12
    )
    assert q.posterior(weights) == pytest.approx(1.0 - list(told.values())[-1], abs=1e-12)


def test_two_answers_are_the_event_to_the_bit() -> None:
    """A secret of one event gives the very floats of the event, against every adversary."""
    event = presence([0], [1, 2]) & ~at([2], 3)
    rng = np.random.default_rng(5)
    for adversary in ADVERSARIES.values():
        for family in ("each", "joint"):
            both = models(3, 2)
            plain = Quantifier(both, event, adversary, family=family)
            secret = Quantifier(both, Secret({"it": event}), adversary, family=family)
            for _ in range(6):
                columns = rng.random((CELLS, 5))
                assert plain.passes(columns, 0.3).tolist() == secret.passes(columns, 0.3).tolist()
                assert plain.leakage_if(columns).tolist() == secret.leakage_if(columns).tolist()
                plain.observe(columns[:, 0])
                secret.observe(columns[:, 0])
                mine, theirs = plain.joint_probabilities(), secret.joint_probabilities()
                for name in ("prior", "joint", "exponent"):
                    assert np.array_equal(getattr(mine, name), getattr(theirs, name))
                assert (mine.relative_error, mine.absolute_error) == (
                    theirs.relative_error,
                    theirs.absolute_error,
                )
                assert plain.leakage() == secret.leakage()
                assert plain.belief() == secret.belief()


def test_every_statement_about_the_events_is_covered() -> None:
    """What is told about any union of answers is never more than between two answers."""
    secret = SECRETS[4]
    (model,) = models(11, 1)
    rng = np.random.default_rng(2)
    for _ in range(20):
        q = Quantifier(model, secret, KnownPrior([0.25, 0.25, 0.5]))
        statements = {
            "exactly one": Quantifier(
                model,
                (secret.events["first"] & ~secret.events["second"])
                | (secret.events["second"] & ~secret.events["first"]),
                KnownPrior([0.25, 0.25, 0.5]),
            ),
            **{
                name: Quantifier(model, event, KnownPrior([0.25, 0.25, 0.5]))
                for name, event in {
                    "both": secret.events["first"] & secret.events["second"],
                    "some": secret.events["first"] | secret.events["second"],
                    **secret.events,
                }.items()
            },
        }
        for column in rng.random((4, CELLS)):
            q.observe(column)
            for each in statements.values():
                each.observe(column)
        assert max(each.leakage().value for each in statements.values()) <= q.leakage().value + 1e-9


def test_rows_without_either_answer_drop_out_and_doubt_keeps_them() -> None:
    """A row that has neither answer changes nothing, unless its chance may have underflowed."""
    prior = np.array([[0.5, 0.0], [0.25, 0.0], [0.25, 1.0]])
    joint = np.array([[0.5, 0.0], [0.125, 0.0], [0.125, 0.5]])
    sure = JointProbabilities(prior, joint, np.zeros(2, dtype=np.int64), 0.0, 0.0)
    view, rows = sure.compared((0,), (1,))
    assert rows.tolist() == [0]
    assert view.rows == 1
    doubtful = JointProbabilities(prior, joint, np.zeros(2, dtype=np.int64), 0.0, 2.0**-1074)
    view, rows = doubtful.compared((0,), (1,))
    assert rows is None
    assert (view.prior[:, 1] == 2.0**-1074).all()
    assert AnyPrior().judge([]).passes(sure, 5.0)[0]
    assert not AnyPrior().judge([]).passes(doubtful, 5.0)[0]


def test_directions_need_a_neither() -> None:
    """Without "neither" no direction is for or against what is guarded."""
    (model,) = models(1, 1)
    q = Quantifier(model, SECRETS[0])
    with pytest.raises(InvalidParameter, match="one number for both directions"):
        q.passes(np.ones((CELLS, 1)), OddsBound(1.0, math.inf))
    assert q.passes(np.ones((CELLS, 1)), 1.0)[0]


def test_the_two_answers_that_are_told_apart_are_named() -> None:
    """The worst pair is named, and for an event there is nothing to name."""
    model = MarkovModel(GRID, np.full((3, 3), 1 / 3))
    q = Quantifier(model, SECRETS[3], KnownPrior([1 / 3] * 3))
    q.observe(None)
    q.observe(None)
    q.observe([0.9, 0.1, 0.3])
    assert q.leakage().between == ("west", "middle")
    assert q.leakage([1 / 3] * 3).between == ("west", "middle")
    assert math.exp(q.leakage().value) == pytest.approx(9.0)
    assert Quantifier(model, at([0], 2)).leakage().between is None


def test_any_movement_covers_every_two_answers() -> None:
    """Under any way to move the largest ratio is between the likeliest and the unlikeliest path."""
    model = MarkovModel(GRID, np.full((3, 3), 1 / 3))
    columns = [None, None, np.array([0.9, 0.1, 0.3])]
    found = possible_paths_leakage(model, SECRETS[3], columns)[-1]
    assert math.exp(found.value) == pytest.approx(9.0)
    assert math.exp(found.for_event) == pytest.approx(9.0)
    apart = possible_paths_leakage(model, at([0], 2), columns)[-1]
    assert math.exp(apart.for_event) == pytest.approx(9.0)
