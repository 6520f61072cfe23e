"""The worst prior: how much releases can say about an event to an adversary with any prior.

Pure functions on :class:`~priste.quantify.joint_probabilities.JointProbabilities`. The compiler
behind them is imported at the first call.
"""

from priste.quantify.worst_prior.verdicts import (
    SLACK,
    leakages,
    passes,
    worst_directions,
    worst_prior_leakage,
)

__all__ = ["SLACK", "leakages", "passes", "worst_directions", "worst_prior_leakage"]
