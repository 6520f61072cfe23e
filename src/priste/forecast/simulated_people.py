"""The simulated people: drawn from the model of a policy, or the person of an opened trace.

Whatever a forecast says about an opened trace may decide what its owner guards. So the trace is
read without the guarded hours, and what happens in them is drawn from the model, between the last
cell before them and the first one after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priste.events import Guarded
from priste.maps import Grid
from priste.randomness import BitSource
from priste.release.guarded_hours import event_steps, stretches
from priste.results import TrueSteps, true_steps
from priste.results.true_steps import NONE, off_map_cells
from priste.traces import Trace
from priste.traces.fixes import microseconds

if TYPE_CHECKING:
    from priste.mobility import MarkovModel
    from priste.policy import Policy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

TRIES = 200
"""How many ways through the hours of an event are drawn to find one on which it happens."""

LEAD_HOURS = 6.0
"""So long before an event such a way begins to differ from that of the person drawn first."""

BRIDGED = timedelta(hours=3)
"""Guarded hours of an opened trace are filled in from the fixes so near before and after them."""

_PLACES = 1 << 16
"""A place within a cell is one of this many along each side."""


def drawn_person(policy: Policy, bits: BitSource, event: Guarded | None = None) -> TrueSteps:
    """Return a person drawn from the model, somewhere in their cell at each step of the clock.

    With an ``event`` one to whom it happens, if that is found in ``TRIES`` draws.
    """
    model, steps = policy.model, policy.steps
    cells = model.sample(steps, bits, policy.population)
    spoken = event_steps(event) if event is not None else ()
    if event is not None and spoken:
        lead = round(LEAD_HOURS * 3600 / policy.timeline.step.total_seconds())
        begin, last = max(0, min(spoken) - lead), max(spoken)
        later = model.starting_at(begin)
        for _ in range(TRIES):
            part = later.sample(last + 1 - begin, bits, int(cells[begin]))
            way = np.concatenate([cells[:begin], part])
            if event.holds(way.tolist()):
                rest = model.starting_at(last).sample(steps - last, bits, int(way[-1]))
                cells = np.concatenate([way, rest[1:]])
                break
    return _placed(policy, cells, bits)


def _placed(policy: Policy, cells: Integers, bits: BitSource) -> TrueSteps:
    """Return the truth of somebody in these cells, somewhere in each."""
    places = _anywhere(policy.grid, cells, bits)
    return TrueSteps(cells, places, off_map_cells(policy)[cells])


def _anywhere(grid: Grid, cells: Integers, bits: BitSource) -> Floats:
    shifts = np.array([[bits.below(_PLACES), bits.below(_PLACES)] for _ in cells]).reshape(-1, 2)
    return np.asarray(grid.centers[cells] + grid.cell_size * ((shifts + 0.5) / _PLACES - 0.5))


@dataclass(frozen=True, eq=False)
class OpenedTrace:
    """A person's trace on the clock of a policy, without what happened in guarded hours.

    ``known`` is what is left of it, and ``hidden`` (T,) the steps of guarded hours that are filled
    in: as large a share of them as of the steps around them has a fix.
    """

    policy: Policy
    known: TrueSteps
    hidden: Flags

    @classmethod
    def of(cls, policy: Policy, trace: Trace) -> OpenedTrace:
        """Return what may be read of a trace."""
        hours, steps = policy.guarded_time, policy.steps
        rest = hours.outside(trace) if trace.times.size else None
        if rest is None:
            known = TrueSteps.of_cells(policy.grid, [None] * steps)
        else:
            known = true_steps(policy, rest)
        middles = [microseconds(policy.timeline.middle_of(step)) for step in range(steps)]
        guarded = hours.hold(np.array(middles, dtype=np.int64)) & (known.cells == NONE)
        hidden = np.zeros(steps, dtype=np.bool_)
        for held in stretches(np.flatnonzero(guarded).tolist()):
            near = _around(policy, held)
            outside = ~guarded[near.start : near.stop]
            usual = (known.cells[near.start : near.stop] != NONE)[outside]
            filled = round(len(held) * float(usual.mean())) if usual.size else 0
            hidden[np.linspace(held.start, held.stop - 1, filled).round().astype(np.int64)] = True
        return cls(policy, known, hidden)

    @property
    def released(self) -> Flags:
        """(T,) the steps at which there is a release."""
        return np.asarray((self.known.cells != NONE) | self.hidden)

    def person(self, bits: BitSource) -> TrueSteps:
        """Return the trace with its guarded hours drawn from the model."""
        policy = self.policy
        cells, places = self.known.cells.copy(), self.known.places.copy()
        drawn = np.flatnonzero(self.hidden)
        reach = BRIDGED // policy.timeline.step
        for part in np.split(drawn, np.flatnonzero(np.diff(drawn) > reach) + 1):
            if part.size:
                gap = range(int(part[0]), int(part[-1]) + 1)
                near = _around(policy, gap)
                nearby = np.full(near.stop, NONE)
                nearby[near.start :] = self.known.cells[near.start : near.stop]
                cells[part] = bridge(policy.model, nearby, gap, bits)[part - gap.start]
        places[drawn] = _anywhere(policy.grid, cells[drawn], bits)
        off_map = self.known.off_map.copy()
        off_map[drawn] = off_map_cells(policy)[cells[drawn]]
        return TrueSteps(cells, places, off_map)


def _around(policy: Policy, gap: range) -> range:
    """Return the steps of a gap and those so near that a fix there counts."""
    reach = BRIDGED // policy.timeline.step
    return range(max(0, gap.start - reach), min(policy.steps, gap.stop + reach))


def bridge(model: MarkovModel, cells: Integers, gap: range, bits: BitSource) -> Integers:
    """Return cells for the steps of a gap, drawn from the model given the cells around it.

    ``cells`` is ``NONE`` where nothing is known. Given are the last known cell before the gap and
    the first one after it. Where the model leads from one to the other by no way, only the first
    counts.
    """
    before = np.flatnonzero(cells[: gap.start] != NONE)
    after = np.flatnonzero(cells[gap.stop :] != NONE)
    first = int(before[-1]) if before.size else gap.start
    last = int(after[0]) + gap.stop if after.size else gap.stop - 1
    ahead = [_inside(model, last, cells)]
    for step in range(last - 1, first - 1, -1):
        message = _inside(model, step, cells) * model.transition(step).pull(ahead[-1])
        ahead.append(message / (message.max() or 1.0))
    ahead.reverse()
    if not ahead[0].any():
        return bridge(model, cells[: gap.stop], gap, bits)
    weights = ahead[0]
    found = np.empty(last - first + 1, dtype=np.int64)
    for place, step in enumerate(range(first, last + 1)):
        state = _drawn(weights, bits)
        found[place] = model.cell_of_state(step)[state]
        if step < last:
            here = np.zeros(model.states(step))
            here[state] = 1.0
            weights = model.transition(step).push(here) * ahead[place + 1]
    return found[gap.start - first : gap.stop - first]


def _inside(model: MarkovModel, step: int, cells: Integers) -> Floats:
    """Return (states,) 1 for each state of a step whose cell is the known one; all if none is."""
    if step >= len(cells) or cells[step] == NONE:
        return np.ones(model.states(step))
    return np.asarray(model.cell_of_state(step) == cells[step], dtype=np.float64)


def _drawn(weights: Floats, bits: BitSource) -> int:
    """Return a place, with chances as its weight; simulation only, so floats decide."""
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, sums[-1] * (bits.below(1 << 53) + 0.5) / (1 << 53)))
