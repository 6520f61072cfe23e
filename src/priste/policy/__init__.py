"""The policy file: what a person writes, turned into maps, models, mechanisms and events."""

from priste.policy.explanation import ExplainedEvent, Explanation, explain_policy
from priste.policy.mobility import fitted_model
from priste.policy.policy import Policy, PolicyEvent, load_policy, read_policy

__all__ = [
    "ExplainedEvent",
    "Explanation",
    "Policy",
    "PolicyEvent",
    "explain_policy",
    "fitted_model",
    "load_policy",
    "read_policy",
]
