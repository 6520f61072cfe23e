"""Clock times and instants: what a wall clock of a zone showed at an instant.

A clock time needs a zone. Clocks that are set back show some times twice, clocks that are set
forward skip some. Both are found and counted.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter, TraceError
from priste.traces.fixes import EPOCH, microseconds, utc_datetime
from priste.traces.record_problems import Problem, Tally

NO_TIME = np.iinfo(np.int64).min
UNREADABLE_TIME = NO_TIME + 1
"""Stand for a missing and for an unreadable time in arrays of microseconds."""

_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
_HOUR = 3_600_000_000
# Clock times that datetime can hold with a day to spare on both sides.
_FIRST_CLOCK = (datetime(2, 1, 1) - _NAIVE_EPOCH) // timedelta(microseconds=1)
_LAST_CLOCK = (datetime(9998, 12, 31) - _NAIVE_EPOCH) // timedelta(microseconds=1)

Zone = str | tzinfo


def zone_of(zone: Zone) -> tzinfo:
    """Return the zone of a name of the IANA list ("Europe/Paris", "UTC"), or a tzinfo as it is.

    >>> zone_of("Europe/Paris")
    zoneinfo.ZoneInfo(key='Europe/Paris')
    """
    if isinstance(zone, tzinfo):
        return zone
    if not isinstance(zone, str):
        raise InvalidParameter(
            "must be a name such as 'Europe/Paris' or a tzinfo",
            parameter="zone",
            got=f"{type(zone).__name__}",
        )
    if zone.upper() in ("UTC", "Z", "GMT"):
        return UTC
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidParameter(
            "must be in the IANA list",
            parameter="zone",
            value=zone,
            hint="Write it as 'Europe/Paris', 'America/New_York' or 'UTC'.",
        ) from None


def zone_needed(what: str, where: str = "") -> TraceError:
    """Return the error for clock times without a zone; ``where`` tells more about the clock."""
    hint = "It is that of the clock that wrote them, such as Europe/Paris or UTC."
    return TraceError(
        f"must be given: the times of {what} carry none.",
        parameter="zone",
        hint=f"{hint} {where}" if where else hint,
    )


def readings(clock: datetime, zone: tzinfo) -> tuple[datetime, ...]:
    """Return the instants at which clocks of ``zone`` showed ``clock``: one, two or none.

    >>> paris = zone_of("Europe/Paris")
    >>> clocks = [datetime(2024, 3, 30, 2), datetime(2024, 3, 31, 2), datetime(2024, 10, 27, 2)]
    >>> [len(readings(clock, paris)) for clock in clocks]
    [1, 0, 2]
    """
    naive = clock.replace(tzinfo=None)
    found = {naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return tuple(
        sorted(
            time for time in found if time.astimezone(zone).replace(tzinfo=None, fold=0) == naive
        )
    )


def instants(
    clocks: NDArray[np.int64], zone: tzinfo, tally: Tally
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Turn clock times of a zone, in microseconds, into instants; counts the odd ones.

    Returns the instants and which of them exist. :data:`NO_TIME` stays as it is (and counts as
    existing: a missing time is another problem). Ambiguous times become the first instant.
    """
    result = clocks.copy()
    exists = np.ones(clocks.shape, dtype=np.bool_)
    known = (clocks >= _FIRST_CLOCK) & (clocks <= _LAST_CLOCK)
    if zone is UTC or not known.any():
        return result, exists
    # An hour whose ends agree in both folds has one offset; the few others go one by one.
    hours, inverse = np.unique(clocks[known] // _HOUR, return_inverse=True)
    shifts = np.empty(hours.shape, dtype=np.int64)
    steady = np.empty(hours.shape, dtype=np.bool_)
    for index, hour in enumerate(hours.tolist()):
        first = _NAIVE_EPOCH + timedelta(hours=hour)
        last = first + timedelta(hours=1, microseconds=-1)
        offsets = {
            clock.replace(tzinfo=zone, fold=fold).utcoffset()
            for clock in (first, last)
            for fold in (0, 1)
        }
        offset = first.replace(tzinfo=zone).utcoffset()
        steady[index] = len(offsets) == 1
        shifts[index] = 0 if offset is None else offset // timedelta(microseconds=1)
    places = np.flatnonzero(known)
    result[places] -= shifts[inverse]
    for place in places[~steady[inverse]].tolist():
        clock = _NAIVE_EPOCH + timedelta(microseconds=int(clocks[place]))
        when = readings(clock, zone)
        exists[place] = bool(when)
        if when:
            result[place] = microseconds(when[0])
        if len(when) == 2:
            tally.add(Problem.AMBIGUOUS_TIME)
    return result, exists


def jump_over(clock: datetime, zone: tzinfo) -> datetime:
    """Return the instant at which clocks of ``zone`` jumped over ``clock``, a time they skipped."""
    naive = clock.replace(tzinfo=None)
    before, after = sorted(
        microseconds(naive.replace(tzinfo=zone, fold=fold).astimezone(UTC)) for fold in (0, 1)
    )
    old_offset = (EPOCH + timedelta(microseconds=before)).astimezone(zone).utcoffset()
    while after - before > 1:
        middle = (before + after) // 2
        offset = (EPOCH + timedelta(microseconds=middle)).astimezone(zone).utcoffset()
        before, after = (middle, after) if offset == old_offset else (before, middle)
    return EPOCH + timedelta(microseconds=after)


_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def check_unit(unit: str) -> int:
    """Return how many microseconds a unit of Unix time has: "s", "ms" or "us"."""
    if unit not in _UNITS:
        raise InvalidParameter("must be 's', 'ms' or 'us'", parameter="time_unit", value=unit)
    return _UNITS[unit]


def instant_of(
    value: object, zone: tzinfo | None, what: str, tally: Tally, unit: str = "s"
) -> int | Problem:
    """Return the instant, in microseconds, that a value of a JSON or XML document states.

    Numbers (also as text) are Unix times in ``unit``; texts are ISO 8601. A clock time without a
    zone is read in ``zone``, and raises :class:`TraceError` when that is None. What cannot be
    read is a :class:`Problem`; the caller counts it.
    """
    if isinstance(value, str):
        text = value.strip()
        try:
            return _unix(float(text), unit)
        except ValueError:
            pass
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            return Problem.UNREADABLE_TIME if text else Problem.MISSING_TIME
        if time.tzinfo is not None:
            return _aware(time)
        if zone is None:
            raise zone_needed(what)
        when = readings(time, zone) if _FIRST_CLOCK <= _clock(time) <= _LAST_CLOCK else ()
        if not when:
            return Problem.NONEXISTENT_TIME
        if len(when) == 2:
            tally.add(Problem.AMBIGUOUS_TIME)
        return microseconds(when[0])
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _unix(value, unit)
    return Problem.MISSING_TIME


def utc_instant(value: object) -> int | None:
    """Return an ISO 8601 text (or a number of seconds) as an instant; without a zone it is UTC.

    None for what is no time.

    >>> utc_instant("1970-01-01T00:00:01Z"), utc_instant("1970-01-01T00:00:01"), utc_instant("soon")
    (1000000, 1000000, None)
    """
    found = instant_of(value, UTC, "a record", Tally())
    return None if isinstance(found, Problem) else found


def iso_text(instant: int) -> str:
    """Return an instant as ISO 8601 text in UTC, as files hold it.

    >>> iso_text(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return utc_datetime(instant).isoformat().replace("+00:00", "Z")


def _clock(time: datetime) -> int:
    return (time - _NAIVE_EPOCH) // timedelta(microseconds=1)


def _aware(time: datetime) -> int | Problem:
    try:
        return microseconds(time)
    except OverflowError:  # the first or last day of the calendar, moved beyond it by its zone
        return Problem.IMPOSSIBLE_TIME


def _unix(value: float, unit: str) -> int | Problem:
    scaled = value * check_unit(unit)
    if not abs(scaled) < 2**62:  # also false for nan
        return Problem.IMPOSSIBLE_TIME
    return round(scaled)
