"""Without an extra the library goes on, and what needs it names it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from priste.errors import MissingExtra, PristeError
from priste.extras import EXTRAS, need

BLOCK = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from priste.errors import MissingExtra
"""

ATTEMPTS = """
import json
from priste.batch import protect_file
from priste.batch.cluster import cluster_at
from priste.policy.draft.facts import zone_at
from priste.report.figures import chart_figure
from priste.report.pages import page
from priste.traces import read_traces

attempts = {
    "a table": lambda: list(read_traces("a.csv")),
    "Google JSON": lambda: list(read_traces("Records.json")),
    "NMEA": lambda: list(read_traces("a.nmea")),
    "a figure": lambda: chart_figure(None),
    "a page": lambda: page("x.html"),
    "a zone": lambda: zone_at(46.0, 7.0),
    "a cluster": lambda: cluster_at("tcp://127.0.0.1:1").__enter__(),
    "a protected file": lambda: protect_file(None, None, "x.csv"),
}
found = {}
for name, attempt in attempts.items():
    try:
        attempt()
    except MissingExtra as missing:
        assert isinstance(missing, ImportError)
        found[name] = missing.extra, str(missing)
print(json.dumps(found))
"""

NEEDED = {
    "a table": "traces",
    "Google JSON": "traces",
    "NMEA": "traces",
    "a figure": "plots",
    "a page": "cli",
    "a zone": "cli",
    "a cluster": "cluster",
    "a protected file": "traces",
}


def without(extras: list[str], code: str, place: Path) -> str:
    """Run code in a process that has not got the modules of some extras."""
    blocked = [module.partition(".")[0] for extra in extras for module in EXTRAS[extra]]
    command = [sys.executable, "-c", BLOCK.format(blocked=blocked) + code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place)
    assert not done.returncode, done.stderr
    return done.stdout


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    """Who needs a part that is not installed is told which extra brings it."""
    (tmp_path / "a.csv").write_text("user,time,lat,lon\na,2024-05-01T08:00Z,46,7\n")
    (tmp_path / "Records.json").write_text('{"locations": [{"latitudeE7": 1}]}')
    (tmp_path / "a.nmea").write_text("$GPRMC,,V,,,,,,,,,,N*53\n")
    said = json.loads(without(list(EXTRAS), ATTEMPTS, tmp_path))
    assert {name: extra for name, (extra, _) in said.items()} == NEEDED
    for extra, words in said.values():
        assert f"pip install 'priste[{extra}]'" in words


def test_the_front_door_needs_no_extra(tmp_path: Path) -> None:
    """Every public name is there without any extra, and policies are read."""
    code = (
        "import priste; [getattr(priste, n) for n in priste.__all__]; "
        "from priste.policy.town_policy import town_policy; "
        "import priste.release, priste.audit, priste.policy, priste.results; print('fine')"
    )
    assert without(list(EXTRAS), code, tmp_path) == "fine\n"


def test_an_extra_that_is_there_is_not_asked_for() -> None:
    """Nothing happens where everything is installed, and an unknown part is named."""
    for extra in EXTRAS:
        need(extra, "This test")
    with pytest.raises(MissingExtra, match="needs no_such_module") as caught:
        need("traces", "This test", "no_such_module")
    assert isinstance(caught.value, PristeError)
    assert caught.value.hint == "Install it with: pip install 'priste[traces]'"
