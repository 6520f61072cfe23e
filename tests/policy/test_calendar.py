"""Clock times become steps: never fewer than were meant, and exactly those on calm days."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.policy.calendar import (
    DAY_NAMES,
    NoSteps,
    StepReader,
    periods,
    read_when,
    steps_of_when,
)
from priste.traces import Timeline

MINUTE = timedelta(minutes=1)
CALM, SPRING, AUTUMN = datetime(2026, 3, 4), datetime(2026, 3, 28), datetime(2026, 10, 24)
STEP_MINUTES = st.sampled_from([10, 30, 60, 90, 420, 1440])

CLOCKS = st.builds(time, st.integers(0, 23), st.sampled_from([0, 15, 30, 59]))


@st.composite
def whens(draw: st.DrawFn) -> str:
    """Return a well written text."""
    parts = []
    if draw(st.booleans()):
        names = draw(st.lists(st.sampled_from(DAY_NAMES), min_size=1, max_size=3, unique=True))
        group = st.sampled_from(["daily", "weekdays", "weekends", ",".join(names)])
        parts.append(draw(group))
    if draw(st.booleans()) or not parts:
        begin, end = draw(CLOCKS), draw(CLOCKS)
        single = draw(st.booleans())
        parts.append(f"{begin:%H:%M}" if single else f"{begin:%H:%M}-{end:%H:%M}")
    return " ".join(draw(st.permutations(parts)))


def minutes_meant(text: str, timeline: Timeline, steps: int) -> set[int]:
    """Return the steps with a minute whose clock reading lies in the text's stretches.

    The slow way round: every minute of the timeline is asked what the clock on the wall shows.
    """
    when = read_when(text)
    found = set()
    now = timeline.time_of(0).astimezone(UTC)
    end = timeline.time_of(steps).astimezone(UTC)
    while now < end:
        wall = now.astimezone(timeline.zone).replace(tzinfo=None)
        for day in (wall.date(), wall.date() - timedelta(days=1)):
            if when.on(day):
                begin, stop = when.stretch(day)
                if begin <= wall < (stop or begin + MINUTE):
                    found.add(timeline.step_at(now))
        now += MINUTE
    return found


@examples(60)
@given(whens(), STEP_MINUTES)
def test_calm_days_give_exactly_the_steps_that_were_meant(text: str, minutes: int) -> None:
    """Without changes of clocks, the steps are those that share a minute with the text."""
    line = Timeline(CALM, timedelta(minutes=minutes), "UTC")
    steps = 3 * 1440 // minutes
    assert steps_of_when(read_when(text), line, range(steps)) == sorted(
        minutes_meant(text, line, steps)
    )


@examples(60)
@given(whens(), STEP_MINUTES, st.sampled_from([SPRING, AUTUMN]))
def test_changing_clocks_never_protect_less(text: str, minutes: int, start: datetime) -> None:
    """On days when clocks change, every minute whose reading was meant is in a step."""
    line = Timeline(start, timedelta(minutes=minutes), "Europe/Paris")
    steps = 3 * 1440 // minutes
    assert set(steps_of_when(read_when(text), line, range(steps))) >= minutes_meant(
        text, line, steps
    )


def test_days_of_23_and_25_hours() -> None:
    """A whole day has as many hourly steps as it has hours."""
    for start, day, hours in (
        (SPRING, "2026-03-29", 23),
        (AUTUMN, "2026-10-25", 25),
        (CALM, "2026-03-05", 24),
    ):
        line = Timeline(start, timedelta(hours=1), "Europe/Paris")
        assert len(steps_of_when(read_when(day), line, range(72))) == hours


def test_an_overnight_window_ends_on_the_next_day() -> None:
    """22:00-06:00 on a Wednesday is the night to Thursday, also seen from its end."""
    line = Timeline(CALM, timedelta(hours=1), "UTC")  # a Wednesday
    assert steps_of_when(read_when("wed 22:00-06:00"), line, range(48)) == list(range(22, 30))
    later = Timeline(CALM + timedelta(days=1), timedelta(hours=1), "UTC")
    assert steps_of_when(read_when("wed 22:00-06:00"), later, range(24)) == list(range(6))
    assert steps_of_when(read_when("00:00-24:00"), line, range(48)) == list(range(48))


@given(st.dates(date(2026, 1, 1), date(2026, 12, 31)), st.integers(1, 900))
@examples(60)
def test_periods_share_out_all_steps(day: date, steps: int) -> None:
    """Days and weeks cover the timeline, in order, and begin where the calendar says."""
    line = Timeline(datetime.combine(day, time(5, 30)), timedelta(hours=1), "Europe/Paris")
    for every in ("day", "week"):
        found = list(periods(line, steps, every))
        assert found[0].first < line.time_of(0).date() <= found[1].last
        assert all(b.first == a.last + timedelta(days=1) for a, b in pairwise(found))
        # A step that straddles midnight belongs to both days: it is protected in each.
        named = set()
        for period in found[1:]:
            named |= set(StepReader(line, steps, period)("daily", None))
        assert named == set(range(steps))


def test_weeks_begin_on_mondays() -> None:
    """A timeline from Wednesday has a short first week, named by its Monday, and says so."""
    line = Timeline(CALM, timedelta(days=1), "UTC")
    before, *weeks = periods(line, 8, "week")
    assert before.name == "week of 2026-02-23"
    found = []
    for week in weeks:
        reader = StepReader(line, 8, week)
        found.append((week.name, reader("daily", None), reader.cut))
    assert found == [
        ("week of 2026-03-02", [0, 1, 2, 3, 4], True),
        ("week of 2026-03-09", [5, 6, 7], True),
    ]


def test_a_night_belongs_to_the_day_on_which_it_begins() -> None:
    """22:00-06:00 of a day is one stretch across midnight; the last of a week is the week's."""
    line = Timeline(CALM, timedelta(hours=2), "UTC")  # a Wednesday, 12 steps a day
    steps = 12 * 14
    nights = {}
    for day in periods(line, steps, "day"):
        reader = StepReader(line, steps, day)
        nights[day.name] = (reader("22:00-06:00", None), reader.cut)
    assert nights["2026-03-04"] == ([11, 12, 13, 14], False)
    assert nights["2026-03-05"] == ([23, 24, 25, 26], False)
    assert nights["2026-03-03"] == ([0, 1, 2], True)  # began before the clock: what is inside
    assert nights["2026-03-17"] == ([167], True)
    weeks = {
        week.name: StepReader(line, steps, week)("sun 22:00-06:00", None)
        for week in list(periods(line, steps, "week"))[1:-1]
    }
    assert weeks["week of 2026-03-02"] == [59, 60, 61, 62]  # into the Monday after


def test_how_the_event_language_reads_steps() -> None:
    """Numbers, moments, stretches between moments, and texts, all name steps."""
    line = Timeline(CALM, timedelta(hours=1), "UTC")
    read = StepReader(line, 48)
    assert read("3", None) == [3]
    assert read("3", "5") == [3, 4, 5]
    assert read("2026-03-04T14:10", None) == [14]
    assert read("2026-03-04T14:10", "2026-03-04T16:00") == [14, 15]
    assert read("thu 00:00-02:00", None) == [24, 25]
    with pytest.raises(NoSteps, match="runs from 2026-03-04 00:00 to 2026-03-06 00:00"):
        read("sun", None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("noon", "is no date"),
        ("", "must not be empty"),
        ("2026-02-30", "not a day of the calendar"),
        ("25:00", "not a time of day"),
        ("12:60-13:00", "not a time of day"),
        ("2026-03-05..2026-03-01", "go backwards"),
        ("mon tue", "names days twice"),
        ("2026-03-04 2026-03-05", "two dates"),
        ("10:00 11:00", "two times"),
        ("monkey", "is no date"),
    ],
)
def test_texts_that_cannot_be_read(text: str, complaint: str) -> None:
    """Each mistake is named."""
    with pytest.raises(ValueError, match=complaint):
        read_when(text)


@pytest.mark.parametrize(
    ("word", "last", "complaint"),
    [
        ("48", None, "not on the timeline"),
        ("5", "3", "must not go down"),
        ("5", "noon", "step number"),
        ("2026-03-04T14:00", "5", "write a moment"),
        ("2026-03-04T14:00", "2026-03-04T13:00", "forward in time"),
        ("wed", "thu", "cannot be followed"),
    ],
)
def test_steps_that_cannot_be_read(word: str, last: str | None, complaint: str) -> None:
    """Each mistake is named."""
    line = Timeline(CALM, timedelta(hours=1), "UTC")
    with pytest.raises(ValueError, match=complaint):
        StepReader(line, 48)(word, last)


def test_day_names_long_and_short() -> None:
    """Days may be written out; letters may be large."""
    assert read_when("Wednesday").weekdays == read_when("wed").weekdays == frozenset({2})
    assert read_when("weekdays,sun").weekdays == frozenset({0, 1, 2, 3, 4, 6})
