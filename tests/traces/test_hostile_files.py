"""Broken, huge and malicious files: an error of ours that shows nothing of the content."""

import io
import json
import logging
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.traces import trace_files as files

from priste.errors import PristeError, TraceError
from priste.traces import FORMATS, Problem, read_traces
from priste.traces.formats.json_documents import DEEPEST, BoundedJson
from priste.traces.reading_options import alias_of

MAKERS = {
    "a.gpx": files.gpx,
    "a.csv": files.csv,
    "a.parquet": files.parquet,
    "a.geojson": files.geojson,
    "a.plt": files.plt,
    "a.txt": files.cabspotting,
    "a.rec": files.owntracks,
    "a.nmea": files.nmea,
}
COORDINATES = ("46.01", "7.02", "7.035")


def read_all(path: Path, **options: object) -> None:
    columns = files.CSV_COLUMNS if path.suffix == ".csv" else None
    list(read_traces(path, columns=columns, zone="UTC", **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MAKERS)
def test_empty_files_are_refused(name: str, tmp_path: Path) -> None:
    """A file of no bytes, or of blanks, holds no fix."""
    for content in (b"", b"\n \n", b"\xef\xbb\xbf"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TraceError, match="empty"):
            read_all(tmp_path / name)


@pytest.mark.parametrize("name", ["a.gpx", "a.parquet", "a.geojson"])
@pytest.mark.parametrize("part", [0.3, 0.6, 0.97])
def test_truncated_documents_are_refused(name: str, part: float, tmp_path: Path) -> None:
    """A document that was cut off is refused as a whole, and the error shows no position."""
    path = MAKERS[name](tmp_path / name)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    with pytest.raises(TraceError, match="cut off") as caught:
        read_all(path)
    assert not any(place in str(caught.value) for place in COORDINATES)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("override", [False, True])
def test_binary_garbage_is_refused(name: str, override: bool, tmp_path: Path) -> None:
    """Bytes of nothing are refused by every reader, also when the format is insisted on."""
    from priste.traces import detect_format

    kind = detect_format(MAKERS[name](tmp_path / name))
    (tmp_path / name).write_bytes(bytes(range(256)) * 400)
    with pytest.raises(TraceError):
        read_all(tmp_path / name, format=str(kind) if override else None)


@pytest.mark.parametrize("kind", list(FORMATS))
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
def test_any_bytes_give_fixes_or_an_error_of_ours(
    kind: str, content: bytes, tmp_path: Path
) -> None:
    """No reader lets another library's error through."""
    path = tmp_path / "data"
    path.write_bytes(content)
    with suppress(PristeError):
        list(read_traces(path, format=str(kind), zone="UTC"))


@pytest.mark.parametrize("name", MAKERS)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_give_fixes_or_an_error_of_ours(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    """A good file with some bytes changed is read, or refused by an error of ours."""
    content = bytearray(MAKERS[name](tmp_path / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / name).write_bytes(bytes(content))
    with suppress(PristeError):
        read_all(tmp_path / name)


@pytest.mark.parametrize("name", ["a.txt", "a.rec", "a.nmea", "a.plt"])
def test_huge_lines_are_bad_lines(name: str, tmp_path: Path) -> None:
    """A line of three megabytes is counted and passed over; the fixes around it are read."""
    path = MAKERS[name](tmp_path / name)
    with path.open("ab") as out:
        out.write(b"x" * 3_000_000 + b"\n")
    traces = read_traces(path)
    assert traces.report.fixes == 6
    assert traces.report.count(Problem.BAD_LINE) == 1


def test_huge_lines_of_csv_are_bad_lines(tmp_path: Path) -> None:
    """DuckDB's limit of a line is met by a count, not by an end of reading."""
    path = files.csv(tmp_path / "a.csv", users=("ada",))
    text = path.read_text()
    path.write_text(text + "1,ada," + "x" * 3_000_000 + ",1,2,3,4\n" + text.splitlines()[1] + "\n")
    report = read_traces(path, columns=files.CSV_COLUMNS).report
    assert (report.fixes, report.count(Problem.BAD_LINE)) == (6, 1)
    assert report.count(Problem.DUPLICATE) == 1  # the good line after the huge one was read


def bomb(depth: int) -> str:
    entities = '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, depth)
    )
    return (
        f'<?xml version="1.0"?><!DOCTYPE gpx [{entities}]><gpx version="1.1"><trk><name>'
        f"&a{depth - 1};</name><trkseg/></trk></gpx>"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_that_multiplies_itself_is_refused(encoding: str, tmp_path: Path) -> None:
    """A billion laughs, in any encoding, is refused before any entity is expanded."""
    path = tmp_path / "a.gpx"
    path.write_bytes(bomb(10).encode(encoding))
    with pytest.raises(TraceError, match="entities"):
        read_all(path)


def test_xml_that_reads_other_files_is_refused(tmp_path: Path) -> None:
    """An external entity is never opened."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hush")
    path = tmp_path / "a.gpx"
    path.write_text(
        f'<!DOCTYPE gpx [<!ENTITY x SYSTEM "{secret.as_uri()}">]><gpx version="1.1"><trk><name>'
        "&x;</name></trk></gpx>"
    )
    with pytest.raises(TraceError, match="document type"):
        read_all(path, format="gpx")


@pytest.mark.parametrize("opening", ['{"type":', "["])
def test_json_without_end_is_refused(opening: str, tmp_path: Path) -> None:
    """A hundred thousand brackets are refused, not followed."""
    path = tmp_path / "a.geojson"
    path.write_text(opening * 100_000)
    with pytest.raises(TraceError):
        read_all(path, format="geojson")
    path = tmp_path / "a.rec"
    path.write_text("2024-05-01T09:00:00Z\t*\t" + opening * 100_000 + "\n")
    with pytest.raises(TraceError, match="1 × bad line"):
        read_all(path)


def test_deep_xml_is_refused_or_read(tmp_path: Path) -> None:
    """Fifty thousand nested elements neither crash nor hang."""
    path = tmp_path / "a.gpx"
    path.write_text('<gpx version="1.1">' + "<a>" * 50_000 + "</a>" * 50_000 + "</gpx>")
    with pytest.raises(TraceError):
        read_all(path)


@pytest.mark.parametrize(
    "point",
    ['lon="2"', 'lat="x" lon="2"', 'lat="" lon=""'],
)
def test_gpx_points_without_a_position_are_an_error_without_details(
    point: str, tmp_path: Path
) -> None:
    """Such a point is set aside and counted; the error quotes nothing."""
    path = tmp_path / "a.gpx"
    path.write_text(
        f'<gpx version="1.1"><trk><trkseg><trkpt {point}>'
        "<time>2024-05-01T08:00:00Z</time></trkpt>"
        "</trkseg></trk></gpx>"
    )
    with pytest.raises(TraceError, match="missing position"):
        read_all(path)


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_is_logged(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No library writes a position to a log, not even of a file that is cut off."""
    caplog.set_level(logging.DEBUG)
    path = MAKERS[name](tmp_path / name)
    read_all(path)
    path.write_bytes(path.read_bytes()[:-40])
    with suppress(TraceError):
        read_all(path)
    assert not any(place in caplog.text for place in COORDINATES)


def test_csv_errors_show_no_line(tmp_path: Path) -> None:
    """DuckDB quotes the offending line in its errors; ours do not, nor do they carry its error."""
    path = tmp_path / "a.csv"
    path.write_bytes(
        b"time,lat,lon\n2024-05-01T08:00Z,46.0101,7.5\r\n2024-05-01T08:01Z,46.0101,7\n"
    )
    with pytest.raises(TraceError, match="mix line ends") as caught:
        list(read_traces(path))
    assert "46.01" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_first_line_of_data_is_not_shown(tmp_path: Path) -> None:
    """Data that is taken for a header, since no cell is a plain number, stays out of the error."""
    path = tmp_path / "a.csv"
    path.write_text("46.0101N,7.5E,2024-05-01T08:00Z\n")
    with pytest.raises(TraceError, match="looks like it") as caught:
        list(read_traces(path))
    assert "46.01" not in str(caught.value)


def test_utf16_tables_are_named_for_what_they_are(tmp_path: Path) -> None:
    """A CSV file saved as UTF-16 gets an error that says so."""
    path = tmp_path / "a.csv"
    path.write_bytes("time,lat,lon\n2024-05-01T08:00Z,1,2\n".encode("utf-16"))
    with pytest.raises(TraceError, match="UTF-16"):
        list(read_traces(path, format="csv"))


def test_numbers_beyond_all_bounds_are_impossible(tmp_path: Path) -> None:
    """Infinite, enormous and absent numbers in JSON become counted problems."""
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [10**400, 1]},
            "properties": {"time": 1714550400},
        },
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [1, 1]},
            "properties": {"time": 10**400},
        },
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [1, 1]},
            "properties": {"time": 1714550400},
        },
    ]
    path = tmp_path / "a.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    report = read_traces(path).report
    assert report.fixes == 1
    assert report.set_aside == 2


def test_unreadable_files_are_an_error_of_ours(tmp_path: Path) -> None:
    """A link that leads nowhere, in a folder or alone."""
    (tmp_path / "a.gpx").symlink_to(tmp_path / "gone.gpx")
    with pytest.raises(TraceError):
        read_traces(tmp_path / "a.gpx")
    with pytest.raises(TraceError):
        read_traces(tmp_path)


signs = st.text('[]{}"\\\\, a', max_size=12)


@examples(60)
@given(st.recursive(signs, lambda inner: st.lists(inner, max_size=3)), st.integers(1, 9))
def test_depth_is_counted_outside_texts(value: object, size: int) -> None:
    """Whatever texts hold and wherever pieces end, only real brackets count."""
    text = json.dumps(value).encode()
    file = BoundedJson(io.BytesIO(text), "x")
    assert b"".join(iter(lambda: file.read(size), b"")) == text
    deep = BoundedJson(io.BytesIO(b"[" * DEEPEST + text.ljust(9) + b"["), "x")
    with pytest.raises(TraceError, match="nested deeper"):
        list(iter(lambda: deep.read(size), b""))


@pytest.mark.parametrize("name", ["Records.json", "owntracks.json"])
def test_brackets_without_end_ask_for_no_memory(tmp_path: Path, name: str) -> None:
    """A hundred kilobytes of brackets are refused at once, not after gigabytes."""
    opening = '{"locations": [' if name == "Records.json" else '{"data": ['
    (tmp_path / name).write_text(opening + "[" * 100_000)
    with pytest.raises(TraceError, match="nested deeper"):
        list(read_traces(tmp_path / name, "google" if name == "Records.json" else "owntracks"))


def test_a_title_of_brackets_that_never_end() -> None:
    """Names are read in time that grows with their length: so many squared would take minutes."""
    assert alias_of("[" * 1_000_000) is None
    assert alias_of("lat (deg) [x]") == "lat"
