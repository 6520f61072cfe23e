"""Setting a service up, as somebody at a terminal does and as a script does."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pty
import re
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

import httpx
import pytest
from tests.live.running import PATIENCE, free_port, mosquitto, serving
from typer.testing import CliRunner

from priste.cli.application import app
from priste.errors import InvalidParameter, OutputExists, PolicyError
from priste.live.addresses import read_output
from priste.live.setting_up.answers import Answers, GuardedPlace, read_guarded, read_place
from priste.live.setting_up.trying import try_output
from priste.live.settings import load_settings
from priste.policy import load_policy
from priste.traces import Trace, write_traces
from priste.traces.town import ada

HOME, CLINIC = "46.0131,7.0192", "clinic=46.0300,7.0500,0.2"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(*words: str) -> str:
    """Run the command without a terminal and return what it prints."""
    done = CliRunner().invoke(app, ["live", "setup", *words])
    assert done.exit_code == 0, done.output
    return done.output


def configured(text: str) -> dict[str, str]:
    """Return the configuration in the link that was printed, as the app reads it."""
    found = re.search(r"owntracks:///config\?inline=(\S+)", text.replace("\n", ""))
    assert found is not None
    inline = re.match(r"[A-Za-z0-9+/%=]+?%3D|[A-Za-z0-9+/]+", found[1])
    assert inline is not None
    return dict(json.loads(base64.b64decode(unquote(inline[0]))))


def test_a_phone_with_the_printed_link_is_served(tmp_path: Path) -> None:
    """The files that are written start a service, and what the link says lets the phone in."""
    folder = tmp_path / "set-up"
    text = run(str(folder), "--home", HOME, "--guard", CLINIC, "--port", "0", "--yes")
    assert "a factor 2.72" in text
    assert all(path.stat().st_mode & 0o077 == 0 for path in [folder, *folder.iterdir()])
    phone = configured(text)
    policy = load_policy(folder / "policy.toml")
    begin = policy.timeline.start.astimezone(ZoneInfo("Europe/Zurich"))
    assert (begin.weekday(), begin.hour) == (0, 0)
    assert {event.name for event in policy.events.values()} == {"clinic"}
    with serving(load_settings(folder / "live.toml")) as live:
        url = live.url + urlsplit(phone["url"]).path
        named = {"X-Limit-U": phone["username"], "X-Limit-D": phone["deviceId"]}
        fix = {"_type": "location", "lat": 46.014, "lon": 7.02, "tst": int(time.time())}
        for password, status in ((phone["password"], 200), ("wrong", 401)):
            answer = httpx.post(
                url, json=fix, headers=named, auth=(phone["username"], password), trust_env=False
            )
            assert answer.status_code == status
        assert live.person.stream.counts.kept == 1


def at_a_terminal(command: list[str], answers: list[str]) -> str:
    """Run a command at a terminal, answer each question when it is asked, return what is shown."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(command[0], command, {**os.environ, "COLUMNS": "100", "TERM": "xterm"})
    shown, waiting, deadline = "", list(answers), time.monotonic() + PATIENCE
    answered = 0
    while time.monotonic() < deadline:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # Linux says that the other end is closed
            break
        if not part:
            break
        shown += part.decode(errors="replace")
        if waiting and re.search(r"(: |\? )\s*$", ESCAPES.sub("", shown[answered:])):
            answered = len(shown)
            os.write(terminal, waiting.pop(0).encode() + b"\r")
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    plain = ESCAPES.sub("", shown).replace("\r", "")
    assert os.waitstatus_to_exitcode(status) == 0, plain
    assert not waiting, plain
    return plain


def test_questions_at_a_terminal(tmp_path: Path) -> None:
    """A mistake is asked about again, the plain network is refused, a QR code is drawn."""
    command = [sys.executable, "-m", "priste", "live", "setup", str(tmp_path / "made")]
    answers = ["", "n", "", "fri 18:00-20:00", HOME, "somewhere", CLINIC, "n"]
    shown = at_a_terminal(command, answers)
    assert "can read the phone's true locations" in shown
    assert "must be written as clinic=" in shown
    assert "█▀" in shown
    assert "works on this machine only" in shown
    assert '"fri 18:00-20:00"' in (tmp_path / "made" / "policy.toml").read_text()
    assert load_settings(tmp_path / "made" / "live.toml").listen == ("127.0.0.1", 8787)
    unit = tmp_path / "made" / "priste-live.service"
    assert f"--config {tmp_path}/made/live.toml" in unit.read_text()
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(unit)], capture_output=True, check=False
    ) if Path("/usr/bin/systemd-analyze").exists() else None  # fmt: skip
    assert checked is None or b"priste-live.service" not in checked.stderr, checked.stderr


def test_a_trace_gives_map_home_and_habits(tmp_path: Path) -> None:
    """With a trace nothing else but the place is needed; its guarded hours change nothing."""
    written = []
    for name, moved in (("one", 0.0), ("other", 0.004)):
        fixes = [
            fix if fix.time.weekday() != 2 or not 12 <= fix.time.hour < 17
            else type(fix)(fix.user, fix.time, fix.lat + moved, fix.lon)
            for fix in ada()
        ]  # fmt: skip
        write_traces([Trace.of(fixes)], tmp_path / f"{name}.csv")
        folder = tmp_path / name
        run(str(folder), "--trace", str(tmp_path / f"{name}.csv"), "--guard",
            "clinic=46.0225,7.0325", "--hours", "wed 14:00-16:00", "--yes")  # fmt: skip
        written.append((folder / "policy.toml").read_text())
    assert written[0] == written[1]
    assert "[regions.home]" in written[0]
    assert load_policy(tmp_path / "one" / "policy.toml").timeline.start.date() <= date.today()


def test_the_local_network_is_named(tmp_path: Path) -> None:
    """Only with the option may the service listen and push without encryption, and only there."""
    chosen = Answers(
        "me", (46.0, 7.0), (GuardedPlace("clinic", 46.01, 7.01),), ("14:00-16:00",),
        listen="192.168.1.7:8787",
    )  # fmt: skip
    chosen.write(tmp_path / "refused", date(2026, 3, 4))
    with pytest.raises(InvalidParameter, match="--expose"):
        load_settings(tmp_path / "refused" / "live.toml")
    text = (tmp_path / "refused" / "live.toml").read_text()
    output = 'out = ["homeassistant+http://192.168.1.9:8123/api/webhook/1"]\n'
    path = tmp_path / "refused" / "plain.toml"
    path.write_text(f"plain_lan = true\n{text}{output}")
    assert load_settings(path).listen == ("192.168.1.7", 8787)
    for wrong in (text.replace("192.168.1.7", "8.8.8.8"), text + output.replace("192.168", "8.8")):
        path.write_text(f"plain_lan = true\n{wrong}")
        with pytest.raises((InvalidParameter, PolicyError)):
            load_settings(path)


def test_what_is_refused(tmp_path: Path) -> None:
    """Answers that cannot be read, a place off the map, files that exist, and a missing answer."""
    for text in ("46.1", "x,y", "91,0", "nan,1"):
        with pytest.raises(InvalidParameter) as caught:
            read_place(text)
        assert text not in str(caught.value)
    for text in ("46.1,7.0", "home=46.1,7.0", "a b=46.1,7.0", "clinic=46.1,7.0,-1"):
        with pytest.raises(InvalidParameter, match="clinic="):
            read_guarded(text)
    far = Answers("me", (46.0, 7.0), (GuardedPlace("clinic", 47.0, 7.0),), ("14:00-16:00",))
    with pytest.raises(PolicyError, match="must lie on the map"):
        far.write(tmp_path / "far", datetime.now(UTC).date())
    near = Answers("me", (46.0, 7.0), (GuardedPlace("clinic", 46.0, 7.01),), ("14:00-16:00",))
    near.write(tmp_path / "near", date(2026, 3, 4))
    with pytest.raises(OutputExists):
        near.write(tmp_path / "near", date(2026, 3, 4))
    done = CliRunner().invoke(app, ["live", "setup", str(tmp_path / "x"), "--yes"])
    assert done.exit_code != 0
    assert "--home" in done.output


def tried(address: str) -> str | None:
    return asyncio.run(try_output(read_output(address)))


def test_outputs_are_tried_without_a_location(tmp_path: Path) -> None:
    """A broker that answers, one that does not, a port that is taken, and servers that refuse."""
    port = free_port()
    broker = mosquitto(tmp_path, port)
    try:
        assert tried(f"owntracks+mqtt://127.0.0.1:{port}/a") is None
        taken = tried(f"gpsd://127.0.0.1:{port}")
        assert taken is not None
        assert "in use" in taken
    finally:
        broker.end()
    assert "reached" in (tried(f"owntracks+mqtt://127.0.0.1:{port}/a") or "")
    assert "reached" in (tried(f"osmand+http://127.0.0.1:{port}/") or "")
