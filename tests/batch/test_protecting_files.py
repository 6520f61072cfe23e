"""Files of many users: every draw is final, whatever dies in between, and nothing is harmed."""

import multiprocessing
import os
import re
import stat
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.batch.small_tables import table_of
from tests.cli.small_world import EPSILON, GRID, PATHS, STEPS, write_policy, write_trips

from priste import InvalidParameter, OutputError, OutputExists
from priste.batch import (
    BatchReport,
    ledger_of,
    protect_file,
    protect_stream,
    read_ledgers,
    workspace_of,
)
from priste.batch.engines import Job
from priste.batch.gathering import Chunk
from priste.policy import load_policy
from priste.results import summarise_run
from priste.traces import read_traces


def run(folder: Path, name: str = "out.csv", **options: object) -> BatchReport:
    policy = load_policy(write_policy(folder))
    source = folder / "trips.csv"
    if not source.exists():
        write_trips(folder)
    return protect_file(policy, read_traces(source), folder / name, **options)  # type: ignore[arg-type]


def cells_of(report: BatchReport) -> dict[str | None, tuple[int | None, ...]]:
    return report.cells


def test_every_user_is_a_stream_within_the_guarantee(tmp_path: Path) -> None:
    """Three users give three streams, each within each ε, and the file holds released cells."""
    report = run(tmp_path)
    assert list(report.cells) == list(report.ledgers) == sorted(PATHS)
    assert report.largest_leakage()["visit"] <= EPSILON
    assert report.to_dict()["releases"] == 3 * STEPS
    summed = summarise_run(
        load_policy(tmp_path / "policy.toml"),
        report.ledgers,
        traces=read_traces(tmp_path / "trips.csv"),
    ).ways
    found = report.errors.ways()
    assert list(found) == list(summed) == ["with priste", "uncalibrated", "constant point"]
    for way, worth in found.items():
        for side, figure in asdict(worth).items():
            assert getattr(summed[way], side) == pytest.approx(figure, rel=1e-9, nan_ok=True)
    for trace in read_traces(tmp_path / "out.csv"):
        found = [GRID.cell_at(fix.lat, fix.lon) for fix in trace]
        assert tuple(found) == cells_of(report)[trace.user]


def test_parallel_equals_serial_and_dead_workers_change_nothing(tmp_path: Path) -> None:
    """With a seed, two workers that are killed midway, and their successors, release the same."""
    serial = cells_of(run(tmp_path, "serial.csv", seed=5))
    kills: list[int] = []

    def kill_workers(done: int, total: int) -> None:
        if len(kills) < 3 and done:
            kills.append(done)
            for worker in multiprocessing.active_children():
                worker.kill()

    parallel = run(tmp_path, "parallel.csv", seed=5, workers=2, on_progress=kill_workers)
    assert len(kills) == 3
    assert cells_of(parallel) == serial
    assert (tmp_path / "serial.csv").read_bytes() == (tmp_path / "parallel.csv").read_bytes()


def test_running_again_draws_nothing(tmp_path: Path) -> None:
    """A finished run that is asked to overwrite its result writes the very same releases."""
    first = run(tmp_path)
    before = (tmp_path / "out.csv").read_bytes()
    again = run(tmp_path, overwrite=True)
    assert again.to_dict()["drawn_now"] == 0
    assert cells_of(again) == cells_of(first)
    assert (tmp_path / "out.csv").read_bytes() == before


def test_the_workspace_is_private_and_names_nobody(tmp_path: Path) -> None:
    """Only the owner may enter; file names and contents do not tell who the users are."""
    run(tmp_path)
    folder = workspace_of(tmp_path / "out.csv")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert not any(f'"{user}"'.encode() in file.read_bytes() for user in PATHS)
        assert not any(user in file.name for user in PATHS)


def test_no_true_location_is_shown(tmp_path: Path) -> None:
    """What may end up in a log shows no cell of the input."""
    table = table_of("ada")
    for value in (Job(0, "digest", table), Chunk(0, table, "digest")):
        assert not re.search(r"4[56]\.\d", repr(value))
        assert "lat" not in repr(value)


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_input_is_never_harmed(tmp_path: Path, overwrite: bool) -> None:
    """Destinations that are, hold or lie in the input are refused before anything is drawn."""
    data = tmp_path / "data"
    data.mkdir()
    source = write_trips(data)
    before = source.read_bytes()
    policy = load_policy(write_policy(tmp_path))
    link, hard = tmp_path / "link.csv", tmp_path / "hard.csv"
    link.symlink_to(source)
    os.link(source, hard)
    trick = data / "x.csv.ledger.csv"
    os.link(source, trick)
    for reading, destination in (
        (source, source),
        (source, link),
        (source, hard),
        (trick, data / "x.csv"),
        (data, data / "out.csv"),
        (data, data),
        (source, data),
    ):
        with pytest.raises(OutputError):
            protect_file(policy, read_traces(reading), destination, overwrite=overwrite)
    assert source.read_bytes() == before
    assert not list(tmp_path.rglob("part-*"))


def test_what_cannot_be_written_is_refused_before_drawing(tmp_path: Path) -> None:
    """A missing folder, an existing file and bad workers are told at once."""
    (tmp_path / "taken.csv").write_text("mine")
    with pytest.raises(OutputExists, match="already a file"):
        run(tmp_path, "taken.csv")
    with pytest.raises(OutputError, match="no folder"):
        run(tmp_path, "nowhere/out.csv")
    with pytest.raises(InvalidParameter, match="workers"):
        run(tmp_path, workers=0)
    assert (tmp_path / "taken.csv").read_text() == "mine"
    assert not list(tmp_path.rglob("part-*"))


def test_a_gap_is_a_silent_step(tmp_path: Path) -> None:
    """Steps without a fix release nothing and spend nothing."""
    policy = load_policy(write_policy(tmp_path))
    stream = protect_stream(policy, None, [0, None, 1], seed=1)
    assert stream.cells[1] is None
    assert stream.ledger[1].leakage == stream.ledger[0].leakage


def test_the_ledger_tells_what_the_streams_told(tmp_path: Path) -> None:
    """The CSV beside the result holds every release exactly."""
    report = run(tmp_path)
    told = read_ledgers(ledger_of(tmp_path / "out.csv"))
    assert {user: list(ledger) for user, ledger in told.items()} == {
        user: list(ledger) for user, ledger in report.ledgers.items()
    }
