"""How people move: :class:`MarkovModel`, made from matrices, from a formula, or from data.

A model gives a :class:`Transition` for each step, with one interface whatever its form. Data are
never repaired silently, and no m by m array is made unless one was given.
"""

from __future__ import annotations

from priste.mobility.gaussian import mass_outside_reach
from priste.mobility.home import HomeHabits, home_habits_of, usual_home, with_home
from priste.mobility.memory import (
    MemoryScore,
    PopulationChoice,
    PopulationFit,
    choose_population,
    fit_population,
    memories_of,
)
from priste.mobility.model import MarkovModel
from priste.mobility.own_history import (
    OwnStrength,
    choose_own_strength,
    day_windows,
    own_history,
)
from priste.mobility.population import Shrinkage
from priste.mobility.smoothed_counts import (
    AddEverywhere,
    AddNearby,
    GaussianPrior,
    MaximumLikelihood,
    Smoothing,
)
from priste.mobility.stay_or_go import Habits, gaussian_with_stays, habits_of, stay_or_go
from priste.mobility.storage import ModelOrigin
from priste.mobility.structured import BlendedTransition, SeparableTransition
from priste.mobility.transitions import DenseTransition, SparseTransition, Transition

__all__ = [
    "AddEverywhere",
    "AddNearby",
    "BlendedTransition",
    "DenseTransition",
    "GaussianPrior",
    "Habits",
    "HomeHabits",
    "MarkovModel",
    "MaximumLikelihood",
    "MemoryScore",
    "ModelOrigin",
    "OwnStrength",
    "PopulationChoice",
    "PopulationFit",
    "SeparableTransition",
    "Shrinkage",
    "Smoothing",
    "SparseTransition",
    "Transition",
    "choose_own_strength",
    "choose_population",
    "day_windows",
    "fit_population",
    "gaussian_with_stays",
    "habits_of",
    "home_habits_of",
    "mass_outside_reach",
    "memories_of",
    "own_history",
    "stay_or_go",
    "usual_home",
    "with_home",
]
