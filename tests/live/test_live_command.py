"""``priste live`` from the command line: what it refuses, its status, its demo."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from tests.live.running import serving
from tests.live.small_town import fix_of, write_policy
from typer.testing import CliRunner

from priste.cli.application import app
from priste.cli.console import NOT_RUNNING
from priste.cli.live_demonstration import demonstrate
from priste.live.addresses import read_output
from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--policy for one person"),
        (["--policy", "missing.toml"], "no policy file"),
        (["--policy", "policy.toml", "--in", "ftp://x"], "must begin with one of"),
        (["--policy", "policy.toml", "--out", "osmand+http://192.0.2.1/"], "not encrypted"),
        (["--policy", "policy.toml", "--listen", "0.0.0.0:1"], "--expose"),
        (["--policy", "policy.toml", "--listen", "nowhere"], "127.0.0.1:8787"),
        (["--policy", "policy.toml", "--hold", "soon"], "90s, 30min or 2h"),
        (["--policy", "policy.toml", "--person", "a/b"], "must have 1 to 64 letters"),
        (["--config", "missing.toml"], "no settings file"),
        (["--policy", "policy.toml", "--owntracks-key-file", "policy.toml"], "must hold one line"),
        (["status"], "no service"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str
) -> None:
    """One message that names the way out, exit code 2, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    write_policy(tmp_path)
    done = CliRunner().invoke(app, ["live", *options])
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.output.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["policy.toml"]


def test_status_tells_how_it_is(tmp_path: Path) -> None:
    """Words and JSON about every stream and line; exit code 0 only while it runs."""
    person = PersonSettings(
        "ada",
        write_policy(tmp_path),
        outputs=(read_output("gpsd://127.0.0.1:0"),),
        options=StreamOptions(seed=1),
        clock="fixes",
    )
    ask = ["live", "status", "--state", str(tmp_path / "state")]
    with serving(Settings(tmp_path / "state", (person,), listen=None)) as live:
        for step in range(2):
            live.do(live.person.take(fix_of(step)))
        running = CliRunner().invoke(app, ask)
        assert running.exit_code == 0
        assert running.output.startswith("running, process")
    ended = CliRunner().invoke(app, ask)
    assert ended.exit_code == NOT_RUNNING
    assert "not running" in ended.output
    for words in ("2 kept, 0 refused", "1 released, 0 covered, 0 silent, 0 in guarded hours"):
        assert words in ended.output
    found = json.loads(CliRunner().invoke(app, [*ask, "--json"]).stdout)
    assert "factor 2.23" in found["people"]["ada"]["events"]["visit"]["guarantee"]
    assert found["people"]["ada"]["out"][0]["address"] == "gpsd://127.0.0.1:0"


def test_the_demo_shows_a_phone_and_an_app() -> None:
    """A made-up phone posts over HTTP, and an app reads one point a step."""
    shown = Console(file=io.StringIO(), width=100, color_system=None)
    demonstrate(shown, seed=1, hours=3)
    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert "/owntracks" in text
    rows = [line for line in text.splitlines() if " home " in line]
    assert [row[:5] for row in rows] == ["05:00", "06:00"]
    assert "The app asked 18 times and got 2 points" in " ".join(text.split())
