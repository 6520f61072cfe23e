"""The paper's figures of the budget per step: one early event, one late, both, a location set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from paper.experiments.claims import Comparison, all_of, some_of
from paper.experiments.curve_pictures import steps_figure
from paper.experiments.curves import (
    Curve,
    leakage_and_distance,
    run_table,
    step_table,
    summary_table,
)
from paper.experiments.experiment import Experiment, Finding, Outcome, Picture, Settings
from paper.experiments.release_runs import NORMALISED, Case, Window
from paper.running.jobs import Job, Results

EARLY = Window("presence", 3, 7)
LATE = Window("presence", 15, 19)
ALPHA, EPSILON = 0.2, 0.5
EPSILONS = (0.1, 0.5, 1.0)
ALPHAS = (0.1, 0.2, 0.5, 1.0)
DELTA = 0.2
MUCH = 2.0
"""The factor that "much worse" means here."""

WORDS = {
    "paper": "the paper's loop",
    NORMALISED: "the loop, rows normalised",
    "certified": "certified",
    "optimal": "optimal",
}
"""What pictures call the calibrators."""


def synthetic_world(settings: Settings, **changes: Any) -> dict[str, Any]:
    """Return the synthetic map of the figures: σ is half the side of the map.

    At 20 x 20 cells of 1 km that is σ = 10 km. The paper does not state it; see
    :mod:`paper.experiments.unstated_settings` for what other values do.
    """
    world = {"kind": "gaussian", "side": settings.side, "cell_size": 1.0}
    return {**world, "sigma": settings.side / 2.0, "start": "uniform", **changes}


@dataclass(frozen=True)
class Panel:
    """One panel of a figure: its title, and its cases with their labels."""

    title: str
    cases: tuple[tuple[str, Case], ...]

    def with_calibrator(self, name: str) -> Panel:
        """Return the same panel for another calibrator."""
        return Panel(self.title, tuple((k, case.but(calibrator=name)) for k, case in self.cases))


def panels(settings: Settings, events: Sequence[Window], delta: float | None) -> list[Panel]:
    """Return (a) one mechanism at several ε and (b) several mechanisms at one ε."""
    base = Case.on([synthetic_world(settings)], *events, epsilon=EPSILON, alpha=ALPHA)
    base = base.but(delta=delta)
    around = "" if delta is None else f", δ = {delta:g}"
    return [
        Panel(
            f"(a) {ALPHA:g}-PLM{around}, several ε",
            tuple((f"ε = {e:g}", base.but(epsilon=e)) for e in EPSILONS),
        ),
        Panel(
            f"(b) several PLMs{around}, ε = {EPSILON:g}",
            tuple((f"{a:g}-PLM", base.but(alpha=a)) for a in ALPHAS),
        ),
    ]


Compared = Callable[[Settings, Results], list[Finding]]


def _jobs(
    events: Sequence[Window], delta: float | None, others: Sequence[Sequence[Window]], s: Settings
) -> list[Job]:
    """Return the jobs of all panels, and of the figures that findings compare with."""
    cases = [
        case
        for panel in panels(s, events, delta)
        for name in s.calibrators
        for _, case in panel.with_calibrator(name).cases
    ]
    cases += [case for other in others for p in panels(s, other, None) for _, case in p.cases]
    if delta is not None:
        cases += [
            case.but(outside="excluded") for p in panels(s, events, delta) for _, case in p.cases
        ]
    return [job for case in cases for job in case.jobs(s)]


def _outcome(
    events: Sequence[Window],
    delta: float | None,
    compared: Compared,
    settings: Settings,
    results: Results,
) -> Outcome:
    curves: dict[str, list[list[Curve]]] = {
        name: [
            [Curve.of(case, label, settings, results) for label, case in panel.cases]
            for panel in (p.with_calibrator(name) for p in panels(settings, events, delta))
        ]
        for name in settings.calibrators
    }
    titles = [panel.title for panel in panels(settings, events, delta)]
    windows = [step for event in events for step in event.steps]
    # A searched table keeps the mechanism at its full budget, so only its distances say something.
    dialled = [name for name in settings.calibrators if name in ("paper", NORMALISED, "certified")]
    flat = [curve for rows in curves.values() for panel in rows for curve in panel]
    draw = partial(steps_figure, titles=titles, windows=windows)
    return Outcome(
        tables=(summary_table(flat), step_table(flat), run_table(flat)),
        pictures=(
            Picture(
                "budgets",
                "Budget per step: mean over the runs, and one standard deviation around it. The "
                "event's steps are shaded.",
                lambda: draw([(WORDS[n], curves[n]) for n in dialled], what="budgets"),
            ),
            Picture(
                "distances",
                "Distance per step between the true and the released cell: mean over the runs; "
                "dashed a uniform cell, dotted the best constant one, which tell nothing.",
                lambda: draw([(WORDS[n], curves[n]) for n in curves], what="distances"),
            ),
        ),
        findings=tuple(
            replace(finding, given=f"σ = {settings.side / 2:g} km")
            for finding in (
                *_calibration_findings(curves["paper"]),
                *_spread_findings(curves["paper"][1]),
                *_dip_findings(curves["paper"], windows),
                *compared(settings, results),
            )
        ),
        remarks=(
            f"Synthetic map of {settings.side} x {settings.side} cells of 1 km, Gaussian movement "
            f"with σ = {settings.side / 2:g} km, each run a new walk from a uniform start; "
            f"{settings.runs} runs of the paper's loop; runs are paired between curves.",
            *leakage_and_distance(flat),
        ),
    )


def _calibration_findings(panels_of_paper: Sequence[Sequence[Curve]]) -> list[Finding]:
    by_epsilon, by_alpha = panels_of_paper
    stricter = [
        Comparison.of(
            f"share of α kept, {low.label} less {high.label}",
            low.budget_samples / low.case.alpha,
            high.budget_samples / high.case.alpha,
        )
        for low, high in itertools.pairwise(by_alpha)
    ]
    larger = [
        Comparison.of(
            f"mean budget, {high.label} less {low.label}", high.budget_samples, low.budget_samples
        )
        for low, high in itertools.pairwise(by_epsilon)
    ]
    return [
        all_of("A stricter mechanism needs less calibration for the same ε.", stricter),
        all_of("A smaller ε costs more of the budget.", larger),
    ]


def _spread_findings(by_alpha: Sequence[Curve]) -> list[Finding]:
    """Hold the deviation of a run's budgets from the mean of their step against the mechanism."""
    fewest = 3  # two runs lie equally far from their mean, whatever they are
    if len(by_alpha[0].results) < fewest:
        claim = "Looser mechanisms have budgets that vary more."
        return [Finding(claim, "not decidable", "Two runs show no deviation.")]
    found = []
    for words, scale in (("", False), (", also as a share of α", True)):
        comparisons = []
        for strict, loose in itertools.pairwise(by_alpha):
            sides = [
                np.abs(curve.budgets - curve.budgets.mean(axis=0)).mean(axis=1)
                / (curve.case.alpha if scale else 1.0)
                for curve in (loose, strict)
            ]
            what = f"mean deviation{words}, {loose.label} less {strict.label}"
            comparisons.append(Comparison.of(what, *sides))
        found.append(all_of(f"Looser mechanisms have budgets that vary more{words}.", comparisons))
    return found


def _dip_findings(panels_of_paper: Sequence[Sequence[Curve]], windows: list[int]) -> list[Finding]:
    inside = np.zeros(panels_of_paper[0][0].budgets.shape[1], dtype=bool)
    inside[[step for step in windows if step < len(inside)]] = True
    dips = [
        Comparison.of(
            f"{curve.label}, outside less inside",
            curve.budgets[:, ~inside].mean(axis=1),
            curve.budgets[:, inside].mean(axis=1),
        )
        for panel in panels_of_paper
        for curve in panel
    ]
    return [all_of("Budgets dip during the event's steps.", dips)]


def _two_events(settings: Settings, results: Results) -> list[Finding]:
    def curves(*events: Window) -> list[Curve]:
        return [
            Curve.of(case, label, settings, results)
            for panel in panels(settings, events, None)
            for label, case in panel.cases
        ]

    worse, much_worse, times = [], [], []
    for name, alone in (("early", EARLY), ("late", LATE)):
        for one, together in zip(curves(alone), curves(EARLY, LATE), strict=True):
            what = f"{one.label}, {name}"
            budgets = one.budget_samples, together.budget_samples
            worse.append(Comparison.of(f"{what} alone less both", *budgets))
            to_one, to_both = (one.case.alpha - each for each in budgets)
            words = f"budget lost to both less {MUCH:g} times that to {what}"
            much_worse.append(Comparison.of(words, to_both, MUCH * to_one))
            if to_one.mean() > 0.0:
                times.append(f"{what} {to_both.mean() / to_one.mean():.2f}")
    much = all_of(
        f"Two events are much worse: they lose at least {MUCH:g} times the budget of either alone.",
        much_worse,
    )
    return [
        all_of("Protecting two events costs more budget than either alone.", worse),
        replace(much, numbers=f"{much.numbers}. Times as much lost: {', '.join(times) or 'none'}."),
    ]


def _location_set(settings: Settings, results: Results) -> list[Finding]:
    budgets, excluded, distances, above = [], [], [], []
    plain, within = panels(settings, [EARLY], None), panels(settings, [EARLY], DELTA)
    for without, with_set in zip(plain, within, strict=True):
        for (label, one), (_, other) in zip(without.cases, with_set.cases, strict=True):
            free, held, literal = (
                Curve.of(case, label, settings, results)
                for case in (one, other, other.but(outside="excluded"))
            )
            what = f"{label}, plain less set"
            budgets.append(Comparison.of(what, free.budget_samples, held.budget_samples))
            distances.append(Comparison.of(what, free.distance_samples, held.distance_samples))
            excluded.append(Comparison.of(what, free.budget_samples, literal.budget_samples))
            told = literal.stated_leakages
            above.append(
                f"{label} in {np.sum(told > other.epsilon)} of {len(told)} runs, in "
                f"{np.sum(np.isinf(told))} without end"
            )
    price = f". Its price: the check itself then says more than ε, {'; '.join(above)}."
    read_literally = all_of(
        "The same, where the check takes cells outside the set to be impossible.", excluded
    )
    return [
        all_of("With a δ-location set the same PLM needs smaller budgets.", budgets),
        replace(read_literally, numbers=read_literally.numbers + price),
        some_of("With a δ-location set releases may be closer to the truth.", distances),
    ]


def _experiment(
    name: str,
    title: str,
    in_paper: str,
    paper_says: str,
    events: Sequence[Window],
    *,
    delta: float | None = None,
    others: Sequence[Sequence[Window]] = (),
    compared: Compared = lambda settings, results: [],
) -> Experiment:
    jobs = partial(_jobs, events, delta, others)
    outcome = partial(_outcome, events, delta, compared)
    return Experiment(name, title, in_paper, paper_says, jobs, outcome)


EXPERIMENTS = (
    _experiment(
        "fig-budget-presence-early",
        "Budget per step, PRESENCE(S = [1:10], T = [4:8])",
        "Section V-B, first figure",
        "A 0.2-PLM keeps almost all of its budget at ε = 1, loses a little at ε = 0.5 and much at "
        "ε = 0.1; looser mechanisms are calibrated more and vary more; budgets fall at T.",
        [EARLY],
    ),
    _experiment(
        "fig-budget-presence-late",
        "Budget per step, PRESENCE(S = [1:10], T = [16:20])",
        "Section V-B, second figure",
        "As for the early event, with the fall at steps 16 to 20.",
        [LATE],
    ),
    _experiment(
        "fig-budget-two-events",
        "Budget per step, both events at once",
        "Section V-B, third figure",
        "Utility is much worse than for either event alone, since each output must pass for both.",
        [EARLY, LATE],
        others=[[EARLY], [LATE]],
        compared=_two_events,
    ),
    _experiment(
        "fig-budget-location-set",
        "Budget per step with a δ-location set, PRESENCE(S = [1:10], T = [4:8])",
        "Section V-B, fourth figure",
        "The same PLM inside a location set must reduce its budget more.",
        [EARLY],
        delta=DELTA,
        others=[[EARLY]],
        compared=_location_set,
    ),
)
