"""Small exports of phones, watches and map services, each with the same three fixes."""

from __future__ import annotations

import json
import struct
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 6, 8, 0, tzinfo=UTC)
PLACES = [(46.0101, 7.0102), (46.0203, 7.0304), (46.0305, 7.0406)]
SECRET = "ChIJ-secret"


def at(minutes: int, zone: str = "Z") -> str:
    return (START + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.000") + zone


def degrees(place: tuple[float, float]) -> str:
    return f"{place[0]}°, {place[1]}°"


def geo(place: tuple[float, float]) -> str:
    return f"geo:{place[0]},{place[1]}"


def e7(place: tuple[float, float]) -> dict[str, int]:
    return {"latitudeE7": round(place[0] * 1e7), "longitudeE7": round(place[1] * 1e7)}


def android(path: Path) -> Path:
    a, b, c = PLACES
    document = {
        "semanticSegments": [
            {
                "startTime": at(0, "+00:00"),
                "endTime": at(10, "+00:00"),
                "timelinePath": [
                    {"point": degrees(a), "time": at(0, "+00:00")},
                    {"point": degrees(b), "time": at(10, "+00:00")},
                ],
            },
            {"startTime": at(20), "endTime": at(20), "timelineMemory": {"trip": {}}},
        ],
        "rawSignals": [
            {"activityRecord": {"probableActivities": []}},
            {"position": {"LatLng": degrees(c), "timestamp": at(20), "accuracyMeters": 5}},
        ],
        "userLocationProfile": {"frequentPlaces": [{"placeId": SECRET}]},
    }
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def iphone(path: Path) -> Path:
    a, b, c = PLACES
    document = [
        {
            "startTime": at(0),
            "endTime": at(30),
            "timelinePath": [
                {"point": geo(a), "durationMinutesOffsetFromStartTime": "0"},
                {"point": geo(b), "durationMinutesOffsetFromStartTime": "10"},
                {"point": geo(c), "durationMinutesOffsetFromStartTime": "20"},
            ],
        },
        {"startTime": at(0), "endTime": at(30), "timelineMemory": {"destination": SECRET}},
    ]
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def takeout(path: Path) -> Path:
    a, b, c = PLACES
    document = {
        "locations": [
            {**e7(a), "timestamp": at(0), "accuracy": 12, "deviceTag": 4711, "source": "WIFI"},
            {**e7(b), "timestampMs": str(int((START.timestamp() + 600) * 1000))},
            {**e7(c), "timestamp": at(20), "placeId": SECRET},
        ]
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def month(path: Path) -> Path:
    a, b, c = PLACES
    document = {
        "timelineObjects": [
            {
                "activitySegment": {
                    "startLocation": e7(a),
                    "endLocation": e7(b),
                    "duration": {"startTimestamp": at(0), "endTimestamp": at(10)},
                }
            },
            {
                "placeVisit": {
                    "location": {**e7(c), "name": SECRET},
                    "duration": {"startTimestamp": at(20), "endTimestamp": at(20)},
                }
            },
        ]
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def owntracks(path: Path) -> Path:
    messages = [{"_type": "lwt", "tst": 1}]
    for number, (lat, lon) in enumerate(PLACES):
        when = int(START.timestamp()) + 600 * number
        messages.append({"_type": "location", "lat": lat, "lon": lon, "tst": when, "SSID": SECRET})
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def kml_text() -> str:
    whens = "".join(f"<when>{at(10 * number)}</when>" for number in range(2))
    coords = "".join(f"<gx:coord>{lon} {lat} 470</gx:coord>" for lat, lon in PLACES[:2])
    lat, lon = PLACES[2]
    return (
        '<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2" '
        'xmlns:gx="http://www.google.com/kml/ext/2.2"><Document>'
        f"<Placemark><name>{SECRET}</name><gx:Track>{whens}{coords}</gx:Track></Placemark>"
        f"<Placemark><TimeStamp><when>{at(20)}</when></TimeStamp>"
        f"<Point><coordinates>{lon},{lat},0</coordinates></Point></Placemark>"
        "<Placemark><LineString><coordinates>7.1,46.1,0 7.2,46.2,0</coordinates></LineString>"
        "</Placemark></Document></kml>"
    )


def kml(path: Path) -> Path:
    path.write_text(kml_text(), encoding="utf-8")
    return path


def kmz(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("doc.kml", kml_text())
        archive.writestr("files/icon.png", b"")
    return path


def tcx(path: Path) -> Path:
    points = "".join(
        f"<Trackpoint><Time>{at(10 * number)}</Time><Position><LatitudeDegrees>{lat}"
        f"</LatitudeDegrees><LongitudeDegrees>{lon}</LongitudeDegrees></Position>"
        f"<HeartRateBpm><Value>123</Value></HeartRateBpm><Notes>{SECRET}</Notes></Trackpoint>"
        for number, (lat, lon) in enumerate(PLACES)
    )
    path.write_text(
        '<?xml version="1.0"?><TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/'
        'TrainingCenterDatabase/v2"><Activities><Activity Sport="Running"><Lap><Track>'
        f"{points}</Track></Lap></Activity></Activities></TrainingCenterDatabase>",
        encoding="utf-8",
    )
    return path


def fit(path: Path) -> Path:
    """Write the smallest FIT file: a definition of "record" and one message a place."""
    fields = [(253, 4, 0x86), (0, 4, 0x85), (1, 4, 0x85)]  # timestamp, position_lat, _long
    body = struct.pack("<BBBHB", 0x40, 0, 0, 20, len(fields))
    body += b"".join(struct.pack("<BBB", *field) for field in fields)
    epoch = datetime(1989, 12, 31, tzinfo=UTC)
    for number, (lat, lon) in enumerate(PLACES):
        seconds = int((START - epoch).total_seconds()) + 600 * number
        turns = [round(value * 2**31 / 180) for value in (lat, lon)]
        body += struct.pack("<BIii", 0, seconds, *turns)
    header = struct.pack("<BBHI4s", 14, 0x20, 2132, len(body), b".FIT")
    header += struct.pack("<H", crc(header))
    path.write_bytes(header + body + struct.pack("<H", crc(header + body)))
    return path


def crc(data: bytes) -> int:
    table = [0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401]
    table += [0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400]
    value = 0
    for byte in data:
        for nibble in (byte & 0xF, byte >> 4):
            value = (value >> 4) & 0x0FFF ^ table[value & 0xF] ^ table[nibble]
    return value
