"""With software that nobody here wrote: exact points come out, and no true coordinate anywhere."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nacl.secret import SecretBox
from tests.live.running import (
    Child,
    InThread,
    answers,
    free_port,
    mosquitto,
    program,
    running,
    serving,
    wait_for,
)
from tests.live.small_town import (
    GRID,
    PATH,
    POLICY,
    assert_no_truth,
    fix_of,
    folder_bytes,
    true_position,
    write_policy,
)

from priste.batch.streams import protect_stream
from priste.cli.console import NOT_RUNNING
from priste.live import retrying
from priste.live.addresses import read_input, read_output
from priste.live.person_stream import StreamOptions
from priste.live.protocols.fields import UNKNOWN_DEVICE
from priste.live.protocols.nmea import Receiver
from priste.live.protocols.owntracks import secret_box_key
from priste.live.settings import PersonSettings, Settings
from priste.policy import read_policy
from priste.traces.formats.nmea import framed, position

SEED = 5
STEPS = 6
"""How many steps are driven; each needs one fix, and the last stays open."""

MINUTES_ROUNDING = 2e-7
"""Degrees: five decimals of a minute, as NMEA carries them."""

Points = list[tuple[float, float]]


@pytest.fixture(scope="module")
def expected() -> Points:
    """What `priste protect` releases for the same cells, seed and policy."""
    done = protect_stream(read_policy(POLICY), None, PATH, seed=SEED)
    found = []
    for cell in done.cells:
        assert cell is not None
        lat, lon = GRID.latlon(cell)
        found.append((round(lat, 7), round(lon, 7)))
    return found


def settings(
    folder: Path, *, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()
) -> Settings:
    person = PersonSettings(
        "ada",
        write_policy(folder),
        inputs=tuple(map(read_input, inputs)),
        outputs=tuple(map(read_output, outputs)),
        options=StreamOptions(seed=SEED),
        clock="fixes",
    )
    return Settings(folder / "state", (person,), listen=("127.0.0.1", 0))


def owntracks(step: int) -> str:
    """Return what a phone sends, with the fields that would betray the place."""
    lat, lon = true_position(step)
    said = {
        "_type": "location", "lat": lat, "lon": lon, "tst": int(fix_of(step).time.timestamp()),
        "acc": 9, "alt": 450, "vel": 3, "cog": 90, "batt": 50, "SSID": "clinic-guest",
        "BSSID": "aa:bb:cc:dd:ee:ff", "inregions": ["clinic"], "created_at": 1772582400,
    }  # fmt: skip
    return json.dumps(said)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[tuple[Child, int]]:
    port = free_port()
    child = mosquitto(tmp_path, port)
    yield child, port
    child.end()


def publish(port: int, topic: str, message: str) -> None:
    subprocess.run(
        [program("mosquitto_pub"), "-p", str(port), "-q", "1", "-t", topic, "-m", message],
        check=True,
    )


def subscribed(port: int, topic: str) -> Child:
    """Start mosquitto_sub and wait until it hears: it is sent probes until one arrives."""
    child = Child(
        "stdbuf", "-oL", program("mosquitto_sub"), "-h", "127.0.0.1", "-p", str(port), "-v",
        "-t", topic, "-t", "probe",
    )  # fmt: skip

    def heard() -> bool:
        publish(port, "probe", "x")
        return b"probe" in child.out

    wait_for(heard, "mosquitto_sub is subscribed")
    return child


def test_mosquitto_pub_to_mosquitto_sub(
    tmp_path: Path, broker: tuple[Child, int], expected: Points
) -> None:
    """OwnTracks and Home Assistant over MQTT; then the broker dies, returns, and all goes on."""
    child, port = broker
    chosen = settings(
        tmp_path,
        inputs=(f"owntracks+mqtt://127.0.0.1:{port}/owntracks/ada/phone",),
        outputs=(
            f"owntracks+mqtt://127.0.0.1:{port}/released/ada/phone",
            f"homeassistant+mqtt://127.0.0.1:{port}",
        ),
    )
    with serving(chosen) as live:
        wait_for(lambda: live.person.inputs[0].state == "connected", "priste is subscribed")
        hearing = subscribed(port, "released/#")
        assistant = subscribed(port, "priste/#")
        publish(port, "owntracks/ada/phone", '{"_type":"waypoint","desc":"clinic"}')
        publish(port, "owntracks/ada/phone", "no json at all")
        for step in range(STEPS):
            publish(port, "owntracks/ada/phone", owntracks(step))
            publish(port, "owntracks/ada/phone", owntracks(step))  # phones repeat themselves
            wait_for(lambda s=step: len(messages(hearing, b"released")) >= s, "a release arrives")
        assert live.person.inputs[0].refused == 2
        child.end(kill=True)  # the broker dies, and comes back empty
        wait_for(lambda: live.person.inputs[0].state.startswith(("failed", "closed")), "it is gone")
        again = mosquitto(tmp_path, port)
        hearing_again = subscribed(port, "released/#")
        wait_for(lambda: live.person.inputs[0].state == "connected", "priste is back")
        publish(port, "owntracks/ada/phone", owntracks(STEPS))
        wait_for(lambda: len(messages(hearing_again, b"released")) >= 1, "releases arrive again")
        again.end()
        for each in (hearing, assistant, hearing_again):
            each.end()
        found = messages(hearing, b"released") + messages(hearing_again, b"released")
        assert [(m["lat"], m["lon"]) for m in found] == expected[:STEPS]
        assert [m["tst"] for m in found] == [
            int(fix_of(step, minute=0).time.timestamp()) for step in range(STEPS)
        ]
        assert {frozenset(m) for m in found} == {
            frozenset({"_type", "lat", "lon", "tst", "acc", "tid"})
        }
        told = messages(assistant, b"priste/ada/location")
        assert [(m["latitude"], m["longitude"]) for m in told] == expected[: STEPS - 1]
    written = hearing.out + assistant.out + hearing_again.out + folder_bytes(tmp_path / "state")
    assert_no_truth(bytes(written))
    assert b"clinic" not in hearing.out + assistant.out


@pytest.mark.parametrize("device", ["ada/phone", "ada"])
def test_messages_of_other_devices_are_not_taken(
    tmp_path: Path, broker: tuple[Child, int], device: str
) -> None:
    """With 'devices' only their messages count, whatever else the topic holds."""
    _, port = broker
    chosen = settings(tmp_path, inputs=(f"owntracks+mqtt://127.0.0.1:{port}/owntracks/+/+",))
    person = dataclasses.replace(chosen.people[0], devices=frozenset({device}))
    with serving(dataclasses.replace(chosen, people=(person,))) as live:
        line = live.person.inputs[0]
        wait_for(lambda: line.state == "connected", "priste is subscribed")
        publish(port, "owntracks/ben/phone", owntracks(0))
        publish(port, "owntracks/ada/phone", owntracks(0))
        wait_for(lambda: line.messages == 1, "Ada's message arrives")
        assert line.reasons == {UNKNOWN_DEVICE: 1}
        assert live.person.stream.counts.kept == 1


def test_a_node_of_a_mesh_is_followed(tmp_path: Path, broker: tuple[Child, int]) -> None:
    """Positions of the person's node count, as its firmware publishes them; nothing else does."""
    _, port = broker
    chosen = settings(tmp_path, inputs=(f"meshtastic+mqtt://127.0.0.1:{port}/",))
    person = dataclasses.replace(chosen.people[0], devices=frozenset({"!7efeee00"}))
    lat, lon = true_position(0)
    place = {"latitude_i": round(lat * 1e7), "longitude_i": round(lon * 1e7), "ground_speed": 3}
    said = {"from": 0x7EFEEE00, "type": "position", "timestamp": int(fix_of(0).time.timestamp()),
            "sender": "!7efeee00", "payload": place, "rssi": -40}  # fmt: skip
    with serving(dataclasses.replace(chosen, people=(person,))) as live:
        line = live.person.inputs[0]
        wait_for(lambda: line.state == "connected", "priste is subscribed")
        for message in (said | {"from": 7}, said | {"type": "nodeinfo"}, said):
            publish(port, "msh/EU_868/2/json/LongFast/!7efeee00", json.dumps(message))
        wait_for(lambda: line.messages == 1, "the position arrives")
        assert line.reasons == {UNKNOWN_DEVICE: 1, "a Meshtastic message is not a position": 1}
        assert live.person.stream.counts.kept == 1


def messages(child: Child, topic: bytes) -> list[dict[str, object]]:
    found = [line.partition(b" ") for line in child.lines()]
    return [json.loads(text) for name, _, text in found if name.startswith(topic)]


@pytest.mark.parametrize("way", ["owntracks", "osmand", "traccar"])
def test_curl_posts_what_phones_post(tmp_path: Path, way: str, expected: Points) -> None:
    """Each form is taken, one point a step is served, and asking often changes nothing."""
    curl = [program("curl"), "-s", "--fail", "--noproxy", "*"]
    heard = b""
    with serving(settings(tmp_path)) as live:
        found = []
        for step in range(STEPS):
            heard += subprocess.check_output([*curl, *_post(way, live.url, step)])
            if step:
                asked = [
                    subprocess.check_output([*curl, f"{live.url}/people/ada/latest"])
                    for _ in range(2)
                ]
                assert asked[0] == asked[1]
                heard += asked[0]
                feature = json.loads(asked[0])
                assert feature["properties"]["step"] == step - 1
                lon, lat = feature["geometry"]["coordinates"]
                found.append((lat, lon))
        assert found == expected[: STEPS - 1]
        events = [program("curl"), "-s", "-N", "--max-time", "1", f"{live.url}/people/ada/events"]
        heard += subprocess.run(events, capture_output=True, check=False).stdout
        assert b"event: release\ndata: " in heard
    assert_no_truth(heard + folder_bytes(tmp_path / "state"))


def _post(way: str, url: str, step: int) -> list[str]:
    lat, lon = true_position(step)
    when = fix_of(step).time
    if way == "owntracks":
        return ["-H", "X-Limit-U: ada", "-d", owntracks(step), f"{url}/owntracks"]
    if way == "osmand":
        fields = f"id=phone&lat={lat}&lon={lon}&timestamp={when.timestamp():.0f}&batt=40&speed=1"
        return [f"{url}/osmand?{fields}"] if step % 2 else ["-d", fields, f"{url}/"]
    said = {
        "device_id": "phone",
        "location": {
            "timestamp": when.isoformat(), "is_moving": True, "odometer": 99.5,
            "coords": {"latitude": lat, "longitude": lon, "speed": 1.0, "accuracy": 5},
            "activity": {"type": "in_vehicle"}, "event": "motionchange", "extras": {"at": "clinic"},
        },
    }  # fmt: skip
    return ["-H", "Content-Type: application/json", "-d", json.dumps(said), f"{url}/osmand"]


def track(path: Path) -> Path:
    """Write a receiver's log, one fix a step."""
    path.write_bytes(b"".join(_rmc(step, f"{step:02d}3000.00") for step in range(STEPS)))
    return path


def _rmc(step: int, clock: str) -> bytes:
    lat, lon = true_position(step)
    place = position(lat, lon, 5)
    return f"{framed(f'GPRMC,{clock},A,{place},0.0,0.0,040326,,,A')}\r\n".encode()


def reports(output: bytes) -> dict[str, tuple[float, float]]:
    """Return the points of TPV reports by their time; the same time must mean the same point."""
    found: dict[str, tuple[float, float]] = {}
    for line in output.splitlines():
        said = json.loads(line)
        if said["class"] == "TPV" and "lat" in said:
            point = (said["lat"], said["lon"])
            assert found.setdefault(said["time"], point) == point
    return found


def test_a_receiver_through_gpsd_to_gpspipe_and_python_gps(
    tmp_path: Path, expected: Points, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences of a receiver into a real gpsd; real clients read the releases from our server.

    In lock-step: a sentence is repeated until priste has heard it, so that no machine is too slow.
    """
    port, receiver = free_port(), socket.create_server(("127.0.0.1", 0))
    chosen = settings(
        tmp_path,
        inputs=(f"gpsd://127.0.0.1:{port}",),
        outputs=("gpsd://127.0.0.1:0",),
    )
    monkeypatch.setattr(retrying, "LONGEST_PAUSE", 0.2)
    feed = f"tcp://127.0.0.1:{receiver.getsockname()[1]}"
    with receiver, serving(chosen) as live:
        served = str(live.port_of(0))
        pipe = Child(program("gpspipe"), "-w", f"127.0.0.1:{served}")
        python = Child(
            "/usr/bin/python3", "-u", "-c",
            "import gps, sys\n"
            "session = gps.gps(host='127.0.0.1', port=sys.argv[1], mode=gps.WATCH_ENABLE)\n"
            "for report in session:\n"
            "    if report['class'] == 'TPV':\n"
            "        print(report['time'], report['lat'], report['lon'])\n",
            served,
        )  # fmt: skip
        wait_for(lambda: b"WATCH" in pipe.out, "gpspipe is served")
        wait_for(lambda: live.person.outlets[0].line.waiting == 2, "both clients are connected")
        with running(program("gpsd"), "-N", "-n", "-S", str(port), feed):
            line, _ = receiver.accept()
            with line:
                for step in range(STEPS):
                    _say_until_heard(line, live, step)
            last = f"{STEPS - 2:02d}:00:00".encode()
            wait_for(lambda: last in pipe.out and last in python.out, "the last release arrives")
        pipe.end()
        python.end()
    assert list(reports(bytes(pipe.out)).values()) == expected[: STEPS - 1]
    read = [line.split() for line in python.lines()]
    assert list(dict.fromkeys((float(lat), float(lon)) for _, lat, lon in read)) == list(
        dict.fromkeys(expected[: STEPS - 1])
    )
    assert_no_truth(bytes(pipe.out + python.out) + folder_bytes(tmp_path / "state"))


def _say_until_heard(line: socket.socket, live: InThread, step: int) -> None:
    """Send the sentence of a step, a second later each time, until a fix of that step was kept."""
    said = itertools.count()

    def heard() -> bool:
        line.sendall(_rmc(step, f"{step:02d}30{next(said) % 60:02d}.00"))
        time.sleep(0.1)
        if step:
            return step_of(live) >= step - 1
        return live.person.stream.counts.kept > 0

    wait_for(heard, f"priste hears of step {step}")


def test_a_second_gpsd_reads_our_sentences(tmp_path: Path, expected: Points) -> None:
    """NMEA over TCP into a real gpsd, and out of it to gpspipe: the released points, rounded."""
    chosen = settings(tmp_path, outputs=("nmea+tcp://127.0.0.1:0",))
    port = free_port()
    with serving(chosen) as live:
        source = f"tcp://127.0.0.1:{live.port_of(0)}"
        with running(program("gpsd"), "-N", "-n", "-S", str(port), source):
            wait_for(lambda: answers(port), "gpsd answers")
            with running(program("gpspipe"), "-w", f"127.0.0.1:{port}") as pipe:
                # What gpsd reads before gpspipe watches is reported to nobody.
                wait_for(lambda: b'"class":"WATCH"' in pipe.out, "gpspipe watches")
                post(live, 0)
                post(live, 1)
                for step in range(2, STEPS):
                    clock = f"{step - 2:02d}:00:00".encode()
                    wait_for(lambda c=clock: c in pipe.out, "gpsd reports a release")
                    post(live, step)
    found = reports(bytes(pipe.out))
    assert len(found) >= STEPS - 2
    for point, (lat, lon) in zip(found.values(), expected, strict=False):
        assert point == pytest.approx((lat, lon), abs=MINUTES_ROUNDING)
    assert_no_truth(bytes(pipe.out))


def test_gpspipe_asks_for_sentences(tmp_path: Path, expected: Points) -> None:
    """``gpspipe -r`` gets the released point as NMEA, and no report in JSON."""
    with serving(settings(tmp_path, outputs=("gpsd://127.0.0.1:0",))) as live:
        post(live, 0)
        post(live, 1)
        with running(program("gpspipe"), "-r", f"127.0.0.1:{live.port_of(0)}") as pipe:
            wait_for(lambda: b"$GPGGA" in pipe.out, "gpspipe gets a sentence")
    lines = [line.strip() for line in pipe.lines()]
    receiver = Receiver()
    fixes = [receiver.read(line, fix_of(1).time) for line in lines if line.startswith(b"$")]
    assert fixes
    for fix in fixes:
        assert fix is not None
        assert (fix.lat, fix.lon) == pytest.approx(expected[0], abs=MINUTES_ROUNDING)
    assert not [line for line in lines if b"TPV" in line]


def test_encrypted_messages_over_mqtt_are_read_with_the_key(
    tmp_path: Path, broker: tuple[Child, int]
) -> None:
    """As the app sends them; without the key they are counted with the reason."""
    _, port = broker
    key = secret_box_key("the key of the app")
    data = base64.b64encode(SecretBox(key).encrypt(owntracks(0).encode())).decode()
    message = json.dumps({"_type": "encrypted", "data": data})
    topic = "owntracks/ada/phone"
    for given, kept in ((key, 1), (None, 0)):
        folder = tmp_path / str(kept)
        folder.mkdir()
        chosen = settings(folder, inputs=(f"owntracks+mqtt://127.0.0.1:{port}/{topic}",))
        person = dataclasses.replace(chosen.people[0], owntracks_key=given)
        with serving(dataclasses.replace(chosen, people=(person,))) as live:
            line = live.person.inputs[0]
            wait_for(lambda line=line: line.state == "connected", "priste is subscribed")
            publish(port, topic, message)
            wait_for(lambda line=line: line.messages + line.refused == 1, "the message arrives")
            assert live.person.stream.counts.kept == kept
            assert all("no key file" in reason for reason in line.reasons)


def step_of(live: InThread) -> int:
    """Return the step of the latest release, -1 before the first."""
    return -1 if live.person.latest is None else live.person.latest.step


def post(live: InThread, step: int) -> None:
    """Hand the service a fix as its sources do."""
    live.do(live.person.take(fix_of(step)))


@pytest.mark.parametrize("kind", ["nmea+tcp", "nmea+udp", "replay"])
def test_receivers_of_other_kinds(tmp_path: Path, kind: str, expected: Points) -> None:
    """Sentences over TCP and UDP, and a recorded log: the same."""
    log = track(tmp_path / "track.nmea")
    port = free_port()
    place = str(log) if kind == "replay" else ""
    address = f"{kind}://{place}" if place else f"{kind}://127.0.0.1:{port}"
    chosen = settings(tmp_path, inputs=(address,))
    if kind == "nmea+tcp":
        server = socket.create_server(("127.0.0.1", port))

        def send() -> None:
            client, _ = server.accept()
            client.sendall(b"$GPGGA,garbage*00\r\n" + log.read_bytes())
            client.close()

        threading.Thread(target=send, daemon=True).start()
    with serving(chosen) as live:
        if kind == "nmea+udp":
            wait_for(lambda: live.person.inputs[0].state == "listening", "it listens")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
                for line in [b"\xff\x00", *log.read_bytes().splitlines(keepends=True)]:
                    out.sendto(line, ("127.0.0.1", port))
        wait_for(lambda: step_of(live) >= STEPS - 2, "all steps are released")
        assert live.person.latest is not None
        assert (live.person.latest.lat, live.person.latest.lon) == expected[STEPS - 2]
        cells = [release.cell for release in live.person.stream._protector.ledger]
        points = [tuple(round(x, 7) for x in GRID.latlon(cell)) for cell in cells]
        assert points == expected[: STEPS - 1]
    if kind == "nmea+tcp":
        server.close()


def test_the_command_survives_being_killed(tmp_path: Path, expected: Points) -> None:
    """kill -9 in the middle, started again: every point is given once, as if nothing happened."""
    policy = write_policy(tmp_path)
    command = [
        sys.executable, "-m", "priste", "live", "--policy", str(policy), "--person", "ada",
        "--state", str(tmp_path / "state"), "--clock", "fixes", "--seed", str(SEED),
        "--listen", "127.0.0.1:0",
    ]  # fmt: skip
    curl = [program("curl"), "-s", "--fail", "--noproxy", "*"]
    heard, served = b"", []
    for first in (0, 3):
        child = Child(*command)
        try:
            wait_for(lambda c=child: b'"started"' in c.err or c.process.poll() is not None, "start")
            started = next(line for line in child.err.splitlines() if b'"started"' in line)
            url = f"http://127.0.0.1:{json.loads(started)['port']}"
            for step in range(first, first + 3):
                subprocess.check_output([*curl, *_post("owntracks", url, step)])
                if step:
                    answer = subprocess.check_output([*curl, f"{url}/people/ada/latest"])
                    lon, lat = json.loads(answer)["geometry"]["coordinates"]
                    served.append((lat, lon))
                    heard += answer
        finally:
            child.end(kill=True)
        heard += bytes(child.out + child.err)
    # The fix of step 2 was in memory when the process died: its step is over without one.
    assert served[:2] == expected[:2]
    assert len(served) == 5
    assert served[2] == served[1]
    done = protect_stream(read_policy(POLICY), None, [*PATH[:2], None, *PATH[3:5]], seed=SEED)
    cells = [cell for cell in done.cells if cell is not None]
    assert served[3:] == [tuple(round(x, 7) for x in GRID.latlon(cell)) for cell in cells[2:]]
    shown = subprocess.run(
        [sys.executable, "-m", "priste", "live", "status", "--state", str(tmp_path / "state")],
        capture_output=True,
        check=False,
    )
    assert shown.returncode == NOT_RUNNING  # at once, not when the last status has grown old
    assert b"ada" in shown.stdout
    assert_no_truth(heard + shown.stdout + shown.stderr + folder_bytes(tmp_path / "state"))
