"""Runs of many: folders of parts, samples, places of everybody's own, broken users, full disks."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.batch.people_run import STILL, run
from tests.cli.command_line import complaint_of, priste
from tests.cli.small_world import GRID, PATHS, trace_of, write_policy

from priste import InvalidParameter, OutputExists, PristeError, StateError, TraceError
from priste.batch import protect_file, read_ledgers, workspace_of
from priste.batch.gathering import chunks_for, place_of
from priste.policy import load_policy
from priste.traces import Trace, read_traces, write_traces

ROOT = Path(__file__).parent.parent.parent


def write_people(folder: Path, count: int, steps: int = 3, name: str = "people.parquet") -> Path:
    paths = list(PATHS.values())
    traces = [
        # Some metres apart, so that nobody is taken for somebody else.
        Trace.of(
            replace(fix, lat=fix.lat + 3e-5 * k)
            for fix in trace_of(f"user {k:03}", paths[k % 3][:steps])
        )
        for k in range(count)
    ]
    write_traces(traces, folder / name, overwrite=True)
    return folder / name


# Folders of parts


def test_a_folder_of_parts_says_what_it_holds(tmp_path: Path) -> None:
    """Files with checksums, users and releases; ledgers beside them; all users, each once."""
    report = run(tmp_path, write_people(tmp_path, 5), seed=1)
    told = json.loads((tmp_path / "released" / "manifest.json").read_text())
    policy = load_policy(tmp_path / "policy.toml")
    assert (told["policy"], told["users"], told["releases"]) == (policy.fingerprint(), 5, 15)
    assert (told["left_out"], told["sampled"]) == (0, 1.0)
    seen = {}
    for entry in told["files"]:
        path = tmp_path / "released" / entry["file"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
        assert path.suffix == ".parquet"
        for trace in read_traces(path):
            seen[trace.user] = tuple(GRID.cell_at(fix.lat, fix.lon) for fix in trace)
    assert seen == report.cells
    ledgers = {}
    for path in (tmp_path / "released.ledger").glob("part-*.csv"):
        ledgers |= read_ledgers(path)
    assert {user: tuple(r.cell for r in ledger) for user, ledger in ledgers.items()} == seen


def test_workers_and_order_of_rows_make_no_difference(tmp_path: Path) -> None:
    """A shuffled copy of the table and two workers give the same files."""
    source = write_people(tmp_path, 6)
    run(tmp_path, source, seed=1)
    table = pq.read_table(source)
    shuffled = tmp_path / "shuffled.parquet"
    pq.write_table(
        table.take(pa.array([*range(1, table.num_rows, 2), *range(0, table.num_rows, 2)])), shuffled
    )
    run(tmp_path, shuffled, "other", seed=1, workers=2)
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("part-*")}
        for name in ("released", "other")
    )
    assert one == other


def test_a_folder_goes_on_and_is_not_mixed(tmp_path: Path) -> None:
    """Grown input rewrites it, on request; a folder of somebody else stays; nothing is mixed in."""
    source = write_people(tmp_path, 4, steps=2)
    first = run(tmp_path, source).cells
    write_people(tmp_path, 5, steps=3)
    with pytest.raises(OutputExists):
        run(tmp_path, source)
    grown = run(tmp_path, source, overwrite=True)
    assert grown.drawn_now == 4 + 3
    assert {user: grown.cells[user][:2] for user in first} == first
    (tmp_path / "released" / "mine.txt").write_text("mine")
    with pytest.raises(OutputExists):
        run(tmp_path, source, overwrite=True)
    assert (tmp_path / "released" / "mine.txt").read_text() == "mine"
    (tmp_path / "released" / "mine.txt").unlink()
    other = STILL.replace("epsilon = 0.8", "epsilon = 0.7")
    with pytest.raises(StateError, match="another policy"):
        run(tmp_path, source, overwrite=True, policy=other)


def test_chunks_follow_from_names() -> None:
    """Everybody has a place of their own, spread evenly, and it never moves."""
    assert place_of("ada") == place_of("ada") != place_of("ben")
    places = [place_of(str(k)) % 8 for k in range(4000)]
    assert all(400 < places.count(k) < 600 for k in range(8))
    assert place_of(None) != place_of("None")
    assert chunks_for(1, 1) >= 1
    assert chunks_for(50, 10**9) >= 50


def test_a_sample_is_a_part_of_the_whole(tmp_path: Path) -> None:
    """The same people whenever it is asked for, who get the same draws again in the whole run."""
    source = write_people(tmp_path, 30)
    sampled = run(tmp_path, source, "some.csv", sample=0.3)
    assert 2 <= len(sampled.cells) <= 18
    assert set(sampled.cells) == {
        f"user {k:03}" for k in range(30) if place_of(f"user {k:03}") < 0.3 * 2**62
    }
    whole = run(tmp_path, source, "all.csv")
    assert whole.given_again == len(sampled.cells)
    assert {user: whole.cells[user] for user in sampled.cells} == sampled.cells
    with pytest.raises(TraceError, match="sample is empty"):
        run(tmp_path, source, "none.csv", sample=1e-9)


def test_some_users_are_a_part_of_the_whole(tmp_path: Path) -> None:
    """Those who are named, and nobody else, in all that is written; somebody unknown is told."""
    source = write_people(tmp_path, 4)
    named = run(tmp_path, source, "named.parquet", users=["user 002", "user 000"])
    assert list(named.cells) == ["user 000", "user 002"]
    assert [trace.user for trace in read_traces(tmp_path / "named.parquet")] == list(named.cells)
    with pytest.raises(TraceError, match=r"no user 'user 2' in people\.parquet, which has 4"):
        run(tmp_path, source, "none.csv", users=["user 001", "user 2"])
    assert not workspace_of(tmp_path / "none.csv").exists()
    whole = run(tmp_path, source, "all.csv")
    assert {user: whole.cells[user] for user in named.cells} == named.cells


# Places of one's own


def test_everybodys_own_places(tmp_path: Path) -> None:
    """A side table of homes: each is guarded at their own, a place off the map is a problem."""
    source = write_people(tmp_path, 4)
    lines = ["user,region,lat,lon,radius_km"]
    for k, cell in enumerate((12, 5)):
        lat, lon = GRID.latlon(cell)
        lines.append(f"user {k:03},home,{lat},{lon},0.05")
    lines.append("user 002,home,10.0,10.0,0.05")
    (tmp_path / "homes.csv").write_text("\n".join(lines) + "\n")
    plain = run(tmp_path, source, "plain", seed=1)
    own = run(tmp_path, source, "own", seed=1, places=tmp_path / "homes.csv")
    assert list(own.problems) == ["user 002"]
    assert "10.0" not in own.problems["user 002"]
    assert any("1 of 4 users have no place of their own" in note for note in own.notes)
    assert own.cells["user 003"] == plain.cells["user 003"]
    assert list(own.ledgers["user 000"]) != list(plain.ledgers["user 000"])
    (tmp_path / "homes.csv").write_text("\n".join(lines[:2]).replace("0.05", "1.2") + "\n")
    with pytest.raises(StateError, match=r"places of user 00. have changed"):
        run(tmp_path, source, "own", seed=1, places=tmp_path / "homes.csv", overwrite=True)
    for text, told in (
        ("user,lat\nx,1", "must have the columns"),
        ("user,region,lat,lon,radius_km\nx,spa,1,2,3", "does not name"),
        ("user,region,lat,lon,radius_km\nx,home,1,north,3", "must be numbers"),
        ("user,region,lat,lon,radius_km\nUser 000,home,46,7,3", "None of the 4 users has"),
    ):
        (tmp_path / "homes.csv").write_text(text)
        with pytest.raises(TraceError, match=told):
            run(tmp_path, source, "third", places=tmp_path / "homes.csv")
    assert not workspace_of(tmp_path / "third").exists()


def test_a_home_that_is_everybodys_own(tmp_path: Path) -> None:
    """Who has one moves as who lives there, who has none as who roams; unsaid, it is refused."""
    source = write_people(tmp_path, 2)
    roams = STILL.split("[events.homecoming]")[0]
    lives = roams.replace(
        "sigma = 1.0", 'sigma = 1.0\nhome = "home"\nstay_home = 0.9\nback_home = 0.4'
    )
    own = lives.replace("cells = [0]", "own = true")
    for given, hint in (
        ({}, "--places TABLE"),
        ({"place_columns": {"clinic": "x"}}, "--place home"),
    ):
        with pytest.raises(InvalidParameter, match=f"must say where 'home' is.*{hint}"):
            run(tmp_path, source, "unsaid", policy=own, **given)
    assert not workspace_of(tmp_path / "unsaid").exists()
    (tmp_path / "homes.csv").write_text(
        "user,region,lat,lon,radius_km\nuser 000,home,{},{},0.05\n".format(*GRID.latlon(0))
    )
    made = run(tmp_path, source, "own", policy=own, seed=1, places=tmp_path / "homes.csv")
    assert made.notes[0].startswith("1 of 2 users have no place of their own")
    assert made.notes[0].endswith("and home is nowhere.")
    alike = {"user 000": lives, "user 001": roams}
    for user, policy in alike.items():
        same = run(tmp_path, source, f"as {user}", policy=policy, seed=1).ledgers[user]
        assert list(made.ledgers[user]) == list(same)


def test_places_of_people_who_are_not_there(tmp_path: Path) -> None:
    """A name that is written in two ways is told: somebody is guarded at other places."""
    source = write_people(tmp_path, 2)
    lat, lon = GRID.latlon(12)
    rows = "".join(f"{user},home,{lat},{lon},0.05\n" for user in ("user 000", "User 001") * 2)
    (tmp_path / "homes.csv").write_text("user,region,lat,lon,radius_km\n" + rows)
    made = run(tmp_path, source, "own", seed=1, places=tmp_path / "homes.csv")
    assert any(note.startswith("1 of 2 users have no place") for note in made.notes)
    assert any(
        note.startswith("People with places of their own who are not among the users: 1.")
        for note in made.notes
    )


def test_places_in_columns_of_the_input(tmp_path: Path) -> None:
    """What a column says stands for the side table; who is contradicted is told, nobody else."""
    source = write_people(tmp_path, 4)
    discs = ["{} {} 0.05".format(*GRID.latlon(cell)) for cell in (12, 5)]
    (tmp_path / "homes.csv").write_text(
        "user,region,lat,lon,radius_km\n"
        + "".join(f"user {k:03},home,{disc.replace(' ', ',')}\n" for k, disc in enumerate(discs))
    )
    side = run(tmp_path, source, "side", seed=1, places=tmp_path / "homes.csv").cells
    table = pq.read_table(source)
    # Said once or in every row; by user 002 in two ways; user 003 has none of their own.
    said = [discs[0], None, "", *[discs[1]] * 3, discs[0], discs[1], None, *[""] * 3]
    pq.write_table(table.append_column("lives at", pa.array(said)), source)
    own = run(tmp_path, source, "own", seed=1, place_columns={"home": "lives at"})
    assert own.cells == {user: cells for user, cells in side.items() if user != "user 002"}
    assert "agree about home" in own.problems["user 002"]
    assert not any(text in own.problems["user 002"] for text in discs[0].split()[:2])
    for columns, told in (({"spa": "lives at"}, "does not name"), ({"home": "x"}, "no column 'x'")):
        with pytest.raises(TraceError, match=told):
            run(tmp_path, source, "third", place_columns=columns)
    assert not workspace_of(tmp_path / "third").exists()


# Broken users


def test_poisoned_users_are_quarantined(tmp_path: Path) -> None:
    """Among good ones, one without a usable fix: named, exit code 4, the others as ever."""
    source = write_people(tmp_path, 3)
    good = run(tmp_path, source, "good.csv", seed=1).cells
    table = pq.read_table(source)
    bad = table.slice(0, 3).set_column(0, "user", pa.array(["bad"] * 3))
    bad = bad.set_column(2, "lat", pa.array([97.5] * 3))
    pq.write_table(pa.concat_tables([table, bad]), source)
    done = priste("protect", source, "-p", tmp_path / "policy.toml",
                  "-o", tmp_path / "out.parquet", "--seed", "1", "--json", code=4)  # fmt: skip
    told = json.loads(done.stdout)
    assert (told["users"], told["quarantined"]["users"]) == (3, 1)
    assert "usable fix" in told["quarantined"]["reasons"]["bad"]
    assert "97.5" not in done.stdout
    released = {
        trace.user: tuple(GRID.cell_at(fix.lat, fix.lon) for fix in trace)
        for trace in read_traces(tmp_path / "out.parquet")
    }
    assert released == good


def test_when_everybody_is_broken_it_is_an_error(tmp_path: Path) -> None:
    """Nothing is written, and the first reason is told."""
    source = write_people(tmp_path, 2)
    table = pq.read_table(source)
    pq.write_table(table.set_column(2, "lat", pa.array([47.5] * table.num_rows)), source)
    with pytest.raises(PristeError, match="2 of 2 people have positions off the map"):
        run(tmp_path, source, "out.csv")
    assert not (tmp_path / "out.csv").exists()


# Full disks

UNDER_A_LIMIT = """
import resource, signal, sys
from pathlib import Path
from tests.batch.people_run import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
run(Path(sys.argv[1]), Path(sys.argv[1]) / "people.parquet", seed=1)
"""


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """A limit on the size of files in the midst of a run: an error in words, then it goes on."""
    write_people(tmp_path, 3)
    (tmp_path / "whole").mkdir()
    expected = run(tmp_path / "whole", tmp_path / "people.parquet", seed=1).cells
    done = subprocess.run(
        [sys.executable, "-c", UNDER_A_LIMIT.format(limit=2000), str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("priste.errors."), done.stderr
    assert not (tmp_path / "released" / "manifest.json").exists()
    assert run(tmp_path, tmp_path / "people.parquet", seed=1, overwrite=True).cells == expected


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    """A disk of a megabyte: an error in words, nothing corrupt; with room it goes on."""
    source = write_people(tmp_path, 20)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1200k,mode=700", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        command = ["protect", source, "-p", write_policy(tmp_path, STILL), "-o", disk / "released",
                   "--seed", "1"]  # fmt: skip
        filler = disk / "filler"
        filler.write_bytes(bytes(max(0, shutil.disk_usage(disk).free - 40_000)))
        assert complaint_of(priste(*command, code=2))
        filler.unlink()
        priste(*command)
        (tmp_path / "elsewhere").mkdir()
        expected = run(tmp_path / "elsewhere", source, seed=1)
        policy = load_policy(tmp_path / "policy.toml")
        again = protect_file(policy, read_traces(source), disk / "released", seed=1, overwrite=True)
        assert (again.drawn_now, again.cells) == (0, expected.cells)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_progress_counts_users(tmp_path: Path) -> None:
    """One by one, to the last; also those whose parts were there already."""
    source = write_people(tmp_path, 4)
    told: list[tuple[int, int]] = []
    run(tmp_path, source, seed=1, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(k, 4) for k in range(1, 5)]
    told.clear()
    run(
        tmp_path, source, seed=1, overwrite=True,
        on_progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert told[-1] == (4, 4)
