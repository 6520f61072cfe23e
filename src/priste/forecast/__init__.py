"""What a policy will cost, before anything is released."""

from priste.forecast.policy_cost import (
    QUICK_RELEASES,
    QUICK_RUNS,
    REFINED_RUNS,
    Forecast,
    Row,
    forecast,
    model_costs,
    quick_forecast,
    refined_forecast,
)
from priste.forecast.simulation import Cost, Metres
from priste.forecast.suggestion import Suggestion, suggest

__all__ = [
    "QUICK_RELEASES",
    "QUICK_RUNS",
    "REFINED_RUNS",
    "Cost",
    "Forecast",
    "Metres",
    "Row",
    "Suggestion",
    "forecast",
    "model_costs",
    "quick_forecast",
    "refined_forecast",
    "suggest",
]
