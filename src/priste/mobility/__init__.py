"""How people move: :class:`MarkovModel`, made from matrices, from a formula, or from data.

A model answers one question, through one interface whatever its form: where does a
distribution over states go in one step (:class:`Transition`). Nothing here repairs data
in silence, and nothing needs an m by m array unless it was given one.
"""

from __future__ import annotations

from priste.mobility.gaussian import DENSE_LIMIT, LEAST_WEIGHT, MAX_NONZEROS, mass_beyond
from priste.mobility.long_run import STATIONARY_TOLERANCE
from priste.mobility.model import MarkovModel
from priste.mobility.second_order import MAX_PAIRS
from priste.mobility.smoothing import (
    AddEverywhere,
    AddNearby,
    GaussianPrior,
    MaximumLikelihood,
    Smoothing,
)
from priste.mobility.structured import BlendedTransition, SeparableTransition
from priste.mobility.transitions import DenseTransition, SparseTransition, Transition
from priste.mobility.validation import ROW_SUM_TOLERANCE

__all__ = [
    "DENSE_LIMIT",
    "LEAST_WEIGHT",
    "MAX_NONZEROS",
    "MAX_PAIRS",
    "ROW_SUM_TOLERANCE",
    "STATIONARY_TOLERANCE",
    "AddEverywhere",
    "AddNearby",
    "BlendedTransition",
    "DenseTransition",
    "GaussianPrior",
    "MarkovModel",
    "MaximumLikelihood",
    "SeparableTransition",
    "Smoothing",
    "SparseTransition",
    "Transition",
    "mass_beyond",
]
