"""The pictures of the reproduction, drawn without a screen in the style of the reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from paper.experiments.curves import Curve
from priste.audit.estimates import Estimate, mean
from priste.report.figures import STYLE, WINDOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INKS = ("#0b6e6e", "#c8553d", "#7a3e9d", "#b58900", "#1e6fb3", "#5c5c5c")
MARKS = ("o", "s", "^", "D", "v", "P")

UNINFORMATIVE: dict[str, dict[str, Any]] = {
    "uniform": {"color": "#8c98a4", "linestyle": "--", "linewidth": 1.0, "label": "uniform cell"},
    "constant": {"color": "#8c98a4", "linestyle": ":", "linewidth": 1.2, "label": "constant cell"},
}
"""How uninformative releases are drawn."""

LEAST_SHOWN = 1e-3
"""A leakage below this is drawn here on a logarithmic axis."""

Rows = Sequence[tuple[str, Sequence[Sequence[Curve]]]]
"""Per row of panels its name, and per panel its curves."""


def grid_of_panels(
    rows: int, columns: int, *, width: float = 9.0, height: float = 2.4, shared: bool = False
) -> tuple[Figure, Any]:
    """Return a figure and its (rows, columns) panels; ``shared``: a column shares its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height * rows + 0.4), layout="constrained")
    sharing: Any = "col" if shared else False
    return figure, figure.subplots(rows, columns, squeeze=False, sharex=sharing, sharey=sharing)


def _name_lines(panel: Axes, *, above: bool = False) -> None:
    """Name the lines of a panel, readable over whatever is behind, or in the room above them."""
    place: dict[str, Any] = {"loc": "upper center", "ncols": 3} if above else {"ncols": 2}
    panel.legend(fontsize=7.5, frameon=True, framealpha=0.85, edgecolor="none", **place)


def steps_figure(
    rows: Rows,
    *,
    titles: Sequence[str],
    windows: Sequence[int],
    what: Literal["budgets", "distances"],
) -> Figure:
    """Draw mean and deviation per step: a row of panels per calibrator."""
    import matplotlib

    with matplotlib.rc_context({**STYLE, "axes.titlesize": 9.5}):
        figure, axes = grid_of_panels(len(rows), len(titles), shared=True)
        for place, (row, (name, panels)) in enumerate(zip(axes, rows, strict=True)):
            for panel, curves, title in zip(row, panels, titles, strict=True):
                for step in windows:
                    panel.axvspan(step - 0.5, step + 0.5, color=WINDOW, zorder=0, linewidth=0)
                for curve, ink in zip(curves, cycle(INKS), strict=False):
                    _band(panel, getattr(curve, what), ink, curve.label, spread=what == "budgets")
                if what == "distances" and curves:
                    steps = np.arange(curves[0].uniform.shape[1])
                    panel.plot(steps, curves[0].uniform.mean(axis=0), **UNINFORMATIVE["uniform"])
                    panel.plot(steps, curves[0].constant.mean(axis=0), **UNINFORMATIVE["constant"])
                panel.set_title(f"{name}: {title}")
                if place == 0:
                    _name_lines(panel, above=what == "distances")
            row[0].set_ylabel("budget (1/km)" if what == "budgets" else "distance (km)")
        for panel in axes[-1]:
            panel.set_xlabel("step")
            # Last, when all that shares the axis is drawn; the names of lines need room above.
            panel.set_ylim(0, panel.get_ylim()[1] * (1.35 if what == "distances" else 1.0))
    return figure


def _band(panel: Axes, values: Any, ink: str, label: str, *, spread: bool) -> None:
    middle = values.mean(axis=0)
    steps = np.arange(len(middle))
    panel.plot(steps, middle, color=ink, label=label, linewidth=1.3)
    if spread and len(values) > 1:
        around = values.std(axis=0, ddof=1)
        panel.fill_between(
            steps,
            np.maximum(middle - around, 0.0),
            middle + around,
            color=ink,
            alpha=0.15,
            linewidth=0,
        )


def against_epsilon_figure(
    rows: Sequence[tuple[str, Sequence[Sequence[Curve]]]], *, with_budgets: Callable[[str], bool]
) -> Figure:
    """Draw average budget, distance and largest true leakage against ε, a row per calibrator.

    A row holds one list of curves per line: the points of that line, one per ε.
    ``with_budgets`` tells for a row's name whether budgets mean something there. Where no run was
    followed by the adversary there is no column of true leakage.
    """
    import matplotlib

    followed = any(_any_followed(lines) for _, lines in rows)
    with matplotlib.rc_context({**STYLE, "axes.titlesize": 9.5}):
        figure, axes = grid_of_panels(
            len(rows), 3 if followed else 2, width=11.0 if followed else 8.0, shared=True
        )
        for place, ((left, middle, *others), (name, lines)) in enumerate(
            zip(axes, rows, strict=True)
        ):
            for points, ink, mark in zip(lines, cycle(INKS), cycle(MARKS), strict=False):
                if with_budgets(name):
                    _line(left, points, "budget_samples", ink, mark)
                _line(middle, points, "distance_samples", ink, mark)
            epsilons = [point.case.epsilon for point in lines[0]]
            for name_of_it, style in UNINFORMATIVE.items():
                level = np.mean([float(getattr(p, name_of_it).mean()) for p in lines[0]])
                middle.axhline(level, **style)
            for right in others:
                _leakage_panel(right, name, lines, epsilons)
            left.set(ylabel="budget (1/km)", yscale="log")
            left.set_title(f"{name}: average budget")
            if not with_budgets(name):
                left.text(0.5, 0.5, "a distribution without a budget", transform=left.transAxes,
                          ha="center")  # fmt: skip
            middle.set(ylabel="km")
            middle.set_title(f"{name}: average distance")
            for panel in (left, middle, *others):
                panel.set_xscale("log")
                panel.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
                panel.minorticks_off()
            if place == 0:
                _name_lines(middle)
        for panel in axes[-1]:
            panel.set_xlabel("ε")
    return figure


def _any_followed(lines: Sequence[Sequence[Curve]]) -> bool:
    return any(len(point.true_leakages) for line in lines for point in line)


def _leakage_panel(
    panel: Axes, name: str, lines: Sequence[Sequence[Curve]], epsilons: Sequence[float]
) -> None:
    for points, ink, mark in zip(lines, cycle(INKS), cycle(MARKS), strict=False):
        _leakage_line(panel, points, ink, mark)
    panel.plot(epsilons, epsilons, color="black", linestyle=":", label="ε")
    if not _any_followed(lines):
        panel.text(0.5, 0.2, "no run was followed", transform=panel.transAxes, ha="center")
    panel.set(ylabel="nats", yscale="log")
    panel.set_title(f"{name}: true leakage")


def _leakage_line(panel: Axes, points: Sequence[Curve], ink: str, mark: str) -> None:
    """Draw the largest true leakage of the followed runs; points without one are left out."""
    known = [point for point in points if len(point.true_leakages)]
    panel.plot(
        [point.case.epsilon for point in known],
        [max(float(point.true_leakages.max()), LEAST_SHOWN) for point in known],
        color=ink,
        marker=mark,
        markersize=4,
        label=points[0].label,
    )


def _line(
    panel: Axes,
    points: Sequence[Curve],
    what: str,
    ink: str,
    mark: str,
    *,
    against: Sequence[float] | None = None,
    label: str | None = None,
) -> None:
    """Draw means with their intervals, against ε unless told."""
    samples = [getattr(point, what) for point in points]
    means = [float(sample.mean()) for sample in samples]
    halves = [
        mean(sample).high - middle if len(sample) > 1 else 0.0
        for sample, middle in zip(samples, means, strict=True)
    ]
    panel.errorbar(
        [point.case.epsilon for point in points] if against is None else against,
        means,
        yerr=halves,
        color=ink,
        marker=mark,
        markersize=4,
        capsize=2,
        label=points[0].label if label is None else label,
    )


def clocks_figure(
    rows: Mapping[str, Sequence[Sequence[Curve]]], clocks: Sequence[float], labels: Sequence[str]
) -> Figure:
    """Draw average budget and distance against the length of a step, a row per way to read α.

    A row holds one list of curves per label: one curve per clock.
    """
    import matplotlib

    with matplotlib.rc_context({**STYLE, "axes.titlesize": 9.5}):
        figure, axes = grid_of_panels(len(rows), 2, shared=True)
        for (left, right), (name, lines) in zip(axes, rows.items(), strict=True):
            for curves, label, ink, mark in zip(
                lines, labels, cycle(INKS), cycle(MARKS), strict=False
            ):
                for panel, what in ((left, "budget_samples"), (right, "distance_samples")):
                    _line(panel, curves, what, ink, mark, against=clocks, label=label)
            for level, style in UNINFORMATIVE.items():
                right.plot(clocks, [getattr(each, level).mean() for each in lines[0]], **style)
            left.set(ylabel="budget (1/km)", yscale="log")
            left.set_title(f"{name}: average budget")
            right.set(ylabel="km")
            right.set_title(f"{name}: average distance")
            for panel in (left, right):
                panel.set_xscale("log")
                panel.set_xticks(clocks, [f"{clock:g}" for clock in clocks])
                panel.minorticks_off()
        for panel in axes[-1]:
            panel.set_xlabel("minutes of a step")
        axes[0][1].set_ylim(bottom=0)
        _name_lines(axes[0][1])
    return figure


def shares_figure(shares: Mapping[str, Sequence[Estimate]], epsilons: Sequence[float]) -> Figure:
    """Draw, for each choice, the share of the budget that is kept at every ε."""
    import matplotlib

    with matplotlib.rc_context({**STYLE, "axes.titlesize": 9.5}):
        figure, ((panel,),) = grid_of_panels(1, 1, width=8.0, height=0.3 * len(shares) + 0.6)
        places = np.arange(len(shares))[::-1]
        for number, (epsilon, ink, mark) in enumerate(
            zip(epsilons, cycle(INKS), cycle(MARKS), strict=False)
        ):
            found = [intervals[number] for intervals in shares.values()]
            panel.errorbar(
                [each.value for each in found],
                places + 0.2 * (1 - number),
                xerr=[
                    [max(each.value - max(each.low, 0.0), 0.0) for each in found],
                    [max(min(each.high, 1.0) - each.value, 0.0) for each in found],
                ],
                color=ink,
                marker=mark,
                markersize=4,
                linestyle="none",
                linewidth=0.9,
                label=f"ε = {epsilon:g}",
            )
        panel.set_yticks(places, list(shares))
        panel.set(xlabel="share of the budget that is kept", xlim=(-0.03, 1.03))
        panel.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def true_leakage_figure(lines: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """Draw the true leakage against the claimed ε, a line per procedure and adversary."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure, ((panel,),) = grid_of_panels(1, 1, width=6.0, height=3.2)
        for (label, points), ink, mark in zip(
            lines.items(), cycle(INKS), cycle(MARKS), strict=False
        ):
            panel.plot(
                [epsilon for epsilon, _ in points],
                [max(true, LEAST_SHOWN) for _, true in points],
                color=ink,
                marker=mark,
                markersize=4,
                label=label,
            )
        epsilons = [epsilon for epsilon, _ in next(iter(lines.values()))]
        panel.plot(epsilons, epsilons, color="black", linestyle=":", label="as claimed")
        panel.set(xscale="log", yscale="log", xlabel="claimed ε", ylabel="true leakage (nats)")
        panel.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        panel.minorticks_off()
        panel.legend()
    return figure
