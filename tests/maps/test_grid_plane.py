"""Grid on a plane: numbering, positions, distances, values, hostile input."""

from __future__ import annotations

import json
import math
import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter, OutsideMap, PristeError
from priste.maps import Grid, LocalProjection

ROUNDING = 1e-12

grids = st.builds(
    Grid,
    rows=st.integers(1, 12),
    columns=st.integers(1, 12),
    cell_size=st.one_of(st.sampled_from([0.1, 0.3, 0.7, 1.0, 2.5]), st.floats(1e-3, 1e3)),
)


@st.composite
def grids_and_cells(draw: st.DrawFn) -> tuple[Grid, int]:
    grid = draw(grids)
    return grid, draw(st.integers(0, grid.size - 1))


@st.composite
def grids_and_positions(draw: st.DrawFn) -> tuple[Grid, float, float]:
    """Positions on the map, often on a border of cells."""
    grid = draw(grids)

    def along(count: int) -> float:
        end = count * grid.cell_size
        at_border = st.integers(0, count).map(lambda slot: slot * grid.cell_size)
        beside = at_border.flatmap(
            lambda border: st.sampled_from([math.nextafter(border, 0), math.nextafter(border, end)])
        )
        return draw(at_border | beside | st.floats(0.0, end))

    return grid, along(grid.columns), along(grid.rows)


def test_numbering_goes_row_by_row_from_the_south_west() -> None:
    """cell = row * columns + column, row 0 in the south, column 0 in the west."""
    grid = Grid(rows=2, columns=3, cell_size=2.0)
    assert grid.size == 6
    expected = [[1, 1], [3, 1], [5, 1], [1, 3], [3, 3], [5, 3]]
    np.testing.assert_array_equal(grid.centers, expected)
    assert [grid.cell_at_xy(x, y) for x, y in expected] == list(range(6))
    assert grid.bounds_of(4) == (2.0, 2.0, 4.0, 4.0)
    assert (grid.width, grid.height) == (6.0, 4.0)
    assert not grid.is_geographic
    assert grid.distance_error == 0.0


@given(grids_and_cells())
def test_the_centre_of_a_cell_lies_in_that_cell(case: tuple[Grid, int]) -> None:
    """cell → centre → cell is the identity."""
    grid, cell = case
    x, y = grid.centers[cell]
    assert grid.cell_at_xy(float(x), float(y)) == cell


@given(grids_and_positions())
def test_a_position_lies_within_the_bounds_of_its_cell(case: tuple[Grid, float, float]) -> None:
    """Cells own their south and west sides, by the very floats of bounds_of; the map its ends."""
    grid, x, y = case
    cell = grid.cell_at_xy(x, y)
    x_min, y_min, x_max, y_max = grid.bounds_of(cell)
    last_column, last_row = (
        cell % grid.columns == grid.columns - 1,
        cell >= grid.size - grid.columns,
    )
    assert x_min <= x < x_max or (last_column and x == x_max)
    assert y_min <= y < y_max or (last_row and y == y_max)


@given(
    grids,
    st.floats(-1e300, 1e300) | st.floats(-20, 20),
    st.floats(-1e300, 1e300) | st.floats(-20, 20),
)
def test_nearest_is_the_cell_no_other_is_nearer_than(grid: Grid, x: float, y: float) -> None:
    """Outside the map, the nearest cell by exact distance to the squares of all cells."""
    chosen = grid.cell_at_xy(x, y, outside="nearest")

    def squared_distance(cell: int) -> Fraction:
        x_min, y_min, x_max, y_max = map(Fraction, grid.bounds_of(cell))
        east = max(x_min - Fraction(x), Fraction(x) - x_max, Fraction(0))
        north = max(y_min - Fraction(y), Fraction(y) - y_max, Fraction(0))
        return east**2 + north**2

    assert squared_distance(chosen) == min(map(squared_distance, range(grid.size)))


@given(grids, st.data())
def test_transposing_the_map_transposes_the_cells(grid: Grid, data: st.DataObject) -> None:
    """Exchanging the axes of map and position relabels the cell and nothing else."""
    flipped = Grid(grid.columns, grid.rows, grid.cell_size)
    x = data.draw(st.floats(0, grid.width))
    y = data.draw(st.floats(0, grid.height))
    row, column = divmod(grid.cell_at_xy(x, y), grid.columns)
    assert flipped.cell_at_xy(y, x) == column * grid.rows + row


@given(grids_and_cells())
def test_distances_are_those_of_the_centres(case: tuple[Grid, int]) -> None:
    """distances_from and distances agree with each other to the bit and with hypot."""
    grid, cell = case
    expected = [math.dist(grid.centers[cell], other) for other in grid.centers]
    row = grid.distances_from(cell)
    np.testing.assert_allclose(row, expected, rtol=ROUNDING, atol=ROUNDING * grid.cell_size)
    everything = grid.distances()
    np.testing.assert_array_equal(everything[cell], row)
    np.testing.assert_array_equal(everything, everything.T)


def test_arrays_in_arrays_out() -> None:
    """Arrays and lists of positions keep their shape; single values give a plain int."""
    grid = Grid(4, 5, 1.0)
    cells = grid.cell_at_xy(np.array([[0.5, 4.5], [2.0, 1.0]]), [[0.5, 3.5], [0.0, 1.0]])
    np.testing.assert_array_equal(cells, [[0, 19], [2, 6]])
    assert cells.dtype == np.int64
    assert type(grid.cell_at_xy(0.5, 0.5)) is int
    assert grid.cell_at_xy([], []).shape == (0,)


@given(grids)
def test_a_grid_is_a_value(grid: Grid) -> None:
    """Equal content means equal and same hash, through JSON and pickle too."""
    again = Grid.from_dict(json.loads(json.dumps(grid.to_dict())))
    assert again == grid
    assert hash(again) == hash(grid)
    assert grid.centers is grid.centers
    restored = pickle.loads(pickle.dumps(grid))
    assert restored == grid
    assert not restored.centers.flags.writeable
    assert grid != Grid(grid.rows + 1, grid.columns, grid.cell_size)


def test_a_grid_cannot_be_changed() -> None:
    """Fields are frozen and the centres read-only."""
    grid = Grid(2, 2, 1.0)
    with pytest.raises(AttributeError):
        grid.rows = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        grid.centers[0, 0] = 9.0


def test_numpy_numbers_become_plain_ones() -> None:
    """So that to_dict is JSON-able whatever numbers the grid was made from."""
    grid = Grid(np.int32(2), np.int64(3), np.float32(0.5))  # type: ignore[arg-type]
    assert grid == Grid(2, 3, 0.5)
    assert json.loads(json.dumps(grid.to_dict())) == {"rows": 2, "columns": 3, "cell_size": 0.5}


def test_forty_thousand_cells_need_no_square_array() -> None:
    """Positions, centres and distances of 200 × 200 cells stay far below m² bytes."""
    tracemalloc.start()
    grid = Grid(200, 200, 0.5)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    assert grid.distances_from(0)[-1] == pytest.approx(199 * 0.5 * math.sqrt(2), rel=ROUNDING)
    cells = grid.cell_at_xy(grid.centers[:, 0], grid.centers[:, 1])
    np.testing.assert_array_equal(cells, np.arange(40_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    "bad", [0, -1, 1.0, 2.5, True, "3", None, 10**9, pytest.param(10**5000, id="huge"), math.nan]
)
def test_bad_counts_are_refused(bad: object) -> None:
    """Rows and columns are whole numbers from 1 to the largest map, not bools."""
    with pytest.raises(InvalidParameter, match="'rows'"):
        Grid(bad, 2, 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="'columns'"):
        Grid(2, bad, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", [0.0, -1.0, math.nan, math.inf, 1e-7, 1e7, True, "1", None, 1j, 10**400]
)
def test_bad_cell_sizes_are_refused(bad: object) -> None:
    """The cell size is a finite number of km within its range."""
    with pytest.raises(InvalidParameter, match="cell_size"):
        Grid(2, 2, bad)  # type: ignore[arg-type]


def test_too_many_cells_are_refused() -> None:
    """A map of more cells than the limit is taken for a wrong unit."""
    with pytest.raises(InvalidParameter, match="larger cell_size"):
        Grid(10_000, 10_000, 1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "1", None, True, 1j, [[1], [1, 2]]])
@pytest.mark.parametrize("outside", ["error", "nearest"])
def test_bad_coordinates_are_refused(bad: object, outside: str) -> None:
    """Not-a-number is no position, not even for the nearest cell."""
    grid = Grid(2, 2, 1.0)
    with pytest.raises(InvalidParameter):
        grid.cell_at_xy(bad, bad, outside=outside)  # type: ignore[call-overload]


def test_a_position_outside_is_an_error_that_does_not_tell_it() -> None:
    """OutsideMap counts positions and shows none."""
    grid = Grid(2, 2, 1.0)
    with pytest.raises(OutsideMap) as caught:
        grid.cell_at_xy(np.array([0.5, 7.7654]), np.array([0.5, 0.4321]))
    assert "1 of 2" in str(caught.value)
    assert "7.76" not in str(caught.value)
    assert "0.43" not in str(caught.value)
    assert isinstance(caught.value, PristeError)


def test_other_misuse_is_refused() -> None:
    """Shapes that differ, unknown rules, degrees on a plane, cells off the map, saved rubbish."""
    grid = Grid(2, 2, 1.0)
    with pytest.raises(InvalidParameter, match="one shape"):
        grid.cell_at_xy([1.0, 1.0], [1.0])
    with pytest.raises(InvalidParameter, match="'outside'"):
        grid.cell_at_xy(1.0, 1.0, outside="clip")  # type: ignore[call-overload]
    for ask in (lambda: grid.cell_at(1.0, 1.0), lambda: grid.latlon(0), lambda: grid.xy(1.0, 1.0)):
        with pytest.raises(InvalidParameter, match=r"Grid\.covering"):
            ask()
    for bad in (4, -1, 1.0, True, "1", [0, 1], None):
        with pytest.raises(InvalidParameter):
            grid.bounds_of(bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter):
            grid.distances_from(bad)  # type: ignore[arg-type]
    saved = grid.to_dict()
    for rubbish in (
        [],
        {},
        {**saved, "extra": 1},
        {**saved, "rows": "2"},
        {**saved, "projection": 3},
        {**saved, "projection": {}},
    ):
        with pytest.raises(InvalidParameter):
            Grid.from_dict(rubbish)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="LocalProjection"):
        Grid(2, 2, 1.0, projection="aeqd")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="450 km"):
        Grid(2, 2, 1.0, projection=LocalProjection(0, 0, 600, 0))


@examples(50)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 10**9))
def test_borders_in_tenths_divide_the_floats_exactly(rows: int, columns: int, seed: int) -> None:
    """Borders computed as slot * 0.1 belong to the slot they start, the float before does not."""
    grid = Grid(rows, columns, 0.1)
    slots = np.random.default_rng(seed).integers(0, columns, 100)
    cells = grid.cell_at_xy(slots * 0.1, np.zeros(100))
    np.testing.assert_array_equal(cells, slots)
    just_before = np.nextafter((slots + 1) * 0.1, 0.0)
    np.testing.assert_array_equal(grid.cell_at_xy(just_before, np.zeros(100)), slots)
