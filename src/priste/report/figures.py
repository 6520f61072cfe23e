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
from priste.quantify import Belief
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
    """Draw the map: how often each cell was released, the named regions, the truth if given."""
    grid = report.grid
    counts = np.zeros(grid.size)
    for cell in report.released:
        if cell is not None:
            counts[cell] += 1
    width = 6.2
    height = min(8.0, max(3.2, width * grid.rows / grid.columns * 0.86))
    from matplotlib.ticker import MaxNLocator

    with _canvas(width, height) as (figure, axes):
        extent = (0.0, grid.columns * grid.cell_size, 0.0, grid.rows * grid.cell_size)
        shown = np.ma.masked_equal(counts.reshape(grid.rows, grid.columns), 0)
        image = axes.imshow(
            shown, origin="lower", extent=extent, cmap="GnBu", vmin=0, interpolation="nearest"
        )
        bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
        bar.set_label("releases in the cell")
        bar.outline.set_visible(False)
        bar.locator = MaxNLocator(integer=True)
        for ink, (name, cells) in zip(cycle(REGION_INKS), report.regions.items(), strict=False):
            _outline(axes, grid, cells, ink)
            x, y = grid.centers[list(cells)].mean(axis=0)
            axes.annotate(
                name,
                (x, y),
                xytext=(0, 9),
                textcoords="offset points",
                ha="center",
                color=ink,
                weight="bold",
                bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.8},
            )
        if report.truth is not None:
            path = np.array([grid.centers[c] for c in report.truth if c is not None])
            if len(path):
                axes.plot(
                    path[:, 0], path[:, 1], color=INK, alpha=0.45, linewidth=0.9, label="truth"
                )
                axes.scatter(path[:, 0], path[:, 1], s=7, color=INK, alpha=0.5)
                axes.legend(loc="upper right")
        axes.set(xlabel="km east", ylabel="km north", title="What was released, and where")
        axes.grid(False)
        axes.set_xlim(extent[0], extent[1])
        axes.set_ylim(extent[2], extent[3])
    return figure


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
    """Draw the worst-prior leakage over time, with and without priste, against ε."""
    with _canvas(7.4, 2.9) as (figure, axes):
        _mark_window(axes, event.steps)
        finite = [v for v in event.guarded.leakage if math.isfinite(v)]
        if event.bare is not None:
            finite += [v for v in event.bare.leakage if math.isfinite(v)]
        bounded = math.isfinite(event.epsilon)  # not where beliefs are, and not ratios
        top = 1.12 * max([event.epsilon * 1.25 if bounded else 0.1, *finite])
        if event.bare is not None:
            _line(axes, event.bare.leakage, top, BARE, "mechanism alone")
        _line(axes, event.guarded.leakage, top, GUARDED, "with priste")
        if bounded:
            axes.axhline(event.epsilon, color=INK, linewidth=1, linestyle=(0, (4, 3)))
            axes.annotate(
                f"promised: ε = {event.epsilon:g}",
                (0.995, event.epsilon),
                xycoords=("axes fraction", "data"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="right",
            )
        axes.set(ylim=(0, top), ylabel="leakage (ln ratio)", title=f"Leakage about “{event.name}”")
        _time_axis(axes, report.times)
        _legend_above(axes)
    return figure


def belief_figure(report: StreamReport, event: EventTrack) -> Figure:
    """Draw the event's probability for an adversary with the public prior, over time."""
    with _canvas(7.4, 2.6) as (figure, axes):
        _mark_window(axes, event.steps)
        if event.bare is not None:
            _line(axes, event.bare.belief, 1.0, BARE, "mechanism alone")
        _line(axes, event.guarded.belief, 1.0, GUARDED, "with priste")
        if isinstance(event.promised, Belief):
            _line(axes, event.guarded.highest_belief, 1.0, QUIET, "the surest, with priste")
            axes.axhline(event.promised.at_most, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.axhline(event.guarded.prior_belief, color=INK, linewidth=1, linestyle=(0, (1, 2)))
        axes.set(
            ylim=(-0.02, 1.02),
            ylabel="Pr(event | releases)",
            title=f"What an observer believes about “{event.name}”",
        )
        axes.annotate(
            "before any release",
            (0.995, event.guarded.prior_belief),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right",
        )
        _time_axis(axes, report.times)
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
            (report.bare_distances, BARE, "mechanism alone"),
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
        if report.distances or report.bare_distances:
            _legend_above(axes)
    return figure


def _line(axes: Axes, values: Sequence[float], top: float, ink: str, label: str) -> None:
    steps = np.arange(len(values))
    heights = np.array(values, dtype=float)
    unbounded = ~np.isfinite(heights)
    axes.plot(steps, np.where(unbounded, top, heights), color=ink, label=label, clip_on=False)
    if unbounded.any():
        first = int(np.argmax(unbounded))
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
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0, borderpad=0.2
    )


def _time_axis(axes: Axes, times: Sequence[str]) -> None:
    steps = len(times)
    axes.set_xlim(-0.5, max(steps - 0.5, 0.5))
    if steps:
        ticks = np.unique(np.linspace(0, steps - 1, min(steps, 7)).round().astype(int))
        # The clock time goes under the date, or neighbours would overlap.
        axes.set_xticks(ticks, ["\n".join(times[i].rsplit(" ", 1)) for i in ticks])


def figures_of(report: StreamReport) -> dict[str, Callable[[], Figure]]:
    """Return every figure of a report by file name, drawn when called."""
    figures: dict[str, Callable[[], Figure]] = {"map": partial(map_figure, report)}
    for number, event in enumerate(report.events, start=1):
        figures[f"leakage-{number}"] = partial(leakage_figure, report, event)
        figures[f"belief-{number}"] = partial(belief_figure, report, event)
    figures["budgets"] = partial(budget_figure, report)
    if report.distances or report.bare_distances:
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
