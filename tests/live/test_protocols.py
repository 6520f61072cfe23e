"""Protocols without sockets: what is read, what is refused, and that nothing else passes."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.secret import SecretBox
from tests.drawn_examples import examples
from tests.live.small_town import GRID, PATH, assert_no_truth, true_position

from priste.errors import InvalidParameter
from priste.live.addresses import read_output
from priste.live.point import Point
from priste.live.protocol import Message
from priste.live.protocol_table import sinks
from priste.live.protocols import (
    geojson,
    gpsd,
    home_assistant,
    meshtastic,
    nmea,
    osmand,
    overland,
    owntracks,
)
from priste.live.protocols.fields import LARGEST_MESSAGE, Unreadable
from priste.traces import Fix
from priste.traces.formats.nmea import framed

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
POINT = Point("ada", 3, NOON, 46.0123456, -7.0654321, 400.0)
HALF_A_MILLIONTH_OF_A_MINUTE = 1e-7
"""Degrees: what five decimals of a minute can be off by."""

points = st.builds(
    Point,
    person=st.just("ada"),
    step=st.integers(0, 10**6),
    time=st.integers(0, 10**9).map(lambda seconds: NOON + timedelta(seconds=seconds)),
    lat=st.floats(-90, 90).map(lambda x: round(x, 7)),
    lon=st.floats(-180, 180).map(lambda x: round(x, 7)),
    accuracy=st.just(400.0),
)


def received(body: str) -> bytes:
    """Return a sentence as a receiver sends it."""
    return f"{framed(body)}\r\n".encode()


def read_nmea(message: bytes) -> Fix | None:
    receiver = nmea.Receiver()
    found = None
    for line in message.splitlines():
        found = receiver.read(line, NOON) or found
    return found


def read_query_text(message: bytes) -> Fix | None:
    fields = dict(part.partition("=")[::2] for part in message.decode("latin-1").split("&"))
    return osmand.read_query(fields, NOON)


KEY = owntracks.secret_box_key("a secret")


class Phone:
    """The person at the other end, with a key."""

    key = KEY


def read_batch(message: bytes) -> Fix | None:
    asked = Message(message, {}, {}, "", NOON)
    found = [reported.fix(Phone()) for reported in overland.read_post(asked)]  # type: ignore[arg-type]
    return found[0] if found else None


def read_node(message: bytes) -> Fix | None:
    return meshtastic.read_published("msh/2/json/c/!a", message).fix(Phone())  # type: ignore[arg-type]


READERS: dict[str, Callable[[bytes], Fix | None]] = {
    "owntracks": owntracks.read,
    "encrypted owntracks": lambda message: owntracks.read(message, key=KEY),
    "overland": read_batch,
    "traccar": osmand.read_json,
    "osmand": read_query_text,
    "gpsd": gpsd.read,
    "nmea": read_nmea,
    "meshtastic": read_node,
}


def refusal_of(reader: Callable[[bytes], Fix | None], message: bytes) -> Unreadable | None:
    """Return why a message is refused; None where it is passed over. A fix is a failure."""
    try:
        fix = reader(message)
    except Unreadable as refusal:
        return refusal
    assert fix is None
    return None


SECRET = "46.0123"
HOSTILE = [
    b"",
    b"\x00" * 50,
    b"[]",
    b"[" * 50_000,
    b'{"a":' * 9_000,
    b"9" * 6_000,
    b"x" * (LARGEST_MESSAGE + 1),
    b'{"_type":"location"}',
    b'{"_type":"location","lat":46.0123,"lon":7.0,"tst":null}',
    b'{"_type":"location","lat":46.0123,"lon":7.0,"tst":true}',
    b'{"_type":"location","lat":46.0123,"lon":7.0,"tst":NaN}',
    b'{"_type":"location","lat":46.0123,"lon":7.0,"tst":1e400}',
    b'{"_type":"location","lat":46.0123,"lon":"east","tst":1}',
    b'{"_type":"location","lat":46.0123,"lon":181,"tst":1}',
    b'{"_type":"location","lat":46.0123,"lon":NaN,"tst":1}',
    b'{"_type":"location","lat":46.0123,"lon":[7],"tst":1}',
    b'{"_type":"location","lat":46.0123,"lon":true,"tst":1}',
    b'{"_type":"encrypted","data":"46.0123"}',
    b'{"_type":"transition","lat":46.0123,"lon":7.0,"tst":1,"event":"enter"}',
    b'{"_type":"waypoint","lat":46.0123,"lon":7.0,"tst":1}',
    b'{"device_id":"a","location":{"coords":{"latitude":46.0123,"longitude":7}}}',
    b'{"device_id":"a","location":{"timestamp":1e308,"coords":{"latitude":46.0123,"longitude":7}}}',
    b'{"device_id":"\\u0000","location":{"timestamp":0,"coords":{"latitude":46.0123,"longitude":7}}}',
    b'{"device_id":"a","location":[46.0123]}',
    b'{"locations":46.0123}',
    b'{"locations":[46.0123]}',
    b'{"locations":[{"geometry":{"coordinates":[46.0123]},"properties":{}}]}',
    b'{"locations":[{"geometry":{"coordinates":[7,46.0123]},"properties":{"timestamp":3}}]}',
    b'{"locations":[{"geometry":{"coordinates":[7,46.0123]},"properties":{"device_id":[]}}]}',
    b'{"_type":"encrypted","data":46.0123}',
    b'{"_type":"encrypted","data":"NDYuMDEyMw=="}',
    b'{"from":-46.0123,"type":"position"}',
    b'{"from":7,"type":"position","payload":46.0123}',
    b'{"from":7,"type":"position","payload":{"latitude_i":46.0123,"longitude_i":7,"time":9}}',
    b'{"from":7,"type":"position","payload":{"latitude_i":460123000,"longitude_i":7}}',
    b'{"from":7,"type":"position","payload":{"latitude_i":0,"longitude_i":0,"time":9}}',
    b'{"from":7,"type":"waypoint","payload":{"latitude_i":460123000,"longitude_i":7,"time":9}}',
    b"id=&lat=46.0123&lon=7",
    b"id=a&lat=46.0123",
    b"id=a&lat=46.0123&lon=7&timestamp=never",
    b"id=a&lat=46.0123&lon=7&timestamp=99999999999999999999",
    "id=a&lat=46.0123&lon=7&timestamp=²".encode("latin-1"),
    b"id=a&lat=46.0123&lon=7&timestamp=nan",
    b"id=a&lat=1e999&lon=46.0123",
    b'{"class":"TPV","mode":3,"time":"46.0123","lat":46.0123,"lon":7}',
    b'{"class":"TPV","mode":3,"time":"2026-03-04T14:00:00","lat":46.0123,"lon":7}',
    b'{"class":"TPV","mode":3,"time":"0001-01-01T00:00:00+23:00","lat":46.0123,"lon":7}',
    b"$GPRMC,120000,A,4601.23,N,00700.00,E,,,040326,,,A*00",
    b"$GPRMC,120000,A,46.0123",
    b"$GPRMC*4B",
    b"$GPGGA,46.0123*FF",
]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("message", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_messages_are_refused_without_being_repeated(name: str, message: bytes) -> None:
    """No reader makes a fix of them, and what it says about them repeats nothing of them."""
    refused = refusal_of(READERS[name], message)
    assert refused is None or SECRET not in "".join(traceback.format_exception_only(refused))
    assert refused is None or refused.__context__ is None or refused.__suppress_context__


@pytest.mark.parametrize("name", READERS)
@examples(50)
@given(message=st.binary(max_size=300))
def test_noise_never_breaks_a_reader(name: str, message: bytes) -> None:
    """Whatever the bytes, a reader answers or refuses."""
    with suppress(Unreadable):
        READERS[name](message)


@given(
    said=st.dictionaries(
        st.sampled_from(
            ["_type", "class", "lat", "lon", "tst", "mode", "time", "location", "device_id"]
        ),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8)
            | st.sampled_from(["location", "TPV", "2026-03-04T12:00:00Z"]),
            lambda inner: st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["coords", "timestamp", "latitude"]), inner),
            max_leaves=4,
        ),
    ),
)  # fmt: skip
def test_json_of_any_types_never_breaks_a_reader(said: dict[str, object]) -> None:
    """Every field may have any type and size."""
    message = json.dumps(said).encode()
    for reader in (owntracks.read, osmand.read_json, gpsd.read):
        try:
            fix = reader(message)
        except Unreadable:
            continue
        assert fix is None or (abs(fix.lat) <= 90 and abs(fix.lon) <= 180)


@given(point=points)
def test_what_is_written_is_read_back(point: Point) -> None:
    """Each writer's message means the released point, at the step's time, and no other."""
    seen = [
        owntracks.read(owntracks.write(point)),
        osmand.read_query(osmand.write(point, "phone"), NOON),
        gpsd.read(gpsd.write(point)),
        read_batch(overland.write(point, "phone")),
        osmand.read_query(
            {"device": "phone", **osmand.gpslogger_request(point, "phone", "ada")["data"]}, NOON
        ),
    ]
    if point.lat or point.lon:  # nodes without a fix send zeros
        seen.append(read_node(meshtastic.write(point, 7).replace(b"sendposition", b"position")))
    for fix in seen:
        assert fix is not None
        assert (fix.lat, fix.lon) == (point.lat, point.lon)
        assert fix.time == point.time
    fix = read_nmea(nmea.write(point))
    if point.time.year < 2069:  # NMEA has two digits for the year
        assert fix is not None
        assert fix.time == point.time
        assert abs(fix.lat - point.lat) <= HALF_A_MILLIONTH_OF_A_MINUTE
        assert abs(fix.lon - point.lon) <= HALF_A_MILLIONTH_OF_A_MINUTE


OVERLAND = {
    "type": "Feature",
    "geometry": {"type": "Point", "coordinates": [7.25, 46.5]},
    "properties": {
        "timestamp": "2026-03-04T13:00:00+0100", "altitude": 80, "speed": 4, "motion": ["driving"],
        "battery_level": 0.8, "wifi": "clinic-guest", "device_id": "phone",
        "horizontal_accuracy": 5,
    },
}  # fmt: skip
"""A location as the app writes it, its time with a zone that has no colon."""


def encrypted(message: bytes, key: bytes) -> bytes:
    """Return a message as the OwnTracks app encrypts it."""
    data = base64.b64encode(SecretBox(key).encrypt(message)).decode()
    return json.dumps({"_type": "encrypted", "data": data}).encode()


def test_encrypted_messages_need_the_key() -> None:
    """Without the key, or with another, they are refused with the reason."""
    location = b'{"_type":"location","lat":46.5,"lon":7.25,"tst":1}'
    with pytest.raises(Unreadable, match="no key file"):
        owntracks.read(encrypted(location, KEY))
    with pytest.raises(Unreadable, match="does not fit the key"):
        owntracks.read(encrypted(location, KEY), key=owntracks.secret_box_key("another"))
    with pytest.raises(InvalidParameter, match="1 to 32 bytes"):
        owntracks.secret_box_key("x" * 33)


def test_readers_take_who_when_and_where() -> None:
    """The three fields come through from every form, in the instants that they state."""
    tst = int(NOON.timestamp())
    location = b'{"_type":"location","lat":46.5,"lon":7.25,"tst":%d,"vel":3,"SSID":"x"}' % tst
    traccar = {
        "location": {
            "timestamp": "2026-03-04T12:00:00.000Z",
            "coords": {"latitude": 46.5, "longitude": 7.25, "speed": 1, "accuracy": 3},
            "is_moving": True, "odometer": 5, "event": "motionchange",
            "battery": {"level": 0.4}, "activity": {"type": "walking"}, "extras": {"a": 1},
        },
        "device_id": "phone",
    }  # fmt: skip
    milliseconds = json.loads(json.dumps(traccar))
    milliseconds["location"]["timestamp"] = tst * 1000
    query = {"id": "phone", "lat": "46.5", "lon": "7.25", "speed": "3", "batt": "9"}
    found = [
        owntracks.read(location, "phone"),
        osmand.read_json(json.dumps(traccar)),
        osmand.read_json(json.dumps(milliseconds)),
        osmand.read_query({**query, "timestamp": str(tst)}, NOON),
        osmand.read_query({**query, "timestamp": str(tst * 1000)}, NOON),
        osmand.read_query({**query, "timestamp": "2026-03-04 13:00:00+01:00"}, NOON),
        osmand.read_query(query, NOON),
        osmand.read_query({"deviceid": "phone", "location": "46.5,7.25"}, NOON),
        osmand.read_query(
            {"device": "phone", "lat": "46.5", "lon": "7.25", "time": "2026-03-04T12:00:00Z"}, NOON
        ),
        read_batch(json.dumps({"locations": [OVERLAND], "trip": {"distance": 9}}).encode()),
        owntracks.read(encrypted(location, KEY), "phone", KEY),
    ]
    assert found == [Fix("phone", NOON, 46.5, 7.25)] * len(found)


def test_a_node_of_a_mesh() -> None:
    """As its firmware writes a position; times of the fix, of sending and of receiving."""
    tst = int(NOON.timestamp())
    said = {
        "channel": 0, "from": 2130636288, "hop_start": 3, "hops_away": 0, "id": 1723, "rssi": -40,
        "payload": {"PDOP": 120, "altitude": 450, "ground_speed": 3, "latitude_i": 465000000,
                    "longitude_i": 72500000, "precision_bits": 32, "sats_in_view": 9, "time": tst},
        "sender": "!7efeee00", "snr": 6.25, "timestamp": tst + 9, "to": 4294967295,
        "type": "position",
    }  # fmt: skip
    expected = Fix("!7efeee00", NOON, 46.5, 7.25)
    assert read_node(json.dumps(said).encode()) == expected
    said["payload"] |= {"time": tst + 5, "timestamp": tst}  # type: ignore[operator]
    assert read_node(json.dumps(said).encode()) == expected
    said["timestamp"] = tst
    said["payload"] |= {"time": 0, "timestamp": 0}  # type: ignore[operator]
    assert read_node(json.dumps(said).encode()) == expected


def test_an_output_to_a_mesh_names_its_node() -> None:
    """The topic ends with the node, and an address without one is refused at the start."""
    address = read_output("meshtastic+mqtt://127.0.0.1/msh/EU_868/2/json/mqtt/?node=!7efeee00")
    ((topic, payload),) = meshtastic.messages(address, "ada", POINT)
    assert topic == "msh/EU_868/2/json/mqtt/!7efeee00"
    assert json.loads(payload)["from"] == 0x7EFEEE00
    for wrong in ("", "?node=phone", "?node=!1ffffffff"):
        unnamed = read_output(f"meshtastic+mqtt://127.0.0.1/{wrong}")
        with pytest.raises(InvalidParameter, match="must be a node"):
            sinks()[unnamed.kind].outlet(unnamed, "ada")


def test_a_receiver_without_a_fix_says_nothing() -> None:
    """Sentences that state no fix, or no position, are no fixes; others are passed over."""
    lines = [
        "GPRMC,120000.00,V,,,,,,,040326,,,N",
        "GPRMC,120000.00,V,4600.60,N,00703.00,E,,,040326,,,N",
        "GPGGA,120000.00,4600.60,N,00703.00,E,0,00,99.9,,M,,M,,",
        "GPRMC,,A,,,,,,,,,,A",
        "GPGSV,1,1,00",
    ]
    for line in lines:
        assert read_nmea(received(line)) is None
    assert read_nmea(b"!AIVDM,1,1,,A,,0*26") is None


def test_a_position_without_a_date_is_of_the_nearest_day() -> None:
    """GGA alone has no date: it is of the day of the last RMC, or of now, across midnight."""
    late = received("GPGGA,235950.00,4600.60,N,00703.00,E,1,04,1.0,,M,,M,,")
    fix = nmea.Receiver().read(late, datetime(2026, 3, 5, 0, 0, 5, tzinfo=UTC))
    assert fix is not None
    assert fix.time == datetime(2026, 3, 4, 23, 59, 50, tzinfo=UTC)
    receiver = nmea.Receiver()
    dated = received("GPRMC,235959.00,A,4600.60,N,00703.00,E,,,040326,,,A")
    receiver.read(dated, NOON + timedelta(days=90))
    early = received("GPGGA,000001.00,4600.60,N,00703.00,E,1,04,1.0,,M,,M,,")
    fix = receiver.read(early, NOON + timedelta(days=90))
    assert fix is not None
    assert fix.time == datetime(2026, 3, 5, 0, 0, 1, tzinfo=UTC)


def test_a_receiver_without_dates_may_be_off_for_long() -> None:
    """GGA alone goes by the clock, also after more than half a day without a sentence."""
    receiver = nmea.Receiver()
    line = received("GPGGA,120000.00,4600.60,N,00703.00,E,1,04,1.0,,M,,M,,")
    for hours in (0, 14, 25):
        fix = receiver.read(line, NOON + timedelta(hours=hours))
        assert fix is not None
        assert fix.time == NOON + timedelta(days=1 if hours else 0)


@given(cuts=st.lists(st.integers(0, 200), max_size=6))
def test_requests_to_the_gpsd_server_may_come_in_pieces(cuts: list[int]) -> None:
    """However the bytes of requests are cut, the answers are the same."""
    asked = b'?VERSION;\n?DEVICES\n?WATCH={"enable":true,"json":true}?POLL;?WATCH={"enable":false};'
    whole = gpsd.Conversation()
    expected = b"".join(whole.hear(asked, POINT))
    talk, heard, places = gpsd.Conversation(), b"", sorted({0, *cuts, len(asked)})
    for begin, end in pairwise(places):
        heard += b"".join(talk.hear(asked[begin:end], POINT))
    assert heard == expected
    assert [json.loads(line)["class"] for line in expected.splitlines()] == [
        "VERSION", "DEVICES", "DEVICES", "WATCH", "TPV", "POLL", "DEVICES", "WATCH",
    ]  # fmt: skip
    assert not talk.listening


@given(received=st.binary(max_size=2_000))
def test_noise_never_breaks_the_gpsd_server(received: bytes) -> None:
    """A hostile client gets answers or is refused, and what is kept of it is bounded."""
    talk = gpsd.Conversation()
    with suppress(Unreadable):
        assert all(answer.endswith(b"\r\n") for answer in talk.hear(received, POINT))
        assert len(talk._begun) <= gpsd.LONGEST_REQUEST


def test_only_the_listed_fields_go_out() -> None:
    """Messages hold these keys and no others: there is nowhere for anything else to hide."""
    assert set(json.loads(owntracks.write(POINT))) == {"_type", "lat", "lon", "tst", "acc", "tid"}
    assert set(osmand.write(POINT, "a")) == {"id", "lat", "lon", "timestamp", "accuracy"}
    assert set(json.loads(gpsd.write(POINT))) == {
        "class", "device", "mode", "time", "lat", "lon", "eph", "speed",
    }  # fmt: skip
    assert json.loads(gpsd.write(POINT))["speed"] == 0.0  # the same for everybody, always
    (batched,) = json.loads(overland.write(POINT, "a"))["locations"]
    assert set(batched["properties"]) == {"timestamp", "horizontal_accuracy", "device_id"}
    form = osmand.gpslogger_request(POINT, "a", "ada")["data"]
    assert set(form) == {"lat", "lon", "timestamp", "acc"}
    sent = json.loads(meshtastic.write(POINT, 7))
    assert set(sent) == {"from", "type", "payload"}
    assert set(sent["payload"]) == {"latitude_i", "longitude_i", "time"}
    webhook = json.loads(home_assistant.write_webhook(POINT))
    assert set(webhook["data"]) == {"gps", "gps_accuracy"}
    assert set(json.loads(home_assistant.write_attributes(POINT))) == {
        "latitude", "longitude", "gps_accuracy", "released",
    }  # fmt: skip
    properties = {"person", "step", "time", "accuracy", "place"}
    assert set(geojson.feature(POINT)["properties"]) == properties


def test_the_search_for_true_coordinates_sees_them() -> None:
    """In every protocol each true position is found, and no centre of a cell is taken for one."""
    for step in range(len(PATH)):
        betraying = Point("ada", step, NOON, *true_position(step), 400.0)
        for write in (owntracks.write, gpsd.write, nmea.write, geojson.write):
            with pytest.raises(AssertionError, match="true coordinates"):
                assert_no_truth(write(betraying))
    for cell in range(GRID.size):
        lat, lon = GRID.latlon(cell)
        released = Point("ada", 0, NOON, round(lat, 7), round(lon, 7), 400.0)
        for write in (owntracks.write, gpsd.write, nmea.write, geojson.write):
            assert_no_truth(write(released))
