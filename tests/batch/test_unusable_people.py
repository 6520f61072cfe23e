"""People of whom no record can be used are left out with the reason, like any broken user."""

import json
from pathlib import Path

import pytest
from tests.cli.command_line import complaint_of, priste
from tests.cli.small_world import PATHS, START, policy_of, trace_of, write_policy, write_trips

from priste import StateError, TraceError
from priste.batch import BatchReport, protect_file
from priste.batch.groups import NOTHING_USABLE
from priste.cli.console import QUARANTINED
from priste.traces import read_traces, write_traces

NOW = START.isoformat()
BROKEN = f"ben,{NOW},,7.01\nben,{NOW},91.5,7.01\ndan,when?,46.01,7.01\n"
"""Rows of a person without a position that can be, and of one without a time."""


def run(folder: Path, source: Path, name: str, **options: object) -> BatchReport:
    return protect_file(policy_of(), read_traces(source), folder / name, seed=1, **options)  # type: ignore[arg-type]


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    """Two people who can be protected, and two who cannot."""
    path = write_trips(tmp_path, ("ada", "cleo"))
    path.write_text(path.read_text() + BROKEN)
    return path


def test_they_are_told_by_name_and_the_others_are_released(tmp_path: Path, trips: Path) -> None:
    """The exit code says so, the others get the draws that they would get by themselves."""
    policy = write_policy(tmp_path)
    result = priste(
        "protect", trips, "-p", policy, "-o", tmp_path / "out.csv", "--seed", 1, "--json",
        code=QUARANTINED,
    )  # fmt: skip
    found = json.loads(result.stdout)
    assert found["quarantined"]["users"] == 2
    assert list(found["quarantined"]["reasons"]) == ["ben", "dan"]
    assert all(NOTHING_USABLE in why for why in found["quarantined"]["reasons"].values())
    assert found["users"] == 2
    alone = run(tmp_path, write_trips(tmp_path, ("ada", "cleo"), "two.csv"), "alone.csv")
    assert alone.problems == {}
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()


def test_progress_counts_them(tmp_path: Path, trips: Path) -> None:
    """Everybody who is named is done at the end, and those who are asked for alone are taken."""
    seen: list[tuple[int, int]] = []
    run(tmp_path, trips, "out.csv", on_progress=lambda done, users: seen.append((done, users)))
    assert seen[-1] == (4, 4)
    some = run(tmp_path, trips, "some.csv", users=["ada", "dan"])
    assert list(some.cells) == ["ada"]
    assert list(some.problems) == ["dan"]
    refused = priste(
        "protect", trips, "-p", write_policy(tmp_path), "-o", tmp_path / "o.csv", "--user", "ben",
        code=2,
    )  # fmt: skip
    assert "usable fix" in complaint_of(refused)
    with pytest.raises(TraceError, match="no user 'eve'"):
        run(tmp_path, trips, "none.csv", users=["eve"])


def test_mended_they_are_released_and_nobody_is_drawn_again(tmp_path: Path, trips: Path) -> None:
    """Who is mended gets a first draw; who is gone from the input is not told any more."""
    before = run(tmp_path, trips, "out.csv").cells
    write_traces([trace_of(u, PATHS[u]) for u in ("ada", "ben", "cleo")], trips, overwrite=True)
    mended = run(tmp_path, trips, "out.csv", overwrite=True)
    assert mended.drawn_now == len(PATHS["ben"])
    assert mended.problems == {}
    assert {user: mended.cells[user] for user in before} == before
    again = run(tmp_path, trips, "out.csv", overwrite=True)
    assert again.drawn_now == 0


def test_released_before_and_broken_now_is_refused(tmp_path: Path, trips: Path) -> None:
    """Their stream is kept, and the input does not hold what it was made from any more."""
    run(tmp_path, trips, "out.csv")
    trips.write_text(write_trips(tmp_path, ("ada",), "one.csv").read_text() + f"cleo,{NOW},,\n")
    with pytest.raises(StateError, match="who are no longer in the input"):
        run(tmp_path, trips, "out.csv", overwrite=True)


@pytest.mark.parametrize("kind", ["gpx", "geojson", "parquet", "csv"])
def test_whatever_the_format(tmp_path: Path, kind: str) -> None:
    """Files that are a person's each, and files that name people: nobody is passed over."""
    place = tmp_path / "people"
    place.mkdir()
    for user in ("ada", "ben"):
        write_traces([trace_of(user, PATHS[user])], place / f"{user}.{kind}")
    broken = place / f"ben.{kind}"
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pq.read_table(broken)
        at = table.column_names.index("lat")
        nowhere = pa.array([200.0] * table.num_rows)
        pq.write_table(table.set_column(at, "lat", nowhere), broken)
    else:
        broken.write_text(broken.read_text().replace("46.0", "146.0"))
    found = run(tmp_path, place, "out")
    ((name, why),) = found.problems.items()
    assert name == "ben"
    assert NOTHING_USABLE in why
    assert list(found.cells) == ["ada"]
