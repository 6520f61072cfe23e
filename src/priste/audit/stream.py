"""What a finished stream of releases reveals about events, step by step.

The likelihood of each release at every cell is all that is needed. So the same functions audit
priste's own streams, other mechanisms, and traces that were released earlier.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from priste.audit.true_leakage import is_broken
from priste.errors import InvalidParameter
from priste.events import Guarded
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import (
    Adversary,
    AnyPrior,
    Family,
    Guarantee,
    KnownPrior,
    Leakage,
    Quantifier,
    possible_paths_leakage,
)

Floats = NDArray[np.float64]

ANY_PRIOR = AnyPrior()


@dataclass(frozen=True)
class EventAudit:
    """What the releases up to each step reveal about one event.

    ``leakage[t]`` is the leakage after step t, the larger of ``for_event[t]`` and
    ``against_event[t]``, or of those that ``guarantee`` bounds, against every prior of the
    ``adversary``; ``any_prior[t]`` is the larger of both against every prior there is.
    ``belief[t]`` is the probability of the event given the releases up to t for the stated prior,
    ``prior_belief`` that before any release, and ``highest_belief[t]`` the largest over the priors
    of the adversary. ``worst_prior`` belongs to the step of the largest leakage; it maps cells to
    weights, and is empty where the adversary holds one of given priors: then ``worst_given`` maps
    (model, number of the prior) to weights.

    ``any_movement[t]`` is the leakage after step t under any way to move that has the model's
    possible moves, whatever their probabilities: what is left of the guarantee if the
    model is wrong. See :func:`~priste.quantify.possible_paths_leakage`.
    """

    leakage: tuple[float, ...]
    belief: tuple[float, ...]
    prior_belief: float
    worst_prior: Mapping[int, float]
    any_movement: tuple[float, ...] = ()
    for_event: tuple[float, ...] = ()
    against_event: tuple[float, ...] = ()
    highest_belief: tuple[float, ...] = ()
    any_prior: tuple[float, ...] = ()
    adversary: Adversary = ANY_PRIOR
    guarantee: Guarantee | None = None
    worst_given: Mapping[tuple[int, int], float] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """Whether ``guarantee`` was kept at every step, up to rounding; True if there is none."""
        return self.guarantee is None or not is_broken(
            self.guarantee,
            max(self.for_event, default=-math.inf),
            max(self.against_event, default=-math.inf),
            max(self.highest_belief, default=0.0),
        )

    @property
    def max(self) -> float:
        """The largest leakage of the stream; 0 for an empty one."""
        return max(self.leakage, default=0.0)

    @property
    def max_any_prior(self) -> float:
        """The largest leakage of the stream to an adversary with any prior; 0 for an empty one."""
        return max(self.any_prior, default=0.0)

    @property
    def max_any_movement(self) -> float:
        """The largest leakage of the stream under any way to move; 0 for an empty one."""
        return max(self.any_movement, default=0.0)


def audit_stream(
    model: MarkovModel | Sequence[MarkovModel],
    events: Mapping[str, Guarded],
    likelihoods: Iterable[Floats | None],
    *,
    prior: Floats | None = None,
    adversary: Adversary = ANY_PRIOR,
    guarantees: Mapping[str, Guarantee] | None = None,
    beside: bool = True,
    family: Family = "joint",
) -> dict[str, EventAudit]:
    """Return for each event what the stream reveals about it, step by step.

    ``likelihoods`` yields per step the (m,) probability of that step's release at every cell, None
    for silence. The leakage is against every prior of ``adversary``, any prior by default, and over
    several models as ``family`` says; the belief is that of an adversary whose prior over the first
    cell is ``prior``, uniform unless given. With ``family="joint"`` all models are equally likely
    to that adversary, with ``"each"`` it holds the first model. ``guarantees`` names what was
    guaranteed about events, if anything was. Without ``beside`` an audit against one adversary
    leaves out what any prior learns, which takes most of the time.

    >>> from priste import Grid, MarkovModel, PlanarLaplace, presence
    >>> grid = Grid(rows=2, columns=2, cell_size=1.0)
    >>> model = MarkovModel.gaussian(grid, sigma=1.0)
    >>> column = PlanarLaplace(grid, alpha=1.0).likelihood(0)
    >>> found = audit_stream(model, {"corner": presence([0], [1])}, [column, None])
    >>> found["corner"].leakage[0] > 0, len(found["corner"].leakage)
    (True, 2)
    """
    models = [model] if isinstance(model, MarkovModel) else list(model)
    cells = models[0].grid.size
    stated = np.full(cells, 1.0 / cells) if prior is None else np.asarray(prior, dtype=np.float64)
    likelihoods = list(likelihoods)
    found = {}
    for name, event in events.items():
        guarded = asked_at_every_step(models, event, adversary, len(likelihoods), family)
        any_prior = guarded
        if beside and adversary != ANY_PRIOR:
            any_prior = asked_at_every_step(models, event, ANY_PRIOR, len(likelihoods), family)
        held = models if family == "joint" else models[:1]
        known = Quantifier(held, event, KnownPrior(stated))
        before = known.posterior()
        revealed: list[Leakage] = []
        widely, belief, highest = [], [], []
        for likelihood in likelihoods:
            for quantifier in dict.fromkeys((guarded, any_prior, known)):
                quantifier.observe(likelihood)
            revealed.append(guarded.leakage())
            if any_prior.adversary == ANY_PRIOR:
                widely.append(any_prior.leakage().value)
            belief.append(known.posterior())
            highest.append(guarded.belief())
        guarantee = (guarantees or {}).get(name)
        over = [each.value if guarantee is None else each.over(guarantee) for each in revealed]
        worst = max(range(len(revealed)), key=over.__getitem__, default=None)
        possible = possible_paths_leakage(models, event, likelihoods)
        found[name] = EventAudit(
            tuple(over),
            tuple(belief),
            before,
            {} if worst is None else revealed[worst].worst_prior or revealed[worst].worst_last_seen,
            tuple(each.value for each in possible),
            tuple(each.for_event for each in revealed),
            tuple(each.against_event for each in revealed),
            tuple(highest),
            tuple(widely),
            adversary,
            guarantee,
            {} if worst is None else revealed[worst].worst_given,
        )
    return found


def asked_at_every_step(
    models: Sequence[MarkovModel],
    event: Guarded,
    adversary: Adversary,
    steps: int,
    family: Family = "joint",
) -> Quantifier:
    """Return a quantifier for streams of this many steps whose leakage is asked for after each.

    Going forward then takes a row for each first cell, and going back a move for each release:
    what is less.
    """
    forward = models[0].grid.size <= steps
    return Quantifier(
        models, event, adversary, method="stream" if forward else "auto", family=family
    )


def columns_of(mechanism: Mechanism, outputs: Iterable[int | None]) -> list[Floats | None]:
    """Return the likelihood of each output under one mechanism, None where there was no release.

    This states an emission model for a trace that is already released: every output
    is taken to come from ``mechanism``, independently given the true cells.
    """
    table = mechanism.emission()
    columns: list[Floats | None] = []
    for step, output in enumerate(outputs):
        if output is None:
            columns.append(None)
            continue
        if not 0 <= output < mechanism.outputs:
            raise InvalidParameter(
                f"must be outputs of the mechanism, 0 to {mechanism.outputs - 1}",
                parameter="releases",
                got=f"{output!r} at step {step}",
                hint="Were they made on another map?",
            )
        columns.append(table[:, output])
    return columns
