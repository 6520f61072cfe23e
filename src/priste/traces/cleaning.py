"""From the records of one user, as they stand in a source, to a trace: one rule per problem."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priste.traces.fixes import Trace, microseconds
from priste.traces.record_problems import Problem, Tally
from priste.traces.zones import NO_TIME, UNREADABLE_TIME

EARLIEST = datetime(1980, 1, 6, tzinfo=UTC)
"""The beginning of GPS time: no correct clock of a receiver is before it."""

LATEST = datetime(2100, 1, 1, tzinfo=UTC)

LONGEST_STAY = timedelta(days=366) // timedelta(microseconds=1)
"""A longer stay counts as a wrong clock, because exports of phones cut stays by the day or week."""


class RawFix(NamedTuple):
    """A record as it stands in a source; None where a value is missing.

    ``time`` and ``until`` are microseconds since 1970. ``until`` is the end of a stay.
    """

    time: int | None
    lat: float | None
    lon: float | None
    until: int | None = None


@dataclass(frozen=True)
class RawFixes:
    """The records of one user in the order of the source: instants, NO_TIME or nan inside.

    ``until`` is NO_TIME for a fix of an instant, or None when all are.
    """

    times: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    until: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, records: Iterable[RawFix]) -> RawFixes:
        """Return records as arrays."""
        times, lats, lons, untils = array("q"), array("d"), array("d"), array("q")
        nan = float("nan")
        for time, lat, lon, until in records:
            times.append(NO_TIME if time is None else time)
            lats.append(nan if lat is None else lat)
            lons.append(nan if lon is None else lon)
            untils.append(NO_TIME if until is None else until)
        return cls(
            np.array(times, dtype=np.int64),
            np.array(lats, dtype=np.float64),
            np.array(lons, dtype=np.float64),
            np.array(untils, dtype=np.int64),
        )


def clean(
    user: str | None, raw: RawFixes, tally: Tally, earliest: datetime = EARLIEST
) -> Trace | None:
    """Return the trace of a user's records, or None when no record can be used.

    Clocks that show a time before ``earliest``, or from ``LATEST`` on, were wrong.

    A record is counted under the first problem it has, in this order: missing, unreadable,
    impossible time, missing position, impossible position, zero position; then, in the order of the
    source, unsorted, duplicate and conflict among those that are left. A stay gives way to fixes
    and later stays within it, and continues when they end.
    """
    tally.records += int(raw.times.size)
    left = np.ones(raw.times.shape, dtype=np.bool_)
    lat, lon = raw.lat, raw.lon

    def set_aside(bad: NDArray[np.bool_], problem: Problem) -> None:
        tally.add(problem, int(np.count_nonzero(left & bad)))
        np.logical_and(left, ~bad, out=left)

    set_aside(raw.times == NO_TIME, Problem.MISSING_TIME)
    set_aside(raw.times == UNREADABLE_TIME, Problem.UNREADABLE_TIME)
    early = raw.times < microseconds(earliest)
    set_aside(early | (raw.times >= microseconds(LATEST)), Problem.IMPOSSIBLE_TIME)
    set_aside(np.isnan(lat) | np.isnan(lon), Problem.MISSING_POSITION)
    set_aside((np.abs(lat) > 90.0) | (np.abs(lon) > 180.0), Problem.IMPOSSIBLE_POSITION)
    set_aside((lat == 0.0) & (lon == 0.0), Problem.ZERO_POSITION)
    if not left.any():
        return None
    times, lat, lon = raw.times[left], lat[left], lon[left]
    until = times.copy() if raw.until is None else raw.until[left]
    until[until == NO_TIME] = times[until == NO_TIME]
    odd = (until < times) | (until > times + LONGEST_STAY)
    tally.add(Problem.ODD_STAY, int(np.count_nonzero(odd)))
    until[odd] = times[odd]
    backwards = int(np.count_nonzero(times[1:] < times[:-1]))
    tally.add(Problem.UNSORTED, backwards)
    if backwards:
        order = np.argsort(times, kind="stable")
        times, lat, lon, until = times[order], lat[order], lon[order], until[order]
    first = np.ones(times.shape, dtype=np.bool_)
    first[1:] = times[1:] != times[:-1]
    if not first.all():
        # The sort is stable: the first of each instant is the first in the source.
        leader = np.flatnonzero(first)[np.cumsum(first) - 1]
        same = (lat == lat[leader]) & (lon == lon[leader])
        tally.add(Problem.DUPLICATE, int(np.count_nonzero(~first & same)))
        tally.add(Problem.CONFLICT, int(np.count_nonzero(~first & ~same)))
        # Records of one place and beginning say together how long somebody stayed.
        np.maximum.at(until, leader[same], until[same])
        times, lat, lon, until = times[first], lat[first], lon[first], until[first]
    tally.users += 1
    tally.fixes += int(times.size)
    if np.any(until > times):
        times, kept, until = _apart(times, until)
        lat, lon = lat[kept], lon[kept]
    else:
        until = times
    for values in (times, lat, lon, until):
        values.flags.writeable = False
    return Trace(user, times, lat, lon, until)


def _apart(
    times: NDArray[np.int64], until: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.int64]]:
    """Cut intervals in order of their beginnings so that none overlaps the next.

    Returns beginnings, which interval each piece is of, and ends. At any instant the interval that
    began last holds.
    """
    begins, pieces, ends = array("q"), array("q"), array("q")
    open_stays: list[tuple[int, int]] = []  # end and number, the one that began last at the end
    nexts = [*times.tolist()[1:], int(until.max()) + 1]
    for number, (begin, end, after) in enumerate(
        zip(times.tolist(), until.tolist(), nexts, strict=True)
    ):
        open_stays.append((end, number))
        while open_stays and begin < after:
            end, holder = open_stays[-1]
            if end < begin:
                open_stays.pop()
                continue
            stop = min(end, after - 1)
            begins.append(begin)
            pieces.append(holder)
            ends.append(stop)
            begin = stop + 1
    return (
        np.array(begins, dtype=np.int64),
        np.array(pieces, dtype=np.intp),
        np.array(ends, dtype=np.int64),
    )
