"""The optimal calibrator: the cheapest remap of the mechanism's outputs that is still private.

The paper leaves open how to have both location privacy and event privacy in the best way. Here the
mechanism stays at its full budget, so its geo-indistinguishability is whole, and a randomised
remap of its outputs, a function of past releases alone, is optimised under the conditions
of all events: a linear programme (see :mod:`priste.release.calibrators.optimal.programme`).

What the solver returns is a proposal. It is mixed with a public draw by the smallest amount
at which the exact check accepts every output, and the very floats that passed are drawn from. If
there is no proposal, or it is not worth its price, the cheaper sibling decides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from priste.errors import InvalidParameter
from priste.mechanisms.rows import settle_rows
from priste.quantify import Promise
from priste.randomness import BitSource
from priste.release.calibrator import Booleans, Draw, Floats, Law
from priste.release.calibrators.certified import Certified
from priste.release.calibrators.choice import Choice
from priste.release.calibrators.optimal.columns import ColumnProgramme
from priste.release.calibrators.optimal.programme import Deadline, EventCuts, Programme, Proposal
from priste.release.calibrators.pacing import checked_pace, paced_limits
from priste.release.calibrators.remap.cost import Cost, Costs
from priste.release.calibrators.remap.mixing import least_private_mixture
from priste.release.calibrators.remap.remap import chosen
from priste.release.calibrators.remap.search import is_searchable

if TYPE_CHECKING:
    from priste.release.public_state import PublicState

MAX_ROUNDS = 150
"""How often rows are added and the programme is solved again, at most."""

ALL_PAIRS = 50
"""Up to this many outputs every output may be sent to every other, and the optimum is exact."""

EXACT_SHARE = 0.6
"""Which share of the time the exact optimum may take before something coarser is tried."""


class Optimal:
    """Optimise the remap of the mechanism's outputs at every step, and check it exactly.

    ``pace`` in (0, 1] is the share of what is left of each ε that one step may use up, as in
    ``Certified``. An optimal law uses it up with nearly every output, so a stream needs a pace
    below 1. ``cost`` is ``"distance"``, ``"squared"``, ``"worst"`` or a matrix (cells,
    outputs), as in ``Remap``.

    ``seconds`` > 0 bounds the time of a step, up to the last check of the law; None leaves the
    work to ``rounds``, and then the law is a function of the state alone. With
    ``seconds`` it also depends on how busy the machine is, never on the true cell; every release
    carries its column, so a journal replays exactly. With more than 50 outputs, groups of
    neighbouring outputs are sent alike, and ``lower_bound`` is that of remaps of this kind to some
    dozens of targets (see :mod:`priste.release.calibrators.optimal.columns`); a law that sends to
    other targets may cost less.

    ``clock`` tells the seconds; a measurement that must not depend on other programs counts those
    of its own process. It is no term of the stream: a state file does not hold it.

    The law costs at most what ``Remap`` would choose. :meth:`choose` returns it with
    ``lower_bound``, the value of the programme, and ``gap``.

    >>> from priste.events import presence
    >>> from priste.maps import Grid
    >>> from priste.mechanisms import PlanarLaplace
    >>> from priste.mobility import MarkovModel
    >>> from priste.release import Protector
    >>> grid = Grid(rows=3, columns=3, cell_size=1.0)
    >>> protector = Protector(MarkovModel.gaussian(grid, sigma=1.0), presence([0], [1, 2]),
    ...                       PlanarLaplace(grid, alpha=2.0), epsilon=0.5,
    ...                       calibrator=Optimal(pace=0.5), rng=1)
    >>> protector.release(4).leakage[0] <= 0.25
    True
    """

    promise = True

    def __init__(
        self,
        *,
        pace: float = 1.0,
        cost: Cost = "distance",
        seconds: float | None = None,
        rounds: int = MAX_ROUNDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pace = checked_pace(pace, "Optimal")
        self._certified = Certified(pace=self._pace)
        self._costs = Costs(cost, "Optimal")
        if seconds is not None and (
            isinstance(seconds, bool)
            or not isinstance(seconds, int | float)
            or not 0 < seconds < math.inf
        ):
            raise InvalidParameter(
                "The 'seconds' of Optimal must be finite and > 0, or None for no limit. "
                f"Got {seconds!r}."
            )
        if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= 10_000:
            raise InvalidParameter(
                f"The 'rounds' of Optimal must be an integer from 1 to 10000. Got {rounds!r}."
            )
        self._seconds = None if seconds is None else float(seconds)
        self._rounds = rounds
        self._clock = clock

    def choose(self, state: PublicState) -> Choice:
        """Return the law for this step; the true cell has no part in it."""
        deadline = Deadline(self._seconds, self._clock)
        fallback = chosen(state, self._certified, self._pace, self._costs)
        return self._improved(state, fallback, deadline)

    def draw(self, state: PublicState, cell: int, bits: BitSource) -> Draw:
        """Draw once, from the law that was chosen without looking at the cell."""
        return self.choose(state).draw(cell, bits)

    def law(self, state: PublicState) -> Law:
        """Return the chosen table: one layer."""
        return self.choose(state).law()

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names."""
        return {
            "kind": "optimal",
            "pace": self._pace,
            "cost": self._costs.describe(),
            "seconds": self._seconds,
            "rounds": self._rounds,
        }

    def _improved(self, state: PublicState, fallback: Choice, deadline: Deadline) -> Choice:
        mechanism = state.mechanism
        matrix, predicted = self._costs.matrix(mechanism), state.predicted()
        limits = paced_limits(state, self._pace)
        emission = mechanism.emission()
        proposal = self._proposed(state, matrix, predicted, limits, deadline)
        best = replace(fallback, lower_bound=proposal.lower_bound, rounds=proposal.rounds)
        if proposal.remap is None:
            return best
        table = settle_rows(emission @ proposal.remap)
        if self._costs.of(table, matrix, predicted) >= best.cost:
            return best

        def allowed(columns: Floats) -> Booleans:
            return state.passes(columns, limits)

        mixed = least_private_mixture(table, allowed)
        if mixed is None:
            return best
        cost = self._costs.of(mixed, matrix, predicted)
        if cost >= best.cost:
            return best
        return replace(best, table=mixed, budget=mechanism.budget, cost=cost, source="optimal")

    def _proposed(
        self,
        state: PublicState,
        matrix: Floats,
        predicted: Floats,
        limits: Sequence[Promise],
        deadline: Deadline,
    ) -> Proposal:
        mechanism = state.mechanism
        if mechanism.budget == 0.0 or deadline.left() <= 0.0 or not is_searchable(state):
            return Proposal(None, None, 0, finished=False)
        emission, operators = mechanism.emission(), list(state.operators())
        if mechanism.outputs <= ALL_PAIRS:
            cuts = [EventCuts(each, emission, limits[each.number]) for each in operators]
            weights = (emission * predicted[:, None]).T @ matrix
            by_cell = (emission, matrix) if self._costs.is_worst_case else None
            programme = Programme(weights, by_cell)
            whole = programme.solve(cuts, self._rounds, deadline.part(EXACT_SHARE))
            if whole.finished or deadline.left() in (0.0, math.inf):
                return whole
        columns = ColumnProgramme(
            mechanism, matrix, predicted, operators, limits, worst_case=self._costs.is_worst_case
        )
        return columns.solve(self._rounds, deadline)
