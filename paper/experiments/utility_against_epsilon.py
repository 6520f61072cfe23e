"""The paper's figures of average budget and distance against ε, for PRESENCE and PATTERN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.experiments.budget_per_step import WORDS, synthetic_world
from paper.experiments.claims import (
    CLOSE,
    Comparison,
    all_of,
    close,
    none_is_best,
    some_of,
)
from paper.experiments.curve_pictures import against_epsilon_figure
from paper.experiments.curves import (
    Curve,
    leakage_and_distance,
    run_table,
    summary_table,
)
from paper.experiments.experiment import Experiment, Finding, Outcome, Picture, Settings
from paper.experiments.release_runs import NORMALISED, Case, Window
from paper.running.jobs import Job, Results
from paper.worlds.world import world_of

EPSILONS = (0.1, 0.5, 1.0, 2.0)
ALPHAS = (0.5, 1.0, 3.0, 5.0)
DELTAS = (0.1, 0.3, 0.5)
DELTA_ALPHA = 0.5
SIGMA_ALPHA = 1.0
SIGMA_SHARES = (0.05, 0.15, 0.25, 0.5)
"""The σ of the synthetic maps as shares of the side: 1, 3, 5 and 10 km at 20 cells."""

NAMED_PAIRS = (((3.0, 5.0), 0.5), ((0.5, 1.0), 1.0), ((0.5, 1.0), 2.0))
"""The pairs of α that the paper names as close in distance, with their ε."""

Lines = list[tuple[str, list[Case]]]
"""Per line of the figure its label and its cases, one per ε."""


def people(settings: Settings, **changes: Any) -> list[dict[str, Any]]:
    """Return the worlds of the people of Geolife, or of the made-up city without it."""
    if settings.geolife is None:
        return city_dwellers(settings, **changes)
    kind = {"kind": "geolife", "folder": settings.geolife, "steps": settings.steps}
    each = [{**kind, "user_rank": number} for number in range(settings.people)]
    return [{**world, "side": settings.side, **changes} for world in each]


def city_dwellers(settings: Settings, **changes: Any) -> list[dict[str, Any]]:
    """Return the worlds of people in made-up cities."""
    return [
        {"kind": "city", "seed": number + 1, "side": settings.side, **changes}
        for number in range(settings.people)
    ]


def _with_epsilons(case: Case) -> list[Case]:
    return [case.but(epsilon=epsilon) for epsilon in EPSILONS]


def alpha_lines(window: Window, settings: Settings) -> Lines:
    """Return the lines of several mechanisms on people's own movement."""
    worlds = people(settings)
    return [
        (f"{alpha:g}-PLM", _with_epsilons(Case.on(worlds, window, epsilon=1.0, alpha=alpha)))
        for alpha in ALPHAS
    ]


def delta_lines(window: Window, settings: Settings) -> Lines:
    """Return the lines of several location sets on people's own movement."""
    base = Case.on(people(settings), window, epsilon=1.0, alpha=DELTA_ALPHA)
    return [(f"δ = {delta:g}", _with_epsilons(base.but(delta=delta))) for delta in DELTAS]


def sigma_lines(window: Window, settings: Settings) -> Lines:
    """Return the lines of several synthetic maps."""
    lines = []
    for share in SIGMA_SHARES:
        sigma = settings.side * share
        world = synthetic_world(settings, sigma=sigma)
        base = Case.on([world], window, epsilon=1.0, alpha=SIGMA_ALPHA)
        lines.append((f"σ = {sigma:g} km", _with_epsilons(base)))
    return lines


MakeLines = Callable[[Window, Settings], Lines]
Check = Callable[[Sequence[Sequence[Curve]]], list[Finding]]


def _jobs(make: MakeLines, window: Window, settings: Settings) -> list[Job]:
    return [
        job
        for name in settings.calibrators
        for _, cases in make(window, settings)
        for case in cases
        for job in case.but(calibrator=name).jobs(settings)
    ]


def _outcome(
    make: MakeLines,
    window: Window,
    check: Check,
    remark: Callable[[Settings], str],
    settings: Settings,
    results: Results,
) -> Outcome:
    curves: dict[str, list[list[Curve]]] = {
        name: [
            [Curve.of(case.but(calibrator=name), label, settings, results) for case in cases]
            for label, cases in make(window, settings)
        ]
        for name in settings.calibrators
    }
    flat = [curve for lines in curves.values() for line in lines for curve in line]
    dialled = {WORDS["paper"], WORDS[NORMALISED], WORDS["certified"]}
    return Outcome(
        tables=(summary_table(flat), run_table(flat)),
        pictures=(
            Picture(
                "utility",
                "Average over runs and steps, with the 95 % interval over runs, or over people "
                "where runs follow recordings; dashed a uniform cell, dotted the best constant "
                "one, which tell nothing.",
                lambda: against_epsilon_figure(
                    [(WORDS[name], lines) for name, lines in curves.items()],
                    with_budgets=lambda name: name in dialled,
                ),
            ),
        ),
        findings=(*_epsilon_findings(curves["paper"]), *check(curves["paper"])),
        remarks=(
            remark(settings),
            f"{settings.runs} runs of the paper's loop.",
            *leakage_and_distance(flat),
        ),
    )


def _epsilon_findings(lines: Sequence[Sequence[Curve]]) -> list[Finding]:
    budgets, distances = [], []
    for line in lines:
        for low, high in pairwise(line):
            what = f"{line[0].label}, ε {low.case.epsilon:g} to {high.case.epsilon:g}"
            budgets.append(Comparison.of(what, high.budget_samples, low.budget_samples))
            distances.append(Comparison.of(what, low.distance_samples, high.distance_samples))
    return [
        all_of("A larger ε gives larger budgets.", budgets),
        all_of("A larger ε gives releases closer to the truth.", distances),
    ]


def _share(curve: Curve) -> NDArray[np.float64]:
    return np.asarray(curve.budget_samples / curve.case.alpha)


def _alpha_findings(lines: Sequence[Sequence[Curve]]) -> list[Finding]:
    shares, budgets, looser_closer, stricter_closer = [], [], [], []
    for strict, loose in pairwise(lines):
        for one, other in zip(strict, loose, strict=True):
            what = f"{one.label} and {other.label} at ε = {one.case.epsilon:g}"
            if one.case.epsilon == EPSILONS[0]:
                shares.append(Comparison.of(f"share of α kept, {what}", _share(one), _share(other)))
                more = (1.0 + CLOSE) * one.budget_samples
                budgets.append(Comparison.of("", other.budget_samples, more))
            gap = Comparison.of(what, one.distance_samples, other.distance_samples)
            looser_closer.append(gap)
            stricter_closer.append(
                Comparison.of(what, other.distance_samples, one.distance_samples)
            )
    return [
        _heavily(all_of("A larger α is calibrated more heavily at a small ε.", shares), budgets),
        some_of(
            "A stricter mechanism is not always better: a looser one may be closer.", looser_closer
        ),
        some_of(
            "A larger average budget is not always better: a stricter mechanism may be closer.",
            stricter_closer,
        ),
        close(
            "Named pairs are close in distance: 3-PLM and 5-PLM at ε = 0.5, 0.5-PLM and 1-PLM at "
            "ε = 1 and 2.",
            [_distances(lines, alphas, epsilon) for alphas, epsilon in NAMED_PAIRS],
        ),
        none_is_best(
            "There is no best LPPM for all ε in distance.",
            {line[0].label: [point.distance_samples for point in line] for line in lines},
            [f"ε = {point.case.epsilon:g}" for point in lines[0]],
        ),
    ]


def _heavily(finding: Finding, budgets: Sequence[Comparison]) -> Finding:
    """Leave open what holds by arithmetic: budgets that hardly depend on α."""
    if finding.verdict != "reproduced" or any(each.verdict == "reproduced" for each in budgets):
        return finding
    return replace(
        finding,
        verdict="not decidable",
        numbers=f"{finding.numbers}. But no budget grows by more than {CLOSE:.0%} with α, so the "
        "shares fall by arithmetic.",
    )


def _distances(
    lines: Sequence[Sequence[Curve]], alphas: tuple[float, float], epsilon: float
) -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    pair = [
        point
        for alpha in alphas
        for line in lines
        for point in line
        if (point.case.alpha, point.case.epsilon) == (alpha, epsilon)
    ]
    what = f"{pair[0].label} less {pair[1].label} at ε = {epsilon:g}"
    return what, pair[0].distance_samples, pair[1].distance_samples


def _delta_findings(lines: Sequence[Sequence[Curve]]) -> list[Finding]:
    budgets, distances = [], []
    for small, large in pairwise(lines):
        for one, other in zip(small, large, strict=True):
            what = f"{one.label} and {other.label} at ε = {one.case.epsilon:g}"
            budgets.append(Comparison.of(what, one.budget_samples, other.budget_samples))
            distances.append(Comparison.of(what, one.distance_samples, other.distance_samples))
    return [
        all_of("A larger δ needs a smaller average budget.", budgets),
        some_of("A larger δ may nevertheless release closer to the truth.", distances),
    ]


def _sigma_findings(lines: Sequence[Sequence[Curve]]) -> list[Finding]:
    budgets = [
        Comparison.of(
            f"{one.label} and {other.label} at ε = {one.case.epsilon:g}",
            other.budget_samples,
            one.budget_samples,
        )
        for strong, weak in pairwise(lines)
        for one, other in zip(strong, weak, strict=True)
    ]
    return [all_of("A stronger mobility pattern (smaller σ) needs a smaller budget.", budgets)]


def _people_remark(settings: Settings) -> str:
    about = world_of(people(settings)[0]).about
    if settings.geolife is None:
        return f"No Geolife folder was given, so this ran on a made-up city. {about}"
    return (
        f"Geolife, {settings.people} people in turn; the first: {about} Runs are windows of the "
        "recordings, which overlap: all runs of one person are one sample, and intervals are over "
        "people."
    )


def _synthetic_remark(settings: Settings) -> str:
    return f"Synthetic maps of {settings.side} x {settings.side} cells of 1 km."


@dataclass(frozen=True)
class _Kind:
    make: MakeLines
    check: Check
    remark: Callable[[Settings], str]
    title: str
    says: str


_KINDS: Mapping[str, _Kind] = {
    "geolife-alpha": _Kind(
        alpha_lines,
        _alpha_findings,
        _people_remark,
        "Utility against ε on Geolife, several PLMs",
        "Utility grows with ε; a larger α is calibrated heavily at small ε; a larger average "
        "budget need not mean a smaller distance: at ε = 0.5 the 5-PLM and 3-PLM are close, "
        "at ε = 1 or 2 the 0.5-PLM and 1-PLM.",
    ),
    "geolife-delta": _Kind(
        delta_lines,
        _delta_findings,
        _people_remark,
        "Utility against ε on Geolife, 0.5-PLM with several δ-location sets",
        "A larger δ tends to a smaller average budget, but may have the smaller distance.",
    ),
    "sigma": _Kind(
        sigma_lines,
        _sigma_findings,
        _synthetic_remark,
        "Utility against ε on synthetic maps of several σ, 1-PLM",
        "The stronger the mobility pattern (smaller σ), the smaller the budget must be.",
    ),
}

_WINDOWS = {
    "presence": (Window("presence", 3, 7), "PRESENCE(S = [1:10], T = [4:8])", "Section V-C"),
    "pattern": (
        Window("pattern", 3, 7),
        "PATTERN(S = [1:10], T = [4:8])",
        "announced for the appendices, where it is not",
    ),
}


def _experiment(name: str, kind: _Kind, event: str) -> Experiment:
    window, words, where = _WINDOWS[event]
    return Experiment(
        f"fig-utility-{name}-{event}",
        f"{kind.title}, {words}",
        where,
        kind.says,
        partial(_jobs, kind.make, window),
        partial(_outcome, kind.make, window, kind.check, kind.remark),
    )


EXPERIMENTS = tuple(
    _experiment(name, kind, event) for event in _WINDOWS for name, kind in _KINDS.items()
)
