"""The fixes of the steps that are not over yet, in memory only and bounded in number."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Literal

from priste.policy import Policy
from priste.traces import Fix, Timeline, Trace
from priste.traces.fixes import microseconds

SLOTS = 2_048
"""A step keeps the last fix of each of this many equal parts of it, however many come."""

OPEN_STEPS = 3
"""Steps that collect at the same time: the one that ends, the one that runs, and the next."""


class Collector:
    """Fixes by step, and what the policy's rule makes of them when a step is over."""

    def __init__(self, policy: Policy, hold: timedelta) -> None:
        self._policy = policy
        self._hold = hold
        self._open: dict[int, dict[int, Fix]] = {}
        self._last: Fix | None = None
        self._turn = threading.Lock()  # fixes come in while another thread releases a step

    def __repr__(self) -> str:  # fixes are true locations
        return f"<Collector of {len(self._open)} steps>"

    def put(self, step: int, fix: Fix) -> bool:
        """Keep a fix; False if too many steps are open."""
        with self._turn:
            return self._put(step, fix)

    def _put(self, step: int, fix: Fix) -> bool:
        slots = self._open.get(step)
        if slots is None:
            if len(self._open) >= OPEN_STEPS:
                return False
            slots = self._open[step] = {}
        timeline = self._policy.timeline
        into = fix.time - timeline.time_of(step)
        slots[int(into * SLOTS / timeline.step)] = fix
        return True

    def held(self, step: int) -> list[Fix]:
        """Return the fixes of a step that is not over."""
        with self._turn:
            return sorted(self._open.get(step, {}).values(), key=_when)

    def drop(self, step: int) -> None:
        """Forget the fixes of a step, and the last fix before it, so that neither counts later."""
        with self._turn:
            self._open.pop(step, None)
            self._last = None

    def cell(self, step: int) -> int | None:
        """Close a step, and all before it, and return its cell; None if no fix counts for it.

        A position off the map counts as the nearest border cell, unless the policy makes it a gap,
        also where the policy would refuse it. Without a fix in the step the last one counts for as
        long as ``hold`` says.
        """
        with self._turn:
            return self._cell(step)

    def _cell(self, step: int) -> int | None:
        kept = self._open.pop(step, {})
        for earlier in [other for other in self._open if other < step]:
            kept_before = self._open.pop(earlier)
            self._last = max(kept_before.values(), key=_when, default=self._last)
        fixes = sorted({_when(fix): fix for fix in kept.values()}.values(), key=_when)
        if fixes:
            self._last = fixes[-1]
        elif self._last is not None:
            end = self._policy.timeline.time_of(step + 1)
            if end - self._last.time > self._hold:
                return None
            middle = self._policy.timeline.middle_of(step)
            fixes = [Fix(self._last.user, middle, self._last.lat, self._last.lon)]
        else:
            return None
        policy = self._policy
        alone = Timeline(policy.timeline.time_of(step), policy.timeline.step, policy.timeline.zone)
        outside: Literal["gap", "nearest"] = "gap" if policy.outside == "gap" else "nearest"
        trace = Trace.of(Fix(None, fix.time, fix.lat, fix.lon) for fix in fixes)
        guarded = policy.guarded_cells if policy.rule == "any" else ()
        found = alone.cells(trace, policy.grid, policy.rule, outside, steps=1, guarded=guarded)
        return found.cells[0]


def _when(fix: Fix) -> int:
    return microseconds(fix.time)
