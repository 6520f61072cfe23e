"""Fixes, traces, zones and the rules for records with problems."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter, TraceError
from priste.traces import Fix, Problem, Trace
from priste.traces.cleaning import RawFix, RawFixes, clean
from priste.traces.fixes import microseconds, utc_datetime
from priste.traces.record_problems import Tally
from priste.traces.zones import NO_TIME, instant_of, instants, jump_over, readings, zone_of

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ZONES = ("UTC", "Europe/Paris", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu")


@given(st.datetimes(datetime(1980, 1, 1), datetime(2090, 1, 1)))
def test_instants_round_trip_exactly(naive: datetime) -> None:
    """A time turned into microseconds and back is the same to the microsecond."""
    time = naive.replace(tzinfo=UTC)
    assert utc_datetime(microseconds(time)) == time


def test_values_do_not_show_positions() -> None:
    """The text forms of fixes, traces and step cells hold no coordinate."""
    trace = Trace.of([Fix("ada", NOON, 48.123456, 16.654321)])
    for text in (repr(trace), repr(next(iter(trace)))):
        assert "48.1" not in text
        assert "16.6" not in text


def test_a_trace_is_frozen_and_copies_its_input() -> None:
    """Changing the arrays a trace was made of does not change it, and it cannot be changed."""
    times = np.array([1, 2], dtype=np.int64)
    trace = Trace(None, times, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    times[0] = 7
    assert trace.times[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        trace.lat[0] = 5.0


@pytest.mark.parametrize(
    ("times", "lat", "lon"),
    [
        ([2, 1], [0.5, 0.5], [1, 1]),
        ([1, 1], [0.5, 0.5], [1, 1]),
        ([1], [91.0], [1.0]),
        ([1], [float("nan")], [1.0]),
        ([1], [1.0], [181.0]),
        ([1, 2], [1.0], [1.0]),
        ([], [], []),
        ([1.5], [1.0], [1.0]),
        ([1], ["x"], [1.0]),
    ],
)
def test_impossible_traces_are_refused(times: list, lat: list, lon: list) -> None:
    """Unsorted, repeated, impossible, uneven, empty and non-numeric traces raise."""
    with pytest.raises(InvalidParameter):
        Trace(None, np.array(times), np.array(lat), np.array(lon))


def test_naive_times_are_refused() -> None:
    """A datetime without a zone is no instant."""
    with pytest.raises(InvalidParameter, match="zone"):
        Trace.of([Fix(None, datetime(2024, 1, 1), 1.0, 1.0)])


def test_bounds_take_the_narrow_side_of_the_earth() -> None:
    """A trace across longitude 180° has west > east, and another one the plain box."""

    def trace(*lons: float) -> Trace:
        return Trace(None, np.arange(len(lons)), np.full(len(lons), 1.0), np.array(lons))

    assert trace(179.0, -179.0).bounds() == (1.0, 179.0, 1.0, -179.0)
    assert trace(-10.0, 20.0, 5.0).bounds() == (1.0, -10.0, 1.0, 20.0)
    assert trace(7.0).bounds() == (1.0, 7.0, 1.0, 7.0)


@pytest.mark.parametrize("zone", ZONES)
@examples(40)
@given(st.lists(st.datetimes(datetime(1985, 1, 1), datetime(2035, 1, 1)), min_size=1, max_size=20))
def test_clock_times_of_a_zone_agree_with_zoneinfo(zone: str, clocks: list[datetime]) -> None:
    """The conversion of whole arrays gives what zoneinfo gives one by one."""
    # Times around the changes of clocks are rare: add some for each.
    clocks += [datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 2, 30)]
    clocks += [datetime(2009, 3, 8, 0, 1, 30), datetime(2009, 11, 1, 0, 0, 30)]
    clocks += [datetime(2024, 4, 7, 1, 45), datetime(2024, 10, 6, 2, 15)]
    place, tally = zone_of(zone), Tally()
    naive = np.array([microseconds(c.replace(tzinfo=UTC)) for c in clocks], dtype=np.int64)
    found, exists = instants(naive, place, tally)
    twice = 0
    for clock, time, is_real in zip(clocks, found.tolist(), exists.tolist(), strict=True):
        first = clock.replace(tzinfo=place, fold=0).astimezone(UTC)
        second = clock.replace(tzinfo=place, fold=1).astimezone(UTC)
        back = first.astimezone(place).replace(tzinfo=None)
        assert is_real == (back.replace(fold=0) == clock)
        if is_real:
            assert utc_datetime(time) == first
            twice += first != second
    assert tally.report("", "").count(Problem.AMBIGUOUS_TIME) == twice


def test_missing_times_stay_missing_in_every_zone() -> None:
    """The mark of a missing time passes through a conversion unharmed."""
    found, exists = instants(np.array([NO_TIME]), zone_of("Europe/Paris"), Tally())
    assert found.tolist() == [NO_TIME]
    assert exists.all()


def test_jump_of_clocks_is_found_to_the_microsecond() -> None:
    """Paris jumped from 02:00 to 03:00 at 01:00Z, St. John's at 00:01 local time in 2009."""
    paris, johns = zone_of("Europe/Paris"), zone_of("America/St_Johns")
    assert jump_over(datetime(2024, 3, 31, 2, 59), paris) == datetime(2024, 3, 31, 1, tzinfo=UTC)
    assert jump_over(datetime(2009, 3, 8, 0, 30), johns) == datetime(2009, 3, 8, 3, 31, tzinfo=UTC)
    assert readings(datetime(2009, 3, 8, 0, 30), johns) == ()


@pytest.mark.parametrize("zone", ["Mars/Phobos", "", "../etc/passwd", "CET+99"])
def test_unknown_zones_are_refused(zone: str) -> None:
    """A zone that is not in the list raises, whatever zoneinfo makes of it."""
    with pytest.raises(InvalidParameter, match="IANA"):
        zone_of(zone)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-01T12:00:00Z", NOON),
        ("2024-05-01T14:00:00+02:00", NOON),
        (NOON.timestamp(), NOON),
        (str(int(NOON.timestamp())), NOON),
        ("yesterday", Problem.UNREADABLE_TIME),
        (" ", Problem.MISSING_TIME),
        (None, Problem.MISSING_TIME),
        (True, Problem.MISSING_TIME),
        (float("nan"), Problem.IMPOSSIBLE_TIME),
        (1e300, Problem.IMPOSSIBLE_TIME),
        ("0001-01-01T00:00:00+14:00", Problem.IMPOSSIBLE_TIME),
        ("2024-03-31T02:30:00", Problem.NONEXISTENT_TIME),
        ("2024-10-27T02:30:00", datetime(2024, 10, 27, 0, 30, tzinfo=UTC)),
    ],
)
def test_times_of_documents(value: object, expected: datetime | Problem) -> None:
    """Texts, numbers and nonsense become the instant or the problem they are."""
    found = instant_of(value, ZoneInfo("Europe/Paris"), "a test", Tally())
    assert found == (microseconds(expected) if isinstance(expected, datetime) else expected)


def test_a_clock_time_without_a_stated_zone_raises() -> None:
    """There is no default zone."""
    with pytest.raises(TraceError, match="'zone' must be given"):
        instant_of("2024-05-01T12:00:00", None, "a test", Tally())


def test_each_problem_is_counted_once_and_handled_by_its_rule() -> None:
    """Eleven records with every problem of a trace leave the two fixes that are sound."""
    nan = float("nan")
    at = microseconds(NOON)
    rows = [
        (at + 10, 10.0, 10.0),  # sound
        (NO_TIME, 10.0, 10.0),  # missing time
        (-(10**16), 10.0, 10.0),  # impossible time
        (microseconds(datetime(2100, 1, 1, tzinfo=UTC)), 10.0, 10.0),  # impossible time
        (at, nan, 10.0),  # missing position
        (at, 400.166666666667, 10.0),  # impossible position
        (at, 10.0, float("inf")),  # impossible position
        (at, 0.0, 0.0),  # zero position
        (at, 11.0, 11.0),  # sound, but earlier than the first: unsorted
        (at, 11.0, 11.0),  # duplicate
        (at + 10, 12.0, 12.0),  # conflict: the first in the source wins
    ]
    raw = RawFixes(
        np.array([r[0] for r in rows]),
        np.array([r[1] for r in rows]),
        np.array([r[2] for r in rows]),
    )
    tally = Tally()
    trace = clean("ada", raw, tally)
    assert trace is not None
    assert [(fix.lat, fix.lon) for fix in trace] == [(11.0, 11.0), (10.0, 10.0)]
    report = tally.report("x", "csv")
    expected = {
        Problem.MISSING_TIME: 1,
        Problem.IMPOSSIBLE_TIME: 2,
        Problem.MISSING_POSITION: 1,
        Problem.IMPOSSIBLE_POSITION: 2,
        Problem.ZERO_POSITION: 1,
        Problem.DUPLICATE: 1,
        Problem.CONFLICT: 1,
        Problem.UNSORTED: 1,
    }
    assert dict(report.problems) == expected
    assert report.records == len(rows)
    assert report.records - report.set_aside == report.fixes == 2
    assert "400" not in "".join(report.lines())


def test_every_problem_states_a_rule() -> None:
    """No problem is without its sentence."""
    assert all(problem.rule.startswith(("Set aside", "Kept")) for problem in Problem)
    assert all(problem.sets_aside == problem.rule.startswith("Set") for problem in Problem)


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from([1.0, 2.0, 95.0, float("nan"), 0.0]),
            st.sampled_from([1.0, 2.0, 0.0]),
        ),
        max_size=25,
    )
)
def test_records_are_conserved(rows: list[tuple[int, float, float]]) -> None:
    """Whatever the records, each is either a fix or counted under one problem that sets aside."""
    base, tally = microseconds(NOON), Tally()
    raw = RawFixes.of(RawFix(base + r[0], r[1], r[2]) for r in rows)
    trace = clean(None, raw, tally)
    report = tally.report("", "")
    assert report.records == len(rows) == report.fixes + report.set_aside
    assert (0 if trace is None else len(trace)) == report.fixes
