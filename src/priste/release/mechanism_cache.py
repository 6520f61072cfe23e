"""The mechanisms of the budgets that a stream has used lately, with their emission matrices."""

from __future__ import annotations

import threading
from collections import OrderedDict

from priste.mechanisms import Mechanism

CACHE_BYTES = 2**28
"""How much memory the emission matrices of recently used budgets may take: 256 MiB."""


class MechanismCache:
    """One mechanism at recently used budgets, up to a limit of memory; safe across threads."""

    def __init__(self, full: Mechanism) -> None:
        self.full = full
        self._turn = threading.RLock()
        self._by_budget: OrderedDict[float, Mechanism] = OrderedDict()
        self._room = max(2, CACHE_BYTES // (8 * full.grid.size * full.outputs))

    def at(self, budget: float) -> Mechanism:
        """Return the mechanism at a budget up to its own; the same object as lately if kept."""
        if budget == self.full.budget:
            return self.full
        with self._turn:
            found = self._by_budget.get(budget)
            if found is None:
                found = self._by_budget[budget] = self.full.with_budget(budget)
                if len(self._by_budget) > self._room:
                    self._by_budget.popitem(last=False)
            self._by_budget.move_to_end(budget)
            return found
