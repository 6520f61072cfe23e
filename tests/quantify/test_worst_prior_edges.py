"""The worst prior at its edges: each strange case has one documented answer."""

import math

import numba
import numpy as np
import pytest
from tests.quantify.joint_cases import exact_joint, far_apart, smooth, two_answers

from priste.errors import InvalidParameter
from priste.quantify.worst_prior import (
    SLACK,
    leakages,
    passes,
    worst_directions,
    worst_prior_leakage,
)
from priste.quantify.worst_prior.compilation import compile_kernels, kernel

# name: a, ā, b, d, then ln sup R and ln sup 1/R (worked out by hand).
KNOWN = {
    "no information": ([0.5, 0.1], [0.5, 0.9], [0.25, 0.05], [0.25, 0.45], 0.0, 0.0),
    "one row": ([0.5], [0.5], [0.4], [0.1], math.log(4), -math.log(4)),
    "event at the start": (
        [1, 0, 0],
        [0, 1, 1],
        [0.5, 0, 0],
        [0, 0.25, 1.0],
        math.log(2),
        math.log(2),
    ),
    "the releases prove the event": ([0.5, 0.5], [0.5, 0.5], [0.1, 0.2], [0, 0], math.inf, None),
    "one start proves it": ([0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0], math.inf, 0.0),
    # All weight on the excluded row sets the odds, a vanishing rest explains the releases:
    # (b/d)(ā/a) = 1 * 9 is approached, never attained.
    "a supremum no prior attains": (
        [0.5, 0.1],
        [0.5, 0.9],
        [0.5, 0],
        [0.5, 0],
        math.log(9),
        0.0,
    ),
    "an excluded start where the event is impossible": (
        [0.5, 0],
        [0.5, 1],
        [0.5, 0],
        [0.5, 0],
        math.inf,
        0.0,
    ),
    "ties": ([0.5] * 4, [0.5] * 4, [0.5] * 4, [0.25] * 4, math.log(2), -math.log(2)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name: str) -> None:
    """Suprema worked out by hand, attained or not, finite or not."""
    a, c, b, d, for_event, against_event = KNOWN[name]
    found = worst_prior_leakage(exact_joint(a, c, b, d))
    assert found.for_event == pytest.approx(for_event, abs=SLACK)
    if against_event is not None:
        assert found.against_event == pytest.approx(against_event, abs=SLACK)
    assert found.for_event >= for_event
    assert found.worst_rows


@pytest.mark.parametrize(
    ("a", "c", "b", "d"),
    [
        ([1, 1], [0, 0], [0.5, 0.1], [0, 0]),
        ([0, 0], [1, 1], [0, 0], [0.5, 0.1]),
        ([0.5, 0.2], [0.5, 0.8], [0, 0], [0, 0]),
    ],
    ids=["certain event", "impossible event", "impossible release"],
)
def test_nothing_to_compare_is_zero(a, c, b, d) -> None:
    """No prior compares event and negation: leakage 0, no worst prior, every verdict True."""
    joint = exact_joint(a, c, b, d)
    found = worst_prior_leakage(joint)
    assert (found.value, found.for_event, found.against_event) == (0.0, 0.0, 0.0)
    assert found.worst_rows == {}
    assert leakages(joint).tolist() == [0.0]
    assert passes(joint, 0.0).tolist() == [True]


def test_rows_a_hundred_thousand_binary_orders_apart() -> None:
    """The two rows balance at weights no double can hold, and the value is exact all the same."""
    near = exact_joint([0.5, 0.1], [0.5, 0.9], [0.5, 0.02], [0.25, 0.9], [0, 0])
    far = exact_joint([0.5, 0.1], [0.5, 0.9], [0.5, 0.02], [0.25, 0.9], [0, -100_000])
    expected = 2.0 * 9.0  # max(b/d) * max(ā/a): the mixing weight is free
    found = worst_prior_leakage(far)
    assert found.for_event == pytest.approx(math.log(expected), abs=SLACK)
    assert worst_prior_leakage(near).for_event < found.for_event
    assert passes(far, math.log(expected) + SLACK)[0]
    assert not passes(far, math.log(expected) - SLACK)[0]


def test_common_scales_do_not_matter() -> None:
    """A common exponent, and a power of two on all likelihoods, change nothing."""
    rng = np.random.default_rng(1)
    joint = smooth(rng, 30, 1.0)
    shifted = exact_joint(
        joint.prior_event,
        joint.prior_complement,
        joint.event * 2.0**-40,
        joint.complement * 2.0**-40,
        joint.exponent - 54_321,
    )
    assert leakages(shifted) == leakages(joint)


def test_excluded_rows_have_no_scale() -> None:
    """The exponent stored with a row of zeros is ignored."""
    rows = ([0.5, 0.3, 0.2], [0.5, 0.7, 0.8], [0.5, 0.3, 0.0], [0.2, 0.7, 0.0])
    expected = leakages(exact_joint(*rows, [0, 0, 0]))
    for exponent in (-(2**62), -5000, 5000, 2**62):
        assert leakages(exact_joint(*rows, [0, 0, exponent])) == expected


def test_columns_equal_single_calls() -> None:
    """Many candidates at once give the bits of one at a time, both in value and verdict."""
    rng = np.random.default_rng(2)
    n, k = 40, 25
    a = rng.random(n)
    factors = np.exp(0.5 * rng.standard_normal((2, n, k)))
    b, d = a[:, None] * factors[0], (1 - a)[:, None] * factors[1]
    b[:, 3] = d[:, 3] = 0.0
    exponent = rng.integers(-500, 500, n)
    joint = two_answers(a, 1 - a, b, d, exponent, 1e-13, 0.0)
    single = [two_answers(a, 1 - a, b[:, j], d[:, j], exponent, 1e-13, 0.0) for j in range(k)]
    values = leakages(joint)
    whole = [worst_prior_leakage(m) for m in single]
    assert values.tolist() == [found.value for found in whole]
    both = [(found.for_event, found.against_event) for found in whole]
    assert [worst_directions(m) for m in single] == both
    epsilon = float(np.median(values))
    verdicts = passes(joint, epsilon)
    assert verdicts.tolist() == [bool(passes(m, epsilon)[0]) for m in single]
    assert 0 < verdicts.sum() < k
    assert values[3] == 0.0


def test_order_of_rows_does_not_matter() -> None:
    """Renumbering the cells renumbers the worst prior and moves the value by rounding only."""
    rng = np.random.default_rng(4)
    for joint in (smooth(rng, 50, 1.0), far_apart(rng, 50)):
        order = rng.permutation(50)
        permuted = exact_joint(
            *(
                x[order]
                for x in (
                    joint.prior_event,
                    joint.prior_complement,
                    joint.event,
                    joint.complement,
                    joint.exponent,
                )
            )
        )
        found, other = worst_prior_leakage(joint), worst_prior_leakage(permuted)
        assert found.value == pytest.approx(other.value, abs=SLACK / 10)
        assert set(found.worst_rows) == {int(order[row]) for row in other.worst_rows}


def test_one_side_of_many_levels() -> None:
    """Rows tied along a whole range of levels end in a verdict, not in endless halving."""
    levels = np.linspace(-3.0, 3.0, 200)
    a = 1.0 / (1.0 + np.exp(levels))
    joint = exact_joint(a, 1 - a, a * np.exp(0.3), (1 - a) * np.exp(-0.2))
    assert leakages(joint)[0] == pytest.approx(0.5, abs=SLACK)
    assert passes(joint, 0.5 + SLACK)[0]
    assert not passes(joint, 0.5 - SLACK)[0]


def test_every_level_is_tight() -> None:
    """Pairs that reach the supremum at each of 300 levels: still decided, still exact.

    A row with r a = d v² and b + ā = 2 d v touches the curve φ = 1/v at level v and stays
    on its safe side elsewhere, so no prior is above r and one pair per level reaches it.
    """
    r = 3.0
    levels = np.exp(np.linspace(-2.0, 2.0, 300))
    share = np.concatenate([np.full(300, 0.5), np.full(300, 1.5)])
    v = np.concatenate([levels, levels])
    d = np.ones(600)
    joint = exact_joint(d * v**2 / r, share * d * v, (2.0 - share) * d * v, d)
    found = worst_prior_leakage(joint)
    assert math.log(r) <= found.for_event <= math.log(r) + SLACK
    assert not passes(joint, math.log(r) - SLACK)[0]


@pytest.mark.parametrize(("relative", "absolute"), [(0.5, 0.0), (math.inf, 0.0), (0.0, math.inf)])
def test_useless_error_bounds_are_doubt(relative: float, absolute: float) -> None:
    """When the stored numbers guarantee nothing, nothing is guaranteed."""
    joint = two_answers(*(np.array([0.5]) for _ in range(4)), np.array([0]), relative, absolute)
    found = worst_prior_leakage(joint)
    assert (found.value, found.for_event, found.against_event) == (math.inf,) * 3
    assert leakages(joint).tolist() == [math.inf]
    assert worst_directions(joint) == (math.inf, math.inf)
    assert passes(joint, 600.0).tolist() == [False]


def test_infinite_epsilon_passes_anything() -> None:
    """No ratio is above infinity."""
    joint = exact_joint([0.5], [0.5], [0.5], [0.0])
    assert passes(joint, math.inf).tolist() == [True]


@pytest.mark.parametrize("epsilon", [-0.1, math.nan])
def test_epsilon_must_be_a_bound(epsilon: float) -> None:
    """A negative or undefined epsilon is refused."""
    with pytest.raises(InvalidParameter, match="epsilon"):
        passes(exact_joint([0.5], [0.5], [0.5], [0.5]), epsilon)


def test_refusals_say_what_is_wrong() -> None:
    """Many columns for one leakage, rows without probability, wild exponents."""
    column = np.array([[0.5]])
    many = two_answers(np.array([0.5]), np.array([0.5]), column, column, np.array([0]), 0.0, 0.0)
    with pytest.raises(InvalidParameter, match="Use leakages"):
        worst_prior_leakage(many)
    with pytest.raises(InvalidParameter, match="neither in row 1"):
        leakages(exact_joint([0.5, 0.0], [0.5, 0.0], [0.5, 0.0], [0.5, 0.0]))
    with pytest.raises(InvalidParameter, match="exponents"):
        leakages(exact_joint([0.5] * 2, [0.5] * 2, [0.5] * 2, [0.5] * 2, [0, 2**60]))


def test_inputs_are_not_changed() -> None:
    """The search sorts copies, never the caller's numbers."""
    joint = smooth(np.random.default_rng(6), 60, 1.0)
    before = [np.array(x) for x in (joint.event, joint.complement, joint.exponent)]
    worst_prior_leakage(joint)
    passes(joint, 1.0)
    for kept, now in zip(before, (joint.event, joint.complement, joint.exponent), strict=True):
        assert (kept == now).all()


def test_compiles_without_a_place_for_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numba finds no directory to write to, kernels still compile."""
    original = numba.njit

    def no_locator(signature: str, **options: bool):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return original(signature, **options)

    monkeypatch.setattr(numba, "njit", no_locator)
    module = {"double": kernel("f8(f8)")(lambda x: 2.0 * x)}
    compile_kernels(module)
    assert module["double"].signatures
    assert module["double"](21.0) == 42.0
