"""The same releases in the light of other models of movement: how much hangs on the own one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from priste.policy import Policy
from priste.policy.model_choice import ChosenModel
from priste.report.audits import leakages

OTHERWISE = {
    "narrow": "half as far as the model says",
    "wide": "twice as far as the model says",
    "plain": "in the same way at all hours",
    "day": "differently at each hour of the day",
    "week": "differently at each hour of the week",
    "roaming": "without a home to come back to",
}
"""How people move if a relative of the model holds, after "if people move"."""


def if_people_move_otherwise(
    policy: Policy,
    columns: Sequence[NDArray[np.float64] | None],
    names: Collection[str] | None = None,
) -> dict[str, dict[str, float]]:
    """Return, per event, the largest leakage of a stream under each relative of the first model.

    Of all events, or of those in ``names``; by words that say how people then move. The adversary
    is the policy's, who knows that other model in place of the policy's. Nothing is guaranteed
    about these: they tell how much hangs on the model. Empty for a model that was read from a file.
    """
    wanted = [name for name in policy.events if names is None or name in names]
    found: dict[str, dict[str, float]] = {name: {} for name in wanted}
    for member, model in policy.chosen_models[0].relatives().items():
        other = replace(policy, chosen_models=(ChosenModel(model),))
        for name in wanted:
            found[name][OTHERWISE[member]] = max(leakages(other, name, columns), default=0.0)
    return found
