"""What releases say about an event: four nonnegative recursions and their worst prior."""

from priste.quantify.leakage import Leakage
from priste.quantify.moments import Moments
from priste.quantify.possible_paths import (
    PossiblePaths,
    PossiblePathsLeakage,
    possible_paths_leakage,
)
from priste.quantify.quantifier import Quantifier
from priste.quantify.worst_prior import leakages, passes, worst_prior_leakage

__all__ = [
    "Leakage",
    "Moments",
    "PossiblePaths",
    "PossiblePathsLeakage",
    "Quantifier",
    "leakages",
    "passes",
    "possible_paths_leakage",
    "worst_prior_leakage",
]
