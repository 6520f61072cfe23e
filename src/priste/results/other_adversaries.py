"""The leakage of the same releases to adversaries with another mobility model. It is not
guaranteed. The adversary's priors are those of the policy's class, under the other model.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.mobility import MarkovModel
from priste.mobility.own_history import day_windows, own_history
from priste.results.audits import leakages
from priste.results.true_steps import NONE, TrueSteps

if TYPE_CHECKING:
    from priste.policy import Policy

OTHERWISE = {
    "roaming": "who knows no home of the person",
    "narrow": "who thinks that people move half as far",
    "wide": "who thinks that people move twice as far",
    "plain": "who thinks that people move alike at all hours",
    "day": "who thinks that each hour of the day differs",
    "week": "who thinks that each hour of the week differs",
}
"""Adversaries in words, by the relative of the policy's model that they hold."""

OWN_HISTORY = "who holds the person's own other hours"


def other_adversaries(
    policy: Policy,
    columns: Sequence[NDArray[np.float64] | None],
    names: Collection[str] | None = None,
    truth: TrueSteps | None = None,
) -> dict[str, dict[str, float]]:
    """Return, per event, the largest leakage of a stream to adversaries with other models.

    Of all events, or of those in ``names``, by the adversary in words. With the ``truth`` also to
    one who holds the person's own history. Empty for a model that was read from a file.
    """
    from priste.policy.model_choice import ChosenModel

    wanted = [name for name in policy.events if names is None or name in names]
    found: dict[str, dict[str, float]] = {name: {} for name in wanted}
    held = {OTHERWISE[kind]: model for kind, model in policy.chosen_models[0].relatives().items()}
    own = None if truth is None else own_model(policy, truth)
    if own is not None:
        held = {OWN_HISTORY: own, **held}
    for words in sorted(held, key=[OWN_HISTORY, *OTHERWISE.values()].index):
        other = replace(policy, chosen_models=(ChosenModel(held[words]),))
        for name in wanted:
            found[name][words] = max(leakages(other, name, columns), default=0.0)
    return found


def own_model(policy: Policy, truth: TrueSteps) -> MarkovModel | None:
    """Return the model of an adversary who holds the person's own hours outside the events.

    None where there is no move, or where the policy's first model is of second order.
    """
    guarded = {
        layer.step for each in policy.events.values() for layer in each.event.automaton().layers
    }
    left_out = [step in guarded for step in range(len(truth))]
    cells = [None if cell == NONE else cell for cell in truth.cells.tolist()]
    line = policy.timeline
    windows = day_windows(line.time_of(0).replace(tzinfo=None), line.step)
    try:
        return own_history(policy.model, [cells], windows, leave_out=[left_out])
    except InvalidParameter:
        return None
