"""The release loop: a stream of locations goes in, deniable outputs come out.

``Protector`` runs it. A calibrator proposes the release table of each step; ``AccountantState``
checks it and counts what was drawn. Only this package draws random numbers for releases, and only
here releases are written to disk.
"""

from priste.release.accountant import AccountantState, CheckResult, EventOperator
from priste.release.calibrators import (
    CALIBRATORS,
    Calibrator,
    Certified,
    Checker,
    Optimal,
    Paper,
    Uncalibrated,
    calibrator_from_description,
)
from priste.release.ledger import Ledger, Release, is_ledger, read_ledgers, write_ledgers
from priste.release.protector import Protector
from priste.release.release_tables import (
    CheckedTable,
    Draw,
    OutputDistribution,
    ReleaseRule,
    ReleaseTable,
)
from priste.release.stream_tree import StreamNode, StreamTree
from priste.release.terms import Terms, make_terms

__all__ = [
    "CALIBRATORS",
    "AccountantState",
    "Calibrator",
    "Certified",
    "CheckResult",
    "CheckedTable",
    "Checker",
    "Draw",
    "EventOperator",
    "Ledger",
    "Optimal",
    "OutputDistribution",
    "Paper",
    "Protector",
    "Release",
    "ReleaseRule",
    "ReleaseTable",
    "StreamNode",
    "StreamTree",
    "Terms",
    "Uncalibrated",
    "calibrator_from_description",
    "is_ledger",
    "make_terms",
    "read_ledgers",
    "write_ledgers",
]
