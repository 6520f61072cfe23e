"""What the paper leaves open, swept: does the outcome depend on it?

Each line of the table is the run of the first figure's middle curve (0.2-PLM, ε = 0.5) with one
thing changed. The share of the budget that is kept and the depth of the dip are what the
paper's text is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from paper.experiments.budget_per_step import (
    ALPHA,
    EARLY,
    EPSILON,
    EPSILONS,
    synthetic_world,
)
from paper.experiments.claims import Comparison
from paper.experiments.curve_pictures import shares_figure
from paper.experiments.curves import Curve, summary_table
from paper.experiments.experiment import (
    Experiment,
    Finding,
    Outcome,
    Picture,
    Settings,
    Table,
    Verdict,
)
from paper.experiments.release_runs import Case
from paper.experiments.utility_against_epsilon import people
from paper.running.jobs import Job, Results
from priste.audit.estimates import Estimate, mean

NEARLY_ALL = 0.9
"""The share of α that "only a slight reduction" means here."""


def swept(settings: Settings) -> Settings:
    """Return the settings of a sweep: a fifth of the runs, the paper's loop alone."""
    return replace(settings, runs=max(2, settings.runs // 5), runs_with={}, truth_runs=0)


def choices(settings: Settings) -> Mapping[str, list[dict[str, Any]]]:
    """Return the worlds of the sweep by what is different in them."""
    side = settings.side
    found = {
        f"σ = {side * share:g} km": [synthetic_world(settings, sigma=side * share)]
        for share in (0.05, 0.1, 0.15, 0.25, 0.5, 1.0)
    }
    found["σ is the variance, 10 km²"] = [
        synthetic_world(settings, sigma=10.0, sigma_means="variance")
    ]
    found["cells of 0.34 km, σ = 10 cells"] = [
        synthetic_world(settings, cell_size=0.34, sigma=0.34 * side / 2)
    ]
    where = "Geolife" if settings.geolife is not None else "made-up city"
    found[f"{where}, cells of 0.5 km"] = people(settings)
    found[f"{where}, cells of 1 km"] = people(settings, cell_size=1.0)
    found[f"{where}, cells of 0.34 km"] = people(settings, cell_size=0.34)
    found[f"{where}, S = the map's first cells"] = people(settings, region="first")
    found[f"{where}, maximum likelihood"] = people(
        settings, smoothing={"kind": "maximum_likelihood", "unvisited": "uniform"}
    )
    return found


def _cases(settings: Settings) -> dict[str, dict[float, Case]]:
    """Return per choice its cases by ε."""
    made = {
        label: {
            epsilon: Case.on(worlds, EARLY, epsilon=epsilon, alpha=ALPHA) for epsilon in EPSILONS
        }
        for label, worlds in choices(settings).items()
    }
    base = Case.on([synthetic_world(settings)], EARLY, epsilon=EPSILON, alpha=ALPHA)
    made["rows of exp(-αd), normalised"] = {
        epsilon: base.but(epsilon=epsilon, table="normalised") for epsilon in EPSILONS
    }
    return made


def _jobs(settings: Settings) -> list[Job]:
    small = swept(settings)
    return [
        job
        for cases in _cases(settings).values()
        for case in cases.values()
        for job in case.jobs(small)
    ]


def _outcome(settings: Settings, results: Results) -> Outcome:
    small = swept(settings)
    curves = {
        label: {epsilon: Curve.of(case, label, small, results) for epsilon, case in cases.items()}
        for label, cases in _cases(settings).items()
    }
    columns = ("choice", *(f"share_kept_at_{epsilon:g}" for epsilon in EPSILONS), "dip", "verdict")
    kept = {
        label: [_share(by_epsilon[epsilon]) for epsilon in EPSILONS]
        for label, by_epsilon in curves.items()
    }
    rows, findings = [], []
    for label, by_epsilon in curves.items():
        shares = kept[label]
        dip = _dip(by_epsilon[EPSILON])
        verdict = _verdict(shares[-1].low, shares[-1].high)
        rows.append(
            (label, *(f"{share:.4g}" for share in shares), f"{dip.difference:.4g}", verdict)
        )
        findings.append(
            Finding(
                f"{label}: a {ALPHA:g}-PLM keeps at least {NEARLY_ALL:.0%} of its budget at "
                f"ε = {EPSILONS[-1]:g} (the paper: only a slight reduction).",
                verdict,
                f"share kept {shares[-1]:.4g}; at ε = {EPSILON:g} {shares[1]:.4g}",
            )
        )
    flat = [curve for by_epsilon in curves.values() for curve in by_epsilon.values()]
    return Outcome(
        tables=(Table("choices", columns, rows), summary_table(flat)),
        pictures=(
            Picture(
                "shares",
                f"The share of its budget that a {ALPHA:g}-PLM keeps under each choice: mean over "
                "runs and steps, with the 95 % interval over runs.",
                lambda: shares_figure(kept, EPSILONS),
            ),
        ),
        findings=tuple(findings),
        remarks=(
            "One thing is changed at a time; the rest is as in fig-budget-presence-early. "
            f"{small.runs} runs each. Another size of cells on Geolife is another map, on which "
            "other people may have enough recordings.",
        ),
    )


def _share(curve: Curve) -> Estimate:
    return mean(curve.budget_samples / curve.case.alpha)


def _dip(curve: Curve) -> Comparison:
    inside = np.zeros(curve.budgets.shape[1], dtype=bool)
    inside[list(EARLY.steps)] = True
    return Comparison.of(
        "outside less inside",
        curve.budgets[:, ~inside].mean(axis=1),
        curve.budgets[:, inside].mean(axis=1),
    )


def _verdict(low: float, high: float) -> Verdict:
    if low >= NEARLY_ALL:
        return "reproduced"
    return "not reproduced" if high < NEARLY_ALL else "not decidable"


EXPERIMENT = Experiment(
    "sweep-unstated",
    "What the paper leaves open, swept",
    "nowhere: settings that its text does not give",
    "A 0.2-PLM satisfies 1-privacy with a slight reduction of its budget. Neither σ, nor the size "
    "of cells, nor the discretisation, nor the part of Beijing is stated.",
    _jobs,
    _outcome,
)
