"""Personal places: where the home and the clinic of each user are.

A table of its own says so, or columns of the input, whose texts are discs: ``46.012 7.004 0.2``,
latitude, longitude and radius in km, several of them with semicolons between.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import or_
from pathlib import Path

from priste.errors import InvalidParameter, PristeError, TraceError
from priste.maps import Region
from priste.policy import Policy, PolicyOf, with_regions
from priste.traces import Traces

COLUMNS = ("user", "region", "lat", "lon", "radius_km")

Disc = tuple[float, float, float]
"""A place on the earth: latitude, longitude, and a radius in km."""

Places = Mapping[str, Sequence[Disc]]
"""One user's own places by the name of the region; several discs of one name are one place."""

UNCLEAR: Disc = (-1e9, -1e9, -1e9)
"""Stands for text that is no place: its user is reported when it is their turn."""

OwnPlace = tuple[str | None, str, Disc]
"""A user, the name of a region, and a disc of it."""


def policy_with(policy: Policy, places: Places) -> Policy:
    """Return the policy of a person with these places; what does not depend on them is shared.

    Raises PristeError for a place that is not on the map, or of a name that the policy has not.
    """
    unclear = [name for name, discs in places.items() if UNCLEAR in discs]
    if unclear:
        raise InvalidParameter(
            f"The rows of this user do not agree about {', '.join(unclear)}, or say it in another "
            "way than 'latitude longitude radius_km'.",
            hint="Say it once for each region.",
        )
    return with_regions(
        policy,
        {
            name: reduce(or_, (Region.circle_latlon(policy.grid, *disc) for disc in discs))
            for name, discs in places.items()
        },
    )


def policy_of_user(policy: Policy, places: Iterable[OwnPlace]) -> PolicyOf:
    """Return what tells the policy of each user: with their places, or as it is if they have none.

    Raises PristeError when it is asked for somebody whose places are not on the map.
    """
    found: dict[str | None, dict[str, list[Disc]]] = {}
    for user, region, disc in places:
        found.setdefault(user, {}).setdefault(region, []).append(disc)
    return lambda user: policy_with(policy, found[user]) if user in found else policy


def read_own_places(path: Path, names: Collection[str]) -> Iterator[OwnPlace]:
    """Yield the places of a CSV or Parquet table with the columns of ``COLUMNS``.

    ``names`` are the regions that the policy has: they stand for those who have none of their own.
    Raises TraceError for a table that cannot be read, and for a row that is no place.
    """
    for number, row in enumerate(_rows(path), start=1):
        if row["region"] not in names:
            raise TraceError(
                f"Row {number} of {path.name} is about a region that the policy does not name",
                hint=f"It has {', '.join(names) or 'none'}.",
            )
        try:
            disc = float(row["lat"]), float(row["lon"]), float(row["radius_km"])
            if not all(map(math.isfinite, disc)):
                raise ValueError
        except ValueError:
            raise TraceError(
                f"Row {number} of {path.name}: lat, lon and radius_km must be numbers.",
                hint="Mend the row, or leave it out.",
            ) from None
        yield row["user"] or None, row["region"], disc


def places_in_columns(
    traces: Traces, columns: Mapping[str, str], names: Collection[str]
) -> Iterator[OwnPlace]:
    """Yield the places that columns of the input hold, by the name of the region.

    What a user's rows say must be the same in all of them, or empty. Raises TraceError for a
    column that is not there, and for a region that is not among ``names``.
    """
    for region, column in columns.items():
        if region not in names:
            raise TraceError(
                f"The policy does not name the region {region!r}",
                hint=f"It has {', '.join(names) or 'none'}.",
            )
        for user, told in groupby(traces.texts(column), key=lambda pair: pair[0]):
            texts = [text for _, text in told]
            for disc in _discs(texts[0]) if len(texts) == 1 else [UNCLEAR]:
                yield user, region, disc


def _discs(text: str) -> list[Disc]:
    """Return the discs that a text says, one that is ``UNCLEAR`` if it does not.

    >>> _discs("46.01 7.02 0.3; 46.1, 7.1, 1"), _discs("at home") == [UNCLEAR]
    ([(46.01, 7.02, 0.3), (46.1, 7.1, 1.0)], True)
    """
    try:
        found = [tuple(map(float, each.replace(",", " ").split())) for each in text.split(";")]
        if all(len(disc) == 3 and all(map(math.isfinite, disc)) for disc in found):
            return [(lat, lon, radius) for lat, lon, radius in found]
    except ValueError:
        pass
    return [UNCLEAR]


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
            f"The places of users, {path.name}, cannot be read as a CSV or Parquet table.",
            hint="Is it the right file?",
        ) from None


def _check_columns(path: Path, names: Sequence[str]) -> None:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise TraceError(
            f"The places of users, {path.name}, must have the columns {', '.join(COLUMNS)}",
            hint=f"It lacks {', '.join(missing)}.",
        )
