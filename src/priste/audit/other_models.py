"""What if people do not move as assumed? Streams under other models, and guarding several.

The guarantee speaks of a mobility model. Under another one the same releases may reveal more. These
functions measure how much, and what it costs to guard a whole set of models at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_float
from priste.audit.beliefs import location_belief
from priste.audit.estimates import CONFIDENCE, Estimate, mean
from priste.audit.procedure import Procedure
from priste.audit.sampled import stream_path
from priste.audit.stream import EventAudit, audit_stream
from priste.errors import InvalidParameter
from priste.events import Guarded
from priste.mechanisms import Mechanism
from priste.mobility import DenseTransition, MarkovModel, Transition
from priste.mobility.transitions import DENSE_LIMIT, Schedule
from priste.quantify import Adversary, AnyPrior, KnownPrior, Quantifier
from priste.randomness import Seed, bit_source
from priste.release import Calibrator, Protector

Floats = NDArray[np.float64]


def audit_under_models(
    models: Mapping[str, MarkovModel],
    events: Mapping[str, Guarded],
    likelihoods: Iterable[Floats | None],
    *,
    prior: Floats | None = None,
) -> dict[str, dict[str, EventAudit]]:
    """Return what one stream reveals about each event under each model, by model name.

    Make the family as you like: ``{f"σ={s}": MarkovModel.gaussian(grid, s) for s in ...}``, fits
    with several smoothings, or one model begun at several times of day
    (``model.starting_at(step)``). Arguments as in :func:`~priste.audit.audit_stream`.
    """
    stream = list(likelihoods)
    return {
        name: audit_stream(model, events, stream, prior=prior) for name, model in models.items()
    }


def leakage_by_model(
    models: Mapping[str, MarkovModel],
    events: Mapping[str, Guarded],
    likelihoods: Iterable[Floats | None],
    *,
    priors: Mapping[str, Adversary] | None = None,
) -> dict[str, dict[str, float]]:
    """Return the largest leakage of one stream under each model, by model and event name.

    ``priors`` is the adversary that holds each model; without one it is
    ``KnownPrior(model.stationary())``. The largest is over all steps and both directions.
    """
    stream = list(likelihoods)
    found: dict[str, dict[str, float]] = {}
    for name, model in models.items():
        adversary = KnownPrior(model.stationary()) if priors is None else priors[name]
        found[name] = {}
        for label, event in events.items():
            quantifier = Quantifier(model, event, adversary, method="stream")
            largest = 0.0
            for likelihood in stream:
                quantifier.observe(likelihood)
                if likelihood is not None and (likelihood != likelihood[0]).any():
                    largest = max(largest, quantifier.leakage().value)
            found[name][label] = largest
    return found


def moves_scaled(model: MarkovModel, factor: float) -> MarkovModel:
    """Return the model with every chance to move multiplied by ``factor``, up to 1 in all.

    ``model`` is of first order, goes on for ever, and has at most ``DENSE_LIMIT`` cells.

    >>> from priste import Grid
    >>> slow = MarkovModel(Grid(rows=1, columns=2, cell_size=1.0), [[0.8, 0.2], [0.5, 0.5]])
    >>> moves_scaled(slow, 2.0).transition(0).toarray().round(3).tolist()
    [[0.6, 0.4], [1.0, 0.0]]
    """
    check_float(factor, "factor", "moves_scaled", above=0.0)
    if model.order != 1 or model.period is None or model.grid.size > DENSE_LIMIT:
        raise InvalidParameter(
            f"must be of order 1, go on for ever and have at most {DENSE_LIMIT} cells",
            parameter="model",
            owner="moves_scaled",
            value=model,
        )
    made: dict[Transition, Transition] = {}
    steps = []
    for step in range(model.period):
        transition = model.transition(step)
        if transition not in made:
            moved = transition.toarray()
            np.fill_diagonal(moved, 0.0)
            moving = moved.sum(axis=1)
            moved *= np.minimum(factor, 1.0 / np.maximum(moving, 1e-300))[:, None]
            np.fill_diagonal(moved, np.maximum(0.0, 1.0 - moved.sum(axis=1)))
            made[transition] = DenseTransition(moved / moved.sum(axis=1)[:, None])
        steps.append(made[transition])
    return MarkovModel(model.grid, Schedule((), tuple(steps), cyclic=True))


@dataclass(frozen=True)
class GuardedModels:
    """One way to guard: against which models, how much then leaks under each, and at what price.

    ``leakage`` is the largest over runs and steps, by the name of the model it is reckoned with
    (the worst over the events), for an adversary who sees outputs and budgets. ``distance`` (km) is
    that between true and released cells, None if outputs are not cells. ``guess`` (km) is that
    between the truth and the best guess of a receiver who knows how people move: how useful the
    releases are when read well.
    """

    guarded: tuple[str, ...]
    leakage: Mapping[str, float]
    distance: Estimate | None
    guess: Estimate
    mean_budget: float


def compare_guards(
    guards: Sequence[Sequence[str]],
    models: Mapping[str, MarkovModel],
    events: Mapping[str, Guarded],
    mech: Mechanism,
    epsilon: float,
    steps: int,
    *,
    truth: str,
    calibrator: str | Calibrator = "certified",
    runs: int = 20,
    rng: int = 0,
    confidence: float = CONFIDENCE,
) -> list[GuardedModels]:
    """Guard each of several sets of models in turn, over the same ``runs`` trajectories.

    ``guards`` names the sets, for example ``[["slow"], ["slow", "fast"]]``. Users move by the
    model named ``truth``. Exact leakage along the runs; the largest found is a lower bound of the
    worst there is, except that a guarded model keeps its ε under "certified" by proof.
    """
    unknown = {name for names in guards for name in names} | {truth}
    if not unknown <= set(models):
        raise InvalidParameter(
            f"must be among {sorted(models)}, as must the 'truth'",
            parameter="guards",
            owner="a comparison",
            value=tuple(sorted(unknown - set(models))),
        )
    if runs < 2:
        raise InvalidParameter("must be >= 2", parameter="runs", owner="a comparison", value=runs)
    trajectories = [models[truth].sample(steps, bit_source(rng + run)) for run in range(runs)]
    return [
        _guarded(
            names, models, truth, events, mech, epsilon, calibrator, trajectories, rng, confidence
        )
        for names in guards
    ]


def _guarded(
    names: Sequence[str],
    models: Mapping[str, MarkovModel],
    truth: str,
    events: Mapping[str, Guarded],
    mech: Mechanism,
    epsilon: float,
    calibrator: str | Calibrator,
    trajectories: Sequence[NDArray[np.int64]],
    seed: Seed,
    confidence: float,
) -> GuardedModels:
    guarded = [models[name] for name in names]
    procedure = Procedure(
        Protector(guarded, events, mech, epsilon, calibrator, adversary=AnyPrior())
    )
    bits = bit_source(seed)
    runs = [procedure.run(trajectory.tolist(), bits) for trajectory in trajectories]
    leakage = {
        name: max(
            max(step.leakage.value for step in stream_path([model], event, run.likelihoods))
            for run in runs
            for event in events.values()
        )
        for name, model in models.items()
    }
    distances = mech.grid.distances()
    meaning = mech.output_cells()
    distance = None
    if meaning is not None:
        released = [distances[list(run.trajectory), meaning[list(run.outputs)]] for run in runs]
        distance = mean([float(apart.mean()) for apart in released], confidence)
    errors = []
    for run in runs:
        belief = location_belief(models[truth], run.likelihoods)
        guesses = (belief @ distances).argmin(axis=1)
        errors.append(float(distances[list(run.trajectory), guesses].mean()))
    budgets = [budget for run in runs for budget in run.budgets]
    mean_budget = float(np.mean(budgets))
    return GuardedModels(tuple(names), leakage, distance, mean(errors, confidence), mean_budget)
