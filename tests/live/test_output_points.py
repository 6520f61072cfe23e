"""Outputs as points: a function of the released cell, that names and avoids places as asked."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.live.small_town import GRID, POLICY

from priste.errors import InvalidParameter, OutsideMap
from priste.live.addresses import read_output
from priste.live.output_points import ZONE_RADIUS, NamedPoint, OutputPoints
from priste.live.point import LEAST_ACCURACY, Point
from priste.live.settings import PersonSection, read_point
from priste.policy import read_policy

HOME = NamedPoint("home", GRID.latlon(0)[0] + 0.002, GRID.latlon(0)[1] - 0.003)
ROUNDED = 5e-8
"""Degrees: points have seven decimals."""

EDGES = 40
"""Points along a side of a cell by which distances to it are measured a second way."""


def test_a_named_point_stands_for_its_cell_and_no_other() -> None:
    """The home's cell is released as the home; every other cell as its centre."""
    points = OutputPoints(read_policy(POLICY), [HOME])
    for cell in range(GRID.size):
        lat, lon, accuracy, name = points.of(cell)
        expected = (HOME.lat, HOME.lon) if cell == 0 else GRID.latlon(cell)
        assert (lat, lon) == pytest.approx(expected, abs=ROUNDED)
        assert (name, accuracy) == ("home" if cell == 0 else None, 707.0)


@pytest.mark.parametrize("outside", ["nearest", "off-map"])
def test_no_point_and_no_accuracy_reaches_a_guarded_cell(outside: str) -> None:
    """Points avoid the cells of the clinic, and so does a circle of the accuracy and a zone."""
    text = POLICY.replace("[release]", f'[release]\noutside = "{outside}"')
    policy = read_policy(text)
    points = OutputPoints(policy, [HOME], avoid_guarded=True, accuracy=5000.0)
    edges = [at for cell in policy.guarded_cells for at in edge(policy.grid.bounds_of(cell))]
    for cell in range(policy.grid.size):
        lat, lon, accuracy, name = points.of(cell)
        assert policy.grid.cell_at(lat, lon) not in policy.guarded_cells
        if cell in policy.guarded_cells:
            assert name is None
            assert policy.grid.cell_at(lat, lon) not in policy.grid.border or outside == "nearest"
        away = 1000 * min(math.dist(policy.grid.xy(lat, lon), at) for at in edges)
        assert accuracy == LEAST_ACCURACY or accuracy + ZONE_RADIUS <= away
        assert accuracy > LEAST_ACCURACY  # half a cell of 1 km is more than a zone


def edge(bounds: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    west, south, east, north = bounds
    parts = [number / EDGES for number in range(EDGES + 1)]
    level = [(west + part * (east - west), y) for part in parts for y in (south, north)]
    return level + [(x, south + part * (north - south)) for part in parts for x in (west, east)]


def test_points_that_are_refused() -> None:
    """A point in a guarded cell, two in one cell, one off the map; no cell that is free."""
    policy = read_policy(POLICY)
    with pytest.raises(InvalidParameter, match="guarded place, which an app would show by its"):
        OutputPoints(policy, [NamedPoint("clinic", *GRID.latlon(4))])
    with pytest.raises(InvalidParameter, match="in one cell with the point 'home'"):
        OutputPoints(policy, [HOME, NamedPoint("school", *GRID.latlon(0))])
    with pytest.raises(OutsideMap):
        OutputPoints(policy, [NamedPoint("away", 50.0, 7.0)])
    rest = [cell for cell in range(GRID.size) if cell not in (4, 5)]
    more = f"[regions.rest]\ncells = {rest}\n[events.other]\nformula = 'presence(rest, 7..8)'\n"
    everywhere = read_policy(POLICY + more)
    with pytest.raises(InvalidParameter, match="a cell that belongs to no guarded place"):
        OutputPoints(everywhere, avoid_guarded=True)
    for text in ("home", "home=1", "home=46.1,x", "=1,2,3"):
        with pytest.raises(InvalidParameter) as caught:
            read_point(text)
        assert "46.1" not in str(caught.value)  # it may be a place of theirs


@pytest.mark.parametrize(
    ("output", "avoided", "accuracy"),
    [
        ("homeassistant+https://h/api/webhook/1", True, 1.0),
        ("owntracks+https://h/api/webhook/1", True, 1.0),
        ("homeassistant+mqtt://127.0.0.1/", True, 1.0),
        ("owntracks+mqtt://127.0.0.1/owntracks/ada/phone", True, 1.0),
        ("owntracks+mqtt://127.0.0.1/", True, 1.0),
        ("owntracks+mqtt://127.0.0.1/released/ada", False, 707.0),
        ("owntracks+https://h/pub", False, 707.0),
        ("owntracks+https://h/pub?accuracy=50", False, 50.0),
        ("owntracks+https://h/api/webhook/1?accuracy=3", True, 3.0),
    ],
)
def test_home_assistant_gets_a_metre(output: str, avoided: bool, accuracy: float) -> None:
    """What feeds Home Assistant avoids guarded places and states a metre, unless it is said."""
    section = PersonSection.model_validate({"policy": "p.toml", "out": [output]})
    assert section.settings("ada", Path(), False).options.avoid_guarded is avoided
    point = Point("ada", 0, datetime(2026, 3, 4, tzinfo=UTC), 46.0, 7.0, 707.0)
    assert read_output(output).shown_here(point).accuracy == accuracy
    with pytest.raises(InvalidParameter, match="metres > 0"):
        read_output("osmand+https://h/?accuracy=-1")
