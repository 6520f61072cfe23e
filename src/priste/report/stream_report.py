"""What is shown of one protected stream: plain values, computed elsewhere."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from priste.audit import EventAudit
from priste.errors import InvalidParameter
from priste.maps import Grid


@dataclass(frozen=True)
class EventTrack:
    """One event's story: its promise, and what the releases told with and without priste.

    ``steps`` are the steps the event speaks of. ``guarded`` is what priste's releases
    told, ``bare`` what the same mechanism at full budget would have told, None if
    that was not computed.
    """

    name: str
    text: str
    epsilon: float
    steps: tuple[int, ...]
    guarded: EventAudit
    bare: EventAudit | None = None


@dataclass(frozen=True)
class StreamReport:
    """One stream, ready to be shown.

    ``times`` labels each step. ``released`` holds output cells, None for silence.
    ``distances`` are the kilometres between true and released cells as a sorted
    sample, so that they cannot be read step by step; ``truth`` is there only when the
    reader asked to see it. Sequences that run over steps have equal length.
    """

    title: str
    grid: Grid
    times: tuple[str, ...]
    promise: tuple[str, ...]
    regions: Mapping[str, tuple[int, ...]]
    events: tuple[EventTrack, ...]
    released: tuple[int | None, ...]
    budgets: tuple[float, ...]
    full_budget: float
    not_promised: tuple[str, ...] = ()
    distances: tuple[float, ...] = ()
    bare_distances: tuple[float, ...] = ()
    truth: tuple[int | None, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        steps = len(self.times)
        lengths = {
            "released": len(self.released),
            "budgets": len(self.budgets),
            **{f"leakage of {e.name}": len(e.guarded.leakage) for e in self.events},
        }
        if self.truth is not None:
            lengths["truth"] = len(self.truth)
        wrong = {name: length for name, length in lengths.items() if length != steps}
        if wrong:
            raise InvalidParameter(
                f"The sequences of a StreamReport must have one entry per step, {steps}. "
                f"Got {wrong}."
            )
        object.__setattr__(self, "distances", tuple(sorted(self.distances)))
        object.__setattr__(self, "bare_distances", tuple(sorted(self.bare_distances)))

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.times)

    @property
    def kept(self) -> bool:
        """Whether every event stayed within its ε at every step."""
        return all(e.guarded.max <= e.epsilon for e in self.events)

    @property
    def private(self) -> bool:
        """Whether anything here was made from true locations, so that it must not be published."""
        compared = any(event.bare is not None for event in self.events)
        return bool(self.distances or self.bare_distances or compared or self.truth is not None)

    @property
    def mean_metres(self) -> float:
        """The mean distance between true and released cells in metres, nan if unknown."""
        return 1000 * statistics.fmean(self.distances) if self.distances else math.nan

    @property
    def bare_mean_metres(self) -> float:
        """The same for the bare mechanism."""
        return 1000 * statistics.fmean(self.bare_distances) if self.bare_distances else math.nan

    @property
    def median_metres(self) -> float:
        """The median distance between true and released cells in metres, nan if unknown."""
        return 1000 * statistics.median(self.distances) if self.distances else math.nan

    @property
    def bare_median_metres(self) -> float:
        """The same for the bare mechanism."""
        return 1000 * statistics.median(self.bare_distances) if self.bare_distances else math.nan


def odds(leakage: float) -> str:
    """Say a leakage as the factor by which odds may move.

    >>> odds(0.5), odds(3), odds(math.inf), odds(0)
    ('1.65×', '20×', 'without limit', '1.00×')
    >>> odds(13.3), odds(30)
    ('600,000×', '1e13×')
    """
    if math.isinf(leakage) or leakage > 700:
        return "without limit" if math.isinf(leakage) else f"10^{leakage / math.log(10):.0f}×"
    factor = math.exp(leakage)
    if factor < 10:
        return f"{factor:.2f}×"
    if factor >= 1e9:
        return f"{factor:.0e}×".replace("e+", "e").replace("e0", "e")
    digits = max(0, math.floor(math.log10(factor)) - 1)  # two figures that mean something
    return f"{round(factor, -digits):,.0f}×"


def percent(probability: float) -> str:
    """Say a probability in percent without claiming certainty that is not there.

    >>> percent(0.5), percent(0.0), percent(0.99999), percent(1e-9), percent(1.0)
    ('50.0 %', '0 %', '> 99.9 %', '< 0.1 %', '100 %')
    """
    if probability in (0.0, 1.0):
        return f"{probability:.0%}".replace("%", " %")
    if probability < 0.001:
        return "< 0.1 %"
    if probability > 0.999:
        return "> 99.9 %"
    return f"{100 * probability:.1f} %"
