"""Everybody's own places: a table that says where the home and the clinic of each user are."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path

from priste.errors import PristeError, TraceError
from priste.maps import Region
from priste.policy import Policy, with_regions

COLUMNS = ("user", "region", "lat", "lon", "radius_km")

Disc = tuple[float, float, float]
"""A place on the earth: latitude, longitude, and a radius in km."""

Places = Mapping[str, Sequence[Disc]]
"""One user's own places by the name of the region; several discs of one name are one place."""

OwnPlace = tuple[str | None, str, Disc]
"""A user, the name of a region, and a disc of it."""


def policy_with(policy: Policy, places: Places) -> Policy:
    """Return the policy of somebody with these places; all that does not depend on them is shared.

    Raises PristeError for a place that is not on the map, or of a name that the policy has not.
    """
    return with_regions(
        policy,
        {
            name: reduce(or_, (Region.circle_latlon(policy.grid, *disc) for disc in discs))
            for name, discs in places.items()
        },
    )


def read_own_places(path: Path, names: Collection[str]) -> Iterator[OwnPlace]:
    """Yield the places of a CSV or Parquet table with the columns of ``COLUMNS``.

    ``names`` are the regions that the policy has: they stand for those who have none of their own.
    Raises TraceError for a table that cannot be read, and for a row that is no place.
    """
    for number, row in enumerate(_rows(path), start=1):
        if row["region"] not in names:
            raise TraceError(
                f"Row {number} of {path.name} is about a region that the policy does not name. "
                f"It has {', '.join(names) or 'none'}."
            )
        try:
            disc = float(row["lat"]), float(row["lon"]), float(row["radius_km"])
            if not all(map(math.isfinite, disc)):
                raise ValueError
        except ValueError:
            raise TraceError(
                f"Row {number} of {path.name}: lat, lon and radius_km must be numbers."
            ) from None
        yield row["user"] or None, row["region"], disc


def _rows(path: Path) -> Iterator[Mapping[str, str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix in (".parquet", ".pq"):
            with pq.ParquetFile(path) as file:
                _check_columns(path, file.schema_arrow.names)
                for batch in file.iter_batches(columns=list(COLUMNS)):
                    for row in batch.to_pylist():
                        yield {k: "" if value is None else str(value) for k, value in row.items()}
            return
        with path.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.DictReader(text)
            _check_columns(path, reader.fieldnames or ())
            for line in reader:
                yield {name: line.get(name) or "" for name in COLUMNS}
    except PristeError:
        raise
    except (OSError, UnicodeDecodeError, csv.Error, pa.ArrowException):
        raise TraceError(
            f"The places of users, {path.name}, cannot be read as a CSV or Parquet table."
        ) from None


def _check_columns(path: Path, names: Sequence[str]) -> None:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise TraceError(
            f"The places of users, {path.name}, must have the columns {', '.join(COLUMNS)}. "
            f"It lacks {', '.join(missing)}."
        )
