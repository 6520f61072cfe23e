"""What a stream was worth, and the strip of days: figures by hand."""

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from priste.events import at, presence
from priste.maps import Grid
from priste.report.strip import NO_RELEASE, Stretch, level, strip_of
from priste.report.usefulness import usefulness

GRID = Grid(rows=1, columns=10, cell_size=0.5)


def test_near_and_far_by_hand() -> None:
    """Six hours around the event are near; gaps count nowhere; the constant is the best one."""
    truth = [0] * 20 + [None] + [4] * 3
    released = [0] * 10 + [2] + [0] * 9 + [0] + [4, None, 5]
    found = usefulness(GRID, truth, released, [at(12, [0])], 3600.0, alone=[1] * 24)
    way = found.ways["with priste"]
    assert way.everywhere == pytest.approx(1000 * (1.0 + 0.5) / 22)
    assert way.near == pytest.approx(1000 * 1.0 / 13)  # steps 6 to 18
    assert way.far == pytest.approx(1000 * 0.5 / 9)
    assert way.within_a_cell == pytest.approx(21 / 22)
    assert way.exact == pytest.approx(20 / 22)
    assert found.ways["one constant cell"].everywhere == pytest.approx(1000 * 3 * 2.0 / 23)
    assert found.ways["alone"].everywhere == pytest.approx(1000 * (20 * 0.5 + 3 * 1.5) / 23)
    assert found.errors[20] is None
    assert found.errors[22] is None
    assert "within one cell (500 m)" in found.sentence()


def test_without_far_steps_nothing_is_said_of_them() -> None:
    """An event that fills the stream leaves no step far from it."""
    found = usefulness(GRID, [0, 1], [0, 1], [presence([0], [0, 1])], 3600.0)
    assert math.isnan(found.ways["with priste"].far)
    assert "Far from" not in found.sentence()


def test_days_are_rows_and_equal_levels_are_joined() -> None:
    """Hours of one level are one stretch; the row breaks at midnight of the place."""
    start = datetime(2024, 5, 1, 22, tzinfo=ZoneInfo("Europe/Paris"))
    starts = [start + timedelta(hours=k) for k in range(4)]
    days = strip_of(starts, timedelta(hours=1), [0.0, 0.0, None, 2.0], 0.5, {1, 2})
    assert [day.label for day in days] == ["Wed 01 May", "Thu 02 May"]
    (late,) = days[0].stretches
    assert (late.begin, late.level) == (pytest.approx(100 * 22 / 24, abs=1e-3), 0)
    assert late.begin + late.width == pytest.approx(100, abs=2e-3)
    assert [part.level for part in days[1].stretches] == [NO_RELEASE, level(2.0, 0.5)]
    assert [len(day.events) for day in days] == [1, 1]
    assert days[1].events[0].begin == 0.0


def test_a_step_over_midnight_stays_within_its_day() -> None:
    """What is drawn never leaves the row."""
    start = datetime(2024, 5, 1, 23, tzinfo=UTC)
    (day,) = strip_of([start], timedelta(hours=4), [9.0], 0.5, ())
    assert day.stretches == (Stretch(95.833, 4.167, 4, "Wed 01 May, from 23:00: farther off"),)
