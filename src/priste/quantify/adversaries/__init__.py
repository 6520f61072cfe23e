"""Adversaries: the priors over the first cell that a guarantee is against."""

from priste.quantify.adversaries.adversary import Adversary
from priste.quantify.adversaries.adversary_table import adversary_from_dict, as_adversary
from priste.quantify.adversaries.any_prior import AnyPrior
from priste.quantify.adversaries.known_prior import KnownPrior
from priste.quantify.adversaries.last_seen import LastSeen
from priste.quantify.adversaries.per_model import PerModel
from priste.quantify.adversaries.priors_within import PriorsWithin
from priste.quantify.adversaries.starts_in import StartsIn

__all__ = [
    "Adversary",
    "AnyPrior",
    "KnownPrior",
    "LastSeen",
    "PerModel",
    "PriorsWithin",
    "StartsIn",
    "adversary_from_dict",
    "as_adversary",
]
