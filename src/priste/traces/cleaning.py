"""From the records of one user, as they stand in a source, to a trace: one rule per problem."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.traces.fixes import Trace, microseconds
from priste.traces.record_problems import Problem, Tally
from priste.traces.zones import NO_TIME, UNREADABLE_TIME

EARLIEST = datetime(1980, 1, 6, tzinfo=UTC)
"""The birth of GPS time: no receiver's clock can honestly be before it."""

LATEST = datetime(2100, 1, 1, tzinfo=UTC)

RawFix = tuple[int | None, float | None, float | None]
"""A time in microseconds since 1970, a latitude and a longitude; None where missing."""


@dataclass(frozen=True)
class RawFixes:
    """The records of one user in the order of the source: instants, NO_TIME or nan inside."""

    times: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]

    @classmethod
    def of(cls, records: Iterable[RawFix]) -> RawFixes:
        """Return records as arrays."""
        times, lat, lon = array("q"), array("d"), array("d")
        nan = float("nan")
        for record in records:
            times.append(NO_TIME if record[0] is None else record[0])
            lat.append(nan if record[1] is None else record[1])
            lon.append(nan if record[2] is None else record[2])
        return cls(
            np.array(times, dtype=np.int64),
            np.array(lat, dtype=np.float64),
            np.array(lon, dtype=np.float64),
        )


@dataclass(frozen=True)
class ClockRange:
    """The instants a clock may honestly show: from ``earliest`` to before ``latest``."""

    earliest: datetime = EARLIEST
    latest: datetime = LATEST

    def __post_init__(self) -> None:
        if not microseconds(self.earliest) < microseconds(self.latest):
            raise InvalidParameter(
                "'earliest' must be before 'latest'. "
                f"Got {self.earliest.isoformat()} and {self.latest.isoformat()}."
            )


def clean(user: str | None, raw: RawFixes, clock: ClockRange, tally: Tally) -> Trace | None:
    """Return the trace of a user's records, or None when no record can be used.

    A record is counted under the first problem it has, in this order: missing, unreadable,
    impossible time, missing position, impossible position, zero position; then, in the order of the
    source, unsorted, duplicate and conflict among those that are left.
    """
    tally.records += int(raw.times.size)
    left = np.ones(raw.times.shape, dtype=np.bool_)
    lat, lon = raw.lat, raw.lon

    def set_aside(bad: NDArray[np.bool_], problem: Problem) -> None:
        tally.add(problem, int(np.count_nonzero(left & bad)))
        np.logical_and(left, ~bad, out=left)

    set_aside(raw.times == NO_TIME, Problem.MISSING_TIME)
    set_aside(raw.times == UNREADABLE_TIME, Problem.UNREADABLE_TIME)
    early = raw.times < microseconds(clock.earliest)
    set_aside(early | (raw.times >= microseconds(clock.latest)), Problem.IMPOSSIBLE_TIME)
    set_aside(np.isnan(lat) | np.isnan(lon), Problem.MISSING_POSITION)
    set_aside((np.abs(lat) > 90.0) | (np.abs(lon) > 180.0), Problem.IMPOSSIBLE_POSITION)
    set_aside((lat == 0.0) & (lon == 0.0), Problem.ZERO_POSITION)
    if not left.any():
        return None
    times, lat, lon = raw.times[left], lat[left], lon[left]
    backwards = int(np.count_nonzero(times[1:] < times[:-1]))
    tally.add(Problem.UNSORTED, backwards)
    if backwards:
        order = np.argsort(times, kind="stable")
        times, lat, lon = times[order], lat[order], lon[order]
    first = np.ones(times.shape, dtype=np.bool_)
    first[1:] = times[1:] != times[:-1]
    if not first.all():
        # The sort is stable: the first of each instant is the first in the source.
        leader = np.flatnonzero(first)[np.cumsum(first) - 1]
        same = (lat == lat[leader]) & (lon == lon[leader])
        tally.add(Problem.DUPLICATE, int(np.count_nonzero(~first & same)))
        tally.add(Problem.CONFLICT, int(np.count_nonzero(~first & ~same)))
        times, lat, lon = times[first], lat[first], lon[first]
    for values in (times, lat, lon):
        values.flags.writeable = False
    trace = Trace(user, times, lat, lon)
    tally.users += 1
    tally.fixes += len(trace)
    return trace
