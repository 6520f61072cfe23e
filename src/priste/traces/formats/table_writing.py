"""Traces written as tables: CSV, Parquet and T-Drive lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.errors import TraceError
from priste.extras import need
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.zones import iso_text

_ROWS_PER_GROUP = 65_536


def write(traces: Iterable[Trace], target: Path, reading: ReadingOptions, *, kind: str) -> None:
    """Write traces as a table with the columns that ``reading`` names, in UTC."""
    rest = iter(traces)
    first = next(rest, None)
    if first is None:
        raise TraceError("There is no trace to write.", hint="Give at least one.")
    traces = chain([first], rest)
    columns = reading.columns
    names = [columns.time or "time", columns.lat or "lat", columns.lon or "lon"]
    if columns.user is not None or first.user is not None:
        names.insert(0, columns.user or "user")
    if kind == "parquet":
        _write_parquet(traces, target, names, columns.geometry)
    elif kind == "tdrive":
        _write_tdrive(traces, target, reading)
    else:
        with target.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(names)
            for trace in traces:
                user = [] if len(names) == 3 else [trace.user]
                values = trace.times.tolist(), _texts(trace.lat), _texts(trace.lon)
                for time, lat, lon in zip(*values, strict=True):
                    writer.writerow([*user, iso_text(time), lat, lon])


def _write_parquet(
    traces: Iterable[Trace], target: Path, names: list[str], geometry: str | None
) -> None:
    """Write latitudes and longitudes, or with ``geometry`` points in a column of that name."""
    need("traces", "Writing Parquet", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq
    import shapely

    types = [pa.string(), pa.timestamp("us", tz="UTC"), pa.float64(), pa.float64()]
    fields = list(zip(names, types[-len(names) :], strict=True))
    metadata = None
    if geometry is not None:
        fields = [*fields[:-2], (geometry, pa.binary())]
        about = {"encoding": "WKB", "geometry_types": ["Point"]}
        about_geometry = {
            "version": "1.1.0",
            "primary_column": geometry,
            "columns": {geometry: about},
        }
        metadata = {b"geo": json.dumps(about_geometry).encode()}
    schema = pa.schema(fields, metadata)
    held: list[Any] = []
    with pq.ParquetWriter(target, schema) as writer:
        for trace in traces:
            for begin in range(0, len(trace), _ROWS_PER_GROUP):
                part = slice(begin, begin + _ROWS_PER_GROUP)
                times = trace.times[part]
                lat, lon = (np.round(each[part], DECIMALS) for each in (trace.lat, trace.lon))
                places = [pa.array(lat), pa.array(lon)]
                if geometry is not None:
                    places = [pa.array(shapely.to_wkb(shapely.points(lon, lat)), pa.binary())]
                users = pa.array([trace.user] * len(times), types[0])
                arrays = [users, pa.array(times).cast(types[1]), *places][-len(fields) :]
                held.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
                if sum(batch.num_rows for batch in held) >= _ROWS_PER_GROUP:
                    writer.write_table(pa.Table.from_batches(held))
                    held = []
        if held:
            writer.write_table(pa.Table.from_batches(held))


def _write_tdrive(traces: Iterable[Trace], target: Path, reading: ReadingOptions) -> None:
    if reading.zone is None:
        raise TraceError(
            "T-Drive lines hold clock times", hint="State their zone, as 'Asia/Shanghai'."
        )
    with target.open("w", encoding="utf-8", newline="\n") as out:
        for trace in traces:
            user = "0" if trace.user is None else trace.user
            if not user.isdigit():
                raise TraceError(
                    "must be a number in T-Drive lines", value=user[:40], parameter="user"
                )
            columns = trace.times.tolist(), _texts(trace.lon), _texts(trace.lat)
            for time, lon, lat in zip(*columns, strict=True):
                out.write(f"{user},{utc_datetime(time).astimezone(reading.zone):%Y-%m-%d %H:%M:%S}")
                out.write(f",{lon},{lat}\n")


def _texts(degrees: NDArray[np.float64]) -> list[str]:
    return [f"{value:.{DECIMALS}f}" for value in degrees.tolist()]
