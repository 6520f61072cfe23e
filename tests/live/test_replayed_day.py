"""A person's day, replayed through every output; and the same day with other guarded hours.

Ada's Wednesday in the made-up town, with a secret of three answers: where she was from 14 to 16.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.live.running import (
    Child,
    InThread,
    Recorder,
    free_port,
    mosquitto,
    program,
    serving,
    wait_for,
)

from priste.batch.streams import protect_stream
from priste.live.addresses import read_input, read_output
from priste.live.person_stream import StreamOptions
from priste.live.protocol_table import sinks
from priste.live.protocols import nmea, owntracks
from priste.live.retrying import Line
from priste.live.settings import PersonSettings, Settings
from priste.live.sources.replay import play
from priste.policy import read_policy
from priste.traces import Fix, Trace, write_traces
from priste.traces.town import TOWN_ZONE, ada, town_places

DAY = date(2026, 3, 4)
HOSPITAL, PARK = town_places()["hospital"], town_places()["park"]
SEED = 11
NMEA_ROUNDING = 1e-7
"""Degrees: five decimals of a minute."""

POLICY = f"""\
[map]
south = 46.000
west = 7.000
north = 46.054
east = 7.078
cell_size = 1.2
[clock]
start = {DAY}T00:00:00
zone = "{TOWN_ZONE}"
step = "30min"
steps = 48
[mobility]
kind = "gaussian"
sigma = 0.8
[mechanism]
kind = "planar-laplace"
alpha = 2.0
[adversary]
knows = "population"
[guarantee]
epsilon = 1.0
[regions.hospital]
circle = {{ lat = {HOSPITAL[0]}, lon = {HOSPITAL[1]}, radius_km = 0.1 }}
[regions.park]
circle = {{ lat = {PARK[0]}, lon = {PARK[1]}, radius_km = 0.1 }}
[secrets.afternoon.answers]
hospital = 'presence(hospital, "14:00-16:00")'
park = 'presence(park, "14:00-16:00") and not presence(hospital, "14:00-16:00")'
"""


def recorded_day() -> list[Fix]:
    """Return Ada's fixes of the day; she is at the hospital from 14 to 16."""
    begin = datetime.combine(DAY, time(0), ZoneInfo(TOWN_ZONE))
    return [fix for fix in ada() if begin <= fix.time < begin + timedelta(days=1)]


def guarded(fix: Fix) -> bool:
    policy = read_policy(POLICY)
    step = policy.timeline.step_at(fix.time)
    return any(step in hours for hours in policy.guarded_hours)


@dataclass
class World:
    """Everything that one replay left behind."""

    pushed: list[tuple[str, bytes]] = field(default_factory=list)
    published: list[tuple[bytes, bytes]] = field(default_factory=list)
    served: dict[str, bytes] = field(default_factory=dict)
    log: list[dict[str, object]] = field(default_factory=list)
    status: str = ""
    page: str = ""
    files: dict[str, bytes] = field(default_factory=dict)


@contextmanager
def heard(path: Path | int, hello: bytes) -> Iterator[bytearray]:
    """Connect to a server of ours, and yield what it says in the end."""
    family = socket.AF_INET if isinstance(path, int) else socket.AF_UNIX
    with socket.socket(family) as line:
        line.connect(("127.0.0.1", path) if isinstance(path, int) else str(path))
        line.sendall(hello)
        said = bytearray()
        yield said
        while data := line.recv(65_536):
            said += data


def outputs(folder: Path, http: int, broker: int) -> list[str]:
    """Return an address of every kind of output that needs no certificate."""
    web, mqtt = f"http://127.0.0.1:{http}", f"mqtt://127.0.0.1:{broker}"
    return [
        f"owntracks+{web}/pub?device=phone",
        f"overland+{web}/overland",
        f"osmand+{web}/osmand",
        f"gpslogger+{web}/gpslogger",
        f"homeassistant+{web}/api/webhook/x?accuracy=700",
        f"owntracks+{mqtt}/released/ada/phone",
        f"homeassistant+{mqtt}/",
        f"meshtastic+{mqtt}/msh/EU_868/2/json/mqtt?node=!7efeee00",
        "gpsd://127.0.0.1:0",
        "nmea+tcp://127.0.0.1:0",
        f"nmea+unix://{folder}/nmea.sock",
    ]


def replayed(
    folder: Path, fixes: list[Fix], caplog: pytest.LogCaptureFixture, ports: tuple[int, int]
) -> World:
    """Replay a trace through all outputs and return what each of them received."""
    folder.mkdir()
    (folder / "policy.toml").write_text(POLICY)
    write_traces([Trace.of(fixes)], folder / "day.csv")
    http, broker = ports
    recorder, world = Recorder(http), World()
    addresses = outputs(folder, http, broker)
    kinds = {text.partition(":")[0] for text in addresses}
    assert kinds == {kind for kind in sinks() if not kind.endswith(("https", "mqtts"))}
    person = PersonSettings(
        "ada",
        folder / "policy.toml",
        outputs=tuple(map(read_output, addresses)),
        options=StreamOptions(seed=SEED),
        clock="fixes",
    )
    caplog.clear()
    with ExitStack() as stack:
        stack.callback(mosquitto(folder, broker).end)
        hearing = Child(
            program("mosquitto_sub"), "-p", str(broker), "-t", "#", "-F", "%t %r %p", "--qos", "1"
        )
        stack.callback(hearing.end)
        stack.enter_context(recorder.up())
        stack.enter_context(caplog.at_level(logging.INFO, "priste.live"))
        live = stack.enter_context(
            serving(Settings(folder / "state", (person,), listen=("127.0.0.1", 0)))
        )
        wait_for(lambda: b"homeassistant/" in hearing.out, "mosquitto_sub hears")
        said = {
            "gpsd": stack.enter_context(heard(live.port_of(8), b'?WATCH={"enable":true}\n')),
            "nmea+tcp": stack.enter_context(heard(live.port_of(9), b"")),
            "nmea+unix": stack.enter_context(heard(folder / "nmea.sock", b"")),
        }
        wait_for(lambda: _watching(live), "every client listens")
        source = read_input(f"replay://{folder}/day.csv")
        live.do(play(source, live.person, Line("replay:")))
        live.do(live.person.finish())
        wait_for(lambda: not any(o.line.waiting for o in live.person.outlets[:8]), "all is sent")
        wait_for(lambda: hearing.out.count(b"\nmsh/") == 48, "mosquitto_sub heard all")
        world.page = _owner_page(live)
        live.stop()
        world.pushed = recorder.received
        world.published = [
            (line.split(b" ", 2)[0], line.split(b" ", 1)[1]) for line in hearing.lines()
        ]
    world.served = {kind: _distinct(bytes(text)) for kind, text in said.items()}
    logged = [json.loads(record.message) for record in caplog.records]
    world.log = [{k: v for k, v in each.items() if k not in ("time", "port")} for each in logged]
    for path in sorted((folder / "state").rglob("*")):
        if path.is_file() and path.name != "status.json":
            world.files[str(path.relative_to(folder))] = path.read_bytes()
    world.status = _plain((folder / "state" / "status.json").read_text())
    return world


def _watching(live: InThread) -> bool:
    return all(
        [client.talk.listening for client in outlet._clients] == [True]  # type: ignore[attr-defined]
        for outlet in live.person.outlets[8:]
    )


def _owner_page(live: InThread) -> str:
    import httpx

    asked = {"token": live.service.owner_token}
    return _plain(httpx.get(live.url, params=asked, trust_env=False).text)


def _plain(text: str) -> str:
    """Return a status without the clock of this machine, ports and counts of repeated reports."""
    own = r'"(written|started|process|url|messages)": [^,]*|since \S+ process \d+|\d+ messages'
    return re.sub(own, "", text)


def _distinct(text: bytes) -> bytes:
    """Return lines without repetitions: the latest release is repeated every second."""
    return b"\n".join(dict.fromkeys(text.splitlines()))


@pytest.fixture
def same_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give streams and owners of all worlds the same random names."""
    monkeypatch.setattr(secrets, "token_hex", lambda size: "ab" * size)
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size: "ab" * size)


@pytest.mark.usefixtures("same_names")
def test_every_output_gets_the_day_and_nothing_of_its_guarded_hours(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All outputs get what ``priste protect`` releases, the same in three worlds.

    The worlds differ in the guarded hours only: at the hospital, at the park with many fixes,
    and with a phone that was switched off.
    """
    day, ports = recorded_day(), (free_port(), free_port())
    outside = [fix for fix in day if not guarded(fix)]
    inside = [fix for fix in day if guarded(fix)]
    assert len(inside) > 10
    at_the_park = [
        Fix(fix.user, fix.time + timedelta(seconds=seconds), *PARK)
        for fix in inside
        for seconds in range(0, 300, 60)
    ]
    worlds = [
        replayed(
            tmp_path / name, sorted([*outside, *more], key=lambda fix: fix.time), caplog, ports
        )
        for name, more in (("a", inside), ("b", at_the_park), ("c", []))
    ]
    first = worlds[0]
    _check_points(first, day)
    for other in worlds[1:]:
        assert sorted(other.pushed) == sorted(first.pushed)
        assert sorted(other.published) == sorted(first.published)
        assert other.served == first.served
        assert other.log == first.log
        assert other.status == first.status
        assert other.page == first.page
        assert other.files == first.files


def _check_points(world: World, day: list[Fix]) -> None:
    """Compare what each output received with the releases for the same cells and seed."""
    policy = read_policy(POLICY)
    cells = policy.stream_cells(Trace.of(day))
    done = protect_stream(policy, None, cells, seed=SEED)
    centres = [policy.grid.latlon(cell) for cell in done.cells if cell is not None]
    expected = [(round(lat, 7), round(lon, 7)) for lat, lon in centres]
    assert len(expected) == policy.steps == 48

    bodies = {path: [body for at, body in world.pushed if at == path] for path, _ in world.pushed}
    posted = [owntracks.read(body) for body in bodies["/pub"]]
    assert [(fix.lat, fix.lon) for fix in posted] == expected
    begin = datetime.combine(DAY, time(0), ZoneInfo(TOWN_ZONE)).astimezone(UTC)
    assert [fix.time for fix in posted] == [begin + n * timedelta(minutes=30) for n in range(48)]
    overland = [json.loads(body)["locations"][0] for body in bodies["/overland"]]
    assert [tuple(each["geometry"]["coordinates"][::-1]) for each in overland] == expected
    hooked = [json.loads(body)["data"] for body in bodies["/api/webhook/x"]]
    assert [tuple(each["gps"]) for each in hooked] == expected
    queries = [path for path, _ in world.pushed if path.startswith("/osmand")]
    forms = [body.decode() for body in bodies["/gpslogger"]]
    for texts in (queries, forms):
        found = [re.search(r"lat=([\d.]+)&lon=([\d.]+)", text) for text in texts]
        assert [tuple(map(float, each.groups())) for each in found if each] == expected

    payloads: dict[bytes, list[dict[str, object]]] = {}
    for topic, rest in world.published:
        payloads.setdefault(topic, []).append(json.loads(rest.split(b" ", 1)[1]))
    found = [(each["lat"], each["lon"]) for each in payloads[b"released/ada/phone"]]
    assert found == expected
    tracker = payloads[b"priste/ada/location"]
    assert [(each["latitude"], each["longitude"]) for each in tracker] == expected
    mesh = [each["payload"] for each in payloads[b"msh/EU_868/2/json/mqtt/!7efeee00"]]
    in_degrees = [(p["latitude_i"] / 1e7, p["longitude_i"] / 1e7) for p in mesh]  # type: ignore[index]
    assert in_degrees == expected

    reports = [json.loads(line) for line in world.served["gpsd"].splitlines()]
    assert [(r["lat"], r["lon"]) for r in reports if r["class"] == "TPV"] == expected
    for kind in ("nmea+tcp", "nmea+unix"):
        receiver = nmea.Receiver()
        lines = [line for line in world.served[kind].splitlines() if line.startswith(b"$GPRMC")]
        fixes = [receiver.read(line, begin) for line in lines]
        assert len(fixes) == len(expected)
        for fix, (lat, lon) in zip(fixes, expected, strict=True):
            assert fix is not None
            assert max(abs(fix.lat - lat), abs(fix.lon - lon)) <= NMEA_ROUNDING
