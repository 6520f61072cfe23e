"""`init` and then `protect`, with nothing edited, on real files where they are present."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.command_line import complaint_of, priste
from tests.traces.folders_of_people import folder_of, part

from priste.policy import load_policy
from priste.traces import write_traces

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ZONES = {
    "gpx/around-visnjan-with-car.gpx": "Europe/Zagreb",
    "gpx/cerknicko-jezero.gpx": "Europe/Ljubljana",
    "gpx/cerknicko-without-times.gpx": "Europe/Ljubljana",
    "gpx/korita-zbevnica.gpx": "Europe/Zagreb",
    "gpx/limerick-commute.gpx": "Europe/Dublin",
    "gpx/visnjan.gpx": "Europe/Zagreb",
    "nmea/bt451.nmea": "Europe/Vilnius",
    "nmea/bundg_zeus_9.nmea": "Europe/Amsterdam",
    "nmea/nl2008u.nmea": "Europe/Berlin",
    "bus/route14_outbound.csv": "Europe/London",
}
RELEASED = ("gpx/visnjan.gpx", "nmea/bundg_zeus_9.nmea")
"""Those of which the releases are drawn too; the others are shown by running them by hand."""


def shared(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the shared file {name} is not on this machine")
    return path


@pytest.mark.parametrize("name", list(ZONES))
def test_a_draft_of_a_real_file(name: str, tmp_path: Path) -> None:
    """The map and the zone are sensible, regions share no cell, and the file is on the clock."""
    options = ["--zone", "Europe/London"] if name.startswith("bus") else []
    policy_file = tmp_path / "p.toml"
    source = shared(name)
    priste("init", source, "-o", policy_file, "--no-forecast", *options)
    policy = load_policy(policy_file)
    assert str(policy.timeline.zone) == ZONES[name]
    assert policy.grid.size <= 17 * 17
    assert max(policy.grid.width, policy.grid.height) < 35
    assert 2 <= policy.steps <= 1400
    cells = [cell for region in policy.regions.values() for cell in region]
    assert len(cells) == len(set(cells)) > 0
    assert tomllib.loads(policy_file.read_text())["events"]["example"]
    assert policy.events
    if name in RELEASED:
        done = priste("protect", source, "-p", policy_file, "-o", tmp_path / source.name,
                      "--seed", 1, *options)  # fmt: skip
        assert "The guarantee was kept" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gpx/Mojstrovka.gpx", "184 × impossible time"),
        ("gpx/track-with-extremes.gpx", "25 × missing time"),
        ("gpx/unicode_with_bom.gpx", "1 × other record"),
    ],
)
def test_files_without_a_usable_fix_say_why(name: str, reason: str, tmp_path: Path) -> None:
    """Bogus years, no times and no track end with what was met."""
    said = complaint_of(priste("init", shared(name), "-o", tmp_path / "p.toml", code=2))
    assert reason in said


def test_parts_of_one_person_are_drafted_as_one(tmp_path: Path) -> None:
    """Activities that never overlap and go on in space are one person's, to be released so."""
    folder = folder_of(
        tmp_path / "my runs", {f"{number}.gpx": part(number / 2) for number in (8, 9, 11, 12)}
    )
    done = priste("init", folder, "-o", tmp_path / "p.toml", "--no-forecast")
    said = " ".join(done.stdout.split())
    assert "taken for one person's" in said
    assert "4 people" not in said
    assert f"priste protect '{folder}' -p {tmp_path / 'p.toml'} --as-user 'my runs'" in done.stdout


def test_files_that_may_be_people_ask_for_the_option(tmp_path: Path) -> None:
    """Recorded at the same time they are people, and the option that says otherwise is named."""
    folder = folder_of(tmp_path / "club", {"ada.gpx": part(0), "bob.gpx": part(0)})
    done = priste("init", folder, "-o", tmp_path / "p.toml", "--no-forecast")
    said = " ".join(done.stdout.split())
    assert "--as-user NAME" in said
    assert "2 people" in said


def test_two_files_of_a_runner_are_one_person(tmp_path: Path) -> None:
    """Several inputs that name nobody are put together too, and the next commands are whole."""
    morning, evening = tmp_path / "a.gpx", tmp_path / "b.tcx"
    write_traces([part(0)], morning)
    write_traces([part(0.5)], evening)
    done = priste("init", morning, evening, "-o", tmp_path / "p.toml", "--no-forecast")
    assert "taken for one person's" in " ".join(done.stdout.split())
    for source in (morning, evening):
        assert f"  priste protect {source} -p {tmp_path / 'p.toml'}\n" in done.stdout


def test_the_next_command_reads_alike(tmp_path: Path) -> None:
    """Options that said how to read the file are part of what is to be typed next."""
    table = tmp_path / "t.csv"
    rows = [f"0{hour}.03.2026 08:{minute:02d};46.0;7.0" for hour in (2, 3) for minute in range(60)]
    table.write_text("\n".join(["when;y;x", *rows]))
    done = priste("init", table, "-o", tmp_path / "p.toml", "--no-forecast", "--zone", "UTC",
                  "--column", "time_format=%d.%m.%Y %H:%M")  # fmt: skip
    assert "--zone UTC --column 'time_format=%d.%m.%Y %H:%M'" in done.stdout


def test_runs_over_days_have_fine_steps(tmp_path: Path) -> None:
    """Somebody who records an hour now and then gets steps of minutes, not three points a run."""
    runs = folder_of(tmp_path / "runs", {f"2026-03-{2 + day:02d}.gpx": part(day) for day in (0, 9)})
    priste("init", runs, "-o", tmp_path / "p.toml", "--no-forecast")
    assert load_policy(tmp_path / "p.toml").timeline.step.total_seconds() == 600  # as the fixes


def test_libraries_use_one_thread_unless_told(tmp_path: Path) -> None:
    """The command line asks for one thread before they are loaded; the user's wish is kept."""
    script = (
        "import os, sys; from priste.cli import main; sys.argv = ['priste', '--version']\n"
        "try: main()\n"
        "except SystemExit: print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules)"
    )
    for given, found in ((None, "1"), ("4", "4")):
        around = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
        around |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
        done = subprocess.run(
            [sys.executable, "-c", script], env=around, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == f"{found} False"
