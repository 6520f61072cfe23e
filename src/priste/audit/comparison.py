"""Claimed ε against true leakage, for several calibrators: one table for people and machines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from priste.audit.procedure import Procedure
from priste.audit.sampled import SampledLeakage, sampled_leakage
from priste.audit.true_leakage import (
    MAX_HISTORIES,
    Sees,
    TooManyHistories,
    TrueLeakage,
    true_leakage,
)
from priste.events import Guarded
from priste.float_text import number_to_json
from priste.mechanisms import Mechanism
from priste.quantify import Adversary, AnyPrior, Guarantee
from priste.release import Calibrator, Protector
from priste.release.terms import Guarantees, Models

ALL_SEQUENCES = "all sequences"
SAMPLED_RUNS = "sampled runs"
_BOTH: tuple[Sees, ...] = ("outputs", "budgets")


@dataclass(frozen=True)
class ProcedureRow:
    """One line: a calibrator, an event, what is claimed and what is true.

    ``claimed`` is the guaranteed ln ratio (``inf`` where beliefs are bounded), ``guarantee`` all
    of it. ``true`` is over the directions that it bounds, against the ``adversary``; ``belief`` is
    how sure an adversary of that class can get that the event happened, and ``any_prior`` the true
    leakage, in both directions, to an adversary with any prior. ``kept`` says whether nothing
    beyond the guarantee was found.

    ``method`` is "all sequences" (exact: ``true`` is the largest there is) or "sampled runs" (each
    run exact: ``true`` is the largest found). ``sees`` is what the adversary sees besides knowing
    the code. ``exceeding`` is the probability of a stream that breaks the guarantee, and
    ``exceeding_high`` its upper confidence limit (the same number when it is exact).
    """

    calibrator: str
    event: str
    claimed: float
    true: float
    sees: str
    steps: int
    method: str
    exceeding: float
    exceeding_high: float
    guarantee: Guarantee
    adversary: Adversary
    belief: float
    any_prior: float
    kept: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the line for JSON; an infinite number becomes the text "inf"."""
        return {
            "calibrator": self.calibrator,
            "event": self.event,
            "claimed": number_to_json(self.claimed),
            "guarantee": self.guarantee.words(),
            "adversary": self.adversary.words(),
            "true": number_to_json(self.true),
            "belief": self.belief,
            "any_prior": number_to_json(self.any_prior),
            "sees": self.sees,
            "steps": self.steps,
            "method": self.method,
            "exceeding": self.exceeding,
            "exceeding_high": self.exceeding_high,
            "kept": self.kept,
        }


def audit_procedure(
    model: Models,
    events: Mapping[str, Guarded],
    mech: Mechanism,
    epsilon: Guarantees,
    steps: int,
    *,
    calibrators: Mapping[str, Calibrator | str] | Sequence[str] = ("paper", "certified"),
    runs: int = 50,
    rng: int | None = None,
    prior: ArrayLike | None = None,
    adversary: Adversary = AnyPrior(),  # noqa: B008  # a value
    max_histories: int = MAX_HISTORIES,
) -> list[ProcedureRow]:
    """Return claimed ε against true leakage for each calibrator and event.

    All sequences are enumerated, for an adversary who sees outputs and for one who sees budgets
    too, when there are at most ``max_histories``; otherwise ``runs`` sampled streams are
    judged exactly, for the adversary who sees both. ``prior`` is over the first cell; leakages are
    against ``adversary``, which the calibrators guard against; any prior unless given.
    """
    named = (
        dict(calibrators)
        if isinstance(calibrators, Mapping)
        else {name: name for name in calibrators}
    )
    stated = None if prior is None else np.asarray(prior, dtype=np.float64)
    rows: list[ProcedureRow] = []
    for name, calibrator in named.items():
        protector = Protector(model, events, mech, epsilon, calibrator, adversary=adversary)
        if _may_enumerate(protector, steps, max_histories):
            try:
                for sees in _BOTH:
                    exact = true_leakage(
                        protector,
                        steps,
                        sees=sees,
                        prior=stated,
                        max_histories=max_histories,
                    )
                    rows += [_exact_row(name, event, found) for event, found in exact.items()]
                continue
            except TooManyHistories:
                rows = [row for row in rows if row.calibrator != name]
        sampled = sampled_leakage(
            protector,
            steps,
            runs=runs,
            rng=rng,
            start=None if stated is None else stated.tolist(),
        )
        rows += [_sampled_row(name, event, found, steps) for event, found in sampled.items()]
    return rows


def _may_enumerate(protector: Protector, steps: int, max_histories: int) -> bool:
    """Return whether the outputs by themselves leave a chance to stay within the limit."""
    outputs = Procedure(protector).terms.mechanism.outputs
    return steps * math.log(outputs) <= math.log(max_histories)


def _exact_row(name: str, event: str, found: TrueLeakage) -> ProcedureRow:
    return ProcedureRow(
        name,
        event,
        found.epsilon,
        found.value,
        found.sees,
        len(found.leakage),
        ALL_SEQUENCES,
        found.exceeding,
        found.exceeding,
        found.guarantee,
        found.adversary,
        found.belief,
        found.any_prior,
        found.kept,
    )


def _sampled_row(name: str, event: str, found: SampledLeakage, steps: int) -> ProcedureRow:
    return ProcedureRow(
        name,
        event,
        found.epsilon,
        found.value,
        "budgets",
        steps,
        SAMPLED_RUNS,
        found.exceeding.value,
        found.exceeding.high,
        found.guarantee,
        found.adversary,
        found.belief,
        found.any_prior,
        found.kept,
    )
