"""Released cells as coordinates: what may stand in a file in place of the truth.

A coordinate depends only on the released cell and on fresh randomness, never on the fix it
replaces; so it says no more than the release did. Every fix of a step gets the one
point of its step: a second draw could be averaged with the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.randomness import BitSource, Seed, bit_source
from priste.traces.timeline import LARGEST_TIMELINE, Timeline

PointChoice = Literal["centre", "random"]
Released = Mapping[str | None, Sequence[int | None]]
"""For each user the released cell of each step from 0 on, None where nothing was released."""

DECIMALS = 7
"""Of a degree in every written coordinate: about a centimetre, the same for every row."""

_TRIES = 1_000
_PARTS = 1 << 40  # a draw is one of this many equal parts of a cell's side


class ReleasedPoints:
    """The point of each user and step; drawn once, when first asked for."""

    def __init__(
        self,
        released: Released,
        timeline: Timeline,
        grid: Grid,
        point: PointChoice = "centre",
        rng: Seed | BitSource = None,
    ) -> None:
        if point not in get_args(PointChoice):
            raise InvalidParameter(
                f"must be one of {get_args(PointChoice)}", parameter="point", value=point
            )
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
        self._random = point == "random"
        self._bits = bit_source(rng)
        self._points: dict[str | None, NDArray[np.float64]] = {}
        self._centres = np.full((grid.size, 2), np.nan)  # of the cells that were met so far

    def of(self, user: str | None) -> NDArray[np.float64]:
        """Return the (steps, 2) latitudes and longitudes of a user; nan where nothing is."""
        if user not in self._points:
            self._points[user] = self.draw(user)
        return self._points[user]

    def draw(self, user: str | None) -> NDArray[np.float64]:
        """Return the points of a user without remembering them, for one who asks but once."""
        return self._draw(self._released.get(user, ()))

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

    def _draw(self, cells: Sequence[int | None]) -> NDArray[np.float64]:
        if len(cells) > LARGEST_TIMELINE:
            raise InvalidParameter(
                f"must have at most {LARGEST_TIMELINE} steps",
                parameter="released",
                owner="ReleasedPoints",
                got=f"{len(cells)}",
            )
        points = np.full((len(cells), 2), np.nan)
        steps = [step for step, cell in enumerate(cells) if cell is not None]
        if not steps:
            return points
        chosen = np.array([cells[step] for step in steps])
        if self._random:
            points[steps] = [self._random_point(int(cell)) for cell in chosen]
        else:
            unmet = np.unique(chosen[np.isnan(self._centres[chosen, 0])])
            if unmet.size:
                found = np.stack(self.grid.latlon(unmet), axis=1)
                self._centres[unmet] = np.round(found, DECIMALS)
            points[steps] = self._centres[chosen]
        return points

    def _random_point(self, cell: int) -> tuple[float, float]:
        """Return a uniform point of a cell that is still in it after rounding."""
        x_min, y_min, x_max, y_max = self.grid.bounds_of(cell)
        for _ in range(_TRIES):
            x = x_min + (x_max - x_min) * ((self._bits.below(_PARTS) + 0.5) / _PARTS)
            y = y_min + (y_max - y_min) * ((self._bits.below(_PARTS) + 0.5) / _PARTS)
            lat, lon = (round(value, DECIMALS) for value in self.grid.latlon_at(x, y))
            if self.grid.cell_at(lat, lon, outside="nearest") == cell:
                return lat, lon
        raise InvalidParameter(
            f"Cells of {self.grid.cell_size} km are too small for coordinates of {DECIMALS} "
            "decimals",
            hint="Use point='centre' or larger cells.",
        )
