"""The charts and maps of a report as files, drawn by matplotlib without a screen.

The values are those of the page (:mod:`priste.report.charts`, :mod:`priste.report.map_view`);
nothing is computed here.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priste.atomic_files import write_file
from priste.errors import InvalidParameter
from priste.extras import need
from priste.report.charts import BarGroup, Chart
from priste.report.map_view import SHADES, Layer, MapView, Panel
from priste.report.pictures import budget_chart, distance_chart, event_cards, stream_map
from priste.report.stream_report import StreamReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GUARDED = "#0b6e6e"
BARE = "#c8553d"
INK = "#22303c"
QUIET = "#8c98a4"
WINDOW = "#f1e3b8"
REGION_INKS = ("#7a3e9d", "#b3541e", "#1e6fb3", "#4a7a1e", "#9d3e5c", "#5c5c5c")
LINES = {"released": (GUARDED, "-"), "uncalibrated": (BARE, "--"), "any_prior": ("#b7791f", ":")}
"""The ink and the dashes of each style of line."""
BARS = {"good": GUARDED, "bad": BARE}
"""The ink of each style of bar."""
SHADED = {"released": "#0b5f5f", "true": "#4d2f8f", "people": "#8c98a4"}
"""The darkest ink of each kind of layer."""

STYLE: dict[Any, Any] = {
    "axes.edgecolor": QUIET,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": "#e6eaee",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "priste",  # the same report gives the same bytes
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def chart_figure(chart: Chart) -> Figure:
    """Draw a chart."""
    need("plots", "Drawing a figure", "matplotlib")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 2.9), layout="constrained")
        axes = figure.subplots()
        for band in chart.bands:
            ends = band.begin / 100, (band.begin + band.width) / 100
            axes.axvspan(*ends, color=WINDOW, zorder=0, linewidth=0)
        for line in chart.lines:
            ink, dashes = LINES[line.style]
            points = [(float("nan"),) * 2 if point is None else point for point in line.points]
            # A small marker shows a release between two silences, too.
            look: dict[str, Any] = {"color": ink, "marker": ".", "markersize": 2, "clip_on": False}
            axes.plot(*zip(*points, strict=True), linestyle=dashes, label=line.label, **look)
        for number, mark in enumerate(chart.levels):
            look = {"color": INK, "linewidth": 1, "linestyle": ":" if number else "--"}
            axes.axhline(1 - mark.at / 100, label=mark.text, **look)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.set_xticks([mark.at / 100 for mark in chart.across], [m.text for m in chart.across])
        axes.set_yticks([1 - mark.at / 100 for mark in chart.up], [m.text for m in chart.up])
        axes.set_title(chart.title, pad=20)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, borderaxespad=0, borderpad=0.2
        )
    return figure


def bars_figure(groups: Sequence[BarGroup], note: str) -> Figure:
    """Draw groups of bars: a row for each group, and bars of one name below each other."""
    need("plots", "Drawing a figure", "matplotlib")
    import matplotlib
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(bar.name for group in groups for bar in group.bars))
    with matplotlib.rc_context(STYLE):
        longest = max(len(group.name) for group in groups)
        size = 7.6 + 0.07 * longest, 1.2 + 0.3 * len(groups)
        figure = Figure(figsize=size, layout="constrained")
        drawn = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        for axes, kind in zip(drawn, kinds, strict=True):
            for place, group in enumerate(groups):
                for bar in (each for each in group.bars if each.name == kind):
                    axes.barh(place, bar.width, color=BARS[bar.style], height=0.6)
                    axes.plot([bar.low, bar.high], [place] * 2, color=INK, linewidth=1.0)
                    if bar.level is not None:
                        ends = [place - 0.45, place + 0.45]
                        axes.plot([bar.level] * 2, ends, color=INK, linewidth=1.0)
                    end = max(bar.width, bar.high, bar.level or 0.0) + 2
                    axes.text(end, place, bar.words, va="center", fontsize=7.5)
            axes.set(title=kind, xlim=(0, 170), xticks=[])
            axes.set_yticks(range(len(groups)), [group.name for group in groups])
            axes.set_ylim(len(groups) - 0.5, -0.5)
            axes.grid(visible=False)
            axes.spines["bottom"].set_visible(False)
        figure.supxlabel(note, fontsize=8)
    return figure


def map_figure(view: MapView) -> Figure:
    """Draw the panels of a map side by side."""
    need("plots", "Drawing a figure", "matplotlib")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        count = len(view.panels)
        high = 4.4 * view.rows / view.columns + 0.9
        figure = Figure(figsize=(4.4 * count + 0.8, high), layout="constrained")
        for axes, panel in zip(
            figure.subplots(1, count, squeeze=False)[0], view.panels, strict=True
        ):
            _draw_panel(axes, view, panel)
            axes.set_title(panel.title)
    return figure


def _draw_panel(axes: Axes, view: MapView, panel: Panel) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle

    for layer in (*view.backdrop, *panel.layers):
        _draw_cells(axes, layer)
    for region in view.regions:
        edges = [[(x, y), (x, y + 1) if down else (x + 1, y)] for x, y, down in region.edges]
        axes.add_collection(LineCollection(edges, colors=_ink(region.number), linewidths=2))
    for dot in panel.dots:
        axes.add_patch(Circle((dot.x, dot.y), dot.radius, color=BARE, alpha=0.55))
    box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}
    placed: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "bbox": box}
    for label in view.labels:
        x, y = label.x / 100, 1 - label.y / 100
        axes.text(x, y, label.text, va="center", color=_ink(label.number), weight="bold", **placed)
    end = 0.03 + view.bar_width / 100
    axes.plot([0.03, end], [0.03] * 2, color=INK, transform=axes.transAxes)
    axes.text((0.03 + end) / 2, 0.045, view.bar_words, va="bottom", **placed)
    axes.grid(visible=False)
    axes.set(xlim=(0, view.columns), ylim=(view.rows, 0), aspect="equal")
    across = [mark.at / 100 * view.columns for mark in view.across]
    axes.set_xticks(across, [mark.text for mark in view.across])
    axes.set_yticks([mark.at / 100 * view.rows for mark in view.up], [m.text for m in view.up])


def _draw_cells(axes: Axes, layer: Layer) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    cells = [Rectangle((x, y), wide, 1) for x, y, wide in layer.runs]
    strong = 0.15 + 0.85 * layer.shade / SHADES
    faint = 0.35 if layer.kind == "people" else 1.0
    look: dict[str, Any] = {"facecolor": SHADED[layer.kind], "edgecolor": "none"}
    axes.add_collection(PatchCollection(cells, alpha=faint * strong, **look))


def _ink(number: int) -> str:
    return REGION_INKS[number % len(REGION_INKS)]


def figures_of(report: StreamReport) -> dict[str, Callable[[], Figure]]:
    """Return every figure of a report by file name, drawn when called."""
    charts: dict[str, Chart | None] = {}
    drawn = (each for card in event_cards(report) for each in card.occurrences)
    for number, occurrence in enumerate(drawn, start=1):
        charts[f"leakage-{number}"] = occurrence.leakage
        charts[f"belief-{number}"] = occurrence.belief
    charts |= {"budgets": budget_chart(report), "distances": distance_chart(report)}
    return {
        "map": partial(map_figure, stream_map(report)),
        **{name: partial(chart_figure, each) for name, each in charts.items() if each is not None},
    }


def svg(figure: Figure) -> str:
    """Return a figure as an SVG element that can stand inside a page."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def save_figure(figure: Figure, path: str | Path, *, overwrite: bool = True) -> Path:
    """Write a figure as its suffix says (png, pdf or svg); equal figures give equal bytes."""
    import matplotlib

    path, out = Path(path), io.BytesIO()
    kind = path.suffix.lstrip(".").lower()
    # PDF and SVG would otherwise carry the moment of writing.
    dateless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with matplotlib.rc_context(STYLE):
        figure.savefig(out, format=kind, dpi=160, metadata=dateless)
    return write_file(path, out.getvalue(), overwrite=overwrite)


def save_figures(
    report: StreamReport, folder: str | Path, formats: Sequence[str] = ("png", "pdf")
) -> list[Path]:
    """Write every figure into ``folder`` in each format (png, pdf or svg); return the paths."""
    unknown = sorted(set(formats) - {"png", "pdf", "svg"})
    if unknown:
        raise InvalidParameter(
            "must be among png, pdf, svg",
            parameter="formats",
            owner="save_figures",
            got=f"{unknown}",
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [
        save_figure(figure, folder / f"{name}.{kind}")
        for name, figure in ((name, draw()) for name, draw in figures_of(report).items())
        for kind in formats
    ]
