"""What the runs with solvers and the exact check show: the table, its picture, the findings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paper.experiments.claims import Comparison, all_of, mean_cells
from paper.experiments.curve_pictures import INKS, MARKS, grid_of_panels
from paper.experiments.experiment import Finding, Picture, Settings, Table, Verdict
from paper.experiments.quadratic_programmes import NO_LIMIT
from paper.running.jobs import Result
from priste.report.figures import INK, QUIET, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

NAMES = {
    None: "exact check",
    "cplex dense": "CPLEX, dense (the paper's)",
    "copt lifted": "COPT, auxiliary variables",
}
"""What the table calls those who decide."""

PAPER = (
    (0.01, 1.1, 33, 0.16, 2.22),
    (0.1, 2.6, 30, 0.23, 1.51),
    (1.0, 5.9, 21, 0.22, 1.52),
    (2.0, 10.4, 12, 0.29, 0.93),
    (5.0, 19.5, 8, 0.27, 1.41),
    (None, 52.5, 0, 0.31, 0.97),
)
"""The paper's table: limit, seconds, conservative releases, budget, distance."""


@dataclass(frozen=True)
class Row:
    """One row: who decides (None is the exact check), within which limit, on how many runs.

    ``spread`` is σ of the movement as a share of the map's side.
    """

    spread: float
    engine: str | None
    limit: float | None
    runs: int

    @property
    def limit_in_words(self) -> str:
        """The limit as the table writes it."""
        if self.limit is None:
            return "not needed"
        return f"none ({NO_LIMIT:g} s)" if self.limit == NO_LIMIT else f"{self.limit:g}"


@dataclass(frozen=True, eq=False)
class RowRuns:
    """A row with the results of its runs."""

    row: Row
    results: Sequence[Result]

    def values(self, name: str) -> Floats:
        """Return one number per run."""
        return np.array([result[name] for result in self.results], dtype=np.float64)

    def total(self, name: str) -> int:
        """Return a count over all runs."""
        return sum(int(result[name]) for result in self.results)


def results_table(settings: Settings, found: Sequence[RowRuns]) -> Table:
    """Return the table: means over the runs with intervals, counts per run and in total."""
    columns = (
        "sigma_km",
        "decided_by",
        "limit_seconds",
        "runs",
        "seconds_per_run",
        "seconds_low",
        "seconds_high",
        "of_it_in_solver",
        "conservative_releases_per_run",
        "conservative_low",
        "conservative_high",
        "mean_budget",
        "budget_low",
        "budget_high",
        "mean_distance_km",
        "distance_low",
        "distance_high",
        "checks",
        "undecided",
        "undecided_though_private",
        "solver_failures",
        "accepted_though_not_private",
        "refused_though_private",
        "largest_leakage",
    )
    rows = []
    for each in found:
        row = each.row
        cells: list[Any] = [row.spread * settings.side, NAMES[row.engine], row.limit_in_words]
        cells += [row.runs, *mean_cells(each.values("seconds"))]
        cells.append(None if row.engine is None else float(each.values("solver_seconds").mean()))
        for name in ("conservative", "budget", "distance"):
            cells += mean_cells(each.values(name))
        cells += [
            each.total(name)
            for name in (
                "checks",
                "undecided",
                "undecided_within",
                "failed",
                "accepted_over",
                "refused_within",
            )
        ]
        cells.append(float(each.values("largest_leakage").max()))
        rows.append(cells)
    return Table("solver-limit", columns, rows)


def paper_table() -> Table:
    """Return the paper's own numbers, to be read next to ours."""
    columns = ("limit_seconds", "seconds", "conservative_releases", "budget", "distance_km")
    rows = [["none" if limit is None else f"{limit:g}", *rest] for limit, *rest in PAPER]
    return Table("solver-limit-in-the-paper", columns, rows)


CLAIMS = (
    ("A larger limit means fewer conservative releases.", "conservative", False),
    ("A larger limit means a longer runtime.", "seconds", True),
    ("A larger limit means larger budgets.", "budget", True),
)
"""What the paper says of its table: the claim, what it is about, whether that is to grow."""

NEVER_WRONG = "What the solver accepts is private, whatever the limit."


def findings(settings: Settings, found: Sequence[RowRuns]) -> tuple[Finding, ...]:
    """Hold the paper's claims against the runs; without a solver none can be decided."""
    ladders = _ladders(found)
    if not ladders:
        claims = (*(claim for claim, _, _ in CLAIMS), NEVER_WRONG)
        return tuple(Finding(claim, "not decidable", "No solver was there.") for claim in claims)
    trends = (_trend(claim, name, grows, settings, ladders) for claim, name, grows in CLAIMS)
    return (*trends, _never_wrong(found))


def _ladders(found: Sequence[RowRuns]) -> list[list[RowRuns]]:
    """Return the rows of each solver on each map, from the smallest limit to the largest."""
    solvers = [each for each in found if each.row.engine is not None]
    by_line = itertools.groupby(solvers, key=lambda each: (each.row.spread, each.row.engine))
    return [sorted(group, key=lambda each: each.row.limit or 0.0) for _, group in by_line]


def _trend(
    claim: str, name: str, grows: bool, settings: Settings, ladders: Sequence[Sequence[RowRuns]]
) -> Finding:
    """Compare the largest limit with the smallest, run by run, for each solver and map.

    The largest limit is the largest that has more than one run, if any has.
    """
    comparisons, single = [], []
    for ladder in ladders:
        low, high = ladder[0], ([ladder[-1]] + [e for e in ladder[1:] if e.row.runs > 1])[-1]
        runs = min(low.row.runs, high.row.runs)
        first, last = low.values(name)[:runs], high.values(name)[:runs]
        what = (
            f"{NAMES[low.row.engine]}, σ = {low.row.spread * settings.side:g} km, "
            f"limits {high.row.limit_in_words} and {low.row.limit_in_words}"
        )
        if runs < 2:
            single.append(f"{what}, one run only: {last[0]:.4g} and {first[0]:.4g}")
        elif grows:
            comparisons.append(Comparison.of(f"{what}, gain", last, first))
        else:
            comparisons.append(Comparison.of(f"{what}, fall", first, last))
    finding = all_of(claim, comparisons)
    numbers = "; ".join(part for part in (finding.numbers, *single) if part)
    return Finding(claim, finding.verdict, numbers)


def _never_wrong(found: Sequence[RowRuns]) -> Finding:
    words = []
    wrong = 0
    for engine in sorted({each.row.engine for each in found if each.row.engine is not None}):
        rows = [each for each in found if each.row.engine == engine]
        over, accepted = (sum(e.total(k) for e in rows) for k in ("accepted_over", "accepted"))
        unseen = sum(each.total("undecided") for each in rows)
        largest = max(float(each.values("largest_leakage").max()) for each in rows)
        wrong += over
        words.append(
            f"{NAMES[engine]}: {over} of {accepted} accepted checks were over ε by the exact "
            f"check, {unseen} undecided; largest leakage of a stream {largest:.6g}"
        )
    verdict: Verdict = "not reproduced" if wrong else "reproduced"
    return Finding(NEVER_WRONG, verdict, "; ".join(words) + ".")


def picture(settings: Settings, found: Sequence[RowRuns]) -> Picture:
    """Return the picture of the table."""
    return Picture(
        "solver-limit",
        "Means over the runs, per limit of the solver. The horizontal lines are the exact check on "
        "the same walks with the same noise; grey is what the paper printed, of a setting it does "
        "not state.",
        lambda: _figure(settings, found),
    )


_PANELS = (
    ("seconds", "CPU seconds of a run", 1),
    ("conservative", "conservative releases in a run", 2),
    ("budget", "average budget (1/km)", 3),
    ("distance", "average distance (km)", 4),
)
"""What a panel shows: the key of a result, its title, its place in a line of ``PAPER``."""


def _figure(settings: Settings, found: Sequence[RowRuns]) -> Figure:
    import matplotlib

    exact = [each for each in found if each.row.engine is None]
    with matplotlib.rc_context(STYLE):
        figure, axes = grid_of_panels(2, 2, height=2.9)
        for panel, (name, title, place) in zip(axes.flat, _PANELS, strict=True):
            panel.plot(
                [_tick(line[0]) for line in PAPER],
                [line[place] for line in PAPER],
                color=QUIET,
                linewidth=1.0,
                marker=".",
                label="in the paper",
            )
            for ladder, ink, mark in zip(_ladders(found), INKS, MARKS, strict=False):
                panel.plot(
                    [_tick(each.row.limit) for each in ladder],
                    [each.values(name).mean() for each in ladder],
                    color=ink,
                    marker=mark,
                    markersize=4,
                    label=_label(ladder[0].row, settings),
                )
            for each, style in zip(exact, ("--", ":"), strict=False):
                level = float(each.values(name).mean())
                label = _label(each.row, settings)
                panel.axhline(level, color=INK, linewidth=1.2, linestyle=style, label=label)
            panel.set_title(title)
            panel.set_xlabel("limit per programme (s)")
            if name == "seconds":
                panel.set_yscale("log")
            else:
                panel.set_ylim(bottom=-0.02 * panel.get_ylim()[1])
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _label(row: Row, settings: Settings) -> str:
    who = "exact" if row.engine is None else row.engine.split()[0].upper()
    return f"{who}, σ = {row.spread * settings.side:g} km"


def _tick(limit: float | None) -> str:
    return "none" if limit is None or limit == NO_LIMIT else f"{limit:g}"
