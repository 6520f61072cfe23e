"""Charts and maps of the page: every number that is drawn is the number that was measured."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.small_reports import GRID, a_report

from priste import Grid
from priste.report.charts import HEIGHT, WIDTH, Scale, histogram, over_steps, path
from priste.report.map_view import MapDrawing, MapView
from priste.report.pictures import distance_chart, event_cards, learners_words, stream_map

STEP = re.compile(r"[ML](-?\d+) (-?[\d.]+)")
RUN = re.compile(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z")
EARTH = Grid.covering(46.0, 7.0, 46.054, 7.078, 0.65)


def cells_of(drawn: str, view: MapView, grid: Grid, top_row: int) -> set[int]:
    """Return the cells that a path of the map covers."""
    found = set()
    for x, y, width, back in (map(int, run) for run in RUN.findall(drawn)):
        assert width == back
        for column in range(view.columns_shown.start + x, view.columns_shown.start + x + width):
            found.add((top_row - y) * grid.columns + column)
    return found


def test_a_line_goes_through_its_values_and_breaks_in_silence() -> None:
    """Each released step has its point at its height; silence leaves a gap; ∞ is at the top."""
    values = [0.0, 1.0, 2.0, 4.0, float("inf"), 1.0]
    silent = [False, False, True, False, False, False]
    drawn = path(over_steps(values, range(6), Scale(0.0, 4.0), silent))
    assert drawn.count("M") == 2
    points = [(int(x), float(y)) for x, y in STEP.findall(drawn)]
    assert [y for _, y in points] == [100.0, 75.0, 0.0, 0.0, 75.0]
    for (x, _), step in zip(points, (0, 1, 3, 4, 5), strict=True):
        assert x == pytest.approx(WIDTH * (step + 0.5) / 6, abs=1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.data())
def test_leaving_out_level_points_changes_no_line(values: list[float], data: st.DataObject) -> None:
    """What is drawn, interpolated at each step, is the value there."""
    values = [round(v, 1) for v in values]
    silent = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    drawn = path(over_steps(values, range(len(values)), Scale(0.0, 1.0), silent))
    parts = [f"M{part}" for part in drawn.split("M") if part]
    lines = [[(int(x), float(y)) for x, y in STEP.findall(part)] for part in parts]
    told = [step for step, quiet in enumerate(silent) if not quiet]
    assert bool(lines) == bool(told)
    for step in told:
        x = WIDTH * (step + 0.5) / len(values)
        near = [line for line in lines if line[0][0] - 1 <= x <= line[-1][0] + 1]
        heights = [np.interp(x, *zip(*line, strict=True)) for line in near]
        assert min(abs(h - HEIGHT * (1 - values[step])) for h in heights) <= 5.1  # a pixel across


@given(st.lists(st.floats(0, 10), max_size=50))
def test_every_value_is_in_one_bar(values: list[float]) -> None:
    """A histogram counts everything once, and its highest bar is full."""
    bars = histogram(values, ["a", "b", "c"], [0.0, 1.0, 5.0])
    assert [bar.count for bar in bars] == [
        sum(low <= v < high for v in values) for low, high in ((0, 1), (1, 5), (5, 99))
    ]
    assert max(bar.height for bar in bars) == (100.0 if values else 0.0)


def test_the_map_shows_the_cells_that_were_released() -> None:
    """The shaded cells are those with releases, and the darkest is where most are."""
    report = a_report(truth=(0, 1, 2, 6, 10, None))
    view = stream_map(report)
    truth, told = view.panels
    assert (truth.title, told.title) == ("Where the user was", "What was released")
    assert (view.columns, view.rows) == (GRID.columns, GRID.rows)
    drawn = {layer.style: cells_of(layer.path, view, GRID, GRID.rows - 1) for layer in told.layers}
    assert set().union(*drawn.values()) == {0, 1, 5, 11}
    assert drawn["released-5"] == {11}
    shown = set().union(*(cells_of(x.path, view, GRID, GRID.rows - 1) for x in truth.layers))
    assert shown == {0, 1, 2, 6, 10}
    (region,) = view.regions
    assert region.name == "clinic"
    assert region.path.count("M") == 6  # two cells side by side have six outer edges
    hidden = stream_map(a_report())
    assert [panel.title for panel in hidden.panels] == ["What was released"]


@given(st.sets(st.integers(0, EARTH.size - 1), min_size=1, max_size=6))
def test_labels_and_marks_stay_on_the_map_and_apart(cells: set[int]) -> None:
    """No two names overlap as placed, all are inside, and coordinates are those of the grid."""
    regions = {f"place {cell}": (cell,) for cell in sorted(cells)}
    view = MapDrawing(EARTH, cells, regions).view([])
    for label in view.labels:
        assert 0 <= label.x <= 100
        assert 0 <= label.y <= 100
    spots = [(label.x, label.y) for label in view.labels]
    assert len(set(spots)) == len(spots)
    side = EARTH.cell_size
    for mark in view.across:
        lon = float(mark.text.split("°")[0])
        south = view.rows_shown.start * side
        x = (view.columns_shown.start + view.columns * mark.at / 100) * side
        assert EARTH.latlon_at(x, south)[1] == pytest.approx(lon, abs=2e-4)
    for mark in view.up:
        lat = float(mark.text.split("°")[0])
        y = (view.rows_shown.stop - view.rows * mark.at / 100) * side
        assert EARTH.latlon_at(view.columns_shown.start * side, y)[0] == pytest.approx(
            lat, abs=2e-4
        )
    kilometres = float(view.bar_words.split(" ")[0]) / (1000 if view.bar_words[-2:] == " m" else 1)
    assert view.bar_width / 100 * view.columns * side == pytest.approx(kilometres, rel=1e-3)


def test_occurrences_of_a_recurring_event_share_a_card_and_a_scale() -> None:
    """Two weeks of one event are small multiples; who learns most is said by place."""
    (event,) = a_report().events
    weeks = tuple(replace(event, name="visit", period=f"week {k}") for k in (1, 2))
    report = a_report(events=(*weeks, replace(event, name="other")))
    visit, other = event_cards(report)
    assert (visit.name, visit.of, other.of) == ("visit", 2, 1)
    assert [each.label for each in visit.occurrences] == ["week 1", "week 2"]
    assert visit.occurrences[0].leakage.up == visit.occurrences[1].leakage.up
    assert "without limit" in visit.occurrences[0].leakage.lines[0].label
    assert learners_words(report, visit).endswith("in cell 3 (25.0 %) or in cell 7 (75.0 %).")
    assert visit.learners is not None
    assert len(visit.learners.panels[0].dots) == 2


def test_a_chart_of_an_event_shows_the_day_around_it() -> None:
    """A stream of a hundred hours is cut to twelve hours before and after the event."""
    (event,) = a_report().events
    long = replace(event.guarded, leakage=(0.1,) * 100, belief=(0.1,) * 100)
    report = a_report(
        times=tuple(f"Mon 02 Mar {h % 24:02d}:00" for h in range(100)),
        released=(0,) * 100,
        budgets=(1.0,) * 100,
        events=(replace(event, guarded=long, uncalibrated=None, steps=(50, 51)),),
        usefulness=None,
    )
    (card,) = event_cards(report)
    (band,) = card.occurrences[0].leakage.bands
    assert band.begin == pytest.approx(100 * 12 / 26, abs=0.01)
    assert band.width == pytest.approx(100 * 2 / 26, abs=0.01)
    assert distance_chart(report) is None


def test_shares_within_a_distance_are_counted() -> None:
    """The curve of distances ends at everything, and its marks are lengths."""
    chart = distance_chart(a_report())
    assert chart is not None
    assert [line.label for line in chart.lines] == ["uncalibrated", "with priste"]
    points = [(int(x), float(y)) for x, y in STEP.findall(chart.lines[1].path)]
    assert points[-1] == (1000, 0.0)  # at 1 km, all three
    assert min(x for x, y in points if y <= 100 - 66.6) == pytest.approx(500, abs=9)
