"""Cheap proposals for a remap: keep or replace each output, or tell only the part of the map.

A draft is a law that is not private yet, and what must be added to each of its columns so that it
is. Both are found by searching; the exact check decides about the law that is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from priste.mechanisms import Mechanism
from priste.quantify import Promise
from priste.release.calibrator import Booleans, Floats
from priste.release.calibrators.cost import Costs
from priste.release.calibrators.mixing import additions
from priste.release.calibrators.remap.grouping import OutputPlaces
from priste.release.calibrators.remap.search import QuickCheck, is_searchable

if TYPE_CHECKING:
    from priste.release.public_state import PublicState

SUPPRESSED_SHARES = (0.0, 0.25, 0.5)
"""Which shares of the failing outputs, the worst first, are tried to be replaced altogether."""

PARTS = (3, 4, 6, 9, 16)
"""Into how many parts the map is cut, beside the halves."""

LOOKED_AT = 4
"""How many ways to cut the map are looked at closely."""

HOPEFUL = 1.0 / 8.0
"""Keeping and replacing is looked at if it would pay with this share of what seems needed."""

SAMPLED = 48
"""How many outputs are asked whether keeping and replacing is hopeless."""

CLOSELY = 1.01
"""The precision of what is added to a draft."""

ROUGHLY = 2.0
"""The precision with which sampled outputs are asked what they need."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A law ``table`` (cells, outputs), what to add to each column, and what that would cost."""

    table: Floats
    needed: Floats
    cost: float


class Drafts:
    """Proposes laws for one step; ``limits`` are the promises of the step, one per event."""

    def __init__(
        self, state: PublicState, limits: Sequence[Promise], costs: Costs, matrix: Floats
    ) -> None:
        self._mechanism: Mechanism = state.mechanism
        self._emission = self._mechanism.emission()
        self._predicted = state.predicted()
        self._costs, self._matrix = costs, matrix
        self._state, self._limits = state, limits
        self._quick: QuickCheck | None = None
        if is_searchable(state):
            operators = list(state.operators())
            self._quick = QuickCheck(operators, self._emission, limits)

    def below(self, price: float) -> list[Draft]:
        """Return the drafts that would cost less than this, the cheapest first."""
        found = [*self._parted(), *self._kept(price)]
        return sorted((draft for draft in found if draft.cost < price), key=lambda d: d.cost)

    # ------------------------------------------------------------------ parts of the map

    def _parted(self) -> Iterator[Draft]:
        """Yield the cheapest law that tells one of two halves, and of 3 and more parts."""
        places = OutputPlaces.of(self._mechanism, self._predicted)
        halves = places.halves()
        cut = [halves[:, k : k + 2] for k in range(0, halves.shape[1], 2)]
        parts = [places.groups(count) for count in PARTS if count <= self._mechanism.outputs]
        cut += [labels[:, None] == np.arange(labels.max() + 1) for labels in parts]
        cut = [sets for sets in cut if sets.shape[1] > 1]
        if not cut:
            return
        prices = self._priced(cut, self._enough)
        likely = [cut[place] for place in np.argsort(prices, kind="stable")[:LOOKED_AT]]
        prices = self._priced(likely, self._search)
        sets = likely[int(np.argmin(prices))].astype(np.float64)
        needed = self._search(sets)
        if np.isfinite(needed).all():
            columns, targets = self._emission @ sets, self._best_targets(sets, needed)
            table, added = np.zeros_like(self._emission), np.zeros(self._emission.shape[1])
            for k, target in enumerate(targets):
                table[:, target] += columns[:, k]
                added[target] += needed[k]
            yield Draft(table, added, float(prices.min()))

    def _priced(self, cut: Sequence[Booleans], constants: Callable[[Floats], Floats]) -> Floats:
        """Return what it costs to tell the part, for each of these ways to cut the map."""
        sets = np.concatenate(cut, axis=1).astype(np.float64)
        needed = constants(sets)
        columns, targets = self._emission @ sets, self._best_targets(sets, needed)
        ends = np.cumsum([part.shape[1] for part in cut])
        places = [slice(end - part.shape[1], end) for part, end in zip(cut, ends, strict=True)]
        return np.array(
            [self._price(columns[:, mine], needed[mine], targets[mine]) for mine in places]
        )

    def _best_targets(self, sets: Floats, needed: Floats) -> Floats:
        """Return (k,) for each set with its constant the output that costs least."""
        belief = self._predicted
        if self._costs.is_worst_case:
            belief = np.full(len(belief), 1.0 / len(belief))
        priced = self._matrix * belief[:, None]
        by_set = (self._emission @ sets).T @ priced
        constant = np.where(np.isfinite(needed), needed, 0.0)
        return np.asarray((by_set + constant[:, None] * priced.sum(axis=0)).argmin(axis=1))

    def _price(self, columns: Floats, needed: Floats, targets: Floats) -> float:
        total = 1.0 + needed.sum()
        if not np.isfinite(total):
            return float("inf")
        by_cell = np.einsum("lk,lk->l", columns + needed, self._matrix[:, targets]) / total
        return float(by_cell.max() if self._costs.is_worst_case else self._predicted @ by_cell)

    # ------------------------------------------------------------------ keep or replace

    def _kept(self, price: float) -> Iterator[Draft]:
        """Yield laws that replace some outputs that fail, and mix the others as they need it.

        Only the column of the public output changes, so the others need what they needed before.
        """
        if self._quick is not None and self._hopeful_cost(self._quick) >= price:
            return
        needed = self._search(np.eye(self._emission.shape[1]))
        if not np.isfinite(needed).all():
            return
        for table, added in self._suppressed(needed):
            target = self._public_output()
            merged = np.where(table.any(axis=0), 0.0, 1.0)
            merged[target] = 1.0
            added[target] = self._search(merged[:, None])[0]
            yield Draft(table, added, self._mixed_cost(table, added))

    def _hopeful_cost(self, quick: QuickCheck) -> float:
        """Return what keeping and replacing would cost with a share of what is needed.

        Some outputs stand for all: what is needed relative to the largest entry differs little.
        It is searched for: the constant that is enough at sight may be many times too large.
        """
        largest = self._emission.max(axis=0)
        count = len(largest)
        some = np.unique(np.linspace(0, count - 1, SAMPLED).astype(np.int64))
        asked = np.zeros((count, len(some)))
        asked[some, np.arange(len(some))] = 1.0
        relative = quick.additions(asked, ROUGHLY) / np.where(
            largest[some] > 0.0, largest[some], 1.0
        )
        nearest = np.searchsorted(some, np.arange(count)).clip(max=len(some) - 1)
        enough = np.zeros(count)  # an output that never comes needs nothing, whatever is near
        drawn = largest > 0.0
        enough[drawn] = HOPEFUL * relative[nearest[drawn]] * largest[drawn]
        return min(self._mixed_cost(*draft) for draft in self._suppressed(enough))

    def _suppressed(self, needed: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield laws without the worst outputs, and what the others need."""
        emission, target = self._emission, self._public_output()
        largest = np.where(emission.any(axis=0), emission.max(axis=0), 1.0)
        worst_first = np.argsort(-needed / largest, kind="stable")
        failing = worst_first[: int(np.count_nonzero(needed))]
        for share in SUPPRESSED_SHARES:
            replaced = failing[: int(np.ceil(share * len(failing)))]
            table, added = np.array(emission), np.array(needed)
            table[:, replaced], added[replaced] = 0.0, 0.0
            table[:, target] += emission[:, replaced].sum(axis=1)
            added[target] = 0.0
            yield table, added

    def _public_output(self) -> int:
        return self._costs.best_public_output(self._matrix, self._predicted)

    def _mixed_cost(self, table: Floats, added: Floats) -> float:
        if not np.isfinite(added).all():
            return float("inf")
        public = self._matrix @ added
        by_cell = (np.einsum("lo,lo->l", table, self._matrix) + public) / (1.0 + added.sum())
        return float(by_cell.max() if self._costs.is_worst_case else self._predicted @ by_cell)

    def _enough(self, sets: Floats) -> Floats:
        """Return (k,) constants that are enough, found without a search where that is possible."""
        return self._search(sets) if self._quick is None else self._quick.enough(sets)

    def _search(self, sets: Floats) -> Floats:
        """Return (k,) the constants that make sets of outputs (outputs, k) private, or inf.

        By the exact check where the operators of the map are too large to be written out.
        """
        if self._quick is not None:
            return self._quick.additions(sets, CLOSELY)
        found = additions(self._emission @ sets, self._allowed)
        return np.full(sets.shape[1], np.inf) if found is None else found

    def _allowed(self, columns: Floats) -> Booleans:
        return self._state.passes(columns, self._limits)
