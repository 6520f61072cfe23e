"""The figures on people's own movement under other clocks, units of α and tables of the mechanism.

The paper states none of the three for its data set. With steps of a minute people mostly stay where
they are, so that every release during an event reveals something about all of its steps, and the
loop ends at the same small budget whatever α it began with; with longer steps it need not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from paper.experiments.claims import Comparison
from paper.experiments.curve_pictures import clocks_figure
from paper.experiments.curves import Curve, summary_table
from paper.experiments.experiment import (
    Experiment,
    Finding,
    Outcome,
    Picture,
    Settings,
    Table,
)
from paper.experiments.release_runs import Case, Window
from paper.experiments.utility_against_epsilon import ALPHAS, people
from paper.running.jobs import Job, Results
from paper.worlds.world import world_of

CLOCKS = (1.0, 5.0, 10.0, 30.0)
"""Lengths of a step, in minutes."""

LONGEST_RECORDED = 10.0
"""The longest of them for which the data set has stretches: of 20 half hours without a gap of more
than an hour, the two people with most data have 2 and 0 windows."""

EPSILON = 1.0
STEPS = 20
"""Steps of a run: enough for the event at 3 to 7, and few enough that people recorded so many
half hours without a gap."""

WINDOWS = 10
"""Windows of that many steps that a person must have to be among those followed."""

CELL = 0.5
"""The cells of the map in km: a budget of α per cell is α / CELL per km."""

UNITS = {"per km": 1.0, "per cell": 1.0 / CELL}
TABLES = {"clamped": "integrals", "normalised": "normalised"}
EARLY = Window("presence", 3, 7)


@dataclass(frozen=True)
class Choice:
    """One clock, unit and table."""

    minutes: float
    unit: str
    table: str

    def __str__(self) -> str:
        return f"{self.minutes:g} min, α {self.unit}, {self.table}"

    def cases(self, settings: Settings) -> Iterator[Case]:
        """Yield the case of each α, smallest first."""
        worlds = people(
            settings,
            minutes=self.minutes,
            longest_gap=max(10.0, 2.0 * self.minutes),
            **({} if settings.geolife is None else {"steps": STEPS, "windows": WINDOWS}),
        )
        for alpha in ALPHAS:
            scaled = alpha * UNITS[self.unit]
            case = Case.on(worlds, EARLY, epsilon=EPSILON, alpha=scaled)
            yield case.but(table=TABLES[self.table])


def clocks(settings: Settings) -> tuple[float, ...]:
    """Return the clocks that are swept: all, or those for which the data set has stretches."""
    longest = max(CLOCKS) if settings.geolife is None else LONGEST_RECORDED
    return tuple(minutes for minutes in CLOCKS if minutes <= longest)


def choices(settings: Settings) -> list[Choice]:
    """Return everything that is swept."""
    return [
        Choice(minutes, unit, table)
        for minutes in clocks(settings)
        for unit in UNITS
        for table in TABLES
    ]


def swept(settings: Settings) -> Settings:
    """Return the settings of the sweep: a fifth of the runs, short ones, the paper's loop alone."""
    fewer = max(2, settings.runs // 5)
    return replace(settings, runs=fewer, runs_with={}, truth_runs=0, steps=STEPS)


def _jobs(settings: Settings) -> list[Job]:
    small = swept(settings)
    return [
        job
        for choice in choices(settings)
        for case in choice.cases(small)
        for job in case.jobs(small)
    ]


def _outcome(settings: Settings, results: Results) -> Outcome:
    small = swept(settings)
    curves = {
        choice: [Curve.of(case, str(choice), small, results) for case in choice.cases(small)]
        for choice in choices(settings)
    }
    findings = []
    rows = []
    for choice, line in curves.items():
        strictest, loosest = line[0], line[-1]
        gap = Comparison.of(
            f"budget of the {ALPHAS[-1]:g}-PLM less that of the {ALPHAS[0]:g}-PLM",
            loosest.budget_samples,
            strictest.budget_samples,
        )
        findings.append(
            Finding(
                f"{choice}: mechanisms of different α keep different budgets at ε = {EPSILON:g}.",
                gap.verdict,
                str(gap),
            )
        )
        rows.append(
            (
                f"{choice.minutes:g}",
                choice.unit,
                choice.table,
                *(f"{curve.budget_samples.mean():.3g}" for curve in line),
                *(f"{curve.distance_samples.mean():.3g}" for curve in line),
                f"{strictest.uniform.mean():.3g}",
                f"{strictest.constant.mean():.3g}",
            )
        )
    columns = (
        "minutes",
        "unit_of_alpha",
        "table",
        *(f"budget_{alpha:g}_plm" for alpha in ALPHAS),
        *(f"km_{alpha:g}_plm" for alpha in ALPHAS),
        "uniform_km",
        "constant_km",
    )
    flat = [curve for line in curves.values() for curve in line]
    return Outcome(
        tables=(Table("clocks", columns, rows), summary_table(flat)),
        pictures=(
            Picture(
                "clocks",
                "Average budget and distance at ε = 1 against the clock; dashed a uniform cell, "
                "dotted the best constant one.",
                lambda: clocks_figure(
                    {
                        f"α {unit}, {table}": [
                            [curves[Choice(each, unit, table)][place] for each in clocks(settings)]
                            for place in range(len(ALPHAS))
                        ]
                        for unit in UNITS
                        for table in TABLES
                    },
                    clocks(settings),
                    [f"{alpha:g}-PLM" for alpha in ALPHAS],
                ),
            ),
        ),
        findings=tuple(findings),
        remarks=(
            f"Runs of {STEPS} steps, {small.runs} each, on people with at least {WINDOWS} such "
            "windows: other clocks may mean other people. Gaps of twice a step, and of 10 minutes "
            "at least, are crossed. Intervals are over people.",
            *(
                world_of(next(Choice(minutes, "per km", "clamped").cases(small)).spec(0)).about
                for minutes in clocks(settings)
            ),
        ),
    )


EXPERIMENT = Experiment(
    "sweep-clock",
    "The clock, the unit of α and the table on people's own movement, swept",
    "nowhere: settings that its text does not give",
    "Mechanisms of different α differ in average budget and distance on Geolife, and a larger α is "
    "calibrated more heavily at a small ε. The length of a step, the unit of α and the table of "
    "the mechanism are not stated.",
    _jobs,
    _outcome,
)
