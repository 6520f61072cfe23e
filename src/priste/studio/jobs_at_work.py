"""What a worker process can do: forecasts, runs, other priors, exports."""

from __future__ import annotations

import base64
import io
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.atomic_files import scratch_folder
from priste.audit.estimates import Estimate
from priste.forecast import Cost, Metres, Row, model_costs, refined_forecast
from priste.forecast.simulated_people import OpenedTrace
from priste.policy import Policy
from priste.quantify import KnownPrior, Leakage, Quantifier
from priste.release import write_ledgers
from priste.report import render, run_reports
from priste.report.shared import PublicPart, shared_page
from priste.results import columns_of_releases, length, released_cells
from priste.studio.following import (
    RunMade,
    RunOrder,
    follow,
    heaviest,
    own_policy,
    worst_prior,
)
from priste.studio.policies import Policies
from priste.studio.wire import Refused, floats
from priste.studio.worker import Tell
from priste.traces import Trace, Traces, read_traces, released_suffix, write_released

Floats = NDArray[np.float64]
Made = tuple[dict[str, Any], Any]

LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that the same run gives the same bytes."""

STEADY = 0.1
"""If two more streams change a figure by a larger share, it is not shown yet."""

MOST_DRAWN = 200
"""How many cells of a worst prior are drawn."""

_policies: OrderedDict[Path, Policies] = OrderedDict()


def _policies_of(folder: Path) -> Policies:
    """Return the policies of a folder that this process has read; of a few folders."""
    found = _policies.pop(folder, None) or Policies(folder)
    _policies[folder] = found
    while len(_policies) > 4:
        _policies.popitem(last=False)
    return found


@dataclass(frozen=True)
class ForecastOrder:
    """What a forecast is made from. ``trace`` is the truth: it is never printed."""

    folder: Path
    text: str
    runs: int
    trace: Trace = field(repr=False)


def forecast(order: ForecastOrder, tell: Tell) -> Made:
    """Forecast what a policy will cost in metres: first from two streams, then from more."""
    tell("progress", {"words": "laying out the map and how people move"})
    policy = _policies_of(order.folder).policy(order.text)

    # Where every position lies in guarded hours, the trace shows nothing that may be tried.
    on_trace = bool(OpenedTrace.of(policy.for_user(order.trace), order.trace).released.any())
    whom = "your own days" if on_trace else "people drawn from the model"

    def tried(done: int, total: int) -> None:
        words = f"trying it on {whom}: {done} of {total} releases"
        tell("progress", {"done": done, "total": total, "words": words})

    found: dict[str, Any] = {}
    before: Cost | None = None
    rows: list[Row] = []
    trace = order.trace if on_trace else None
    # The same seed for every setting: two settings differ by what they do, not by the draws.
    for row in refined_forecast(policy, trace=trace, runs=order.runs, on_trial=tried):
        if row.without is None:
            rows = [row]
            found = _foretold(row) | {"is_stable": is_stable(row.cost, before)}
            before = row.cost
        else:
            rows.append(row)
            found |= {"is_stable": True, "models": model_costs(rows)}
        tell("estimate", found)
    return found | {"is_stable": True}, None


def _foretold(row: Row) -> dict[str, Any]:
    cost = row.cost
    return {
        **_metres(cost.released),
        "uncalibrated": _metres(cost.uncalibrated),
        "constant": _metres(cost.constant),
        "runs": cost.runs,
        "sentence": foretold_words(cost),
        "basis": row.basis(),
        "models": [],
    }


def is_stable(cost: Cost, before: Cost | None) -> bool:
    """Return whether more streams would hardly change the figures: the last two did not."""
    if before is None:
        return False
    parts = [(each.all, each.near, each.far) for each in (cost.released, before.released)]
    return all(
        one is not None and other is not None and abs(one.value - other.value) <= STEADY * one.value
        for one, other in zip(*parts, strict=True)
        if one is not other
    )


def foretold_words(cost: Cost) -> str:
    """Return the expected error in words, its range, and whether it is below that of a constant
    point."""
    off = cost.released.all
    sure = f"in 80 of 100 cases between {length(off.low)} and {length(off.high)}"
    said = f"Expect a mean error of {length(off.value)}, {sure}."
    if cost.constant_does == "everywhere":
        return f"{said} This is no better than a constant point."
    if cost.constant_does == "near":
        return f"{said} Near the secret this is no better than a constant point."
    return said


def _metres(found: Metres) -> dict[str, Any]:
    return {
        "everywhere": _estimate(found.all),
        "near": _estimate(found.near),
        "far": _estimate(found.far),
    }


def _estimate(found: Estimate | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"metres": found.value, "low": max(0.0, found.low), "high": found.high}


def run(order: RunOrder, tell: Tell) -> Made:
    """Release one person's stream, telling of every step."""
    return follow(_policies_of(order.folder), order, tell)


@dataclass(frozen=True)
class PriorOrder:
    """A question about a finished run: what it reveals under one prior."""

    made: RunMade
    prior: str | Mapping[int, float]


def prior(order: PriorOrder, tell: Tell) -> Made:
    """Return what a run reveals under a given prior, or under the worst prior of the adversary."""
    policy = own_policy(_policies_of(order.made.order.folder), order.made.order)
    worst = order.prior == "worst"
    weights = None if worst else _weights(policy, order.prior)
    sides = {
        "": columns_of_releases(policy, order.made.ledger),
        "uncalibrated_": columns_of_releases(policy, order.made.uncalibrated),
    }
    adversary = policy.chosen_adversary.adversary if weights is None else KnownPrior(weights)
    events: list[dict[str, Any]] = []
    shown = weights
    for number, (name, event) in enumerate(policy.events.items()):
        told: dict[str, Any] = {"name": name}
        for side, columns in sides.items():
            asked = Quantifier(policy.models, event.event, adversary)
            leakages, beliefs = [], []
            found: Leakage | None = None
            for step, column in enumerate(columns):
                asked.observe(column)
                found = asked.leakage()
                leakages.append(found.over(event.guarantee))
                beliefs.append(asked.belief() if worst else asked.posterior())
                tell("progress", {"done": step + 1, "total": len(columns), "event": number})
            told |= {f"{side}leakage": floats(leakages), f"{side}belief": floats(beliefs)}
            if not side:
                before = Quantifier(policy.models, event.event, adversary)
                told["before"] = before.prior_belief() if worst else before.posterior()
                if worst and found is not None:
                    learns = worst_prior(policy, found)
                    told["worst"] = heaviest(learns, MOST_DRAWN)
                    shown = learns if shown is None else shown
        events.append(told)
    return {
        "words": _prior_words(order.prior, policy),
        "cells": floats([] if shown is None else shown),
        "events": events,
    }, None


def _weights(policy: Policy, chosen: str | Mapping[int, float]) -> Floats:
    if chosen == "uniform":
        return np.full(policy.grid.size, 1.0 / policy.grid.size)
    if chosen == "population":
        return policy.population
    if isinstance(chosen, str):
        raise Refused(422, "A prior is 'uniform', 'population', 'worst', or painted cells.")
    weights = np.zeros(policy.grid.size)
    for cell, weight in chosen.items():
        if not 0 <= cell < policy.grid.size or not 0.0 <= weight < np.inf:
            raise Refused(422, "A painted prior has weights >= 0 on cells of the map.")
        weights[cell] += weight
    if not weights.sum() > 0:
        raise Refused(422, "Paint at least one cell where an adversary thinks that you began.")
    return np.asarray(weights / weights.sum())


def _prior_words(chosen: str | Mapping[int, float], policy: Policy) -> str:
    words = {
        "uniform": "who takes every first cell as equally likely",
        "population": "who knows the population" + (" and your home" if policy.homes else ""),
        "worst": "who learns most among the priors of the guarantee",
    }
    known = words.get(chosen) if isinstance(chosen, str) else None
    return f"As an adversary sees it {known or 'who thinks that you began in the painted cells'}."


@dataclass(frozen=True)
class ExportOrder:
    """An order for a file of a finished run."""

    made: RunMade
    what: str
    path: Path
    reading: Mapping[str, str | None]


def export(order: ExportOrder, tell: Tell) -> Made:
    """Return the bytes of a file as ``priste protect`` writes it."""
    tell("progress", {})
    made = order.made
    user = made.order.trace.user
    policy = _policies_of(made.order.folder).policy(made.order.text)
    own = own_policy(_policies_of(made.order.folder), made.order)
    reading = order.reading
    traces = read_traces(
        order.path, reading.get("format"), zone=reading.get("zone"), user=reading.get("user")
    )
    with scratch_folder() as folder:
        target = folder / f"{order.path.stem}.released{released_suffix(traces)}"
        if order.what == "released":
            write_released(
                traces,
                target,
                {user: [release.cell for release in made.ledger]},
                own.timeline,
                own.grid,
            )
            content = _files_of(target)
        elif order.what == "ledger":
            write_ledgers(target, tuple(own.events), {user: made.ledger})
            content = target.read_bytes()
        else:
            content = _report(order, policy, own, traces, tell).encode("utf-8")
    return {"data": base64.b64encode(content).decode("ascii")}, None


def _report(order: ExportOrder, policy: Policy, own: Policy, traces: Traces, tell: Tell) -> str:
    """Return a page to share, or one with everything for the person who made the run."""
    user, ledger = order.made.order.trace.user, order.made.ledger
    if order.what == "report to share":
        return shared_page(PublicPart.of(policy), {user: released_cells(own, ledger)})
    reports = run_reports(
        policy,
        {user: ledger},
        traces=traces,
        seed=order.made.order.seed,
        show_truth=order.what == "report with the truth",
        on_progress=lambda done, total: tell("progress", {"done": done, "total": total}),
    )
    return render(reports)


def archive_of(files: Mapping[str, bytes]) -> bytes:
    """Return files as a ZIP archive; the same files give the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _files_of(path: Path) -> bytes:
    """Return a file, or the files of a folder as an archive."""
    if not path.is_dir():
        return path.read_bytes()
    held = sorted(each for each in path.rglob("*") if each.is_file())
    return archive_of({each.relative_to(path).as_posix(): each.read_bytes() for each in held})


PERFORM: dict[str, Callable[[Any, Tell], Made]] = {
    "forecast": forecast,
    "run": run,
    "prior": prior,
    "export": export,
}
