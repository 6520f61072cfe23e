"""The checks of arguments: what passes comes out plain, what does not is refused in one wording."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste.arguments import as_float, is_whole, number, one_of, shown, whole
from priste.errors import InvalidParameter

NO_NUMBERS = [True, False, np.True_, None, "1", b"1", [1], 1j, Fraction(1, 2), np.array([1])]


@pytest.mark.parametrize("value", [*NO_NUMBERS, 1.0, np.float64(1)])
def test_a_whole_number_is_an_integer_and_nothing_like_it(value: object) -> None:
    """Bools, floats, texts and arrays are no whole numbers."""
    assert not is_whole(value)
    with pytest.raises(InvalidParameter, match=r"^The 'k' must be a whole number >= 0\. Got "):
        whole(value, "The 'k'")


@pytest.mark.parametrize("value", [*NO_NUMBERS, math.nan, 10**400])
def test_a_number_is_real_and_has_a_float(value: object) -> None:
    """NaN and integers beyond all floats are refused with the rest."""
    assert as_float(value) is None
    with pytest.raises(InvalidParameter, match="must be a finite number"):
        number(value, "The 'x'")


@given(st.integers(), st.integers(), st.integers())
def test_whole_keeps_to_its_range(value: int, least: int, most: int) -> None:
    """A value passes exactly if it lies in the closed range, as a plain int."""
    if least <= value <= most:
        assert whole(value, "x", least=least, most=most) == value
    else:
        with pytest.raises(InvalidParameter, match=f"from {least} to {most}"):
            whole(value, "x", least=least, most=most)


@given(st.floats(allow_nan=False), st.floats(-10, 10), st.floats(-10, 10))
def test_number_keeps_to_its_bounds(value: float, low: float, high: float) -> None:
    """Open ends leave their value out, closed ends let it in; infinity passes only if named."""

    def passes(**bounds: float) -> bool:
        try:
            return number(value, "x", **bounds) == value  # type: ignore[arg-type]
        except InvalidParameter:
            return False

    assert passes(above=low, below=high) == (low < value < high)
    assert passes(least=low, most=high) == (low <= value <= high)
    assert passes(least=low) == (low <= value < math.inf)
    assert passes(least=low, most=math.inf) == (low <= value)
    assert passes() == math.isfinite(value)


@pytest.mark.parametrize(
    ("bounds", "rule"),
    [
        ({}, "a finite number"),
        ({"above": 0}, "finite and > 0"),
        ({"least": 0}, "finite and >= 0"),
        ({"below": 2}, "finite and < 2"),
        ({"above": 0, "most": 1}, r"a number in \(0, 1\]"),
        ({"least": 0, "below": 1}, r"a number in \[0, 1\)"),
        ({"least": 0, "most": math.inf}, "a number >= 0"),
    ],
)
def test_the_rule_is_told(bounds: dict[str, float], rule: str) -> None:
    """The message says which values would have passed."""
    with pytest.raises(InvalidParameter, match=f"^The 'x' must be {rule}. Got 'no'.$"):
        number("no", "The 'x'", **bounds)  # type: ignore[arg-type]


def test_secrets_stay_out_of_messages() -> None:
    """A refused cell may be where somebody is, so it is not shown."""
    with pytest.raises(InvalidParameter) as refused:
        whole(777, "The 'cell'", most=9, hint="cell_at() finds cells.", secret=True)
    assert "777" not in str(refused.value)
    assert str(refused.value).endswith("Got something else. cell_at() finds cells.")


def test_numpy_numbers_come_out_plain() -> None:
    """What is stored is a Python number whatever was given."""
    assert type(whole(np.int16(3), "x")) is int
    assert type(number(np.float32(0.5), "x")) is float


def test_one_of_compares_within_a_type() -> None:
    """True is not the choice 1, and an unknown value is told the choices."""
    assert one_of("b", ("a", "b"), "x") == "b"
    for value in ("c", None, ["a"], 1):
        with pytest.raises(InvalidParameter, match=r"x must be one of 'a', 'b'\. Got "):
            one_of(value, ("a", "b"), "x")


@given(st.integers(min_value=10**40) | st.text(min_size=100))
def test_shown_values_are_short(value: object) -> None:
    """No value makes a message long."""
    assert len(shown(value)) <= 60
