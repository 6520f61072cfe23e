"""The ways to choose the law of each release, and the table of those that have a name."""

from priste.release.calibrators.certified import Certified
from priste.release.calibrators.optimal import Optimal
from priste.release.calibrators.paper import Checker, Paper
from priste.release.calibrators.table import (
    CALIBRATORS,
    DEFAULT_CALIBRATOR,
    RETIRED,
    NamedCalibrator,
    calibrator_from_description,
    calibrator_of_name,
)
from priste.release.calibrators.uncalibrated import Uncalibrated

__all__ = [
    "CALIBRATORS",
    "DEFAULT_CALIBRATOR",
    "RETIRED",
    "Certified",
    "Checker",
    "NamedCalibrator",
    "Optimal",
    "Paper",
    "Uncalibrated",
    "calibrator_from_description",
    "calibrator_of_name",
]
