"""Regions from shapes in degrees, against points and polygons in degrees."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st
from pyproj import Geod
from tests.drawn_examples import examples

from priste.errors import InvalidParameter, OutsideMap
from priste.maps import Cover, Grid, LocalProjection, Region

WGS84 = Geod(ellps="WGS84")
A_METRE = 1e-5  # in degrees of latitude, roughly; nearer to an edge, drawing decides
PLACES = {
    "equator": (0.0, 0.0),
    "Beijing": (40.0, 116.4),
    "Oulu": (65.0, 25.5),
    "Fiji, at 180°": (-18.0, 180.0),
    "near the pole": (88.5, -30.0),
}
places = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())


def map_around(place: tuple[float, float], cell_size: float = 0.8) -> Grid:
    """About 11 × 11 km around a place; longitudes from 180° on are written negative."""
    lat, lon = place
    half = 0.05 / math.cos(math.radians(lat))
    return Grid.covering(
        lat - 0.05, wrapped(lon - half), lat + 0.05, wrapped(lon + half), cell_size
    )


def wrapped(longitude: float) -> float:
    return longitude - 360.0 if longitude >= 180.0 else longitude


def star(
    place: tuple[float, float], corners: int = 7, size: float = 0.04
) -> list[tuple[float, float]]:
    """A ring of (latitude, longitude) with long and short rays around a place, unwrapped."""
    lat, lon = place
    ring = []
    for number in range(2 * corners):
        radius = size * (1.0 if number % 2 else 0.35)
        angle = math.pi * number / corners + 0.1
        stretch = math.cos(math.radians(lat))
        ring.append((lat + radius * math.sin(angle), lon + radius * math.cos(angle) / stretch))
    return ring


def in_degrees(grid: Grid, near: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Positions as shapely points (longitude, latitude) with longitudes around ``near``."""
    lat, lon = grid.latlon_at(x, y)
    return shapely.points(near + (lon - near + 180.0) % 360.0 - 180.0, lat)


def within(grid: Grid, cell: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions all over one cell, its borders and corners included."""
    x_min, y_min, x_max, y_max = grid.bounds_of(cell)
    x, y = np.meshgrid(np.linspace(x_min, x_max, 101), np.linspace(y_min, y_max, 101))
    return x.ravel(), y.ravel()


@places
def test_a_polygon_by_centres_in_degrees(place: tuple[float, float]) -> None:
    """Each centre, in degrees, is in the ring of degrees exactly when its cell is covered."""
    grid = map_around(place, 0.2)
    ring = star(place)
    region = Region.polygon_latlon(grid, [(a, wrapped(b)) for a, b in ring], cover="centers")
    shape = shapely.Polygon([(b, a) for a, b in ring])
    centres = in_degrees(grid, place[1], grid.centers[:, 0], grid.centers[:, 1])
    clear = shapely.distance(shape.boundary, centres) > A_METRE
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(region.mask[clear], shapely.contains(shape, centres)[clear])


@places
def test_a_polygon_touches_what_its_positions_touch(place: tuple[float, float]) -> None:
    """Random positions in the ring lie in covered cells, and each covered cell holds some."""
    grid = map_around(place)
    ring = star(place)
    region = Region.polygon_latlon(grid, [(a, wrapped(b)) for a, b in ring])
    shape = shapely.Polygon([(b, a) for a, b in ring])
    rng = np.random.default_rng(7)
    x, y = rng.uniform(0, grid.width, 200_000), rng.uniform(0, grid.height, 200_000)
    inside = shapely.contains(shape, in_degrees(grid, place[1], x, y))
    met = set(grid.cell_at_xy(x[inside], y[inside]).tolist())
    assert met <= set(region)
    for cell in set(region) - met:
        assert (
            shapely.distance(shape, in_degrees(grid, place[1], *within(grid, cell))).min() < A_METRE
        )


@places
@pytest.mark.parametrize("cover", ["touching", "centers"])
def test_a_box_keeps_to_parallels_and_meridians(place: tuple[float, float], cover: Cover) -> None:
    """Centres and random positions against the inequalities that define the box."""
    grid = map_around(place, 0.25)
    lat, lon = place
    half = 0.03 / math.cos(math.radians(lat))
    box = (lat - 0.03, wrapped(lon - half), lat + 0.03, wrapped(lon + half))
    region = Region.box_latlon(grid, *box, cover=cover)

    def off(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """How far outside the box a position is, in degrees; negative inside."""
        there_lat, there_lon = grid.latlon_at(x, y)
        turn = np.abs((there_lon - lon + 180.0) % 360.0 - 180.0)
        shrink = math.cos(math.radians(lat))
        return np.maximum(np.abs(there_lat - lat) - 0.03, (turn - half) * shrink)

    if cover == "centers":
        beyond = off(*grid.centers.T)
        assert set(np.flatnonzero(beyond < -A_METRE).tolist()) <= set(region)
        assert set(region) <= set(np.flatnonzero(beyond < A_METRE).tolist())
        return
    rng = np.random.default_rng(8)
    x, y = rng.uniform(0, grid.width, 100_000), rng.uniform(0, grid.height, 100_000)
    met = set(grid.cell_at_xy(x, y)[off(x, y) < -A_METRE].tolist())
    assert met <= set(region)
    for cell in set(region) - met:
        assert off(*within(grid, cell)).min() < A_METRE


@places
def test_a_circle_by_geodesics(place: tuple[float, float]) -> None:
    """By centres: cells within the radius of the geodesic, up to the map's distance error."""
    grid = map_around(place, 0.25)
    lat, lon = place
    region = Region.circle_latlon(grid, lat + 0.01, lon, 2.5, cover="centers")
    centre_lat, centre_lon = grid.latlon(np.arange(grid.size))
    many = np.full(grid.size, lat + 0.01), np.full(grid.size, lon)
    km = np.asarray(WGS84.inv(many[1], many[0], centre_lon, centre_lat)[2]) / 1000
    assert set(np.flatnonzero(km < 2.5 * (1 - 1e-4)).tolist()) <= set(region)
    assert set(region) <= set(np.flatnonzero(km < 2.5 * (1 + 1e-4)).tolist())
    touching = Region.circle_latlon(grid, lat + 0.01, lon, 2.5)
    assert set(region) < set(touching)


@examples(60)
@given(
    lat=st.floats(-80, 80),
    turn=st.floats(-180, 180),
    corners=st.integers(3, 9),
    size=st.floats(0.0005, 0.05),
)
def test_turning_the_earth_turns_the_region(
    lat: float, turn: float, corners: int, size: float
) -> None:
    """A shape on a map at longitude 0 and both moved by any angle, 180° included: same cells."""

    def cells_at(lon: float) -> tuple[Grid, Region]:
        grid = Grid.covering(lat - 0.06, turned(lon - 0.06), lat + 0.06, turned(lon + 0.06), 0.5)
        ring = [(a, turned(b)) for a, b in star((lat, lon), corners, size)]
        return grid, Region.polygon_latlon(grid, ring)

    def turned(longitude: float) -> float:
        return (longitude + 180.0) % 360.0 - 180.0

    here, first = cells_at(0.0)
    there, second = cells_at(turn)
    assume((here.rows, here.columns) == (there.rows, there.columns))
    # Centres are rounded to 0.1 m, so a cell just grazed may be gained or lost.
    assert len(set(first) ^ set(second)) <= 1


def test_shapes_smaller_than_a_cell() -> None:
    """A clinic of 20 m covers the cell it lies in, by either rule."""
    grid = map_around(PLACES["Beijing"], 1.0)
    cell = 40
    lat, lon = grid.latlon_at(*(grid.centers[cell] + 0.3).tolist())
    d = 0.0001
    for cover in ("touching", "centers"):
        rule: Cover = cover
        assert Region.box_latlon(grid, lat - d, lon - d, lat + d, lon + d, cover=rule).cells == (
            cell,
        )
        assert Region.circle_latlon(grid, lat, lon, 0.02, cover=rule).cells == (cell,)
        ring = [(lat, lon), (lat + d, lon), (lat, lon + d)]
        assert Region.polygon_latlon(grid, ring, cover=rule).cells == (cell,)


@pytest.mark.parametrize("south", [False, True])
def test_around_a_pole(south: bool) -> None:
    """A polar cap is a disc, and halves of it by longitude are its halves."""
    sign = -1.0 if south else 1.0
    low, high = sorted((sign * 89.8, sign * 90.0))
    grid = Grid.covering(low, -180.0, high, 180.0, 1.0)
    inner = sorted((sign * 89.9, sign * 90.0))
    cap = Region.box_latlon(grid, inner[0], -180.0, inner[1], 180.0, cover="centers")
    lat, lon = grid.latlon(np.arange(grid.size))
    clear = np.abs(np.abs(lat) - 89.9) > A_METRE
    np.testing.assert_array_equal(cap.mask[clear], (np.abs(lat) > 89.9)[clear])
    east = Region.box_latlon(grid, inner[0], 0.0, inner[1], 180.0, cover="centers")
    west = Region.box_latlon(grid, inner[0], 180.0, inner[1], 0.0, cover="centers")
    assert east | west == cap
    inside = clear & (np.abs(lat) > 89.9) & (np.abs(np.sin(np.radians(lon))) > 1e-3)
    np.testing.assert_array_equal(east.mask[inside], lon[inside] > 0)
    disc = Region.circle_latlon(grid, sign * 90.0, 77.0, 11.0, cover="centers")
    assert disc == disc & cap


@given(longitude=st.floats(-180, 180), pole=st.sampled_from([-90.0, 90.0]))
@examples(15)
def test_no_centre_falls_into_the_seam_of_a_polar_map(longitude: float, pole: float) -> None:
    """Centres exactly on the meridian where a whole turn begins and ends are covered too."""
    grid = Grid(9, 9, 1.0, projection=LocalProjection(pole, longitude, -4.5, -4.5))
    low, high = sorted((0.99 * pole, pole))
    whole = Region.box_latlon(grid, low, -180.0, high, 180.0, cover="centers")
    assert len(whole) == grid.size


def test_a_country_around_the_map_covers_all_of_it() -> None:
    """Shapes far larger than the map are cut to it; holes still count."""
    grid = map_around(PLACES["Beijing"])
    country = [(18.0, 73.0), (18.0, 135.0), (54.0, 135.0), (54.0, 73.0)]
    assert len(Region.polygon_latlon(grid, country)) == grid.size
    assert len(Region.box_latlon(grid, -90.0, -180.0, 90.0, 180.0)) == grid.size
    hole = star(PLACES["Beijing"])
    rest = Region.polygon_latlon(grid, country, [hole], cover="centers")
    assert rest == ~Region.polygon_latlon(grid, hole, cover="centers")


def test_a_hole_across_180_degrees() -> None:
    """A shell and a hole written on different turns of the earth still fit together."""
    grid = map_around(PLACES["Fiji, at 180°"])
    shell = [(-18.5, 179.5), (-18.5, -179.5), (-17.5, -179.5), (-17.5, 179.5)]
    hole = [(-18.02, -180.0), (-18.02, -179.97), (-17.98, -179.97), (-17.98, -180.0)]
    same = [(lat, lon + 360.0) for lat, lon in hole]
    region = Region.polygon_latlon(grid, shell, [hole], cover="centers")
    assert region == Region.polygon_latlon(grid, shell, [same], cover="centers")
    assert region == ~Region.polygon_latlon(grid, hole, cover="centers")


def test_shapes_elsewhere_are_errors() -> None:
    """The antipode, the neighbouring town, and coordinates the wrong way round."""
    grid = map_around(PLACES["Oulu"])
    for shape in (
        lambda: Region.box_latlon(grid, -65.1, -154.6, -64.9, -154.4),
        lambda: Region.box_latlon(grid, 65.06, 25.4, 65.2, 25.6),
        lambda: Region.circle_latlon(grid, 66.0, 25.5, 10.0),
        lambda: Region.circle_latlon(grid, -65.0, -154.5, 10.0),
        lambda: Region.polygon_latlon(grid, [(b, a) for a, b in star(PLACES["Oulu"])]),
    ):
        with pytest.raises(OutsideMap, match="order of its coordinates"):
            shape()


def test_misuse_is_refused() -> None:
    """Metres for km, poles encircled, degrees out of range, and degrees on a plane."""
    grid = map_around(PLACES["Beijing"])
    with pytest.raises(InvalidParameter, match=r"0\.3 for 300 m"):
        Region.circle_latlon(grid, 40.0, 116.4, 500)
    with pytest.raises(InvalidParameter, match="round a pole"):
        Region.polygon_latlon(grid, [(80, 0), (80, 120), (80, -120)])
    with pytest.raises(InvalidParameter, match="other way round"):
        Region.polygon_latlon(grid, [(116, 40), (116, 41), (117, 41)])
    for lat, lon in ((91.0, 0.0), (math.nan, 0.0), (0.0, 400.0), ("40", 116.4)):
        with pytest.raises(InvalidParameter):
            Region.circle_latlon(grid, lat, lon, 1.0)  # type: ignore[arg-type]
    for box in ((41, 116, 40, 117), (40, 116, 41, 116), (40, 116, 41, math.nan), (40, 1, 91, 2)):
        with pytest.raises(InvalidParameter):
            Region.box_latlon(grid, *box)
    plane = Grid(5, 5, 1.0)
    for shape in (
        lambda: Region.circle_latlon(plane, 40.0, 116.4, 1.0),
        lambda: Region.box_latlon(plane, 40, 116, 41, 117),
        lambda: Region.polygon_latlon(plane, [(40, 116), (40, 117), (41, 117)]),
    ):
        with pytest.raises(InvalidParameter, match=r"Grid\.covering"):
            shape()
