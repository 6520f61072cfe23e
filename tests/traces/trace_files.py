"""Small files of every format, made by other software or by hand, for the tests of traces."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 1, 8, tzinfo=UTC)
# Six fixes a minute apart, on their way through a small map.
PLACES = [(46.010 + 0.002 * i, 7.020 + 0.003 * i) for i in range(6)]
TIMES = [START + timedelta(minutes=i) for i in range(6)]
SECRETS = ("417.5", "13.75", "Dr. Nobody", "HomeWifi", "cafe1234")
"""Altitude, speed and names in the files: none may be found in what is written."""


def gpx(path: Path) -> Path:
    """A GPX 1.1 file by gpxpy with everything that betrays: names, bounds, waypoints, routes."""
    import gpxpy.gpx as model

    document = model.GPX()
    document.name = "Dr. Nobody"
    document.author_name = "Dr. Nobody"
    document.bounds = model.GPXBounds(46.0, 46.1, 7.0, 7.1)
    document.waypoints.append(model.GPXWaypoint(46.01, 7.02, name="Dr. Nobody", time=START))
    route = model.GPXRoute(name="HomeWifi")
    route.points.append(model.GPXRoutePoint(46.01, 7.02))
    document.routes.append(route)
    track = model.GPXTrack(name="Dr. Nobody", description="HomeWifi")
    for half in (slice(0, 3), slice(3, 6)):
        segment = model.GPXTrackSegment()
        for (lat, lon), time in zip(PLACES[half], TIMES[half], strict=True):
            point = model.GPXTrackPoint(lat, lon, elevation=417.5, time=time, name="cafe1234")
            point.speed = 13.75
            segment.points.append(point)
        track.segments.append(segment)
    document.tracks.append(track)
    path.write_text(document.to_xml(version="1.1"), encoding="utf-8")
    return path


def csv(path: Path, users: tuple[str, ...] = ("ada", "bob")) -> Path:
    """A CSV file with a header in odd names, users interleaved, and columns that betray."""
    lines = ["Altitude,Who,When,Breite,Laenge,Place,Speed"]
    for (lat, lon), time in zip(PLACES, TIMES, strict=True):
        for user in users:
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ")
            lines.append(f'417.5,{user},{when},{lat:.6f},{lon:.6f},"Dr. Nobody, HomeWifi",13.75')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


CSV_COLUMNS = {"user": "Who", "time": "When", "lat": "Breite", "lon": "Laenge"}


def parquet(path: Path, users: tuple[str, ...] = ("ada", "bob")) -> Path:
    """A Parquet file by pyarrow, with metadata and columns that betray."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [(u, t, p) for p, t in zip(PLACES, TIMES, strict=True) for u in users]
    table = pa.table(
        {
            "altitude": pa.array([417.5] * len(rows), pa.float32()),
            "user": [row[0] for row in rows],
            "time": pa.array([row[1] for row in rows], pa.timestamp("ms", tz="UTC")),
            "lat": [row[2][0] for row in rows],
            "lon": pa.array([row[2][1] for row in rows], pa.float32()),
            "place": ["Dr. Nobody"] * len(rows),
            "tags": [["HomeWifi"]] * len(rows),
        }
    )
    pq.write_table(table.replace_schema_metadata({"bounds": "cafe1234"}), path)
    return path


def geojson(path: Path) -> Path:
    """Point features and a line with times, with properties that betray."""
    features: list[dict[str, object]] = []
    for (lat, lon), time in zip(PLACES[:3], TIMES[:3], strict=True):
        features.append(
            {
                "type": "Feature",
                "id": "cafe1234",
                "bbox": [7.0, 46.0, 7.1, 46.1],
                "geometry": {"type": "Point", "coordinates": [lon, lat, 417.5]},
                "properties": {"user": "ada", "time": time.isoformat(), "speed": 13.75},
            }
        )
    features.append(
        {
            "type": "Feature",
            "geometry": {
                "type": "LineString",
                "coordinates": [[lon, lat, 417.5] for lat, lon in PLACES[3:]],
            },
            "properties": {
                "user": "ada",
                "coordTimes": [time.isoformat() for time in TIMES[3:]],
                "name": "Dr. Nobody",
            },
        }
    )
    features.append({"type": "Feature", "geometry": None, "properties": {"note": "HomeWifi"}})
    path.write_text(
        json.dumps({"type": "FeatureCollection", "name": "Dr. Nobody", "features": features})
    )
    return path


def plt(path: Path) -> Path:
    """A Geolife .plt file with its six header lines."""
    lines = ["Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3"]
    lines += ["0,2,255,My Track,0,0,2,8421376", "0"]
    for (lat, lon), time in zip(PLACES, TIMES, strict=True):
        days = (time - datetime(1899, 12, 30, tzinfo=UTC)) / timedelta(days=1)
        lines.append(f"{lat:.6f},{lon:.6f},0,417.5,{days:.10f},{time:%Y-%m-%d,%H:%M:%S}")
    path.write_bytes("\r\n".join([*lines, ""]).encode())
    return path


def geolife(folder: Path) -> Path:
    """A Geolife folder of two users, one with labels."""
    for user in ("000", "010"):
        (folder / "Data" / user / "Trajectory").mkdir(parents=True)
        plt(folder / "Data" / user / "Trajectory" / "20240501080000.plt")
    (folder / "Data" / "010" / "labels.txt").write_bytes(
        b"Start Time\tEnd Time\tTransportation Mode\r\n"
        b"2024/05/01 08:00:00\t2024/05/01 08:05:00\tcafe1234\r\n"
    )
    return folder


def tdrive(path: Path) -> Path:
    """T-Drive lines of two taxis, in Beijing's clock time."""
    lines = []
    for (lat, lon), time in zip(PLACES, TIMES, strict=True):
        clock = time + timedelta(hours=8)
        lines += [f"{taxi},{clock:%Y-%m-%d %H:%M:%S},{lon:.5f},{lat:.5f}" for taxi in (1, 22)]
    path.write_text("\n".join(lines) + "\n")
    return path


def cabspotting(path: Path) -> Path:
    """Cabspotting lines, newest first, occupied now and then."""
    rows = list(zip(PLACES, TIMES, strict=True))
    path.write_text(
        "".join(f"{lat:.5f} {lon:.5f} 1 {int(t.timestamp())}\n" for (lat, lon), t in rows[::-1])
    )
    return path


def owntracks(path: Path) -> Path:
    """Lines of the OwnTracks Recorder: locations with fields that betray, and other messages."""
    lines = []
    for (lat, lon), time in zip(PLACES, TIMES, strict=True):
        message = {"_type": "location", "tst": int(time.timestamp()), "lat": lat, "lon": lon}
        message |= {"alt": 417.5, "vel": 13.75, "SSID": "HomeWifi", "BSSID": "cafe1234"}
        message |= {"inregions": ["Dr. Nobody"], "tid": "AB", "batt": 80}
        received = time + timedelta(seconds=41)
        lines.append(f"{received:%Y-%m-%dT%H:%M:%SZ}\t*                 \t{json.dumps(message)}")
    lines.append('2024-05-01T09:00:00Z\t-                 \t{"_type":"lwt","tst":"1714550400"}')
    lines.append(
        '2024-05-01T09:00:00Z\tevent             \t{"_type":"transition","desc":"Dr. Nobody"}'
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def nmea(path: Path) -> Path:
    """RMC and GGA sentences by pynmeagps, with speed and altitude."""
    from pynmeagps import GET, NMEAMessage

    lines = []
    for (lat, lon), time in zip(PLACES, TIMES, strict=True):
        position = {"lat": lat, "NS": "N", "lon": lon, "EW": "E"}
        rmc = {"time": time.time(), "status": "A", **position, "spd": 13.75, "date": time.date()}
        gga = {"time": time.time(), **position, "quality": 1, "numSV": 8, "alt": 417.5}
        lines += [NMEAMessage("GP", "RMC", GET, **rmc), NMEAMessage("GP", "GGA", GET, **gga)]
    path.write_bytes(b"".join(line.serialize() for line in lines))
    return path
