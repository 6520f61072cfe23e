"""Fixes and traces: who was where, when.

Times are instants: aware datetimes at the surface, whole microseconds since
1970-01-01T00:00Z inside. Positions are WGS 84 degrees. The text form of these values never
shows a position, so that none slips into a log.
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
            "A time must carry its zone. Got a datetime without one. "
            "Give it tzinfo=datetime.UTC or a zoneinfo.ZoneInfo."
        )
    return (time.astimezone(UTC) - EPOCH) // _MICROSECOND


def utc_datetime(microseconds_since_1970: int) -> datetime:
    """Return the instant as a UTC datetime: the inverse of :func:`microseconds`."""
    return EPOCH + timedelta(microseconds=int(microseconds_since_1970))


@dataclass(frozen=True, slots=True)
class Fix:
    """One position of one user at one instant. ``repr`` shows no position."""

    user: str | None
    time: datetime
    lat: float = field(repr=False)
    lon: float = field(repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The fixes of one user, in the order of time; frozen, and iterable as :class:`Fix`.

    ``times`` (int64, microseconds since 1970) is strictly increasing; ``lat`` is in [-90, 90] and
    ``lon`` in [-180, 180], all finite. ``user`` is None in a source that names nobody.
    The arrays are copied unless they are already read-only.

    >>> noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    >>> trace = Trace.of([Fix("ada", noon, 48.2, 16.4)])
    >>> trace, len(trace), next(iter(trace)).time == noon
    (<Trace of 'ada', 1 fixes>, 1, True)
    """

    user: str | None
    times: NDArray[np.int64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]

    def __post_init__(self) -> None:
        times = _frozen(self.times, np.dtype(np.int64))
        lat = _frozen(self.lat, np.dtype(np.float64))
        lon = _frozen(self.lon, np.dtype(np.float64))
        if not (times.ndim == 1 and times.shape == lat.shape == lon.shape):
            raise InvalidParameter(
                "The times, lat and lon of a Trace must be arrays of one length. "
                f"Got shapes {times.shape}, {lat.shape} and {lon.shape}."
            )
        if times.size == 0:
            raise InvalidParameter("A Trace needs at least one fix. Got none.")
        if not np.all(times[1:] > times[:-1]):
            raise InvalidParameter(
                "The times of a Trace must increase strictly. Some did not. "
                "read_traces sorts a file and keeps one fix per instant."
            )
        if not (np.all(np.abs(lat) <= 90.0) and np.all(np.abs(lon) <= 180.0)):
            raise InvalidParameter(
                "The positions of a Trace must be finite, with lat in [-90, 90] and lon in "
                "[-180, 180] degrees. At least one was not."
            )
        for name, value in (("times", times), ("lat", lat), ("lon", lon)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, fixes: Iterable[Fix]) -> Trace:
        """Return the trace of fixes of one user, given in the order of time."""
        listed = list(fixes)
        users = {fix.user for fix in listed}
        if len(users) != 1:
            raise InvalidParameter(
                f"A Trace holds the fixes of one user. Got fixes of {len(users)} users."
            )
        return cls(
            users.pop(),
            np.array([microseconds(fix.time) for fix in listed], dtype=np.int64),
            np.array([fix.lat for fix in listed], dtype=np.float64),
            np.array([fix.lon for fix in listed], dtype=np.float64),
        )

    def __len__(self) -> int:
        return int(self.times.size)

    def __iter__(self) -> Iterator[Fix]:
        columns = (self.times.tolist(), self.lat.tolist(), self.lon.tolist())
        for time, lat, lon in zip(*columns, strict=True):
            yield Fix(self.user, utc_datetime(time), lat, lon)

    def __repr__(self) -> str:
        return f"<Trace of {self.user!r}, {len(self)} fixes>"

    @property
    def start(self) -> datetime:
        """The time of the first fix."""
        return utc_datetime(int(self.times[0]))

    @property
    def end(self) -> datetime:
        """The time of the last fix."""
        return utc_datetime(int(self.times[-1]))

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
        raise InvalidParameter(f"A Trace is made of numbers. Got {array.dtype} values.")
    if dtype.kind == "i" and array.size and array.dtype.kind == "f":
        raise InvalidParameter(
            "The times of a Trace must be whole microseconds since 1970. Got floats. "
            "Trace.of takes datetimes."
        )
    if array.dtype == dtype and not array.flags.writeable:
        return array
    array = array.astype(dtype)
    array.flags.writeable = False
    return array
