"""What the command line says to people: its own words, everybody at once, before it takes long."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command_line import complaint_of, priste
from tests.cli.small_world import GRID, POLICY, START, write_policy, write_trips

from priste import MarkovModel, PolicyError
from priste.policy import read_policy, workload
from priste.policy.workload import MOST_CELLS, check_map
from priste.traces import Trace, write_traces

PYTHON = re.compile(
    r"\b\w+=['{]|\b(zone|format|columns|outside|cycle)=|Grid\.|MarkovModel|Timeline|PlanarLaplace"
    r"|read_traces|for_user|ModelOrigin|timedelta|None\b(?! of)"
)
"""What only somebody who programs would write."""


def refused(*arguments: object) -> str:
    said = complaint_of(priste(*arguments, code=2))
    assert not PYTHON.search(said), said
    return said


def test_times_without_a_zone(tmp_path: Path) -> None:
    """The option is named, not the argument."""
    (tmp_path / "a.csv").write_text("time,lat,lon\n2024-05-01 10:00:00,46.01,7.02\n")
    assert "--zone must be given" in refused("init", tmp_path / "a.csv", "-o", "p")


def test_columns_and_formats(tmp_path: Path) -> None:
    """Unknown columns and formats are told with the option that says which they are."""
    (tmp_path / "a.csv").write_text("time,breite,lon\n2024-05-01T10:00:00Z,46.01,7.02\n")
    assert "must name the 'lat'" in refused("init", tmp_path / "a.csv", "-o", "p")
    (tmp_path / "b.gpx").write_text("time,lat,lon\n2024-05-01T10:00:00Z,46.01,7.02\n")
    assert "--format" in refused("init", tmp_path / "b.gpx", "-o", "p")
    (tmp_path / "c.json").write_text('{"steps": []}')
    said = refused("init", tmp_path / "c.json", "-o", "p")
    assert "Looked for:" in said and "--format" in said  # noqa: PT018


def test_unreadable_times_say_how_to_say_how(tmp_path: Path) -> None:
    """A date of another form is unreadable, not missing, and the hint works."""
    (tmp_path / "a.csv").write_text(
        "time,lat,lon\n" + "".join(f"{d}.05.2024 10:00,46.01,7.02\n" for d in range(10, 20))
    )
    said = refused("init", tmp_path / "a.csv", "-o", tmp_path / "p.toml")
    assert "10 × unreadable time" in said
    hint = re.search(r"(time_format=\S+ \S+)\.", said)
    assert hint is not None
    priste("init", tmp_path / "a.csv", "-o", tmp_path / "p.toml", "--zone", "UTC",
           "--column", hint[1], "--no-forecast")  # fmt: skip
    shown = priste("init", "--help").stdout
    assert "time_format" in shown


def test_maps_and_models_of_a_policy(tmp_path: Path) -> None:
    """Mistakes in a policy speak of its keys."""
    write_trips(tmp_path)
    for old, new in (
        ("south = 46.0\n", "south = 47.0\n"),
        ("cell_size = 1.0", "cell_size = 0.001"),
        ('kind = "gaussian"\nsigma = 1.0', 'kind = "saved"\npath = "trips.csv"'),
        ('kind = "gaussian"\nsigma = 1.0', 'kind = "saved"\npath = "finite.npz"'),
    ):
        assert old in POLICY
        steps = [MarkovModel.gaussian(GRID, 1.0).transition(0)] * 3
        MarkovModel(GRID, steps).save(tmp_path / "finite.npz")
        refused("explain", write_policy(tmp_path, POLICY.replace(old, new)))


def test_everybody_beyond_the_map_is_told_at_once(tmp_path: Path) -> None:
    """The run is refused as a whole; users are named, and nothing about where they are."""
    times = int(START.timestamp() * 1e6) + np.arange(6) * 3_600_000_000 + 1_000_000
    away = [Trace(name, times, np.full(6, 47.1234), np.full(6, 8.4321)) for name in ("eve", "max")]
    home = Trace("ada", times, *np.full((2, 6), [[46.01], [7.01]]))
    write_traces([home, *away], tmp_path / "trips.csv")
    said = priste("protect", tmp_path / "trips.csv", "-p", write_policy(tmp_path), "--seed", 1,
                  "-o", tmp_path / "out.csv", code=2)  # fmt: skip
    said = complaint_of(said)
    assert "2 of 3 people have positions off the map (eve, max)" in said
    assert not (tmp_path / "out.csv").exists()
    assert not PYTHON.search(said)
    assert "47.1" not in said and "8.43" not in said  # noqa: PT018


def test_too_large_is_refused_and_large_is_told() -> None:
    """A million cells are refused with a size that would do; a long run is estimated."""
    from priste import Grid

    huge = Grid(1000, 1000, 0.01)
    with pytest.raises(ValueError, match=r"1,000,000 cells.*too long"):
        check_map(huge, few_rows=True)
    check_map(Grid(200, 200, 0.1), few_rows=True)
    with pytest.raises(ValueError, match=r"1,000,000 cells.*90000 GB") as told:
        check_map(huge)
    size = float(re.search(r"cell_size of (\S+) km", str(told.value))[1])  # type: ignore[index]
    assert (1000 * 0.01 / size) ** 2 <= MOST_CELLS
    small = workload(read_policy(POLICY))
    assert not small.is_large
    assert small.seconds < 1
    text = POLICY.replace('"05:00-08:00"', "5..7").replace("steps = 12", "steps = 1000000")
    long = workload(read_policy(text))
    assert long.is_large
    assert "1,000,000 steps" in long.words()
    with pytest.raises(PolicyError, match="1000000"):
        read_policy(POLICY.replace("steps = 12", "steps = 1000001"))


def test_options_are_called_what_they_are_typed(tmp_path: Path) -> None:
    """Each error names the option and repeats the value."""
    policy = write_policy(tmp_path)
    assert "--at-most must be > 0. Got -5.0." in refused("forecast", policy, "--at-most", "-5")
    assert "--with must be one of" in refused("compare", policy, "--with", "foo")
    trips = write_trips(tmp_path, ("ada",))
    said = refused("init", trips, "--zone", "Mars", "-o", tmp_path / "p.toml")
    assert "Got 'Mars'." in said
    assert "--home must be given" in refused("live", "setup", tmp_path / "new", "--yes")
    assert "--overwrite" in refused("init", "-o", policy)
