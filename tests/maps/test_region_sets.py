"""Region as a set of cells, and its drawing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste.errors import InvalidParameter
from priste.maps import Grid, Region

GRID = Grid(4, 5, 1.0)
cells = st.frozensets(st.integers(0, GRID.size - 1))


@given(cells, cells)
def test_operations_are_those_of_sets(first: frozenset[int], second: frozenset[int]) -> None:
    """|, &, -, ^, ~, in, len, iteration agree with Python's sets."""
    a, b = Region(GRID, first), Region(GRID, second)
    assert set(a | b) == first | second
    assert set(a & b) == first & second
    assert set(a - b) == first - second
    assert set(a ^ b) == first ^ second
    assert set(~a) == set(range(GRID.size)) - first
    assert len(a) == len(first)
    assert [cell in a for cell in range(GRID.size)] == [c in first for c in range(GRID.size)]
    assert list(a) == sorted(first) == list(a.cells)
    np.testing.assert_array_equal(np.flatnonzero(a.mask), sorted(first))


@given(cells, cells)
def test_a_region_is_a_value(first: frozenset[int], second: frozenset[int]) -> None:
    """Equal exactly when grid and cells are; hashable; unchanged by pickle."""
    a, b = Region(GRID, first), Region(GRID, second)
    assert (a == b) == (first == second)
    assert hash(a) == hash(Region(Grid(4, 5, 1.0), sorted(first, reverse=True)))
    assert pickle.loads(pickle.dumps(a)) == a
    assert a != Region(Grid(4, 5, 2.0), first)
    assert Region(GRID, a) == a


@given(cells)
def test_de_morgan(first: frozenset[int]) -> None:
    """~(a | b) is ~a & ~b, and twice not is nothing."""
    a, b = Region(GRID, first), Region(GRID, range(7))
    assert ~(a | b) == ~a & ~b
    assert ~~a == a


def test_regions_of_other_maps_do_not_mix() -> None:
    """Neither by an operation nor by reading one as the other."""
    a, b = Region(GRID, [1]), Region(Grid(5, 4, 1.0), [1])
    for join in (Region.__or__, Region.__and__, Region.__sub__, Region.__xor__):
        with pytest.raises(InvalidParameter, match="two different grids"):
            join(a, b)
    with pytest.raises(InvalidParameter, match="another"):
        Region(GRID, b)
    with pytest.raises(TypeError):
        a | {1}  # type: ignore[operator]


def test_bad_cells_and_grids_are_refused() -> None:
    """Cells beyond the map, of another type, and a grid that is none."""
    with pytest.raises(InvalidParameter, match=r"\[0, 20\)"):
        Region(GRID, [3, 20])
    for bad in ([-1], [1.0], [True], "1", 3, None):
        with pytest.raises(InvalidParameter, match="'cells'"):
            Region(GRID, bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="'grid'"):
        Region("map", [1])  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="'grid'"):
        Region.box("map", 0, 0, 1, 1)  # type: ignore[arg-type]


def test_a_region_cannot_be_changed() -> None:
    """Its fields are frozen; the mask is a new array each time."""
    region = Region(GRID, [1])
    with pytest.raises(AttributeError):
        region.cells = (2,)  # type: ignore[misc]
    region.mask[:] = True
    assert region.cells == (1,)


def test_what_it_prints() -> None:
    """Short regions print all cells; long ones the first few."""
    assert repr(Region(GRID, [2, 1])) == "Region(grid, [1, 2])"
    assert repr(Region(Grid(9, 9, 1.0), range(81))) == (
        "<Region of 81 of 81 cells: 0, 1, 2, 3, 4, …>"
    )


def test_a_drawing_shows_each_cell_of_a_small_map() -> None:
    """North up, one character per cell."""
    assert Region(Grid(3, 4, 0.25), [0, 6, 11]).drawing().splitlines() == [
        "# covered; a character is a cell of 0.25 km; north is up",
        "...#",
        "..#.",
        "#...",
    ]


def test_a_drawing_of_a_large_map_is_bounded() -> None:
    """Blocks of cells are whole (#), in part (+) or not (.) covered, at the ragged edge too."""
    grid = Grid(5, 7, 1.0)
    region = Region.box(grid, 0, 0, 3, 2) | Region(grid, [34])
    assert region.drawing(width=4, height=9).splitlines() == [
        "# covered, + in part; a character is 2×2 cells, 2 km; north is up",
        "...#",
        "....",
        "#+..",
    ]


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.integers(1, 100),
    st.integers(1, 60),
    st.data(),
)
def test_a_drawing_fits_and_hides_no_cell(
    rows: int, columns: int, width: int, height: int, data: st.DataObject
) -> None:
    """Any covered cell shows, whatever the space."""
    grid = Grid(rows, columns, 1.0)
    cell = data.draw(st.integers(0, grid.size - 1))
    _, *lines = Region(grid, [cell]).drawing(width=width, height=height).splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert sum(line.count("#") + line.count("+") for line in lines) == 1


def test_a_drawing_needs_space() -> None:
    """Width and height are whole numbers from 1."""
    for bad in (0, -1, 1.5, True, "9"):
        with pytest.raises(InvalidParameter, match="'width'"):
            Region(GRID, []).drawing(width=bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="'height'"):
            Region(GRID, []).drawing(height=bad)  # type: ignore[arg-type]
