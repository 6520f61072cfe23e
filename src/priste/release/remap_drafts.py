"""Cheap proposals for a remap: keep or replace each output, or tell only the part of the map.

A draft is a law that is not private yet, and what must be added to each of its columns so that it
is. Both are found by searching; the exact check decides about the law that is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from priste.mechanisms import Mechanism
from priste.release.calibration import Booleans, Floats, Situation
from priste.release.remap_cost import Costs
from priste.release.remap_grouping import OutputPlaces
from priste.release.remap_mixing import additions
from priste.release.remap_search import QuickCheck, is_searchable

SUPPRESSED_SHARES = (0.0, 0.25, 0.5)
"""Which shares of the failing outputs, the worst first, are tried to be replaced altogether."""

PARTS = (3, 4, 6, 9, 16)
"""Into how many parts the map is cut, beside the halves."""

ROUGHLY = 1.5
"""The precision at which keeping and replacing is first looked at: most often it is hopeless."""

CLOSELY = 1.01
"""The precision of what is added to a draft."""

Search = Callable[[Floats, float], Floats]
"""Sets of outputs (outputs, k) and a precision to the constants (k,) that make them private."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A law ``table`` (cells, outputs), what to add to each column, and what that would cost."""

    table: Floats
    needed: Floats
    cost: float


class Drafts:
    """Proposes laws for one step; ``limits`` are the bounds of the step, one per event."""

    def __init__(
        self, situation: Situation, limits: Sequence[float], costs: Costs, matrix: Floats
    ) -> None:
        self._mechanism: Mechanism = situation.mechanism
        self._emission = self._mechanism.emission()
        self._predicted = situation.predicted()
        self._costs, self._matrix = costs, matrix
        self._search = _search(situation, self._emission, limits)

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
        sets = np.concatenate(cut, axis=1).astype(np.float64)
        needed = self._search(sets, CLOSELY)
        columns = self._emission @ sets
        targets = self._best_targets(sets, needed)
        best: tuple[float, slice] | None = None
        first = 0
        for part in cut:
            mine = slice(first, first + part.shape[1])
            first = mine.stop
            price = self._price(columns[:, mine], needed[mine], targets[mine])
            if best is None or price < best[0]:
                best = price, mine
        if best is not None and np.isfinite(best[0]):
            mine = best[1]
            table, added = np.zeros_like(self._emission), np.zeros(self._emission.shape[1])
            for k in range(mine.start, mine.stop):
                table[:, targets[k]] += columns[:, k]
                added[targets[k]] += needed[k]
            yield Draft(table, added, best[0])

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
        every = np.eye(self._emission.shape[1])
        needed = self._search(every, ROUGHLY)
        if not np.isfinite(needed).all():
            return
        hopeful = min(
            self._mixed_cost(table, added / ROUGHLY) for table, added in self._suppressed(needed)
        )
        if hopeful >= price:
            return
        needed = self._search(every, CLOSELY)
        for table, added in self._suppressed(needed):
            yield Draft(table, added, self._mixed_cost(table, added))

    def _suppressed(self, needed: Floats) -> Iterator[tuple[Floats, Floats]]:
        emission = self._emission
        target = self._costs.best_public_output(self._matrix, self._predicted)
        largest = np.where(emission.any(axis=0), emission.max(axis=0), 1.0)
        worst_first = np.argsort(-needed / largest, kind="stable")
        failing = worst_first[: int(np.count_nonzero(needed))]
        for share in SUPPRESSED_SHARES:
            replaced = failing[: int(np.ceil(share * len(failing)))]
            table, added = np.array(emission), np.array(needed)
            table[:, replaced], added[replaced] = 0.0, 0.0
            table[:, target] += emission[:, replaced].sum(axis=1)
            merged = np.zeros((emission.shape[1], 1))
            merged[replaced] = merged[target] = 1.0
            added[target] = self._search(merged, CLOSELY)[0]
            yield table, added

    def _mixed_cost(self, table: Floats, added: Floats) -> float:
        if not np.isfinite(added).all():
            return float("inf")
        mixed = (table + added) / (1.0 + added.sum())
        return self._costs.of(mixed, self._matrix, self._predicted)


def _search(situation: Situation, emission: Floats, limits: Sequence[float]) -> Search:
    """Return the search for constants: quick where operators fit, by the exact check elsewhere."""
    if is_searchable(situation):
        quick = QuickCheck(list(situation.operators()), emission, limits)
        return quick.additions

    def allowed(columns: Floats) -> Booleans:
        return situation.passes(columns, limits)

    def checked(sets: Floats, precision: float) -> Floats:
        found = additions(emission @ sets, allowed)
        return np.full(sets.shape[1], np.inf) if found is None else found

    return checked
