"""Inputs as people have them: archives, two columns for a time, copies, loops of links, pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.traces import trace_files as files

from priste.atomic_files import remove_abandoned_scratch, scratch_folder
from priste.errors import TraceError
from priste.traces import Problem, Timeline, read_traces, source_search, write_released
from priste.traces.formats.json_documents import MOST_DIGITS

PLACE = {"latitudeE7": 460100000, "longitudeE7": 70200000}


def takeout(path: Path, *more: tuple[str, bytes]) -> Path:
    """An archive as Google's Takeout makes it, with other JSON of the account."""
    records = {"locations": [{**PLACE, "timestamp": f"2024-05-01T08:0{n}:00Z"} for n in range(3)]}
    span = {"startTimestamp": "2024-05-02T08:00:00Z", "endTimestamp": "2024-05-02T10:00:00Z"}
    month = {"timelineObjects": [{"placeVisit": {"location": PLACE, "duration": span}}]}
    history = "Takeout/Location History (Timeline)"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{history}/Records.json", json.dumps(records))
        archive.writestr(f"{history}/Settings.json", '{"deviceSettings": []}')
        archive.writestr(
            f"{history}/Semantic Location History/2024/2024_MAY.json", json.dumps(month)
        )
        archive.writestr("Takeout/archive_browser.html", "<html></html>")
        for name, data in more:
            archive.writestr(name, data)
    return path


def test_a_takeout_is_opened_as_it_was_downloaded(tmp_path: Path) -> None:
    """Records and months of one account are one person's; nothing is unpacked onto the disk."""
    source = takeout(tmp_path / "takeout-20240601T000000Z-001.zip")
    traces = read_traces(source)
    trace = traces.one()
    assert (traces.format, trace.user, len(trace), trace.has_stays) == ("google", None, 4, True)
    assert any("Settings.json" in name for name in traces.source.skipped)
    assert os.listdir(tmp_path) == [source.name]


@pytest.mark.parametrize("name", ["trips.csv", "week.gpx", "log.nmea", "a.plt"])
def test_archives_of_any_format_are_read(name: str, tmp_path: Path) -> None:
    """Tables too, which are unpacked into a private folder for as long as they are read."""
    make = {".csv": files.csv, ".gpx": files.gpx, ".nmea": files.nmea, ".plt": files.plt}
    path = make[Path(name).suffix](tmp_path / name)
    options = {"columns": files.CSV_COLUMNS} if name == "trips.csv" else {}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(path, f"../../deep/{name}")
    plain = [trace.times.tolist() for trace in read_traces(path, **options)]  # type: ignore[arg-type]
    packed = [t.times.tolist() for t in read_traces(tmp_path / "a.zip", **options)]  # type: ignore[arg-type]
    assert packed == plain


def test_an_archive_of_several_people_is_released_as_a_folder(tmp_path: Path) -> None:
    """Names that would leave the folder stay within it."""
    path = files.gpx(tmp_path / "a.gpx")
    with zipfile.ZipFile(tmp_path / "club.zip", "w") as archive:
        for name in ("ada.gpx", "../bob.gpx"):
            archive.write(path, name)
    traces = read_traces(tmp_path / "club.zip")
    assert [trace.user for trace in traces] == ["ada", "bob"]
    from priste.maps import Grid

    grid = Grid.covering(46.0, 7.0, 46.05, 7.08, cell_size=0.5)
    line = Timeline(files.START, files.TIMES[1] - files.TIMES[0])
    write_released(traces, tmp_path / "out", {"ada": [3], "bob": [4]}, line, grid)
    assert sorted(os.listdir(tmp_path / "out")) == ["ada.gpx", "bob.gpx"]


def test_archives_have_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many files, or too much to unpack, is refused before anything is unpacked."""
    source = takeout(tmp_path / "a.zip", ("zeros.json", b"0" * 10_000_000))
    monkeypatch.setattr(source_search, "LARGEST_UNPACKED", 9_000_000)
    with pytest.raises(TraceError, match="Unpack it"):
        read_traces(source)
    monkeypatch.setattr(source_search, "LARGEST_UNPACKED", 2**40)
    monkeypatch.setattr(source_search, "MOST_IN_AN_ARCHIVE", 3)
    with pytest.raises(TraceError, match="holds 5 files"):
        read_traces(source)


def test_a_broken_archive_is_told(tmp_path: Path) -> None:
    """Cut off, or with a file whose checksum is wrong: words, and no position."""
    data = takeout(tmp_path / "a.zip").read_bytes()
    at = data.index(b"Records.json") + 30
    (tmp_path / "harmed.zip").write_bytes(data[:at] + bytes(8) + data[at + 8 :])
    with pytest.raises(TraceError, match="unpacked"):
        list(read_traces(tmp_path / "harmed.zip"))
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    with pytest.raises(TraceError):
        list(read_traces(tmp_path / "cut.zip"))


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("date,time,lat,lon", "2024-05-01,08:30:00,46.01,7.02"),
        ("Lat;Lon;GPS Date;GPS Time", "46.01;7.02;2024-05-01;08:30:00"),
        ("utc_date,utc_time,lat,lon", "2024-05-01,08:30,46.01,7.02"),
    ],
)
def test_date_and_time_in_two_columns(header: str, row: str, tmp_path: Path) -> None:
    """They are found by their names and read together."""
    (tmp_path / "a.csv").write_text(f"{header}\n{row}\n")
    trace = read_traces(tmp_path / "a.csv", zone="UTC").one()
    assert trace.start == datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
    with pytest.raises(TraceError, match="'zone' must be given"):
        list(read_traces(tmp_path / "a.csv"))


def test_two_columns_can_be_named_and_have_a_format(tmp_path: Path) -> None:
    """The date comes before the time, whatever the table calls them; also in Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "a.csv").write_text("tag,uhr,lat,lon\n01.05.2024,8.30,46.01,7.02\n")
    named = {"date": "tag", "time": "uhr", "time_format": "%d.%m.%Y %H.%M"}
    trace = read_traces(tmp_path / "a.csv", columns=named, zone="UTC").one()
    assert trace.start == datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
    when = datetime(2024, 5, 1, 8, 30)
    table = {"date": [when.date()], "time": [when.time()], "lat": [46.01], "lon": [7.02]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    assert read_traces(tmp_path / "a.parquet", zone="UTC").one().start == trace.start


def test_downloads_of_one_name_are_one_persons(tmp_path: Path) -> None:
    """track.gpx and track (1).gpx belong together; others are people of their own."""
    for name in ("track.gpx", "track (1).gpx", "track (2).gpx", "ada.gpx"):
        files.gpx(tmp_path / name)
    traces = read_traces(tmp_path)
    assert [trace.user for trace in traces] == ["ada", "track"]
    assert "named by number of a copy" in str(traces.report.owners)
    assert traces.report.count(Problem.DUPLICATE) == 12


def test_loops_of_links_pipes_and_nothing_are_told_apart(tmp_path: Path) -> None:
    """Each in words, and none hangs."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe.csv")
    for name, words in (("loop", "lead back"), ("pipe.csv", "pipe"), ("gone", "There is no")):
        with pytest.raises(TraceError, match=words):
            read_traces(tmp_path / name)
    files.gpx(tmp_path / "a.gpx")
    assert [trace.user for trace in read_traces(tmp_path)] == ["a"]


def test_numbers_of_thousands_of_digits_end_in_words(tmp_path: Path) -> None:
    """The compiled parser would end the whole process at 4,301 digits; also across its blocks."""
    for digits in (MOST_DIGITS, 4_301, 200_000):
        for before in (0, 65_536 - 40 - digits // 2):
            record = f'{{"x": "{"a" * before}", "timestampMs": {"9" * digits}}}'
            (tmp_path / "a.json").write_text(f'{{"locations": [{record}]}}')
            with pytest.raises(TraceError, match="digits"):
                list(read_traces(tmp_path / "a.json", format="google"))
    (tmp_path / "b.json").write_text(f'[{{"_type": "location", "tst": {"9" * 5000}}}]')
    with pytest.raises(TraceError, match="digits"):
        list(read_traces(tmp_path / "b.json"))
    (tmp_path / "c.json").write_text('{"locations": [{"timestampMs": 1e999999999}]}')
    with pytest.raises(TraceError, match="no usable fix"):
        list(read_traces(tmp_path / "c.json"))


LEAVE = """
import os, signal, sys
from priste.atomic_files import scratch_folder
with scratch_folder() as folder:
    (folder / "true.csv").write_text("46.01,7.02")
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_command_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """The folder of a killed process goes, that of a living one stays, and all is private."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run = [sys.executable, "-c", LEAVE]
    left = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    folder = Path(left.stdout.strip())
    assert (folder / "true.csv").exists()
    assert folder.parent.stat().st_mode & 0o077 == 0
    command = [sys.executable, "-m", "priste", "--version"]
    subprocess.run(command, capture_output=True, env=environment, check=False)
    assert not folder.exists()
    assert os.listdir(tmp_path) == []


def test_scratch_folders_of_the_living_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sweeping leaves what somebody uses."""
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder() as one:
        remove_abandoned_scratch()
        with scratch_folder() as other:
            assert one.is_dir()
            assert other.is_dir()
        assert not other.exists()
    assert os.listdir(tmp_path) == []


def test_geoparquet_is_read_and_written(tmp_path: Path) -> None:
    """Points of a geometry column are positions; what is released is GeoParquet for geopandas."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import shapely

    from priste.maps import Grid

    points = [shapely.Point(lon, lat) for lat, lon in files.PLACES] + [shapely.Point()]
    table = pa.table(
        {
            "user": ["ada"] * 7,
            "time": [*files.TIMES, files.TIMES[-1] + (files.TIMES[1] - files.TIMES[0])],
            "geometry": shapely.to_wkb(points),
        }
    )
    about = {"encoding": "WKB", "geometry_types": ["Point"]}
    told = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": about}}
    table = table.replace_schema_metadata({b"geo": json.dumps(told).encode()})
    pq.write_table(table, tmp_path / "a.parquet")
    traces = read_traces(tmp_path / "a.parquet")
    trace = traces.one()
    assert list(zip(trace.lat.tolist(), trace.lon.tolist(), strict=True)) == files.PLACES
    assert traces.report.count(Problem.MISSING_POSITION) == 1
    grid = Grid.covering(46.0, 7.0, 46.05, 7.08, cell_size=0.5)
    line = Timeline(files.START, files.TIMES[1] - files.TIMES[0])
    write_released(traces, tmp_path / "out.parquet", {"ada": [3, 4]}, line, grid)
    schema = pq.read_schema(tmp_path / "out.parquet")
    assert schema.names == ["user", "time", "geometry"]
    assert json.loads(schema.metadata[b"geo"]) == told
    again = read_traces(tmp_path / "out.parquet").one()
    assert [grid.cell_at(*at) for at in zip(again.lat, again.lon, strict=True)] == [3, 4]
