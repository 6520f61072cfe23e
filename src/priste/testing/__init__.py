"""Conformance tests for parts that others write: mechanisms, calibrators, adversaries, formats.

Call them in your own tests. They return nothing if the part keeps its contract. Otherwise they
raise :class:`NotConformant`, an ``AssertionError`` that names the broken rule. Passing is evidence,
not a proof: the tests use small maps and fixed seeds.
"""

from priste.testing.adversary_checks import check_adversary
from priste.testing.calibrator_checks import check_calibrator
from priste.testing.format_checks import check_trace_format
from priste.testing.mechanism_checks import check_mechanism
from priste.testing.required import NotConformant

__all__ = [
    "NotConformant",
    "check_adversary",
    "check_calibrator",
    "check_mechanism",
    "check_trace_format",
]
