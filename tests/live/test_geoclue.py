"""GeoClue, which gives Firefox and desktop programs their location, reads our NMEA socket."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from tests.live.running import GEOCLUE_DEMOS, Child, program, serving, wait_for
from tests.live.small_town import POLICY, assert_no_truth, true_position, write_policy

from priste.live.addresses import read_output
from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings
from priste.traces import Fix

ROUNDING = 1e-6
"""Degrees: six decimals, as where-am-i prints them; NMEA rounds finer than that."""

GEOCLUE = """\
[agent]
whitelist=geoclue-demo-agent
[network-nmea]
enable=true
nmea-socket={socket}
[3g]
enable=false
[cdma]
enable=false
[modem-gps]
enable=false
[wifi]
enable=false
[compass]
enable=false
[where-am-i]
allowed=true
system=false
users=
[firefox]
allowed=true
system=false
users=
[firefox-esr]
allowed=true
system=false
users=
"""

BUS = """\
<busconfig>
  <type>system</type>
  <listen>unix:path={folder}/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
    <allow send_type="method_call"/>
  </policy>
</busconfig>
"""

# In namespaces of its own: its configuration has a fixed place, it would otherwise ask the network
# where it is, and all of it ends with the shell.
INSIDE = """\
set -e
mount --bind {folder}/geoclue.conf /etc/geoclue/geoclue.conf
export DBUS_SYSTEM_BUS_ADDRESS=unix:path={folder}/bus
dbus-daemon --config-file={folder}/bus.conf --nofork &
until [ -S {folder}/bus ]; do sleep 0.05; done
/usr/libexec/geoclue -t 60 &
sleep 0.5
{demos}/agent &
sleep 0.5
{command} & asking=$!
wait $asking
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: a UNIX socket has a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="gc-") as made:
        yield Path(made)


@contextmanager
def inside(folder: Path, command: str) -> Iterator[Child]:
    """Run a command beside a GeoClue that reads our socket; skip where namespaces are forbidden."""
    unshare = program("unshare")
    program("dbus-daemon")
    program("where-am-i")
    if subprocess.run([unshare, "-mnpf", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no private namespaces")
    (folder / "geoclue.conf").write_text(GEOCLUE.format(socket=folder / "nmea.sock"))
    (folder / "bus.conf").write_text(BUS.format(folder=folder))
    script = INSIDE.format(folder=folder, demos=GEOCLUE_DEMOS, command=command)
    (folder / "inside.sh").write_text(script)
    child = Child(unshare, "-mnpf", "--kill-child", "bash", str(folder / "inside.sh"))
    try:
        yield child
    finally:
        child.end(kill=True)  # unshare does not hear a plain end; all inside ends with it


def settings(folder: Path, policy: str) -> Settings:
    person = PersonSettings(
        "ada",
        write_policy(folder, policy),
        outputs=(read_output(f"nmea+unix://{folder}/nmea.sock"),),
        options=StreamOptions(seed=5),
        clock="fixes",
    )
    return Settings(folder / "state", (person,), listen=None)


def test_where_am_i(folder: Path) -> None:
    """The program that asks GeoClue is told the released point, and the next one after the step."""
    # GeoClue takes the time of a sentence for one of today, and none that is to come.
    policy, fixes = present_hours(5)
    with serving(settings(folder, policy)) as live:
        for step in range(2):
            live.do(live.person.take(fixes[step]))
        with inside(folder, f"stdbuf -oL {GEOCLUE_DEMOS}/where-am-i -t 50") as child:
            for step in range(2, 5):
                assert live.person.latest is not None
                expected = (live.person.latest.lat, live.person.latest.lon)
                wait_for(lambda e=expected: told(child, e), "GeoClue tells the point")
                live.do(live.person.take(fixes[step]))
    assert_no_truth(bytes(child.out + child.err))


PROVIDER = "http://provider.invalid/locate"
"""Stands for the service that Firefox asks where it is, with the names of networks around."""


def test_firefox_asks_nobody(folder: Path) -> None:
    """By the recipe a page gets nothing before a release, then its point; nobody is asked."""
    policy, fixes = present_hours(5)
    with serving(settings(folder, policy)) as live, firefox_inside(folder, "") as child:
        wait_for(lambda: answers_of(child), "Firefox has no position")
        for step in range(2):
            live.do(live.person.take(fixes[step]))
        wait_for(lambda: len(answers_of(child)[-1]["given"]) == 2, "Firefox has a position")
        latest = live.person.latest
    assert latest is not None
    assert len(answers_of(child)[0]["given"]) == 1  # the code of an error
    last = answers_of(child)[-1]
    assert last["given"] == pytest.approx([latest.lat, latest.lon], abs=ROUNDING)
    assert not [each for each in last["asked"] if each.startswith("POST") or "locat" in each]
    assert_no_truth(bytes(child.out + child.err))


def test_firefox_asks_its_provider_otherwise(folder: Path) -> None:
    """Without the recipe Firefox asks others where it is, as long as GeoClue has no position."""
    policy, _ = present_hours(5)
    with serving(settings(folder, policy)), firefox_inside(folder, PROVIDER) as child:
        wait_for(lambda: answers_of(child), "Firefox has no position")
    assert f"POST {PROVIDER}" in answers_of(child)[0]["asked"]


@contextmanager
def firefox_inside(folder: Path, provider: str) -> Iterator[Child]:
    program("firefox-esr")
    driver = f"{sys.executable} -m tests.live.firefox_with_geoclue"
    with inside(folder, f"{driver} {folder}/profile '{provider}'") as child:
        yield child


def answers_of(child: Child) -> list[dict[str, Any]]:
    """Return what Firefox's driver has written, among the lines of others."""
    return [json.loads(line) for line in child.lines() if line.startswith(b"{")]


def present_hours(number: int) -> tuple[str, list[Fix]]:
    """Return a policy of short steps that end now, and a fix in each of the last of them."""
    step = timedelta(seconds=10)
    while datetime.now(UTC).time() < datetime.min.time().replace(minute=2):
        sleep(1)  # the fixes would be of yesterday
    now = datetime.now(UTC).replace(microsecond=0)
    first = now - number * step
    start = first - 6 * step  # the event, at the fourth step of the clock, is still to come
    text = POLICY.replace("2026-03-04T00:00:00", f"{start:%Y-%m-%dT%H:%M:%S}")
    text = text.replace('step = "1h"', 'step = "10s"').replace('"04:00-06:00"', "8..9")
    places = [true_position(place) for place in range(number)]
    return text, [
        Fix(None, first + (place + 0.5) * step, *where) for place, where in enumerate(places)
    ]


def told(child: Child, expected: tuple[float, float]) -> bool:
    """Tell whether the last point that was printed is the expected one."""
    text = child.out.decode(errors="replace")
    pairs = re.findall(r"Latitude:\s+(-?[\d.]+)°\s+Longitude:\s+(-?[\d.]+)°", text)
    return bool(pairs) and tuple(map(float, pairs[-1])) == pytest.approx(expected, abs=ROUNDING)
