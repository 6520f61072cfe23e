"""What a policy will cost, and what releases are worth."""

from priste.forecast.evaluation import Distances, Evaluation, Worth, evaluate

__all__ = ["Distances", "Evaluation", "Worth", "evaluate"]
