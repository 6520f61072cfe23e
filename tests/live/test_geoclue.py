"""GeoClue, which gives Firefox and desktop programs their location, reads our NMEA socket."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.live.running import GEOCLUE_DEMOS, Child, program, serving, wait_for
from tests.live.small_town import assert_no_truth, fix_of, write_policy

from priste.live.addresses import read_output
from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings

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
stdbuf -oL {demos}/where-am-i -t 50 & asking=$!
wait $asking
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: a UNIX socket has a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="gc-") as made:
        yield Path(made)


def test_where_am_i(folder: Path) -> None:
    """The program that asks GeoClue is told the released point, and the next one after the step."""
    unshare = program("unshare")
    program("dbus-daemon")
    program("where-am-i")
    if subprocess.run([unshare, "-mnpf", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no private namespaces")
    if datetime.now(UTC).hour < 6:
        pytest.skip("GeoClue takes the hour of a fix for today's, and those here are yet to come")
    address = f"nmea+unix://{folder}/nmea.sock"
    person = PersonSettings(
        "ada",
        write_policy(folder),
        outputs=(read_output(address),),
        options=StreamOptions(seed=5),
        clock="fixes",
    )
    (folder / "geoclue.conf").write_text(GEOCLUE.format(socket=folder / "nmea.sock"))
    (folder / "bus.conf").write_text(BUS.format(folder=folder))
    (folder / "inside.sh").write_text(INSIDE.format(folder=folder, demos=GEOCLUE_DEMOS))
    with serving(Settings(folder / "state", (person,), listen=None)) as live:
        for step in range(2):
            live.do(live.person.take(fix_of(step)))
        child = Child(unshare, "-mnpf", "--kill-child", "bash", str(folder / "inside.sh"))
        try:
            for step in range(2, 5):
                assert live.person.latest is not None
                expected = (live.person.latest.lat, live.person.latest.lon)
                wait_for(lambda e=expected: told(child, e), "GeoClue tells the point")
                live.do(live.person.take(fix_of(step)))
        finally:
            child.end(kill=True)  # unshare does not hear a plain end; all inside ends with it
    assert_no_truth(bytes(child.out + child.err))


def told(child: Child, expected: tuple[float, float]) -> bool:
    """Tell whether the last point that was printed is the expected one."""
    text = child.out.decode(errors="replace")
    pairs = re.findall(r"Latitude:\s+(-?[\d.]+)°\s+Longitude:\s+(-?[\d.]+)°", text)
    return bool(pairs) and tuple(map(float, pairs[-1])) == pytest.approx(expected, abs=ROUNDING)
