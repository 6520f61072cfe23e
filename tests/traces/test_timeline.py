"""The timeline: steps of elapsed time, clock times, and one cell per step."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter, OutsideMap
from priste.maps import Grid
from priste.traces import StepCells, Timeline, Trace
from priste.traces.fixes import microseconds

GRID = Grid.covering(46.0, 7.0, 46.05, 7.08, cell_size=0.5)
START = datetime(2024, 5, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LINE = Timeline(START, MINUTE)
ZONES = ("UTC", "Europe/Paris", "America/St_Johns", "Australia/Lord_Howe")
# Positions well inside the map and inside their cells.
CENTRES = np.stack(GRID.latlon(np.arange(GRID.size)), axis=1)

steps = st.timedeltas(timedelta(microseconds=1), timedelta(days=2))
starts = st.datetimes(
    datetime(2000, 1, 1),
    datetime(2030, 1, 1),
    timezones=st.sampled_from([ZoneInfo(z) for z in ZONES]),
)


def trace_of(*seconds_and_cells: tuple[float, int]) -> Trace:
    """A trace that is at the centre of a cell, so many seconds after the start."""
    times = [microseconds(START) + round(s * 1e6) for s, _ in seconds_and_cells]
    places = CENTRES[[cell for _, cell in seconds_and_cells]]
    return Trace("ada", np.array(times), places[:, 0], places[:, 1])


@examples(100)
@given(starts, steps, st.sampled_from(ZONES), st.integers(0, 5_000))
def test_steps_and_times_are_inverse(
    start: datetime, step: timedelta, zone: str, number: int
) -> None:
    """The first and the last instant of a step lie in it, and the next one in the next."""
    line = Timeline(start, step, zone)
    begin = line.time_of(number)
    assert line.step_at(begin) == number
    assert line.step_at(begin.astimezone(UTC) + step - timedelta(microseconds=1)) == number
    assert line.step_at(begin.astimezone(UTC) + step) == number + 1
    assert line.step_at(line.middle_of(number)) == number


@examples(100)
@given(starts, steps, st.sampled_from(ZONES), st.integers(0, 400), st.integers(0, 400))
def test_steps_between_are_those_that_touch(
    start: datetime, step: timedelta, zone: str, first: int, count: int
) -> None:
    """A range holds exactly the steps that share an instant with it: compared one by one."""
    line = Timeline(start, step, zone)
    begin = line.time_of(first).astimezone(UTC) + step / 3
    end = begin + step * count / 2
    found = line.steps_between(begin, end)
    for number in {max(first - 1, 0), first, found.start, found.stop, max(found.stop - 1, 0)}:
        low = line.time_of(number).astimezone(UTC)
        touches = begin < end and low < end and begin < low + step
        assert (number in found) == touches


def test_steps_are_elapsed_time_across_changes_of_clocks() -> None:
    """In Paris the day clocks go forward has 23 hours, and the day they go back 25."""
    for day, hours in (("2024-03-31", 23), ("2024-10-27", 25), ("2024-06-01", 24)):
        midnight = datetime.fromisoformat(day)
        line = Timeline(midnight, timedelta(hours=1), "Europe/Paris")
        assert len(line.steps_between(midnight, midnight + timedelta(days=1))) == hours


def test_clock_windows_are_read_as_widely_as_they_can_be() -> None:
    """Of a time shown twice a window takes both; a skipped time is the jump itself."""
    autumn = Timeline(datetime(2024, 10, 27), timedelta(minutes=30), "Europe/Paris")
    clock = datetime(2024, 10, 27, 2, 30)
    assert autumn.steps_between(clock, clock) == range(5, 7)
    assert autumn.step_at(clock) == 5
    assert autumn.step_at(clock.replace(fold=1)) == 7
    spring = Timeline(datetime(2024, 3, 31), timedelta(minutes=30), "Europe/Paris")
    skipped = datetime(2024, 3, 31, 2, 15)
    assert spring.steps_between(skipped, datetime(2024, 3, 31, 3, 30)) == range(4, 5)
    assert not spring.steps_between(skipped, skipped + timedelta(minutes=30))
    with pytest.raises(InvalidParameter, match="skipped"):
        spring.step_at(skipped)


def test_covering_starts_at_the_local_midnight() -> None:
    """23:30Z is the next day in Paris; in Santiago clocks skipped a midnight of 2024."""
    trace = Trace(None, np.array([microseconds(datetime(2024, 5, 1, 23, 30, tzinfo=UTC))]), *ONE)
    line = Timeline.covering(trace, MINUTE, "Europe/Paris")
    assert line.time_of(0).isoformat() == "2024-05-02T00:00:00+02:00"
    trace = Trace(None, np.array([microseconds(datetime(2024, 9, 8, 12, tzinfo=UTC))]), *ONE)
    line = Timeline.covering(trace, MINUTE, "America/Santiago")
    assert line.time_of(0).isoformat() == "2024-09-08T01:00:00-03:00"


ONE = (np.array([46.01]), np.array([7.01]))


def test_equal_instants_in_other_zones_make_equal_timelines() -> None:
    """Timelines are values: the start is compared as an instant."""
    there = datetime(2024, 5, 1, 2, tzinfo=ZoneInfo("Europe/Paris"))
    assert Timeline(there, MINUTE) == LINE
    assert hash(Timeline(there, MINUTE)) == hash(LINE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Timeline(START, timedelta(0)),
        lambda: Timeline(START, 60),
        lambda: Timeline("2024-01-01", MINUTE),
        lambda: Timeline(datetime(2024, 3, 31, 2, 30), MINUTE, "Europe/Paris"),
        lambda: Timeline(START, MINUTE, "Nowhere"),
        lambda: LINE.step_at(START - MINUTE),
        lambda: LINE.time_of(-1),
        lambda: LINE.time_of(True),
        lambda: LINE.steps_between(START + MINUTE, START),
        lambda: LINE.cells(trace_of((0, 0)), GRID, "median"),
        lambda: LINE.cells(trace_of((0, 0)), GRID, outside="ignore"),
        lambda: LINE.cells(trace_of((0, 0)), GRID, steps=-1),
        lambda: LINE.cells(trace_of((0, 0)), GRID, longest_gap=timedelta(0)),
        lambda: Timeline(START, timedelta(microseconds=1)).cells(trace_of((3600, 0)), GRID),
    ],
)
def test_wrong_arguments_are_refused(make: object) -> None:
    """Every argument has its range, and says so."""
    with pytest.raises(InvalidParameter):
        make()  # type: ignore[operator]


def test_nearest_takes_the_fix_at_the_middle_and_keeps_gaps() -> None:
    """Fixes at 5, 29 and 50 s of a minute give the one at 29; a minute without fixes is None."""
    trace = trace_of((5, 1), (29, 2), (50, 3), (150, 4))
    assert LINE.cells(trace, GRID).cells == (2, None, 4)
    assert LINE.cells(trace_of((20, 1), (40, 2)), GRID).cells == (1,)  # a tie: the earlier


def test_interpolated_goes_along_the_straight_line() -> None:
    """Half-way between cells 0 and 4 of one row lies cell 2; too long a gap stays a gap."""
    trace = trace_of((30, 0), (150, 4))
    assert LINE.cells(trace, GRID, "interpolated").cells == (0, 2, 4)
    short = timedelta(seconds=100)
    assert LINE.cells(trace, GRID, "interpolated", longest_gap=short).cells == (0, None, 4)


def test_interpolated_crosses_the_date_line_the_short_way() -> None:
    """From 179.9° to -179.9° the middle is at 180°, not at 0°."""
    grid = Grid.covering(-0.1, 179.8, 0.1, -179.8, cell_size=1.0)
    times = np.array([microseconds(START) + s * 1_000_000 for s in (30, 150)])
    trace = Trace(None, times, np.array([0.05, 0.05]), np.array([179.9, -179.9]))
    cells = LINE.cells(trace, grid, "interpolated").cells
    assert cells[1] == grid.cell_at(0.05, 180.0)


def brute_force(trace: Trace, count: int) -> list[int | None]:
    """The definition, step by step."""
    found: list[int | None] = []
    for step in range(count):
        low = microseconds(START) + step * 60_000_000
        held = [
            (abs(2 * (t - low) - 60_000_000), t, int(GRID.cell_at(a, o)))
            for t, a, o in zip(trace.times, trace.lat, trace.lon, strict=True)
            if low <= t < low + 60_000_000
        ]
        found.append(min(held)[2] if held else None)
    return found


@examples(60)
@given(
    st.lists(
        st.tuples(st.integers(-100, 500), st.integers(0, 5)),
        min_size=1,
        max_size=30,
        unique_by=lambda pair: pair[0],
    ),
)
def test_the_rule_agrees_with_its_definition(pairs: list[tuple[int, int]]) -> None:
    """Whole arrays give what the definition gives step by step, and every fix is accounted for."""
    trace = trace_of(*sorted(pairs))
    result = LINE.cells(trace, GRID, steps=6)
    assert list(result.cells) == brute_force(trace, 6)
    assert result.early == sum(s < 0 for s, _ in pairs)
    assert result.late == sum(s >= 360 for s, _ in pairs)


def test_positions_outside_the_map_by_choice() -> None:
    """Outside is refused without a position in the message, moved to the border, or a gap."""
    times = np.array([microseconds(START) + 1, microseconds(START) + 60_000_001])
    trace = Trace(None, times, np.array([46.01, 47.123]), np.array([7.01, 8.456]))
    with pytest.raises(OutsideMap, match="1 of 2") as caught:
        LINE.cells(trace, GRID)
    assert "47.1" not in str(caught.value)
    inside = GRID.cell_at(46.01, 7.01)
    corner = LINE.cells(trace, GRID, outside="nearest")
    assert corner.cells == (inside, GRID.size - 1)
    gap = LINE.cells(trace, GRID, outside="gap")
    assert (gap.cells, gap.outside, gap.gaps) == ((inside, None), 1, 1)


def test_a_trace_before_the_start_has_no_steps() -> None:
    """All fixes are early and no step is made up."""
    result = LINE.cells(trace_of((-60, 1)), GRID)
    assert (result.cells, result.early) == ((), 1)
    assert LINE.cells(trace_of((-60, 1)), GRID, steps=2).cells == (None, None)


def test_step_cells_hide_the_cells_and_split_at_gaps() -> None:
    """The text form shows no cell; runs are the stretches between gaps."""
    cells = StepCells("ada", (717, None, 5, 6), 0, 0, 0)
    assert "717" not in repr(cells)
    assert list(cells.runs()) == [[717], [5, 6]]
