"""Places where people stay: what `priste init` proposes as regions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from priste.traces import Trace

STAY_RADIUS_KM = 0.15
SHORTEST_STAY = timedelta(minutes=20)
LONGEST_SILENCE = timedelta(hours=3)
"""A longer time without a fix ends a stay, because the user may have left."""

STAY_EVERY = timedelta(minutes=5)
"""A stay that a trace states counts as fixes so far apart."""

KM_PER_DEGREE = 111.2
MOST_SHARE = 0.8
"""The usual hours of a place hold this share of the time spent there."""

_HOUR = 3600.0
_THINNED = timedelta(minutes=1) // timedelta(microseconds=1)


@dataclass(frozen=True)
class Place:
    """Somewhere people stayed: its middle, the share of the observed time, and by whom.

    ``hours`` is the time spent there by hour of the day (24 numbers, UTC), in seconds.
    """

    lat: float
    lon: float
    share: float
    visitors: int = 1
    hours: tuple[float, ...] = field(default=(0.0,) * 24, repr=False)

    def usual_hours(self, utc_offset: timedelta) -> tuple[int, int] | None:
        """Return the shortest stretch of hours with most of the time spent there, end excluded.

        None where it is spread over more than half of the day.
        """
        shift = round(utc_offset.total_seconds() / _HOUR)
        local = [self.hours[(hour - shift) % 24] for hour in range(24)]
        for length in range(1, 13):
            sums = [sum(local[(start + k) % 24] for k in range(length)) for start in range(24)]
            if max(sums) >= MOST_SHARE * sum(local) > 0:
                start = int(np.argmax(sums))
                return start, (start + length) % 24
        return None

    def night_seconds(self, utc_offset: timedelta) -> float:
        """Return the time spent there from 22:00 to 06:00."""
        shift = round(utc_offset.total_seconds() / _HOUR)
        return sum(self.hours[(hour - shift) % 24] for hour in (22, 23, 0, 1, 2, 3, 4, 5))


def frequent_places(traces: Iterable[Trace], most: int = 4) -> list[Place]:
    """Return up to ``most`` places, those of the most people first, then of the most time.

    A stay is a run of fixes within ``STAY_RADIUS_KM`` of its first, at least ``SHORTEST_STAY``
    long; stays within twice that radius are one place. It is simple on purpose, because it only
    proposes places. The share is of the time in which there are fixes, silences of more than
    ``LONGEST_SILENCE`` left out.
    """
    found: list[_Stay] = []
    tiles: dict[tuple[int, int], list[_Stay]] = {}
    observed = 0.0
    for number, trace in enumerate(traces):
        thin = _thinned(trace.every(STAY_EVERY))
        observed += _observed_seconds(thin)
        for stay in _stays(thin):
            known = _known(tiles, stay)
            if known is None:
                found.append(stay)
                tiles.setdefault(stay.tile, []).append(stay)
                known = stay
            else:
                known.join(stay)
            known.visitors.add(number)
    found.sort(key=lambda stay: (-len(stay.visitors), -stay.seconds))
    return [
        Place(p.lat, p.lon, p.seconds / observed, len(p.visitors), tuple(p.hours.tolist()))
        for p in found[:most]
    ]


def _thinned(trace: Trace) -> Trace:
    """Return one fix per minute, which is enough to find stays."""
    kept = np.unique(trace.times // _THINNED, return_index=True)[1]
    return Trace(trace.user, trace.times[kept], trace.lat[kept], trace.lon[kept])


def _observed_seconds(trace: Trace) -> float:
    gaps = np.diff(trace.times) / 1e6
    return float(gaps[gaps <= LONGEST_SILENCE.total_seconds()].sum()) or 1.0


@dataclass
class _Stay:
    lat: float
    lon: float
    seconds: float
    hours: NDArray[np.float64]
    visitors: set[int] = field(default_factory=set)

    @property
    def tile(self) -> tuple[int, int]:
        """A square of latitude and longitude that is larger than a place is wide."""
        return math.floor(self.lat * 100), math.floor((self.lon + 180.0) * 100)

    def near(self, lat: float, lon: float, km: float) -> bool:
        return apart_km(self.lat, self.lon, lat, lon) <= km

    def join(self, other: _Stay) -> None:
        whole = self.seconds + other.seconds
        east = (other.lon - self.lon + 180.0) % 360.0 - 180.0
        self.lat += (other.lat - self.lat) * other.seconds / whole
        self.lon = (self.lon + east * other.seconds / whole + 180.0) % 360.0 - 180.0
        self.seconds = whole
        self.hours += other.hours


def _known(tiles: dict[tuple[int, int], list[_Stay]], stay: _Stay) -> _Stay | None:
    """Return a place near a stay; places drift as stays join, but not beyond the next tile."""
    row, column = stay.tile
    wide = range(-1, 2) if abs(stay.lat) < 60 else range(-3, 4)
    for down in range(-1, 2):
        for along in wide:
            for place in tiles.get((row + down, (column + along) % 36_000), ()):
                if place.near(stay.lat, stay.lon, 2 * STAY_RADIUS_KM):
                    return place
    return None


def _stays(trace: Trace) -> Iterator[_Stay]:
    times: Sequence[float] = ((trace.times - trace.times[0]) / 1e6).tolist()
    lats: Sequence[float] = trace.lat.tolist()
    lons: Sequence[float] = trace.lon.tolist()
    silence = LONGEST_SILENCE.total_seconds()
    first = 0
    for last in range(1, len(lats) + 1):
        if (
            last < len(lats)
            and times[last] - times[last - 1] <= silence
            and apart_km(lats[first], lons[first], lats[last], lons[last]) <= STAY_RADIUS_KM
        ):
            continue
        seconds = times[last - 1] - times[first]
        if seconds >= SHORTEST_STAY.total_seconds():
            run = slice(first, last)
            # The middle of a stay across longitude 180° is taken around its first fix.
            east = (trace.lon[run] - lons[first] + 180.0) % 360.0 - 180.0
            lon = (lons[first] + float(np.median(east)) + 180.0) % 360.0 - 180.0
            hours = _by_hour(int(trace.times[first]) / 1e6, seconds)
            yield _Stay(float(np.median(trace.lat[run])), lon, seconds, hours)
        first = last


def _by_hour(begin: float, seconds: float) -> NDArray[np.float64]:
    """Spread a stretch of time over the hours of the day (UTC)."""
    hours = np.zeros(24)
    end = begin + seconds
    while begin < end:
        until = min((begin // _HOUR + 1) * _HOUR, end)
        hours[int(begin // _HOUR) % 24] += until - begin
        begin = until
    return hours


def apart_km(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Return km between two nearby positions; good to a per mille, which is enough here."""
    north = other_lat - lat
    east = ((other_lon - lon + 180.0) % 360.0 - 180.0) * math.cos(math.radians(lat))
    return KM_PER_DEGREE * math.hypot(north, east)
