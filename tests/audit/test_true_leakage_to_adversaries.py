"""The true leakage of procedures to classes of priors, per direction, and beliefs: in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.audit.exact_procedures import paper_histories
from tests.oracles.exact_worst_prior import log_fraction, reversed_rows, supremum, whole_rows

from priste import (
    AnyPrior,
    BeliefBound,
    EmissionTable,
    Grid,
    KnownPrior,
    LastSeen,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    PriorsWithin,
    Protector,
    Quantifier,
    StartsIn,
    at,
    presence,
)
from priste.audit import (
    audit_procedure,
    audit_stream,
    output_histories,
    sampled_leakage,
    true_leakage,
)
from priste.release import Certified, Paper

TOLERANCE = 2e-9  # SLACK of the worst prior, and rounding
LINE = Grid(rows=1, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(LINE, sigma=0.7)
EVENT = presence([1, 2], steps=[1])
MECH = PlanarLaplace(LINE, alpha=3.0)
PRIOR = [0.5, 0.25, 0.25]
FLAT = np.full(3, 1 / 3)


def loop() -> Protector:
    return Protector(
        MODEL, EVENT, MECH, 0.5, calibrator=Paper(max_attempts=3), adversary=AnyPrior()
    )


def mixed(rows, weights):
    """The rows (a, ā, b, d) of some priors, from those of the starts, in fractions."""
    found = []
    for line in weights:
        exact = [Fraction(float(weight)) for weight in line]
        parts = [[weight * value for value in row] for weight, row in zip(exact, rows, strict=True)]
        found.append(tuple(sum(column, Fraction(0)) for column in zip(*parts, strict=True)))
    return found


ADVERSARYS = {
    "any": (AnyPrior(), np.eye(3)),
    "known": (KnownPrior(PRIOR), [PRIOR]),
    "two priors": (KnownPrior([PRIOR, FLAT]), [PRIOR, FLAT]),
    "starts": (StartsIn([0, 2]), np.eye(3)[[0, 2]]),
    "stale": (LastSeen(2), np.linalg.matrix_power(MODEL.transition(0).toarray(), 2)),
}


@pytest.mark.parametrize("name", ADVERSARYS)
def test_every_sequence_of_the_loop_is_judged_against_the_adversary(name) -> None:
    """Both directions and the largest belief of all sequences equal those of exact fractions."""
    adversary, weights = ADVERSARYS[name]
    exact = paper_histories(MODEL, EVENT, MECH, 0.5, attempts=3, steps=2)
    found = {
        h.outputs: h
        for h in output_histories(loop(), 2, adversary=adversary)
        if len(h.outputs) == 2
    }
    assert set(found) == set(exact)
    for outputs, starts in exact.items():
        rows = mixed(starts, weights)
        history = found[outputs]
        for ours, side in (
            (history.for_event[0], whole_rows(rows)),
            (history.against_event[0], reversed_rows(whole_rows(rows))),
        ):
            low, high = (log_fraction(bound) for bound in supremum(side))
            assert low - TOLERANCE <= ours <= high + TOLERANCE
        believed = max(b / (b + d) for _, _, b, d in rows if b + d)
        assert history.belief[0] == pytest.approx(float(believed), abs=1e-9)
        assert history.leakage[0] == max(history.for_event[0], history.against_event[0])
        assert history.any_prior[0] >= history.leakage[0] - TOLERANCE


def test_a_larger_class_is_told_more() -> None:
    """Known, two priors, some starts, anybody: the true leakage never falls with the class."""
    values = [
        true_leakage(loop(), 2, adversary=ADVERSARYS[name][0])["event"]
        for name in ("known", "two priors", "any")
    ]
    assert values[0].value <= values[1].value < values[2].value
    assert all(each.any_prior == pytest.approx(values[2].value, abs=TOLERANCE) for each in values)
    assert values[2].any_prior == values[2].value


def test_the_worst_prior_belongs_to_the_class() -> None:
    """It names the starts or priors of the adversary, and reaches the value."""
    found = true_leakage(loop(), 2, adversary=StartsIn([0, 2]))["event"]
    assert set(found.worst_prior) <= {0, 2}
    assert sum(found.worst_prior.values()) == pytest.approx(1.0)
    known = true_leakage(loop(), 2, adversary=KnownPrior(PRIOR))["event"]
    assert (known.worst_prior, known.worst_given) == ({}, {(0, 0): 1.0})


def test_several_models_are_judged_jointly() -> None:
    """An adversary unsure which model holds learns more than under each alone."""
    grid = Grid(rows=1, columns=2, cell_size=1.0)
    # Cells are drawn anew at every step, so that alone only the release of step 1 tells.
    models = [MarkovModel(grid, [row, row]) for row in ([0.9, 0.1], [0.1, 0.9])]
    event = at([0], 1)
    coin = EmissionTable(grid, [[0.75, 0.25], [0.25, 0.75]])
    alone = [
        true_leakage(
            Protector(model, event, coin, 0.5, calibrator="uncalibrated", adversary=AnyPrior()), 3
        )["event"].value
        for model in models
    ]
    together = true_leakage(
        Protector(models, event, coin, 0.5, calibrator="uncalibrated", adversary=AnyPrior()), 3
    )["event"]
    columns = [coin.likelihood(output) for output in together.worst.outputs]
    joint = Quantifier(models, event)
    for column in columns:
        joint.observe(column)
    assert together.value == pytest.approx(joint.leakage().value, abs=TOLERANCE)
    assert max(alone) == pytest.approx(math.log(3.0), abs=TOLERANCE)
    assert together.value > max(alone) + 0.5
    found = audit_stream(models, {"e": event}, columns)["e"]
    assert found.leakage[-1] == pytest.approx(together.value, abs=TOLERANCE)


def test_sampled_runs_are_judged_against_the_adversary() -> None:
    """Each sampled run has the leakage that its sequence has in the enumeration."""
    adversary = KnownPrior(PRIOR)
    exact = [h.leakage[0] for h in output_histories(loop(), 2, sees="budgets", adversary=adversary)]
    found = sampled_leakage(loop(), 2, runs=20, rng=3, adversary=adversary)["event"]
    for run in found.true:
        assert min(abs(value - run[-1]) for value in exact) < TOLERANCE
    assert found.value <= max(exact) + TOLERANCE
    assert found.any_prior > found.value
    assert 0.0 < found.belief < 1.0


def test_rows_say_against_whom_and_what_anybody_learns() -> None:
    """The table's lines hold the adversary and, beside each figure, the one against anybody."""
    rows = audit_procedure(
        MODEL,
        {"e": EVENT},
        MECH,
        0.5,
        1,
        calibrators={"certified": Certified(guess=False)},
        adversary=KnownPrior(PRIOR),
    )
    for row in rows:
        told = row.to_dict()
        assert told["adversary"] == KnownPrior(PRIOR).words()
        assert row.any_prior > row.true
        assert told["guarantee"] == OddsBound(0.5, 0.5).words()
        assert row.kept


@pytest.mark.parametrize("name", ADVERSARYS)
def test_streams_are_audited_against_the_adversary(name) -> None:
    """Leakage per direction and the largest belief are the quantifier's, whatever way it goes."""
    adversary, _ = ADVERSARYS[name]
    columns = [MECH.likelihood(0), None, MECH.likelihood(2)]
    found = audit_stream(MODEL, {"e": EVENT}, columns, adversary=adversary)["e"]
    quantifier, any_prior = Quantifier(MODEL, EVENT, adversary), Quantifier(MODEL, EVENT)
    for step, column in enumerate(columns):
        quantifier.observe(column)
        any_prior.observe(column)
        leakage = quantifier.leakage()
        told = (
            found.for_event[step], found.against_event[step], found.highest_belief[step],
            found.any_prior[step],
        )  # fmt: skip
        assert told == pytest.approx(
            (
                leakage.for_event,
                leakage.against_event,
                quantifier.belief(),
                any_prior.leakage().value,
            ),
            abs=TOLERANCE,
        )
        assert found.leakage[step] == max(found.for_event[step], found.against_event[step])
    assert found.adversary == adversary
    assert found.max <= found.max_any_prior + TOLERANCE
    assert math.isfinite(found.max)


GUARANTEES = {
    "both ways": 0.4,
    "upwards only": OddsBound(0.4, math.inf),
    "downwards only": OddsBound(math.inf, 0.4),
    "two bounds": OddsBound(0.2, 0.6),
    "belief": BeliefBound(0.9),
}
GUARDED = {"known": KnownPrior(PRIOR), "near": PriorsWithin(PRIOR, 2.0), "stale": LastSeen(2)}


@pytest.mark.parametrize("calibrator", ["certified", "optimal"])
@pytest.mark.parametrize("who", GUARDED)
@pytest.mark.parametrize("guarantee", GUARANTEES.values(), ids=GUARANTEES)
def test_the_true_law_keeps_every_guarantee_to_its_adversary(calibrator, who, guarantee) -> None:
    """Whatever is guaranteed to whom, the whole procedure keeps it; anybody may learn more."""
    guarded = Protector(
        MODEL, EVENT, MECH, guarantee, calibrator=calibrator, adversary=GUARDED[who]
    )
    found = true_leakage(guarded, 2)["event"]
    assert found.kept
    assert found.adversary == GUARDED[who]
    assert found.exceeding == 0.0
    assert found.any_prior >= found.value - TOLERANCE


def test_what_is_free_is_told_and_what_is_outside_the_class_learns_more() -> None:
    """Upwards only, the other direction goes beyond; and anybody learns more than the known one."""
    plain, up = Certified(guess=False), OddsBound(0.2, math.inf)
    one_way = Protector(MODEL, EVENT, MECH, up, plain, adversary=KnownPrior(PRIOR))
    found = true_leakage(one_way, 2)["event"]
    assert found.for_event <= 0.2 + TOLERANCE < found.against_event
    assert found.any_prior > 0.2 + TOLERANCE
    assert found.epsilon == 0.2


def test_the_loop_breaks_a_belief_that_it_was_given() -> None:
    """The paper's loop checks nominal columns, whatever the guarantee: the audit shows the
    excess."""
    for cap in (0.70, 0.72, 0.75):
        loop = Protector(
            MODEL, EVENT, MECH, BeliefBound(cap), calibrator="paper", adversary=KnownPrior(FLAT)
        )
        found = true_leakage(loop, 1)["event"]
        if not found.kept:
            assert found.belief > cap
            assert 0.0 < found.exceeding < 1.0
            return
    pytest.fail("the loop kept every cap")
