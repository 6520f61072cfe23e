"""The public side of a stream: all that follows from the terms and the past releases.

Nothing here has ever seen a true location, and nothing here is random. An adversary who
knows the terms can compute all of it; the audit does.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.events import Event
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import Moments, Quantifier
from priste.release.calibrator import EventOperator, Law
from priste.release.prediction import Prediction
from priste.release.terms import Terms

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

OPERATOR_BYTES = 2**31
"""The largest forward operator per event and model, 2 GiB: 11,585 cells with two worlds."""

TABLE_CACHE_BYTES = 2**28
"""How much memory the emission tables of recently used budgets may take: 256 MiB."""


class PublicState:
    """Quantifiers, prediction and mechanism before the next step.

    It is what calibrators see before a step, and all of it is public. Advance it with
    :meth:`advance`; branch it with :meth:`copy` to follow several histories.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._quantifiers = [
            [_quantifier(model, event) for model in terms.models] for event in terms.events
        ]
        self._prediction = Prediction(terms.models[0], terms.public_prior)
        self._leakage = (0.0,) * len(terms.events)
        self._last_budget: float | None = None
        self._step = 0
        self._hints: tuple[int, ...] = ()
        self._mechanism: Mechanism | None = None
        self._tables = _TableCache()

    @property
    def step(self) -> int:
        """The step to be released next; steps count from 0."""
        return self._step

    @property
    def leakage(self) -> tuple[float, ...]:
        """The leakage so far, one entry per event: the worst over all models and priors."""
        return self._leakage

    @property
    def last_budget(self) -> float | None:
        """The budget of the last step that was not silent; None before the first."""
        return self._last_budget

    @property
    def hints(self) -> tuple[int, ...]:
        """What the calibrator left for itself with the last draw."""
        return self._hints

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The bounds, one per event."""
        return self.terms.epsilons

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

    def passes(self, columns: Floats, limits: Sequence[float] | None = None) -> Booleans:
        """Tell for columns (m, k) whether each keeps every event within its ε; doubt is False.

        ``limits`` are bounds to use instead of ε, one per event.
        """
        verdict = np.ones(columns.shape[1], dtype=bool)
        bounds = self.terms.epsilons if limits is None else limits
        for row, epsilon in zip(self._quantifiers, bounds, strict=True):
            for quantifier in row:
                if verdict.all():
                    verdict = np.asarray(quantifier.passes(columns, epsilon))
                elif verdict.any():
                    left = np.flatnonzero(verdict)
                    verdict[left] = quantifier.passes(columns[:, left], epsilon)
        return verdict

    def moments(self, column: Floats) -> Iterator[tuple[Moments, float]]:
        """Yield the four quantities after a candidate column (m,), and ε, per event and model."""
        for row, epsilon in zip(self._quantifiers, self.terms.epsilons, strict=True):
            for quantifier in row:
                yield quantifier.candidate_moments(column[:, None]), epsilon

    def operators(self) -> Iterator[EventOperator]:
        """Yield what turns a candidate column into its quantities, per event and model."""
        for number, row in enumerate(self._quantifiers):
            for quantifier in row:
                event, complement, exponent = quantifier.candidate_operator()
                prior = quantifier.moments()
                yield EventOperator(
                    number,
                    prior.prior_event,
                    prior.prior_complement,
                    event,
                    complement,
                    exponent,
                )

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
    ) -> None:
        """Take in the release of this step: its likelihood at every cell, or None for silence.

        A column with the same number everywhere says nothing: it multiplies both sides of
        every ratio alike, so the quantifiers take it as silence and the leakage stays the very
        number it was. ``leakage`` spares the work of measuring it again in a replay.
        """
        self.check_horizon(self._step)
        informative = column is not None and bool((column != column[0]).any())
        if leakage is None and informative and column is not None:
            self._leakage = self._observe_and_measure(column)
        else:
            for row in self._quantifiers:
                for quantifier in row:
                    quantifier.observe(column if informative else None)
            self._leakage = self._leakage if leakage is None else leakage
        self._prediction.correct(column if informative else None)
        if column is not None:
            self._last_budget = budget
            self._hints = hints
        if self.terms.mechanism.uses_belief:
            self._mechanism = None
        self._step += 1

    def _observe_and_measure(self, column: Floats) -> tuple[float, ...]:
        leakage = []
        for row, epsilon in zip(self._quantifiers, self.terms.epsilons, strict=True):
            within = all(bool(q.passes(column[:, None], epsilon)[0]) for q in row)
            for quantifier in row:
                quantifier.observe(column)
            value = max(float(q.leakage().value) for q in row)
            # Both are upper bounds: the check has shown that the exact value is within ε.
            leakage.append(min(value, epsilon) if within else value)
        return tuple(leakage)

    def over_limit(self) -> tuple[str, ...]:
        """Return the names of the events whose leakage is above their ε."""
        return tuple(
            name
            for name, value, epsilon in zip(
                self.terms.event_names, self._leakage, self.terms.epsilons, strict=True
            )
            if value > epsilon
        )

    def copy(self) -> PublicState:
        """Return an independent copy: the same history, free to go another way."""
        twin = copy.copy(self)
        twin._quantifiers = [[q.copy() for q in row] for row in self._quantifiers]
        twin._prediction = self._prediction.copy()
        if self.terms.mechanism.uses_belief:
            twin._tables = _TableCache()  # the histories part, and so do their mechanisms
        return twin


def _quantifier(model: MarkovModel, event: Event) -> Quantifier:
    """Return a quantifier that serves many candidates at every step.

    A stream asks about hundreds of columns a step, so the forward operator pays at once; it also
    makes the time and memory of a step independent of how long the stream is. Only maps for
    which it would be too large keep their releases and replay them.
    """
    worlds = max(event.automaton().width, 1)
    fits = 8 * model.grid.size * worlds * model.states(1) <= OPERATOR_BYTES
    if fits:
        return Quantifier(model, event, method="forward", history=False)
    return Quantifier(model, event, method="replay")


class _TableCache:
    """The mechanisms of recently used budgets, with their tables, up to a limit of memory."""

    def __init__(self) -> None:
        self._full: Mechanism | None = None
        self._by_budget: OrderedDict[float, Mechanism] = OrderedDict()
        self._room = 1

    def serve(self, full: Mechanism) -> None:
        """Forget the tables of another mechanism."""
        if full is not self._full:
            self._full = full
            self._by_budget.clear()
            self._room = max(2, TABLE_CACHE_BYTES // (8 * full.grid.size * full.outputs))

    def at(self, full: Mechanism, budget: float) -> Mechanism:
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
