"""What a release procedure really tells an adversary who knows how it works.

A calibrator checks releases against the law it believes in. The law of what comes out may be
another one: rejections and fallbacks depend on the true cell. Here the law of the
whole procedure is written out, sequence by sequence, and the leakage taken from that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from priste.audit.procedure import Node, Procedure
from priste.errors import InvalidParameter
from priste.quantify import Moments, Quantifier, leakages, worst_prior_leakage
from priste.quantify.moment_sums import added, layers_added
from priste.release import Protector

Floats = NDArray[np.float64]
Sees = Literal["outputs", "budgets"]

MAX_HISTORIES = 20_000
"""How many histories an enumeration may follow unless told otherwise: some minutes at most."""


class TooManyHistories(InvalidParameter):
    """A procedure has more histories than the stated limit."""


@dataclass(frozen=True, eq=False)
class History:
    """One sequence that the adversary may see, with its exact probabilities.

    ``budgets`` is None for an adversary who sees the outputs alone; then all the ways in which
    these outputs can come about are added up. ``probability`` is that of the sequence for the
    stated prior, and ``with_event[e]`` that of the sequence together with event e, both under
    the first model. ``leakage[e]`` is the exact leakage about event e, against every
    prior, the worst over the guarded models.
    """

    outputs: tuple[int, ...]
    budgets: tuple[float, ...] | None
    probability: float
    with_event: tuple[float, ...]
    leakage: tuple[float, ...]


@dataclass(frozen=True)
class TrueLeakage:
    """The leakage of a whole procedure about one event, against a claimed ``epsilon``.

    ``leakage[t]`` is the largest over all sequences of steps 0 to t; it never falls with t.
    ``worst`` is the sequence that reaches the last one, ``worst_prior`` the prior to which it says
    so much. ``exceeding`` is the probability, for the stated prior, of a sequence of all steps
    that tells more than ``epsilon`` (by more than ``TOLERANCE``).
    """

    epsilon: float
    sees: Sees
    leakage: tuple[float, ...]
    worst: History
    worst_prior: Mapping[int, float]
    exceeding: float
    histories: int

    @property
    def value(self) -> float:
        """The leakage after all steps."""
        return self.leakage[-1]

    @property
    def kept(self) -> bool:
        """Whether the procedure keeps its claim, up to ``TOLERANCE``."""
        return self.value <= self.epsilon + TOLERANCE


TOLERANCE = 1e-8
"""Leakages are upper bounds that rounding moves by less than this."""


def output_histories(
    protector: Protector,
    steps: int,
    *,
    sees: Sees = "outputs",
    prior: Floats | None = None,
    max_histories: int = MAX_HISTORIES,
) -> Iterator[History]:
    """Yield every sequence of one to ``steps`` releases that can be seen, with its exact law.

    Sequences of full length have probabilities that sum to 1. ``protector`` must not have
    released anything; nothing is drawn from it. ``prior`` over the first cell is uniform unless
    given. The number of histories grows with (outputs x budgets) to the power of the steps:
    above ``max_histories`` TooManyHistories is raised. One step is possible for any map.
    """
    procedure = Procedure(protector)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InvalidParameter(f"The 'steps' of an audit must be an integer >= 1. Got {steps!r}.")
    if sees not in ("outputs", "budgets"):
        raise InvalidParameter(f"The 'sees' must be 'outputs' or 'budgets'. Got {sees!r}.")
    walk = _Walk(procedure, steps, sees, procedure.prior(prior), max_histories)
    return walk.from_here([_Branch.at_start(procedure)], (), ())


def true_leakage(
    protector: Protector,
    steps: int,
    *,
    sees: Sees = "outputs",
    prior: Floats | None = None,
    max_histories: int = MAX_HISTORIES,
) -> dict[str, TrueLeakage]:
    """Return for each event what the whole procedure tells about it, exactly.

    The adversary knows the code, the events, ε, the mobility model and the mechanism. ``sees``
    says what else: "outputs" alone, or "budgets" too. Arguments as in
    :func:`output_histories`.

    >>> from priste import Grid, MarkovModel, PlanarLaplace, Protector, presence
    >>> grid = Grid(rows=1, columns=6, cell_size=1.0)
    >>> model = MarkovModel.gaussian(grid, sigma=0.7)
    >>> event = presence([0, 1, 5], steps=[2, 3])
    >>> mech = PlanarLaplace(grid, alpha=1.0)
    >>> for calibrator in ("paper", "certified"):
    ...     p = Protector(model, event, mech, epsilon=0.5, calibrator=calibrator)
    ...     print(calibrator, round(true_leakage(p, steps=1)["event"].value, 3))
    paper 0.736
    certified 0.459
    """
    every = output_histories(protector, steps, sees=sees, prior=prior, max_histories=max_histories)
    terms = Procedure(protector).terms
    count = len(terms.events)
    largest = [[-math.inf] * count for _ in range(steps)]
    worst: list[History | None] = [None] * count
    exceeding = [0.0] * count
    histories = 0
    for history in every:
        histories += 1
        depth = len(history.outputs) - 1
        for number, value in enumerate(history.leakage):
            if value > largest[depth][number]:
                largest[depth][number] = value
                if depth == steps - 1:
                    worst[number] = history
            if depth == steps - 1 and value > terms.epsilons[number] + TOLERANCE:
                exceeding[number] += history.probability
    found = {}
    for number, name in enumerate(terms.event_names):
        history_of_worst = worst[number]
        if history_of_worst is None:
            raise InvalidParameter("The procedure has no possible release; its law is empty.")
        found[name] = TrueLeakage(
            terms.epsilons[number],
            sees,
            tuple(row[number] for row in largest),
            history_of_worst,
            _worst_prior(Procedure(protector), number, history_of_worst),
            exceeding[number],
            histories,
        )
    return found


class _Branch:
    """One way to come to the same observations: a public state, and what was really observed."""

    def __init__(self, node: Node, quantifiers: list[list[Quantifier]]) -> None:
        self.node = node
        self.quantifiers = quantifiers  # [event][model]

    @staticmethod
    def at_start(procedure: Procedure) -> _Branch:
        terms = procedure.terms
        return _Branch(
            procedure.start,
            [[Quantifier(model, event, method="forward") for model in terms.models]
             for event in terms.events],
        )  # fmt: skip

    def taking(self, layer: int, output: int) -> _Branch:
        """Return the branch after a release that had its true probability."""
        column = self.node.law().joint[layer, :, output]
        quantifiers = [[q.copy() for q in row] for row in self.quantifiers]
        for row in quantifiers:
            for quantifier in row:
                quantifier.observe(column)
        return _Branch(self.node.after(layer, output), quantifiers)

    def moments(self, event: int, model: int, sees: Sees) -> Moments:
        """Return the moments of what may be seen next: outputs, or pairs with the budget first."""
        law = self.node.law()
        pairs = self.quantifiers[event][model].candidate_moments(law.pairs())
        return pairs if sees == "budgets" else layers_added(pairs, len(law.budgets))

    def possible(self, sees: Sees) -> NDArray[np.bool_]:
        law = self.node.law()
        table = law.pairs() if sees == "budgets" else law.outputs()
        return np.asarray(table.any(axis=0))


class _Walk:
    """The depth-first walk over what the adversary may see.

    With ``sees`` "outputs" many branches (histories of budgets) belong to one sequence and are
    carried along together; with "budgets" there is always one.
    """

    def __init__(
        self, procedure: Procedure, steps: int, sees: Sees, prior: Floats, max_histories: int
    ) -> None:
        self._terms = procedure.terms
        self._steps = steps
        self._sees = sees
        self._prior = prior
        self._left = max_histories

    def from_here(
        self, branches: Sequence[_Branch], outputs: tuple[int, ...], budgets: tuple[float, ...]
    ) -> Iterator[History]:
        seen = np.logical_or.reduce([branch.possible(self._sees) for branch in branches])
        places = np.flatnonzero(seen)
        self._spend(len(places))
        leakage = np.zeros((len(self._terms.events), len(places)))
        with_event = np.zeros_like(leakage)
        total = np.zeros(len(places))
        for event in range(len(self._terms.events)):
            for model in range(len(self._terms.models)):
                moments = _columns(
                    added([b.moments(event, model, self._sees) for b in branches]), places
                )
                leakage[event] = np.maximum(leakage[event], leakages(moments))
                if model == 0:
                    scale = self._prior * np.exp2(moments.exponent.astype(np.float64))
                    with_event[event] = scale @ moments.event
                    total = with_event[event] + scale @ moments.complement
        layers = branches[0].node.law().joint.shape
        for place, shown in enumerate(places.tolist()):
            layer, output = divmod(shown, layers[2]) if self._sees == "budgets" else (0, shown)
            known = budgets
            if self._sees == "budgets":
                known = (*budgets, branches[0].node.law().budgets[layer])
            yield History(
                (*outputs, output),
                known if self._sees == "budgets" else None,
                float(total[place]),
                tuple(with_event[:, place].tolist()),
                tuple(leakage[:, place].tolist()),
            )
            if len(outputs) + 1 < self._steps:
                chosen = [layer] if self._sees == "budgets" else None
                after = self.children(branches, output, chosen)
                yield from self.from_here(after, (*outputs, output), known)

    def children(
        self, branches: Sequence[_Branch], output: int, layers: list[int] | None
    ) -> list[_Branch]:
        """Return all branches after an output, at some budgets of the law or (None) at any."""
        after = []
        for branch in branches:
            joint = branch.node.law().joint
            for layer in range(joint.shape[0]) if layers is None else layers:
                if joint[layer, :, output].any():
                    after.append(branch.taking(layer, output))
        self._spend(len(after) - 1)
        return after

    def _spend(self, histories: int) -> None:
        self._left -= histories
        if self._left < 0:
            raise TooManyHistories(
                "The procedure has more histories than 'max_histories' allows. Take fewer steps, a "
                "smaller map, or a calibrator with fewer budgets (Paper(max_attempts=4)); or "
                "follow sampled runs with sampled_leakage()."
            )


def _columns(moments: Moments, places: NDArray[np.int64]) -> Moments:
    return Moments(
        moments.prior_event,
        moments.prior_complement,
        moments.event[:, places],
        moments.complement[:, places],
        moments.exponent,
        moments.relative_error,
        moments.absolute_error,
    )


def _worst_prior(procedure: Procedure, event: int, history: History) -> dict[int, float]:
    """Return the prior of the model under which this history says the most about the event."""
    sees: Sees = "outputs" if history.budgets is None else "budgets"
    branches = [_Branch.at_start(procedure)]
    walk = _Walk(procedure, len(history.outputs), sees, np.empty(0), MAX_HISTORIES**2)
    for step, output in enumerate(history.outputs):
        layers = None
        if history.budgets is not None:
            layers = [branches[0].node.layer_of(history.budgets[step])]
        branches = walk.children(branches, output, layers)
    found = [
        worst_prior_leakage(added([b.quantifiers[event][model].moments() for b in branches]))
        for model in range(len(procedure.terms.models))
    ]
    return dict(max(found, key=lambda leakage: leakage.value).worst_prior)
