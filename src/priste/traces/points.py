"""Released cells as coordinates.

A coordinate is the centre of the released cell and depends on nothing else, so it reveals no more
than the release did. Every fix of a step gets the one point of its step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.traces.timeline import LARGEST_TIMELINE, Timeline

Released = Mapping[str | None, Sequence[int | None]]
"""For each user the released cell of each step from 0 on, None where nothing was released."""

DECIMALS = 7
"""Of a degree in every written coordinate: about a centimetre, the same for every row."""


class ReleasedPoints:
    """The point of each user and step."""

    def __init__(self, released: Released, timeline: Timeline, grid: Grid) -> None:
        if not grid.is_geographic:
            raise InvalidParameter(
                "must be a map of the earth, to be written as coordinates",
                parameter="grid",
                owner="ReleasedPoints",
                hint="Make it with Grid.covering.",
            )
        self.timeline = timeline
        self.grid = grid
        self._released = released
        self._centres = np.full((grid.size, 2), np.nan)  # of the cells that were met so far

    def of(self, user: str | None) -> NDArray[np.float64]:
        """Return the (steps, 2) latitudes and longitudes of a user; nan where nothing is."""
        cells = self._released.get(user, ())
        if len(cells) > LARGEST_TIMELINE:
            raise InvalidParameter(
                f"must have at most {LARGEST_TIMELINE} steps",
                parameter="released",
                owner="ReleasedPoints",
                value=len(cells),
            )
        points = np.full((len(cells), 2), np.nan)
        steps = [step for step, cell in enumerate(cells) if cell is not None]
        if steps:
            chosen = np.array([cells[step] for step in steps])
            unmet = np.unique(chosen[np.isnan(self._centres[chosen, 0])])
            if unmet.size:
                found = np.stack(self.grid.latlon(unmet), axis=1)
                self._centres[unmet] = np.round(found, DECIMALS)
            points[steps] = self._centres[chosen]
        return points

    def for_rows(
        self, users: Sequence[str | None], times: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the (n, 2) points of many records; nan where nothing was released."""
        found = np.full((len(users), 2), np.nan)
        steps = self.timeline.steps_of(times)
        rows_of: dict[str | None, list[int]] = {}
        for row, user in enumerate(users):
            rows_of.setdefault(user, []).append(row)
        for user, listed in rows_of.items():
            rows, points = np.array(listed), self.of(user)
            rows = rows[(steps[rows] >= 0) & (steps[rows] < len(points))]
            found[rows] = points[steps[rows]]
        return found
