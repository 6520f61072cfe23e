"""The mechanisms of the budgets that streams have used lately, with their tables."""

from __future__ import annotations

import threading
from collections import OrderedDict

from priste.mechanisms import Mechanism

TABLE_CACHE_BYTES = 2**28
"""How much memory the emission tables of recently used budgets may take: 256 MiB."""


class TableCache:
    """The mechanisms of recently used budgets, with their tables, up to a limit of memory.

    Streams that share their beginnings share it, whatever threads they are on.
    """

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._full: Mechanism | None = None
        self._by_budget: OrderedDict[float, Mechanism] = OrderedDict()
        self._room = 1

    def serve(self, full: Mechanism) -> None:
        """Forget the tables of another mechanism."""
        with self._turn:
            if full is not self._full:
                self._full = full
                self._by_budget.clear()
                self._room = max(2, TABLE_CACHE_BYTES // (8 * full.grid.size * full.outputs))

    def at(self, full: Mechanism, budget: float) -> Mechanism:
        """Return a mechanism at another budget, the same object as lately if it is kept."""
        with self._turn:
            if full is not self._full:
                self.serve(full)
            if budget == full.budget:
                return full
            found = self._by_budget.get(budget)
            if found is None:
                found = full.with_budget(budget)
                self._by_budget[budget] = found
                if len(self._by_budget) > self._room:
                    self._by_budget.popitem(last=False)
            self._by_budget.move_to_end(budget)
            return found
