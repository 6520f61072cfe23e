"""All calibrators that have a name, in one table: what each promises, does and takes.

A new calibrator is one class and one line here. Whatever offers a choice of calibrators (policies,
their explanation, drafts, state files, experiments) takes names, words and parameters from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from priste.errors import InvalidParameter
from priste.release.calibrator import Calibrator
from priste.release.calibrators.bare import Bare
from priste.release.calibrators.certified import Certified
from priste.release.calibrators.optimal.optimal import Optimal
from priste.release.calibrators.paper import Paper
from priste.release.calibrators.remap.remap import Remap


@dataclass(frozen=True)
class NamedCalibrator:
    """One line of the table.

    ``make`` takes the ``parameters`` by name, all optional; ``parameters`` tells what each means.
    ``in_short`` is one line, ``explained`` a paragraph, both for people. ``promise`` is that of
    the calibrators it makes.
    """

    make: Callable[..., Calibrator]
    promise: bool
    in_short: str
    explained: str
    parameters: Mapping[str, str]


_PACE = "share of what is left of each bound that one step may use up, in (0, 1]"
_COST = '"distance", "squared", "worst", or a matrix (cells, outputs)'

CALIBRATORS: Mapping[str, NamedCalibrator] = MappingProxyType(
    {
        "certified": NamedCalibrator(
            Certified,
            Certified.promise,
            "the largest budget at which every possible output keeps the promise",
            "Before each release the largest budget is chosen at which every possible output keeps "
            "the promise. The choice depends on past releases alone, so the promise also holds "
            "against somebody who knows the code, this policy and the budget in use.",
            {
                "pace": _PACE,
                "steps_per_halving": "how many budgets are tried between one and its half",
                "halvings": "how often the budget may be halved before nothing is told",
            },
        ),
        "remap": NamedCalibrator(
            Remap,
            Remap.promise,
            "full budget, then the cheapest of a few ways to merge or replace what was drawn",
            "The mechanism draws at its full budget; what it drew is merged with others or "
            "replaced by something public, by the cheapest of a few laws under which every "
            "possible output keeps the promise. The law depends on past releases alone, so the "
            "promise also holds against somebody who knows the code, this policy and the law in "
            "use.",
            {"pace": _PACE, "cost": _COST},
        ),
        "optimal": NamedCalibrator(
            Optimal,
            Optimal.promise,
            "full budget, then the randomised table of least expected cost that is still private",
            "The mechanism draws at its full budget; what it drew is sent on by a randomised table "
            "that is optimised before each release for the least expected distance, such that "
            "every possible output keeps the promise. The table depends on past releases alone "
            "(and on how fast the machine is), so the promise also holds against somebody who "
            "knows the code, this policy and the table in use.",
            {
                "pace": _PACE,
                "cost": _COST,
                "seconds": "the time a step may take; None for no limit",
                "rounds": "how often the programme is solved at a step, at most",
            },
        ),
        "paper": NamedCalibrator(
            Paper,
            Paper.promise,
            "the published loop: draw, check, halve, draw again; for reproduction",
            "Each release follows the published loop: draw, check, halve the budget, draw again. "
            "Its check does not cover the rejected draws, so somebody who knows the loop can learn "
            "MORE than ε. Use it to reproduce results, not to protect people.",
            {
                "decay": "what a failed check multiplies the budget by, in (0, 1)",
                "max_attempts": "how many draws a release has, the last one at budget 0",
                "check_seconds": "the time limit of a check by a solver; None for no limit",
            },
        ),
        "bare": NamedCalibrator(
            Bare,
            Bare.promise,
            "the mechanism at full budget, no check; for comparison",
            "Each release is the mechanism's own draw at its full budget. Nothing is checked, so "
            "anything may be learnt. Use it to compare, not to protect people.",
            {},
        ),
    }
)


def calibrator_from_description(description: Mapping[str, Any]) -> Calibrator:
    """Return the calibrator that ``describe()`` described: its name under "kind", parameters.

    >>> calibrator_from_description({"kind": "certified", "pace": 0.5}).describe()["pace"]
    0.5
    """
    parameters = dict(description)
    kind = parameters.pop("kind", None)
    if not isinstance(kind, str) or kind not in CALIBRATORS:
        raise InvalidParameter(
            f"The 'calibrator' must be one of {sorted(CALIBRATORS)} or an object with draw(), "
            f"law(), describe() and promise. Got {kind!r}."
        )
    return CALIBRATORS[kind].make(**parameters)
