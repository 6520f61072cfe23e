"""Places where a trace stays: what `priste init` proposes as regions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from priste.traces import Trace

STAY_RADIUS_KM = 0.15
SHORTEST_STAY = timedelta(minutes=20)
LONGEST_SILENCE = timedelta(hours=3)
"""A longer time without a fix ends a stay: nobody knows where the user was."""

KM_PER_DEGREE = 111.2


@dataclass(frozen=True)
class Place:
    """Somewhere a user stayed: its middle, and the share of the observed time spent there."""

    lat: float
    lon: float
    share: float


def frequent_places(traces: Iterable[Trace], most: int = 4) -> list[Place]:
    """Return up to ``most`` places in the order of the time spent there.

    A stay is a run of fixes within ``STAY_RADIUS_KM`` of its first, at least ``SHORTEST_STAY``
    long; stays within twice that radius are one place. Simple on purpose: it proposes, a person
    decides.
    """
    found: list[_Stay] = []
    observed = 0.0
    for trace in traces:
        observed += (trace.end - trace.start).total_seconds()
        for stay in _stays(trace):
            known = next((p for p in found if p.near(stay.lat, stay.lon, 2 * STAY_RADIUS_KM)), None)
            if known is None:
                found.append(stay)
            else:
                known.join(stay)
    found.sort(key=lambda stay: -stay.seconds)
    return [Place(p.lat, p.lon, p.seconds / observed) for p in found[:most]]


@dataclass
class _Stay:
    lat: float
    lon: float
    seconds: float

    def near(self, lat: float, lon: float, km: float) -> bool:
        return _apart(self.lat, self.lon, lat, lon) <= km

    def join(self, other: _Stay) -> None:
        whole = self.seconds + other.seconds
        self.lat += (other.lat - self.lat) * other.seconds / whole
        self.lon += (other.lon - self.lon) * other.seconds / whole
        self.seconds = whole


def _stays(trace: Trace) -> Iterable[_Stay]:
    times = (trace.times - trace.times[0]) / 1e6
    first = 0
    for last in range(1, len(trace) + 1):
        if (
            last < len(trace)
            and times[last] - times[last - 1] <= LONGEST_SILENCE.total_seconds()
            and _apart(trace.lat[first], trace.lon[first], trace.lat[last], trace.lon[last])
            <= STAY_RADIUS_KM
        ):
            continue
        seconds = float(times[last - 1] - times[first])
        if seconds >= SHORTEST_STAY.total_seconds():
            run = slice(first, last)
            # The middle of a stay across longitude 180° is taken around its first fix.
            east = (trace.lon[run] - trace.lon[first] + 180.0) % 360.0 - 180.0
            lon = (float(trace.lon[first]) + float(np.median(east)) + 180.0) % 360.0 - 180.0
            yield _Stay(float(np.median(trace.lat[run])), lon, seconds)
        first = last


def _apart(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Return km between two nearby positions; good to a per mille, which is enough here."""
    north = other_lat - lat
    east = ((other_lon - lon + 180.0) % 360.0 - 180.0) * np.cos(np.radians(lat))
    return KM_PER_DEGREE * float(np.hypot(north, east))
