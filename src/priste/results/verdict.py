"""Whether a guarantee was kept: decided here, for the page, the exit code and every table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import numpy as np

from priste.quantify import Guarantee
from priste.quantify.guarantees import REPORTED_SLACK
from priste.release import Calibrator, Release


class Verdict(StrEnum):
    """What can be said of releases and their guarantee."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_GUARANTEED = "not guaranteed"

    @property
    def sentence(self) -> str:
        """The verdict as a sentence, which claims no more than was checked.

        >>> Verdict.KEPT.sentence
        'The guarantee was kept, of this stream and under these models.'
        """
        if self is Verdict.NOT_GUARANTEED:
            return "Nothing was guaranteed."
        kept = "kept" if self is Verdict.KEPT else "not kept"
        return f"The guarantee was {kept}, of this stream and under these models."


def within(leakage: float, epsilon: float) -> bool:
    """Return whether a reported number, an upper bound, is within its limit; NaN is not."""
    return leakage <= epsilon + REPORTED_SLACK


def ledger_keeps(guarantee: Guarantee, releases: Sequence[Release], number: int) -> bool | None:
    """Return whether a ledger keeps the guarantee about event ``number``; None if it cannot say.

    A ledger has one leakage per event, over the directions that the guarantee bounds: if these have
    different bounds, it may not tell whether the smaller one was kept.
    """
    if not releases:
        return True
    leakage = float(np.max([release.leakage[number] for release in releases]))  # NaN stays NaN
    known = all(release.belief for release in releases)
    belief = float(np.max([release.belief[number] for release in releases])) if known else None
    return guarantee.is_kept_by(leakage, belief)


def verdict(calibrator: Calibrator | None, kept: Iterable[bool]) -> Verdict:
    """Return the verdict on whether each guarantee held.

    A calibrator that guarantees nothing (see ``Calibrator.guaranteed``) cannot keep a guarantee,
    however small the leakages turned out: they bound what is learnt by those who do not know how
    releases were made. None stands for releases of unknown making, judged by their numbers.

    >>> from priste.release import Certified, Paper
    >>> [str(verdict(c, [True])) for c in (Certified(), Paper(), None)]
    ['kept', 'not guaranteed', 'kept']
    >>> str(verdict(None, [True, False]))
    'broken'
    """
    if calibrator is not None and not calibrator.guaranteed:
        return Verdict.NOT_GUARANTEED
    return Verdict.KEPT if all(kept) else Verdict.BROKEN


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on several streams: the worst of theirs.

    >>> str(together([Verdict.KEPT, Verdict.BROKEN])), str(together([]))
    ('broken', 'kept')
    """
    found = set(verdicts)
    for each in (Verdict.BROKEN, Verdict.NOT_GUARANTEED):
        if each in found:
            return each
    return Verdict.KEPT
