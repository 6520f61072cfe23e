"""Models of a policy that are made by formula: a Gaussian, or people who stay or go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.mobility import MarkovModel, gaussian_with_stays, stay_or_go
from priste.mobility.population import LARGEST_DECAY
from priste.policy.sections import FamilyMember, Outside
from priste.policy.windows import NO_WINDOWS, Windows
from priste.traces import Timeline

Rule = Literal["nearest", "any"]

AWAY_HOURS = 8.0
"""How long people stay off the map by default."""

AWAY_SHARE = 0.1
"""How much of the time people spend off the map by default."""

NIGHT = (22, 6)
"""When ``stay_at_night`` holds: from the first hour to the second."""

DECAY = 2.0
"""How fast longer ways get rarer by default."""

WIDTHS: dict[FamilyMember, float] = {"narrow": 0.5, "wide": 2.0}
"""Of the family of a model: its spread, times that of the section's own."""


@dataclass(frozen=True)
class Ground:
    """The map and the clock of a policy, and how fixes become cells: what a model is fitted on.

    ``windows`` is the guarded time, which models are fitted without.
    """

    grid: Grid
    timeline: Timeline
    rule: Rule = "nearest"
    outside: Outside = "refuse"
    windows: Windows = NO_WINDOWS

    @property
    def beyond(self) -> Literal["nearest", "gap"]:
        """What a fix off the map does to a model: it counts where it would be released."""
        return "nearest" if self.outside in ("nearest", "off-map") else "gap"

    def stays_away(self, hours: float | None) -> float:
        """Return the chance that somebody off the map is so a step later."""
        away = timedelta(hours=AWAY_HOURS if hours is None else hours)
        return max(0.0, 1.0 - self.timeline.step / away)


@dataclass(frozen=True)
class Spreading:
    """A Gaussian of a policy: how far people move in a step, how long and much they are away."""

    ground: Ground
    sigma: float
    away_hours: float | None
    away_share: float | None

    doubts: ClassVar[tuple[FamilyMember, ...]] = ("narrow", "wide")

    def model(self) -> MarkovModel:
        """Return the model."""
        grid = self.ground.grid
        if self.ground.outside != "off-map":
            return MarkovModel.gaussian(grid, sigma=self.sigma)
        stay = np.zeros(grid.size)
        stay[sorted(grid.border)] = self.ground.stays_away(self.away_hours)
        return gaussian_with_stays(grid, self.sigma, stay, off_map=self.away_share or AWAY_SHARE)

    def relative(self, member: FamilyMember) -> Spreading:
        """Return another member of the family."""
        return replace(self, sigma=self.sigma * WIDTHS[member])


@dataclass(frozen=True)
class StayingOrGoing:
    """People who stay, or go near rather than far: how often, by day and by night."""

    ground: Ground
    stay: float
    stay_at_night: float | None
    decay: float
    away_hours: float | None
    away_share: float | None

    doubts: ClassVar[tuple[FamilyMember, ...]] = ("narrow", "wide")

    def model(self) -> MarkovModel:
        """Return the model; nights differ where the step divides the day."""
        grid, timeline = self.ground.grid, self.ground.timeline
        night = nights(timeline)
        if self.stay_at_night is None or night is None:
            return stay_or_go(grid, self._stays(self.stay), self.decay, off_map=self._beyond)
        by_step = [self._stays(self.stay_at_night if dark else self.stay) for dark in night]
        return stay_or_go(grid, by_step, self.decay, cycle=True, off_map=self._beyond)

    @property
    def _beyond(self) -> float | None:
        away = self.away_share or AWAY_SHARE
        return away if self.ground.outside == "off-map" else None

    def _stays(self, share: float) -> NDArray[np.float64]:
        stays = np.full(self.ground.grid.size, share)
        if self.ground.outside == "off-map":
            stays[sorted(self.ground.grid.border)] = self.ground.stays_away(self.away_hours)
        return stays

    def relative(self, member: FamilyMember) -> StayingOrGoing:
        """Return another member of the family: longer ways are rarer, or less rare."""
        wider = -0.5 if member == "wide" else 0.5
        return replace(self, decay=min(max(self.decay + wider, 0.5), LARGEST_DECAY))


def nights(timeline: Timeline) -> tuple[bool, ...] | None:
    """Tell of each step of a day whether it begins at night, None if days hold no whole steps."""
    day = timedelta(days=1)
    if day % timeline.step:
        return None
    shown = timeline.start.astimezone(timeline.zone).replace(tzinfo=None)
    hours = [(shown + number * timeline.step).hour for number in range(day // timeline.step)]
    return tuple(hour >= NIGHT[0] or hour < NIGHT[1] for hour in hours)
