"""The terms of a stream: models, events, guarantees, adversary, mechanism. Fixed while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import check_choice, check_distribution
from priste.errors import InvalidParameter
from priste.events import Event, Guarded, Secret
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import (
    FAMILIES,
    Adversary,
    Family,
    Guarantee,
    Quantifier,
    as_adversary,
    as_guarantee,
)
from priste.release.guarded_hours import Pads, checked_pads, guarded_hours_of

OWNER = "a Protector"

Derived = TypeVar("Derived")

Models = MarkovModel | Sequence[MarkovModel]
Events = Guarded | Sequence[Guarded] | Mapping[str, Guarded]
Guarantees = float | Guarantee | Sequence[float | Guarantee] | Mapping[str, float | Guarantee]


@dataclass(frozen=True, eq=False)
class Terms:
    """What a stream is released under; made and checked by :func:`make_terms`.

    ``guarantees`` has one entry per event; each is kept against every prior of ``adversary`` over
    the first cell, under each of the models or jointly over the model that holds, as ``family``
    says. Predictions use the first model and ``public_prior``, or the mean prior of the adversary.
    ``pads`` has one entry per event: its guarded hours reach this many steps before and after it;
    None for an event without guarded hours.
    """

    models: tuple[MarkovModel, ...]
    event_names: tuple[str, ...]
    events: tuple[Guarded, ...]
    guarantees: tuple[Guarantee, ...]
    adversary: Adversary
    mechanism: Mechanism
    public_prior: NDArray[np.float64] | None
    family: Family
    pads: tuple[int | None, ...]
    _derived: dict[Hashable, object] = field(default_factory=dict, repr=False)
    _turn: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what every process derives for itself."""
        names = (each.name for each in fields(self) if not each.name.startswith("_"))
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _derived={}, _turn=threading.RLock())

    def derived(self, key: Hashable, derive: Callable[[], Derived]) -> Derived:
        """Return what follows from the terms only; it is derived once for each key."""
        with self._turn:
            if key not in self._derived:
                self._derived[key] = derive()
            found: Derived = self._derived[key]  # type: ignore[assignment]  # of this key
            return found

    def expected_start(self) -> NDArray[np.float64]:
        """Return (m,), where the stream is predicted to begin.

        The public prior if there is one; otherwise what the adversary's priors are on average.
        """
        if self.public_prior is not None:
            return self.public_prior
        cells = self.mechanism.grid.size
        return self.derived("expected start", lambda: self.adversary.mean_prior(cells))

    @cached_property
    def guarded_hours(self) -> frozenset[int]:
        """The steps at which the best public guess is released, whatever the true cell."""
        padded = zip(self.events, self.pads, strict=True)
        hours = (guarded_hours_of(event, pad) for event, pad in padded if pad is not None)
        return frozenset[int]().union(*hours)

    @cached_property
    def against(self) -> str:
        """The adversary that the guarantee is against, in words; one text for all releases."""
        return self.adversary.words()

    @property
    def epsilons(self) -> tuple[float, ...]:
        """What no leakage exceeds while its guarantee is kept; inf for a cap on beliefs."""
        return tuple(guarantee.largest_leakage for guarantee in self.guarantees)

    @cached_property
    def last_step(self) -> int | None:
        """The last step for which all models have movement; None if there is no end."""
        ends = [model.horizon for model in self.models if model.horizon is not None]
        return min(ends, default=None)

    def check_feasible(self, quantifiers: Sequence[Quantifier]) -> None:
        """Refuse events about which nothing is open, and guarantees that are broken already."""
        for name, quantifier, guarantee in zip(
            self.event_names, quantifiers, self.guarantees, strict=True
        ):
            guarantee.comparisons(quantifier.answers, quantifier.has_rest)  # refuses what cannot be
            for part, joint in quantifier.parts():
                if quantifier.judge.undecided_prior(joint):
                    continue
                never = quantifier.judge.prior_belief(joint) == 0.0
                shown = repr(name) if part is None else f"{part!r} of {name!r}"
                raise InvalidParameter(
                    f"The event {shown} {'cannot happen' if never else 'happens for certain'} "
                    "under the model, for every first cell that the adversary "
                    f"({self.adversary.words()}) holds possible. Nothing could be learnt about "
                    "it, so there is nothing to guard.",
                    hint="Check its cells and steps, the model and the adversary.",
                )
            guarantee.check_feasible(name, quantifier.prior_belief(), self.adversary.words())


def make_terms(
    model: Models,
    events: Events,
    mechanism: Mechanism,
    guarantee: Guarantees,
    public_prior: ArrayLike | None,
    adversary: Adversary | Sequence[Adversary],
    family: Family = "joint",
    guarded_hours: Pads = None,
) -> Terms:
    """Check everything a Protector is given, and bring it to one form."""
    models = (model,) if isinstance(model, MarkovModel) else tuple(model)
    if not models or not all(isinstance(each, MarkovModel) for each in models):
        raise InvalidParameter(
            "must be a MarkovModel or a sequence of at least one", parameter="model", owner=OWNER
        )
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameter(
            "must be a Mechanism",
            parameter="mechanism",
            owner=OWNER,
            value=type(mechanism),
            hint="For a matrix of your own use EmissionTable(grid, matrix).",
        )
    if any(each.grid != mechanism.grid for each in models):
        raise InvalidParameter(
            "must be on the grid of the models",
            parameter="mechanism",
            owner=OWNER,
            got=f"{mechanism.grid!r} with {[repr(each.grid) for each in models]}",
        )
    names, formulas = _named_events(events)
    return Terms(
        models=models,
        event_names=names,
        events=formulas,
        guarantees=_guarantees(guarantee, names),
        adversary=as_adversary(adversary, owner="a Protector"),
        mechanism=mechanism,
        public_prior=_prior(public_prior, mechanism.grid.size),
        family=check_choice(family, FAMILIES, "family", "a Protector"),
        pads=checked_pads(guarded_hours, names),
    )


def _named_events(events: Events) -> tuple[tuple[str, ...], tuple[Guarded, ...]]:
    if isinstance(events, Event | Secret):
        pairs = {"event": events}
    elif isinstance(events, Mapping):
        pairs = dict(events)
    elif isinstance(events, Sequence) and not isinstance(events, str):
        pairs = {f"event{k}": event for k, event in enumerate(events)}
    else:
        raise InvalidParameter(
            "must be an Event or a Secret, a sequence of them, or a mapping from names to them",
            parameter="events",
            owner=OWNER,
            value=type(events),
            hint="parse_event() reads text.",
        )
    if not pairs:
        raise InvalidParameter(
            "must hold at least one event to guard", parameter="events", owner=OWNER, got="none"
        )
    for name, event in pairs.items():
        if not isinstance(name, str) or not isinstance(event, Event | Secret):
            raise InvalidParameter(
                "must be Events or Secrets, named by text if they are named",
                parameter="events",
                owner=OWNER,
                got=f"{type(name).__name__} -> {type(event).__name__}",
            )
    return tuple(pairs), tuple(pairs.values())


def _guarantees(guarantee: Guarantees, names: tuple[str, ...]) -> tuple[Guarantee, ...]:
    values: tuple[object, ...]
    if isinstance(guarantee, Mapping):
        if set(guarantee) != set(names):
            raise InvalidParameter(
                f"must name the events, {sorted(names)}",
                parameter="guarantee",
                owner=OWNER,
                value=tuple(sorted(guarantee)),
                hint="Give one value per event.",
            )
        values = tuple(guarantee[name] for name in names)
    elif isinstance(guarantee, Sequence | np.ndarray) and not isinstance(guarantee, str):
        values = tuple(guarantee)
    else:
        values = (guarantee,) * len(names)
    if len(values) != len(names):
        raise InvalidParameter(
            f"must be one guarantee, or one per event ({len(names)})",
            parameter="guarantee",
            owner=OWNER,
            value=len(values),
        )
    return tuple(_guarantee(value) for value in values)


def _guarantee(value: object) -> Guarantee:
    found = as_guarantee(value, name="guarantee", owner="a Protector")
    found.check_usable("a Protector")
    return found


def _prior(prior: ArrayLike | None, cells: int) -> NDArray[np.float64] | None:
    if prior is None:
        return None
    return check_distribution(prior, "public_prior", "a Protector", (cells,))
