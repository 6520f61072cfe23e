"""Tables of fixes written back: the same columns in the same order, with released points.

Only the user, the time, the released position and the columns kept by name hold values; every
other column stays in its place and is empty. Metadata of Parquet files is left behind.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter, TraceError
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.formats.format import Format
from priste.traces.formats.open_tables import OpenTable, open_table
from priste.traces.formats.table_queries import Layout
from priste.traces.points import DECIMALS, ReleasedPoints
from priste.traces.reading_options import ReadingOptions
from priste.traces.sources import Source

_ROWS_PER_GROUP = 65_536


def rewrite(
    source: Source,
    target: Path,
    reading: ReadingOptions,
    points: ReleasedPoints,
    keep: Collection[str],
) -> int:
    """Write a source of one file with released points; returns the rows written."""
    with open_table(source, reading) as table:
        layout = table.layout
        unknown = sorted(set(keep) - set(layout.names))
        if unknown:
            raise InvalidParameter(
                f"'keep' may name columns of {source.root.name}. Got {unknown}. "
                f"It has {', '.join(layout.names[:30])}."
            )
        if layout.dialect is None:
            written = _rewrite_parquet(table, source.files[0].path, target, points, keep)
        else:
            written = _rewrite_csv(table, target, points, keep)
            points.left_out.unreadable += table.bad_lines()
    return written


def _rewrite_csv(
    table: OpenTable, target: Path, points: ReleasedPoints, keep: Collection[str]
) -> int:
    layout, written = table.layout, 0
    dialect = layout.dialect
    if dialect is None:
        raise TraceError("Only a table of text can be written as CSV.")
    copied = _copied(layout, keep)
    places = {name: layout.names.index(name) for name in copied}
    lat, lon = (layout.names.index(str(n)) for n in (layout.columns.lat, layout.columns.lon))
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=dialect.delimiter, lineterminator=dialect.line_end)
        if dialect.has_header:
            writer.writerow(layout.names)
        for rows in table.rows(copied):
            found = points.for_rows(rows.users, rows.times, rows.timed)
            columns: list[list[str | None]] = [[None] * len(found) for _ in layout.names]
            for name, values in zip(copied, rows.columns, strict=True):
                columns[places[name]] = values.to_pylist()
            columns[lat], columns[lon] = _texts(found[:, 0]), _texts(found[:, 1])
            released = ~np.isnan(found[:, 0])
            lines = zip(*columns, strict=True)
            writer.writerows(line for line, is_out in zip(lines, released, strict=True) if is_out)
            written += int(np.count_nonzero(released))
    return written


def _rewrite_parquet(
    table: OpenTable, path: Path, target: Path, points: ReleasedPoints, keep: Collection[str]
) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    layout, written = table.layout, 0
    # Statistics, pandas indexes and bounding boxes live in the metadata.
    fields = [pa.field(field.name, field.type) for field in pq.read_schema(path).remove_metadata()]
    schema = pa.schema(fields)
    copied = _copied(layout, keep)
    for part in (layout.columns.lat, layout.columns.lon):
        kind = schema.field(str(part)).type
        if not (pa.types.is_floating(kind) or pa.types.is_decimal(kind) or _is_text(kind)):
            raise TraceError(
                f"The column {part!r} holds {kind} values; degrees cannot be written into it."
            )
    with pq.ParquetWriter(target, schema) as writer:
        for rows in table.rows(copied):
            found = points.for_rows(rows.users, rows.times, rows.timed)
            released = pa.array(~np.isnan(found[:, 0]))
            given = dict(zip(copied, rows.columns, strict=True))
            given[str(layout.columns.lat)] = _degrees(found[:, 0], schema, layout.columns.lat)
            given[str(layout.columns.lon)] = _degrees(found[:, 1], schema, layout.columns.lon)
            arrays = [
                given[field.name].cast(field.type)
                if field.name in given
                else pa.nulls(len(found), field.type)
                for field in fields
            ]
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema).filter(released)
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def write(traces: Iterable[Trace], target: Path, reading: ReadingOptions, *, kind: Format) -> None:
    """Write traces as a table with the columns that ``reading`` names, in UTC."""
    rest = iter(traces)
    first = next(rest, None)
    if first is None:
        raise TraceError("There is no trace to write.")
    traces = chain([first], rest)
    columns = reading.columns
    names = [columns.time or "time", columns.lat or "lat", columns.lon or "lon"]
    if columns.user is not None or first.user is not None:
        names.insert(0, columns.user or "user")
    if kind is Format.PARQUET:
        _write_parquet(traces, target, names)
    elif kind is Format.TDRIVE:
        _write_tdrive(traces, target, reading)
    else:
        with target.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(names)
            for trace in traces:
                user = [] if len(names) == 3 else [trace.user]
                values = trace.times.tolist(), _texts(trace.lat), _texts(trace.lon)
                for time, lat, lon in zip(*values, strict=True):
                    when = utc_datetime(time).isoformat().replace("+00:00", "Z")
                    writer.writerow([*user, when, lat, lon])


def _write_parquet(traces: Iterable[Trace], target: Path, names: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = [pa.string(), pa.timestamp("us", tz="UTC"), pa.float64(), pa.float64()]
    schema = pa.schema(list(zip(names, types[-len(names) :], strict=True)))
    held: list[Any] = []
    with pq.ParquetWriter(target, schema) as writer:
        for trace in traces:
            for begin in range(0, len(trace), _ROWS_PER_GROUP):
                part = slice(begin, begin + _ROWS_PER_GROUP)
                times = trace.times[part]
                arrays = [
                    pa.array([trace.user] * len(times), types[0]),
                    pa.array(times).cast(types[1]),
                    pa.array(np.round(trace.lat[part], DECIMALS)),
                    pa.array(np.round(trace.lon[part], DECIMALS)),
                ]
                arrays = arrays[-len(names) :]
                held.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
                if sum(batch.num_rows for batch in held) >= _ROWS_PER_GROUP:
                    writer.write_table(pa.Table.from_batches(held))
                    held = []
        if held:
            writer.write_table(pa.Table.from_batches(held))


def _write_tdrive(traces: Iterable[Trace], target: Path, reading: ReadingOptions) -> None:
    if reading.zone is None:
        raise TraceError("T-Drive lines hold clock times. State their zone, as 'Asia/Shanghai'.")
    with target.open("w", encoding="utf-8", newline="\n") as out:
        for trace in traces:
            user = "0" if trace.user is None else trace.user
            if not user.isdigit():
                raise TraceError(f"A user of T-Drive lines is a number. Got {user[:40]!r}.")
            columns = trace.times.tolist(), _texts(trace.lon), _texts(trace.lat)
            for time, lon, lat in zip(*columns, strict=True):
                out.write(f"{user},{utc_datetime(time).astimezone(reading.zone):%Y-%m-%d %H:%M:%S}")
                out.write(f",{lon},{lat}\n")


def _copied(layout: Layout, keep: Collection[str]) -> list[str]:
    columns = layout.columns
    released = {columns.lat, columns.lon}
    wanted = {columns.user, columns.time, *keep} - released
    return [name for name in dict.fromkeys(layout.names) if name in wanted]


def _texts(degrees: NDArray[np.float64]) -> list[str | None]:
    return [f"{value:.{DECIMALS}f}" for value in degrees.tolist()]


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _degrees(values: NDArray[np.float64], schema: Any, name: str | None) -> Any:
    import pyarrow as pa

    kind = schema.field(str(name)).type
    if _is_text(kind):
        return pa.array(_texts(values), kind)
    array = pa.array(np.where(np.isnan(values), 0.0, values))
    return array.cast(kind, safe=False)
