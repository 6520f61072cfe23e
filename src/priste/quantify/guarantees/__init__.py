"""What is guaranteed about an event: how far odds may move, or how sure an adversary may get."""

from priste.quantify.guarantees.belief_bound import BeliefBound
from priste.quantify.guarantees.guarantee import Comparison, Guarantee, Limits
from priste.quantify.guarantees.guarantee_table import as_guarantee, as_limits, guarantee_from_dict
from priste.quantify.guarantees.odds_bound import OddsBound

__all__ = [
    "BeliefBound",
    "Comparison",
    "Guarantee",
    "Limits",
    "OddsBound",
    "as_guarantee",
    "as_limits",
    "guarantee_from_dict",
]
