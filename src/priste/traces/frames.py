"""Frames of fixes in and out: pandas, polars, pyarrow, DuckDB, geopandas and what builds on them.

A frame is anything that narwhals knows or that has the Arrow C stream. Its columns are found as
those of a file are. Only the columns that hold fixes are read, and what is given back has the type
and the column names of what was given.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.atomic_files import scratch_folder
from priste.errors import InvalidParameter
from priste.extras import need
from priste.traces.coordinate_systems import is_wgs84
from priste.traces.fixes import Trace
from priste.traces.reading import Traces, read_traces
from priste.traces.reading_options import Columns, alias_of
from priste.traces.zones import Zone

FRAME = "the frame"
"""The name that messages call a frame by."""

WGS84 = "EPSG:4326"

_EXTENSION = b"ARROW:extension:name"
_ABOUT = b"ARROW:extension:metadata"
_WKB = (b"geoarrow.wkb", b"ogc.wkb")

_LIBRARIES = (
    "movingpandas",
    "polars",
    "duckdb",
    "_duckdb",
    "modin",
    "dask",
    "cudf",
    "ibis",
    "pyspark",
)
"""Libraries whose frames may have no Arrow stream of their own."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """The fixes of a frame as an Arrow table, and the way back to its type.

    ``columns`` names the columns of ``table``. ``point`` is the column of points where the frame
    has one instead of latitudes and longitudes; in ``table`` it is replaced by these.
    ``rebuild`` makes a frame of the given type of an Arrow table.
    """

    table: Any
    columns: Columns
    point: str | None
    rebuild: Callable[[Any], Any]

    @contextmanager
    def traces(self, *, zone: Zone | None = None, user: str | None = None) -> Iterator[Traces]:
        """Open the fixes as a file is opened; they lie in a private folder meanwhile."""
        import pyarrow.parquet as pq

        with scratch_folder() as folder:
            path = folder / FRAME
            pq.write_table(self.table, path)
            yield read_traces(path, "parquet", columns=self.columns, zone=zone, user=user)

    def like(self, released: Path, extra: Mapping[str, Sequence[float] | Floats]) -> Any:
        """Return a file that was written for :meth:`traces` as a frame of the given type.

        ``extra`` are columns to add. Times are in UTC, or in the zone that the frame's times have;
        users have the type that they have in the frame.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pq.read_table(released)
        given = {field.name: field.type for field in self.table.schema}
        for part in ("user", "time"):
            name = getattr(self.columns, part)
            kind = given.get(name)
            if name is not None and name in table.column_names and kind is not None:
                column = _as_given(table[name], kind)
                table = table.set_column(table.column_names.index(name), name, column)
        for name, values in extra.items():
            table = table.append_column(name, pa.array(np.asarray(values, dtype=np.float64)))
        return self.rebuild(table)


def is_frame(given: object) -> bool:
    """Return whether something is a frame: an Arrow stream, or of a library that narwhals knows."""
    return hasattr(given, "__arrow_c_stream__") or _library(given) in _LIBRARIES


def open_frame(
    given: Any, columns: Columns | Mapping[str, str] | None = None, keep: Sequence[str] = ()
) -> Frame:
    """Find the fixes of a frame; ``keep`` are other columns that are read too.

    Raises InvalidParameter for what is no frame, and TraceError where a column is not found.
    """
    need("traces", "Reading a frame", "narwhals", "pyarrow")
    wanted = Columns.of(columns)
    if _is_moving(given):
        return _of_trajectories(given, wanted, keep)
    if _is_geopandas(given):
        return _of_geopandas(given, wanted, keep)
    return _of_table(given, wanted, keep)


def traces_of(
    given: Any,
    columns: Columns | Mapping[str, str] | None = None,
    zone: Zone | None = None,
    user: str | None = None,
) -> list[Trace]:
    """Return the traces of a frame, one for each user."""
    with open_frame(given, columns).traces(zone=zone, user=user) as traces:
        return list(traces)


def _of_table(given: Any, wanted: Columns, keep: Sequence[str]) -> Frame:
    """Read a frame of plain columns, or with points in the well-known binary form of Arrow."""
    table, rebuild = _as_arrow(given)
    points = [field.name for field in table.schema if _is_wkb(field)]
    found = wanted.found_in(table.column_names, "the frame", points)
    point = found.geometry
    kept = table.select(_used(found, keep, table.column_names))
    if point is None:
        return Frame(kept, found, None, rebuild)
    field = table.schema.field(point)
    _check_system(field)
    x, y = _coordinates(_from_wkb(table[point]))
    kept, found = _with_degrees(kept, found, x, y)

    def with_points(made: Any) -> Any:
        import pyarrow as pa
        import shapely

        lon, lat = (made[name].to_numpy() for name in (found.lon, found.lat))
        made = made.drop_columns([found.lat, found.lon])
        column = pa.array(shapely.to_wkb(shapely.points(lon, lat)), pa.binary())
        return rebuild(
            made.append_column(pa.field(point, pa.binary(), metadata=field.metadata), [column])
        )

    return Frame(kept, found, point, with_points)


def _of_geopandas(given: Any, wanted: Columns, keep: Sequence[str]) -> Frame:
    """Read a GeoDataFrame: its active geometry is the position unless columns name another."""
    import pandas as pd
    import pyarrow as pa

    plain, index = _without_index(given)
    point, system = str(given.geometry.name), given.crs
    by_point = wanted.lat is None and wanted.lon is None
    names = [str(name) for name in plain.columns]
    if by_point:
        if system is None:
            raise InvalidParameter(
                "must have a coordinate system",
                parameter="frame",
                got="a GeoDataFrame without one",
                hint="Say which it is: frame.set_crs('EPSG:4326') for longitudes and latitudes.",
            )
        # Columns called x and y may be of any system; the geometry says which it is.
        names = [name for name in names if alias_of(name) not in ("lat", "lon")]
    found = wanted.found_in(names, "the frame", [point])
    used = [name for name in _used(found, keep, names) if name != point]
    table = pa.Table.from_pandas(
        pd.DataFrame({name: plain[name] for name in used}), preserve_index=False
    )
    if by_point:
        x, y = _coordinates(given.geometry.to_crs(WGS84).to_numpy())
        table, found = _with_degrees(table, found, x, y)

    def rebuild(made: Any) -> Any:
        import geopandas

        data = made.to_pandas()
        places = geopandas.points_from_xy(data[found.lon], data[found.lat], crs=WGS84)
        if system is not None:
            places = places.to_crs(system)
        if by_point:
            data = data.drop(columns=[found.lat, found.lon])
        data[point] = places
        framed = geopandas.GeoDataFrame(data, geometry=point, crs=places.crs)
        return _with_index(given._constructor(framed), index)

    return Frame(table, found, point if by_point else None, rebuild)


def _of_trajectories(given: Any, wanted: Columns, keep: Sequence[str]) -> Frame:
    """Read the points of movingpandas. A trajectory is a trip: who made it must be known."""
    import movingpandas

    points = given.to_point_gdf(return_orig_tz=True)
    is_collection = isinstance(given, movingpandas.TrajectoryCollection)
    first = given.trajectories[0] if is_collection else given
    if points.index.name is None:
        points = points.rename_axis("t")
    people = [str(name) for name in points.columns if alias_of(str(name)) == "user"]
    trip = str(first.get_traj_id_col())
    user = wanted.user or (people[0] if len(people) == 1 else None)
    if user is None:
        raise InvalidParameter(
            "must name the column of the person",
            parameter="columns",
            got="trajectories, of which one person may have made several",
            hint=f"Say columns={{'user': NAME}}: {trip!r} if everybody made one.",
        )
    inner = _of_geopandas(points, replace(wanted, user=user), keep)

    def rebuild(made: Any) -> Any:
        frame = inner.rebuild(made)
        with warnings.catch_warnings():
            # It drops the zone from the clock and keeps its name, and says so each time.
            warnings.filterwarnings("ignore", "Time zone information dropped")
            if is_collection:
                return type(given)(frame, traj_id_col=user)
            return type(given)(frame, given.id, traj_id_col=user)

    return replace(inner, rebuild=rebuild)


def _as_arrow(given: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return a frame as an Arrow table, and how such a table becomes a frame of its type."""
    import narwhals as nw
    import pyarrow as pa

    framed = nw.from_native(given, pass_through=True)
    if isinstance(framed, nw.LazyFrame):
        kind = framed.implementation
        table = framed.collect(backend="pyarrow").to_native()
        backend = kind if kind.is_polars() else nw.Implementation.PYARROW

        def lazily(made: Any) -> Any:
            return nw.from_arrow(made, backend=backend).lazy(kind).to_native()

        return table, lazily
    if isinstance(framed, nw.DataFrame):
        if not framed.implementation.is_pandas_like():
            namespace = framed.implementation
            return framed.to_arrow(), lambda made: nw.from_arrow(
                made, backend=namespace
            ).to_native()
        plain, index = _without_index(given)

        def as_pandas(made: Any) -> Any:
            data = nw.from_arrow(made, backend=framed.implementation).to_native()
            return _with_index(given._constructor(data), index)

        return nw.from_native(plain).to_arrow(), as_pandas
    if hasattr(given, "__arrow_c_stream__"):
        return pa.table(given), getattr(type(given), "from_arrow", lambda made: made)
    raise InvalidParameter(
        "must be a frame: of pandas, polars, pyarrow, DuckDB, geopandas or movingpandas, or "
        "anything with the Arrow C stream",
        parameter="frame",
        value=type(given),
        hint="Files are read by priste.traces.read_traces.",
    )


def _library(given: object) -> str:
    return type(given).__module__.partition(".")[0]


def _is_moving(given: object) -> bool:
    return _library(given) == "movingpandas"


def _is_geopandas(given: object) -> bool:
    geopandas = sys.modules.get("geopandas")
    return geopandas is not None and isinstance(given, geopandas.GeoDataFrame)


def _without_index(given: Any) -> tuple[Any, list[str]]:
    """Return a frame of pandas with its index among the columns, if that has names."""
    names = [name for name in given.index.names if name is not None]
    if not names or set(names) & set(given.columns):
        return given, []
    return given.reset_index(), names


def _with_index(made: Any, names: Sequence[str]) -> Any:
    """Return a frame of pandas with the index that the given one had, as far as it is known."""
    known = [name for name in names if name in made.columns]
    return made.set_index(known) if known else made


def _used(found: Columns, keep: Sequence[str], names: Sequence[str]) -> list[str]:
    parts = (found.user, found.date, found.time, found.lat, found.lon, found.until)
    missing = [name for name in keep if name not in names]
    if missing:
        raise InvalidParameter(
            f"must be columns of the frame, which has {', '.join(map(repr, names[:30]))}",
            parameter="places",
            value=missing[0],
        )
    return list(dict.fromkeys(name for name in (*parts, *keep) if name is not None))


def _with_degrees(table: Any, found: Columns, x: Floats, y: Floats) -> tuple[Any, Columns]:
    """Return a table with latitudes and longitudes in the place of points."""
    import pyarrow as pa

    lat, lon = ("lat", "lon") if not {"lat", "lon"} & set(table.column_names) else ("lat.", "lon.")
    for name, values in ((lat, y), (lon, x)):
        table = table.append_column(name, pa.array(values))
    return table, replace(found, lat=lat, lon=lon, geometry=None)


def _coordinates(points: Any) -> tuple[Floats, Floats]:
    """Return the coordinates of points, nan for what is none."""
    import shapely

    return np.asarray(shapely.get_x(points)), np.asarray(shapely.get_y(points))


def _is_wkb(field: Any) -> bool:
    return (field.metadata or {}).get(_EXTENSION) in _WKB


def _from_wkb(column: Any) -> Any:
    import shapely

    return shapely.from_wkb(column.to_numpy(zero_copy_only=False), on_invalid="ignore")


def _check_system(field: Any) -> None:
    """Raise InvalidParameter for points that are in another system than WGS 84."""
    try:
        about = json.loads((field.metadata or {}).get(_ABOUT) or b"{}")
    except ValueError:
        about = {}
    system = about.get("crs") if isinstance(about, dict) else None
    if system is not None and not is_wgs84(system):
        raise InvalidParameter(
            f"must have points in WGS 84, and those of {field.name!r} are in another system",
            parameter="frame",
            hint="Convert them to longitudes and latitudes first.",
        )


def _as_given(column: Any, kind: Any) -> Any:
    """Return a column in the type it was given in, where that loses nothing."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind):
        kind = pa.timestamp("us", kind.tz or "UTC")
    elif pa.types.is_timestamp(column.type):
        return column  # dates in pieces, numbers and texts come back as timestamps
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column
