"""Random joint probabilities for the tests of the worst prior: ordinary, tied, near 1, hostile."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from priste.quantify.joint_probabilities import JointProbabilities


def two_answers(a, c, b, d, exponent, relative_error, absolute_error) -> JointProbabilities:
    """Return the joint probabilities of an event: a and b, ā and d."""
    return JointProbabilities(
        np.stack([a, c]), np.stack([b, d]), exponent, relative_error, absolute_error
    )


def exact_joint(a, c, b, d, exponent=None) -> JointProbabilities:
    """JointProbabilities whose stored numbers are the exact ones."""
    a, c, b, d = (np.asarray(x, dtype=np.float64) for x in (a, c, b, d))
    shifts = np.zeros(len(a), dtype=np.int64) if exponent is None else np.asarray(exponent)
    return two_answers(a, c, b, d, shifts, 0.0, 0.0)


def coarse(rng: np.random.Generator, rows: int) -> JointProbabilities:
    """Few distinct values and many zeros: ties, excluded rows, certain and impossible events."""
    a, c, b, d = rng.choice([0, 0, 1, 2, 3, 5, 8, 13, 64], size=(4, rows)) / 64
    c[a + c == 0] = 1.0
    b[a == 0] = 0.0
    d[c == 0] = 0.0
    return exact_joint(a, c, b, d)


def smooth(rng: np.random.Generator, rows: int, spread: float) -> JointProbabilities:
    """Likelihoods scattered by a factor of about e^spread around 1."""
    a = rng.random(rows)
    factors = np.exp(spread * rng.standard_normal((2, rows)))
    exponent = rng.integers(-3, 3, rows)
    return exact_joint(a, 1.0 - a, a * factors[0], (1.0 - a) * factors[1], exponent)


def curved(rng: np.random.Generator, rows: int, spread: float) -> JointProbabilities:
    """Rows along a smooth curve, as neighbouring cells give: many rows nearly matter."""
    x = np.sort(rng.random(rows))
    a = 0.05 + 0.9 * x
    b = a * np.exp(spread * np.sin(3.0 * x + rng.random()))
    d = (1.0 - a) * np.exp(spread * np.cos(4.0 * x + rng.random()) + rng.normal() * x)
    return exact_joint(a, 1.0 - a, b, d)


def far_apart(rng: np.random.Generator, rows: int) -> JointProbabilities:
    """Moderate likelihood ratios in rows that are hundreds of orders of magnitude apart."""
    a = np.ldexp(0.5 + rng.random(rows), -rng.integers(0, 600, rows))
    factors = np.exp(0.5 * rng.standard_normal((2, rows)))
    exponent = rng.integers(-2000, 2000, rows)
    return exact_joint(a, np.ones(rows), a * factors[0], factors[1], exponent)


@st.composite
def hostile_joint(draw: st.DrawFn, most_rows: int = 4) -> JointProbabilities:
    """Any nonnegative doubles down to 2**-950 and any exponents, with many zeros."""
    rows = draw(st.integers(1, most_rows))
    reach = draw(st.sampled_from([3, 60, 950]))
    number = st.one_of(
        st.just(0.0),
        st.just(1.0),
        st.builds(
            lambda mantissa, shift: float(np.ldexp(mantissa, -shift)),
            st.floats(0.5, 1.0),
            st.integers(0, reach),
        ),
    )
    columns = [draw(st.lists(number, min_size=rows, max_size=rows)) for _ in range(4)]
    a, c, b, d = (np.array(column) for column in columns)
    c[a + c == 0] = 1.0
    if draw(st.booleans()):  # what a model can give: nothing happens that cannot
        b[a == 0] = 0.0
        d[c == 0] = 0.0
    apart = draw(st.sampled_from([0, 1, 40, 3000]))
    exponent = draw(st.lists(st.integers(-apart, apart), min_size=rows, max_size=rows))
    return exact_joint(a, c, b, d, np.array(exponent, dtype=np.int64))
