"""What a policy will cost, and what releases are worth."""

from priste.forecast.evaluation import Distances, Evaluation, Worth, evaluate
from priste.forecast.policy_cost import DEFAULT_RUNS, Forecast, Row, forecast, suggest
from priste.forecast.simulation import Cost, Setting, simulate

__all__ = [
    "DEFAULT_RUNS",
    "Cost",
    "Distances",
    "Evaluation",
    "Forecast",
    "Row",
    "Setting",
    "Worth",
    "evaluate",
    "forecast",
    "simulate",
    "suggest",
]
