"""The service against slow, hostile and forgetful others, and for several people at once."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import resource
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from tests.live.one_person import SEED, one_person
from tests.live.running import InThread, Recorder, answers, free_port, program, serving, wait_for
from tests.live.small_town import (
    DAILY,
    POLICY,
    assert_no_truth,
    fix_of,
    folder_bytes,
    true_position,
    write_policy,
)
from tests.live.soaking import soak

from priste.errors import InvalidParameter, PolicyError
from priste.live import service as service_module
from priste.live import web, web_server
from priste.live.addresses import Reach, read_input, read_output
from priste.live.clock import SteadyClock
from priste.live.person_stream import StreamOptions
from priste.live.point import Point
from priste.live.protocols import gpsd, owntracks
from priste.live.settings import PersonSettings, Settings, load_settings
from priste.live.sinks import serving as serving_module
from priste.live.sinks.http_push import http_outlet
from priste.live.sinks.pushing import LONGEST_LINE
from priste.live.status import read_status
from priste.traces import Fix

TOKEN = "correct horse battery staple"


def post(live: InThread, step: int) -> None:
    live.do(live.person.take(fix_of(step)))


def test_servers_that_die_and_return_miss_nothing(tmp_path: Path) -> None:
    """OwnTracks, Traccar and Home Assistant get every point in order, also those of when away."""
    recorder = Recorder(free_port())
    url = f"http://127.0.0.1:{recorder.port}"
    outputs = [
        f"owntracks+{url}/pub",
        f"osmand+{url}/?device=7",
        f"homeassistant+{url}/api/webhook/x",
    ]
    with serving(one_person(tmp_path, *outputs)) as live:
        post(live, 0)
        post(live, 1)  # one point, and nobody there
        with recorder.up():
            wait_for(lambda: len(recorder.received) == 3, "the waiting point arrives")
            recorder.status = 503
            post(live, 2)
            time.sleep(0.3)
        wait_for(lambda: not answers(recorder.port), "the server is gone")
        post(live, 3)
        recorder.status = 200
        with recorder.up():
            wait_for(lambda: len(recorder.received) == 9, "all points arrive")
            lines = [outlet.line for outlet in live.person.outlets]
            # A line counts a message when it has read the answer.
            wait_for(lambda: sum(line.messages for line in lines) == 9, "all answers are read")
        assert [line.messages for line in lines] == [3, 3, 3]
        assert [line.dropped for line in lines] == [0, 0, 0]
    posted = [json.loads(body) for path, body in recorder.received if path == "/pub"]
    assert [m["tst"] for m in posted] == [
        int(fix_of(step, minute=0).time.timestamp()) for step in range(3)
    ]
    traccar = [path for path, _ in recorder.received if path.startswith("/?")]
    assert [
        f"lat={m['lat']}&lon={m['lon']}" in path for m, path in zip(posted, traccar, strict=True)
    ]
    assert all(path.startswith("/?id=7&") for path in traccar)
    webhook = [json.loads(body) for path, body in recorder.received if path == "/api/webhook/x"]
    assert [m["data"]["gps"] for m in webhook] == [[m["lat"], m["lon"]] for m in posted]
    sent = b"".join(path.encode() + body for path, body in recorder.received)
    assert_no_truth(sent + folder_bytes(tmp_path / "state"))


def test_a_server_that_stays_away_costs_bounded_memory(tmp_path: Path) -> None:
    """Of more points than may wait the oldest are dropped and counted."""
    outlet = http_outlet(read_output("owntracks+http://127.0.0.1:9/"), "ada", owntracks.request)
    for step in range(LONGEST_LINE + 7):
        outlet.offer(Point("ada", step, datetime.now(UTC), 1.0, 2.0, 3.0))
    assert (outlet.line.waiting, outlet.line.dropped) == (LONGEST_LINE, 7)


def test_slow_and_hostile_clients_do_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand connections that say nothing, nonsense or too little; a phone gets through."""
    monkeypatch.setattr(web_server, "REQUEST_SECONDS", 0.5)
    monkeypatch.setattr(web, "BODY_SECONDS", 0.5)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4_096)), hard))
    with serving(one_person(tmp_path, "gpsd://127.0.0.1:0")) as live, ExitStack() as stack:
        assert live.service.port is not None
        ports = [live.service.port, live.port_of(0)]
        junk = [b"", b"POST /owntracks HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n{",
                b"\x16\x03\x01\x00\xa5", b"GET " + b"A" * 9_000, b"?WATCH={" + b"x" * 9_000,
                b'?WATCH={"enable":true};', b"\x00" * 500]  # fmt: skip
        for number in range(1_000):
            try:
                client = socket.create_connection(("127.0.0.1", ports[number % 2]), timeout=5)
            except OSError:
                continue
            stack.callback(client.close)
            with suppress(OSError):
                client.sendall(junk[number % len(junk)])
        held = live.service.web.connections
        assert len(held) <= web_server.MOST_CONNECTIONS
        outlet = live.person.outlets[0]
        assert outlet.line.waiting <= serving_module.MOST_CLIENTS
        once = {"Connection": "close"}  # a connection that waits is closed soon here
        with httpx.Client(timeout=30, trust_env=False, verify=False, headers=once) as phone:
            for step in range(3):
                lat, lon = true_position(step)
                said = {"_type": "location", "lat": lat, "lon": lon}
                said["tst"] = int(fix_of(step).time.timestamp())
                assert phone.post(f"{live.url}/owntracks", json=said).status_code == 200
            assert phone.get(f"{live.url}/people/ada/latest").json()["properties"]["step"] == 1
        wait_for(lambda: len(held) <= 1, "silent connections are closed")


def test_a_client_that_never_reads_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for one reader is bounded; the others go on."""
    monkeypatch.setattr(serving_module, "REPEAT", 0.001)
    monkeypatch.setattr(serving_module, "MOST_UNREAD", 5_000)
    with serving(one_person(tmp_path, "gpsd://127.0.0.1:0")) as live:
        outlet = live.person.outlets[0]
        post(live, 0)
        post(live, 1)
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            lazy.connect(("127.0.0.1", live.port_of(0)))
            lazy.sendall(gpsd.WATCH)
            wait_for(lambda: outlet.line.waiting == 1, "the client is served")
            wait_for(lambda: outlet.line.waiting == 0, "the client is let go")
        with socket.create_connection(("127.0.0.1", live.port_of(0)), timeout=30) as keen:
            keen.sendall(gpsd.WATCH)
            heard = b""
            while b"TPV" not in heard:
                heard += keen.recv(4_096)


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({}, "", 401),
        ({"Authorization": "Bearer wrong"}, "", 401),
        ({"Authorization": "Basic !!!"}, "", 401),
        ({"Authorization": f"Bearer {TOKEN}"}, "", 200),
        ({}, f"?token={TOKEN}", 200),
    ],
)
def test_tokens(tmp_path: Path, headers: dict[str, str], query: str, status: int) -> None:
    """Where a person has a token nothing is taken or told without it."""
    with (
        serving(one_person(tmp_path, token=TOKEN)) as live,
        httpx.Client(timeout=30, trust_env=False, verify=False, headers=headers) as client,
    ):
        post(live, 0)
        post(live, 1)
        said = {"_type": "location", "lat": 46.01, "lon": 7.01, "tst": 0}
        assert client.post(f"{live.url}/owntracks{query}", json=said).status_code == status
        answer = client.get(f"{live.url}/people/ada/latest{query}")
        assert answer.status_code == status
        assert (b"Point" in answer.content) == (status == 200)


def test_tls(tmp_path: Path) -> None:
    """With a certificate the door speaks HTTPS and nothing else."""
    openssl = [program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt"]
    openssl += ["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    openssl += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(openssl, cwd=tmp_path, check=True, capture_output=True)
    chosen = dataclasses.replace(
        one_person(tmp_path, token=TOKEN),
        certificate=tmp_path / "cert.pem",
        key=tmp_path / "key.pem",
    )
    trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    with (
        serving(chosen) as live,
        httpx.Client(timeout=30, trust_env=False, verify=trusted) as client,
    ):
        post(live, 0)
        post(live, 1)
        url = live.url.replace("http:", "https:")
        answer = client.get(
            f"{url}/people/ada/latest", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        assert answer.status_code == 200
        with pytest.raises(httpx.HTTPError):
            client.get(f"{live.url}/people/ada/latest")


def test_web_pages_cannot_post_nor_read_through_another_name(tmp_path: Path) -> None:
    """A page states its origin, or comes by a name that was made to point here: refused."""
    with (
        serving(one_person(tmp_path)) as live,
        httpx.Client(timeout=30, trust_env=False, verify=False) as client,
    ):
        post(live, 0)
        post(live, 1)
        place = "id=a&lat=46.01&lon=7.01"
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert client.get(f"{live.url}/osmand?{place}", headers=headers).status_code == 403
            assert client.post(f"{live.url}/owntracks", headers=headers).status_code == 403
        rebound = {"Host": "evil.example"}
        assert client.get(f"{live.url}/people/ada/latest", headers=rebound).status_code == 403
        answer = client.get(f"{live.url}/people/ada/latest")
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
        assert client.get(f"{live.url}/people/eve/latest").status_code == 401
        assert client.post(f"{live.url}/osmand", content=b"x" * 1_050_000).status_code == 413
        assert client.get(f"{live.url}/osmand?id=a&lat=x&lon=1").status_code == 400
        assert client.get(f"{live.url}/state").status_code == 404
        assert client.get(f"{live.url}/").status_code == 401


def test_a_family_on_one_server(tmp_path: Path) -> None:
    """Each device feeds its own person's stream, under that person's policy, and nobody else's."""
    (tmp_path / "ada.toml").write_text(write_policy(tmp_path).read_text())
    (tmp_path / "ben.toml").write_text(DAILY)
    (tmp_path / "ben.token").write_text("ben's own\n")
    (tmp_path / "live.toml").write_text(
        'state = "state"\nlisten = "127.0.0.1:0"\n'
        '[people.ada]\npolicy = "ada.toml"\ndevices = ["ada/phone"]\nclock = "fixes"\n'
        '[people.ben]\npolicy = "ben.toml"\ndevices = ["7"]\nclock = "fixes"\n'
        'token_file = "ben.token"\n'
    )
    with (
        serving(load_settings(tmp_path / "live.toml")) as live,
        httpx.Client(timeout=30, trust_env=False, verify=False) as client,
    ):
        for step in range(2):
            lat, lon = true_position(step)
            when = int(fix_of(step).time.timestamp())
            said = {"_type": "location", "lat": lat, "lon": lon, "tst": when}
            who = {"X-Limit-U": "ada", "X-Limit-D": "phone"}
            client.post(f"{live.url}/owntracks", json=said, headers=who)
            strange = {"X-Limit-U": "eve", "X-Limit-D": "phone"}
            refused = client.post(f"{live.url}/owntracks", json=said, headers=strange)
            assert refused.status_code == 401
        ada, ben = live.service.people["ada"], live.service.people["ben"]
        assert (ada.stream.counts.kept, ben.stream.counts.kept) == (2, 0)
        query = f"id=7&lat={lat}&lon={lon}&timestamp={when}"
        assert client.get(f"{live.url}/osmand?{query}").status_code == 401
        assert client.get(f"{live.url}/osmand?{query}&token=ben's own").status_code == 200
        assert (ada.stream.counts.kept, ben.stream.counts.kept) == (2, 1)
        assert list(ben.stream.leakage) == ["visit, 2026-03-04", "visit, 2026-03-05"]
        assert client.get(f"{live.url}/people/ada/latest").status_code == 200
        assert client.get(f"{live.url}/people/ben/latest").status_code == 401
    found = read_status(tmp_path / "state")
    assert found["running"] is False
    assert set(found["people"]) == {"ada", "ben"}
    assert_no_truth((tmp_path / "state" / "status.json").read_bytes())


def test_the_wall_clock_closes_steps_with_and_without_fixes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One point appears at the end of every step, whether a fix came in it or not.

    Never before the moment at which all of them are given out, however quick it was.
    """
    caplog.set_level(logging.INFO, "priste.live")
    now = datetime.now(UTC)
    text = POLICY.replace("2026-03-04T00:00:00", f"{now:%Y-%m-%dT%H:%M:%S}")
    text = text.replace('step = "1h"', 'step = "1s"').replace("steps = 12", "steps = 100000")
    text = text.replace('"04:00-06:00"', "9000..9005")
    person = PersonSettings("ada", write_policy(tmp_path, text), options=StreamOptions(seed=SEED))
    seen: dict[int, tuple[float, float]] = {}
    with serving(Settings(tmp_path / "state", (person,), listen=None)) as live:
        stream = live.person.stream
        first = stream.step_at(now)

        def look() -> bool:
            point = live.person.latest
            if point is not None and point.step % 2:
                live.do(live.person.take(Fix(None, datetime.now(UTC), *true_position(0))))
            if point is not None:
                assert seen.setdefault(point.step, (point.lat, point.lon)) == (point.lat, point.lon)
            return len(seen) >= 3

        wait_for(look, "points appear")
        assert min(seen) >= first
        assert stream.counts.covered > 0
    assert live.person.state == "stopped"
    told = [json.loads(record.message) for record in caplog.records]
    for said in (each for each in told if each["event"] == "release"):
        end = datetime.fromisoformat(said["step_time"]) + timedelta(seconds=1)
        given_out = datetime.fromisoformat(said["time"])
        assert given_out - end >= timedelta(seconds=0.199)  # a fifth of a step; logs have ms


def test_clocks_that_jump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set back, the service waits; a year that did not pass burns no steps; then it goes on."""
    monkeypatch.setattr(service_module, "_TICK", 0.02)
    said = [fix_of(3).time.timestamp()]
    clock = SteadyClock(lambda: said[0], lambda: 0.0)
    person = PersonSettings("ada", write_policy(tmp_path, DAILY), options=StreamOptions(seed=SEED))
    with serving(Settings(tmp_path / "state", (person,), listen=None), clock) as live:
        said[0] += 3_600
        wait_for(lambda: step_of(live) == 3, "the step is released")
        said[0] -= 3 * 3_600
        wait_for(lambda: "behind" in live.person.state, "it waits for the clock")
        said[0] += 365 * 86_400
        wait_for(lambda: "jumped" in live.person.state, "the clock is not believed")
        assert live.person.stream.next_step == 4
        said[0] += 3 * 3_600 - 365 * 86_400
        said[0] += 3_600
        wait_for(lambda: step_of(live) == 4, "it goes on")
        assert live.person.stream.next_step == 5
        wait_for(lambda: live.person.state == "releasing", "it says so")


def step_of(live: InThread) -> int:
    return -1 if live.person.latest is None else live.person.latest.step


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("http://x", "must begin with one of"),
        ("gpsd://", "needs a host"),
        ("gpsd://[", "must be written as"),
        ("replay://", "needs a path"),
        ("gpsd://127.0.0.1:99999", "must be written as"),
        ("gpsd://127.0.0.1?x=1", "takes no 'x'"),
        ("gpsd://192.0.2.1", "--expose"),
        ("owntracks+mqtt://192.0.2.1/a", "not encrypted"),
        ("owntracks+mqtts://192.0.2.1/a", "password in a file"),
    ],
)
def test_addresses_that_are_refused(text: str, words: str) -> None:
    """Errors name the way out; beyond this machine only with TLS and credentials, or by choice."""
    with pytest.raises(InvalidParameter, match=words):
        read_input(text)


def test_secrets_are_shown_nowhere(tmp_path: Path) -> None:
    """A webhook's path, a user and a password are in no log, status or repr."""
    (tmp_path / "p").write_text("s3cret-password")
    address = read_output("owntracks+mqtts://anna@192.0.2.1/t?password_file=p", folder=tmp_path)
    assert (address.user, address.password) == ("anna", "s3cret-password")
    webhook = read_output("homeassistant+https://192.0.2.1/api/webhook/s3cret-path")
    assert webhook.url.endswith("/api/webhook/s3cret-path")
    assert "s3cret" not in repr(address) + address.shown + repr(webhook) + webhook.shown
    person = PersonSettings("ada", tmp_path, token="s3cret-token")
    assert "s3cret" not in repr(person)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"listen": ("0.0.0.0", 1)}, "--expose"),
        ({"listen": ("0.0.0.0", 1), "reach": Reach.EXPOSED}, "needs 'certificate'"),
        ({"certificate": Path("x")}, "with 'key'"),
        ({"people": ()}, "must name one at least"),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, change: dict[str, object], words: str) -> None:
    """Listening to other machines takes an explicit wish, TLS and tokens."""
    person = PersonSettings("ada", tmp_path)
    with pytest.raises(InvalidParameter, match=words):
        Settings(**{"state": tmp_path, "people": (person,), **change})  # type: ignore[arg-type]


def test_every_mistake_of_a_settings_file_is_told_with_its_line(tmp_path: Path) -> None:
    """Unknown and missing keys and wrong kinds, all at once, and no password among the words."""
    (tmp_path / "live.toml").write_text(
        'listne = "x"\n[people.ada]\npolcy = "p.toml"\nin = "gpsd://me:s3cret@127.0.0.1"\n'
    )
    with pytest.raises(PolicyError) as caught:
        load_settings(tmp_path / "live.toml")
    assert [problem.partition(": ")[0] for problem in caught.value.problems] == [
        "line 1",
        "line 2",
        "line 3",
        "line 4",
    ]
    assert "did you mean 'listen'" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_short_soak(tmp_path: Path) -> None:
    """Two thousand fixes of a receiver: all are kept, each step is released and heard once."""
    found = asyncio.run(soak(tmp_path, 2_000))
    assert (found["kept"], found["released"], found["covered"]) == (2_000, 9, 0)
    assert found["times_heard_by_gpsd_client"] == 9
