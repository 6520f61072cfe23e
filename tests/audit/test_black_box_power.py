"""What a black-box check can find is what exact sums and the check itself say."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste import InvalidParameter
from priste.audit import Excess, detection_power, smallest_excess, streams_for
from priste.audit.black_box import lower_bound_from
from priste.audit.black_box_power import EXCESS_DIGITS, error_share
from priste.audit.estimates import clopper_pearson_high, clopper_pearson_low

ROUNDING = 1e-9
EPSILON = 0.5


def binomial(count: int, trials: int, probability: Fraction) -> Fraction:
    chance = math.comb(trials, count) * probability**count
    return chance * (1 - probability) ** (trials - count)


def enumerated_power(epsilon, one, other, judged, error) -> float:
    """The chance that the judges' bounds refute ε: every pair of counts, in fractions."""
    total = Fraction(0)
    for x in range(judged + 1):
        for y in range(judged + 1):
            low = clopper_pearson_low(x, judged, error)
            if low > math.exp(epsilon) * clopper_pearson_high(y, judged, error):
                total += binomial(x, judged, Fraction(one)) * binomial(y, judged, Fraction(other))
    return float(total)


@examples(20)
@given(
    st.floats(0.0, 1.0),
    st.floats(0.1, 5.0),
    st.sampled_from([0.3, 0.7, 1.0]),
    st.integers(6, 40),
    st.sampled_from([0.2, 0.9]),
)
def test_the_power_is_the_sum_over_all_counts(epsilon, excess, one, streams, error) -> None:
    """One look: the chance equals the enumeration of both judges' counts."""
    other = one * math.exp(-(epsilon + excess))
    found = detection_power(
        epsilon, excess, probability=one, streams_per_look=streams, looks=1, error=error
    )
    expected = enumerated_power(epsilon, one, other, streams // 2, error_share(error, 1))
    assert found == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize(("probability", "excess"), [(0.5, 0.4), (0.1, 1.2)])
def test_the_check_finds_it_as_often_as_stated(probability, excess) -> None:
    """The check, run 150 times on outcomes with a known excess, finds it at least that often."""
    rng = np.random.default_rng(4)
    other = probability * math.exp(-(EPSILON + excess))
    streams = streams_for(EPSILON, Excess(excess, probability, power=0.8), looks=2)

    def draw(happening):
        return (rng.random(streams) < (probability if happening else other)).tolist()

    caught = sum(lower_bound_from(draw, EPSILON, looks=2, error=0.05).broken for _ in range(150))
    # Four standard deviations of a binomial with 150 draws of 0.8.
    assert caught >= 150 * 0.8 - 4 * (150 * 0.8 * 0.2) ** 0.5


@pytest.mark.parametrize("probability", [1.0, 0.5, 0.1])
def test_the_smallest_excess_is_where_the_power_is_reached(probability) -> None:
    """At the answer the power is there, just below it is not; more streams find smaller ones."""
    answers = []
    for streams in (200, 2000):
        found = smallest_excess(EPSILON, streams_per_look=streams, probability=probability)
        usual = {"probability": probability, "streams_per_look": streams}
        if math.isfinite(found):
            assert detection_power(EPSILON, found, **usual) >= 0.9
            assert detection_power(EPSILON, found - 2 * EXCESS_DIGITS, **usual) < 0.9
        answers.append(found)
    assert answers[1] < answers[0]


def test_outcomes_too_rare_for_the_streams_cannot_be_found() -> None:
    """A hundred streams say nothing about what happens in one of a thousand."""
    assert smallest_excess(EPSILON, streams_per_look=100, probability=0.001) == math.inf


def test_the_number_of_streams_gives_the_wanted_power() -> None:
    """The proposed number is enough by the exact power, and half of it is not."""
    for wanted in (Excess(1.0, 0.1), Excess(0.3, 0.5, power=0.99)):
        streams = streams_for(EPSILON, wanted)
        usual = {"probability": wanted.probability}
        assert (
            detection_power(EPSILON, wanted.excess, streams_per_look=streams, **usual)
            >= wanted.power
            > detection_power(EPSILON, wanted.excess, streams_per_look=streams // 2, **usual)
        )


@pytest.mark.parametrize(
    "arguments", [{"excess": 0.0}, {"probability": 0.0}, {"probability": 1.1}, {"power": 1.0}]
)
def test_senseless_wishes_are_refused(arguments) -> None:
    """An excess of nothing, an impossible probability and certainty cannot be asked for."""
    with pytest.raises(InvalidParameter):
        Excess(**{"excess": 1.0, **arguments})


def test_what_takes_too_many_streams_is_refused(monkeypatch) -> None:
    """The error says what was asked and what to change."""
    monkeypatch.setattr("priste.audit.black_box_power.MOST_STREAMS", 1000)
    with pytest.raises(InvalidParameter, match="takes more than 1,000 streams"):
        streams_for(EPSILON, Excess(0.01, 0.01))
