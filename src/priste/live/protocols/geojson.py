"""The latest release for web pages: a GeoJSON feature, by itself or as a server-sent event."""

from __future__ import annotations

import json
from typing import Any

from priste.live.point import Point


def feature(point: Point) -> dict[str, Any]:
    """Return a released point as a GeoJSON feature.

    >>> from datetime import UTC, datetime
    >>> made = feature(Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, 7.05, 500.0))
    >>> made["geometry"], made["properties"]["time"]
    ({'type': 'Point', 'coordinates': [7.05, 46.01]}, '2026-03-04T14:00:00Z')
    """
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [point.lon, point.lat]},
        "properties": {
            "person": point.person,
            "step": point.step,
            "time": point.clock,
            "accuracy": point.accuracy,
            "place": point.place,
        },
    }


def write(point: Point) -> bytes:
    """Return the feature as bytes."""
    return json.dumps(feature(point), separators=(",", ":")).encode()


def write_event(point: Point) -> bytes:
    """Return the feature as a server-sent event whose id is the step.

    >>> from datetime import UTC, datetime
    >>> write_event(Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 1.0, 2.0, 5.0))[:30]
    b'id: 3\\nevent: release\\ndata: {"t'
    """
    return b"id: %d\nevent: release\ndata: %s\n\n" % (point.step, write(point))
