"""cell_numbers: what passes for cells, and what does not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste.errors import InvalidParameter
from priste.maps import Grid, Region, cell_numbers


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20))
def test_any_iterable_of_whole_numbers_will_do(numbers: list[int]) -> None:
    """Lists, tuples, sets, generators, arrays and numpy integers give the same plain ints."""
    expected = frozenset(numbers)
    for given_as in (
        numbers,
        tuple(numbers),
        set(numbers),
        (number for number in numbers),
        dict.fromkeys(numbers).keys(),
        np.array(numbers),
        np.array(numbers, dtype=np.uint32),
        [np.int64(number) for number in numbers],
    ):
        found = cell_numbers(given_as)
        assert found == expected
        assert all(type(number) is int for number in found)


def test_ranges_and_regions_will_do() -> None:
    """A Region is an iterable of its cells."""
    assert cell_numbers(range(4)) == {0, 1, 2, 3}
    assert cell_numbers(Region(Grid(2, 2, 1.0), [3, 1])) == {1, 3}


@pytest.mark.parametrize(
    "bad",
    [
        [],
        (),
        np.array([]),
        np.array([], dtype=np.int64),
        [True],
        [np.True_],
        [1.0],
        [np.float64(1.0)],
        [-1],
        [0, -5],
        [None],
        ["1"],
        [[1]],
        [math.nan],
        [2**31],
        [10**5000],
        [-(10**5000)],
        "12",
        b"12",
        {1: "one"},
        5,
        np.int64(5),
        None,
        np.array(5),
        np.array([[1, 2]]),
        np.array([1.0, 2.0]),
        np.array([True, False]),
        np.array([-1]),
        np.array([1, True, "x"], dtype=object),
        Region(Grid(2, 2, 1.0), []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_refused_by_name(bad: object) -> None:
    """Empty, bool, float, negative, text, mappings, tables, single numbers."""
    with pytest.raises(InvalidParameter, match="'clinic'"):
        cell_numbers(bad, name="clinic")  # type: ignore[arg-type]


def test_an_endless_iterable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops at a limit instead of filling the memory."""
    monkeypatch.setattr("priste.maps.cells.MOST_NUMBERS", 1000)
    assert cell_numbers(itertools.repeat(3, 1000)) == {3}
    with pytest.raises(InvalidParameter, match="at most"):
        cell_numbers(itertools.repeat(3))
