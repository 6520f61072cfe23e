"""The adversary's arithmetic for one event: what a stream of releases says about it."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps import cell_numbers
from priste.quantify.assembly import (
    KnownPrior,
    assembled,
    known_prior_leakage,
    to_shared_exponent,
)
from priste.quantify.inputs import (
    checked_candidates,
    checked_likelihood,
    checked_nonnegative,
    checked_priors,
)
from priste.quantify.leakage import Leakage
from priste.quantify.lifted import BackwardVectors, LiftedChain
from priste.quantify.moments import Floats, Integers, Moments
from priste.quantify.propagation import ForwardOperator, Likelihood, Record, replay
from priste.quantify.rounding import relative_error_bound
from priste.quantify.screening import screened, worth_screening
from priste.quantify.smoothing import location_posterior
from priste.quantify.worst_prior import leakages, passes, worst_prior_leakage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from priste.events import Event
    from priste.maps import Cells
    from priste.mobility import MarkovModel

Method = Literal["auto", "forward", "replay"]
Booleans = NDArray[np.bool_]

OPERATOR_BYTES = 2**31
"""Memory above which "auto" never builds the forward operator."""


CHUNK_ENTRIES = 160_000
"""How many numbers of candidate columns are weighed at once, about what a processor caches.

On a map of 2,500 cells, pieces four times as large were no faster.
"""

_PASSES = 4
"""Passes over the numbers in each step besides the movement: likelihood and scaling."""


class Quantifier:
    """Quantify what releases say about an event, under a mobility model.

    The adversary knows the model, the event and P(release | cell) of every release, and
    has a prior over the first cell. Which priors are meant is chosen here:

    - by default any prior: one row per cell of the map;
    - ``starts=cells``: any prior on these cells: one row per such cell, in order;
    - ``priors`` of shape (K, m): these K priors and their mixtures; (m,) means one
      known prior. Each must be >= 0 and sum to 1 within ``PRIOR_TOLERANCE``.

    ``method`` says how the joint probabilities are computed; the numbers are the same
    up to the stated error. "forward" keeps an operator of rows x worlds x states
    and moves it one step per observation; "replay" keeps the observations and goes back
    through all of them when asked. "auto" compares the work, counting what replays have
    cost so far, and stays below twice the cheaper one; it builds no operator
    above ``OPERATOR_BYTES``.

    Observations are kept, m floats each, for replays and for :meth:`location_posterior`.
    ``history=False``, with method "forward" only, forgets them once they are in the operator,
    which is when the next question is asked: memory is then the same after any number of steps,
    and :meth:`location_posterior` is refused.

    Guarantee: every number comes from sums of products of nonnegative numbers, and
    :meth:`moments` states how far rounding can have moved it (see
    :mod:`priste.quantify.rounding`). Nothing here draws random numbers or does I/O.

    Raises ``InvalidParameter`` when the event names cells or steps that the model does
    not have; ``TooManyWorlds`` from the event.

    >>> import numpy as np
    >>> from priste.events import presence
    >>> from priste.maps import Grid
    >>> from priste.mobility import MarkovModel
    >>> grid = Grid(rows=1, columns=3, cell_size=1.0)
    >>> model = MarkovModel(grid, [[0.1, 0.2, 0.7], [0.4, 0.1, 0.5], [0.0, 0.1, 0.9]])
    >>> q = Quantifier(model, presence([0, 1], [2, 3]))
    >>> q.prior_by_start().round(3).tolist()
    [0.28, 0.298, 0.226]
    >>> q.observe([0.8, 0.1, 0.1])
    >>> q.observe(None)
    >>> round(q.posterior([1/3, 1/3, 1/3]), 4)
    0.2764
    """

    def __init__(
        self,
        model: MarkovModel,
        event: Event,
        priors: ArrayLike | None = None,
        *,
        starts: Cells | None = None,
        method: Method = "auto",
        history: bool = True,
    ) -> None:
        if method not in ("auto", "forward", "replay"):
            raise InvalidParameter(
                f"The 'method' of Quantifier must be 'auto', 'forward' or 'replay'. Got {method!r}."
            )
        if not history and method != "forward":
            raise InvalidParameter(
                "A Quantifier with history=False forgets its observations, which only "
                f"method='forward' can do without. Got method={method!r}."
            )
        if priors is not None and starts is not None:
            raise InvalidParameter(
                "Give Quantifier either 'priors' or 'starts', not both: 'starts' means every "
                "prior on those cells, 'priors' a few given ones."
            )
        self._cells = model.grid.size
        self._method = method
        self._priors: Floats | None = None
        self._starts: Integers | None = None
        if priors is not None:
            self._priors = checked_priors(priors, self._cells, name="'priors' of Quantifier")
        elif starts is not None:
            chosen = sorted(cell_numbers(starts, name="starts"))
            if chosen[-1] >= self._cells:
                raise InvalidParameter(
                    f"The 'starts' of Quantifier must be cells 0 to {self._cells - 1} of the "
                    f"model's map. Got {chosen[-1]}."
                )
            self._starts = np.array(chosen, dtype=np.int64)
        self._chain = LiftedChain(model, event)
        self._backward = BackwardVectors(self._chain)
        self._by_start = self._backward.at_start()
        self._by_start.flags.writeable = False
        self._prior_rows = self._rows_of(self._by_start)
        self._keeps_history = history
        self._records: list[Record] = []
        self._forgotten = 0  # how many came before the first of them
        self._observed = 0
        self._operator: ForwardOperator | None = None
        self._pending = 0.0  # work to catch the operator up
        self._replay_work = 0.0  # work of one replay of one column
        self._replayed = 0.0  # work spent on replays since the operator was last caught up
        self._moments: Moments | None = None

    @property
    def step(self) -> int:
        """The number of observations so far, silence included; the next one is of this step."""
        return self._forgotten + len(self._records)

    @property
    def rows(self) -> int:
        """The number of rows of :meth:`moments`: first cells, or given priors."""
        if self._priors is not None:
            return len(self._priors)
        return self._cells if self._starts is None else len(self._starts)

    def copy(self) -> Quantifier:
        """Return an independent quantifier in the same state. Cheap: the arrays are shared."""
        twin = copy.copy(self)
        twin._records = list(self._records)
        return twin

    def prior_by_start(self) -> Floats:
        """Return (m,) Pr(EVENT | first cell), before any release; read-only."""
        return np.asarray(self._by_start[0])

    # ------------------------------------------------------------------ observations

    def observe(self, likelihood: ArrayLike | None) -> None:
        """Take in the release of the next step: (m,) P(release | cell), None for silence.

        Numbers must be finite, >= 0 and not all 0; above 1 they are densities, which is
        fine. The array is copied. Silence must not depend on the location.
        Raises ``InvalidParameter`` and changes nothing when the likelihood breaks these
        rules or the model has no further step.
        """
        record = None if likelihood is None else checked_likelihood(likelihood, self._cells)
        step = self.step
        self._chain.roundings(step)
        forward, back = self._work(step)
        self._records.append(record)
        self._observed += record is not None
        self._pending += forward
        self._replay_work += back
        self._moments = None

    # ------------------------------------------------------------------ joint probabilities

    def moments(self) -> Moments:
        """Return the four quantities for the releases so far, one row per start or prior."""
        if self._moments is None:
            if not self._observed:  # silence tells nothing: b = a and d = ā, exactly
                mantissa, binary = np.frexp(self._prior_rows.T)
                exponent = binary.astype(np.int64)
            elif self._goes_forward(1, candidates=False):
                mantissa, exponent = self._caught_up().joint(self._backward)
            else:
                mantissa, exponent = self._replayed_rows(None)
                mantissa, exponent = mantissa[:, :, 0], exponent[:, :, 0]
            self._moments = self._assembled(mantissa, exponent, 0)
        return self._moments

    def candidate_moments(self, likelihoods: ArrayLike) -> Moments:
        """Return the four quantities if the next release were one of k candidates.

        ``likelihoods`` (m, k): one column P(release | cell) per candidate, finite and >= 0.
        A column of zeros, a release that is never made, gives zeros. ``event`` and
        ``complement`` are (rows, k). Nothing changes.
        """
        columns = checked_candidates(likelihoods, self._cells)
        self._chain.roundings(self.step)
        if self._goes_forward(len(columns.values), candidates=True):
            weights = self._caught_up().candidates(self._backward)
            candidates = np.ascontiguousarray(columns.values.T)

            def weigh(values: Floats) -> Floats:
                # One large product: numpy would make a small one of each row.
                flat = values.reshape(-1, values.shape[-1]) @ candidates
                return flat.reshape(*values.shape[:-1], -1)

            mantissa, exponent = weights.entries(weigh)
            return self._assembled(mantissa, exponent + columns.exponent, 1)
        return self._assembled(*self._replayed_rows(columns), 1)

    def candidate_operator(self) -> tuple[Floats, Floats, Integers]:
        """Return (H_event, H_complement, exponent) of the next release.

        For a release with likelihood e (m,), ``b = (H_event @ e) * 2.0**exponent`` and
        ``d = (H_complement @ e) * 2.0**exponent``, row by row; H are (rows, m), the largest
        entry of a row in [0.5, 1). Entries more than a factor 2**1022 below it may lose
        digits. Takes rows x worlds x states floats of memory, whatever the method.
        """
        self._chain.roundings(self.step)
        mantissa, exponent = self._caught_up().candidates(self._backward).entries()
        values, row_exponent, _ = to_shared_exponent(mantissa, exponent)
        return values[:, 0], values[:, 1], row_exponent

    def _assembled(self, mantissa: Floats, exponent: Integers, extra: int) -> Moments:
        gamma = self._relative_error(extra)
        return assembled(self._prior_rows, mantissa, exponent, gamma, self._backward.absolute_error)

    def _relative_error(self, extra: int) -> float:
        """``extra`` is the number of releases beyond those observed: 1 with candidates."""
        chain = self._chain
        steps = max(self.step - 1 + extra, chain.last, 0)
        roundings, row_sums = chain.roundings(steps)
        step = max(self.step - 1 + extra, 0)
        observations = self._observed + extra
        # Likelihoods and the merging of bands; the sums over worlds and states, over
        # cells for candidates, and over first cells for given priors.
        roundings += 3 * observations + 8
        roundings += chain.worlds(step) * chain.model.states(step) + 2 * self._cells
        return relative_error_bound(roundings, row_sums, observations)

    # ------------------------------------------------------------------ the two methods

    def _goes_forward(self, columns: int, *, candidates: bool) -> bool:
        if self._method != "auto":
            return self._method == "forward"
        chain = self._chain
        step = self.step if candidates else self.step - 1
        worlds = chain.worlds(min(step, chain.last))
        if 8 * self.rows * worlds * chain.model.states(step) > OPERATOR_BYTES:
            return False
        ahead, back = self._pending, self._replay_work
        if candidates:
            forward_step, replay_step = self._work(step)
            ahead, back = ahead + forward_step, back + replay_step
        back *= columns
        if ahead - self._replayed <= back:
            return True
        self._replayed += back
        return False

    def _work(self, step: int) -> tuple[float, float]:
        """Return the multiply-adds of one step: of the operator, and of replaying a column."""
        chain = self._chain
        cost = chain.cost(step) + _PASSES * chain.model.states(step)
        worlds = chain.worlds(step - 1)
        return self.rows * worlds * cost, cost * (2 * worlds if step <= chain.last else 1)

    def _caught_up(self) -> ForwardOperator:
        operator = self._operator
        if operator is None:
            operator = ForwardOperator.at_start(self._chain, self._start_rows())
        for record in self._records[operator.absorbed - self._forgotten :]:
            operator = operator.observed(record)
        self._operator, self._pending, self._replayed = operator, 0.0, 0.0
        if not self._keeps_history:
            self._records, self._forgotten = [], operator.absorbed
        return operator

    def _start_rows(self) -> Floats:
        if self._priors is not None:
            return self._priors
        cells = self._labels()
        rows = np.zeros((len(cells), self._cells))
        rows[np.arange(len(cells)), cells] = 1.0
        return rows

    def _rows_of(self, by_cell: Floats) -> Floats:
        """Turn values (..., cells) for first cells into values (..., rows)."""
        if self._priors is not None:
            return by_cell @ self._priors.T
        return by_cell if self._starts is None else by_cell[..., self._starts]

    def _replayed_rows(self, columns: Likelihood | None) -> tuple[Floats, Integers]:
        """Return mantissas and exponents (rows, 2, k)."""
        back = replay(self._chain, self._backward, self._records, columns)
        mantissa, exponent = back.entries(lambda values: self._rows_of(values[:, :, 0, :]))
        return mantissa.transpose(2, 1, 0), exponent.transpose(2, 1, 0)

    # ------------------------------------------------------------------ answers

    def leakage(self, prior: ArrayLike | None = None) -> Leakage:
        """Return how far the releases tell the event from its negation.

        Without ``prior``: an upper bound over every prior that this quantifier means
        (see :func:`priste.quantify.worst_prior_leakage` for its slack), exactly 0 as long as
        nothing but silence was observed. ``worst_prior`` names cells, or numbers of the given
        ``priors``.

        With ``prior``, weights over the rows (see :meth:`posterior`): the two logarithms
        for that prior alone, and the prior itself as ``worst_prior``. They are 0
        where the prior makes the event certain or impossible or the releases impossible,
        and infinite where the releases settle an event that was open.
        """
        if prior is not None:
            return known_prior_leakage(self.moments(), self._weights(prior), self._labels())
        labels = self._labels()
        if not self._observed:
            open_rows = np.flatnonzero((self._prior_rows > 0.0).all(axis=0))
            return Leakage(0.0, 0.0, 0.0, {int(labels[row]): 1.0 for row in open_rows[:1]})
        found = worst_prior_leakage(self.moments())
        named = {int(labels[row]): weight for row, weight in found.worst_prior.items()}
        return replace(found, worst_prior=named)

    def leakage_if(self, likelihoods: ArrayLike) -> Floats:
        """Return (k,) the leakage after each of k candidate releases (m, k); nothing changes."""
        return leakages(self.candidate_moments(likelihoods))

    def passes(self, likelihoods: ArrayLike, epsilon: float) -> Booleans:
        """Tell (k,) whether each candidate release (m, k) keeps the leakage within ``epsilon``.

        True is a promise, against every prior that this quantifier means; doubt is False.
        Many columns are first screened (see :mod:`priste.quantify.screening`): where sound bounds
        decide about one, its four quantities are never computed.
        """
        columns = checked_nonnegative(
            likelihoods, (self._cells, None), name="'likelihoods' of candidate releases"
        )
        count = columns.shape[1]
        width = max(1, CHUNK_ENTRIES // self._cells)
        verdict, decided = self._screened(columns, epsilon) if count > width else _undecided(count)
        left = np.flatnonzero(~decided)
        for start in range(0, len(left) or not count, width):  # no columns at all are refused
            chunk = left[start : start + width]
            chosen = columns if len(chunk) == count else columns[:, chunk]
            verdict[chunk] = passes(self.candidate_moments(chosen), epsilon)
        return verdict

    def _screened(self, columns: Floats, epsilon: float) -> tuple[Booleans, Booleans]:
        """Answer for most of many candidates: the verdicts, and which of them are decided."""
        self._chain.roundings(self.step)
        count = columns.shape[1]
        if (
            worth_screening(self.rows, self._cells, count)
            and self._backward.absolute_error == 0.0
            and 0.0 <= epsilon < np.inf
            and self._goes_forward(count, candidates=True)
        ):
            operator = self._caught_up().candidates(self._backward)
            gamma = self._relative_error(1)
            return screened(operator, self._prior_rows, columns, epsilon, gamma)
        return _undecided(count)

    def posterior(self, prior: ArrayLike | None = None) -> float:
        """Return Pr(EVENT | releases) under a prior.

        ``prior`` are weights over the rows that sum to 1: (m,) over the first cells, zero
        outside ``starts``; with ``priors`` (K,) over those, and nothing needed for K = 1.
        An event that is impossible under the prior has posterior 0, a certain one 1.
        Raises ``InvalidParameter`` when the releases are impossible under the prior.
        """
        known = KnownPrior.of(self.moments(), self._weights(prior))
        self._check_possible(known)
        return known.posterior()

    def log_likelihoods(self, prior: ArrayLike | None = None) -> tuple[float, float]:
        """Return (ln Pr(releases | EVENT), ln Pr(releases | not EVENT)) under a prior.

        -inf where the releases exclude one side. ``prior`` as in :meth:`posterior`. Raises
        ``InvalidParameter`` when the event is impossible or certain under the prior, as
        then one of the two is not defined.
        """
        known = KnownPrior.of(self.moments(), self._weights(prior))
        for (mantissa, _), what in (
            (known.prior_event, "impossible"),
            (known.prior_complement, "certain"),
        ):
            if mantissa == 0.0:
                raise InvalidParameter(
                    f"The event is {what} under this prior: likelihoods given the event and given "
                    "its negation need both to be possible. Give a prior that leaves it open."
                )
        return known.log_likelihoods()

    def location_posterior(self, prior: ArrayLike | None = None, step: int | None = None) -> Floats:
        """Return the location given all releases so far: (m,) at ``step``, or (steps, m) at all.

        Forward-backward smoothing under the mobility model; the event plays no part.
        ``step`` may be any observed one, or the next (:attr:`step`): then it is the
        prediction before that release. ``prior`` as in :meth:`posterior`. Each row sums to
        1 up to rounding; a probability below 1e-308 may be 0. Raises ``InvalidParameter``
        for another step, when the releases are impossible under the prior, and with
        ``history=False``.
        """
        if not self._keeps_history:
            raise InvalidParameter(
                "A location_posterior needs all observations, and this Quantifier forgets them. "
                "Make it with history=True."
            )
        weights = self._weights(prior)
        first = np.zeros(self._cells)
        if self._priors is not None:
            first = weights @ self._priors
        elif self._starts is not None:
            first[self._starts] = weights
        else:
            first = weights
        return location_posterior(self._chain, first, self._records, step)

    def _labels(self) -> Integers:
        return np.arange(self.rows) if self._starts is None else self._starts

    def _weights(self, prior: ArrayLike | None) -> Floats:
        if prior is None:
            if self.rows == 1:
                return np.ones(1)
            raise InvalidParameter(
                f"This Quantifier means {self.rows} starts or priors: give 'prior', weights over "
                "them, or make the Quantifier with priors= of one known prior."
            )
        length = self.rows if self._starts is None else self._cells
        weights = checked_priors(prior, length, name="'prior'")
        if np.ndim(prior) != 1:
            raise InvalidParameter(
                f"The 'prior' must have shape ({length},). Got {np.shape(prior)}."
            )
        if self._starts is None:
            return np.asarray(weights[0])
        inside: Floats = weights[0, self._starts]
        if np.count_nonzero(inside) != np.count_nonzero(weights[0]):
            raise InvalidParameter(
                "The 'prior' must be 0 outside the 'starts' of this Quantifier, which means "
                "priors on those cells only."
            )
        return inside

    @staticmethod
    def _check_possible(known: KnownPrior) -> None:
        if not (known.event[0] or known.complement[0]):
            raise InvalidParameter(
                "The releases are impossible under this prior, so it has no posterior. Give a "
                "prior that allows a first cell from which they could come."
            )


def _undecided(count: int) -> tuple[Booleans, Booleans]:
    return np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
