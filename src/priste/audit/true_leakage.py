"""What a release procedure really reveals to an adversary who knows how it works.

A calibrator checks releases against the distribution it believes in. What comes out may have
another one: rejections and fallbacks depend on the true cell. Here the distribution of the
whole procedure is written out, sequence by sequence, and the leakage taken from that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_choice, check_int
from priste.audit.procedure import Procedure
from priste.errors import InvalidParameter
from priste.quantify import (
    Adversary,
    AnyPrior,
    Guarantee,
    JointProbabilities,
    KnownPrior,
    Leakage,
    OddsBound,
    Quantifier,
)
from priste.quantify.guarantees import REPORTED_SLACK
from priste.quantify.joint_probabilities import added, candidates_of, layers_added
from priste.quantify.leakage import bounded_directions
from priste.release import Protector, StreamNode

Floats = NDArray[np.float64]
Sees = Literal["outputs", "budgets"]

MAX_HISTORIES = 20_000
"""How many histories an enumeration may follow by default: some minutes at most."""

TOLERANCE = REPORTED_SLACK
"""Leakages are upper bounds, which lie above the exact ones by less than this."""

_UP, _DOWN = OddsBound(0.0, math.inf), OddsBound(math.inf, 0.0)
"""One direction each: what speaks for the event, and what speaks against it."""


class TooManyHistories(InvalidParameter):
    """A procedure has more histories than the stated limit."""


@dataclass(frozen=True, eq=False)
class History:
    """One sequence that the adversary may see, with its exact probabilities.

    ``budgets`` is None for an adversary who sees only the output; then all the ways in which
    these outputs can come about are added up. ``probability`` is that of the sequence for the
    stated prior, and ``with_event[e]`` that of the sequence together with event e (of a secret: an
    answer but the last), both under the first model. ``for_event[e]`` and ``against_event[e]`` are
    the exact leakages about event e in either direction, against every prior of the adversary and
    jointly over the guarded models;
    ``leakage[e]`` is the larger of those that the guarantee bounds. ``belief[e]`` is how sure that
    event e happened the sequence makes an adversary of the class at most. ``any_prior[e]`` is the
    leakage, in both directions, to an adversary with any prior.
    """

    outputs: tuple[int, ...]
    budgets: tuple[float, ...] | None
    probability: float
    with_event: tuple[float, ...]
    leakage: tuple[float, ...]
    for_event: tuple[float, ...]
    against_event: tuple[float, ...]
    belief: tuple[float, ...]
    any_prior: tuple[float, ...]

    def breaks(self, event: int, guarantee: Guarantee) -> bool:
        """Return whether this sequence breaks a guarantee about an event by more than rounding.

        The tolerance is ``TOLERANCE``.
        """
        return is_broken(
            guarantee, self.for_event[event], self.against_event[event], self.belief[event]
        )


@dataclass(frozen=True)
class TrueLeakage:
    """What a whole procedure reveals about one event, against what was guaranteed.

    ``leakage[t]`` is the largest over all sequences of steps 0 to t, over the directions that
    ``guarantee`` bounds; it never falls with t. ``for_event``, ``against_event`` and ``belief`` are
    the largest after all steps, against the ``adversary``; ``any_prior`` is the leakage then, in
    both directions, to an adversary with any prior. ``worst`` is the sequence that reaches the last
    leakage, ``worst_prior`` the prior over cells to which it says so much, where the adversary is
    not one of given priors: then ``worst_given`` maps (model, number of the prior) to weights (see
    :class:`~priste.quantify.Leakage`). ``exceeding`` is the probability, for the stated prior, of a
    sequence of all steps that breaks the guarantee (by more than ``TOLERANCE``).
    """

    guarantee: Guarantee
    adversary: Adversary
    sees: Sees
    leakage: tuple[float, ...]
    for_event: float
    against_event: float
    belief: float
    any_prior: float
    worst: History
    worst_prior: Mapping[int, float]
    worst_given: Mapping[tuple[int, int], float]
    exceeding: float
    histories: int

    @property
    def epsilon(self) -> float:
        """The largest ln ratio that is guaranteed; ``inf`` where none is (a bound on beliefs)."""
        return self.guarantee.largest_leakage

    @property
    def value(self) -> float:
        """The leakage after all steps."""
        return self.leakage[-1]

    @property
    def kept(self) -> bool:
        """Whether the procedure keeps its guarantee, up to ``TOLERANCE``."""
        return not is_broken(self.guarantee, self.for_event, self.against_event, self.belief)


def is_broken(guarantee: Guarantee, for_event: float, against_event: float, belief: float) -> bool:
    """Return whether what was revealed exceeds a guarantee by more than ``TOLERANCE``."""
    return not guarantee.is_kept(for_event, against_event, belief, TOLERANCE)


def output_histories(
    protector: Protector,
    steps: int,
    *,
    sees: Sees = "outputs",
    prior: Floats | None = None,
    adversary: Adversary | None = None,
    max_histories: int = MAX_HISTORIES,
) -> Iterator[History]:
    """Yield every sequence of one to ``steps`` releases that can be seen, with its probabilities.

    Sequences of full length have probabilities that sum to 1. ``protector`` must not have
    released anything; nothing is drawn from it. ``prior`` over the first cell is uniform unless
    given. ``adversary`` is that of the Protector unless given. The number
    of histories grows with (outputs x budgets) to the power of the steps: above
    ``max_histories`` TooManyHistories is raised. One step is possible for any map.
    """
    procedure = Procedure(protector)
    check_int(steps, "steps", "an audit", least=1)
    check_choice(sees, ("outputs", "budgets"), "sees", "an audit")
    against = procedure.adversary(adversary)
    walk = _HistoryWalk(procedure, steps, sees, max_histories)
    start = _Branch.at_start(procedure, against, procedure.prior(prior))
    return walk.histories_after([start], (), ())


def true_leakage(
    protector: Protector,
    steps: int,
    *,
    sees: Sees = "outputs",
    prior: Floats | None = None,
    adversary: Adversary | None = None,
    max_histories: int = MAX_HISTORIES,
) -> dict[str, TrueLeakage]:
    """Return for each event what the whole procedure reveals about it, exactly.

    The adversary knows the code, the events, what is guaranteed, the mobility models (not which of
    several holds) and the mechanism. ``sees`` says what else: "outputs" alone, or "budgets" too.
    Arguments as in :func:`output_histories`.

    >>> from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
    >>> grid = Grid(rows=1, columns=6, cell_size=1.0)
    >>> model = MarkovModel.gaussian(grid, sigma=0.7)
    >>> event = presence([0, 1, 5], steps=[2, 3])
    >>> mech = PlanarLaplace(grid, alpha=1.0)
    >>> for calibrator in ("paper", "certified"):
    ...     p = Protector(model, event, mech, guarantee=0.5, calibrator=calibrator,
    ...                   adversary=AnyPrior())
    ...     print(calibrator, round(true_leakage(p, steps=1)["event"].value, 3))
    paper 0.736
    certified 0.397
    """
    procedure = Procedure(protector)
    against = procedure.adversary(adversary)
    every = output_histories(
        protector, steps, sees=sees, prior=prior, adversary=against, max_histories=max_histories
    )
    count = len(procedure.terms.events)
    largest = [[-math.inf] * count for _ in range(steps)]
    ends = np.full((4, count), -math.inf)  # for, against, belief, any prior after all steps
    worst: list[History | None] = [None] * count
    exceeding = [0.0] * count
    histories = 0
    for history in every:
        histories += 1
        depth = len(history.outputs) - 1
        last = depth == steps - 1
        if last:
            revealed = (history.for_event, history.against_event, history.belief, history.any_prior)
            ends = np.maximum(ends, revealed)
        for number, value in enumerate(history.leakage):
            if value > largest[depth][number] or (last and worst[number] is None):
                largest[depth][number] = value
                if last:
                    worst[number] = history
            if last and history.breaks(number, procedure.guarantees[number]):
                exceeding[number] += history.probability
    found = {}
    for number, name in enumerate(procedure.terms.event_names):
        history_of_worst = worst[number]
        if history_of_worst is None:
            raise InvalidParameter(
                "must have a possible release; its distribution is empty", parameter="procedure"
            )
        learnt = _worst_prior(procedure, number, history_of_worst, against)
        found[name] = TrueLeakage(
            procedure.guarantees[number],
            against,
            sees,
            tuple(row[number] for row in largest),
            for_event=float(ends[0, number]),
            against_event=float(ends[1, number]),
            belief=float(ends[2, number]),
            any_prior=float(ends[3, number]),
            worst=history_of_worst,
            worst_prior=learnt.worst_prior or learnt.worst_last_seen,
            worst_given=learnt.worst_given,
            exceeding=exceeding[number],
            histories=histories,
        )
    return found


class _Branch:
    """One way to come to the same observations: a public state, and what was really observed.

    Each event has three quantifiers: against the adversary, against any prior (the same one where
    the adversary has any), and under the stated prior and first model.
    """

    def __init__(self, node: StreamNode, quantifiers: list[dict[str, Quantifier]]) -> None:
        self.node = node
        self.quantifiers = quantifiers

    @staticmethod
    def at_start(procedure: Procedure, adversary: Adversary, prior: Floats) -> _Branch:
        models, family = procedure.terms.models, procedure.terms.family
        quantifiers = []
        for event in procedure.terms.events:
            each = {
                "adversary": Quantifier(models, event, adversary, family=family, method="forward"),
                "known": Quantifier(models[0], event, KnownPrior(prior), method="forward"),
            }
            if adversary != AnyPrior():
                each["any_prior"] = Quantifier(models, event, family=family, method="forward")
            quantifiers.append(each)
        return _Branch(procedure.start, quantifiers)

    def after_output(self, layer: int, output: int) -> _Branch:
        """Return the branch after a release that had its true probability."""
        seen = self.node.distribution
        column = seen.joint[layer, :, output]
        quantifiers = [{who: q.copy() for who, q in each.items()} for each in self.quantifiers]
        for each in quantifiers:
            for quantifier in each.values():
                quantifier.observe(column)
        drawn = self.node.rule.outcome(output, seen.budgets[layer])
        return _Branch(self.node.after(drawn), quantifiers)

    def joint_probabilities(self, event: int, who: str, sees: Sees) -> JointProbabilities:
        """Return those of what may be seen next: outputs, or pairs with the budget first."""
        distribution = self.node.distribution
        pairs = self.quantifiers[event][who].candidate_joint(distribution.pairs())
        return pairs if sees == "budgets" else layers_added(pairs, len(distribution.budgets))

    def possible(self, sees: Sees) -> NDArray[np.bool_]:
        distribution = self.node.distribution
        table = distribution.pairs() if sees == "budgets" else distribution.outputs()
        return np.asarray(table.any(axis=0))


@dataclass(frozen=True, eq=False)
class _Revealed:
    """What each of some continuations reveals about one event; arrays with one entry for each."""

    with_event: Floats
    total: Floats
    leakage: Floats
    for_event: Floats
    against_event: Floats
    belief: Floats
    any_prior: Floats


class _HistoryWalk:
    """The depth-first walk over what the adversary may see.

    With ``sees`` "outputs" many branches (histories of budgets) belong to one sequence and are
    carried along together; with "budgets" there is always one.
    """

    def __init__(self, procedure: Procedure, steps: int, sees: Sees, max_histories: int) -> None:
        self._guarantees = procedure.guarantees
        self._steps = steps
        self._sees = sees
        self._left = max_histories

    def histories_after(
        self, branches: Sequence[_Branch], outputs: tuple[int, ...], budgets: tuple[float, ...]
    ) -> Iterator[History]:
        seen = np.logical_or.reduce([branch.possible(self._sees) for branch in branches])
        places = np.flatnonzero(seen)
        self._count(len(places))
        revealed = [
            self._revealed(branches, number, places) for number in range(len(self._guarantees))
        ]
        distribution = branches[0].node.distribution
        for place, shown in enumerate(places.tolist()):
            layer, output = (
                divmod(shown, distribution.joint.shape[2]) if self._sees_budgets else (0, shown)
            )
            known = (*budgets, distribution.budgets[layer]) if self._sees_budgets else budgets
            yield History(
                (*outputs, output),
                known if self._sees_budgets else None,
                float(revealed[0].total[place]),
                *(
                    tuple(float(getattr(each, name)[place]) for each in revealed)
                    for name in _PER_EVENT
                ),
            )
            if len(outputs) + 1 < self._steps:
                chosen = [layer] if self._sees_budgets else None
                after = self.children(branches, output, chosen)
                yield from self.histories_after(after, (*outputs, output), known)

    @property
    def _sees_budgets(self) -> bool:
        return self._sees == "budgets"

    def _revealed(
        self, branches: Sequence[_Branch], event: int, places: NDArray[np.int64]
    ) -> _Revealed:
        def summed(who: str) -> JointProbabilities:
            return candidates_of(
                added([b.joint_probabilities(event, who, self._sees) for b in branches]), places
            )

        known = summed("known")
        scale = np.exp2(known.exponent.astype(np.float64))
        by_answer = [scale @ each for each in known.joint]
        with_event = np.sum(by_answer[:-1], axis=0)
        judge = branches[0].quantifiers[event]["adversary"].judge
        joint = summed("adversary")
        directions = judge.leakages(joint, _UP), judge.leakages(joint, _DOWN)
        bounded = bounded_directions(self._guarantees[event])
        any_prior = np.maximum(*directions)
        if "any_prior" in branches[0].quantifiers[event]:
            everyone = branches[0].quantifiers[event]["any_prior"].judge
            any_prior = everyone.leakages(summed("any_prior"))
        return _Revealed(
            with_event,
            with_event + by_answer[-1],
            np.max([directions[side] for side in bounded], axis=0),
            *directions,
            np.array(
                [
                    judge.belief(candidates_of(joint, slice(place, place + 1)))
                    for place in range(len(places))
                ]
            ),
            any_prior,
        )

    def children(
        self, branches: Sequence[_Branch], output: int, layers: list[int] | None
    ) -> list[_Branch]:
        """Return all branches after an output, at some budgets or (None) at any."""
        after = []
        for branch in branches:
            joint = branch.node.distribution.joint
            for layer in range(joint.shape[0]) if layers is None else layers:
                if joint[layer, :, output].any():
                    after.append(branch.after_output(layer, output))
        self._count(len(after) - 1)
        return after

    def _count(self, histories: int) -> None:
        self._left -= histories
        if self._left < 0:
            raise TooManyHistories(
                "The procedure has more histories than 'max_histories' allows.",
                hint="Take fewer steps, a smaller map, or a calibrator with fewer budgets "
                "(Paper(max_attempts=4)), or follow sampled runs with sampled_leakage().",
            )


_PER_EVENT = ("with_event", "leakage", "for_event", "against_event", "belief", "any_prior")
"""What a History holds per event, in its order."""


def _worst_prior(
    procedure: Procedure, event: int, history: History, adversary: Adversary
) -> Leakage:
    """Return the prior of the adversary to which this history says the most about the event."""
    sees: Sees = "outputs" if history.budgets is None else "budgets"
    branches = [_Branch.at_start(procedure, adversary, procedure.prior(None))]
    walk = _HistoryWalk(procedure, len(history.outputs), sees, MAX_HISTORIES**2)
    for step, output in enumerate(history.outputs):
        layers = None
        if history.budgets is not None:
            layers = [branches[0].node.distribution.budgets.index(history.budgets[step])]
        branches = walk.children(branches, output, layers)
    quantifiers = [branch.quantifiers[event]["adversary"] for branch in branches]
    return quantifiers[0].leakage_of(added([each.joint_probabilities() for each in quantifiers]))
