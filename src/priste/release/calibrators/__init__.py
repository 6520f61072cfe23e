"""The ways to choose the law of each release, and the table of those that have a name."""

from priste.release.calibrators.bare import Bare
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

__all__ = [
    "CALIBRATORS",
    "DEFAULT_CALIBRATOR",
    "RETIRED",
    "Bare",
    "Certified",
    "Checker",
    "NamedCalibrator",
    "Optimal",
    "Paper",
    "calibrator_from_description",
    "calibrator_of_name",
]
