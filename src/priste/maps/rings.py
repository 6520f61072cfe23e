"""Rings of corners, checked and made into polygons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from shapely import Polygon

Ring: TypeAlias = Sequence[Sequence[float]] | NDArray[Any]
"""The corners of one closed line; a third coordinate (a height) is ignored."""

LARGEST_COORDINATE = 1e13


def closed_corners(ring: Ring, who: str) -> NDArray[np.float64]:
    """Return the corners as a closed (n, 2) array; ``ring`` may be open or closed."""
    try:
        corners = np.asarray([[corner[0], corner[1]] for corner in ring])
    except (TypeError, ValueError, IndexError, KeyError):
        corners = np.empty(0, dtype=object)
    if corners.ndim != 2 or corners.dtype.kind not in "iuf":
        raise InvalidParameter(
            "must be a sequence of corners, pairs of numbers", parameter="ring", owner=who
        )
    corners = corners.astype(np.float64)
    # Written so that a NaN is refused. Beyond the limit, areas would overflow.
    if not np.all(np.abs(corners) <= LARGEST_COORDINATE):
        raise InvalidParameter(
            f"must have corners that are finite numbers within ±{LARGEST_COORDINATE:g}",
            parameter="ring",
            owner=who,
        )
    if np.any(corners[0] != corners[-1]):
        corners = np.vstack([corners, corners[:1]])
    distinct = len(np.unique(corners, axis=0))
    if distinct < 3:
        raise InvalidParameter(
            "must have at least 3 different corners", parameter="ring", owner=who, value=distinct
        )
    return corners


def valid_polygon(shell: NDArray[np.float64], holes: Sequence[Any], who: str) -> Polygon:
    """Return a polygon that bounds an area and crosses itself nowhere, or say where it does."""
    import shapely

    polygon = shapely.Polygon(shell, holes)
    if not polygon.is_valid:
        raise InvalidParameter(
            "must bound an area, cross itself nowhere and contain its holes",
            parameter="polygon",
            owner=who,
            got=str(shapely.is_valid_reason(polygon)),
            hint="Mend it, or give its parts one by one.",
        )
    return polygon
