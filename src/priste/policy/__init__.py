"""The policy file: what a person writes, turned into maps, models, mechanisms and events."""

from priste.policy.explanation import (
    ExplainedEvent,
    Explanation,
    explain_policy,
    gaps_in_the_guard,
)
from priste.policy.model_choice import (
    Ground,
    HeldOut,
    cell_sequences,
    fitted_model,
    held_out_score,
)
from priste.policy.observer_choice import ChosenObserver
from priste.policy.policy import Policy, PolicyEvent, Unguarded
from priste.policy.policy_draft import draft_policy
from priste.policy.policy_reader import load_ground, load_policy, read_policy

__all__ = [
    "ChosenObserver",
    "ExplainedEvent",
    "Explanation",
    "Ground",
    "HeldOut",
    "Policy",
    "PolicyEvent",
    "Unguarded",
    "cell_sequences",
    "draft_policy",
    "explain_policy",
    "fitted_model",
    "gaps_in_the_guard",
    "held_out_score",
    "load_ground",
    "load_policy",
    "read_policy",
]
