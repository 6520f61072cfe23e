"""The map: a rectangle of the plane or of the earth, cut into square cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import check_float, check_int
from priste.errors import InvalidParameter, OutsideMap
from priste.maps.coordinates import as_plain, read_km, read_pair
from priste.maps.covering import frame_around
from priste.maps.geojson import cells_as_features
from priste.maps.projection import (
    LARGEST_RADIUS_KM,
    LocalProjection,
    check_degrees,
    stretch_at,
)
from priste.showable import Plottable, Tabular

Outside: TypeAlias = Literal["error", "nearest"]
Numbers: TypeAlias = NDArray[Any] | Sequence[Any]

LARGEST_MAP = 10_000_000
"""The most cells a map may have; more is taken for a wrong unit of ``cell_size``."""

FARTHEST_KM = 20_000.0
"""About half the way round the earth."""

SMALLEST_CELL_KM, LARGEST_CELL_KM = 1e-6, 1e6


@dataclass(frozen=True)
class Grid(Plottable, Tabular):
    """A map of ``rows`` × ``columns`` square cells with sides of ``cell_size`` km.

    Cells count from 0: ``cell = row * columns + column``, row 0 is the southern edge,
    column 0 the western. Plane coordinates are km east (x) and north (y) of the map's
    south-west corner. A cell owns its southern and western sides; the map's northern and
    eastern edges belong to the last row and column.

    ``Grid(rows, columns, cell_size)`` is a map of the plane; :meth:`covering` makes one of
    the earth, the only kind that has latitudes and longitudes. Grids are values: frozen, compared
    and hashed by content, and they hold no arrays until asked.

    ``rows`` and ``columns`` are whole numbers ≥ 1 with at most 10,000,000 cells in all;
    ``cell_size`` is in [1e-6, 1e6]. A map of the earth reaches at most 450 km from the
    centre of its projection, which keeps distances within 0.1 % (see ``distance_error``).

    >>> grid = Grid(rows=20, columns=20, cell_size=1.0)
    >>> grid.size, grid.cell_at_xy(3.2, 1.7)
    (400, 23)
    >>> grid.centers[23].tolist()
    [3.5, 1.5]
    """

    rows: int
    columns: int
    cell_size: float
    projection: LocalProjection | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", _count(self.rows, "rows"))
        object.__setattr__(self, "columns", _count(self.columns, "columns"))
        object.__setattr__(self, "cell_size", _cell_size(self.cell_size))
        if self.size > LARGEST_MAP:
            raise InvalidParameter(
                f"A Grid may have at most {LARGEST_MAP} cells.",
                got=f"{self.rows} rows × {self.columns} columns",
                hint="Take a larger cell_size (it is in km).",
            )
        if self.projection is not None:
            if not isinstance(self.projection, LocalProjection):
                raise InvalidParameter(
                    "must be a LocalProjection or None",
                    parameter="projection",
                    owner="Grid",
                    value=type(self.projection),
                    hint="Grid.covering makes one.",
                )
            if self._reach > LARGEST_RADIUS_KM:
                raise InvalidParameter(
                    f"A map of the earth may reach at most {LARGEST_RADIUS_KM:g} km from "
                    "the centre of its projection.",
                    got=f"{self._reach:.6g} km",
                    hint="Cover a smaller area.",
                )

    @classmethod
    def covering(
        cls, south: float, west: float, north: float, east: float, cell_size: float
    ) -> Grid:
        """Return a map of the earth that holds every position of a box of degrees.

        ``south < north`` are latitudes in [-90, 90]; ``west`` and ``east`` longitudes in
        [-180, 360], and ``east < west`` means across longitude 180°. ``cell_size`` is in km.
        The map is the smallest whole number of cells around the box as the projection draws it,
        with the surplus shared by opposite sides; since meridians converge, it also holds
        positions beyond the corners of the box.

        >>> grid = Grid.covering(39.9, 116.3, 40.0, 116.5, cell_size=0.5)
        >>> grid.rows, grid.columns
        (23, 35)
        >>> lat, lon = grid.latlon(grid.cell_at(39.95, 116.4))
        >>> abs(lat - 39.95) < 0.0036 and abs(lon - 116.4) < 0.0047
        True
        """
        cell_size = _cell_size(cell_size)
        rows, columns, projection = frame_around(south, west, north, east, cell_size)
        return cls(rows, columns, cell_size, projection=projection)

    def bordered(self) -> Grid:
        """Return the map with one more cell on each side, which stand for everywhere beyond it.

        Positions off the map itself are then in a cell of their own (ask ``cell_at`` with
        ``outside="nearest"``), by the direction in which they lie; see :attr:`border`.

        >>> town = Grid(rows=2, columns=3, cell_size=1.0).bordered()
        >>> town.rows, town.columns, len(town.border)
        (4, 5, 14)
        """
        side, at = self.cell_size, self.projection
        if at is not None:
            at = replace(at, corner_east=at.corner_east - side, corner_north=at.corner_north - side)
        return Grid(self.rows + 2, self.columns + 2, side, projection=at)

    # What it is

    @property
    def border(self) -> frozenset[int]:
        """The cells of the first and last row and column."""
        numbers = np.arange(self.size).reshape(self.rows, self.columns)
        edges = (numbers[0], numbers[-1], numbers[:, 0], numbers[:, -1])
        return frozenset(np.concatenate(edges).tolist())

    @cached_property
    def size(self) -> int:
        """The number of cells, m."""
        return self.rows * self.columns

    @property
    def is_geographic(self) -> bool:
        """Whether the map lies on the earth, so that latitudes and longitudes mean something."""
        return self.projection is not None

    @property
    def width(self) -> float:
        """From the western to the eastern edge, in km."""
        return self.columns * self.cell_size

    @property
    def height(self) -> float:
        """From the southern to the northern edge, in km."""
        return self.rows * self.cell_size

    @property
    def distance_error(self) -> float:
        """How much too long a distance on this map can be, as a fraction; 0.0 on a plane.

        On the earth, distances between positions of the map are never shorter than the
        geodesic (up to rounding) and never longer by more than this fraction, at most 0.001.
        """
        return stretch_at(self._reach) if self.is_geographic else 0.0

    @cached_property
    def centers(self) -> NDArray[np.float64]:
        """The (m, 2) read-only array of cell centres, km: x east, y north. Made once, on demand."""
        x = (np.arange(self.columns) + 0.5) * self.cell_size
        y = (np.arange(self.rows) + 0.5) * self.cell_size
        centers = np.empty((self.size, 2))
        centers[:, 0] = np.tile(x, self.rows)
        centers[:, 1] = np.repeat(y, self.columns)
        centers.flags.writeable = False
        return centers

    @property
    def _reach(self) -> float:
        """The distance from the projection's centre to the farthest corner, in km."""
        if self.projection is None:
            return 0.0
        west, south = self.projection.corner_east, self.projection.corner_north
        return math.hypot(
            max(abs(west), abs(west + self.width)), max(abs(south), abs(south + self.height))
        )

    # Positions to cells

    @overload
    def cell_at(self, lat: float, lon: float, outside: Outside = "error") -> int: ...
    @overload
    def cell_at(
        self, lat: Numbers, lon: Numbers, outside: Outside = "error"
    ) -> NDArray[np.int64]: ...
    def cell_at(
        self, lat: ArrayLike, lon: ArrayLike, outside: Outside = "error"
    ) -> int | NDArray[np.int64]:
        """Return the cell of a position in degrees; for arrays, an array of cells.

        A position outside the map raises :class:`OutsideMap`, or with
        ``outside="nearest"`` goes to the border cell nearest in the plane of the map. Degrees that
        are not finite or out of range raise :class:`InvalidParameter` either way. No error
        shows a position. Only a map of the earth has latitudes and longitudes.
        """
        x, y = self._forward(lat, lon)
        return self._cell_at(x, y, outside)

    @overload
    def cell_at_xy(self, x: float, y: float, outside: Outside = "error") -> int: ...
    @overload
    def cell_at_xy(
        self, x: Numbers, y: Numbers, outside: Outside = "error"
    ) -> NDArray[np.int64]: ...
    def cell_at_xy(
        self, x: ArrayLike, y: ArrayLike, outside: Outside = "error"
    ) -> int | NDArray[np.int64]:
        """Return the cell of a position in km from the south-west corner; see :meth:`cell_at`."""
        return self._cell_at(*read_km(x, y), outside)

    def _cell_at(
        self, x: NDArray[np.float64], y: NDArray[np.float64], outside: Outside
    ) -> int | NDArray[np.int64]:
        if outside not in ("error", "nearest"):
            raise InvalidParameter(
                "must be 'error' or 'nearest'", parameter="outside", value=outside
            )
        inside = (x >= 0.0) & (x <= self.width) & (y >= 0.0) & (y <= self.height)
        if outside == "error" and not np.all(inside):
            missed = int(inside.size - np.count_nonzero(inside))
            raise OutsideMap(
                f"A position must lie on the map. {missed} of {inside.size} did not.",
                owner="Grid",
                hint="For the nearest border cell ask with outside='nearest', or cover a larger "
                "area.",
            )
        row = _slot(y, self.rows, self.cell_size)
        column = _slot(x, self.columns, self.cell_size)
        cells = row * self.columns + column
        return int(cells) if cells.ndim == 0 else cells

    @overload
    def xy(self, lat: float, lon: float) -> tuple[float, float]: ...
    @overload
    def xy(self, lat: Numbers, lon: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def xy(self, lat: ArrayLike, lon: ArrayLike) -> Any:
        """Return ``(x, y)`` in km of a position in degrees, on the map or not."""
        return as_plain(*self._forward(lat, lon))

    # Cells to positions

    @overload
    def latlon(self, cell: int) -> tuple[float, float]: ...
    @overload
    def latlon(self, cell: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def latlon(self, cell: ArrayLike) -> Any:
        """Return ``(latitude, longitude)`` of the centre of a cell; for arrays, two arrays."""
        row, column = np.divmod(self._cells(cell), self.columns)
        return as_plain(
            *self.earth_projection().inverse(
                (column + 0.5) * self.cell_size, (row + 0.5) * self.cell_size
            )
        )

    @overload
    def latlon_at(self, x: float, y: float) -> tuple[float, float]: ...
    @overload
    def latlon_at(
        self, x: Numbers, y: Numbers
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def latlon_at(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Return ``(latitude, longitude)`` of a position in km; the inverse of :meth:`xy`.

        The position may lie outside the map, at most 20,000 km from it in x and in y.
        """
        projection, (east, north) = self.earth_projection(), read_km(x, y)
        if np.any(np.abs(east) > FARTHEST_KM) or np.any(np.abs(north) > FARTHEST_KM):
            raise InvalidParameter(
                f"must be within ±{FARTHEST_KM:g} km to be somewhere on the earth; at least one "
                "was not",
                parameter="coordinates x and y",
            )
        return as_plain(*projection.inverse(east, north))

    def bounds_of(self, cell: int) -> tuple[float, float, float, float]:
        """Return ``(x_min, y_min, x_max, y_max)`` of a cell in km."""
        row, column = divmod(self._one_cell(cell), self.columns)
        side = self.cell_size
        return column * side, row * side, (column + 1) * side, (row + 1) * side

    # Distances

    def distances_from(self, cell: int) -> NDArray[np.float64]:
        """Return the (m,) distances in km from the centre of ``cell`` to every centre.

        ``distances_from(a)[b] == distances_from(b)[a]`` to the last bit.
        """
        row, column = divmod(self._one_cell(cell), self.columns)
        down = np.abs(np.arange(self.rows) - row) * self.cell_size
        across = np.abs(np.arange(self.columns) - column) * self.cell_size
        return np.hypot(down[:, None], across[None, :]).ravel()

    def distances(self) -> NDArray[np.float64]:
        """Return the (m, m) distances in km between all centres: 8 m² bytes, a new array."""
        down = np.arange(self.rows) * self.cell_size
        across = np.arange(self.columns) * self.cell_size
        table = np.hypot(down[:, None], across[None, :])
        rows, columns = np.arange(self.rows), np.arange(self.columns)
        apart = np.abs(columns[:, None] - columns[None, :])
        result = np.empty((self.rows, self.columns, self.rows, self.columns))
        for row in range(self.rows):
            result[row] = table[np.abs(rows - row)][:, apart].transpose(1, 0, 2)
        return result.reshape(self.size, self.size)

    # For maps and libraries that read GeoJSON

    def to_geojson(self) -> dict[str, Any]:
        """Return every cell as a GeoJSON feature; InvalidParameter for a map of the plane."""
        return cells_as_features(self)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        if not self.is_geographic:
            raise AttributeError("a map of the plane has no longitudes")
        return self.to_geojson()

    # Saving

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as JSON-able values; :meth:`from_dict` gives back an equal grid."""
        saved: dict[str, Any] = {
            "rows": self.rows,
            "columns": self.columns,
            "cell_size": self.cell_size,
        }
        if self.projection is not None:
            saved["projection"] = {
                "latitude": self.projection.latitude,
                "longitude": self.projection.longitude,
                "corner_east": self.projection.corner_east,
                "corner_north": self.projection.corner_north,
            }
        return saved

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Grid:
        """Return the grid that :meth:`to_dict` saved; unknown or missing entries are errors."""
        _expect_keys(saved, {"rows", "columns", "cell_size"}, {"projection"}, "saved")
        projection = saved.get("projection")
        if projection is None:
            return cls(saved["rows"], saved["columns"], saved["cell_size"])
        wanted = {"latitude", "longitude", "corner_east", "corner_north"}
        _expect_keys(projection, wanted, set(), "projection")
        return cls(
            saved["rows"],
            saved["columns"],
            saved["cell_size"],
            projection=LocalProjection(**projection),
        )

    def __getstate__(self) -> dict[str, Any]:
        # The cached centres stay behind: numpy would restore them writeable.
        return {
            name: getattr(self, name) for name in ("rows", "columns", "cell_size", "projection")
        }

    # Checks

    def earth_projection(self) -> LocalProjection:
        """Return the projection, or raise :class:`InvalidParameter` on a map of the plane."""
        if self.projection is None:
            raise InvalidParameter(
                "A Grid of the plane knows no latitudes and longitudes.",
                owner="Grid",
                hint="Use cell_at_xy and centers (km), or make the map with Grid.covering.",
            )
        return self.projection

    def _forward(
        self, lat: ArrayLike, lon: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        projection = self.earth_projection()
        latitude, longitude = read_pair(lat, lon, "latitudes and longitudes")
        check_degrees(latitude, longitude, "position")
        return projection.forward(latitude, longitude)

    def _one_cell(self, cell: int) -> int:
        cells = self._cells(cell)
        if cells.ndim != 0:
            raise InvalidParameter(
                "must be one cell number", parameter="cell", got=f"shape {cells.shape}"
            )
        return int(cells)

    def _cells(self, cell: ArrayLike) -> NDArray[np.int64]:
        cells = np.asarray(cell)
        if cells.size == 0:
            cells = cells.astype(np.int64)
        if cells.dtype.kind not in "iu":
            raise InvalidParameter(
                "must hold whole numbers",
                parameter="cell",
                owner="Grid",
                got=f"{cells.dtype} values",
            )
        if not np.all((cells >= 0) & (cells < self.size)):
            raise InvalidParameter(
                f"must hold cell numbers in [0, {self.size}); at least one was not",
                parameter="cell",
                owner="Grid",
            )
        return cells.astype(np.int64)


def _slot(position: NDArray[np.float64], count: int, cell_size: float) -> NDArray[np.int64]:
    """Return the row or column of a coordinate, the nearest one when it is off the map."""
    on_map = np.clip(position, 0.0, count * cell_size)
    slot = np.minimum(np.floor(on_map / cell_size), count - 1).astype(np.int64)
    # The quotient may be rounded across a border; the borders of bounds_of decide.
    slot = slot - (on_map < slot * cell_size)
    slot = slot + (on_map >= (slot + 1) * cell_size)
    return np.minimum(slot, count - 1)


def _count(value: object, name: str) -> int:
    return check_int(value, name, "Grid", least=1, most=LARGEST_MAP)


def _cell_size(value: object) -> float:
    return check_float(
        value, "cell_size", "Grid", least=SMALLEST_CELL_KM, most=LARGEST_CELL_KM, why="km"
    )


def _expect_keys(saved: object, needed: set[str], allowed: set[str], parameter: str) -> None:
    if not isinstance(saved, Mapping):
        raise InvalidParameter(
            "must be a mapping", parameter=parameter, owner="Grid.from_dict", value=type(saved)
        )
    keys = set(saved)
    if not needed <= keys <= needed | allowed:
        raise InvalidParameter(
            f"must have the entries {sorted(needed)}",
            parameter=parameter,
            owner="Grid.from_dict",
            value=sorted(map(str, keys)),
        )
