"""The model of a person's own earlier days, for policies whose family has "own".

It is fitted once, when the stream begins, on recorded days before it, without the guarded time of
any day, and kept with the stream. It does not learn while the stream runs. Otherwise the release
tables would depend on true locations of the stream, which no check accounts for.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from priste.errors import InvalidParameter
from priste.live.freed_memory import in_a_child
from priste.live.keeping import StateFolder
from priste.policy import Policy
from priste.policy.model_choice import ChosenModel
from priste.traces import read_traces


def as_kept(policy: Policy, state: StateFolder) -> Policy:
    """Return the policy of a stream that has begun; the policy itself before that."""
    if not policy.depends_on_person or (model := state.own_model()) is None:
        return policy
    own = ChosenModel(model, member="own")
    return replace(policy, chosen_models=(*policy.chosen_models, own))


def fitted(policy: Policy, state: StateFolder, history: Path | None, begin: datetime) -> Policy:
    """Return the policy of a stream that begins now, and keep the model of the days before it.

    Without enough of these days the model is left out, as in ``priste protect``. Raises
    InvalidParameter then if the policy itself names "own" in its family.
    """
    if not policy.depends_on_person:
        return policy
    found = policy
    if history is not None:
        found = in_a_child(_for_person, policy, history, state.person, begin)
    if guards_own_days(found):
        state.keep_own_model(found.chosen_models[-1].model)
    elif policy.document.mobility[0].family:  # not by default
        raise InvalidParameter(
            f"must name a recording with days before {begin:%Y-%m-%d %H:%M}, outside guarded "
            "hours: 'family' of the policy has 'own'",
            parameter="history",
            owner="priste live",
            got="none" if history is None else "too little of these days",
            hint="Name one (history in the settings, or --history), or take 'own' out of 'family'.",
        )
    return found


def guards_own_days(policy: Policy) -> bool:
    """Return whether a policy has a model of the person's own days."""
    return any(chosen.member == "own" for chosen in policy.chosen_models)


def _for_person(policy: Policy, history: Path, person: str, begin: datetime) -> Policy:
    """Return the policy with a person's days in a recording: found by name, or the only
    person's."""
    traces = list(read_traces(history))
    named = [trace for trace in traces if trace.user == person]
    if len(found := named or traces) != 1:
        raise InvalidParameter(
            f"must hold the days of one person, or those of {person!r} by this name",
            parameter="history",
            owner="priste live",
            got=f"{len(traces)} people",
        )
    return policy.for_user(found[0], begin)
