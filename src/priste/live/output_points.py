"""Where each output is shown: the centre of its cell, or a public point that stands for the cell.

The point, its name and its accuracy depend on the released cell and on the settings, never on a
fix. So they relabel outputs, and reveal no more than the released cell does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.live.point import LEAST_ACCURACY
from priste.policy import Policy
from priste.policy.policy import OFF_MAP
from priste.traces.points import DECIMALS

ZONE_RADIUS = 100.0
"""Metres: the radius of a zone of Home Assistant unless its owner chooses another."""


@dataclass(frozen=True)
class NamedPoint:
    """A public point that is released in place of its cell, such as a home.

    Raises InvalidParameter for a position that is not on the earth.
    """

    name: str
    lat: float
    lon: float

    def __post_init__(self) -> None:
        if not self.name.isprintable() or not 0 < len(self.name) <= 64:
            raise InvalidParameter(
                "must have a name of 1 to 64 printable characters",
                parameter="point",
                value=self.name,
            )
        if not (abs(self.lat) <= 90 and abs(self.lon) <= 180):  # false for nan
            raise InvalidParameter(
                "must have a latitude within 90 and a longitude within 180",
                parameter="point",
                owner=repr(self.name),
            )


class OutputPoints:
    """The point, name and accuracy of every output of a policy.

    ``points`` stand for the cells they lie in. With ``avoid_guarded`` no point lies in a cell of a
    guarded place: such a cell is released as the centre of the nearest other one, and no accuracy
    reaches a zone of ``ZONE_RADIUS`` in a guarded cell. ``accuracy`` is in metres.
    """

    def __init__(
        self,
        policy: Policy,
        points: Sequence[NamedPoint] = (),
        *,
        avoid_guarded: bool = False,
        accuracy: float | None = None,
    ) -> None:
        self._policy = policy
        side = policy.grid.cell_size
        self._accuracy = accuracy or float(round(1000 * math.hypot(side, side) / 2))
        self._guarded = policy.guarded_cells if avoid_guarded else frozenset[int]()
        self._named = _by_cell(policy, points)
        self._shown = self._moved() if avoid_guarded else {}
        self._corners = np.array([policy.grid.bounds_of(cell) for cell in sorted(self._guarded)])

    def of(self, cell: int) -> tuple[float, float, float, str | None]:
        """Return latitude, longitude, accuracy in metres, and the name of a point if it has one."""
        cell = self._shown.get(cell, cell)
        point = self._named.get(cell)
        lat, lon = self._policy.grid.latlon(cell) if point is None else (point.lat, point.lon)
        lat, lon = round(float(lat), DECIMALS), round(float(lon), DECIMALS)
        return lat, lon, self._reaching(lat, lon), None if point is None else point.name

    def _reaching(self, lat: float, lon: float) -> float:
        """Return an accuracy that does not reach a zone in a guarded cell, where those count."""
        if not self._corners.size:
            return self._accuracy
        x, y = self._policy.grid.xy(lat, lon)
        west, south, east, north = self._corners.T
        aside = np.hypot(
            np.maximum(np.maximum(west - x, x - east), 0),
            np.maximum(np.maximum(south - y, y - north), 0),
        )
        most = math.floor(1000 * float(aside.min()) - ZONE_RADIUS)
        return float(max(min(self._accuracy, most), LEAST_ACCURACY))

    def _moved(self) -> dict[int, int]:
        """Return for each guarded cell the nearest cell that may be shown; ties to the lower."""
        grid = self._policy.grid
        taken = self._guarded | self._named.keys()
        taken |= grid.border if self._policy.outside == OFF_MAP else frozenset()
        free = np.array([cell for cell in range(grid.size) if cell not in taken])
        if not free.size:
            raise InvalidParameter(
                "needs a cell that belongs to no guarded place",
                parameter="avoid_guarded",
                hint="Make the map larger, or leave this out.",
            )
        return {cell: int(free[_nearest(grid.centers, cell, free)]) for cell in self._guarded}


def _nearest(centers: NDArray[np.float64], cell: int, free: NDArray[np.int64]) -> int:
    away = np.hypot(*(centers[free] - centers[cell]).T)
    return int(np.argmin(np.round(away, 6)))


def _by_cell(policy: Policy, points: Sequence[NamedPoint]) -> dict[int, NamedPoint]:
    """Return the points by their cells; InvalidParameter for one that must not be shown."""
    found: dict[int, NamedPoint] = {}
    for point in points:
        cell = policy.grid.cell_at(point.lat, point.lon)
        if cell in policy.guarded_cells:
            raise InvalidParameter(
                "must not lie in a cell of a guarded place, which an app would show by its name",
                parameter="point",
                value=point.name,
                hint="Leave it out, or make the cells or the guarded place smaller.",
            )
        if cell in found:
            raise InvalidParameter(
                f"must not lie in one cell with the point {found[cell].name!r}",
                parameter="point",
                value=point.name,
                hint="Leave one of them out, or make the cells smaller.",
            )
        found[cell] = point
    return found
