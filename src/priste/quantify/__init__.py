"""What releases say about an event: four nonnegative recursions, and against whom they are read."""

from priste.quantify.adversaries import Adversary
from priste.quantify.leakage import Leakage
from priste.quantify.moments import Moments
from priste.quantify.observers import (
    AnyStart,
    Near,
    Observer,
    Priors,
    Stale,
    Starts,
    observer_from_dict,
)
from priste.quantify.possible_paths import (
    PossiblePaths,
    PossiblePathsLeakage,
    possible_paths_leakage,
)
from priste.quantify.promises import Belief, Odds, Promise, as_promise, promise_from_dict
from priste.quantify.quantifier import Quantifier
from priste.quantify.stream_snapshot import StreamSnapshot
from priste.quantify.worst_prior import leakages, passes, worst_prior_leakage

__all__ = [
    "Adversary",
    "AnyStart",
    "Belief",
    "Leakage",
    "Moments",
    "Near",
    "Observer",
    "Odds",
    "PossiblePaths",
    "PossiblePathsLeakage",
    "Priors",
    "Promise",
    "Quantifier",
    "Stale",
    "Starts",
    "StreamSnapshot",
    "as_promise",
    "leakages",
    "observer_from_dict",
    "passes",
    "possible_paths_leakage",
    "promise_from_dict",
    "worst_prior_leakage",
]
