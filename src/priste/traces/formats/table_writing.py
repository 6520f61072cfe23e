"""Traces written as tables: CSV, Parquet and T-Drive lines."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.errors import TraceError
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
        raise TraceError("There is no trace to write.")
    traces = chain([first], rest)
    columns = reading.columns
    names = [columns.time or "time", columns.lat or "lat", columns.lon or "lon"]
    if columns.user is not None or first.user is not None:
        names.insert(0, columns.user or "user")
    if kind == "parquet":
        _write_parquet(traces, target, names)
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


def _texts(degrees: NDArray[np.float64]) -> list[str]:
    return [f"{value:.{DECIMALS}f}" for value in degrees.tolist()]
