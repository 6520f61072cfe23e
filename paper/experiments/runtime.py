"""The paper's figure of runtime against the length and the width of an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from paper.experiments.claims import Comparison
from paper.experiments.curve_pictures import INKS, MARKS, grid_of_panels
from paper.experiments.event_timing import (
    ALPHA,
    BY_LENGTH,
    BY_WIDTH,
    FIXED,
    NAIVE_LIMIT,
    Floats,
    Times,
    growth_exponents,
    perform,
    straight_lines,
)
from paper.experiments.experiment import (
    Experiment,
    Finding,
    Outcome,
    Picture,
    Settings,
    Table,
    Verdict,
)
from paper.running.jobs import Job, Results
from priste.audit.estimates import Estimate, mean
from priste.report.figures import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "perform"]

LINEAR = 1.15
"""A growth exponent up to this counts as linear: timing is not free of noise."""


def _jobs(settings: Settings) -> list[Job]:
    return [point.job(settings) for sweep in (BY_LENGTH, BY_WIDTH) for point in sweep.points]


def _outcome(settings: Settings, results: Results) -> Outcome:
    by_length = Times.of(BY_LENGTH, settings, results)
    by_width = Times.of(BY_WIDTH, settings, results)
    return Outcome(
        tables=(_table((by_length, by_width)),),
        pictures=(
            Picture(
                "runtime",
                "CPU time of one joint probability, mean over the random events of a point. Above: "
                "with the naive baseline, on a logarithmic scale; the dashed line is its "
                "extrapolation to points where it was not run. Below: ours alone, with the 10 % "
                "and 90 % quantiles of the events.",
                lambda: _figure((by_length, by_width)),
            ),
        ),
        findings=_findings(by_length, by_width),
        remarks=_remarks(settings),
    )


def _findings(by_length: Times, by_width: Times) -> tuple[Finding, ...]:
    return (
        _at_most_linear("Our runtime is linear in the event's length.", by_length),
        _exponential("The baseline's runtime is exponential in the event's length.", by_length),
        _at_most_linear("Our runtime is polynomial in the event's width.", by_width),
        _exponential("The baseline's runtime is exponential in the event's width.", by_width),
    )


def _at_most_linear(claim: str, times: Times) -> Finding:
    """Hold the growth exponents of both kinds of events against ``LINEAR``."""
    name = times.sweep.name
    if times.ours["pattern"].shape[1] < 2:
        return Finding(claim, "not decidable", "One event per point gives no interval.")
    verdicts: set[Verdict] = set()
    words = []
    for kind, seconds in times.ours.items():
        found = mean(growth_exponents(times.sweep.values, seconds.T))
        verdicts.add(_verdict_below(found, LINEAR))
        slopes, _ = straight_lines(times.sweep.values, seconds.T)
        words.append(
            f"{kind.upper()}: time grows as {name}^p with p = {found:.4g}; by {_ms(slopes):.4g} ms "
            f"per further unit of {name}"
        )
    verdict: Verdict = "not decidable"
    if verdicts == {"reproduced"}:
        verdict = "reproduced"
    elif "not reproduced" in verdicts:
        verdict = "not reproduced"
    return Finding(claim, verdict, f"{'; '.join(words)}. Linear means p up to {LINEAR:g}.")


def _verdict_below(found: Estimate, bound: float) -> Verdict:
    if found.high <= bound:
        return "reproduced"
    return "not reproduced" if found.low > bound else "not decidable"


def _exponential(claim: str, times: Times) -> Finding:
    """Ask which curve is closer to the logarithms of the times: exponential or power law."""
    name = times.sweep.name
    fewest_points = 3  # two points lie on any curve
    if len(times.naive) < fewest_points or len(times.naive[-1]) < 2:
        return Finding(
            claim, "not decidable", "Too few points or events of the baseline at this size."
        )
    values, seconds = times.naive_values, times.naive_events()
    factors, exponential = straight_lines(values, np.log(seconds))
    powers, power_law = straight_lines(np.log(values), np.log(seconds))
    comparison = Comparison.of(
        "mean squared error in ln(seconds) of the best power law less that of the best "
        "exponential curve",
        power_law,
        exponential,
    )
    return Finding(
        claim,
        comparison.verdict,
        f"{comparison}. A further unit of {name} multiplies the time by "
        f"{mean(np.exp(factors)):.4g}; as a power law, time grows as {name}^p with "
        f"p = {mean(powers):.4g}. {len(values)} points, {len(seconds)} events each.",
    )


def _ms(seconds: Floats) -> Estimate:
    return mean(1000.0 * seconds)


def _remarks(settings: Settings) -> tuple[str, ...]:
    limit = NAIVE_LIMIT[settings.size]
    return (
        "Times are CPU seconds of the machine that ran this: unlike all else here they are not a "
        "function of the seed alone. Each is the least of a few tries of one event.",
        f"The paper does not say what its random events are. Here, on {settings.side} x "
        f"{settings.side} cells of 1 km with Gaussian movement (σ = {settings.side / 2:g} km), "
        "each step of a PATTERN gets a region of its own: so many cells, drawn without "
        "replacement. A PRESENCE has one such region for all steps. The event starts one step "
        "after a uniform prior, as in the paper's appendix; what is released at its steps are "
        f"cells drawn uniformly, as outputs of a {ALPHA:g}-PLM. "
        f"{settings.runtime_events} events per point.",
        "The baseline sums over the trajectories of a PATTERN: there are width^length of them. A "
        "PRESENCE has all but (cells - width)^length of cells^length, so the baseline is for "
        "PATTERN alone.",
        f"The baseline ran where an event has at most {limit:,} trajectories, on fewer events "
        "where it is slow (the table counts them); beyond, it is extrapolated in proportion to "
        "trajectories times length, and drawn dashed. It is plain Python and ours is compiled "
        "array code, so it is the growth that compares them, not the seconds.",
        "The paper calls the baseline exponential in the width. Its work is width^length, which at "
        "a fixed length of 5 is a polynomial of degree 5.",
    )


def _table(sweeps: Sequence[Times]) -> Table:
    columns = (
        "swept",
        "length",
        "width",
        "trajectories",
        "events",
        "ours_pattern_seconds",
        "ours_presence_seconds",
        "naive_events",
        "naive_seconds",
        "naive_extrapolated_seconds",
    )
    rows = []
    for times in sweeps:
        ahead = times.extrapolated()
        for number, point in enumerate(times.sweep.points):
            ran = number < len(times.naive)
            rows.append(
                (
                    times.sweep.name,
                    point.length,
                    point.width,
                    point.trajectories,
                    times.ours["pattern"].shape[1],
                    float(times.ours["pattern"][number].mean()),
                    float(times.ours["presence"][number].mean()),
                    len(times.naive[number]) if ran else 0,
                    float(times.naive_means[number]) if ran else None,
                    None if ran else float(ahead[number]),
                )
            )
    return Table("runtime", columns, rows)


def _figure(sweeps: Sequence[Times]) -> Figure:
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure, axes = grid_of_panels(2, len(sweeps), height=2.9)
        for (above, below), times in zip(axes.T, sweeps, strict=True):
            _with_baseline(above, times)
            _ours_alone(below, times)
            fixed = "width" if times.sweep.name == "length" else "length"
            above.set_title(f"Against the event's {times.sweep.name} ({fixed} {FIXED})")
            for panel in (above, below):
                panel.set_xlabel(f"event {times.sweep.name}")
                panel.set_xticks(times.sweep.values)
        axes[0, 0].set_ylabel("CPU seconds")
        axes[1, 0].set_ylabel("CPU milliseconds")
        for row in axes:
            top = max(panel.get_ylim()[1] for panel in row)
            bottom = min(panel.get_ylim()[0] for panel in row)
            for panel in row:
                panel.set_ylim(bottom, top)
    return figure


_LINES = (("pattern", "ours, PATTERN"), ("presence", "ours, PRESENCE"))


def _with_baseline(panel: Axes, times: Times) -> None:
    values, measured = times.sweep.values, len(times.naive)
    panel.plot(
        times.naive_values,
        times.naive_means,
        color=INKS[1],
        marker=MARKS[1],
        markersize=4,
        label="naive, PATTERN",
    )
    if measured < len(values):
        ahead = times.extrapolated()
        panel.plot(
            values[measured - 1 :],
            ahead[measured - 1 :],
            color=INKS[1],
            linestyle="--",
            label="naive, extrapolated",
        )
    for (kind, label), ink, mark in zip(_LINES, (INKS[0], INKS[4]), MARKS[2:], strict=False):
        means = times.ours[kind].mean(axis=1)
        panel.plot(values, means, color=ink, marker=mark, markersize=4, label=label)
    panel.set_yscale("log")
    panel.legend(fontsize=7.5, loc="upper left")


def _ours_alone(panel: Axes, times: Times) -> None:
    values = times.sweep.values
    for (kind, label), ink, mark in zip(_LINES, (INKS[0], INKS[4]), MARKS[2:], strict=False):
        milliseconds = 1000.0 * times.ours[kind]
        low, high = np.quantile(milliseconds, (0.1, 0.9), axis=1)
        panel.fill_between(values, low, high, color=ink, alpha=0.15, linewidth=0)
        means = milliseconds.mean(axis=1)
        panel.plot(values, means, color=ink, marker=mark, markersize=4, label=label)
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=7.5, loc="upper left")


EXPERIMENT = Experiment(
    "fig-runtime",
    "Runtime against the event's length and width",
    "Section V-D, runtime figure; appendix, naive solutions",
    "At width 5 and lengths 5 to 15 the baseline is exponential in the length and the method "
    "linear; at length 5 and widths 5 to 15 the baseline is called exponential in the width, the "
    "method polynomial. Means over 100 random events.",
    _jobs,
    _outcome,
)
