"""The checks of arguments: what passes comes out plain, what does not is refused in one wording."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste.arguments import as_float, check_choice, check_float, check_int, is_int
from priste.errors import (
    EventSyntaxError,
    InvalidParameter,
    OutputExists,
    PolicyError,
    PristeError,
    shown,
)

NO_NUMBERS = [True, False, np.True_, None, "1", b"1", [1], 1j, Fraction(1, 2), np.array([1])]


@pytest.mark.parametrize("value", [*NO_NUMBERS, 1.0, np.float64(1)])
def test_a_whole_number_is_an_integer_and_nothing_like_it(value: object) -> None:
    """Bools, floats, texts and arrays are no whole numbers."""
    assert not is_int(value)
    with pytest.raises(InvalidParameter, match=r"^The 'k' must be a whole number >= 0\. Got "):
        check_int(value, "k")


@pytest.mark.parametrize("value", [*NO_NUMBERS, math.nan, 10**400])
def test_a_number_is_real_and_has_a_float(value: object) -> None:
    """NaN and integers beyond all floats are refused with the rest."""
    assert as_float(value) is None
    with pytest.raises(InvalidParameter, match="must be a finite number"):
        check_float(value, "x")


@given(st.integers(), st.integers(), st.integers())
def test_check_int_keeps_to_its_range(value: int, least: int, most: int) -> None:
    """A value passes exactly if it lies in the closed range, as a plain int."""
    if least <= value <= most:
        assert check_int(value, "x", least=least, most=most) == value
    else:
        with pytest.raises(InvalidParameter, match=f"from {least} to {most}"):
            check_int(value, "x", least=least, most=most)


@given(st.floats(allow_nan=False), st.floats(-10, 10), st.floats(-10, 10))
def test_check_float_keeps_to_its_bounds(value: float, low: float, high: float) -> None:
    """Open ends leave their value out, closed ends let it in; infinity passes only if named."""

    def passes(**bounds: float) -> bool:
        try:
            return check_float(value, "x", **bounds) == value  # type: ignore[arg-type]
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
        check_float("no", "x", **bounds)  # type: ignore[arg-type]


def test_secrets_stay_out_of_messages() -> None:
    """A refused cell may be where somebody is, so it is not shown."""
    with pytest.raises(InvalidParameter) as refused:
        check_int(777, "cell", most=9, hint="cell_at() finds cells.", secret=True)
    assert "777" not in str(refused.value)
    assert "777" not in repr(vars(refused.value))
    assert str(refused.value).endswith("Got something else. cell_at() finds cells.")


def test_numpy_numbers_come_out_plain() -> None:
    """What is stored is a Python number whatever was given."""
    assert type(check_int(np.int16(3), "x")) is int
    assert type(check_float(np.float32(0.5), "x")) is float


def test_check_choice_compares_within_a_type() -> None:
    """True is not the choice 1, and an unknown value is told the choices."""
    assert check_choice("b", ("a", "b"), "x") == "b"
    for value in ("c", None, ["a"], 1):
        with pytest.raises(InvalidParameter, match=r"The 'x' must be one of 'a', 'b'\. Got "):
            check_choice(value, ("a", "b"), "x")


@given(st.integers(min_value=10**40) | st.text(min_size=100))
def test_shown_values_are_short(value: object) -> None:
    """No value makes a message long."""
    assert len(shown(value)) <= 60


def test_errors_carry_the_fields_that_the_message_is_made_from() -> None:
    """A front end can word an error anew without reading its text."""
    with pytest.raises(InvalidParameter) as refused:
        check_float(0, "pace", "Certified", above=0, most=1, why="of the bound", hint="Try 0.5.")
    error = refused.value
    assert (error.parameter, error.owner, error.value) == ("pace", "Certified", 0)
    assert (error.rule, error.hint) == ("must be a number in (0, 1] (of the bound)", "Try 0.5.")
    assert str(error) == f"The 'pace' of Certified {error.rule}. Got 0. Try 0.5."


@pytest.mark.parametrize(
    "error",
    [
        InvalidParameter("must be > 0", parameter="x", owner="Y", value=-1, hint="Try 1."),
        InvalidParameter("must be a text", parameter="x", value=lambda: None),
        EventSyntaxError("Nothing follows.", 7, hint="Write an event."),
        PolicyError("Two problems.", ("one", "two")),
        OutputExists("out.csv", "Choose another name.", what="folder"),
    ],
)
def test_errors_cross_processes_whole(error: PristeError) -> None:
    """Pickling keeps the type, the message and every field, whatever the value was."""
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
