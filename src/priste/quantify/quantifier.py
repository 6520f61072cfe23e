"""The adversary's arithmetic for one event or secret: what a stream of releases says about it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_choice, check_distribution
from priste.errors import InvalidParameter, shown
from priste.events import Guarded, Secret
from priste.mobility import MarkovModel
from priste.quantify.adversaries import Adversary, AnyPrior, as_adversary
from priste.quantify.guarantees import Guarantee, as_guarantee
from priste.quantify.joint_probabilities import (
    AnswerRows,
    Floats,
    Integers,
    JointProbabilities,
    before_releases,
    stacked,
    with_constant,
)
from priste.quantify.judges import EachOf, Judge, MixtureJudge
from priste.quantify.leakage import Leakage, PriorSums, known_prior_leakage
from priste.quantify.lifted import GivenPriors, StartRows
from priste.quantify.model_stream import (
    Method,
    ModelStream,
    StreamSnapshot,
    check_history,
    checked_candidates,
    checked_likelihood,
    scaled_candidates,
)
from priste.quantify.smoothing import location_posterior
from priste.showable import Showable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class CandidateOperator(AnswerRows):
    """The map from the likelihood of the next release to b, for rows that may be mixed.

    For a likelihood e (m,), answer c and row i: ``b_ci = (joint[c] @ e)_i * 2**exponent_i``;
    ``prior`` (C, rows) is a. The largest entry of a row of ``joint`` (C, rows, m) over all answers
    is in [0.5, 1); entries more than a factor 2**1022 below it may lose digits. ``judge`` says
    which mixtures of the rows count and decides about joint probabilities with these rows. Of an
    event ``event`` and ``complement`` are the two answers.
    """

    prior: Floats
    joint: Floats
    exponent: Integers
    judge: MixtureJudge
    starts: tuple[StartRows, ...]
    has_rest: bool = True
    kept: Integers | None = None
    """The rows of ``starts`` that are left; None for all."""

    def compared(self, first: Sequence[int], second: Sequence[int]) -> CandidateOperator:
        """Return "one of the first answers" and "one of the second" as an event and its negation.

        Rows in which neither is possible drop out.
        """
        if len(self.prior) == 2 and (*first, *second) == (0, 1):
            return self
        sides = [list(first), list(second)]
        prior, joint = (
            np.stack([values[side].sum(axis=0) for side in sides])
            for values in (self.prior, self.joint)
        )
        rows = np.flatnonzero(prior.any(axis=0))
        return replace(
            self,
            prior=prior[:, rows],
            joint=joint[:, rows],
            exponent=self.exponent[rows],
            judge=self.judge.of_rows(rows),
            has_rest=True,
            kept=rows,
        )

    def weights_of(self, prior: Floats) -> Floats:
        """Return weights (rows,) that stand for a prior (m,) over cells.

        They sum to 1 where all rows are kept. Rows that are cells have the weight of their cell,
        given priors the same weight each; with several models each has the same share.
        """
        parts = [starts.weights_of(prior) / len(self.starts) for starts in self.starts]
        weights = np.concatenate(parts)
        return weights if self.kept is None else weights[self.kept]


Booleans = NDArray[np.bool_]
Family = Literal["each", "joint"]

FAMILIES: tuple[Family, ...] = ("each", "joint")
"""What an adversary may know of several models: which one holds, or not."""

CHUNK_ENTRIES = 160_000
"""How many numbers of candidate columns are weighed at once, about what a processor caches.

On a map of 2,500 cells, pieces four times as large were no faster.
"""


class Quantifier(Showable):
    """Quantify what releases say about an event, under a mobility model and against an adversary.

    The adversary knows the model, the event and P(release | cell) of every release, and
    has a prior over the first cell. Which priors are meant is the ``adversary``: any
    (:class:`~priste.quantify.AnyPrior`, the default), any on some cells, given ones and their
    mixtures, those of an adversary who saw the user some steps before, or those near a given one.
    Each adversary has rows, distributions of the first cell, of which all its priors are mixtures.

    ``event`` may be a :class:`~priste.events.Secret` with several answers. What is said of an event
    and its negation is then said of each two answers, and "the event" in a question that has one
    number for an answer means: an answer other than the last, which is "neither" if there is one.

    ``model`` may be a sequence of models on one map; the rows of all models are stacked, in order.
    ``family`` says what the adversary knows of them. "joint" (the default): the adversary does not
    know which model holds, releases may reveal, and every joint prior over model and row counts.
    "each": the adversary holds one of the models and is not unsure which; every model is tested by
    itself, rows of different models are never mixed, and each answer is the largest over the
    models. ``adversary`` may be a sequence, one for each model.

    ``method`` says how the joint probabilities are computed; the numbers are the same up to the
    stated error. "forward" keeps an operator of rows x worlds x states and moves it one step per
    observation; "replay" keeps the observations and goes back through all of them when asked.
    "auto" compares the work, counting what replays have cost so far, and stays below twice the
    cheaper one; it builds no operator above ``OPERATOR_BYTES``. "stream" is for hundreds of
    candidates at every step, without end: forward and without history where the operator fits,
    replay otherwise. Observations are kept, m floats each, for replays and for
    :meth:`location_posterior`. ``history=False``, with method "forward" only, forgets them once
    they are in the operator, which is when the next question is asked: memory is then the same
    after any number of steps, and :meth:`location_posterior` is refused.

    Guarantee: every number comes from sums of products of nonnegative numbers, and
    :meth:`joint_probabilities` states how far rounding can have moved it (see
    :mod:`priste.quantify.joint_probabilities`). Nothing here draws random numbers or does I/O.

    Raises ``InvalidParameter`` when the event names cells or steps that a model does
    not have, or the adversary does not fit the map; ``TooManyWorlds`` from the event.

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
        model: MarkovModel | Sequence[MarkovModel],
        event: Guarded,
        adversary: Adversary | Sequence[Adversary] | None = None,
        *,
        family: Family = "joint",
        method: Method = "auto",
        history: bool = True,
    ) -> None:
        check_history(method, history)
        models = list(model) if isinstance(model, Sequence) else [model]
        known = bool(models) and all(isinstance(each, MarkovModel) for each in models)
        if not known or any(each.grid != models[0].grid for each in models):
            raise InvalidParameter(
                "must be a MarkovModel, or one or more of them on one grid",
                parameter="model",
                owner="a Quantifier",
                got=shown([getattr(each, "grid", each) for each in models]),
            )
        self._cells = models[0].grid.size
        self._event = event
        self._family: Family = check_choice(family, FAMILIES, "family", "a Quantifier")
        self._adversary = _fitting(adversary, len(models))
        self._streams = [
            ModelStream(each, event, rows, method, history)
            for each, rows in zip(models, _rows(self._adversary, models), strict=True)
        ]
        self._judge = _judge(self._adversary, self._streams, self._family)
        self._joint: JointProbabilities | None = None

    def __repr__(self) -> str:
        return f"<Quantifier against {self._adversary!r}, {self.step} releases observed>"

    @property
    def adversary(self) -> Adversary:
        """The adversary that the answers are about."""
        return self._adversary

    @property
    def family(self) -> Family:
        """Whether the adversary holds one of the models ("each") or is unsure which ("joint")."""
        return self._family

    @property
    def judge(self) -> Judge:
        """Which mixtures of the rows count; decides about joint probabilities of these rows."""
        return self._judge

    @property
    def step(self) -> int:
        """The number of observations so far, silence included; the next one is of this step."""
        return self._streams[0].step

    @property
    def rows(self) -> int:
        """The number of rows: first cells or given priors, of each model in turn."""
        return sum(stream.rows for stream in self._streams)

    @property
    def answers(self) -> int:
        """The number of answers: 2 for an event."""
        return len(self._event.answers)

    @property
    def has_rest(self) -> bool:
        """Whether the last answer is that nothing happened."""
        return self._event.has_rest

    def parts(self) -> Iterator[tuple[str | None, JointProbabilities]]:
        """Yield the name and joint probabilities of each event that a secret is made of.

        Of an event: None, and its own.
        """
        joint = self.joint_probabilities()
        if not isinstance(self._event, Secret):
            yield None, joint
            return
        for name, chosen in self._event.parts.items():
            others = tuple(set(range(joint.answers)) - chosen)
            yield name, joint.compared(tuple(chosen), others)[0]

    @property
    def operator_bytes(self) -> int:
        """How much memory the forward operators take at most."""
        return sum(stream.operator_bytes for stream in self._streams)

    def copy(self) -> Quantifier:
        """Return an independent quantifier in the same state. Cheap: the arrays are shared."""
        twin = copy.copy(self)
        twin._streams = [stream.copy() for stream in self._streams]
        return twin

    def snapshot(self) -> tuple[StreamSnapshot, ...] | None:
        """Return what the observations left, one per model, to go on from with :meth:`restored`.

        None before the first step, and for a quantifier that keeps its history.
        """
        taken = [stream.snapshot() for stream in self._streams]
        found = tuple(each for each in taken if each is not None)
        return found if len(found) == len(taken) else None

    def restored(self, snapshots: Sequence[StreamSnapshot]) -> Quantifier:
        """Return this quantifier with the observations of a snapshot in place of its own.

        Raises ValueError if it was taken of another event, model, adversary or method.
        """
        if len(snapshots) != len(self._streams) or len({each.step for each in snapshots}) != 1:
            raise ValueError("it is of another number of models, or of several steps")
        twin = copy.copy(self)
        pairs = zip(self._streams, snapshots, strict=True)
        twin._streams = [stream.restored(snapshot) for stream, snapshot in pairs]
        twin._joint = None
        return twin

    def prior_by_start(self) -> Floats:
        """Return (m,) Pr(EVENT | first cell), before any release; read-only.

        With several models (models, m).
        """
        found = [stream.by_start[:-1].sum(axis=0) for stream in self._streams]
        chances = found[0] if len(found) == 1 else np.stack(found)
        chances.flags.writeable = False
        return np.asarray(chances)

    # ------------------------------------------------------------------ observations

    def observe(self, likelihood: ArrayLike | None, relative_error: float = 0.0) -> None:
        """Take in the release of the next step: (m,) P(release | cell), None for silence.

        Numbers must be finite, >= 0 and not all 0; above 1 they are densities, which is
        fine. The array is copied. Silence must not depend on the location. ``relative_error`` in
        [0, 1) is how far each number may be from that of the table that was drawn from, as when
        another machine computed it; it is counted into every answer.
        Raises ``InvalidParameter`` and changes nothing when the likelihood breaks these
        rules or a model has no further step.
        """
        if not 0.0 <= relative_error < 1.0:
            raise InvalidParameter(
                "must be in [0, 1)",
                parameter="relative_error",
                owner="Quantifier.observe",
                value=relative_error,
            )
        record = None if likelihood is None else checked_likelihood(likelihood, self._cells)
        self._check_next_step()
        for stream in self._streams:
            stream.observe(record, relative_error)
        self._joint = None

    def _check_next_step(self) -> None:
        for stream in self._streams:
            stream.check_step(self.step)

    @property
    def _observed(self) -> int:
        return self._streams[0].observed

    # ------------------------------------------------------------------ joint probabilities

    def joint_probabilities(self) -> JointProbabilities:
        """Return a and b of each answer for the releases so far, one row per start or prior."""
        if self._joint is None:
            self._joint = stacked([stream.joint_probabilities() for stream in self._streams])
        return self._joint

    def candidate_joint(self, likelihoods: ArrayLike) -> JointProbabilities:
        """Return a and b of each answer if the next release were one of k candidates.

        ``likelihoods`` (m, k): one column P(release | cell) per candidate, finite and >= 0.
        A column of zeros, a release that is never made, gives zeros. ``joint`` is
        (answers, rows, k). Nothing changes.
        """
        return self._candidate_joint(checked_candidates(likelihoods, self._cells))

    def _candidate_joint(self, checked: Floats) -> JointProbabilities:
        columns = scaled_candidates(checked)
        self._check_next_step()
        return stacked([stream.candidate_joint(columns) for stream in self._streams])

    def candidate_operators(self) -> tuple[CandidateOperator, ...]:
        """Return how b depends on the next release, for each group of rows that may be mixed.

        One group for one model or a joint family, one per model for a family of "each". Takes
        rows x worlds x states floats of memory, whatever the method.
        """
        self._check_next_step()
        judges = self._judge.of_groups
        groups = [[each] for each in self._streams] if len(judges) > 1 else [self._streams]
        return tuple(map(_operator, groups, judges))

    # ------------------------------------------------------------------ answers

    def leakage(
        self,
        prior: ArrayLike | None = None,
        *,
        adversary: Adversary | Sequence[Adversary] | None = None,
    ) -> Leakage:
        """Return how far the releases distinguish the event from its negation.

        Without ``prior``: an upper bound over every prior of the adversary
        (see :func:`priste.quantify.worst_prior_leakage` for its slack), exactly 0 as long as
        nothing but silence was observed. ``worst_prior`` is one of those priors.

        ``adversary`` asks about another class of priors, as if the quantifier had been made with
        it: from the history of releases, or without one where that class lives on the first
        cells that are this quantifier's rows. Raises ``InvalidParameter`` where neither helps.

        With ``prior`` (see :meth:`posterior`): the two logarithms for that prior only. They are 0
        where the prior makes the event certain or impossible or the releases impossible,
        and infinite where the releases settle an event that was open.
        """
        if adversary is not None:
            if prior is not None:
                raise InvalidParameter(
                    "must be left out where an 'adversary' is given",
                    parameter="prior",
                    owner="Quantifier.leakage",
                )
            asked = self._asked(_fitting(adversary, len(self._streams)))
            return asked._named(asked._worst())
        if prior is not None:
            return self._between(known_prior_leakage(self._sums(prior)))
        return self._named(self._worst())

    def leakage_of(self, joint: JointProbabilities) -> Leakage:
        """Return the leakage of joint probabilities with the rows of this quantifier.

        They may be sums over several ways to the same releases.
        """
        return self._named(self._judge.leakage(joint))

    def directions(self) -> tuple[float, float]:
        """Return ``for_event`` and ``against_event`` of :meth:`leakage`, without a worst prior.

        That is quicker if the worst prior is not needed.
        """
        return self._judge.directions(self.joint_probabilities()) if self._observed else (0.0, 0.0)

    def _worst(self) -> Leakage:
        if self._observed:
            return self._judge.leakage(self.joint_probabilities())
        return Leakage(0.0, 0.0, 0.0, self._judge.undecided_prior(self.joint_probabilities()))

    def _named(self, found: Leakage) -> Leakage:
        """Say what the worst rows are: first cells, given priors, or cells where one was seen."""
        cells: dict[str, dict[int, float]] = {"first cell": {}, "last seen cell": {}}
        given: dict[tuple[int, int], float] = {}
        joint: dict[tuple[int, int], float] = {}
        models: dict[int, float] = {}
        offsets = np.cumsum([0, *(stream.rows for stream in self._streams)])
        for row, weight in found.worst_rows.items():
            model = int(np.searchsorted(offsets, row, side="right")) - 1
            starts = self._streams[model].starts
            label = int(starts.labels[row - offsets[model]])
            models[model] = models.get(model, 0.0) + weight
            if starts.labels_are == "given prior":
                given[model, label] = weight
                continue
            named = cells[starts.labels_are]
            named[label] = named.get(label, 0.0) + weight
            if starts.labels_are == "first cell":
                joint[model, label] = weight
        several = len(self._streams) > 1
        return replace(
            self._between(found),
            worst_prior=cells["first cell"],
            worst_given=given,
            worst_last_seen=cells["last seen cell"],
            worst_models=models if several else {},
            worst_joint=joint if several else {},
            model=min(models, default=None) if several and self._family == "each" else None,
        )

    def _between(self, found: Leakage) -> Leakage:
        """Name the two answers that are distinguished; those of an event need no names."""
        if len(self._event.answers) == 2 or found.between is None:
            return replace(found, between=None)
        first, second = (self._event.answers[int(number)] for number in found.between)
        return replace(found, between=(first, second))

    def _asked(self, adversary: Adversary) -> Quantifier:
        """Return this quantifier with another adversary; only for its joint probabilities."""
        if adversary == self._adversary:
            return self
        twin = copy.copy(self)
        twin._adversary = adversary
        models = [stream.chain.model for stream in self._streams]
        rows = _rows(adversary, models)
        twin._joint = self._joint_of(rows, adversary.words())
        pairs = zip(self._streams, rows, strict=True)
        twin._streams = [stream.with_rows(asked) for stream, asked in pairs]
        twin._judge = _judge(adversary, twin._streams, self._family)
        return twin

    def _joint_of(self, rows: Sequence[StartRows], adversary: str) -> JointProbabilities:
        """Return the joint probabilities of other rows, of each model in turn."""
        pairs = list(zip(self._streams, rows, strict=True))
        if all(
            mine.starts.labels_are == "first cell"
            and np.isin(asked.support, mine.starts.labels).all()
            for mine, asked in pairs
        ):
            return stacked([stream.remixed(asked) for stream, asked in pairs])
        if all(stream.keeps_history for stream in self._streams):
            return stacked(
                [stream.with_rows(asked).joint_probabilities() for stream, asked in pairs]
            )
        raise InvalidParameter(
            f"This Quantifier knows only how releases look to {self._adversary.words()}; that "
            f"does not say how they look to {adversary}.",
            hint="Make it with history=True, or with an adversary whose rows are first cells, "
            "such as AnyPrior().",
        )

    def leakage_if(
        self, likelihoods: ArrayLike, guarantee: float | Guarantee | None = None
    ) -> Floats:
        """Return (k,) the leakage after each of k candidate releases (m, k); nothing changes.

        With a ``guarantee`` over the directions that it bounds, as ``Leakage.over``.
        """
        return self._judge.leakages(self.candidate_joint(likelihoods), guarantee)

    def passes(self, likelihoods: ArrayLike, epsilon: float | Guarantee) -> Booleans:
        """Return (k,) whether each candidate release (m, k) keeps a guarantee.

        ``epsilon`` is a number >= 0 for both directions, an ``OddsBound`` or a ``BeliefBound``.
        True means kept, against every prior of the adversary; doubt is False.
        """
        columns = checked_candidates(likelihoods, self._cells)
        guarantee = as_guarantee(epsilon)
        count = columns.shape[1]
        width = max(1, CHUNK_ENTRIES // self._cells)
        # no columns at all are refused
        parts = (columns[:, first : first + width] for first in range(0, max(count, 1), width))
        verdicts = [self._judge.passes(self._candidate_joint(part), guarantee) for part in parts]
        return np.concatenate(verdicts)

    def passes_with_constant(
        self, likelihoods: Floats, guarantee: Guarantee
    ) -> Callable[[Integers, Floats], Booleans]:
        """Return what says whether columns (m, k) with a constant added keep a guarantee.

        It takes the places of columns and how much is added to each. Joint probabilities are linear
        in the column, so that they are computed once for all amounts. For searches.
        """
        joint = self.candidate_joint(np.column_stack([likelihoods, np.ones(len(likelihoods))]))
        return lambda places, amounts: self._judge.passes(
            with_constant(joint, places, amounts), guarantee
        )

    def belief(self) -> float:
        """Bound Pr(EVENT | releases) over every prior of the adversary, from above.

        Of a secret the largest over its answers, but for a last one that is "neither". Never below
        the exact supremum. Priors under which the releases are impossible hold no belief; 0.0 when
        that leaves none.
        """
        return self._judge.belief(self.joint_probabilities())

    def prior_belief(self) -> float:
        """Bound Pr(EVENT) before any release over every prior of the adversary, from above.

        No cap below it can be kept.
        """
        return self._judge.prior_belief(self.joint_probabilities())

    def prior_range(self) -> tuple[float, float]:
        """Bound Pr(EVENT) before any release over every prior of the adversary, from outside.

        >>> from priste import Grid, MarkovModel, at
        >>> model = MarkovModel(Grid(rows=1, columns=2, cell_size=1.0), [[0.75, 0.25], [0.5, 0.5]])
        >>> [round(bound, 6) for bound in Quantifier(model, at([0], 1)).prior_range()]
        [0.5, 0.75]
        """
        joint = before_releases(self.joint_probabilities())
        happened, last = tuple(range(joint.answers - 1)), (joint.answers - 1,)
        highest, _ = joint.compared(happened, last)
        lowest, _ = joint.compared(last, happened)
        return max(0.0, 1.0 - self._judge.belief(lowest)), self._judge.belief(highest)

    def posterior(self, prior: ArrayLike | None = None) -> float:
        """Return Pr(EVENT | releases) under a prior.

        ``prior`` (m,) is over the first cells, whatever the adversary, and sums to 1; with several
        models (models, m), over model and first cell. It may be left out where the adversary has
        one prior under each model; then models have the same weight. A prior that is no mixture of
        this quantifier's rows needs its history.
        An event that is impossible under the prior has posterior 0, a certain one 1. Raises
        ``InvalidParameter`` when the releases are impossible under the prior.
        """
        return self._possible(prior).posterior()

    def posteriors(self, prior: ArrayLike | None = None) -> dict[str, float]:
        """Return Pr(answer | releases) of each answer under a prior, by the names of the answers.

        Those of an event are "happened" and "did not happen". As :meth:`posterior`.
        """
        found = self._possible(prior).posteriors()
        return dict(zip(self._event.answers, found, strict=True))

    def _possible(self, prior: ArrayLike | None) -> PriorSums:
        known = self._sums(prior)
        if not known.possible:
            raise InvalidParameter(
                "The releases are impossible under this prior, so it has no posterior.",
                hint="Give a prior that allows a first cell from which they could come.",
            )
        return known

    def log_likelihoods(self, prior: ArrayLike | None = None) -> tuple[float, ...]:
        """Return (ln Pr(releases | EVENT), ln Pr(releases | not EVENT)) under a prior.

        Of a secret one for each answer. -inf where the releases exclude one. ``prior`` as in
        :meth:`posterior`. Raises ``InvalidParameter`` when an answer is impossible under the
        prior, as when an event is certain: then its likelihood is not defined.
        """
        known = self._sums(prior)
        for answer, (mantissa, _) in zip(self._event.answers, known.prior, strict=True):
            if mantissa == 0.0:
                raise InvalidParameter(
                    f"must leave the answer {answer!r} possible, as likelihoods given each answer "
                    "need all",
                    parameter="prior",
                    owner="Quantifier.log_likelihoods",
                )
        return known.log_likelihoods()

    def location_posterior(self, prior: ArrayLike | None = None, step: int | None = None) -> Floats:
        """Return the location given all releases so far: (m,) at ``step``, or (steps, m) at all.

        Forward-backward smoothing under the mobility model; the event plays no part.
        ``step`` may be any observed one, or the next (:attr:`step`): then it is the
        prediction before that release. ``prior`` as in :meth:`posterior`. Each row sums to
        1 up to rounding; a probability below 1e-308 may be 0. Raises ``InvalidParameter``
        for another step, when the releases are impossible under the prior, with
        ``history=False``, and with several models.
        """
        if len(self._streams) > 1:
            raise InvalidParameter(
                "A location_posterior is that of one model. This Quantifier guards "
                f"{len(self._streams)} jointly.",
                owner="Quantifier.location_posterior",
                hint="Make one for each.",
            )
        stream = self._streams[0]
        if not stream.keeps_history:
            raise InvalidParameter(
                "A location_posterior needs all observations, and this Quantifier forgets them.",
                owner="Quantifier.location_posterior",
                hint="Make it with history=True.",
            )
        if prior is None and stream.rows == 1:
            first = stream.starts.blended(np.ones(1))
        else:
            first = self._lines(prior)[0]
        return location_posterior(stream.chain, first, stream.records, step)

    def _sums(self, prior: ArrayLike | None) -> PriorSums:
        """Return a and b of each answer under one prior."""
        if prior is None and all(stream.rows == 1 for stream in self._streams):
            return PriorSums.of(self.joint_probabilities(), np.full(self.rows, 1.0 / self.rows))
        lines = self._lines(prior)
        starts = [stream.starts for stream in self._streams]
        pairs = list(zip(lines, starts, strict=True))
        if all(
            each.labels_are == "first cell" and np.isin(np.flatnonzero(line), each.labels).all()
            for line, each in pairs
        ):
            weights = np.concatenate([line[each.labels] for line, each in pairs])
            return PriorSums.of(self.joint_probabilities(), weights)
        rows = [GivenPriors(line[None, :]) for line in lines]
        return PriorSums.of(self._joint_of(rows, "one with this prior"), np.ones(len(rows)))

    def _lines(self, prior: ArrayLike | None) -> Floats:
        """Return (models, m), a checked prior over model and first cell."""
        if prior is None:
            raise InvalidParameter(
                f"This Quantifier means {self.rows} starts or priors: give a 'prior' over the "
                "first cells.",
                hint="Or make the Quantifier with adversary=KnownPrior(...) of one known prior.",
            )
        count = len(self._streams)
        shape = (self._cells,) if count == 1 else (count, self._cells)
        return check_distribution(prior, "prior", shape=shape).reshape(count, self._cells)


def _fitting(adversary: Adversary | Sequence[Adversary] | None, models: int) -> Adversary:
    """Return the adversary that is meant; it must be for this many models."""
    meant = AnyPrior() if adversary is None else as_adversary(adversary, owner="a Quantifier")
    meant.check_models(models)
    return meant


def _rows(adversary: Adversary, models: Sequence[MarkovModel]) -> list[StartRows]:
    """Return the rows of an adversary under each of the models."""
    return [adversary.of_model(number).rows(model) for number, model in enumerate(models)]


def _operator(streams: Sequence[ModelStream], judge: MixtureJudge) -> CandidateOperator:
    parts = [stream.operator().by_row() for stream in streams]
    values = np.concatenate([part[0] for part in parts]) if len(parts) > 1 else parts[0][0]
    prior = np.concatenate([stream.prior_rows for stream in streams], axis=1)
    exponent = np.concatenate([part[1] for part in parts])
    starts = tuple(stream.starts for stream in streams)
    has_rest = streams[0].chain.has_rest
    joint = np.moveaxis(values, 1, 0)
    return CandidateOperator(prior, joint, exponent, judge, starts, has_rest)


def _judge(adversary: Adversary, streams: Sequence[ModelStream], family: Family) -> Judge:
    """Return what decides about the stacked rows of an adversary."""
    if family == "joint" or len(streams) == 1:
        return adversary.judge([stream.starts for stream in streams])
    groups = []
    first = 0
    for number, stream in enumerate(streams):
        part = adversary.of_model(number)
        part.check_models(1)
        groups.append((slice(first, first + stream.rows), part.judge([stream.starts])))
        first += stream.rows
    return EachOf(tuple(groups))
