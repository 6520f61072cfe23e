"""All calibrators that have a name, in one table: what each guarantees, does and takes.

A new calibrator is one class and one line here; another package adds one with an entry point of the
group ``priste.calibrators`` that names a :class:`NamedCalibrator`. Whatever offers a choice of
calibrators (policies, their explanation, drafts, state files, experiments) takes names, words and
parameters from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from priste.errors import InvalidParameter
from priste.registered import Registered
from priste.release.calibrators.calibrator import Calibrator
from priste.release.calibrators.certified import Certified
from priste.release.calibrators.optimal import Optimal
from priste.release.calibrators.paper import Paper
from priste.release.calibrators.uncalibrated import Uncalibrated


@dataclass(frozen=True)
class NamedCalibrator:
    """One line of the table.

    ``make`` takes the ``parameters`` by name, all optional; ``parameters`` says what each means.
    ``explained`` is a paragraph for people. ``guaranteed`` is that of the calibrators it makes.
    ``in_policies`` is what a policy that says nothing about a parameter means.
    """

    make: Callable[..., Calibrator]
    guaranteed: bool
    explained: str
    parameters: Mapping[str, str]
    in_policies: Mapping[str, Any] = field(default_factory=dict)


DEFAULT_CALIBRATOR = "optimal"
"""One that guarantees; docs/evidence/usefulness.md measures it beside the others."""

POLICY_PACE = 0.1
"""The pace of calibrators without a schedule in policies; docs/reference/policy.md says why."""

_PACE = "share of what is left of each bound that one step may use up, in (0, 1]"

CALIBRATORS: Mapping[str, NamedCalibrator] = Registered(
    "priste.calibrators",
    NamedCalibrator,
    {
        "certified": NamedCalibrator(
            Certified,
            Certified.guaranteed,
            "Before each release the largest budget is chosen at which every possible output keeps "
            "the guarantee. The choice depends on past releases only, so the guarantee also "
            "holds against an adversary who knows the code, this policy and the budget in use.",
            {
                "pace": _PACE,
                "steps_per_halving": "how many budgets are tried between one and its half",
                "halvings": "how often the budget is halved before a constant output is released",
                "guess": "whether the best public guess given the output is released in its place",
            },
            in_policies={"pace": POLICY_PACE},
        ),
        "optimal": NamedCalibrator(
            Optimal,
            Optimal.guaranteed,
            "The mechanism draws at its full budget. The best public guess given the draw takes "
            "its place. A randomised table then releases this guess, or a coarser point where the "
            "guess would reveal too much. Of all tables whose every output keeps the guarantee, "
            "it has about the least expected distance. A schedule, made from the events and the "
            "model, decides how much each step may use up. The table depends on past releases and "
            "public parameters only, so the guarantee also holds against an adversary who knows "
            "the "
            "code, this policy and the table in use.",
            {
                "pace": _PACE + "; without it, by a schedule",
                "cost": '"distance", "squared", or a matrix (cells, outputs)',
                "work": "how many pivots of the simplex method a step may take",
            },
        ),
        "paper": NamedCalibrator(
            Paper,
            Paper.guaranteed,
            "Each release follows the published loop: draw, check, halve the budget, draw again. "
            "Its check does not cover the rejected draws, so an adversary who knows the loop can "
            "learn "
            "MORE than ε. Use it to reproduce results, not to protect people.",
            {
                "decay": "what a failed check multiplies the budget by, in (0, 1)",
                "max_attempts": "how many draws a release has, the last one at budget 0",
                "check_seconds": "the time limit of a check by a solver; None for no limit",
            },
        ),
        "uncalibrated": NamedCalibrator(
            Uncalibrated,
            Uncalibrated.guaranteed,
            "Each release is the mechanism's own draw at its full budget. Nothing is checked, so "
            "anything may be learnt. Use it to compare, not to protect people.",
            {},
        ),
    },
)


def calibrator_from_description(description: Mapping[str, Any]) -> Calibrator:
    """Return the calibrator that ``describe()`` described: its name under "kind", parameters.

    >>> calibrator_from_description({"kind": "certified", "pace": 0.5}).describe()["pace"]
    0.5
    """
    parameters = dict(description)
    return _named(parameters.pop("kind", None)).make(**parameters)


def as_calibrator(calibrator: str | Calibrator) -> Calibrator:
    """Return a calibrator itself, or the one of a name with its default parameters.

    >>> as_calibrator("optimal").guaranteed
    True
    """
    if isinstance(calibrator, str):
        return _named(calibrator).make()
    if isinstance(calibrator, type) or not isinstance(calibrator, Calibrator):
        raise InvalidParameter(
            "must be a name or an object with propose(), describe() and guaranteed",
            parameter="calibrator",
            owner="a Protector",
            value=calibrator,
        )
    return calibrator


def _named(kind: object) -> NamedCalibrator:
    if not isinstance(kind, str) or kind not in CALIBRATORS:
        raise InvalidParameter(
            f"must be one of {sorted(CALIBRATORS)} or an object with propose(), describe() and "
            "guaranteed",
            parameter="calibrator",
            value=kind,
        )
    return CALIBRATORS[kind]
