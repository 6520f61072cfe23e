"""Priors near a given one: verdicts and suprema over all whose odds are within a factor of it.

Pure functions on :class:`~priste.quantify.joint_probabilities.JointProbabilities` and the weights
of their rows. The compiler behind them is imported at the first call.
"""

from priste.quantify.near_prior.near_verdicts import (
    near_beliefs,
    near_leakage,
    near_leakages,
    near_passes,
)

__all__ = ["near_beliefs", "near_leakage", "near_leakages", "near_passes"]
