"""The release loop: a stream of locations goes in, private outputs come out.

``Protector`` runs it. A calibrator chooses the budget of each release: ``Certified`` keeps its
guarantee against those who know the code, ``Paper`` is the published loop, ``Uncalibrated``
guarantees nothing. ``PublicState`` is all that an adversary can know; ``Law`` is the exact law of a
release. Only this package draws random numbers for releases, and only here they are written
to disk.
"""

from priste.release.calibrator import Calibrator, Draw, EventOperator, Law
from priste.release.calibrators import (
    CALIBRATORS,
    Certified,
    Checker,
    Optimal,
    Paper,
    Uncalibrated,
    calibrator_from_description,
)
from priste.release.ledger import Ledger, Release, is_ledger, read_ledgers, write_ledgers
from priste.release.protector import Protector
from priste.release.public_state import PublicState
from priste.release.shared_beginnings import Beginnings
from priste.release.terms import Terms, make_terms

__all__ = [
    "CALIBRATORS",
    "Beginnings",
    "Calibrator",
    "Certified",
    "Checker",
    "Draw",
    "EventOperator",
    "Law",
    "Ledger",
    "Optimal",
    "Paper",
    "Protector",
    "PublicState",
    "Release",
    "Terms",
    "Uncalibrated",
    "calibrator_from_description",
    "is_ledger",
    "make_terms",
    "read_ledgers",
    "write_ledgers",
]
