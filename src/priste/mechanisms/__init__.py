"""Mechanisms turn the true cell into a random output; all of them are emission tables on a grid.

They know nothing of events. What each one guarantees is in :class:`Mechanism`.
"""

from priste.mechanisms.emission_table import EmissionTable
from priste.mechanisms.identity import Identity
from priste.mechanisms.location_set import LocationSet
from priste.mechanisms.mechanism import ROW_SUM_TOLERANCE, Mechanism
from priste.mechanisms.planar_isotropic import PlanarIsotropic
from priste.mechanisms.planar_laplace import PlanarLaplace
from priste.mechanisms.registry import (
    MECHANISMS,
    NamedMechanism,
    mechanism_from_dict,
    mechanism_words,
    mechanisms_of_policies,
)
from priste.mechanisms.uniform import Uniform

__all__ = [
    "MECHANISMS",
    "ROW_SUM_TOLERANCE",
    "EmissionTable",
    "Identity",
    "LocationSet",
    "Mechanism",
    "NamedMechanism",
    "PlanarIsotropic",
    "PlanarLaplace",
    "Uniform",
    "mechanism_from_dict",
    "mechanism_words",
    "mechanisms_of_policies",
]
