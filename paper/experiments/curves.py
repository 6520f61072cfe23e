"""The runs of a case as arrays, and the tables that every experiment with streams writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.experiments.claims import mean_cells
from paper.experiments.experiment import Settings, Table
from paper.experiments.release_runs import Case
from paper.running.jobs import Result, Results

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """All runs of one case. Arrays are (runs, steps)."""

    case: Case
    label: str
    results: Sequence[Result]

    @classmethod
    def of(cls, case: Case, label: str, settings: Settings, results: Results) -> Curve:
        """Collect the finished runs of a case."""
        return cls(case, label, results.of(case.jobs(settings)))

    @property
    def head(self) -> tuple[Any, ...]:
        """What the curve is, for the first columns of a table."""
        case = self.case
        return self.label, case.calibrator, case.alpha, case.epsilon, case.delta

    @cached_property
    def budgets(self) -> Floats:
        """The budget in use, per km."""
        return np.array([result["budgets"] for result in self.results])

    @cached_property
    def distances(self) -> Floats:
        """The distance between the true and the released cell, in km."""
        return np.array([result["distances"] for result in self.results])

    @cached_property
    def uniform(self) -> Floats:
        """The expected distance of a uniform cell, in km."""
        return np.array([result["uniform"] for result in self.results])

    @cached_property
    def constant(self) -> Floats:
        """The distance of the best constant cell, in km."""
        return np.array([result["constant"] for result in self.results])

    @property
    def budget_samples(self) -> Floats:
        """The mean budget of each independent sample; see :meth:`_samples`."""
        return self._samples(self.budgets)

    @property
    def distance_samples(self) -> Floats:
        """The mean distance of each independent sample; see :meth:`_samples`."""
        return self._samples(self.distances)

    def _samples(self, values: Floats) -> Floats:
        """Return one mean per run, or one per person where people's recordings are followed.

        Runs on one person's recordings are windows of them, which overlap, under one model: they
        say little about other people, so that all of them together are one sample.
        """
        by_run = values.mean(axis=1)
        people = len(self.case.worlds)
        if people == 1:
            return np.asarray(by_run)
        return np.array(
            [by_run[person::people].mean() for person in range(min(people, len(by_run)))]
        )

    @cached_property
    def stated_leakages(self) -> Floats:
        """The largest leakage that the loop itself stated in each run, over steps and events."""
        return np.array([np.max(result["leakage"]) for result in self.results])

    @cached_property
    def true_leakages(self) -> Floats:
        """The largest leakage of each followed run to whoever knows the algorithm."""
        followed = [result["true_leakage"] for result in self.results]
        return np.array([max(each) for each in followed if each is not None])

    def first(self, runs: int) -> Curve:
        """Return the curve of the first runs alone, to pair it with one that has fewer."""
        return Curve(self.case, self.label, self.results[:runs])


HEAD = ("curve", "calibrator", "alpha_per_km", "epsilon", "delta")
"""The first columns of every table: the curve, as :attr:`Curve.head` has it."""

SUMMARY_COLUMNS = (
    *HEAD, "runs", "samples",
    "mean_budget", "mean_budget_low", "mean_budget_high",
    "mean_distance_km", "mean_distance_low", "mean_distance_high",
    "uniform_distance_km", "constant_distance_km",
    "stated_leakage_max", "true_leakage_mean", "true_leakage_max", "true_leakage_runs",
)  # fmt: skip


def summary_table(curves: Iterable[Curve]) -> Table:
    """Return one row per curve: means over runs and steps with intervals, and the leakages."""
    rows: list[list[Any]] = []
    for curve in curves:
        truth = curve.true_leakages
        row: list[Any] = [*curve.head, len(curve.results), len(curve.budget_samples)]
        for values in (curve.budget_samples, curve.distance_samples):
            row += mean_cells(values)
        row += [float(curve.uniform.mean()), float(curve.constant.mean())]
        row.append(float(curve.stated_leakages.max()))
        row += [float(truth.mean()), float(truth.max())] if len(truth) else [None, None]
        row.append(len(truth))
        rows.append(row)
    return Table("summary", SUMMARY_COLUMNS, rows)


ROUNDING = 1e-8
"""Leakages above ε by less are rounding."""


def leakage_and_distance(curves: Sequence[Curve]) -> list[str]:
    """Say of each calibrator what it truly told and how far off it was, over all of its curves."""
    told, off = [], []
    for name in dict.fromkeys(curve.case.calibrator for curve in curves):
        mine = [curve for curve in curves if curve.case.calibrator == name]
        followed = [curve for curve in mine if len(curve.true_leakages)]
        times = [curve.true_leakages.max() / curve.case.epsilon for curve in followed]
        if followed:
            above = sum(each > 1.0 + ROUNDING for each in times)
            told.append(
                f"{name} above ε in {above} of {len(times)} curves, {max(times):.3g} times it at "
                "most"
            )
        shares = [float(curve.distances.mean() / curve.constant.mean()) for curve in mine]
        off.append(f"{name} {min(shares):.2f} to {max(shares):.2f}")
    remarks = [
        "Mean distance as a share of that of the best constant cell, from curve to curve: "
        f"{', '.join(off)}."
    ]
    if told:
        remarks.append(
            "True leakage, along the released streams, for an adversary who knows the algorithm "
            f"and sees the budgets, in the runs that were followed: {'; '.join(told)}."
        )
    return remarks


def run_table(curves: Iterable[Curve]) -> Table:
    """Return one row per curve and run: its means over the steps, and its leakages."""
    measures = ("mean_budget", "mean_distance_km", "attempts", "stated_leakage", "true_leakage")
    rows: list[list[Any]] = []
    for curve in curves:
        for run, result in enumerate(curve.results):
            truth = result["true_leakage"]
            numbers = (
                curve.budgets[run].mean(),
                curve.distances[run].mean(),
                np.sum(result["attempts"]),
                np.max(result["leakage"]),
            )
            told: list[float | None] = [_to_digits(number) for number in numbers]
            rows.append(
                [*curve.head, run, *told, None if truth is None else _to_digits(max(truth))]
            )
    return Table("runs", (*HEAD, "run", *measures), rows)


RUN_DIGITS = 9
"""Digits of the numbers of single runs: last bits differ between processors and say nothing."""


def _to_digits(number: float) -> float:
    return float(f"{number:.{RUN_DIGITS}g}")


def step_table(curves: Iterable[Curve]) -> Table:
    """Return one row per curve and step: mean and standard deviation over the runs."""
    measures = ("mean_budget", "sd_budget", "mean_distance_km", "sd_distance_km")
    rows = []
    for curve in curves:
        spread = 1 if len(curve.results) > 1 else 0
        for step in range(curve.budgets.shape[1]):
            row: list[Any] = [*curve.head, step]
            for values in (curve.budgets[:, step], curve.distances[:, step]):
                row += [float(values.mean()), float(values.std(ddof=spread))]
            rows.append(row)
    return Table("steps", (*HEAD, "step", *measures), rows)
