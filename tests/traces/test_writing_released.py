"""What is written: released positions in the input's shape, and nothing that betrays the truth."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.traces import trace_files as files

from priste.errors import InvalidParameter, OutputError, OutputExists, TraceError
from priste.maps import Grid
from priste.traces import Timeline, Trace, Traces, read_traces, write_released, write_traces
from priste.traces.fixes import microseconds

GRID = Grid.covering(46.0, 7.0, 46.05, 7.08, cell_size=0.5)
# Two fixes a step, so that a step's fixes share its point.
LINE = Timeline(files.START, timedelta(minutes=2))
CELLS = (17, 3, 40)
TOLERANCE_DEGREES = 6e-8  # half of the seventh decimal
OPTIONS = {
    "a.csv": {"columns": files.CSV_COLUMNS},
    "a.txt": {},
    "t.txt": {"zone": "Asia/Shanghai"},
}
MAKERS: dict[str, Callable[[Path], Path]] = {
    "a.gpx": files.gpx,
    "a.csv": files.csv,
    "a.parquet": files.parquet,
    "a.geojson": files.geojson,
    "a.plt": files.plt,
    "a.txt": files.cabspotting,
    "t.txt": files.tdrive,
    "a.rec": files.owntracks,
    "a.nmea": files.nmea,
    "geolife": files.geolife,
}


def opened(name: str, tmp_path: Path) -> Traces:
    return read_traces(MAKERS[name](tmp_path / name), **OPTIONS.get(name, {}))  # type: ignore[arg-type]


def released_for(traces: Traces) -> dict[str | None, tuple[int | None, ...]]:
    return {trace.user: CELLS for trace in traces}


def all_bytes(path: Path) -> bytes:
    if path.is_dir():
        return b"".join(p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file())
    return path.read_bytes()


@pytest.mark.parametrize("name", MAKERS)
def test_released_positions_come_back_in_the_same_format(name: str, tmp_path: Path) -> None:
    """Reading what was written gives the same users at the middle of each step, in its cell."""
    traces = opened(name, tmp_path)
    target = tmp_path / f"out-{name}"
    report = write_released(traces, target, released_for(traces), LINE, GRID)
    again = read_traces(target, format=str(traces.format), **OPTIONS.get(name, {}))  # type: ignore[arg-type]
    old, new = list(traces), list(again)
    assert [t.user for t in old] == [t.user for t in new]
    lat, lon = GRID.latlon(np.array(CELLS))
    middles = [microseconds(LINE.middle_of(step)) for step in range(len(CELLS))]
    for after in new:
        assert after.times.tolist() == middles
        np.testing.assert_allclose(after.lat, lat, atol=TOLERANCE_DEGREES)
        np.testing.assert_allclose(after.lon, lon, atol=TOLERANCE_DEGREES)
    assert report.written == again.report.fixes == len(CELLS) * len(old)


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_that_betrays_is_written(name: str, tmp_path: Path) -> None:
    """No altitude, speed, name, network or true coordinate is anywhere in the bytes."""
    traces = opened(name, tmp_path)
    target = tmp_path / f"out-{name}"
    write_released(traces, target, released_for(traces), LINE, GRID)
    written = all_bytes(target)
    if name != "a.parquet":  # compressed; checked column by column below
        for lat, lon in files.PLACES:
            assert f"{lat:.4f}".encode() not in written
            assert f"{lon:.4f}".encode() not in written
    for secret in files.SECRETS:
        assert secret.encode() not in written


@pytest.mark.parametrize("name", MAKERS)
def test_the_true_positions_do_not_reach_the_output(name: str, tmp_path: Path) -> None:
    """Two inputs that differ only in their positions give the same bytes for the same releases."""
    outputs = []
    for place, shift in (("one", 0.0), ("two", 0.0137)):
        folder = tmp_path / place
        folder.mkdir()
        kept = files.PLACES[:]
        files.PLACES[:] = [(lat + shift, lon + shift) for lat, lon in kept]
        try:
            traces = opened(name, folder)
            target = folder / f"out-{name}"
            write_released(traces, target, released_for(traces), LINE, GRID)
        finally:
            files.PLACES[:] = kept
        outputs.append(all_bytes(target))
    assert outputs[0] == outputs[1]


def test_steps_of_a_folder_are_a_file_for_each_user(tmp_path: Path) -> None:
    """A folder of GPX files gives a folder of GPX files."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    files.gpx(tmp_path / "in" / "deep" / "a.gpx")
    files.gpx(tmp_path / "in" / "b.gpx")
    traces = read_traces(tmp_path / "in")
    write_released(traces, tmp_path / "out", released_for(traces), LINE, GRID)
    assert [t.user for t in read_traces(tmp_path / "out")] == ["b", "deep/a"]


def test_points_need_a_map_of_the_earth() -> None:
    """A plane has no coordinates."""
    from priste.traces.points import ReleasedPoints

    with pytest.raises(InvalidParameter, match=r"Grid\.covering"):
        ReleasedPoints({}, LINE, Grid(2, 2, 1.0))


# Whole, apart, or not at all


@pytest.mark.parametrize("name", ["a.gpx", "a.csv", "geolife"])
def test_the_input_is_never_written_over(name: str, tmp_path: Path) -> None:
    """Neither by name, by a link, by a hard link, from inside, nor from above."""
    traces = opened(name, tmp_path)
    source = tmp_path / name
    (tmp_path / "link").symlink_to(source)
    places = [source, tmp_path / "link", tmp_path / "." / name, tmp_path]
    if source.is_dir():
        places += [source / "out", source / "Data" / "out"]
    else:
        os.link(source, tmp_path / "hard")
        places.append(tmp_path / "hard")
    before = all_bytes(source)
    for place in places:
        with pytest.raises(OutputError, match="belong apart"):
            write_released(traces, place, released_for(traces), LINE, GRID, overwrite=True)
    assert all_bytes(source) == before


def test_what_exists_stays_unless_overwritten_on_purpose(tmp_path: Path) -> None:
    """A file is replaced only when asked; a folder never, unless it is empty."""
    traces = opened("a.gpx", tmp_path)
    target = tmp_path / "out.gpx"
    target.write_text("precious")
    with pytest.raises(OutputExists):
        write_released(traces, target, released_for(traces), LINE, GRID)
    assert target.read_text() == "precious"
    write_released(traces, target, released_for(traces), LINE, GRID, overwrite=True)
    assert target.read_text() != "precious"
    folder = opened("geolife", tmp_path)
    (tmp_path / "out").mkdir()
    write_released(folder, tmp_path / "out", released_for(folder), LINE, GRID)
    with pytest.raises(OutputExists):
        write_released(folder, tmp_path / "out", released_for(folder), LINE, GRID, overwrite=True)
    with pytest.raises(OutputError, match="no folder"):
        write_released(traces, tmp_path / "x" / "y.gpx", released_for(traces), LINE, GRID)


@pytest.mark.parametrize("name", ["a.gpx", "a.csv", "a.parquet", "geolife"])
def test_a_failure_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    """When a release cannot be looked up half-way, no file and no draft remain."""
    traces = opened(name, tmp_path)

    class Failing(dict):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[str]:
            yield "ada"

        def get(self, *_: object) -> None:
            raise RuntimeError("the journal is gone")

    with pytest.raises(RuntimeError, match="journal"):
        write_released(traces, tmp_path / "out", Failing(), LINE, GRID)
    assert sorted(os.listdir(tmp_path)) == [name]


def test_a_source_that_changes_while_writing_is_refused(tmp_path: Path) -> None:
    """The output of a file that is being appended to never appears."""
    traces = opened("a.txt", tmp_path)
    released = released_for(traces)
    with (tmp_path / "a.txt").open("a") as out:
        out.write("46.0 7.0 0 1714550400\n")
    with pytest.raises(TraceError, match="changed"):
        write_released(traces, tmp_path / "out.txt", released, LINE, GRID)
    assert sorted(os.listdir(tmp_path)) == ["a.txt"]


# Traces as they are


@pytest.mark.parametrize(
    ("name", "format", "zone"),
    [
        ("a.gpx", None, None),
        ("a.csv", None, None),
        ("a.parquet", None, None),
        ("a.geojson", None, None),
        ("a.nmea", None, None),
        ("a.rec", None, None),
        ("a.txt", "cabspotting", None),
        ("t.txt", "tdrive", "Asia/Shanghai"),
        ("folder", "geolife", None),
    ],
)
def test_plain_traces_round_trip(
    name: str, format: str | None, zone: str | None, tmp_path: Path
) -> None:
    """A trace written in any format and read again is the same, to seven decimals and a second."""
    times = microseconds(files.START) + np.arange(50) * 7_000_000
    lat, lon = np.linspace(-89.9, 89.9, 50), np.linspace(179.9, -179.9, 50)
    trace = Trace("7", times, lat, lon)
    write_traces([trace], tmp_path / name, format, zone=zone)
    again = read_traces(tmp_path / name, format, zone=zone).one()
    assert again.times.tolist() == times.tolist()
    np.testing.assert_allclose(again.lat, lat, atol=TOLERANCE_DEGREES)
    np.testing.assert_allclose(again.lon, lon, atol=TOLERANCE_DEGREES)
    named = name in ("a.csv", "a.parquet", "a.geojson", "t.txt", "folder")
    assert again.user == ("7" if named else None)


def test_plain_writing_has_its_rules(tmp_path: Path) -> None:
    """One user per GPX file, a telling name, a zone for T-Drive, decent names for Geolife."""
    trace = opened("a.gpx", tmp_path).one()
    named = Trace("../up", trace.times, trace.lat, trace.lon)
    for traces, name, kind in [
        ([trace, trace], "two.gpx", None),
        ([trace], "what", None),
        ([trace], "t.txt", "tdrive"),
        ([named], "folder", "geolife"),
        ([named], "n.txt", "tdrive"),
        ([], "none.csv", None),
    ]:
        with pytest.raises(TraceError):
            write_traces(traces, tmp_path / name, kind)
    with pytest.raises(OutputError, match="belong apart"):
        write_traces(opened("a.csv", tmp_path), tmp_path / "a.csv", overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "a.gpx"]


def test_many_users_in_one_table(tmp_path: Path) -> None:
    """CSV and Parquet files made by us hold many users; the names of columns may be chosen."""
    times = microseconds(files.START) + np.arange(3) * 10**6
    traces = [Trace(u, times, np.full(3, 46.0), np.full(3, 7.0)) for u in ("a", "b")]
    for name in ("x.csv", "x.parquet"):
        columns = {"user": "who", "time": "when", "lat": "y", "lon": "x"}
        write_traces(traces, tmp_path / name, columns=columns)
        assert [t.user for t in read_traces(tmp_path / name, columns=columns)] == ["a", "b"]


def test_geojson_written_is_geojson(tmp_path: Path) -> None:
    """Features are points, and have a geometry and properties and nothing else."""
    traces = opened("a.geojson", tmp_path)
    write_released(traces, tmp_path / "out.geojson", released_for(traces), LINE, GRID)
    document = json.loads((tmp_path / "out.geojson").read_text())
    assert set(document) == {"type", "features"}
    assert [f["geometry"]["type"] for f in document["features"]] == ["Point"] * 3
    for feature in document["features"]:
        assert set(feature) == {"type", "geometry", "properties"}
        assert set(feature["properties"]) == {"user", "time"}
