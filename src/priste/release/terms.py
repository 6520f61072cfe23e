"""The terms of a stream: what is guarded, how, and how strictly; fixed while it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import check_choice, check_float
from priste.errors import InvalidParameter
from priste.events import Event
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import (
    FAMILIES,
    Adversary,
    AnyPrior,
    BeliefBound,
    Family,
    Guarantee,
    KnownPrior,
    OddsBound,
    PriorsWithin,
    StartsIn,
    as_adversary,
)
from priste.release.calibrator import Calibrator
from priste.release.calibrators import calibrator_of_name

PRIOR_SUM_TOLERANCE = 1e-9
"""How far the sum of a public prior may be from 1."""

Models = MarkovModel | Sequence[MarkovModel]
Events = Event | Sequence[Event] | Mapping[str, Event]
Guarantees = float | Guarantee | Sequence[float | Guarantee] | Mapping[str, float | Guarantee]


@dataclass(frozen=True, eq=False)
class Terms:
    """What a stream is released under; made and checked by :func:`make_terms`.

    ``guarantees`` has one entry per event; each is kept against every prior of ``adversary`` over
    the first cell, under each of the models or jointly over the model that holds, as ``family``
    says. Predictions use the first model and ``public_prior``
    (None for uniform).
    """

    models: tuple[MarkovModel, ...]
    event_names: tuple[str, ...]
    events: tuple[Event, ...]
    guarantees: tuple[Guarantee, ...]
    adversary: Adversary
    mechanism: Mechanism
    calibrator: Calibrator
    public_prior: NDArray[np.float64] | None
    family: Family

    def expected_start(self) -> NDArray[np.float64]:
        """Return (m,), where the stream is predicted to begin.

        The public prior if there is one; otherwise what the adversary's priors are on average.
        """
        cells = self.mechanism.grid.size
        if self.public_prior is not None:
            return self.public_prior
        adversary = self.adversary.of_model(0)
        if isinstance(adversary, KnownPrior):
            return np.asarray(adversary.rows.mean(axis=0))
        if isinstance(adversary, PriorsWithin):
            return np.asarray(np.atleast_2d(adversary.prior).sum(axis=0))
        start = np.zeros(cells)
        start[list(adversary.cells) if isinstance(adversary, StartsIn) else slice(None)] = 1.0
        return np.asarray(start / start.sum())

    @property
    def epsilons(self) -> tuple[float, ...]:
        """What no leakage exceeds while its guarantee is kept; inf for a cap on beliefs."""
        return tuple(largest_leakage(guarantee) for guarantee in self.guarantees)

    @property
    def last_step(self) -> int | None:
        """The last step for which all models have movement; None if there is no end."""
        ends = [model.horizon for model in self.models if model.horizon is not None]
        return min(ends, default=None)


def make_terms(
    model: Models,
    events: Events,
    mechanism: Mechanism,
    guarantee: Guarantees,
    calibrator: str | Calibrator,
    public_prior: ArrayLike | None,
    adversary: Adversary | Sequence[Adversary] | None = None,
    family: Family = "joint",
) -> Terms:
    """Check everything a Protector is given, and bring it to one form."""
    models = (model,) if isinstance(model, MarkovModel) else tuple(model)
    if not models or not all(isinstance(each, MarkovModel) for each in models):
        raise InvalidParameter(
            "The 'model' of a Protector must be a MarkovModel or a sequence of at least one."
        )
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameter(
            f"The 'mechanism' of a Protector must be a Mechanism. Got "
            f"{type(mechanism).__name__}. For a matrix of your own use EmissionTable(grid, matrix)."
        )
    if any(each.grid != mechanism.grid for each in models):
        raise InvalidParameter(
            "The models and the mechanism of a Protector must be on one grid. Got "
            f"{[repr(each.grid) for each in models]} and {mechanism.grid!r}."
        )
    names, formulas = _named_events(events)
    return Terms(
        models=models,
        event_names=names,
        events=formulas,
        guarantees=_guarantees(guarantee, names),
        adversary=(
            AnyPrior()
            if adversary is None
            else as_adversary(adversary, name="'adversary' of a Protector")
        ),
        mechanism=mechanism,
        calibrator=_calibrator(calibrator),
        public_prior=_prior(public_prior, mechanism.grid.size),
        family=check_choice(family, FAMILIES, "family", "a Protector"),
    )


def _named_events(events: Events) -> tuple[tuple[str, ...], tuple[Event, ...]]:
    if isinstance(events, Event):
        pairs = {"event": events}
    elif isinstance(events, Mapping):
        pairs = dict(events)
    elif isinstance(events, Sequence) and not isinstance(events, str):
        pairs = {f"event{k}": event for k, event in enumerate(events)}
    else:
        raise InvalidParameter(
            "The 'events' of a Protector must be an Event, a sequence of events, or a mapping from "
            f"names to events. Got {type(events).__name__}. parse_event() reads text."
        )
    if not pairs:
        raise InvalidParameter("A Protector needs at least one event to guard. Got none.")
    for name, event in pairs.items():
        if not isinstance(name, str) or not isinstance(event, Event):
            raise InvalidParameter(
                "The 'events' of a Protector must be Events, named by text if they are named. Got "
                f"{type(name).__name__} -> {type(event).__name__}."
            )
    return tuple(pairs), tuple(pairs.values())


def _guarantees(guarantee: Guarantees, names: tuple[str, ...]) -> tuple[Guarantee, ...]:
    values: tuple[object, ...]
    if isinstance(guarantee, Mapping):
        if set(guarantee) != set(names):
            raise InvalidParameter(
                f"The 'guarantee' of a Protector names {sorted(guarantee)}, its events are "
                f"{sorted(names)}. Give one value per event."
            )
        values = tuple(guarantee[name] for name in names)
    elif isinstance(guarantee, Sequence | np.ndarray) and not isinstance(guarantee, str):
        values = tuple(guarantee)
    else:
        values = (guarantee,) * len(names)
    if len(values) != len(names):
        raise InvalidParameter(
            "The 'guarantee' of a Protector must be one guarantee, or one per event "
            f"({len(names)}). Got {len(values)}."
        )
    return tuple(_guarantee(value) for value in values)


def _guarantee(value: object) -> Guarantee:
    if isinstance(value, BeliefBound):
        return value
    if isinstance(value, OddsBound):
        if min(value.up, value.down) > 0.0 and min(value.up, value.down) < math.inf:
            return value
        raise InvalidParameter(
            "The OddsBound of a Protector must be > 0 in both directions, and finite in one at "
            f"least. Got {value!r}. To release without a guarantee use calibrator='uncalibrated'."
        )
    bound = check_float(
        value,
        "guarantee",
        "a Protector",
        above=0.0,
        why="natural logarithm of the largest likelihood ratio, both ways",
        hint="For one direction use OddsBound(up, down), for a belief BeliefBound(at_most).",
    )
    return OddsBound(bound, bound)


def largest_leakage(guarantee: Guarantee) -> float:
    """Return the largest leakage at which a guarantee may still be kept.

    >>> largest_leakage(OddsBound(up=1.0, down=math.inf)), largest_leakage(BeliefBound(0.2))
    (1.0, inf)
    """
    if isinstance(guarantee, BeliefBound):
        return math.inf
    return max(bound for bound in (guarantee.up, guarantee.down) if bound < math.inf)


def _calibrator(calibrator: str | Calibrator) -> Calibrator:
    if isinstance(calibrator, str):
        return calibrator_of_name(calibrator)
    if isinstance(calibrator, type) or not isinstance(calibrator, Calibrator):
        raise InvalidParameter(
            "The 'calibrator' of a Protector must be a name or an object with draw(), law(), "
            f"describe() and guarantee. Got {calibrator!r}."
        )
    return calibrator


def _prior(prior: ArrayLike | None, cells: int) -> NDArray[np.float64] | None:
    if prior is None:
        return None
    array = np.array(prior, dtype=np.float64)
    if array.shape != (cells,) or not np.isfinite(array).all() or (array < 0).any():
        raise InvalidParameter(
            f"The 'public_prior' of a Protector must hold {cells} finite numbers >= 0, one per "
            f"cell. Got shape {array.shape}."
        )
    if abs(array.sum() - 1.0) > PRIOR_SUM_TOLERANCE:
        raise InvalidParameter(
            f"The 'public_prior' of a Protector must sum to 1 within {PRIOR_SUM_TOLERANCE:g}. "
            f"Got {array.sum()!r}."
        )
    array.flags.writeable = False
    return array
