"""What must not end the service, and whose files it must not take for its own."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from tests.live.running import Child, InThread, program, serving, wait_for
from tests.live.small_town import POLICY, fix_of, true_position, write_policy
from tests.small_disks import mounted, why_not

from priste.errors import OutputError, PristeError, StateError
from priste.live import web_server
from priste.live.addresses import read_input
from priste.live.keeping import StateFolder
from priste.live.person_stream import Stream, StreamOptions
from priste.live.settings import PersonSettings, Settings
from priste.live.status import read_status
from priste.policy import read_policy

SEED = 5
TOKEN = "correct horse battery staple"
SILENT = 1_400
"""Connections that say nothing, as many as once ended the service."""

FEW_DESCRIPTORS = 256
"""A limit that those connections would exhaust five times."""


def one_person(folder: Path) -> Settings:
    options = StreamOptions(seed=SEED)
    person = PersonSettings("ada", write_policy(folder), options=options, clock="fixes")
    return Settings(folder / "state", (person,), listen=("127.0.0.1", 0))


def post(live: InThread, step: int) -> None:
    live.do(live.person.take(fix_of(step)))


def certificate(folder: Path) -> None:
    """Write cert.pem and key.pem for this machine."""
    openssl = [program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt"]
    openssl += ["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    openssl += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(openssl, cwd=folder, check=True, capture_output=True)


@contextmanager
def command(
    folder: Path, *more: str, descriptors: int | None = None
) -> Iterator[tuple[Child, int]]:
    """Run ``priste live`` beside the test and yield it with its port."""
    words = [sys.executable, "-m", "priste", "live", "--policy", str(write_policy(folder))]
    words += ["--person", "ada", "--state", str(folder / "state"), "--clock", "fixes"]
    words += ["--seed", str(SEED), "--listen", "127.0.0.1:0", *more]
    if descriptors is not None:
        words = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *words]
    child = Child(*words)
    try:
        wait_for(lambda: b'"started"' in child.err or child.process.poll() is not None, "it starts")
        said = [line for line in child.err.splitlines() if b'"started"' in line]
        assert said, bytes(child.err)
        yield child, json.loads(said[0])["port"]
    finally:
        child.end()


def test_silent_connections_without_a_token_end_nothing(tmp_path: Path) -> None:
    """1,400 clients that never begin the handshake: a phone gets through, the status is written."""
    certificate(tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4_096)), hard))
    tls = ["--certificate", str(tmp_path / "cert.pem"), "--key", str(tmp_path / "key.pem")]
    tls += ["--token-file", str(tmp_path / "token")]
    trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    with (
        command(tmp_path, *tls, descriptors=FEW_DESCRIPTORS) as (child, port),
        ExitStack() as stack,
    ):
        for _ in range(SILENT):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        url = f"https://127.0.0.1:{port}"
        before = read_status(tmp_path / "state")["written"]
        with httpx.Client(
            timeout=60,
            trust_env=False,
            verify=trusted,
            headers={"Authorization": f"Bearer {TOKEN}"},
        ) as phone:
            for step in range(3):
                lat, lon = true_position(step)
                said = {"_type": "location", "lat": lat, "lon": lon}
                said["tst"] = int(fix_of(step).time.timestamp())
                assert phone.post(f"{url}/owntracks", json=said).status_code == 200
            answer = phone.get(f"{url}/people/ada/latest")
            assert answer.json()["properties"]["step"] == 1
        wait_for(lambda: read_status(tmp_path / "state")["written"] > before, "a new status")
        assert child.process.poll() is None
        assert b"cannot be written" not in child.err


def test_a_connection_that_dribbles_after_its_first_request_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then is no request: neither before the first one nor after it."""
    monkeypatch.setattr(web_server, "REQUEST_SECONDS", 0.3)
    with (
        serving(one_person(tmp_path)) as live,
        socket.create_connection(("127.0.0.1", live.service.port or 0), timeout=30) as client,
    ):
        client.sendall(b"GET /people/ada/latest HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert client.recv(4_096).startswith(b"HTTP/1.1 204")

        def gone() -> bool:
            try:
                client.send(b"G")
                client.settimeout(0.05)
                return client.recv(1) == b""
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        wait_for(gone, "the connection is closed")


def test_a_status_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    """A folder in its place, as a full disk or used-up descriptors do: releases go on."""
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "status.json").mkdir()
    with serving(one_person(tmp_path)) as live:
        for step in range(3):
            post(live, step)
        assert live.person.latest is not None
        assert live.person.latest.step == 1


FULL_DISK = """
import asyncio
from tests.live.small_town import fix_of, write_policy
from tests.live.running import serving
from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings
person = PersonSettings(
    "ada", write_policy(place), options=StreamOptions(seed=5), clock="fixes")
with serving(Settings(place / "state", (person,), listen=None)) as live:
    def post(step):
        live.do(live.person.take(fix_of(step)))
        return None if live.person.latest is None else live.person.latest.step
    print(post(0), post(1), post(2))
    filler = fill(leaving=0)
    print(post(3), post(4), live.person.state[:20])
    filler.unlink()
    print(post(5), post(6), live.person.state)
"""


def test_a_full_disk_stops_releases_and_not_the_service(tmp_path: Path) -> None:
    """Nothing goes out that the journal does not hold; with room again it goes on by itself."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    said = mounted(FULL_DISK, tmp_path / "disk", size="1m").splitlines()
    assert said == ["None 0 1", "1 1 nothing is released ", "4 5 releasing"]


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_signals_that_end_it_leave_a_true_status(tmp_path: Path, name: str) -> None:
    """A terminal that is closed ends the service as asking it to end does."""
    with command(tmp_path) as (child, _):
        child.process.send_signal(getattr(signal, name))
        wait_for(lambda: child.process.poll() is not None, "it ends")
        assert b'"stopped"' in child.err
    assert read_status(tmp_path / "state")["running"] is False


@pytest.mark.parametrize("way", ["--listen", "--out"])
def test_a_port_in_use_is_said_in_one_message(tmp_path: Path, way: str) -> None:
    """With the address and the way out, exit code 2, and no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        more = ["--listen", address] if way == "--listen" else ["--listen", "none", "--out"]
        more += [] if way == "--listen" else [f"gpsd://{address}"]
        words = [sys.executable, "-m", "priste", "live", "--policy", str(write_policy(tmp_path))]
        words += ["--state", str(tmp_path / "state"), "--clock", "fixes", *more]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    said = " ".join(done.stderr.replace("│", " ").split())
    assert address in said
    assert "Address already in use" in said
    assert "Traceback" not in said


def test_two_services_cannot_share_a_state_folder(tmp_path: Path) -> None:
    """The second one says so; with the first gone it starts."""
    chosen = one_person(tmp_path)
    with serving(chosen):
        with pytest.raises(StateError, match="is running in"), serving(chosen):
            pass
        assert read_status(chosen.state)["running"]
    assert not read_status(chosen.state)["running"]
    with serving(chosen):
        pass


# ------------------------------------------------------------------ whose state it is


def opened(folder: Path, person: str = "ada") -> Stream:
    chosen = StreamOptions(seed=SEED)
    return Stream.open(person, read_policy(POLICY), folder, chosen, fix_of(0, minute=0).time)


def begun(folder: Path, person: str = "ada") -> Path:
    """Make a state folder in which two steps were released."""
    stream = opened(folder, person)
    for step in range(2):
        stream.take(fix_of(step), fix_of(step).time)
        stream.release(step)
    stream.close()
    return folder


def test_the_journal_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """Also one of a namesake under the same policy, which is as well-formed as the right one."""
    for number, other in enumerate(("ben", "ada")):
        mine, theirs = begun(tmp_path / f"a{number}"), begun(tmp_path / f"b{number}", other)
        shutil.copy(theirs / "000000.journal", mine / "000000.journal")
        with pytest.raises(StateError, match="belongs to something else"):
            opened(mine)


def test_the_folder_or_point_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """A stream is continued under the name it was begun with."""
    with pytest.raises(StateError, match="not a stream of 'ben'"):
        opened(begun(tmp_path / "ada"), "ben")
    mine, theirs = begun(tmp_path / "a"), begun(tmp_path / "b", "ben")
    shutil.copy(theirs / "latest.json", mine / "latest.json")
    with pytest.raises(StateError, match="not a point of 'ada'"):
        opened(mine)


@pytest.mark.parametrize(
    ("lost", "words"),
    [("stream.json", "which says when its steps were"), ("*.journal", "its journal is missing")],
)
def test_a_folder_that_lost_a_file_is_refused(tmp_path: Path, lost: str, words: str) -> None:
    """Without stream.json past releases would be dated anew; without the journal drawn anew."""
    folder = begun(tmp_path / "ada")
    (folder / "latest.json").unlink()
    for path in folder.glob(lost):
        path.unlink()
    with pytest.raises(StateError, match=words):
        opened(folder)


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    """Whoever can write there could have put anything there."""
    folder = begun(tmp_path / "ada")
    folder.chmod(0o777)
    with pytest.raises(OutputError, match="lets others in"):
        opened(folder)
    folder.chmod(0o700)
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(OutputError, match="not a link"):
        opened(link)
    if os.getuid() == 0:
        os.chown(folder, 65534, 65534)
        with pytest.raises(OutputError, match="another account"):
            opened(folder)


def test_the_folder_of_the_service_is_private_too(tmp_path: Path) -> None:
    """The status in it tells which steps were real."""
    chosen = one_person(tmp_path)
    chosen.state.mkdir(mode=0o755)
    chosen.state.chmod(0o755)
    with pytest.raises(OutputError, match="chmod 700"), serving(chosen):
        pass


def test_a_crash_before_the_first_journal_is_continued(tmp_path: Path) -> None:
    """stream.json alone is a stream that has released nothing."""
    StateFolder(tmp_path / "ada", "ada").begin(read_policy(POLICY), 0)
    stream = opened(tmp_path / "ada")
    assert (stream.origin, stream.next_step) == (0, 0)
    stream.close()


def test_topics_of_everybody_need_names(tmp_path: Path) -> None:
    """Without 'devices' a wildcard would make everybody's messages one person's fixes."""
    chosen = one_person(tmp_path)
    for topic in ("", "/owntracks/+/+", "/owntracks/#"):
        person = dataclasses.replace(
            chosen.people[0], inputs=(read_input(f"owntracks+mqtt://127.0.0.1{topic}"),)
        )
        with (
            pytest.raises(PristeError, match="--device USER/DEVICE"),
            serving(dataclasses.replace(chosen, people=(person,))),
        ):
            pass
