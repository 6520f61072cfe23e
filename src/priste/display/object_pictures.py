"""The picture of an object: a chart or a map of the report, which SVG and matplotlib draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING

from priste.maps import Grid, Region
from priste.mobility import MarkovModel
from priste.quantify import Guarantee
from priste.release import Ledger, Protector
from priste.report.charts import Chart, Line, Mark, Scale, level, over_steps, value_marks
from priste.report.figures import LINES, chart_figure, map_figure
from priste.report.map_view import MapDrawing, MapView, Panel
from priste.results import PolicyAudit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_SHADED = 2_500
"""Cells of the largest map whose stationary distribution is computed for a picture."""

MOST_LINES = len(LINES)
"""How many events are drawn: those with the largest leakage."""

MOST_MARKS = 6


@singledispatch
def picture(shown: object) -> Chart | MapView | None:
    """Return the picture of an object, None for one that has none."""
    return None


def plot(shown: object) -> Figure:
    """Return the picture of an object as a matplotlib figure."""
    drawn = picture(shown)
    if isinstance(drawn, Chart):
        return chart_figure(drawn)
    if drawn is None:
        raise TypeError(f"A {type(shown).__name__} has no picture yet.")
    return map_figure(drawn)


@picture.register
def _(shown: Grid) -> MapView:
    drawing = MapDrawing(shown, [], {})
    return drawing.view([Panel(_size(shown), f"A map of {_size(shown)}", ())])


@picture.register
def _(shown: Region) -> MapView:
    cells = list(shown.cells)
    drawing = MapDrawing(shown.grid, cells, {})
    words = f"{len(cells)} of {shown.grid.size} cells"
    return drawing.view([Panel(words, words, drawing.counted(cells, "released"))])


@picture.register
def _(shown: MarkovModel) -> MapView:
    drawing = MapDrawing(shown.grid, [], {})
    if shown.horizon is not None or shown.grid.size > LARGEST_SHADED:
        return drawing.view([Panel(_size(shown.grid), f"A map of {_size(shown.grid)}", ())])
    words = "Share of time in each cell"
    return drawing.view([Panel(words, words, drawing.shaded(shown.stationary(), "people"))])


@picture.register
def _(shown: Ledger) -> Chart | None:
    if not len(shown):
        return None
    leakage = {
        name: [release.leakage[number] for release in shown]
        for number, name in enumerate(shown.event_names)
    }
    limits = dict(zip(shown.event_names, shown.guarantees or (), strict=False))
    return leakage_chart(leakage, limits, [release.silent for release in shown], shown[0].step)


@picture.register
def _(shown: Protector) -> Chart | None:
    return picture(shown.ledger)  # type: ignore[return-value]


@picture.register
def _(shown: PolicyAudit) -> Chart | None:
    worst = shown.worst()
    leakage = {name: list(event.leakage) for name, (_, event) in worst.items()}
    steps = max((len(values) for values in leakage.values()), default=0)
    if not steps:
        return None
    limits = {name: event.guarantee for name, event in shown.policy.events.items()}
    return leakage_chart(leakage, limits, [False] * steps)


def leakage_chart(
    leakage: Mapping[str, Sequence[float]],
    limits: Mapping[str, Guarantee],
    silent: Sequence[bool],
    first: int = 0,
) -> Chart:
    """Return leakages over steps as lines, the largest first, with the bound of each event."""
    largest = {name: max(values, default=0.0) for name, values in leakage.items()}
    shown = sorted(leakage, key=lambda name: -largest[name])[:MOST_LINES]
    bounds = {name: limits[name].largest_leakage for name in shown if name in limits}
    finite = [v for v in (*largest.values(), *bounds.values()) if math.isfinite(v)]
    scale = Scale(0.0, 1.15 * max([*finite, 0.1]))
    steps = range(len(silent))
    lines = tuple(
        Line(name, style, over_steps(leakage[name], steps, scale, silent))
        for name, style in zip(shown, LINES, strict=False)
    )
    across = tuple(
        Mark(round(100 * (step + 0.5) / len(silent), 2), f"step {step + first}")
        for step in range(0, len(silent), math.ceil(len(silent) / MOST_MARKS))
    )
    levels = tuple(
        level(bound, f"ε = {bound:g}", scale)
        for bound in sorted({b for b in bounds.values() if math.isfinite(b)})
    )
    left_out = len(leakage) - len(shown)
    words = f"Leakage over {len(silent)} steps" + (f"; {left_out} events less" if left_out else "")
    return Chart(words, words, lines, across, value_marks(scale), levels)


def _size(grid: Grid) -> str:
    return f"{grid.rows} × {grid.columns} cells of {grid.cell_size:g} km"
