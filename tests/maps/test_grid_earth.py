"""Grid on the earth, against the geodesics of pyproj."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyproj import Geod, Proj
from tests.drawn_examples import examples

from priste.errors import InvalidParameter, OutsideMap
from priste.maps import Grid

WGS84 = Geod(ellps="WGS84")
GUARANTEED = 1e-3
TOO_SHORT = 1e-8  # the noise of a distance of metres in degrees
METRE = 1e-3
MILLIMETRE = 1e-6

CITIES = {
    "equator": (-0.2, -0.2, 0.2, 0.2),
    "equator at 180°": (-0.2, 179.8, 0.2, -179.8),
    "Beijing, 40°": (39.8, 116.2, 40.1, 116.6),
    "Fiji, across 180°": (-18.2, 179.8, -17.9, -179.8),
    "Oulu, 65°": (64.9, 25.2, 65.2, 25.8),
    "Ushuaia, -55°": (-54.9, -68.5, -54.7, -68.1),
    "beside the pole": (88.9, 10.0, 89.2, 40.0),
    "around the north pole": (89.7, -180.0, 90.0, 180.0),
    "around the south pole": (-90.0, -180.0, -89.7, 180.0),
    "as large as allowed": (-2.8, -2.8, 2.8, 2.8),
    "as large as allowed at a pole": (87.2, -180.0, 90.0, 180.0),
}
cities = pytest.mark.parametrize("box", CITIES.values(), ids=CITIES.keys())


def covering(box: tuple[float, float, float, float], cell_size: float = 0.5) -> Grid:
    return Grid.covering(*box, cell_size=max(cell_size, (box[2] - box[0])))


def random_positions(grid: Grid, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0, grid.width, count), rng.uniform(0, grid.height, count)


@cities
def test_distances_are_those_of_the_earth(box: tuple[float, float, float, float]) -> None:
    """Far and near pairs: never shorter than the geodesic, never longer than the stated error."""
    grid = covering(box)
    x, y = random_positions(grid, 20_000, 1)
    rng = np.random.default_rng(2)
    near_x, near_y = (
        x[:10_000] + rng.normal(0, 0.1, 10_000),
        y[:10_000] + rng.normal(0, 0.1, 10_000),
    )
    for other_x, other_y in ((x[10_000:], y[10_000:]), (near_x, near_y)):
        lat1, lon1 = grid.latlon_at(x[:10_000], y[:10_000])
        lat2, lon2 = grid.latlon_at(other_x, other_y)
        geodesic = np.asarray(WGS84.inv(lon1, lat1, lon2, lat2)[2]) / 1000
        excess = np.hypot(x[:10_000] - other_x, y[:10_000] - other_y) / geodesic - 1
        assert excess.min() > -TOO_SHORT
        assert excess.max() <= grid.distance_error + TOO_SHORT
    assert grid.distance_error < GUARANTEED


@cities
def test_it_is_the_azimuthal_equidistant_projection(
    box: tuple[float, float, float, float],
) -> None:
    """Coordinates agree with PROJ's own projection, shifted to the corner."""
    grid = covering(box)
    assert grid.projection is not None
    where = grid.projection
    proj = Proj(proj="aeqd", lat_0=where.latitude, lon_0=where.longitude, ellps="WGS84")
    x, y = random_positions(grid, 1000, 3)
    lat, lon = grid.latlon_at(x, y)
    proj_x, proj_y = proj(lon, lat)
    np.testing.assert_allclose(np.asarray(proj_x) / 1000 - where.corner_east, x, atol=METRE / 10)
    np.testing.assert_allclose(np.asarray(proj_y) / 1000 - where.corner_north, y, atol=METRE / 10)


@cities
def test_every_position_of_the_box_is_on_the_map(box: tuple[float, float, float, float]) -> None:
    """Corners, edges and inside; and no row or column too many is spent on it."""
    south, west, north, east = box
    grid = covering(box)
    width = (east - west) % 360.0 or 360.0
    rng = np.random.default_rng(4)
    u = np.concatenate([rng.uniform(size=2000), rng.integers(0, 2, 500), rng.uniform(size=500)])
    v = np.concatenate([rng.uniform(size=2000), rng.uniform(size=500), rng.integers(0, 2, 500)])
    lat = np.clip(south + v * (north - south), south, north)
    lon = west + u * width
    lon = np.where(lon > 180.0, lon - 360.0, lon)
    cells = grid.cell_at(lat, lon)
    rows, columns = np.divmod(cells, grid.columns)
    assert {rows.min(), columns.min()} == {0}
    assert rows.max() == grid.rows - 1
    assert columns.max() == grid.columns - 1


@cities
def test_centres_come_back_to_their_cells(box: tuple[float, float, float, float]) -> None:
    """cell → latitude, longitude → cell is the identity on every cell."""
    grid = covering(box)
    lat, lon = grid.latlon(np.arange(grid.size))
    np.testing.assert_array_equal(grid.cell_at(lat, lon), np.arange(grid.size))
    assert np.all(np.abs(lon) <= 180.0)
    one = grid.latlon(grid.size // 2)
    assert one == (lat[grid.size // 2], lon[grid.size // 2])
    assert type(one[0]) is float


@examples(200)
@given(
    lat=st.floats(-89.9, 89.9),
    lon=st.floats(-180, 180),
    size=st.floats(0.05, 3.0),
    u=st.floats(0, 1),
    v=st.floats(0, 1),
)
def test_positions_come_back_within_half_a_diagonal(
    lat: float, lon: float, size: float, u: float, v: float
) -> None:
    """latitude, longitude → cell → centre moves by at most half a cell's diagonal."""
    north, east = min(lat + 0.1, 90.0), lon + 0.1
    grid = Grid.covering(lat, lon, north, east - 360.0 if east > 180.0 else east, size)
    there = min(lat + v * (north - lat), north), min(lon + u * 0.1, east)
    centre = grid.latlon(grid.cell_at(*there))
    moved = WGS84.inv(there[1], there[0], centre[1], centre[0])[2] / 1000
    assert moved <= size / math.sqrt(2) + MILLIMETRE


@examples(100)
@given(
    south=st.floats(-89, 88.9),
    height=st.floats(0.01, 1.0),
    west=st.floats(-180, 180),
    width=st.floats(0.01, 1.0),
    turn=st.floats(-180, 180),
)
def test_turning_the_earth_changes_nothing(
    south: float, height: float, west: float, width: float, turn: float
) -> None:
    """A box at any longitude, 180° included, gets the same rows and columns."""

    def at(longitude: float) -> Grid:
        edges = [(longitude + shift + 180.0) % 360.0 - 180.0 for shift in (0.0, width)]
        assume(edges[0] != edges[1])
        return Grid.covering(south, edges[0], south + height, edges[1], 1.0)

    here, there = at(west), at(turn)
    # The last bits of a longitude may tip a box that ends just at a cell's border.
    assert abs(here.rows - there.rows) <= 1
    assert abs(here.columns - there.columns) <= 1
    assert abs(here.projection.latitude - there.projection.latitude) <= 2e-6  # type: ignore[union-attr]


def test_longitudes_may_go_on_past_180() -> None:
    """170 to 190 is the box 170 to -170, and positions may be written either way."""
    one = Grid.covering(-1, 179, 1, 181, 5.0)
    assert one == Grid.covering(-1, 179, 1, -179, 5.0)
    assert one.cell_at(0.5, 180.5) == one.cell_at(0.5, -179.5)


@cities
def test_a_map_of_the_earth_is_saved_whole(box: tuple[float, float, float, float]) -> None:
    """JSON gives back an equal grid."""
    grid = covering(box)
    assert grid.is_geographic
    again = Grid.from_dict(json.loads(json.dumps(grid.to_dict())))
    assert again == grid
    assert hash(again) == hash(grid)
    assert again != Grid(grid.rows, grid.columns, grid.cell_size)


def test_nearest_border_cell_on_the_earth() -> None:
    """Beyond each side, the answer is the border cell across from the position."""
    grid = Grid.covering(39.8, 116.2, 40.1, 116.6, 1.0)
    lat, lon = grid.latlon_at(grid.width / 2 + 0.1, -5.0)
    with pytest.raises(OutsideMap):
        grid.cell_at(lat, lon)
    assert grid.cell_at(lat, lon, outside="nearest") == grid.cell_at_xy(grid.width / 2 + 0.1, 0.1)
    lat, lon = grid.latlon_at(grid.width + 3.0, grid.height + 3.0)
    assert grid.cell_at(lat, lon, outside="nearest") == grid.size - 1
    antipode = grid.cell_at(-39.95, -63.6, outside="nearest")
    assert 0 <= antipode < grid.size


def test_errors_never_tell_a_position() -> None:
    """Neither outside nor impossible positions are echoed."""
    grid = Grid.covering(39.8, 116.2, 40.1, 116.6, 1.0)
    for lat, lon in ((41.2345, 117.6789), (91.2345, 117.6789), (39.2345, 367.6789)):
        with pytest.raises(InvalidParameter) as caught:
            grid.cell_at(lat, lon)
        assert "2345" not in str(caught.value)
        assert "6789" not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("lat", "lon"),
    [
        (math.nan, 116.3),
        (39.9, math.nan),
        (math.inf, 116.3),
        (39.9, -math.inf),
        (90.001, 116.3),
        (-90.001, 116.3),
        (116.3, 39.9),
        (39.9, 361.0),
        (39.9, -181.0),
        ("39.9", "116.3"),
        (None, None),
        (True, True),
    ],
)
def test_impossible_degrees_are_refused(lat: object, lon: object) -> None:
    """Whatever is asked for, they are no position."""
    grid = Grid.covering(39.8, 116.2, 40.1, 116.6, 1.0)
    for outside in ("error", "nearest"):
        with pytest.raises(InvalidParameter):
            grid.cell_at(lat, lon, outside=outside)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "box",
    [
        (40.1, 116.2, 39.8, 116.6),
        (39.8, 116.2, 39.8, 116.6),
        (39.8, 116.2, 40.1, 116.2),
        (math.nan, 116.2, 40.1, 116.6),
        (39.8, 116.2, 91.0, 116.6),
        (39.8, -190.0, 40.1, 116.6),
        (39.8, "116", 40.1, 116.6),
        (39.8, 116.6, 40.1, 116.2),
        (30.0, 100.0, 50.0, 120.0),
    ],
)
def test_boxes_that_are_none_or_too_large_are_refused(box: tuple[float, ...]) -> None:
    """Among them the box with east and west exchanged: it goes round the earth."""
    with pytest.raises(InvalidParameter, match=r"'(box|south|west|north|east)' of a map"):
        Grid.covering(*box, cell_size=1.0)


def test_a_cell_size_in_metres_is_noticed_where_it_can_be() -> None:
    """Half a millimetre for half a km makes too many cells."""
    with pytest.raises(InvalidParameter, match="at most 10000000 cells"):
        Grid.covering(39.8, 116.2, 40.1, 116.6, cell_size=0.0005)


def test_latlon_at_stays_on_the_earth() -> None:
    """Coordinates that lie nowhere are refused; those outside the map are not."""
    grid = Grid.covering(39.8, 116.2, 40.1, 116.6, 1.0)
    x, y = grid.xy(30.0, 100.0)
    lat, lon = grid.latlon_at(x, y)
    assert lat == pytest.approx(30.0, abs=1e-9)
    assert lon == pytest.approx(100.0, abs=1e-9)
    with pytest.raises(InvalidParameter, match="on the earth"):
        grid.latlon_at(1e300, 0.0)


def test_the_geographic_libraries_are_loaded_only_when_needed() -> None:
    """A map of the plane with plain regions leaves pyproj and shapely alone."""
    program = (
        "import sys, priste.maps as maps\n"
        "grid = maps.Grid(5, 5, 1.0)\n"
        "maps.Region.box(grid, 0, 0, 2, 2) | maps.Region.circle(grid, 1, 1, 1)\n"
        "sys.exit(any(name in sys.modules for name in ('pyproj', 'shapely')))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
