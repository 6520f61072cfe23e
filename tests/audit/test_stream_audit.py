"""The audit of a stream, step by step, against the enumeration of every path in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.exact_worst_prior import log_fraction, supremum
from tests.oracles.path_enumeration import PathEnumeration

from priste import (
    AnyPrior,
    Grid,
    InvalidParameter,
    MarkovModel,
    PlanarLaplace,
    Protector,
    at,
    presence,
)
from priste.audit import audit_stream, columns_of
from priste.quantify import possible_paths_leakage
from priste.release import Certified

GRID = Grid(rows=2, columns=2, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
MECHANISM = PlanarLaplace(GRID, alpha=1.2)
STEPS = 4
EVENTS = {"stay": presence([0, 1], [1, 2]), "end": at([3], 3)}
EXACT_TO_ROUNDING = 1e-9
OUTPUTS = st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=STEPS)


@examples(15)
@given(OUTPUTS)
def test_every_step_is_what_enumeration_says(outputs: list[int | None]) -> None:
    """Leakage and belief after each step equal those of all paths, in exact fractions."""
    columns = columns_of(MECHANISM, outputs)
    found = audit_stream(MODEL, EVENTS, columns)
    oracle = PathEnumeration(MODEL, STEPS, normalise=False)
    for name, event in EVENTS.items():
        audit = found[name]
        assert len(audit.leakage) == len(audit.belief) == len(outputs)
        for step in range(len(outputs)):
            rows = oracle.joint(event, columns[: step + 1])
            happened = sum((b for _, _, b, _ in rows), Fraction(0))
            did_not = sum((d for _, _, _, d in rows), Fraction(0))
            assert audit.belief[step] == pytest.approx(
                float(happened / (happened + did_not)), rel=EXACT_TO_ROUNDING
            )
            whole = [
                tuple(int(x * 2**400) for x in row) for row in rows
            ]  # products of at most eight doubles: exact enough by far
            turned = [(c, a, d, b) for a, c, b, d in whole]
            highest = max(log_fraction(supremum(side)[1]) for side in (whole, turned))  # type: ignore[index,arg-type]
            assert audit.leakage[step] == pytest.approx(highest, abs=1e-7)
        before = [(a, c) for a, c, _, _ in oracle.joint(event, [])]
        assert audit.prior_belief == pytest.approx(
            float(sum(a for a, _ in before) / len(before)), rel=EXACT_TO_ROUNDING
        )


def test_the_worst_prior_belongs_to_the_largest_leakage() -> None:
    """An adversary with that prior learns as much as the audit says, at that step."""
    from priste import Quantifier

    outputs = [0, 1, 3, 2]
    found = audit_stream(MODEL, EVENTS, columns_of(MECHANISM, outputs))["stay"]
    prior = np.zeros(4)
    for cell, weight in found.worst_prior.items():
        prior[cell] = weight
    quantifier = Quantifier(MODEL, EVENTS["stay"])
    seen = []
    for output in outputs:
        quantifier.observe(MECHANISM.likelihood(output))
        seen.append(quantifier.leakage(prior=prior).value)
    assert max(seen) == pytest.approx(found.max, rel=1e-6)


def test_it_agrees_with_the_ledger_of_a_protector() -> None:
    """The outside computes what the inside computed."""
    protector = Protector(
        MODEL, EVENTS, MECHANISM, 0.4, Certified(guess=False), rng=2, adversary=AnyPrior()
    )
    releases = [protector.release(cell) for cell in (0, 0, 1, 3)]
    columns = [MECHANISM.with_budget(r.budget).likelihood(r.cell) for r in releases]
    found = audit_stream(MODEL, EVENTS, columns)
    for number, audit in enumerate(found.values()):
        assert audit.leakage == pytest.approx([r.leakage[number] for r in releases], abs=1e-7)


def test_beside_each_leakage_stands_what_any_movement_could_tell() -> None:
    """The figure without a model is that of the possible paths, and never below the leakage."""
    columns = [MECHANISM.likelihood(output) for output in (0, 2, 3, 1)]
    for name, audit in audit_stream(MODEL, EVENTS, columns).items():
        possible = possible_paths_leakage(MODEL, EVENTS[name], columns)
        assert audit.any_movement == tuple(each.value for each in possible)
        assert all(
            any_way >= here for any_way, here in zip(audit.any_movement, audit.leakage, strict=True)
        )
        assert audit.max_any_movement == max(audit.any_movement) > audit.max


def test_silence_tells_nothing() -> None:
    """A stream of silence leaves every belief where it was."""
    audit = audit_stream(MODEL, EVENTS, [None] * STEPS)["stay"]
    assert audit.leakage == (0.0,) * STEPS
    assert audit.belief == pytest.approx([audit.prior_belief] * STEPS, rel=EXACT_TO_ROUNDING)
    assert audit.max == 0.0


def test_an_empty_stream_has_no_largest_leakage() -> None:
    """No releases, no leakage."""
    audit = audit_stream(MODEL, EVENTS, [])["stay"]
    assert (audit.leakage, audit.belief, audit.max) == ((), (), 0.0)


@pytest.mark.parametrize("output", [-1, 4, 1000])
def test_outputs_of_another_map_are_refused(output: int) -> None:
    """The message names the step and the range."""
    with pytest.raises(InvalidParameter, match=r"mechanism, 0 to 3. Got .* at step 1"):
        columns_of(MECHANISM, [0, output])


def test_the_prior_of_the_adversary_may_be_given() -> None:
    """A certain start gives that start's own probabilities."""
    prior = np.array([0.0, 0.0, 0.0, 1.0])
    audit = audit_stream(MODEL, EVENTS, [None], prior=prior)["stay"]
    rows = PathEnumeration(MODEL, STEPS, normalise=False).joint(EVENTS["stay"], [])
    assert audit.prior_belief == pytest.approx(float(rows[3][0]), rel=EXACT_TO_ROUNDING)


def test_the_belief_of_a_family_is_that_of_its_first_model_where_each_is_guarded() -> None:
    """A mixture over models would move for reasons that no guarantee is about."""
    other = MarkovModel.gaussian(GRID, sigma=3.0)
    columns = [MECHANISM.likelihood(0), MECHANISM.likelihood(1)]
    each = audit_stream([MODEL, other], EVENTS, columns, family="each")
    alone = audit_stream(MODEL, EVENTS, columns)
    joint = audit_stream([MODEL, other], EVENTS, columns)
    for name in EVENTS:
        assert each[name].belief == alone[name].belief
        assert each[name].prior_belief == alone[name].prior_belief
        assert joint[name].belief != alone[name].belief
