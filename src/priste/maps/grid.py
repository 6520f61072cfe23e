"""The map: a rectangle of the plane or of the earth, cut into square cells."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.errors import InvalidParameter, OutsideMap
from priste.maps.projection import (
    LARGEST_RADIUS_KM,
    LocalProjection,
    check_degrees,
    real_number,
    stretch_at,
)

Outside: TypeAlias = Literal["error", "nearest"]
Numbers: TypeAlias = NDArray[Any] | Sequence[Any]

LARGEST_MAP = 10_000_000
"""The most cells a map may have; more is taken for a wrong unit of ``cell_size``."""

SMALLEST_CELL_KM, LARGEST_CELL_KM = 1e-6, 1e6

BORDER_MARGIN_KM = 2e-6
"""What ``covering`` adds around a box, so that rounding puts no point of its edge outside."""

_SAMPLES_PER_SIDE = 1025


@dataclass(frozen=True)
class Grid:
    """A map of ``rows`` × ``columns`` square cells with sides of ``cell_size`` km.

    Cells count from 0: ``cell = row * columns + column``, row 0 is the southern edge,
    column 0 the western. Plane coordinates are km east (x) and north (y) of the map's
    south-west corner. A cell owns its southern and western sides; the map's northern and
    eastern edges belong to the last row and column.

    ``Grid(rows, columns, cell_size)`` is a map of the plane; :meth:`covering` makes one of
    the earth, which alone knows latitudes and longitudes. Grids are values: frozen, compared and
    hashed by content, and they hold no arrays until asked.

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
                f"A Grid may have at most {LARGEST_MAP} cells. Got {self.rows} rows × "
                f"{self.columns} columns. Take a larger cell_size (it is in km)."
            )
        if self.projection is not None:
            if not isinstance(self.projection, LocalProjection):
                raise InvalidParameter(
                    "The 'projection' of Grid must be a LocalProjection or None. "
                    f"Got {type(self.projection).__name__}. Grid.covering makes one."
                )
            if self._reach > LARGEST_RADIUS_KM:
                raise InvalidParameter(
                    f"A map of the earth may reach at most {LARGEST_RADIUS_KM:g} km from the "
                    f"centre of its projection. Got {self._reach:.6g} km. Cover a smaller area."
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
        south, north = real_number(south, "'south'"), real_number(north, "'north'")
        west, east = real_number(west, "'west'"), real_number(east, "'east'")
        check_degrees([south, north], [west, east], "The box of Grid.covering")
        cell_size = _cell_size(cell_size)
        if east < west:
            east += 360.0
        if not (south < north and west < east <= west + 360.0):
            raise InvalidParameter(
                "The box of Grid.covering must have south < north and west ≠ east, and go round "
                f"the earth at most once. Got south={south!r}, north={north!r}, west={west!r}, "
                f"east={east!r}."
            )
        # First around the middle of the degrees, then around the middle of what that draws:
        # near a pole the two are far apart. Rounding (0.1 m) makes the map, a value that is
        # compared and hashed, the same on every machine.
        middle = LocalProjection((south + north) / 2, _wrapped((west + east) / 2), 0.0, 0.0)
        x_min, y_min, x_max, y_max = _extent(middle, south, west, north, east)
        lat, lon = middle.inverse((x_min + x_max) / 2, (y_min + y_max) / 2)
        centre = LocalProjection(round(float(lat), 6), round(float(lon), 6), 0.0, 0.0)
        x_min, y_min, x_max, y_max = _extent(centre, south, west, north, east)
        farthest = math.hypot(max(-x_min, x_max), max(-y_min, y_max))
        if farthest > LARGEST_RADIUS_KM:
            raise InvalidParameter(
                f"The box of Grid.covering may reach at most {LARGEST_RADIUS_KM:g} km from its "
                f"middle. Got {farthest:.6g} km. Cover a smaller area."
            )
        rows = math.ceil((y_max - y_min) / cell_size)
        columns = math.ceil((x_max - x_min) / cell_size)
        projection = LocalProjection(
            centre.latitude,
            centre.longitude,
            round((x_min + x_max - columns * cell_size) / 2, 7),
            round((y_min + y_max - rows * cell_size) / 2, 7),
        )
        return cls(rows, columns, cell_size, projection=projection)

    # What it is

    @property
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
        geodesic (up to 1e-5 of it) and never longer by more than this fraction, at most 0.001.
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
        return self._cell_at(*_km(x, y), outside)

    def _cell_at(
        self, x: NDArray[np.float64], y: NDArray[np.float64], outside: Outside
    ) -> int | NDArray[np.int64]:
        if outside not in ("error", "nearest"):
            raise InvalidParameter(f"'outside' must be 'error' or 'nearest'. Got {outside!r}.")
        inside = (x >= 0.0) & (x <= self.width) & (y >= 0.0) & (y <= self.height)
        if outside == "error" and not np.all(inside):
            missed = int(inside.size - np.count_nonzero(inside))
            raise OutsideMap(
                f"A position must lie on the map. {missed} of {inside.size} did not. For the "
                "nearest border cell ask with outside='nearest', or cover a larger area."
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
        return _plain(*self._forward(lat, lon))

    # Cells to positions

    @overload
    def latlon(self, cell: int) -> tuple[float, float]: ...
    @overload
    def latlon(self, cell: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def latlon(self, cell: ArrayLike) -> Any:
        """Return ``(latitude, longitude)`` of the centre of a cell; for arrays, two arrays."""
        row, column = np.divmod(self._cells(cell), self.columns)
        return _plain(
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
        """Return ``(latitude, longitude)`` of a position in km; the inverse of :meth:`xy`."""
        return _plain(*self.earth_projection().inverse(*_km(x, y)))

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
        _expect_keys(saved, {"rows", "columns", "cell_size"}, {"projection"}, "A saved Grid")
        projection = saved.get("projection")
        if projection is None:
            return cls(saved["rows"], saved["columns"], saved["cell_size"])
        wanted = {"latitude", "longitude", "corner_east", "corner_north"}
        _expect_keys(projection, wanted, set(), "The projection of a saved Grid")
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
                "A Grid of the plane knows no latitudes and longitudes. Use cell_at_xy and "
                "centers (km), or make the map with Grid.covering."
            )
        return self.projection

    def _forward(
        self, lat: ArrayLike, lon: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        projection = self.earth_projection()
        latitude, longitude = _pair(lat, lon, "latitudes and longitudes")
        check_degrees(latitude, longitude, "A position")
        return projection.forward(latitude, longitude)

    def _one_cell(self, cell: int) -> int:
        cells = self._cells(cell)
        if cells.ndim != 0:
            raise InvalidParameter(f"'cell' must be one cell number. Got shape {cells.shape}.")
        return int(cells)

    def _cells(self, cell: ArrayLike) -> NDArray[np.int64]:
        cells = np.asarray(cell)
        if cells.size == 0:
            cells = cells.astype(np.int64)
        if cells.dtype.kind not in "iu":
            raise InvalidParameter(f"Cell numbers must be whole numbers. Got {cells.dtype} values.")
        if not np.all((cells >= 0) & (cells < self.size)):
            raise InvalidParameter(
                f"Cell numbers of this map must be in [0, {self.size}). At least one was not."
            )
        return cells.astype(np.int64)


def _slot(position: NDArray[np.float64], count: int, cell_size: float) -> NDArray[np.int64]:
    """Return the row or column of a coordinate, the nearest one when it is beyond the map."""
    slot = np.clip(np.floor(position / cell_size), 0, count - 1).astype(np.int64)
    # The quotient may be rounded across a border; the borders of bounds_of decide.
    slot -= position < slot * cell_size
    slot += position >= (slot + 1) * cell_size
    return np.clip(slot, 0, count - 1)


def _extent(
    projection: LocalProjection, south: float, west: float, north: float, east: float
) -> tuple[float, float, float, float]:
    """Return the plane rectangle around a box of degrees, as ``projection`` draws it.

    Coordinates have no extremes inside a region but at its border. Between two samples of a
    smooth border a coordinate exceeds both by less than its second difference.
    """
    lat = np.linspace(south, north, _SAMPLES_PER_SIDE)
    lon = np.linspace(west, east, _SAMPLES_PER_SIDE)
    sides = [
        projection.forward(np.full_like(lon, south), lon),
        projection.forward(np.full_like(lon, north), lon),
        projection.forward(lat, np.full_like(lat, west)),
        projection.forward(lat, np.full_like(lat, east)),
    ]
    lowest, highest = [], []
    for axis in range(2):
        values = np.stack([side[axis] for side in sides])
        margin = float(np.abs(np.diff(values, 2, axis=1)).max()) + BORDER_MARGIN_KM
        lowest.append(float(values.min()) - margin)
        highest.append(float(values.max()) + margin)
    return lowest[0], lowest[1], highest[0], highest[1]


def _count(value: object, name: str) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = operator.index(value)
        if 1 <= number <= LARGEST_MAP:
            return number
    raise InvalidParameter(
        f"The '{name}' of Grid must be a whole number in [1, {LARGEST_MAP}]. Got {value!r:.60}."
    )


def _cell_size(value: object) -> float:
    number = real_number(value, "The 'cell_size' of Grid")
    if not SMALLEST_CELL_KM <= number <= LARGEST_CELL_KM:
        raise InvalidParameter(
            f"The 'cell_size' of Grid must be in [{SMALLEST_CELL_KM:g}, {LARGEST_CELL_KM:g}] km. "
            f"Got {number!r}."
        )
    return number


def _wrapped(longitude: float) -> float:
    return longitude - 360.0 if longitude > 180.0 else longitude


def _pair(
    first: ArrayLike, second: ArrayLike, what: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two arrays of floats of one shape; the error shows no value."""
    arrays = []
    for values in (first, second):
        try:
            array = np.asarray(values)
        except ValueError:
            raise InvalidParameter(f"The {what} must be numbers or arrays of numbers.") from None
        if array.size and array.dtype.kind not in "iuf":
            raise InvalidParameter(f"The {what} must be real numbers. Got {array.dtype} values.")
        arrays.append(array.astype(np.float64))
    if arrays[0].shape != arrays[1].shape:
        raise InvalidParameter(
            f"The {what} must have one shape. Got {arrays[0].shape} and {arrays[1].shape}."
        )
    return arrays[0], arrays[1]


def _km(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    east, north = _pair(x, y, "coordinates x and y")
    if not (np.all(np.isfinite(east)) and np.all(np.isfinite(north))):
        raise InvalidParameter("The coordinates x and y must be finite (km). At least one was not.")
    return east, north


def _plain(first: NDArray[np.float64], second: NDArray[np.float64]) -> Any:
    return (float(first), float(second)) if first.ndim == 0 else (first, second)


def _expect_keys(saved: object, needed: set[str], allowed: set[str], who: str) -> None:
    if not isinstance(saved, Mapping):
        raise InvalidParameter(f"{who} must be a mapping. Got {type(saved).__name__}.")
    keys = set(saved)
    if not needed <= keys <= needed | allowed:
        raise InvalidParameter(
            f"{who} must have the entries {sorted(needed)}. Got {sorted(map(str, keys))}."
        )
