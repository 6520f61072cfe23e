"""The made-up town: repeatable, plausible, and with the secret that the demonstration needs."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from priste import Grid, InvalidParameter
from priste.traces import Timeline
from priste.traces.town import FIRST_DAY, TOWN_BOUNDS, TOWN_ZONE, ada, residents, town_places

GRID = Grid.covering(*TOWN_BOUNDS, cell_size=0.5)
HOURS = Timeline(datetime(2026, 3, 2), timedelta(hours=1), TOWN_ZONE)
WALKING_PACE = 20.0  # km/h; a little above the town's speed, for GPS error


def place(name: str) -> int:
    return GRID.cell_at(*town_places()[name])


def test_it_is_a_pure_function_of_the_seed() -> None:
    """The same seed tells the same story, another seed another one."""
    first, again, other = ada(seed=1), ada(seed=1), ada(seed=2)
    assert np.array_equal(first.lat, again.lat)
    assert not np.array_equal(first.lat, other.lat)
    few, many = residents(2, days=3), residents(3, days=3)
    assert np.array_equal(few[1].lon, many[1].lon)  # adding people changes nobody


def test_places_are_apart() -> None:
    """No two named places share a cell of the demonstration's size."""
    cells = {place(name) for name in town_places()}
    assert len(cells) == len(town_places())


def test_ada_is_where_her_story_says() -> None:
    """Home at night, the office by day, the hospital on Wednesdays at 14 and 15 o'clock."""
    cells = HOURS.cells(ada(), GRID).cells
    home, office, hospital = (place(name) for name in ("home", "office", "hospital"))
    assert FIRST_DAY.weekday() == 0
    for day in range(14):
        assert cells[24 * day + 3] == home
        at_hospital = [h for h in range(24) if cells[24 * day + h] == hospital]
        assert at_hospital == ([14, 15] if day % 7 == 2 else [])
        if day % 7 < 5:
            assert cells[24 * day + 10] == office


def test_everybody_stays_in_town_and_moves_at_a_human_pace() -> None:
    """All fixes lie on the map and no two in a row are further apart than a bicycle gets."""
    for trace in [ada(), *residents(6)]:
        x, y = GRID.xy(trace.lat, trace.lon)
        GRID.cell_at(trace.lat, trace.lon)  # raises outside
        hours = np.diff(trace.times) / 3.6e9
        assert (np.hypot(np.diff(x), np.diff(y)) / hours).max() < WALKING_PACE


def test_some_residents_visit_the_hospital() -> None:
    """A model fitted on them knows that people go there, so that there is something to deny."""
    hospital = place("hospital")
    visitors = sum(hospital in HOURS.cells(t, GRID).cells for t in residents(20))
    assert 5 <= visitors < 20


@pytest.mark.parametrize("days", [0, 29, True, 1.5])
def test_days_beyond_the_clock_change_are_refused(days: object) -> None:
    """Midnights are 24 hours apart only until the clocks change."""
    with pytest.raises(InvalidParameter, match="1 to 28"):
        ada(days)  # type: ignore[arg-type]


def test_nobody_is_not_a_town() -> None:
    """At least one resident."""
    with pytest.raises(InvalidParameter, match=">= 1"):
        residents(0)
