"""The policy file: what a person writes, turned into maps, models, mechanisms and events."""

from priste.policy.document import Document
from priste.policy.draft.text import draft_policy, drafted
from priste.policy.explanation import (
    Explanation,
    covered_combinations,
    explain_policy,
    gaps_in_the_guard,
    uncovered_combinations,
)
from priste.policy.formula_models import Ground
from priste.policy.model_choice import (
    cell_sequences,
    chosen_memory,
    population_model,
)
from priste.policy.policy import Policy, PolicyEvent, PolicyOf
from priste.policy.policy_reader import (
    load_ground,
    load_policy,
    read_policy,
    somewhere,
    with_regions,
)
from priste.policy.workload import workload

__all__ = [
    "Document",
    "Explanation",
    "Ground",
    "Policy",
    "PolicyEvent",
    "PolicyOf",
    "cell_sequences",
    "chosen_memory",
    "covered_combinations",
    "draft_policy",
    "drafted",
    "explain_policy",
    "gaps_in_the_guard",
    "load_ground",
    "load_policy",
    "population_model",
    "read_policy",
    "somewhere",
    "uncovered_combinations",
    "with_regions",
    "workload",
]
