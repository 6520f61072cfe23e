"""Fixes and traces: the positions of a user over time.

A fix is a position at an instant, or over a stay with a beginning and an end. Times are aware
datetimes at the surface and whole microseconds since 1970-01-01T00:00Z inside. Positions are WGS 84
degrees. The text form of these values never shows a position, so that no log contains one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(time: datetime) -> int:
    """Return an aware datetime as whole microseconds since 1970, exactly.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    if time.tzinfo is None or time.utcoffset() is None:
        raise InvalidParameter(
            "must carry its zone",
            parameter="time",
            owner="a fix",
            got="a datetime without one",
            hint="Give it tzinfo=datetime.UTC or a zoneinfo.ZoneInfo.",
        )
    return (time.astimezone(UTC) - EPOCH) // _MICROSECOND


def utc_datetime(microseconds_since_1970: int) -> datetime:
    """Return the instant as a UTC datetime: the inverse of :func:`microseconds`."""
    return EPOCH + timedelta(microseconds=int(microseconds_since_1970))


@dataclass(frozen=True, slots=True)
class Fix:
    """One position of one user at an instant, or from ``time`` until ``until`` if that is given.

    ``repr`` shows no position.
    """

    user: str | None
    time: datetime
    lat: float = field(repr=False)
    lon: float = field(repr=False)
    until: datetime | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The fixes of one user, in the order of time; frozen, and iterable as :class:`Fix`.

    ``times`` (int64, microseconds since 1970) is strictly increasing; ``lat`` is in [-90, 90] and
    ``lon`` in [-180, 180], all finite. The user was at fix i from ``times[i]`` until ``until[i]``,
    both included; the two are equal for a fix of an instant, and for all unless ``until`` is given.
    Fixes do not overlap: ``until[i] < times[i + 1]``. ``user`` is None in a source that names
    nobody. The arrays are copied unless they are already read-only.

    >>> noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    >>> trace = Trace.of([Fix("ada", noon, 48.2, 16.4)])
    >>> trace, len(trace), next(iter(trace)).time == noon
    (<Trace of 'ada', 1 fixes>, 1, True)
    """

    user: str | None
    times: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    until: NDArray[np.int64] = None  # type: ignore[assignment]  # settled below

    def __post_init__(self) -> None:
        times = _frozen(self.times, np.dtype(np.int64))
        until = times if self.until is None else _frozen(self.until, np.dtype(np.int64))
        lat = _frozen(self.lat, np.dtype(np.float64))
        lon = _frozen(self.lon, np.dtype(np.float64))
        if not (times.ndim == 1 and times.shape == lat.shape == lon.shape == until.shape):
            raise InvalidParameter(
                "must be as long as 'lat', 'lon' and 'until'",
                parameter="times",
                owner="Trace",
                got=f"shapes {times.shape}, {lat.shape}, {lon.shape} and {until.shape}",
            )
        if times.size == 0:
            raise InvalidParameter(
                "must hold at least one fix", parameter="times", owner="Trace", got="none"
            )
        if not np.all(times[1:] > times[:-1]):
            raise InvalidParameter(
                "must increase strictly",
                parameter="times",
                owner="Trace",
                hint="Some did not. read_traces sorts a file and keeps one fix per instant.",
            )
        if np.any(until < times) or np.any(until[:-1] >= times[1:]):
            raise InvalidParameter(
                "must end each stay at or after its beginning and before the next fix",
                parameter="until",
                owner="Trace",
                hint="Some did not. read_traces cuts stays that overlap.",
            )
        if not (np.all(np.abs(lat) <= 90.0) and np.all(np.abs(lon) <= 180.0)):
            raise InvalidParameter(
                "and 'lon' must be finite, in [-90, 90] and [-180, 180] degrees",
                parameter="lat",
                owner="Trace",
                hint="At least one was not.",
            )
        for name, value in (("times", times), ("lat", lat), ("lon", lon), ("until", until)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, fixes: Iterable[Fix]) -> Trace:
        """Return the trace of fixes of one user, given in the order of time."""
        listed = list(fixes)
        users = {fix.user for fix in listed}
        if len(users) != 1:
            raise InvalidParameter(
                "must be of one user",
                parameter="fixes",
                owner="Trace.of",
                got=f"fixes of {len(users)} users",
            )
        return cls(
            users.pop(),
            np.array([microseconds(fix.time) for fix in listed], dtype=np.int64),
            np.array([fix.lat for fix in listed], dtype=np.float64),
            np.array([fix.lon for fix in listed], dtype=np.float64),
            np.array([microseconds(fix.until or fix.time) for fix in listed], dtype=np.int64),
        )

    def __len__(self) -> int:
        return int(self.times.size)

    def __iter__(self) -> Iterator[Fix]:
        columns = (self.times, self.lat, self.lon, self.until)
        for time, lat, lon, until in zip(*(column.tolist() for column in columns), strict=True):
            end = None if until == time else utc_datetime(until)
            yield Fix(self.user, utc_datetime(time), lat, lon, end)

    def rows(self) -> Iterator[tuple[int, float, float]]:
        """Yield the time in microseconds since 1970, latitude and longitude of each fix."""
        yield from zip(self.times.tolist(), self.lat.tolist(), self.lon.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"<Trace of {self.user!r}, {len(self)} fixes>"

    @property
    def start(self) -> datetime:
        """The time of the first fix."""
        return utc_datetime(int(self.times[0]))

    @property
    def end(self) -> datetime:
        """The time of the last fix, or the end of the stay that it is."""
        return utc_datetime(int(self.until[-1]))

    @property
    def has_stays(self) -> bool:
        """Whether a fix of it lasts longer than an instant."""
        return self.until is not self.times and bool(np.any(self.until > self.times))

    def at(self, instants: NDArray[np.int64]) -> Trace:
        """Return the fixes as instants: each stay at its ends and at those ``instants`` within it.

        ``instants`` are microseconds since 1970 in increasing order. A trace without stays is
        returned as it is.

        >>> stay = Trace(None, [0], [46.0], [7.0], [9])
        >>> stay.at(np.array([-1, 4, 9, 12])).times.tolist()
        [0, 4, 9]
        """
        if not self.has_stays:
            return self
        # Stays do not overlap, so each instant belongs to at most one.
        holder = np.searchsorted(self.times, instants, side="right") - 1
        inside = (holder >= 0) & (instants <= self.until[holder])
        every = np.arange(len(self))
        times, first = np.unique(
            np.concatenate([self.times, self.until, instants[inside]]), return_index=True
        )
        source = np.concatenate([every, every, holder[inside]])[first]
        return Trace(self.user, times, self.lat[source], self.lon[source])

    def every(self, interval: timedelta) -> Trace:
        """Return the fixes as instants, each stay at its ends and at multiples of ``interval``.

        Use it where fixes are counted to measure time.
        """
        if not self.has_stays:
            return self
        length = interval // _MICROSECOND
        low, high = -(-self.times // length), self.until // length
        counts = np.maximum(high - low + 1, 0)
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.at((np.repeat(low, counts) + within) * length)

    def nearest(self, instants: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the fix nearest in time to each instant, the earlier of two as near.

        A stay that holds the instant is nearest.

        >>> Trace(None, [0, 20], [46.0, 47.0], [7.0, 8.0], [9, 20]).nearest(np.array([8, 14, 15]))
        array([0, 0, 1])
        """
        after = np.clip(np.searchsorted(self.times, instants), 1, max(1, len(self) - 1))
        before = after - 1
        after = np.minimum(after, len(self) - 1)
        is_before = instants - self.until[before] <= self.times[after] - instants
        return np.asarray(np.where(is_before, before, after))

    def bounds(self) -> tuple[float, float, float, float]:
        """Return ``(south, west, north, east)`` in degrees, the narrowest such box.

        ``east < west`` when the narrowest box lies across longitude 180°, as
        ``Grid.covering`` takes it.
        """
        lon = np.unique(self.lon)
        south, north = float(self.lat.min()), float(self.lat.max())
        between = np.diff(lon)
        around = 360.0 - float(lon[-1] - lon[0])
        if between.size and float(between.max()) > around:
            widest = int(np.argmax(between))
            return south, float(lon[widest + 1]), north, float(lon[widest])
        return south, float(lon[0]), north, float(lon[-1])


def _frozen(values: object, dtype: np.dtype[Any]) -> NDArray[Any]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iuf":
        raise InvalidParameter(
            "and its positions must be numbers",
            parameter="times",
            owner="Trace",
            got=f"{array.dtype} values",
        )
    if dtype.kind == "i" and array.size and array.dtype.kind == "f":
        raise InvalidParameter(
            "must be whole microseconds since 1970",
            parameter="times",
            owner="Trace",
            got="floats",
            hint="Trace.of takes datetimes.",
        )
    if array.dtype == dtype and not array.flags.writeable:
        return array
    array = array.astype(dtype)
    array.flags.writeable = False
    return array
