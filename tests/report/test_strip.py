"""The strip of days: figures by hand."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from priste.report.strip import NO_RELEASE, Stretch, level, strip_of


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


def test_guarded_hours_have_a_mark_of_their_own() -> None:
    """They reach beyond the event on both sides."""
    starts = [datetime(2026, 3, 4, hour) for hour in range(6)]
    (day,) = strip_of(starts, timedelta(hours=1), [0.0] * 6, 0.5, {2}, {1, 2, 3})
    assert [(round(part.begin, 1), round(part.width, 1)) for part in day.guarded] == [(4.2, 12.5)]
    assert [(round(part.begin, 1), round(part.width, 1)) for part in day.events] == [(8.3, 4.2)]
