"""Regions from boxes, circles and polygons in km, against brute force over all cells."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter, OutsideMap
from priste.maps import Cover, Grid, Region

grids = st.builds(
    Grid,
    rows=st.integers(1, 8),
    columns=st.integers(1, 8),
    cell_size=st.sampled_from([0.1, 0.7, 1]),
)
fractions_of_cells = st.integers(-80, 160).map(lambda tenths: tenths / 16)
covers = st.sampled_from(["touching", "centers"])
NEARLY = Fraction(1, 10**6)  # of a cell: nearer than that to a border, rounding may decide


def exact_cells(grid: Grid) -> list[tuple[Fraction, Fraction, Fraction, Fraction]]:
    return [tuple(map(Fraction, grid.bounds_of(cell))) for cell in range(grid.size)]  # type: ignore[misc]


@given(grids, fractions_of_cells, fractions_of_cells, fractions_of_cells, fractions_of_cells)
def test_a_box_touches_the_cells_it_shares_area_with(
    grid: Grid, left: float, bottom: float, width: float, height: float
) -> None:
    """By exact overlap of intervals; ends within rounding of a border count as on it."""
    assume(width > 0 and height > 0)
    x0, y0 = left * grid.cell_size, bottom * grid.cell_size
    x1, y1 = (left + width) * grid.cell_size, (bottom + height) * grid.cell_size
    tolerance = NEARLY * Fraction(grid.cell_size)
    expected = [
        cell
        for cell, (a, b, c, d) in enumerate(exact_cells(grid))
        if min(c, Fraction(x1)) - max(a, Fraction(x0)) > tolerance
        and min(d, Fraction(y1)) - max(b, Fraction(y0)) > tolerance
    ]
    if expected:
        assert list(Region.box(grid, x0, y0, x1, y1)) == expected
    else:
        with pytest.raises(OutsideMap):
            Region.box(grid, x0, y0, x1, y1)


def test_a_box_that_ends_at_borders_takes_no_neighbours() -> None:
    """Rounding of 0.1 * 7 against 0.7 is forgiven."""
    grid = Grid(20, 20, 0.1)
    for low in range(19):
        for high in range(low + 1, 20):
            region = Region.box(grid, low / 10, 0.0, high / 10, 0.1)
            assert region.cells == tuple(range(low, high))


def test_a_polygon_that_ends_at_borders_takes_no_neighbours() -> None:
    """Meeting in an edge or a corner is not sharing area, with rounded borders too."""
    grid = Grid(9, 9, 0.1)
    square = [(0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7)]
    expected = tuple(row * 9 + column for row in range(3, 7) for column in range(3, 7))
    assert Region.polygon(grid, square).cells == expected
    assert Region.box(grid, 0.3, 0.3, 0.7, 0.7).cells == expected


def test_a_box_by_centres() -> None:
    """Only cells whose centre is in it; a centre on the edge counts."""
    grid = Grid(3, 3, 1.0)
    assert Region.box(grid, 0.4, 0.4, 1.6, 0.6, cover="centers").cells == (0, 1)
    assert Region.box(grid, 0.5, 0.5, 1.5, 1.5, cover="centers").cells == (0, 1, 3, 4)
    assert Region.box(grid, 0.4, 0.4, 1.6, 0.6).cells == (0, 1)
    assert Region.box(grid, 0.9, 0.4, 1.6, 0.6, cover="centers").cells == (1,)
    assert Region.box(grid, 0.9, 0.4, 1.6, 0.6).cells == (0, 1)


@given(grids, st.floats(-3, 9), st.floats(-3, 9), st.floats(1e-3, 6), covers)
def test_a_circle_by_exact_distances(
    grid: Grid, column: float, row: float, radius: float, cover: Cover
) -> None:
    """Cells nearer than the radius are in, farther ones out; the last bits are left open."""
    x, y, r = (value * grid.cell_size for value in (column, row, radius))
    tolerance = NEARLY * Fraction(grid.cell_size)
    surely, perhaps, near = set(), set(), set()
    for cell, (a, b, c, d) in enumerate(exact_cells(grid)):
        east = max(a - Fraction(x), Fraction(x) - c, Fraction(0))
        north = max(b - Fraction(y), Fraction(y) - d, Fraction(0))
        gap = east**2 + north**2
        centre = ((a + c) / 2 - Fraction(x)) ** 2 + ((b + d) / 2 - Fraction(y)) ** 2
        squared = centre if cover == "centers" else gap
        if squared < (Fraction(r) - tolerance) ** 2 and Fraction(r) > tolerance:
            surely.add(cell)
        if squared <= (Fraction(r) + tolerance) ** 2:
            perhaps.add(cell)
        if gap <= (Fraction(r) + tolerance) ** 2:
            near.add(cell)
    try:
        found = set(Region.circle(grid, x, y, r, cover=cover))
    except OutsideMap:
        found = set()
    assert surely <= found
    if found <= perhaps:
        return
    # No centre within reach: the cells it lies in.
    assert cover == "centers"
    assert not surely
    assert found <= near


@st.composite
def polygons(draw: st.DrawFn) -> shapely.Polygon:
    """Valid polygons with corners on sixteenths, now and then with a hole."""
    corner = st.tuples(st.integers(-32, 128), st.integers(-32, 128))
    hull = shapely.MultiPoint(draw(st.lists(corner, min_size=3, max_size=8))).convex_hull
    cut = shapely.MultiPoint(draw(st.lists(corner, min_size=3, max_size=5))).convex_hull
    shape = hull.difference(cut) if draw(st.booleans()) else hull
    parts = [part for part in shapely.get_parts(shape) if part.area > 0]
    assume(parts)
    return parts[0]


@examples(150)
@given(grids, polygons(), covers)
def test_a_polygon_by_brute_force(grid: Grid, shape: shapely.Polygon, cover: Cover) -> None:
    """Shared area with each cell one by one, or each centre; the last bits are left open."""
    scale = grid.cell_size / 16
    ring = np.asarray(shape.exterior.coords) * scale
    holes = [np.asarray(hole.coords) * scale for hole in shape.interiors]
    exact = shapely.Polygon(ring, holes)
    assume(exact.is_valid)
    tolerance = float(NEARLY) * grid.cell_size
    squares = [shapely.box(*grid.bounds_of(cell)) for cell in range(grid.size)]
    surely_touching = {
        cell for cell, square in enumerate(squares) if exact.intersects(square.buffer(-tolerance))
    }
    perhaps_touching = {cell for cell, square in enumerate(squares) if exact.intersects(square)}
    surely_centred = {
        cell
        for cell, centre in enumerate(grid.centers)
        if exact.contains(shapely.Point(centre))
        and exact.boundary.distance(shapely.Point(centre)) > tolerance
    }
    perhaps_centred = {
        cell
        for cell, centre in enumerate(grid.centers)
        if exact.distance(shapely.Point(centre)) <= tolerance
    }
    try:
        found = set(Region.polygon(grid, ring.tolist(), holes, cover=cover))
    except OutsideMap:
        found = set()
    if cover == "touching" or not perhaps_centred:
        assert surely_touching <= found <= perhaps_touching
    elif surely_centred:
        assert surely_centred <= found <= perhaps_centred


@examples(80)
@given(polygons())
def test_transposing_a_polygon_transposes_its_cells(shape: shapely.Polygon) -> None:
    """Relabelling the map relabels the region and nothing else."""
    grid, flipped = Grid(6, 8, 1.0), Grid(8, 6, 1.0)
    ring = np.asarray(shape.exterior.coords) / 16
    holes = [np.asarray(hole.coords) / 16 for hole in shape.interiors]
    try:
        found = Region.polygon(grid, ring, holes)
    except OutsideMap:
        with pytest.raises(OutsideMap):
            Region.polygon(flipped, ring[:, ::-1], [hole[:, ::-1] for hole in holes])
        return
    other = Region.polygon(flipped, ring[:, ::-1], [hole[:, ::-1] for hole in holes])
    assert set(other) == {(cell % 8) * 6 + cell // 8 for cell in found}


@examples(60)
@given(polygons(), st.integers(0, 10**6))
def test_whoever_is_in_the_shape_is_in_the_region(shape: shapely.Polygon, seed: int) -> None:
    """The guarantee of the default rule, on random positions."""
    grid = Grid(8, 8, 1.0)
    ring = np.asarray(shape.exterior.coords) / 16
    holes = [np.asarray(hole.coords) / 16 for hole in shape.interiors]
    x, y = np.random.default_rng(seed).uniform(0, 8, (2, 500))
    inside = shapely.contains_xy(shapely.Polygon(ring, holes), x, y)
    assume(inside.any())
    region = Region.polygon(grid, ring, holes)
    assert set(grid.cell_at_xy(x[inside], y[inside]).tolist()) <= set(region)


@pytest.mark.parametrize("cover", ["touching", "centers"])
def test_shapes_smaller_than_a_cell_cover_the_cells_they_lie_in(cover: Cover) -> None:
    """One cell inside it, two across a border, four across a corner, and on a border itself."""
    grid = Grid(3, 3, 1.0)
    d = 0.01

    def three_ways(x: float, y: float) -> list[tuple[int, ...]]:
        square = [(x - d, y - d), (x + d, y - d), (x + d, y + d), (x - d, y + d)]
        return [
            Region.box(grid, x - d, y - d, x + d, y + d, cover=cover).cells,
            Region.circle(grid, x, y, d, cover=cover).cells,
            Region.polygon(grid, square, cover=cover).cells,
        ]

    assert three_ways(1.3, 1.2) == [(4,)] * 3
    assert three_ways(1.0, 1.2) == [(3, 4)] * 3
    assert three_ways(1.0, 2.0) == [(3, 4, 6, 7)] * 3
    d = 1e-12
    assert three_ways(1.0, 2.0) == [(7,)] * 3


def test_holes_are_left_out() -> None:
    """A cell within a hole is not covered; one that the hole only cuts into is."""
    grid = Grid(5, 5, 1.0)
    ring = [(0, 0), (5, 0), (5, 5), (0, 5)]
    hole = [(1, 1), (3.5, 1), (3.5, 3), (1, 3)]
    expected = set(range(25)) - {6, 7, 11, 12}
    assert set(Region.polygon(grid, ring, [hole])) == expected
    # The centres of 8 and 13 lie on the edge of the hole, which belongs to the polygon.
    assert set(Region.polygon(grid, ring, [hole], cover="centers")) == expected
    wider = [(1, 1), (3.6, 1), (3.6, 3), (1, 3)]
    assert set(Region.polygon(grid, ring, [wider])) == expected
    assert set(Region.polygon(grid, ring, [wider], cover="centers")) == expected - {8, 13}


def test_what_hangs_over_the_border_is_left_out() -> None:
    """The part on the map counts; nothing on the map, or the edge alone, is an error."""
    grid = Grid(2, 2, 1.0)
    assert Region.box(grid, -5, -5, 0.5, 0.5).cells == (0,)
    assert Region.circle(grid, 3.0, 0.5, 1.1).cells == (1,)
    for shape in (
        lambda: Region.box(grid, -1, 0, 0, 2),
        lambda: Region.box(grid, 2, 0, 3, 2),
        lambda: Region.circle(grid, 3.0, 1.0, 1.0),
        lambda: Region.circle(grid, 9.0, 9.0, 1.0),
        lambda: Region.polygon(grid, [(2, 0), (3, 0), (3, 1)]),
        lambda: Region.polygon(grid, [(5, 5), (6, 5), (6, 6)]),
        lambda: Region.circle(grid, 1.7e308, -1.7e308, 1.7e308),
    ):
        with pytest.raises(OutsideMap, match="on the map"):
            shape()


def test_open_closed_and_turned_rings_are_alike() -> None:
    """A closing corner, the direction and a height change nothing."""
    grid = Grid(4, 4, 1.0)
    ring = [(0.2, 0.2), (2.8, 0.2), (1.5, 2.5)]
    expected = Region.polygon(grid, ring)
    assert Region.polygon(grid, [*ring, ring[0]]) == expected
    assert Region.polygon(grid, ring[::-1]) == expected
    assert Region.polygon(grid, [(*corner, 99.0) for corner in ring]) == expected
    assert Region.polygon(grid, np.array(ring)) == expected


@pytest.mark.parametrize(
    "ring",
    [
        [],
        [(0, 0)],
        [(0, 0), (1, 1)],
        [(0, 0), (1, 1), (0, 0)],
        [(0, 0), (1, 1), (2, 2)],
        [(0, 0), (1, 1), (1, 0), (0, 1)],
        [(0, 0), (1, 0), (1, math.nan)],
        [(0, 0), (1, 0), (1, math.inf)],
        [(0, 0), (1e200, 0), (1, 1e200)],
        [(0, 0), (1, 0), (1,)],
        [("0", "0"), ("1", "0"), ("1", "1")],
        [(0, 0), (1, 0), (1, None)],
        "polygon",
        None,
        5,
        [0, 1, 2],
    ],
)
def test_rings_that_bound_nothing_are_refused(ring: object) -> None:
    """Too few corners, no area, crossings, not-a-number, other types."""
    with pytest.raises(InvalidParameter, match=r"Region\.polygon"):
        Region.polygon(Grid(3, 3, 1.0), ring)  # type: ignore[arg-type]


def test_a_hole_outside_its_polygon_is_refused() -> None:
    """It would be a mistake to leave it unsaid."""
    with pytest.raises(InvalidParameter, match="contain its holes"):
        Region.polygon(Grid(5, 5, 1.0), [(0, 0), (1, 0), (1, 1)], [[(3, 3), (4, 3), (4, 4)]])


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_bad_radii_are_refused(bad: object) -> None:
    """The radius is finite and > 0."""
    with pytest.raises(InvalidParameter, match="radius_km"):
        Region.circle(Grid(3, 3, 1.0), 1, 1, bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "box", [(1, 0, 1, 2), (0, 2, 1, 1), (math.nan, 0, 1, 1), (0, 0, math.inf, 1), ("0", 0, 1, 1)]
)
def test_bad_boxes_are_refused(box: tuple[float, float, float, float]) -> None:
    """Sides in order, finite, numbers."""
    with pytest.raises(InvalidParameter):
        Region.box(Grid(3, 3, 1.0), *box)


def test_an_unknown_rule_is_refused() -> None:
    """Only the two rules of cover exist."""
    grid = Grid(3, 3, 1.0)
    for shape in (
        lambda: Region.box(grid, 0, 0, 1, 1, cover="all"),  # type: ignore[arg-type]
        lambda: Region.circle(grid, 0, 0, 1, cover="all"),  # type: ignore[arg-type]
        lambda: Region.polygon(grid, [(0, 0), (1, 0), (1, 1)], cover=None),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter, match="'cover'"):
            shape()
