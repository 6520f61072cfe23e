"""What releases say about an event: nonnegative recursions, adversaries and guarantees."""

from priste.quantify.adversaries import (
    Adversary,
    AnyPrior,
    KnownPrior,
    LastSeen,
    PerModel,
    PriorsWithin,
    StartsIn,
    adversary_from_dict,
    as_adversary,
)
from priste.quantify.guarantees import (
    BeliefBound,
    Guarantee,
    OddsBound,
    as_guarantee,
    guarantee_from_dict,
)
from priste.quantify.joint_probabilities import JointProbabilities
from priste.quantify.judges import Judge
from priste.quantify.leakage import Leakage
from priste.quantify.model_stream import StreamSnapshot
from priste.quantify.possible_paths import (
    PossiblePaths,
    PossiblePathsLeakage,
    possible_paths_leakage,
)
from priste.quantify.quantifier import FAMILIES, CandidateOperator, Family, Quantifier
from priste.quantify.worst_prior import leakages, passes, worst_prior_leakage

__all__ = [
    "FAMILIES",
    "Adversary",
    "AnyPrior",
    "BeliefBound",
    "CandidateOperator",
    "Family",
    "Guarantee",
    "JointProbabilities",
    "Judge",
    "KnownPrior",
    "LastSeen",
    "Leakage",
    "OddsBound",
    "PerModel",
    "PossiblePaths",
    "PossiblePathsLeakage",
    "PriorsWithin",
    "Quantifier",
    "StartsIn",
    "StreamSnapshot",
    "adversary_from_dict",
    "as_adversary",
    "as_guarantee",
    "guarantee_from_dict",
    "leakages",
    "passes",
    "possible_paths_leakage",
    "worst_prior_leakage",
]
