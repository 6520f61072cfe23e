"""The table of live protocols, and what another package adds to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.running import serving, wait_for
from tests.live.small_town import fix_of, true_position, write_policy

from priste.errors import PristeError
from priste.live import protocol_table as table
from priste.live.addresses import read_input, read_output
from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings

THIRD_PARTY = """
from datetime import datetime
from pathlib import Path
from priste.live.protocol import LiveProtocol, Reported, Post, Sink, Source
from priste.live.retrying import Line
from priste.traces import Fix

async def run(address, intake, line):
    for text in Path(address.path).read_text().splitlines():
        when, lat, lon = text.split()
        line.messages += 1
        await intake.take(Fix(None, datetime.fromisoformat(when), float(lat), float(lon)))

class Writing:
    def __init__(self, address, person):
        self.line, self.path = Line(address.shown), Path(address.path)
    def offer(self, point):
        with self.path.open("a") as file:
            file.write(f"{point.step}\\n")
    async def run(self):
        self.line.state = "writing"

PROTOCOL = LiveProtocol(
    "plain", sources={"plain": Source(run, recorded=True)}, sinks={"plain": Sink(Writing)})
TWICE = LiveProtocol("twice", sources={"gpsd": Source(run)})
NOTHING = "no protocol"
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a package that registers something; the test writes which entry points."""
    place = tmp_path / "site"
    (place / "third-1.0.dist-info").mkdir(parents=True)
    (place / "third-1.0.dist-info" / "METADATA").write_text("Name: third\nVersion: 1.0\n")
    (place / "third_live.py").write_text(THIRD_PARTY)
    monkeypatch.syspath_prepend(str(place))
    yield place / "third-1.0.dist-info" / "entry_points.txt"
    sys.modules.pop("third_live", None)
    forget()


def forget() -> None:
    """Let the table be made again."""
    for made in (table.sources, table.sinks, table.posts):
        made.cache_clear()
    vars(table.LIVE).pop("_others", None)


def register(entry_points: Path, name: str) -> None:
    entry_points.write_text(f"[priste.live]\nthird = third_live:{name}\n")
    forget()


def test_another_package_can_add_a_protocol(tmp_path: Path, third_party: Path) -> None:
    """Its addresses are read, its source runs and its sink is offered every release."""
    register(third_party, "PROTOCOL")
    log = tmp_path / "log"
    lines = [(fix_of(step).time.isoformat(), *true_position(step)) for step in range(4)]
    log.write_text("".join(f"{when} {lat} {lon}\n" for when, lat, lon in lines))
    person = PersonSettings(
        "ada",
        write_policy(tmp_path),
        inputs=(read_input(f"plain://{log}"),),
        outputs=(read_output(f"plain://{tmp_path / 'out'}"),),
        options=StreamOptions(seed=5),
        clock="fixes",
    )
    with serving(Settings(tmp_path / "state", (person,), listen=("127.0.0.1", 0))) as live:
        wait_for(lambda: live.person.inputs[0].messages == 4, "all is read")
        out = tmp_path / "out"
        wait_for(lambda: out.exists() and len(out.read_text().split()) >= 3, "all goes out")
    assert (tmp_path / "out").read_text().split() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("name", "words"), [("TWICE", "claim 'gpsd'"), ("NOTHING", "must name a LiveProtocol")]
)
def test_what_cannot_be_registered(third_party: Path, name: str, words: str) -> None:
    """A word that is taken, or an object that is none: said with the name of the entry point."""
    register(third_party, name)
    with pytest.raises(PristeError, match=words):
        read_input("gpsd://127.0.0.1")


def test_the_live_door_needs_no_posix_module_to_be_imported() -> None:
    """termios, fcntl and resource are missing on Windows."""
    code = (
        "import sys\n"
        "for name in ('termios', 'tty', 'fcntl', 'resource', 'pwd'): sys.modules[name] = None\n"
        "import priste.live.service, priste.live.web, priste.live.web_server, priste.cli.live\n"
        "print(priste.live.web_server.most_connections())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "256"), done.stderr
