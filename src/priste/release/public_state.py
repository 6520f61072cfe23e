"""The public side of a stream: all that follows from the terms and the past releases.

Nothing here has ever seen a true location, and nothing here is random. An adversary who
knows the terms can compute all of it; the audit does.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.quantify import (
    BeliefBound,
    Guarantee,
    JointProbabilities,
    Leakage,
    Quantifier,
    StreamSnapshot,
)
from priste.release.calibrator import EventOperator, Law
from priste.release.prediction import Prediction, PredictionSnapshot
from priste.release.shared_beginnings import released_key
from priste.release.table_cache import TableCache
from priste.release.terms import Terms

if TYPE_CHECKING:
    from priste.release.shared_beginnings import Branch

Chosen = TypeVar("Chosen")

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

KEPT_ENTRIES = 2**16
"""Up to this many numbers of columns that passed are remembered: the released one is among them,
and on small maps asking about it again would be a tenth of a step."""


@dataclass(frozen=True, eq=False)
class StateSnapshot:
    """What the releases so far left in the quantifiers, one entry per event, and the prediction."""

    step: int
    quantifiers: tuple[tuple[StreamSnapshot, ...], ...]
    prediction: PredictionSnapshot

    @property
    def bytes(self) -> int:
        """How much memory the numbers take."""
        return sum(each.bytes for snapshots in self.quantifiers for each in snapshots)


class PublicState:
    """Quantifiers, prediction and mechanism before the next step.

    It is what calibrators see before a step, and all of it is public. Advance it with
    :meth:`advance`; branch it with :meth:`copy` to follow several histories.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        # A stream asks about hundreds of columns a step, for as long as it lasts.
        self._quantifiers = [
            Quantifier(terms.models, event, terms.adversary, family=terms.family, method="stream")
            for event in terms.events
        ]
        self._check_that_guarantees_can_be_kept()
        self._prediction = Prediction(terms.models[0], terms.expected_start())
        self._leakage = (0.0,) * len(terms.events)
        self._belief: tuple[float, ...] | None = tuple(q.prior_belief() for q in self._quantifiers)
        self._broken: tuple[str, ...] = ()
        self._last_budget: float | None = None
        self._step = 0
        self._hints: tuple[int, ...] = ()
        self._mechanism: Mechanism | None = None
        self._tables = TableCache()
        self._chosen: tuple[object, Any] | None = None
        self._kept: Floats | None = None  # columns of which each keeps every guarantee
        self._branch: Branch | None = None

    @property
    def step(self) -> int:
        """The step to be released next; steps count from 0."""
        return self._step

    @property
    def leakage(self) -> tuple[float, ...]:
        """The leakage so far, one entry per event: the worst over all priors of the adversary.

        Over the directions that the guarantee of the event bounds.
        """
        return self._leakage

    @property
    def belief(self) -> tuple[float, ...]:
        """How sure the surest prior of the adversary is of each event, rounded up."""
        if self._belief is None:
            self._belief = tuple(q.belief() for q in self._quantifiers)
        return self._belief

    def told(self) -> tuple[Leakage, ...]:
        """Return what the releases tell about each event in both directions, and to whom."""
        return tuple(quantifier.leakage() for quantifier in self._quantifiers)

    @property
    def first_belief(self) -> tuple[float, ...]:
        """How sure the surest prior of the adversary was of each event before any release."""
        return tuple(quantifier.prior_belief() for quantifier in self._quantifiers)

    def prior_by_start(self) -> tuple[Floats, ...]:
        """Return Pr(event | first cell) of each event before any release, (m,) or (models, m)."""
        return tuple(quantifier.prior_by_start() for quantifier in self._quantifiers)

    @property
    def last_budget(self) -> float | None:
        """The budget of the last step that was not silent; None before the first."""
        return self._last_budget

    @property
    def hints(self) -> tuple[int, ...]:
        """What the calibrator left for itself with the last draw."""
        return self._hints

    @property
    def bytes(self) -> int:
        """How much memory the numbers of a state take, about."""
        return sum(quantifier.operator_bytes for quantifier in self._quantifiers)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is guaranteed, one entry per event."""
        return self.terms.guarantees

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of this step at its full budget."""
        if self._mechanism is None:
            given = self.terms.mechanism
            self._mechanism = given.at_belief(self.predicted()) if given.uses_belief else given
            self._tables.serve(self._mechanism)
        return self._mechanism

    def at(self, budget: float) -> Mechanism:
        """Return the mechanism of this step at a budget up to its own."""
        return self._tables.at(self.mechanism, budget)

    def predicted(self) -> Floats:
        """Return (m,), the probability of each cell given past releases and the public prior."""
        return self._prediction.predicted()

    def passes(
        self, columns: Floats, limits: Sequence[float | Guarantee] | None = None
    ) -> Booleans:
        """Tell for columns (m, k) whether each keeps every guarantee; doubt is False.

        Exact up to rounding, against every prior of the adversary over models and first cells.
        ``limits`` are guarantees to check instead, one per event.
        """
        verdict = np.ones(columns.shape[1], dtype=bool)
        guarantees = self.terms.guarantees if limits is None else limits
        for quantifier, guarantee in zip(self._quantifiers, guarantees, strict=True):
            if verdict.all():
                verdict = np.asarray(quantifier.passes(columns, guarantee))
            elif verdict.any():
                left = np.flatnonzero(verdict)
                verdict[left] = quantifier.passes(columns[:, left], guarantee)
        if limits is None and columns.size <= KEPT_ENTRIES and verdict.all():
            self._kept = columns.copy()
        return verdict

    def moments(self, column: Floats) -> Iterator[tuple[JointProbabilities, Guarantee]]:
        """Yield the four quantities after a candidate column (m,), and the guarantee, per event."""
        for quantifier, guarantee in zip(self._quantifiers, self.terms.guarantees, strict=True):
            yield quantifier.candidate_joint(column[:, None]), guarantee

    def operators(self) -> Iterator[EventOperator]:
        """Yield what turns a candidate column into its quantities, per event and group of rows."""
        for number, quantifier in enumerate(self._quantifiers):
            for operator in quantifier.candidate_operators():
                yield EventOperator(number, operator)

    def chosen(self, who: object, choose: Callable[[PublicState], Chosen]) -> Chosen:
        """Return what a calibrator chooses in this state; it is asked once."""
        if self._chosen is None or self._chosen[0] is not who:
            self._chosen = who, choose(self)
            if self._branch is not None:
                self._branch.state = self.along(None)
        found: Chosen = self._chosen[1]
        return found

    def law(self) -> Law:
        """Return the exact law of the next release, if it is not silence."""
        return self.terms.calibrator.law(self)

    def check_horizon(self, step: int) -> None:
        """Raise InvalidParameter if a model has no movement up to this step."""
        last = self.terms.last_step
        if last is not None and step > last:
            raise InvalidParameter(
                f"The mobility model ends: the last step it covers is {last}. Got step {step}. "
                "Use a model with more matrices, or cycle=True."
            )

    def column(self, output: int, budget: float) -> Floats:
        """Return (m,), the column of an output of the mechanism of this step at a budget."""
        return np.array(self.at(budget).column(output))

    def advance(
        self,
        column: Floats | None,
        budget: float = 0.0,
        *,
        hints: tuple[int, ...] = (),
        leakage: tuple[float, ...] | None = None,
        belief: tuple[float, ...] | None = None,
        column_error: float = 0.0,
    ) -> None:
        """Take in the release of this step: its likelihood at every cell, or None for silence.

        A column with the same number everywhere says nothing: it multiplies both sides of
        every ratio alike, so the quantifiers take it as silence, and leakage and belief stay the
        very numbers they were. ``leakage`` and ``belief`` are what was measured when the release
        was made; they spare the work in a replay.
        ``column_error`` is how far the column may be, relatively, from the one that was drawn
        from (see :meth:`priste.quantify.Quantifier.observe`).
        """
        self.check_horizon(self._step)
        branch, self._branch = self._branch, None
        if branch is None or leakage is not None or belief is not None or column_error:
            self._advance(column, budget, hints, leakage, belief, column_error)
            return
        released = released_key(column, budget, hints)
        following = branch.after(released)
        if following is None:
            self._advance(column, budget, hints, None, None, 0.0)
            branch.grow(released, self)
        else:
            vars(self).update(vars(following.state.along(following)))

    def _advance(
        self,
        column: Floats | None,
        budget: float,
        hints: tuple[int, ...],
        leakage: tuple[float, ...] | None,
        belief: tuple[float, ...] | None,
        column_error: float,
    ) -> None:
        self._chosen = None
        kept, self._kept = self._kept, None
        informative = column is not None and bool((column != column[0]).any())
        if leakage is None and informative and column is not None:
            known = kept is not None and bool((kept == column[:, None]).all(axis=0).any())
            self._observe_and_measure(column, column_error, known)
        else:
            for quantifier in self._quantifiers:
                quantifier.observe(column if informative else None, column_error)
            self._leakage = self._leakage if leakage is None else leakage
            if belief is not None or informative:
                self._belief = belief  # None is measured when it is asked for
        self._prediction.correct(column if informative else None)
        if column is not None:
            self._last_budget = budget
            self._hints = hints
        if self.terms.mechanism.uses_belief:
            self._mechanism = None
        self._step += 1

    def _observe_and_measure(self, column: Floats, column_error: float, known: bool) -> None:
        """Take a column in and measure it; ``known`` says that it was seen to keep all
        guarantees."""
        found = []
        names, guarantees = self.terms.event_names, self.terms.guarantees
        for quantifier, guarantee in zip(self._quantifiers, guarantees, strict=True):
            # A verdict is about the very column, so it says nothing about one nearby.
            within = not column_error and (
                known or bool(quantifier.passes(column[:, None], guarantee)[0])
            )
            quantifier.observe(column, column_error)
            found.append(_measured(quantifier, guarantee, within))
        self._leakage = tuple(leaked for leaked, _, _ in found)
        self._belief = tuple(sure for _, sure, _ in found)
        kept = [kept for _, _, kept in found]
        self._broken = tuple(name for name, whole in zip(names, kept, strict=True) if not whole)

    def over_limit(self) -> tuple[str, ...]:
        """Return the names of the events whose guarantee the releases do not keep, or may not.

        Only what was measured by this object counts, not what came from a file.
        """
        return self._broken

    def _check_that_guarantees_can_be_kept(self) -> None:
        """Refuse events about which nothing is open, and caps below what is believed already."""
        names, guarantees = self.terms.event_names, self.terms.guarantees
        for name, quantifier, guarantee in zip(names, self._quantifiers, guarantees, strict=True):
            if not quantifier.judge.undecided_prior(quantifier.joint_probabilities()):
                never = quantifier.prior_belief() == 0.0
                raise InvalidParameter(
                    f"The event {name!r} {'cannot happen' if never else 'happens for certain'} "
                    "under the model, for every first cell that the adversary "
                    f"({self.terms.adversary.words()}) holds possible. Nothing could be learnt "
                    "about it, so there is nothing to guard. Check its cells and steps, the model "
                    "and the adversary."
                )
            if isinstance(guarantee, BeliefBound) and quantifier.prior_belief() > guarantee.at_most:
                raise InvalidParameter(_cap_too_low(name, quantifier, guarantee))

    def snapshot(self) -> StateSnapshot | None:
        """Return what the releases so far left; None on maps so large that it is not kept."""
        taken = [quantifier.snapshot() for quantifier in self._quantifiers]
        found = tuple(each for each in taken if each is not None)
        if len(found) < len(taken):
            return None
        return StateSnapshot(self._step, found, self._prediction.snapshot())

    def restore(
        self,
        snapshot: StateSnapshot,
        *,
        leakage: tuple[float, ...],
        belief: tuple[float, ...],
        last_budget: float | None,
        hints: tuple[int, ...],
    ) -> None:
        """Go on from a snapshot; the rest is what was told about the releases before it.

        Raises ValueError, and changes nothing, if it is not one of a stream under these terms.
        """
        prediction = snapshot.prediction
        steps = {each.step for snapshots in snapshot.quantifiers for each in snapshots}
        if steps != {snapshot.step} or prediction.step + prediction.due != snapshot.step:
            raise ValueError("its parts are of several steps")
        pairs = zip(self._quantifiers, snapshot.quantifiers, strict=True)
        quantifiers = [quantifier.restored(each) for quantifier, each in pairs]
        self._prediction = self._prediction.restored(prediction)
        self._quantifiers = quantifiers
        self._step = snapshot.step
        self._leakage, self._belief = leakage, belief
        self._last_budget, self._hints = last_budget, hints
        self._chosen = self._branch = self._kept = None
        if self.terms.mechanism.uses_belief:
            self._mechanism = None

    def copy(self) -> PublicState:
        """Return an independent copy: the same history, free to go another way."""
        return self.along(None)

    def along(self, branch: Branch | None) -> PublicState:
        """Return an independent copy that goes along a branch of what other streams computed.

        None is no branch; otherwise it must be the one of the very state.
        """
        twin = copy.copy(self)
        twin._branch = branch
        twin._quantifiers = [quantifier.copy() for quantifier in self._quantifiers]
        twin._prediction = self._prediction.copy()
        if self.terms.mechanism.uses_belief:
            twin._tables = TableCache()  # the histories part, and so do their mechanisms
        return twin


def _measured(
    quantifier: Quantifier, guarantee: Guarantee, within: bool
) -> tuple[float, float, bool]:
    """Return leakage and belief after a release, and whether the guarantee is kept.

    All numbers are upper bounds; where the check has shown that the exact ones are ``within`` the
    guarantee, they are not above it.
    """
    (up, down), belief = quantifier.directions(), quantifier.belief()
    if isinstance(guarantee, BeliefBound):
        sure = min(belief, guarantee.at_most) if within else belief
        return up, sure, sure <= guarantee.at_most
    if within:
        up, down = min(up, guarantee.up), min(down, guarantee.down)
    bounded = [
        value for value, bound in ((up, guarantee.up), (down, guarantee.down)) if bound < math.inf
    ]
    return max(bounded), belief, up <= guarantee.up and down <= guarantee.down


def _cap_too_low(name: str, quantifier: Quantifier, guarantee: BeliefBound) -> str:
    return (
        f"The event {name!r} is guaranteed to be believed with at most {guarantee.at_most:g}, and "
        f"before any release {quantifier.adversary.words()} may believe it with "
        f"{quantifier.prior_belief():.6g} already. No release can take that back. Guarantee a cap "
        "above that number, guard against an adversary with less extreme beliefs, such as one who "
        "knows the population, or bound the change of odds instead."
    )
