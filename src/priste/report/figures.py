"""The pictures of a report, drawn with matplotlib without a screen.

Each function takes a :class:`~priste.report.stream_report.StreamReport` and returns a figure.
The same figures go into the HTML page (as SVG) and into files (PNG, PDF).
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.quantify import BeliefBound
from priste.report.map_view import MapView
from priste.report.pictures import budget_chart, day_around, stream_map
from priste.report.stream_report import EventTrack, StreamReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GUARDED = "#0b6e6e"
BARE = "#c8553d"
INK = "#22303c"
QUIET = "#8c98a4"
WINDOW = "#f1e3b8"
REGION_INKS = ("#7a3e9d", "#b3541e", "#1e6fb3", "#4a7a1e", "#9d3e5c", "#5c5c5c")

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


@contextmanager
def _canvas(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def map_figure(report: StreamReport) -> Figure:
    """Draw the map: what was released, beside the truth if given, with the named regions."""
    import matplotlib
    from matplotlib.figure import Figure

    view = stream_map(report)
    told = {"What was released": ("GnBu", report.released)}
    if report.truth is not None:
        told = {"Where the user was": ("Purples", report.truth), **told}
    with matplotlib.rc_context(STYLE):
        width = 4.4 * len(told) + 0.8
        figure = Figure(figsize=(width, 4.4 * view.rows / view.columns + 0.9), layout="constrained")
        for axes, (title, (colours, cells)) in zip(
            figure.subplots(1, len(told), squeeze=False)[0], told.items(), strict=True
        ):
            _map_panel(axes, report, view, cells, colours)
            axes.set_title(title)
    return figure


def _map_panel(
    axes: Axes, report: StreamReport, view: MapView, cells: Sequence[int | None], colours: str
) -> None:
    grid, side = report.grid, report.grid.cell_size
    counts = np.zeros(grid.size)
    for cell in cells:
        if cell is not None:
            counts[cell] += 1
    extent = (0.0, grid.width, 0.0, grid.height)
    look: dict[str, Any] = {"origin": "lower", "extent": extent, "interpolation": "nearest"}
    for weights, palette, top in ((report.population, "Greys", 3.0), (counts, colours, 1.0)):
        if weights is not None and weights.any():
            shown = np.sqrt(weights / weights.max()).reshape(grid.rows, grid.columns)
            masked = np.ma.masked_less(shown, 1e-3)
            axes.imshow(masked, cmap=palette, vmin=0, vmax=top, **look)
    for line in report.outline:
        axes.plot(*zip(*line, strict=True), color=QUIET, linewidth=0.8)
    inks = [ink for ink, _ in zip(cycle(REGION_INKS), report.regions, strict=False)]
    for ink, region in zip(inks, report.regions.values(), strict=True):
        _outline(axes, grid, region, ink)
    box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}
    for label in view.labels:
        axes.text(
            label.x / 100,
            1 - label.y / 100,
            label.text,
            transform=axes.transAxes,
            ha="center",
            va="center",
            color=inks[label.number],
            weight="bold",
            bbox=box,
        )
    axes.plot([0.03, 0.03 + view.bar_width / 100], [0.03] * 2, color=INK, transform=axes.transAxes)
    axes.text(
        0.03 + view.bar_width / 200,
        0.045,
        view.bar_words,
        transform=axes.transAxes,
        ha="center",
        va="bottom",
        bbox=box,
    )
    axes.grid(visible=False)
    left, top = view.columns_shown.start * side, view.rows_shown.stop * side
    axes.set_xlim(left, view.columns_shown.stop * side)
    axes.set_ylim(view.rows_shown.start * side, top)
    axes.set_xticks(
        [left + mark.at / 100 * view.columns * side for mark in view.across],
        [mark.text for mark in view.across],
    )
    axes.set_yticks(
        [top - mark.at / 100 * view.rows * side for mark in view.up], [m.text for m in view.up]
    )


def _outline(axes: Axes, grid: Grid, cells: Sequence[int], ink: str) -> None:
    """Draw the border of a set of cells: the edges that separate inside from outside."""
    inside = set(cells)
    size = grid.cell_size
    lines = []
    for cell in inside:
        row, column = divmod(cell, grid.columns)
        x, y = column * size, row * size
        if column == 0 or cell - 1 not in inside:
            lines.append([(x, y), (x, y + size)])
        if column == grid.columns - 1 or cell + 1 not in inside:
            lines.append([(x + size, y), (x + size, y + size)])
        if cell - grid.columns not in inside:
            lines.append([(x, y), (x + size, y)])
        if cell + grid.columns not in inside:
            lines.append([(x, y + size), (x + size, y + size)])
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(lines, colors=ink, linewidths=2))


def leakage_figure(report: StreamReport, event: EventTrack) -> Figure:
    """Draw the leakage in the day around an event, with and without priste, against ε."""
    steps, silent = day_around(report, event), [cell is None for cell in report.released]
    with _canvas(7.4, 2.9) as (figure, axes):
        _mark_window(axes, event.steps)
        finite = [v for v in event.guarded.leakage if math.isfinite(v)]
        if event.uncalibrated is not None:
            finite += [v for v in event.uncalibrated.leakage if math.isfinite(v)]
        bounded = math.isfinite(event.epsilon)  # not where beliefs are, and not ratios
        top = 1.12 * max([event.epsilon * 1.25 if bounded else 0.1, *finite])
        if event.uncalibrated is not None:
            _line(axes, event.uncalibrated.leakage, steps, top, BARE, "mechanism alone", silent)
        if event.anybody and event.guarded.anybody:
            _line(axes, event.guarded.anybody, steps, top, QUIET, "to anybody at all", silent)
        _line(axes, event.guarded.leakage, steps, top, GUARDED, "with priste", silent)
        if bounded:
            axes.axhline(
                event.epsilon,
                color=INK,
                linewidth=1,
                linestyle=(0, (4, 3)),
                label=f"guaranteed: ε = {event.epsilon:g}",
            )
        axes.set(ylim=(0, top), ylabel="leakage (ln ratio)", title=f"Leakage about “{event.label}”")
        _time_axis(axes, report.times, steps)
        _legend_above(axes)
    return figure


def belief_figure(report: StreamReport, event: EventTrack) -> Figure:
    """Draw what an adversary with the public prior believes, in the day around an event."""
    steps, silent = day_around(report, event), [False] * report.steps
    with _canvas(7.4, 2.6) as (figure, axes):
        _mark_window(axes, event.steps)
        if event.uncalibrated is not None:
            _line(axes, event.uncalibrated.belief, steps, 1.0, BARE, "mechanism alone", silent)
        _line(axes, event.guarded.belief, steps, 1.0, GUARDED, "with priste", silent)
        if isinstance(event.guaranteed, BeliefBound):
            highest = event.guarded.highest_belief
            _line(axes, highest, steps, 1.0, QUIET, "the surest, with priste", silent)
            axes.axhline(
                event.guaranteed.at_most,
                color=INK,
                linewidth=1,
                linestyle=(0, (4, 3)),
                label="guaranteed",
            )
        axes.axhline(
            event.guarded.prior_belief,
            color=INK,
            linewidth=1,
            linestyle=(0, (1, 2)),
            label="before any release",
        )
        axes.set(
            ylim=(-0.02, 1.02),
            ylabel="Pr(event | releases)",
            title=f"What an adversary believes about “{event.label}”",
        )
        _time_axis(axes, report.times, steps)
        _legend_above(axes)
    return figure


def budget_figure(report: StreamReport) -> Figure:
    """Draw the budget that each release used."""
    with _canvas(7.4, 2.3) as (figure, axes):
        # An exact release has no finite budget: such steps are left open, and so is the limit.
        if math.isfinite(report.full_budget):
            axes.axhline(report.full_budget, color=BARE, linewidth=1, linestyle=(0, (4, 3)))
        shown = [b if math.isfinite(b) else math.nan for b in report.budgets]
        axes.step(range(report.steps), shown, where="mid", color=GUARDED)
        axes.set(ylabel="budget (1/km)", title="Budget of each release (dashed: mechanism alone)")
        axes.set_ylim(bottom=0)
        _time_axis(axes, report.times)
    return figure


def distance_figure(report: StreamReport) -> Figure:
    """Draw the share of releases within a distance of the truth, with and without priste."""
    with _canvas(7.4, 2.6) as (figure, axes):
        for sample, ink, name in (
            (report.uncalibrated_distances, BARE, "mechanism alone"),
            (report.distances, GUARDED, "with priste"),
        ):
            if sample:
                share = np.arange(1, len(sample) + 1) / len(sample)
                axes.step([0.0, *sample], [0.0, *share], where="post", color=ink, label=name)
        axes.set(
            xlabel="km between the true and the released cell",
            ylabel="share of releases",
            title="The cost: how far releases are from the truth",
        )
        axes.set_ylim(0, 1.02)
        axes.set_xlim(left=0)
        if report.distances or report.uncalibrated_distances:
            _legend_above(axes)
    return figure


def _line(
    axes: Axes,
    values: Sequence[float],
    steps: range,
    top: float,
    ink: str,
    label: str,
    silent: Sequence[bool],
) -> None:
    """Draw values over steps: a gap where nothing was released, the top where there is no limit."""
    heights = np.array([math.nan if silent[step] else values[step] for step in steps])
    unbounded = np.isinf(heights)
    axes.plot(steps, np.where(unbounded, top, heights), color=ink, label=label, clip_on=False)
    if unbounded.any():
        first = steps[int(np.argmax(unbounded))]
        axes.annotate("∞", (first, top), ha="center", va="bottom", color=ink, annotation_clip=False)


def _mark_window(axes: Axes, steps: Sequence[int]) -> None:
    """Shade the steps of which the event speaks, run by run."""
    runs: list[list[int]] = []
    for step in sorted(set(steps)):
        if runs and step == runs[-1][1] + 1:
            runs[-1][1] = step
        else:
            runs.append([step, step])
    for first, last in runs:
        axes.axvspan(first - 0.5, last + 0.5, color=WINDOW, zorder=0, linewidth=0)


def _legend_above(axes: Axes) -> None:
    """Put the legend under the title, where neither a line nor a long name can run through it."""
    axes.set_title(axes.get_title(loc="left"), pad=20)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, borderaxespad=0, borderpad=0.2
    )


def _time_axis(axes: Axes, times: Sequence[str], shown: range | None = None) -> None:
    steps = range(len(times)) if shown is None else shown
    axes.set_xlim(steps.start - 0.5, max(steps.stop - 0.5, steps.start + 0.5))
    if steps:
        ends = (steps[0], steps[-1])
        ticks = np.unique(np.linspace(*ends, min(len(steps), 7)).round().astype(int))
        # The clock time goes under the date, or neighbours would overlap.
        axes.set_xticks(ticks, ["\n".join(times[i].rsplit(" ", 1)) for i in ticks])


def figures_of(report: StreamReport) -> dict[str, Callable[[], Figure]]:
    """Return every figure of a report by file name, drawn when called."""
    figures: dict[str, Callable[[], Figure]] = {"map": partial(map_figure, report)}
    for number, event in enumerate(report.events, start=1):
        figures[f"leakage-{number}"] = partial(leakage_figure, report, event)
        figures[f"belief-{number}"] = partial(belief_figure, report, event)
    if budget_chart(report) is not None:  # a line that never moves tells nothing
        figures["budgets"] = partial(budget_figure, report)
    if report.distances or report.uncalibrated_distances:
        figures["distances"] = partial(distance_figure, report)
    return figures


def svg(figure: Figure) -> str:
    """Return a figure as an SVG element that can stand inside a page."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def save_figures(
    report: StreamReport, folder: str | Path, formats: Sequence[str] = ("png", "pdf")
) -> list[Path]:
    """Write every figure into ``folder`` in each format (png, pdf or svg); return the paths."""
    import matplotlib

    unknown = sorted(set(formats) - {"png", "pdf", "svg"})
    if unknown:
        raise InvalidParameter(
            f"The 'formats' of save_figures must be among png, pdf, svg. Got {unknown}."
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    # PDF and SVG would otherwise carry the moment of writing.
    dateless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
    with matplotlib.rc_context(STYLE):
        for name, draw in figures_of(report).items():
            figure = draw()
            for kind in formats:
                path = folder / f"{name}.{kind}"
                figure.savefig(path, format=kind, dpi=160, metadata=dateless[kind])
                written.append(path)
    return written
