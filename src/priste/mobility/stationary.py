"""The stationary distribution of a model: the share of time that it spends in each state.

Defined for every finite chain: the limit of the average of the first ``n`` distributions,
from a given start. If the chain is irreducible this is its only stationary distribution,
periodic or not, and the start does not matter. If it is reducible, each closed class
takes the mass that ends up in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import groupby

import numpy as np

from priste.errors import PristeError
from priste.mobility.chains import (
    SOLVE_LIMIT,
    Matrix,
    Push,
    scaled,
    stationary_by_arnoldi,
    stationary_of_matrix,
)
from priste.mobility.transitions import Transition
from priste.mobility.validation import FloatArray

STATIONARY_TOLERANCE = 1e-10
"""Largest ``sum(abs(p @ M - p))`` of an answer ``p``."""

MAX_POWER_STEPS = 20_000
"""Steps of power iteration before an answer is given up."""

MOST_PRODUCTS = 4_000_000_000
"""Multiplications for which one round is written as one matrix: about a third of a second. A day of
24 different hours on 2,401 cells would take 3e11 of them and 22 seconds, and Arnoldi's method under
one."""

MOST_ROUNDS = 20
"""Rounds of a cycle that are tried before Arnoldi's method, which takes about twice as many."""


def stationary_share(transitions: Sequence[Transition], start: FloatArray) -> FloatArray:
    """Return the stationary share of each state, seen once per round of ``transitions``.

    ``start`` is the distribution of the first state. The answer is unchanged by a round up
    to ``STATIONARY_TOLERANCE``; if that is not reached, a :class:`PristeError` says so.
    """

    def push(share: FloatArray) -> FloatArray:
        for transition in transitions:
            share = transition.push(share)
        return share

    share: FloatArray | None
    stored = transitions[0].stored_csr if len(transitions) == 1 else None
    solvable = start.size <= SOLVE_LIMIT
    if stored is not None:
        share = stationary_of_matrix(stored, start)
    elif solvable and _products(transitions) * start.size**3 <= MOST_PRODUCTS:
        share = stationary_of_matrix(_as_matrix(transitions), start)
    elif all(transition.is_primitive() for transition in dict.fromkeys(transitions)):
        share = _common_product(transitions)
        if share is None and len(transitions) > 1:
            share = _by_rounds(push, start)
        if share is None:
            share = stationary_by_arnoldi(push, start.size)
    elif solvable:
        share = stationary_of_matrix(_as_matrix(transitions), start)
    else:
        share = _by_iteration(push, start)
    share = scaled(share)
    moved = push(share)
    gap = float(np.abs(scaled(moved) - share).sum())
    if not gap <= STATIONARY_TOLERANCE:
        raise PristeError(
            f"The stationary distribution was found only within {gap:.3g} (wanted "
            f"{STATIONARY_TOLERANCE:g}): this chain mixes too slowly.",
            hint="Give the start of sample() or the prior yourself.",
        )
    return share


def _products(transitions: Sequence[Transition]) -> int:
    """Return how many products of matrices one round takes, about."""
    lengths = [sum(1 for _ in alike) for _, alike in groupby(transitions)]
    return sum(length.bit_length() for length in lengths) - 1


def _as_matrix(transitions: Sequence[Transition]) -> Matrix:
    """Return one round as a matrix."""
    powers = (
        _power(transition, sum(1 for _ in alike)) for transition, alike in groupby(transitions)
    )
    return reduce(np.matmul, powers)


def _power(transition: Transition, count: int) -> FloatArray:
    """Return ``count`` steps of one transition, by squaring: an hour may have sixty."""
    square, power = transition.toarray(), None
    while count:
        if count % 2:
            power = square if power is None else power @ square
        count //= 2
        if count:
            square = square @ square
    return np.asarray(power, dtype=np.float64)


def _common_product(transitions: Sequence[Transition]) -> FloatArray | None:
    """Return the distribution that follows from the parts of every step, if they agree.

    Steps that differ in how often one stays, but not in where one goes, have one. That it is
    stationary is for the caller to check.
    """
    found: FloatArray | None = None
    for transition in dict.fromkeys(transitions):
        share = transition.product_stationary()
        if share is None:
            return None
        if found is not None and np.abs(share - found).sum() > STATIONARY_TOLERANCE / 4.0:
            return None
        found = share
    return found


def _by_rounds(push: Push, start: FloatArray) -> FloatArray | None:
    """Return what is left after some rounds if they forget their start; None if they do not.

    Over a day or a week of a city few rounds do: a dozen, where Arnoldi's method takes forty. What
    is still missing is bounded by the rate at which the last rounds changed.
    """
    share, gap = scaled(start), np.inf
    for _ in range(MOST_ROUNDS):
        moved = scaled(push(share))
        before, gap = gap, float(np.abs(moved - share).sum())
        share = moved
        if gap < before < np.inf and gap * gap / (before - gap) <= STATIONARY_TOLERANCE / 4.0:
            return share
    return None


def _by_iteration(push: Push, start: FloatArray) -> FloatArray:
    """Iterate the lazy chain (half the time it stays): same answer, and never periodic."""
    share = scaled(start)
    for _ in range(MAX_POWER_STEPS):
        moved = scaled(push(share))
        if float(np.abs(moved - share).sum()) <= STATIONARY_TOLERANCE / 4.0:
            break
        share = np.asarray(0.5 * (share + moved), dtype=np.float64)
    return share
