"""A cheap remap of the mechanism's outputs that keeps its full budget.

The mechanism draws at its full budget. Its output is kept with a probability that depends on the
output and otherwise replaced by a public draw, or only the part of the map is told in which it
lies. The way is a function of past releases, so the law that was checked is the law of the
release. What is done to an output after it was drawn cannot weaken the mechanism's own
guarantee: the level of geo-indistinguishability stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.exact_law import ExactLaw
from priste.mechanisms import Mechanism
from priste.quantify import Moments
from priste.randomness import BitSource
from priste.release.calibration import (
    Booleans,
    Draw,
    EventOperator,
    Floats,
    Law,
    Situation,
    paced_limits,
    register,
)
from priste.release.certified import Certified
from priste.release.remap_cost import Cost, Costs
from priste.release.remap_drafts import Drafts
from priste.release.remap_mixing import least_private_mixture

Source = Literal["optimal", "remap", "certified", "public"]

WORTHWHILE = 1.0 - 1e-6
"""A remap must cost at most this share of what needs no remap, to be worth its roundings."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The law of one release, chosen before looking at the cell.

    ``table`` (cells, outputs) holds the very floats that were checked and are drawn from.
    ``cost`` is what the law costs under the public prediction. ``source`` names the
    way that won: "public" is one output wherever the user is. ``lower_bound`` is what no remap
    (onto the targets in use) can cost less than, None where nothing was solved.
    """

    table: Floats
    budget: float
    cost: float
    source: Source
    hints: tuple[int, ...]
    lower_bound: float | None = None
    rounds: int = 0

    @property
    def gap(self) -> float | None:
        """How much more than the bound the law costs, at most; None without a bound."""
        if self.lower_bound is None:
            return None
        return max(0.0, self.cost - self.lower_bound)

    def draw(self, cell: int, bits: BitSource) -> Draw:
        """Draw from the table at the true cell."""
        output = ExactLaw(self.table[cell]).draw(bits)
        column = None if self.source == "certified" else np.array(self.table[:, output])
        return Draw(output, self.budget, likelihood=column, hints=self.hints)

    def law(self) -> Law:
        """Return the table as a law of one layer."""
        return Law((self.budget,), self.table[None, :, :])


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

    def __init__(self, *, pace: float = 1.0, cost: Cost = "distance") -> None:
        self._pace = checked_pace(pace, "Remap")
        self._certified = Certified(pace=self._pace)
        self._costs = Costs(cost, "Remap")

    def choose(self, situation: Situation) -> Choice:
        """Return the law for this step; it depends on nothing but the situation."""
        return chosen(situation, self._certified, self._pace, self._costs)

    def draw(self, situation: Situation, cell: int, bits: BitSource) -> Draw:
        """Draw once, from the law that was chosen without looking at the cell."""
        return self.choose(situation).draw(cell, bits)

    def law(self, situation: Situation) -> Law:
        """Return the chosen table: one layer."""
        return self.choose(situation).law()

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names."""
        return {"kind": "remap", "pace": self._pace, "cost": self._costs.describe()}


def checked_pace(pace: float, who: str) -> float:
    """Return the pace of a calibrator, or raise InvalidParameter."""
    if isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 < pace <= 1:
        raise InvalidParameter(f"The 'pace' of {who} must be in (0, 1]. Got {pace!r}.")
    return float(pace)


def chosen(situation: Situation, certified: Certified, pace: float, costs: Costs) -> Choice:
    """Return the cheapest of: one public output, the certified budget, the drafts of remaps."""
    mechanism = situation.mechanism
    matrix, predicted = costs.matrix(mechanism), situation.predicted()
    view = _CertifiedView(situation, certified.ladder(mechanism))
    budget, suspects = certified.search(view)
    hints = (view.ladder.index(budget), *suspects)

    def choice(table: Floats, dial: float, source: Source) -> Choice:
        return Choice(table, dial, costs.of(table, matrix, predicted), source, hints)

    public = np.zeros((mechanism.grid.size, mechanism.outputs))
    public[:, costs.best_public_output(matrix, predicted)] = 1.0
    best = choice(situation.at(budget).emission(), budget, "certified")
    best = min(best, choice(public, 0.0, "public"), key=_price)
    if budget == mechanism.budget:
        return best
    limits = paced_limits(situation, pace)

    def allowed(columns: Floats) -> Booleans:
        return situation.passes(columns, limits)

    for draft in Drafts(situation, limits, costs, matrix).below(WORTHWHILE * best.cost):
        mixed = least_private_mixture(draft.table, allowed, draft.needed)
        if mixed is not None:
            return min(best, choice(mixed, mechanism.budget, "remap"), key=_price)
    return best


def _price(choice: Choice) -> float:
    return choice.cost


class _CertifiedView:
    """A situation as ``Certified`` would have left it: its last budget and its suspects.

    The releases were made at the full budget, so the rung at which the search ended is kept as
    the first of the hints.
    """

    def __init__(self, situation: Situation, ladder: tuple[float, ...]) -> None:
        self._situation = situation
        self.ladder = ladder

    @property
    def step(self) -> int:
        return self._situation.step

    @property
    def mechanism(self) -> Mechanism:
        return self._situation.mechanism

    @property
    def last_budget(self) -> float | None:
        hints = self._situation.hints
        if not hints or not 0 <= hints[0] < len(self.ladder):
            return None
        return self.ladder[hints[0]]

    @property
    def hints(self) -> tuple[int, ...]:
        return self._situation.hints[1:]

    @property
    def leakage(self) -> tuple[float, ...]:
        return self._situation.leakage

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self._situation.epsilons

    def at(self, budget: float) -> Mechanism:
        return self._situation.at(budget)

    def predicted(self) -> Floats:
        return self._situation.predicted()

    def passes(self, columns: Floats, limits: Sequence[float] | None = None) -> NDArray[np.bool_]:
        return self._situation.passes(columns, limits)

    def moments(self, column: Floats) -> Iterator[tuple[Moments, float]]:
        return self._situation.moments(column)

    def operators(self) -> Iterator[EventOperator]:
        return self._situation.operators()


register("remap", Remap)
