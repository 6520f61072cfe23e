"""The ways to choose the release table of each step, and the registry of those with a name."""

from priste.release.calibrators.calibrator import Calibrator
from priste.release.calibrators.certified import Certified
from priste.release.calibrators.named_calibrators import (
    CALIBRATORS,
    DEFAULT_CALIBRATOR,
    NamedCalibrator,
    as_calibrator,
    calibrator_from_description,
)
from priste.release.calibrators.optimal import Optimal
from priste.release.calibrators.paper import Checker, Paper
from priste.release.calibrators.uncalibrated import Uncalibrated

__all__ = [
    "CALIBRATORS",
    "DEFAULT_CALIBRATOR",
    "Calibrator",
    "Certified",
    "Checker",
    "NamedCalibrator",
    "Optimal",
    "Paper",
    "Uncalibrated",
    "as_calibrator",
    "calibrator_from_description",
]
