"""The release loop: a stream of locations goes in, private outputs come out.

``Protector`` runs it. A calibrator chooses the budget of each release: ``Certified`` keeps its
promise against those who know the code, ``Paper`` is the published loop, ``Bare`` promises
nothing. ``PublicState`` is all that an adversary can know; ``Law`` is the exact law of a
release. Only this package draws random numbers for releases, and only here they are written
to disk.
"""

from priste.release.bare import Bare
from priste.release.calibration import Calibrator, Draw, Law, Situation
from priste.release.certified import Certified
from priste.release.optimal import Optimal
from priste.release.paper import Checker, Paper
from priste.release.protector import Protector
from priste.release.public_state import PublicState
from priste.release.records import Ledger, Release
from priste.release.remap import Choice, Remap
from priste.release.terms import Terms

__all__ = [
    "Bare",
    "Calibrator",
    "Certified",
    "Checker",
    "Choice",
    "Draw",
    "Law",
    "Ledger",
    "Optimal",
    "Paper",
    "Protector",
    "PublicState",
    "Release",
    "Remap",
    "Situation",
    "Terms",
]
