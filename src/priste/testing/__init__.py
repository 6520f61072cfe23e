"""Conformance tests for parts that others write: mechanisms, calibrators, adversaries, formats.

Call them in your own tests. They return nothing when the part keeps its contract, and raise
:class:`NotConformant`, an ``AssertionError``, that names the rule which is broken. Passing is
evidence, not a proof: they try small maps and fixed seeds.
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
