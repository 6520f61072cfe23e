"""Every reader, on files made by other software or by hand in the words of the format."""

import csv as csv_module
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.traces import trace_files as files

from priste.errors import InvalidParameter, TraceError
from priste.traces import Problem, Trace, detect_format, read_traces

TOLERANCE_DEGREES = 1.1e-5  # files by hand have five decimals
ZONES = {"tdrive": "Asia/Shanghai"}
NAMES = {
    "cabspotting": "new_abc.txt",
    "csv": "trips.csv",
    "geojson": "trips.geojson",
    "geolife": "20240501080000.plt",
    "gpx": "walk.gpx",
    "nmea": "log.nmea",
    "owntracks": "2024-05.rec",
    "parquet": "trips.parquet",
    "tdrive": "taxis.txt",
}
MAKERS = {
    "cabspotting": files.cabspotting,
    "csv": files.csv,
    "geojson": files.geojson,
    "geolife": files.plt,
    "gpx": files.gpx,
    "nmea": files.nmea,
    "owntracks": files.owntracks,
    "parquet": files.parquet,
    "tdrive": files.tdrive,
}
COLUMNS = {"csv": files.CSV_COLUMNS}
USERS = {
    "csv": ["ada", "bob"],
    "geojson": ["ada"],
    "parquet": ["ada", "bob"],
    "tdrive": ["1", "22"],
}


def assert_is_the_walk(trace: Trace) -> None:
    assert [fix.time for fix in trace] == files.TIMES
    np.testing.assert_allclose(trace.lat, [p[0] for p in files.PLACES], atol=TOLERANCE_DEGREES)
    np.testing.assert_allclose(trace.lon, [p[1] for p in files.PLACES], atol=TOLERANCE_DEGREES)


@pytest.mark.parametrize("kind", list(MAKERS))
def test_each_format_is_recognised_and_read(kind: str, tmp_path: Path) -> None:
    """The same walk comes out of every format, for every user, in the order of time."""
    path = MAKERS[kind](tmp_path / NAMES[kind])
    assert detect_format(path) == kind
    traces = read_traces(path, columns=COLUMNS.get(kind), zone=ZONES.get(kind))
    found = list(traces)
    assert [trace.user for trace in found] == USERS.get(kind, [None])
    for trace in found:
        assert_is_the_walk(trace)
    assert traces.report.fixes == 6 * len(found)
    assert traces.report.records == traces.report.fixes + traces.report.set_aside


@pytest.mark.parametrize("kind", list(MAKERS))
def test_names_that_tell_nothing_need_the_content_alone(kind: str, tmp_path: Path) -> None:
    """Without a telling name the first bytes decide."""
    assert detect_format(MAKERS[kind](tmp_path / "data")) == kind


def test_a_source_can_be_read_again(tmp_path: Path) -> None:
    """Two iterations give the same traces; the report is there without any."""
    traces = read_traces(files.csv(tmp_path / "a.csv"), columns=files.CSV_COLUMNS)
    assert traces.report.users == 2
    first, second = list(traces), list(traces)
    assert [t.user for t in first] == [t.user for t in second]
    assert all((a.times == b.times).all() for a, b in zip(first, second, strict=True))


def test_a_source_that_changes_is_refused(tmp_path: Path) -> None:
    """A file that was touched between two readings is not the file that was opened."""
    path = files.gpx(tmp_path / "a.gpx")
    traces = read_traces(path)
    path.write_text(path.read_text() + "\n")
    with pytest.raises(TraceError, match="changed"):
        list(traces)


def test_the_name_and_the_content_must_agree(tmp_path: Path) -> None:
    """A GPX file named .csv is refused, unless its format is stated."""
    path = files.gpx(tmp_path / "walk.csv")
    with pytest.raises(TraceError, match="named as csv but looks like gpx"):
        read_traces(path)
    assert_is_the_walk(read_traces(path, format="gpx").one())
    with pytest.raises(InvalidParameter, match="'format'"):
        read_traces(path, format="docx")


def test_one_user_by_request(tmp_path: Path) -> None:
    """'user' makes everything one user's: two interleaved users are then duplicates."""
    for kind in ("csv", "parquet"):
        path = MAKERS[kind](tmp_path / NAMES[kind])
        traces = read_traces(path, columns=COLUMNS.get(kind), user="eve")
        assert traces.one().user == "eve"
        assert traces.report.count(Problem.DUPLICATE) == 6


# GPX


def test_gpx_waypoints_and_routes_are_counted_not_read(tmp_path: Path) -> None:
    """One waypoint and one route point are other records."""
    report = read_traces(files.gpx(tmp_path / "a.gpx")).report
    assert report.count(Problem.OTHER_RECORD) == 2


def test_gpx_times_without_a_zone_are_utc(tmp_path: Path) -> None:
    """The standard says that GPX times are UTC; a file that leaves the Z out means that."""
    path = tmp_path / "a.gpx"
    path.write_text(
        '<gpx version="1.1"><trk><trkseg>'
        '<trkpt lat="1" lon="2"><time>2024-05-01T08:00:00</time></trkpt>'
        '<trkpt lat="1" lon="2"><time>2024-05-01T10:30:00+02:00</time></trkpt>'
        '<trkpt lat="1" lon="2"/><trkpt lat="1" lon="2"><time>noon</time></trkpt>'
        "</trkseg></trk></gpx>"
    )
    traces = read_traces(path)
    assert [f.time for f in traces.one()] == [files.START, files.START + timedelta(minutes=30)]
    assert traces.report.count(Problem.MISSING_TIME) == 2


# Tables


def test_tables_by_duckdb_of_every_type_of_time(tmp_path: Path) -> None:
    """Parquet and CSV files written by DuckDB: zoned, naive, numbers, text, nanoseconds."""
    import duckdb

    kinds = {
        "zoned": ("TIMESTAMPTZ '2024-05-01 08:00:00+00'", {}, None),
        "naive": ("TIMESTAMP '2024-05-01 10:00:00'", {}, "Europe/Paris"),
        "nanos": ("TIMESTAMP_NS '2024-05-01 08:00:00'", {}, "UTC"),
        "seconds": ("1714550400", {}, None),
        "double": ("1714550400.0::DOUBLE", {}, None),
        "millis": ("1714550400000", {"time_unit": "ms"}, None),
        "text": ("'2024-05-01T04:00:00-04:00'", {}, None),
        "odd": ("'01.05.2024 10h00'", {"time_format": "%d.%m.%Y %Hh%M"}, "Europe/Paris"),
    }
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, (time, more, zone) in kinds.items():
        for suffix in ("csv", "parquet"):
            path = tmp_path / f"{name}.{suffix}"
            connection.execute(
                f"COPY (SELECT {time} AS timestamp, 46.5 AS latitude, 7.5 AS lng) TO '{path}'"
            )
            trace = read_traces(path, columns=more, zone=zone).one()
            assert trace.start == files.START, path.name
            assert (trace.lat[0], trace.lon[0]) == (46.5, 7.5)


def test_clock_times_without_a_zone_are_refused(tmp_path: Path) -> None:
    """A table with naive times needs the zone stated, and the error says how."""
    path = tmp_path / "a.csv"
    path.write_text("time,lat,lon\n2024-05-01 10:00:00,46.5,7.5\n")
    with pytest.raises(TraceError, match=r"'zone' must be given.*Europe/Paris"):
        list(read_traces(path))
    with pytest.raises(InvalidParameter, match="IANA"):
        read_traces(path, zone="Europe/Atlantis")
    with pytest.raises(TraceError, match="Beijing"):
        list(read_traces(files.tdrive(tmp_path / "b.txt")))


def test_odd_clock_times_are_counted(tmp_path: Path) -> None:
    """02:30 was skipped in March and shown twice in October: set aside, and taken as the first."""
    path = tmp_path / "a.csv"
    path.write_text("time,lat,lon\n2024-03-31 02:30:00,46.5,7.5\n2024-10-27 02:30:00,46.5,7.5\n")
    traces = read_traces(path, zone="Europe/Paris")
    assert [f.time for f in traces.one()] == [datetime(2024, 10, 27, 0, 30, tzinfo=UTC)]
    assert traces.report.count(Problem.NONEXISTENT_TIME) == 1
    assert traces.report.count(Problem.AMBIGUOUS_TIME) == 1


def test_a_wrong_unit_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Milliseconds read as seconds make every time impossible; none is used in silence."""
    path = tmp_path / "a.csv"
    path.write_text("time,lat,lon\n1714550400000,46.5,7.5\n")
    with pytest.raises(TraceError, match=r"The only record.*1 × impossible time"):
        list(read_traces(path))


@pytest.mark.parametrize(
    "text",
    ["2024-05-01 10:00:00 IST", "2024-05-01 10:00:00 PM", "epoch", "today", "infinity", "noon", ""],
)
def test_times_that_mean_different_things_are_not_read(text: str, tmp_path: Path) -> None:
    """Letters for zones, words and half-days cannot be read; nothing at all is missing."""
    path = tmp_path / "a.csv"
    path.write_text(f"time,lat,lon\n{text},1,2\n2024-05-01T08:00Z,1,2\n")
    traces = read_traces(path, zone="UTC")
    assert len(traces.one()) == 1
    wanted = Problem.UNREADABLE_TIME if text else Problem.MISSING_TIME
    assert traces.report.count(wanted) == 1


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_in_every_dialect(delimiter: str, bom: bytes, end: str, tmp_path: Path) -> None:
    """Delimiters, byte-order marks, line ends and quotes of Python's csv module are understood."""
    path = tmp_path / "a.csv"
    with path.open("wb") as raw:
        raw.write(bom)
    with path.open("a", newline="", encoding="utf-8") as out:
        writer = csv_module.writer(out, delimiter=delimiter, lineterminator=end)
        writer.writerow(["na,me;|\t", "user", "time", "lat", "lon"])
        writer.writerow(
            ['say "hi"' + end + delimiter, "zoë, Ø", "2024-05-01T08:00Z", "46.5", "7.5"]
        )
    trace = read_traces(path).one()
    assert (trace.user, trace.lat[0]) == ("zoë, Ø", 46.5)


def test_decimal_commas_of_semicolon_files(tmp_path: Path) -> None:
    """46,5 is a number where the semicolon parts columns."""
    path = tmp_path / "a.csv"
    path.write_text("time;lat;lon\n2024-05-01T08:00Z;46,5;7,5\n")
    trace = read_traces(path).one()
    assert (trace.lat[0], trace.lon[0]) == (46.5, 7.5)


def test_a_table_without_a_header_has_numbered_columns(tmp_path: Path) -> None:
    """column0, column1, … name the columns; without names the error tells what there is."""
    path = tmp_path / "a.csv"
    path.write_text("46.5,7.5,2024-05-01T08:00Z\n46.6,7.6,2024-05-01T08:01Z\n")
    with pytest.raises(TraceError, match="It has 'column0', 'column1'"):
        list(read_traces(path))
    columns = {"lat": "column0", "lon": "column1", "time": "column2"}
    assert len(read_traces(path, columns=columns).one()) == 2


@pytest.mark.parametrize(
    ("header", "columns", "message"),
    [
        ("time,lat", {}, "at least a time"),
        ("time,lat,x1", {}, "'lon'"),
        ("time,lat,lon,latitude", {}, "more than one"),
        ("time,lat,lon", {"lat": "Lat"}, "not in"),
        ("time,lat,lat,lon", {"lat": "lat"}, "more than once"),
        ("time,lat,lon", {"lon": "lat"}, "must be different for"),
    ],
)
def test_columns_that_cannot_be_settled(
    header: str, columns: dict[str, str], message: str, tmp_path: Path
) -> None:
    """Missing, doubtful and doubled columns are errors that name what there is."""
    path = tmp_path / "a.csv"
    path.write_text(header + "\n1,2,3,4\n")
    with pytest.raises(TraceError, match=message):
        list(read_traces(path, columns=columns))


def test_columns_are_checked_when_given() -> None:
    """Unknown parts and units are refused before any file is opened."""
    for columns in ({"altitude": "alt"}, {"lat": 3}, {"time_unit": "h"}):
        with pytest.raises(InvalidParameter):
            read_traces("none.csv", columns=columns)  # type: ignore[arg-type]


def test_rows_without_a_user_and_bad_lines_are_counted(tmp_path: Path) -> None:
    """An empty user, too many and too few columns are set aside and counted."""
    path = tmp_path / "a.csv"
    path.write_text(
        "user,time,lat,lon\nada,2024-05-01T08:00Z,46.5,7.5\n,2024-05-01T08:00Z,46.5,7.5\n"
        "ada,2024\nada,2024-05-01T08:01Z,46.5,7.5,9\nada,2024-05-01T08:02Z,x,7.5\n"
    )
    report = read_traces(path).report
    assert dict(report.problems) == {
        Problem.BAD_LINE: 2,
        Problem.MISSING_USER: 1,
        Problem.MISSING_POSITION: 1,
    }
    assert report.records == 5


def test_an_open_quote_counts_every_line_it_swallowed(tmp_path: Path) -> None:
    """Lines that vanish into a quote that is never closed are all counted."""
    path = tmp_path / "a.csv"
    good = "ada,2024-05-01T08:0{}Z,46.5,7.5\n"
    lost = "".join(good.format(i) for i in range(1, 5))
    path.write_text("user,time,lat,lon\n" + good.format(0) + '"' + lost)
    report = read_traces(path).report
    assert (report.fixes, report.count(Problem.BAD_LINE)) == (1, 4)


def test_file_names_are_not_patterns(tmp_path: Path) -> None:
    """A file named like a pattern or with quotes is read, and only it."""
    files.csv(tmp_path / "ab.csv", users=("bob",))
    for name in ("a*.csv", "a[b].csv", "a?.csv", "it's.csv"):
        path = files.csv(tmp_path / name, users=("ada",))
        assert [t.user for t in read_traces(path, columns=files.CSV_COLUMNS)] == ["ada"]


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    """Quotes, spaces and SQL in column names are only names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    odd = 'la"t; DROP TABLE x --'
    rows = {"time": [1714550400], odd: [46.5], "l o'n": [7.5], "filename": ["x"]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    trace = read_traces(tmp_path / "a.parquet", columns={"lat": odd, "lon": "l o'n"}).one()
    assert trace.lat[0] == 46.5


# Folders


def test_a_geolife_folder_has_its_users(tmp_path: Path) -> None:
    """Users are the folders above Trajectory, from wherever the folder is opened."""
    root = files.geolife(tmp_path / "geolife")
    for place in (root, root / "Data"):
        assert [t.user for t in read_traces(place)] == ["000", "010"]
    assert [t.user for t in read_traces(root / "Data" / "010")] == ["010"]


def test_geolife_bad_clocks_and_latitudes_are_reported(tmp_path: Path) -> None:
    """A latitude of 400.17, a clock in 2000, one at odds with itself, and broken lines."""
    path = files.plt(tmp_path / "a.plt")
    with path.open("ab") as out:
        out.write(b"400.166666666667,116.3,0,492,45413.3416666667,2024-05-01,08:12:00\r\n")
        out.write(b"46.01,7.02,0,492,39744.1201851852,2024-05-01,08:13:00\r\n")
        out.write(b"46.01,7.02,0,492,45413.3416666667,2024-05-32,08:13:00\r\n")
        out.write(b"46.01,7.02,0,492\r\nx,y,0,1,2,3,4\r\n")
        out.write(b"46.01,7.02,0,492,36526.9668865741,2000-01-01,23:12:19\r\n")
    report = read_traces(path).report
    assert dict(report.problems) == {
        Problem.BAD_LINE: 2,
        Problem.MISSING_TIME: 1,
        Problem.IMPOSSIBLE_TIME: 1,
        Problem.CONTRADICTORY_TIME: 1,
        Problem.IMPOSSIBLE_POSITION: 1,
    }
    assert report.fixes == 6


def test_folders_give_each_file_a_user(tmp_path: Path) -> None:
    """GPX by path, Cabspotting without its prefix, OwnTracks by user and device."""
    (tmp_path / "gpx" / "deep").mkdir(parents=True)
    files.gpx(tmp_path / "gpx" / "monday.gpx")
    files.gpx(tmp_path / "gpx" / "deep" / "tuesday.gpx")
    (tmp_path / "gpx" / "README").write_text("about these files")
    traces = read_traces(tmp_path / "gpx")
    assert [t.user for t in traces] == ["deep/tuesday", "monday"]
    assert traces.source.skipped == ("README",)
    assert [t.user for t in read_traces(tmp_path / "gpx", user="ada")] == ["ada"]
    (tmp_path / "cabs").mkdir()
    files.cabspotting(tmp_path / "cabs" / "new_abboip.txt")
    assert [t.user for t in read_traces(tmp_path / "cabs")] == ["abboip"]
    (tmp_path / "rec" / "jane" / "phone").mkdir(parents=True)
    files.owntracks(tmp_path / "rec" / "jane" / "phone" / "2024-05.rec")
    assert [t.user for t in read_traces(tmp_path / "rec")] == ["jane/phone"]


def test_folders_of_tables_are_one_table(tmp_path: Path) -> None:
    """Users may be spread over parts; without a user column each part is a user."""
    parts = tmp_path / "parts"
    parts.mkdir()
    files.parquet(parts / "1.parquet", users=("ada", "bob"))
    files.parquet(parts / "2.parquet", users=("bob",))
    traces = read_traces(parts)
    assert [t.user for t in traces] == ["ada", "bob"]
    assert traces.report.count(Problem.DUPLICATE) == 6
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in ("x", "y"):
        (plain / f"{name}.csv").write_text("time,lat,lon\n2024-05-01T08:00Z,46.5,7.5\n")
    assert [t.user for t in read_traces(plain)] == ["x", "y"]
    (plain / "z.csv").write_text("time;lat;lon\n2024-05-01T08:00Z;46.5;7.5\n")
    with pytest.raises(TraceError, match=r"z\.csv has other columns"):
        list(read_traces(plain))


def test_mixed_and_empty_folders_are_refused(tmp_path: Path) -> None:
    """A folder must hold one format; the choice may be stated."""
    with pytest.raises(TraceError, match="holds no file"):
        read_traces(tmp_path)
    files.gpx(tmp_path / "a.gpx")
    files.cabspotting(tmp_path / "b.txt")
    with pytest.raises(TraceError, match="mixes cabspotting, gpx"):
        read_traces(tmp_path)
    assert [t.user for t in read_traces(tmp_path, format="gpx")] == ["a"]
    with pytest.raises(TraceError, match="no file or folder"):
        read_traces(tmp_path / "nothing")


# GeoJSON


def test_geojson_lines_and_odd_features(tmp_path: Path) -> None:
    """A MultiLineString with nested times; polygons, null and nonsense are counted."""
    times = [t.isoformat() for t in files.TIMES]
    places = [[lon, lat] for lat, lon in files.PLACES]
    lines = {"type": "MultiLineString", "coordinates": [places[:2], places[2:]]}
    square = {"type": "Polygon", "coordinates": []}
    features = [
        {
            "type": "Feature",
            "geometry": lines,
            "properties": {"coordinateProperties": {"times": [times[:2], times[2:]]}},
        },
        {"type": "Feature", "geometry": square, "properties": None},
        {"type": "Feature", "geometry": None, "properties": None},
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": ["a"]}, "properties": {}},
        7,
    ]
    path = tmp_path / "a.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    traces = read_traces(path)
    assert_is_the_walk(traces.one())
    assert dict(traces.report.problems) == {
        Problem.BAD_LINE: 1,
        Problem.OTHER_RECORD: 1,
        Problem.MISSING_TIME: 1,
        Problem.MISSING_POSITION: 1,
    }


def test_geojson_of_another_coordinate_system_is_refused(tmp_path: Path) -> None:
    """Metres are not degrees."""
    path = tmp_path / "a.geojson"
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}
    path.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": []}))
    with pytest.raises(TraceError, match="WGS 84"):
        list(read_traces(path))


# Lines


def test_cabspotting_is_newest_first(tmp_path: Path) -> None:
    """Five of six lines are earlier than the line before them; the trace is in order."""
    traces = read_traces(files.cabspotting(tmp_path / "new_a.txt"))
    assert_is_the_walk(traces.one())
    assert traces.report.count(Problem.UNSORTED) == 5


def test_owntracks_messages_of_other_kinds_are_counted(tmp_path: Path) -> None:
    """A last will and a transition are no fixes; broken JSON is a bad line."""
    path = files.owntracks(tmp_path / "a.rec")
    with path.open("a") as out:
        out.write('2024-05-01T09:00:00Z\t*\t{"_type":"location","lat":\n')
        out.write('2024-05-01T09:00:00Z\t*\t{"_type":"location","lat":1,"lon":2}\n')
        out.write('2024-05-01T09:00:00Z\t*\t{"_type":"encrypted","data":"x"}\n')
    report = read_traces(path).report
    assert dict(report.problems) == {
        Problem.BAD_LINE: 1,
        Problem.OTHER_RECORD: 3,
        Problem.MISSING_TIME: 1,
    }


def sentence(body: str) -> str:
    total = 0
    for byte in body.encode():
        total ^= byte
    return f"${body}*{total:02X}\n"


def gga(clock: str, minutes: str = "4600.6000", quality: int = 1) -> str:
    return sentence(f"GPGGA,{clock},{minutes},N,00701.2000,E,{quality},08,1.0,10,M,40,M,,")


def test_nmea_dates_across_midnight(tmp_path: Path) -> None:
    """GGA sentences before and after a dated one get their dates across two midnights."""
    path = tmp_path / "a.nmea"
    rmc = sentence("GPRMC,000100,A,4600.6000,N,00701.2000,E,,,020524,,,A")
    path.write_text(gga("235900") + rmc + gga("235800") + gga("000200") + gga("000300"))
    found = [fix.time.isoformat() for fix in read_traces(path).one()]
    assert [time[:16] for time in found] == [
        "2024-05-01T23:58",
        "2024-05-01T23:59",
        "2024-05-02T00:01",
        "2024-05-02T00:02",
        "2024-05-02T00:03",
    ]


def test_nmea_sentences_of_one_epoch_are_one_fix(tmp_path: Path) -> None:
    """RMC wins over GGA; either one without a fix makes none; checksums and garbage count."""
    path = tmp_path / "a.nmea"
    rmc = sentence("GPRMC,080000,A,4600.6000,N,00701.2000,E,,,010524,,,A")
    no_fix = sentence("GPRMC,080100,V,4600.6000,N,00701.2000,E,,,010524,,,N")
    path.write_text(
        gga("080000", "4600.7000")
        + rmc
        + no_fix
        + gga("080100")
        + gga("080200", quality=0)
        + rmc.replace("4600.6", "4600.9")
        + "garbage\n"
        + sentence("GPGSV,1,1,00")
        + "!AIVDM,1,1\n"
    )
    traces = read_traces(path)
    trace = traces.one()
    assert len(trace) == 1
    assert trace.lat[0] == pytest.approx(46.01, abs=1e-9)
    assert dict(traces.report.problems) == {
        Problem.BAD_LINE: 1,
        Problem.BAD_CHECKSUM: 1,
        Problem.OTHER_RECORD: 4,
        Problem.NO_FIX: 2,
    }


def test_nmea_without_a_date_has_no_times(tmp_path: Path) -> None:
    """A log of GGA alone states no day, and none is made up; a ZDA sentence states it."""
    path = tmp_path / "a.nmea"
    path.write_text(gga("080000"))
    with pytest.raises(TraceError, match="missing time"):
        list(read_traces(path))
    path.write_text(gga("080000") + sentence("GPZDA,080000,01,05,2024,00,00"))
    assert read_traces(path).one().start == files.START
