"""A cheap remap of the mechanism's outputs that keeps its full budget.

The mechanism draws at its full budget. Its output is kept with a probability that depends on the
output and otherwise replaced by a public draw, or only the part of the map is told in which it
lies. The way is a function of past releases, so the law that was checked is the law of the
release. What is done to an output after it was drawn cannot weaken the mechanism's own
guarantee: the level of geo-indistinguishability stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from priste.randomness import BitSource
from priste.release.calibrator import Booleans, Draw, Floats, Law
from priste.release.calibrators.certified import Certified
from priste.release.calibrators.choice import Choice, Source
from priste.release.calibrators.cost import Cost, Costs
from priste.release.calibrators.mixing import least_private_mixture
from priste.release.calibrators.pacing import checked_pace, paced_limits
from priste.release.calibrators.remap.drafts import Drafts

if TYPE_CHECKING:
    from priste.release.public_state import PublicState

WORTHWHILE = 1.0 - 1e-6
"""A remap must cost at most this share of what needs no remap, to be worth its roundings."""


class Remap:
    """Draw at the full budget, then keep or replace the output, or tell only its part of the map.

    An output that is not kept is replaced by a draw from a public row; parts of the map are halves
    along a few dozen lines, and a few finer cuts. Either law is mixed with a public draw by the
    smallest amount at which every output passes. The budget of ``Certified`` is looked up too, and
    whatever costs least under the public prediction is used: each step costs at most what
    ``Certified`` would have cost at that step. The release depends on past releases and the
    drawn output alone.

    ``pace`` in (0, 1] is the share of what is left of each ε that one step may use up, as in
    ``Certified``. Remaps use what they may with nearly every output, so a stream needs a
    pace below 1. ``cost`` is ``"distance"``, ``"squared"``, ``"worst"`` or a matrix (cells,
    outputs).

    >>> from priste.events import presence
    >>> from priste.maps import Grid
    >>> from priste.mechanisms import PlanarLaplace
    >>> from priste.mobility import MarkovModel
    >>> from priste.release import Protector
    >>> grid = Grid(rows=3, columns=3, cell_size=1.0)
    >>> protector = Protector(MarkovModel.gaussian(grid, sigma=1.0), presence([0], [1, 2]),
    ...                       PlanarLaplace(grid, alpha=2.0), epsilon=0.5,
    ...                       calibrator=Remap(pace=0.5), rng=1)
    >>> protector.release(4).leakage[0] <= 0.25
    True
    """

    promise = True

    def __init__(self, *, pace: float = 1.0, cost: Cost = "distance") -> None:
        self._pace = checked_pace(pace, "Remap")
        self._certified = Certified(pace=self._pace)
        self._costs = Costs(cost, "Remap")

    def choose(self, state: PublicState) -> Choice:
        """Return the law for this step; it depends on nothing but the state."""
        return chosen(state, self._certified, self._pace, self._costs)

    def draw(self, state: PublicState, cell: int, bits: BitSource) -> Draw:
        """Draw once, from the law that was chosen without looking at the cell."""
        return self.choose(state).draw(cell, bits)

    def law(self, state: PublicState) -> Law:
        """Return the chosen table: one layer."""
        return self.choose(state).law()

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names."""
        return {"kind": "remap", "pace": self._pace, "cost": self._costs.describe()}


def chosen(state: PublicState, certified: Certified, pace: float, costs: Costs) -> Choice:
    """Return the cheapest of: one public output, the certified budget, the drafts of remaps."""
    mechanism = state.mechanism
    matrix, predicted = costs.matrix(mechanism), state.predicted()
    ladder = certified.ladder(mechanism)
    # Releases are made at the full budget, so the rung of the last search is the first hint.
    first, *suspected = state.hints or (-1,)
    last = ladder[first] if 0 <= first < len(ladder) else None
    budget, suspects = certified.search(state, last, suspected)
    hints = (ladder.index(budget), *suspects)

    def choice(table: Floats, dial: float, source: Source) -> Choice:
        return Choice(table, dial, costs.of(table, matrix, predicted), source, hints)

    public = np.zeros((mechanism.grid.size, mechanism.outputs))
    public[:, costs.best_public_output(matrix, predicted)] = 1.0
    best = choice(state.at(budget).emission(), budget, "certified")
    best = min(best, choice(public, 0.0, "public"), key=_price)
    if budget == mechanism.budget:
        return best
    limits = paced_limits(state, pace)

    def allowed(columns: Floats) -> Booleans:
        return state.passes(columns, limits)

    for draft in Drafts(state, limits, costs, matrix).below(WORTHWHILE * best.cost):
        mixed = least_private_mixture(draft.table, allowed, draft.needed)
        if mixed is not None:
            return min(best, choice(mixed, mechanism.budget, "remap"), key=_price)
    return best


def _price(choice: Choice) -> float:
    return choice.cost
