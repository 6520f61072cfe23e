"""What phones, watches and map services export is read, and written back with nothing else."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.traces.phone_files import (
    PLACES,
    SECRET,
    START,
    android,
    at,
    e7,
    fit,
    iphone,
    kml,
    kml_text,
    kmz,
    month,
    owntracks,
    takeout,
    tcx,
)

from priste import Grid
from priste.errors import TraceError
from priste.traces import Problem, Timeline, read_traces, write_released, write_traces
from priste.traces.fixes import Fix, Trace

GRID = Grid.covering(46.0, 7.0, 46.05, 7.06, 1.0)


MADE = [
    (android, "Timeline.json", "google"),
    (iphone, "location-history.json", "google"),
    (takeout, "Records.json", "google"),
    (month, "2024_MAY.json", "google"),
    (owntracks, "phone.json", "owntracks"),
    (kml, "walk.kml", "kml"),
    (kmz, "walk.kmz", "kml"),
    (tcx, "run.tcx", "tcx"),
    (fit, "run.fit", "fit"),
]
WRITABLE = [case for case in MADE if case[2] != "fit"]


@pytest.mark.parametrize(("make", "name", "kind"), MADE, ids=[case[1] for case in MADE])
def test_each_is_recognised_and_read(tmp_path: Path, make, name: str, kind: str) -> None:
    """By what is in the file, the same three fixes come out of every format."""
    traces = read_traces(make(tmp_path / name))
    assert traces.format == kind
    trace = traces.one()
    assert [fix.time for fix in trace] == [START + timedelta(minutes=10 * n) for n in range(3)]
    for fix, (lat, lon) in zip(trace, PLACES, strict=True):
        assert abs(fix.lat - lat) < 1e-6
        assert abs(fix.lon - lon) < 1e-6


@pytest.mark.parametrize(("make", "name", "kind"), WRITABLE, ids=[case[1] for case in WRITABLE])
def test_each_is_written_back_with_released_points_and_nothing_else(
    tmp_path: Path, make, name: str, kind: str
) -> None:
    """Same format, the released cells at the middle of each step, and no other field."""
    source = make(tmp_path / name)
    timeline = Timeline(START, timedelta(minutes=10), "UTC")
    target = tmp_path / f"released-{name.replace('.kmz', '.kml')}"
    write_released(read_traces(source), target, {None: (5, 6, None)}, timeline, GRID)
    released = read_traces(target)
    assert released.format == kind
    trace = released.one()
    middle = START + timedelta(minutes=5)
    assert [fix.time for fix in trace] == [middle, middle + timedelta(minutes=10)]
    assert [GRID.cell_at(fix.lat, fix.lon) for fix in trace] == [5, 6]
    data = target.read_bytes()
    for betraying in (SECRET, "123", "WIFI", "470", "accuracy"):
        assert betraying.encode() not in data


@pytest.mark.parametrize("name", ["a.kml", "a.tcx"])
def test_traces_can_be_written_as_they_are(tmp_path: Path, name: str) -> None:
    """What one made oneself round-trips."""
    times = [START + timedelta(minutes=10 * number) for number in range(3)]
    trace = Trace.of(Fix(None, time, *place) for time, place in zip(times, PLACES, strict=True))
    write_traces([trace], tmp_path / name)
    again = read_traces(tmp_path / name).one()
    assert again.times.tolist() == trace.times.tolist()
    assert again.lat.tolist() == trace.lat.tolist()


def test_fit_is_read_only_and_says_so(tmp_path: Path) -> None:
    """A watch's file cannot be written; the message says what to do."""
    traces = read_traces(fit(tmp_path / "run.fit"))
    timeline = Timeline(START, timedelta(minutes=10), "UTC")
    with pytest.raises(TraceError, match="read but not written"):
        write_released(traces, tmp_path / "out.fit", {None: (5,)}, timeline, GRID)
    report = write_released(traces, tmp_path / "out.gpx", {None: (5, 6)}, timeline, GRID)
    assert report.written == 2
    assert read_traces(tmp_path / "out.gpx").format == "gpx"


def test_unknown_json_tells_what_was_looked_for(tmp_path: Path) -> None:
    """The message lists every kind of JSON that is known, and nothing of the file."""
    path = tmp_path / "strange.json"
    path.write_text('{"points": [[46.0123456, 7.0]]}')
    with pytest.raises(TraceError, match="FeatureCollection") as caught:
        read_traces(path)
    for known in ("semanticSegments", "locations", "timelineObjects", "_type"):
        assert known in str(caught.value)
    assert "46.0123456" not in str(caught.value)
    assert "parquet" not in str(caught.value)


@pytest.mark.parametrize("cut", [0.5, 0.9])
@pytest.mark.parametrize(("make", "name", "kind"), MADE, ids=[case[1] for case in MADE])
def test_files_that_were_cut_off_are_told(
    tmp_path: Path, make, name: str, kind: str, cut: float
) -> None:
    """A part of a file is an error that shows no position, never a shorter trace in silence."""
    source = make(tmp_path / name)
    data = source.read_bytes()
    source.write_bytes(data[: int(len(data) * cut)])
    with pytest.raises(TraceError) as caught:
        list(read_traces(source))
    assert "46.0" not in str(caught.value)


def test_a_document_type_is_refused(tmp_path: Path) -> None:
    """Entities that grow without bound are not expanded."""
    path = tmp_path / "bomb.kml"
    path.write_text('<!DOCTYPE kml [<!ENTITY a "aaaa">]>' + kml_text()[21:])
    with pytest.raises(TraceError, match="document type"):
        list(read_traces(path, format="kml"))


def test_records_without_place_or_time_are_counted(tmp_path: Path) -> None:
    """What is no fix is set aside under its own name."""
    path = tmp_path / "Records.json"
    records = [
        {**e7(PLACES[0]), "timestamp": at(0)},
        {"latitudeE7": 460000000, "timestamp": at(1)},
        {**e7(PLACES[0])},
        {**e7(PLACES[0]), "timestamp": "soon"},
        {"activity": []},
        7,
    ]
    path.write_text(json.dumps({"locations": records}))
    traces = read_traces(path)
    assert len(traces.one()) == 1
    assert traces.report.count(Problem.MISSING_POSITION) == 1
    assert traces.report.count(Problem.MISSING_TIME) == 2
    assert traces.report.count(Problem.OTHER_RECORD) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "position",
                    "LatLng",
                    "timestamp",
                    "placeVisit",
                    "location",
                    "duration",
                    "timelinePath",
                    "point",
                    "time",
                    "startTime",
                    "visit",
                    "topCandidate",
                    "placeLocation",
                    "latitudeE7",
                    "activitySegment",
                    "simplifiedRawPath",
                    "points",
                    "_type",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@examples(60)
@given(st.lists(JSON, max_size=4))
def test_hostile_records_are_set_aside(tmp_path_factory, entries: list) -> None:
    """Any JSON where records should be gives fixes or counted problems, never another error."""
    folder = tmp_path_factory.mktemp("hostile")
    for key in ("semanticSegments", "locations", "timelineObjects"):
        good = {**e7(PLACES[0]), "timestamp": at(0)}
        (folder / "x.json").write_text(json.dumps({key: [good, *entries]}))
        assert len(read_traces(folder / "x.json", format="google").one()) >= 1


def test_workout_routes_of_apple_are_gpx(tmp_path: Path) -> None:
    """The routes that Apple Health exports are read; speed, course and accuracy stay behind."""
    points = "".join(
        f'<trkpt lon="{lon}" lat="{lat}"><ele>470.1</ele><time>{at(10 * number)}</time>'
        "<extensions><speed>3.3</speed><course>123.0</course><hAcc>4.7</hAcc></extensions></trkpt>"
        for number, (lat, lon) in enumerate(PLACES)
    )
    path = tmp_path / "route_2024-05-06_8.00am.gpx"
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><gpx version="1.1" creator="Apple Health Export" '
        'xmlns="http://www.topografix.com/GPX/1/1"><metadata><time>2024-05-06T09:00:00Z</time>'
        f"</metadata><trk><name>Route</name><trkseg>{points}</trkseg></trk></gpx>"
    )
    traces = read_traces(path)
    assert traces.format == "gpx"
    assert len(traces.one()) == 3
    timeline = Timeline(START, timedelta(minutes=10), "UTC")
    write_released(traces, tmp_path / "out.gpx", {None: (5, 6, 7)}, timeline, GRID)
    written = (tmp_path / "out.gpx").read_text()
    assert "Apple" not in written
    assert "123" not in written


TRACKER_TABLES = {
    "strava": (
        "time,lat,lng,altitude,heartrate,cadence,watts",
        "{at},{lat},{lon},470.2,121,80,150",
    ),
    "garmin": ("Timestamp,Latitude,Longitude,Altitude,HeartRate", "{at},{lat},{lon},470.2,121"),
    "from fit": (
        "timestamp,position_lat,position_long,enhanced_altitude,heart_rate",
        "{at},{lat},{lon},470.2,121",
    ),
    "with units": (
        "Time (UTC),Latitude (deg),Longitude (deg),Heart rate [bpm]",
        "{at},{lat},{lon},121",
    ),
}


@pytest.mark.parametrize("kind", list(TRACKER_TABLES))
def test_tables_of_trackers_are_read_and_written(tmp_path: Path, kind: str) -> None:
    """Columns as Strava's and Garmin's tables call them are found; the heart stays behind."""
    head, row = TRACKER_TABLES[kind]
    rows = [row.format(at=at(10 * n), lat=lat, lon=lon) for n, (lat, lon) in enumerate(PLACES)]
    (tmp_path / "ride.csv").write_text("\n".join([head, *rows]) + "\n")
    traces = read_traces(tmp_path / "ride.csv")
    trace = traces.one()
    assert list(zip(trace.lat.tolist(), trace.lon.tolist(), strict=True)) == list(PLACES)
    timeline = Timeline(START, timedelta(minutes=10), "UTC")
    write_released(traces, tmp_path / "out.csv", {None: (5, 6, 7)}, timeline, GRID)
    written = (tmp_path / "out.csv").read_text()
    assert set(written.splitlines()[0].split(",")) < set(head.split(","))
    assert "121" not in written
    again = read_traces(tmp_path / "out.csv").one()
    assert [GRID.cell_at(*at_) for at_ in zip(again.lat, again.lon, strict=True)] == [5, 6, 7]


def test_garmins_raw_unit_is_not_taken_for_degrees(tmp_path: Path) -> None:
    """Semicircles are refused by name, never read as degrees."""
    (tmp_path / "ride.csv").write_text(
        "timestamp,position_lat[semicircles],position_long[semicircles]\n"
        f"{at(0)},548800000,83800000\n"
    )
    with pytest.raises(TraceError, match="must name the 'lat'"):
        read_traces(tmp_path / "ride.csv").one()
