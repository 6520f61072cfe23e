"""Two weeks of nights at home and hours at work, as every form of export that has stays."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

MONDAY = datetime(2024, 5, 6, tzinfo=UTC)
HOME, WORK = (46.0100, 7.0200), (46.0400, 7.0600)


def week() -> list[tuple[datetime, datetime, tuple[float, float]]]:
    """Two weeks of nights at home and working hours at work, as (begin, end, place)."""
    stays = []
    for day in range(14):
        midnight = MONDAY + timedelta(days=day)
        if midnight.weekday() < 5:
            stays.append((midnight + timedelta(hours=9), midnight + timedelta(hours=17), WORK))
        stays.append((midnight + timedelta(hours=18), midnight + timedelta(hours=32), HOME))
    return stays


def iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def android(path: Path) -> Path:
    segments = [
        {
            "startTime": iso(begin),
            "endTime": iso(end),
            "visit": {"topCandidate": {"placeLocation": {"latLng": f"{lat}°, {lon}°"}}},
        }
        for begin, end, (lat, lon) in week()
    ]
    path.write_text(json.dumps({"semanticSegments": segments}))
    return path


def iphone(path: Path) -> Path:
    segments = [
        {
            "startTime": iso(begin),
            "endTime": iso(end),
            "visit": {"topCandidate": {"placeLocation": f"geo:{lat},{lon}"}},
        }
        for begin, end, (lat, lon) in week()
    ]
    path.write_text(json.dumps(segments))
    return path


def semantic_month(path: Path) -> Path:
    objects = [
        {
            "placeVisit": {
                "location": {"latitudeE7": round(lat * 1e7), "longitudeE7": round(lon * 1e7)},
                "duration": {"startTimestamp": iso(begin), "endTimestamp": iso(end)},
            }
        }
        for begin, end, (lat, lon) in week()
    ]
    path.write_text(json.dumps({"timelineObjects": objects}))
    return path


def kml(path: Path) -> Path:
    marks = "".join(
        f"<Placemark><TimeSpan><begin>{iso(begin)}</begin><end>{iso(end)}</end></TimeSpan>"
        f"<Point><coordinates>{lon},{lat},0</coordinates></Point></Placemark>"
        for begin, end, (lat, lon) in week()
    )
    path.write_text(
        f'<kml xmlns="http://www.opengis.net/kml/2.2"><Document>{marks}</Document></kml>'
    )
    return path


def geojson(path: Path) -> Path:
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
            "properties": {"startTime": iso(begin), "endTime": iso(end)},
        }
        for begin, end, (lat, lon) in week()
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def csv(path: Path) -> Path:
    """As trackintel writes staypoints."""
    rows = [f"{iso(begin)},{iso(end)},{lat},{lon}" for begin, end, (lat, lon) in week()]
    path.write_text("\n".join(["started_at,finished_at,latitude,longitude", *rows]) + "\n")
    return path


FORMS = {
    "Timeline.json": android,
    "location-history.json": iphone,
    "2024_MAY.json": semantic_month,
    "stays.kml": kml,
    "stays.geojson": geojson,
    "stays.csv": csv,
}
