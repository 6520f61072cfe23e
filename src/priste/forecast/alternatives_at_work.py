"""The usual alternatives to priste under a policy: named, parsed and released.

Every alternative is described by its exact table, so the likelihood of each release is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps import best_constant
from priste.mechanisms import Identity, PlanarLaplace
from priste.mechanisms.alternatives import (
    MoveTable,
    PointTable,
    adaptive,
    coarsened,
    constant_point,
    landmarks,
    policy_graph,
    remapped,
    rounded,
    velocity_aware,
    zones,
)
from priste.policy.explanation import span_words
from priste.randomness import BitSource
from priste.release.guarded_hours import event_steps
from priste.results import TrueSteps
from priste.results.true_steps import NONE

if TYPE_CHECKING:
    from priste.policy import Policy

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SPEEDS = 1000
"""As from this many training speeds is the bandwidth of velocity-aware noise, n^(-1/5)."""

LANDMARK_EVERY = 3
"""Every third cell, in both directions, is a landmark."""


@dataclass(frozen=True, eq=False)
class Released:
    """One stream: the likelihood of each step's release, and the point (T, 2) in km, nan if none.

    A likelihood is (m,) of cells, (m, m) of moves, or None where there is no release, or silence
    that does not depend on the place.
    """

    likelihoods: Sequence[Floats | None]
    points: Floats


@dataclass(frozen=True, eq=False)
class Alternative:
    """A way to release: its name, what it does in words, and how a stream is made."""

    name: str
    words: str
    release: Callable[[TrueSteps, Flags, BitSource], Released]


def alternatives_of(policy: Policy, names: Sequence[str] = ()) -> tuple[Alternative, ...]:
    """Return the alternatives that were named, as ``kind`` or ``kind:number``; all unless given.

    Raises InvalidParameter for a kind that does not exist, or a number that is not one. priste
    under the policy is not among them: it is what they are compared with.
    """
    return tuple(_named(policy, name) for name in names or DEFAULT)


def with_priste(policy: Policy) -> Alternative:
    """Return the policy itself as a way to release."""

    def release(truth: TrueSteps, followed: Flags, bits: BitSource) -> Released:
        protector = policy.protector(rng=bits)
        points = np.full((len(truth), 2), np.nan)
        last = int(np.flatnonzero(followed)[-1])
        for step in range(last + 1):
            cell = int(truth.cells[step]) if followed[step] and truth.cells[step] != NONE else None
            shown = protector.release(cell).cell
            if shown is not None:
                points[step] = policy.grid.centers[shown]
        ledger = protector.ledger
        return Released([ledger.likelihood(step) for step in range(last + 1)], points)

    return Alternative("priste", "this policy", release)


def _named(policy: Policy, text: str) -> Alternative:
    kind, _, number = text.partition(":")
    if kind not in KINDS:
        raise InvalidParameter(
            f"must be one of {', '.join(KINDS)}, with a number after a colon where it takes one",
            parameter="with",
            owner="compare",
            value=text,
        )
    usual, build = KINDS[kind]
    if usual is None and number:
        raise InvalidParameter(f"{kind} takes no number", parameter="with", value=text)
    try:
        value = float(number) if number else usual or 0.0
    except ValueError:
        raise InvalidParameter(
            "must end in a number", parameter="with", owner="compare", value=text
        ) from None
    return build(policy, text, value)


def _of_points(name: str, words: str, table: PointTable, **pace: int) -> Alternative:
    return Alternative(
        name, words, lambda truth, steps, bits: _pointed(table, truth, steps, bits, **pace)
    )


def _pointed(
    table: PointTable,
    truth: TrueSteps,
    followed: Flags,
    bits: BitSource,
    *,
    delay: int = 0,
    every: int = 1,
) -> Released:
    """Release by a table without memory, at every so many steps, and some steps later.

    A release that comes later is about its own step, and reveals the same if it comes after the
    end of the stream.
    """
    last = int(np.flatnonzero(followed)[-1])
    likelihoods: list[Floats | None] = [None] * (last + 1)
    points = np.full((len(truth), 2), np.nan)
    columns = table.mechanism.emission().T
    for number, step in enumerate(np.flatnonzero(followed).tolist()):
        if number % every or truth.cells[step] == NONE:
            continue
        output = table.draw(int(truth.cells[step]), truth.places[step], bits)
        likelihoods[step] = columns[output]
        if step + delay < len(truth):
            points[step + delay] = table.points[output]
    return Released(likelihoods, points)


def _of_moves(name: str, words: str, table: MoveTable) -> Alternative:
    def release(truth: TrueSteps, followed: Flags, bits: BitSource) -> Released:
        last = int(np.flatnonzero(followed)[-1])
        likelihoods: list[Floats | None] = [None] * (last + 1)
        points = np.full((len(truth), 2), np.nan)
        before: int | None = None
        for step in range(last + 1):
            cell = int(truth.cells[step])
            if not followed[step] or cell == NONE:
                before = None
                continue
            output = table.draw(before, cell, bits)
            first = before is None
            likelihoods[step] = (
                table.first_likelihood(output) if first else table.likelihood(output)
            )
            points[step] = table.points[output]
            before = cell
        return Released(likelihoods, points)

    return Alternative(name, words, release)


def _laplace(policy: Policy) -> PlanarLaplace:
    """Return the policy's planar Laplace noise; of two cells on average under another mechanism."""
    if isinstance(policy.mechanism, PlanarLaplace):
        return policy.mechanism
    return PlanarLaplace(policy.grid, 1.0 / policy.grid.cell_size)


def _exact(policy: Policy) -> PointTable:
    return PointTable(Identity(policy.grid), policy.grid.centers)


def _moves(policy: Policy) -> Floats:
    """Return (m, m) how often people make each move, over one period of the model."""
    model = policy.model
    share, total = policy.population, np.zeros((policy.grid.size, policy.grid.size))
    for step in range(model.period or 1):
        matrix = model.transition(step).toarray()
        total += share[:, None] * matrix
        share = share @ matrix
    return total


def _places(policy: Policy) -> Floats:
    """Return (n, 2) the middle of each region that an event speaks of."""
    guarded = policy.guarded_cells
    regions = [region.cells for region in policy.regions.values() if region.cells]
    spoken = [sorted(cells) for cells in regions if guarded.issuperset(cells)] or [sorted(guarded)]
    return np.stack([policy.grid.centers[cells].mean(axis=0) for cells in spoken])


def _guarded(policy: Policy) -> frozenset[int]:
    own = {step for hours in policy.guarded_hours for step in hours}
    spoken = (step for each in policy.events.values() for step in event_steps(each.event))
    return frozenset(own).union(spoken)


def _landmark_cells(policy: Policy) -> list[int]:
    grid, half = policy.grid, LANDMARK_EVERY // 2
    return [
        row * grid.columns + column
        for row in range(min(half, grid.rows - 1), grid.rows, LANDMARK_EVERY)
        for column in range(min(half, grid.columns - 1), grid.columns, LANDMARK_EVERY)
    ]


def _landmarks(policy: Policy, name: str, number: float) -> Alternative:
    cells = _landmark_cells(policy)
    k = min(round(number), len(cells))
    words = f"one of the {k} nearest of {len(cells)} landmarks"
    return _of_points(name, words, landmarks(policy.grid, cells, k))


def _off_in_guarded_hours(policy: Policy, name: str, _: float) -> Alternative:
    silent = _guarded(policy)

    def release(truth: TrueSteps, followed: Flags, bits: BitSource) -> Released:
        shown = followed.copy()
        shown[[step for step in silent if step < len(shown)]] = False
        if not shown.any():
            return _nothing(truth, followed, bits)
        return _pointed(_exact(policy), truth, shown, bits)

    return Alternative(name, "switched off in the guarded hours, exact at others", release)


def _nothing(truth: TrueSteps, followed: Flags, bits: BitSource) -> Released:
    last = int(np.flatnonzero(followed)[-1])
    return Released([None] * (last + 1), np.full((len(truth), 2), np.nan))


def _delayed(policy: Policy, name: str, minutes: float) -> Alternative:
    steps = max(1, round(60 * minutes / policy.timeline.step.total_seconds()))
    late = span_words(steps * policy.timeline.step)
    return _of_points(name, f"the true cell, {late} later", _exact(policy), delay=steps)


def _sampled(policy: Policy, name: str, number: float) -> Alternative:
    every = max(1, round(number))
    span = span_words(every * policy.timeline.step)
    return _of_points(name, f"the true cell, once in {span}", _exact(policy), every=every)


def _velocity_aware(policy: Policy, name: str, strength: float) -> Alternative:
    table = velocity_aware(
        _laplace(policy),
        strength=strength,
        hours=policy.timeline.step.total_seconds() / 3600,
        moves=_moves(policy),
        bandwidth=SPEEDS**-0.2,
    )
    return _of_moves(name, "noise that shrinks with speed (Privkit's VA-GI)", table)


Builder = Callable[["Policy", str, float], Alternative]

KINDS: dict[str, tuple[float | None, Builder]] = {
    "exact": (None, lambda p, n, _: _of_points(n, "no protection: the true cell", _exact(p))),
    "coarse": (
        3.0,
        lambda p, n, km: _of_points(n, f"approximate location: {km:g} km", coarsened(p.grid, km)),
    ),
    "rounding": (
        2.0,
        lambda p, n, digits: _of_points(
            n, f"coordinates with {digits:g} decimals", rounded(p.grid, round(digits))
        ),
    ),
    "zones": (
        0.5,
        lambda p, n, km: _of_points(
            n, f"nothing within {km:g} km of the place", zones(p.grid, _places(p), km)
        ),
    ),
    "delay": (120.0, _delayed),
    "sampling": (4.0, _sampled),
    "landmarks": (3.0, _landmarks),
    "laplace": (
        0.0,
        lambda p, n, alpha: _of_points(
            n,
            "geo-indistinguishable noise",
            PointTable(PlanarLaplace(p.grid, alpha) if alpha else _laplace(p), p.grid.centers),
        ),
    ),
    "remapped": (
        None,
        lambda p, n, _: _of_points(
            n, "such noise, remapped to likely places", remapped(_laplace(p), p.population)
        ),
    ),
    "adaptive": (
        None,
        lambda p, n, _: _of_moves(
            n, "noise that grows with predictability (Privkit's)", adaptive(_laplace(p))
        ),
    ),
    "velocity": (2.0, _velocity_aware),
    "pglp": (
        4.0,
        lambda p, n, block: _of_points(
            n, f"PGLP, blocks of {block:g}² cells, ε 1", policy_graph(p.grid, round(block), 1.0)
        ),
    ),
    "constant": (
        None,
        lambda p, n, _: _of_points(
            n, "one public point", constant_point(p.grid, best_constant(p.grid, p.population))
        ),
    ),
    "hours-off": (None, _off_in_guarded_hours),
    "off": (None, lambda p, n, _: Alternative(n, "switched off", _nothing)),
}
"""Every kind of alternative: the number that it takes, by default, and how it is made."""

DEFAULT = (
    "exact",
    "coarse:1",
    "coarse:3",
    "coarse:5",
    "rounding:2",
    "zones:0.5",
    "zones:1.5",
    "delay",
    "sampling",
    "landmarks",
    "laplace",
    "remapped",
    "adaptive",
    "velocity",
    "pglp",
    "hours-off",
    "constant",
    "off",
)
