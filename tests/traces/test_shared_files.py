"""Real files beside the repository, where they are present: gpxpy's, gpsd's and a city's."""

from pathlib import Path

import pytest

from priste.errors import TraceError
from priste.traces import Problem, read_traces

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the shared file {name} is not on this machine")
    return path


@pytest.mark.parametrize(
    ("name", "fixes", "problems"),
    [
        ("around-visnjan-with-car.gpx", 104, {}),
        ("cerknicko-jezero.gpx", 296, {Problem.OTHER_RECORD: 7}),
        (
            "cerknicko-without-times.gpx",
            5,
            {Problem.OTHER_RECORD: 7, Problem.MISSING_TIME: 291},
        ),
        ("korita-zbevnica.gpx", 513, {Problem.OTHER_RECORD: 2, Problem.MISSING_TIME: 358}),
        ("limerick-commute.gpx", 2144, {}),
        ("visnjan.gpx", 413, {Problem.OTHER_RECORD: 2}),
    ],
)
def test_gpx_files(name: str, fixes: int, problems: dict[Problem, int]) -> None:
    """As many track points with and without times as the tags in the file say."""
    path = shared(f"gpx/{name}")
    report = read_traces(path).report
    text = path.read_text()
    assert (report.fixes, dict(report.problems)) == (fixes, problems)
    assert report.records == text.count("<trkpt") + text.count("<wpt") + text.count("<rtept")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Mojstrovka.gpx", "184 × impossible time"),  # the year 1901
        ("track-with-extremes.gpx", "25 × missing time"),
        ("unicode_with_bom.gpx", "1 × other record"),  # a byte-order mark and a waypoint
    ],
)
def test_gpx_files_without_a_usable_fix(name: str, reason: str) -> None:
    """Bogus years, no times, and no track are errors that give the counts."""
    with pytest.raises(TraceError, match=reason):
        list(read_traces(shared(f"gpx/{name}")))


@pytest.mark.parametrize(
    ("name", "fixes"), [("bt451.nmea", 15), ("bundg_zeus_9.nmea", 149), ("nl2008u.nmea", 9)]
)
def test_nmea_logs(name: str, fixes: int) -> None:
    """Logs of three receivers: every sentence is counted, no checksum fails."""
    path = shared(f"nmea/{name}")
    report = read_traces(path).report
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    assert (report.fixes, report.records) == (fixes, len(lines))
    assert report.count(Problem.BAD_CHECKSUM) == report.count(Problem.BAD_LINE) == 0


def test_bus_positions() -> None:
    """A day of one bus route: its clock times need a zone, its vehicles are its users."""
    path = shared("bus/route14_outbound.csv")
    with pytest.raises(TraceError, match="'zone' must be given"):
        list(read_traces(path))
    report = read_traces(path, zone="Europe/London").report
    assert report.fixes == report.records == len(path.read_text().splitlines()) - 1
    vehicles = {line.split(",")[1] for line in path.read_text().splitlines()[1:]}
    assert report.users == len(vehicles)
