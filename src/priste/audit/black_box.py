"""A test of the guarantee that trusts nothing but the releases themselves.

Streams are drawn from real Protectors, half of them along trajectories on which the event
happened and half along others. If the guarantee holds, no set of outcomes can be more than
e**ε times as frequent in one half as in the other. The test looks for a set for which it is,
and returns a lower bound on ε that is wrong with probability at most ``error``.

How the error is kept: sets are chosen with one part of the streams and judged with another
that has not been looked at; each probability gets a Clopper-Pearson bound; the error
is shared between the sets, the two directions, the two probabilities of each, and the looks
(look j gets the share 1 / (j (j + 1)), which sums to 1 however long one goes on).
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from priste.arguments import check_float, check_int
from priste.audit.black_box_power import SETS, Excess, error_share, smallest_excess, streams_for
from priste.audit.estimates import clopper_pearson_high, clopper_pearson_low
from priste.errors import InvalidParameter
from priste.events import Event
from priste.mobility import MarkovModel
from priste.randomness import BitSource, Seed, bit_source
from priste.release import Ledger, Protector

Outcome = Callable[[Ledger], Hashable]
PlainRelease = Callable[[list[int], np.random.Generator], Iterable[Hashable]]
"""Somebody else's way to release: from the true cell of each step to what is put out."""

MAX_TRIES = 10_000
"""How often a trajectory is drawn to get one on which the event happened (or did not)."""


@dataclass(frozen=True)
class BlackBoxResult:
    """A lower bound on the leakage of an implementation, from its releases only.

    ``lower_bound`` is below the true leakage with probability at least 1 - ``error``; 0 means
    that nothing was found. ``broken`` says whether it is above the claimed ``epsilon``.
    ``outcomes`` is the set that showed it, ``streams`` how many streams were drawn in all.

    A check that finds nothing is as strong as what it could have found: see
    :meth:`smallest_excess`.
    """

    epsilon: float
    lower_bound: float
    error: float
    streams: int
    looks: int
    outcomes: frozenset[Hashable]
    streams_per_look: int

    def smallest_excess(self, probability: float = 0.1, power: float = 0.9) -> float:
        """Return the smallest excess over ``epsilon`` that this many streams would have shown.

        For outcomes that have this ``probability`` on the side where they are more frequent, with
        chance ``power`` at least; see :func:`~priste.audit.smallest_excess`.
        """
        return smallest_excess(
            self.epsilon,
            streams_per_look=self.streams_per_look,
            looks=self.looks,
            error=self.error,
            probability=probability,
            power=power,
        )

    @property
    def broken(self) -> bool:
        """Whether the guarantee is refuted, at the stated error."""
        return self.lower_bound > self.epsilon


def outputs_and_budgets(ledger: Ledger) -> Hashable:
    """Return all that was released: the default outcome."""
    return tuple((release.cell, release.budget) for release in ledger)


def black_box_check(
    make_protector: Callable[[BitSource], Protector] | PlainRelease,
    model: MarkovModel,
    event: Event,
    epsilon: float,
    steps: int,
    *,
    prior: ArrayLike | None = None,
    streams_per_look: int = 1000,
    to_find: Excess | None = None,
    looks: int = 4,
    error: float = 0.05,
    rng: Seed | BitSource = None,
    outcome: Outcome = outputs_and_budgets,
) -> BlackBoxResult:
    """Run a way to release many times and bound from below what it reveals about ``event``.

    ``make_protector(bits)`` returns a new Protector that draws from ``bits``. A plain function of
    two arguments, ``release(cells, rng)``, works too: it gets the true cell of each step and a
    numpy Generator, and returns what is released, one hashable value or more. Users move by
    ``model`` and start by ``prior`` (uniform unless given): a cell or two that the event depends on
    give the test more power. Each look draws ``streams_per_look`` streams on each side, or, with
    ``to_find``, as many as find such an excess (see :func:`~priste.audit.streams_for`); the
    test stops at the first look that refutes ``epsilon``. ``outcome`` makes of a ledger what
    is compared; it must be coarse enough that outcomes repeat.
    """
    check_float(error, "error", "a black-box check", above=0.0, below=1.0)
    check_int(looks, "looks", "a black-box check", least=1)
    check_int(streams_per_look, "streams_per_look", "a black-box check", least=2)
    if to_find is not None:
        streams_per_look = streams_for(epsilon, to_find, looks=looks, error=error)
    bits = bit_source(rng)
    cells = model.grid.size
    start = np.full(cells, 1.0 / cells) if prior is None else np.asarray(prior, dtype=np.float64)
    length = max(steps, 1 + (event.last_step or 0))
    plain = _takes_two(make_protector)

    def streams(happening: bool) -> Iterable[Hashable]:
        for _ in range(streams_per_look):
            trajectory = _conditioned(model, event, happening, length, start, bits)[:steps]
            if plain:
                rng = np.random.default_rng(bits.below(2**63))
                yield tuple(make_protector(trajectory, rng))  # type: ignore[call-arg, arg-type]
                continue
            protector = make_protector(bits)  # type: ignore[call-arg, arg-type]
            for cell in trajectory:
                protector.release(cell)  # type: ignore[union-attr]
            yield outcome(protector.ledger)  # type: ignore[union-attr]

    return lower_bound_from(streams, epsilon, looks=looks, error=error)


def _takes_two(function: Callable[..., object]) -> bool:
    """Return whether a function must be given two arguments."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return (
        sum(
            each.kind in kinds and each.default is inspect.Parameter.empty
            for each in inspect.signature(function).parameters.values()
        )
        == 2
    )


def lower_bound_from(
    streams: Callable[[bool], Iterable[Hashable]], epsilon: float, *, looks: int, error: float
) -> BlackBoxResult:
    """Return the lower bound from any source of outcomes; the statistics of the check.

    ``streams(happening)`` yields independent outcomes given the event (True) or its negation.
    It is called twice per look; half of each batch chooses sets, the other half judges.
    """
    chosen_by: tuple[Counter[Hashable], Counter[Hashable]] = (Counter(), Counter())
    judged_by: tuple[Counter[Hashable], Counter[Hashable]] = (Counter(), Counter())
    best, outcomes, drawn = 0.0, frozenset[Hashable](), 0
    for look in range(1, looks + 1):
        fresh = [list(streams(happening)) for happening in (True, False)]
        drawn += sum(map(len, fresh))
        for side, batch in enumerate(fresh):
            chosen_by[side].update(batch[::2])
            judged_by[side].update(batch[1::2])
        share = error_share(error, look)
        for more in (0, 1):
            for candidate in _candidates(chosen_by[more], chosen_by[1 - more]):
                bound = _ratio_bound(judged_by[more], judged_by[1 - more], candidate, share)
                if bound > best:
                    best, outcomes = bound, candidate
        if best > epsilon:
            break
    return BlackBoxResult(epsilon, best, error, drawn, look, outcomes, drawn // (2 * look))


def _candidates(more: Counter[Hashable], less: Counter[Hashable]) -> list[frozenset[Hashable]]:
    """Return up to ``SETS`` sets of outcomes that look more frequent on one side.

    Outcomes are ordered by their smoothed ratio, and the sets are the heads of that order that
    guarantee the largest lower bounds.
    """
    totals = max(1, more.total()), max(1, less.total())
    ordered = sorted(
        set(more) | set(less),
        key=lambda o: (-(more[o] + 0.5) / (less[o] + 0.5), -more[o], repr(o)),
    )
    heads: list[tuple[float, int]] = []
    one = other = 0
    for size, outcome in enumerate(ordered, start=1):
        one, other = one + more[outcome], other + less[outcome]
        if one == 0:
            continue
        # The estimate less two standard deviations: what a judge is likely to grant.
        spread = 2.0 * math.sqrt(1.0 / one + 1.0 / (other + 1.0))
        ratio = math.log((one / totals[0]) / ((other + 1.0) / totals[1]))
        heads.append((ratio - spread, size))
    heads.sort(reverse=True)
    return [frozenset(ordered[:size]) for _, size in heads[:SETS]]


def _ratio_bound(
    more: Counter[Hashable], less: Counter[Hashable], outcomes: frozenset[Hashable], error: float
) -> float:
    """Return a lower bound on ln of the ratio of probabilities of a set; 2 * error at most."""
    counts = [sum(side[o] for o in outcomes) for side in (more, less)]
    low = clopper_pearson_low(counts[0], more.total(), error)
    high = clopper_pearson_high(counts[1], less.total(), error)
    return math.log(low / high) if low > 0.0 else -math.inf


def _conditioned(
    model: MarkovModel,
    event: Event,
    happening: bool,
    length: int,
    start: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    bits: BitSource,
) -> list[int]:
    for _ in range(MAX_TRIES):
        trajectory: list[int] = model.sample(length, bits, start).tolist()
        if event.holds(trajectory) == happening:
            return trajectory
    raise InvalidParameter(
        f"In {MAX_TRIES} draws the event never was {happening}.",
        hint="Give a 'prior' of starts from which both the event and its negation are likely "
        "enough to be drawn.",
    )
