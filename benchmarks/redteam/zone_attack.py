"""Where is the middle of a privacy zone? Fitted from the fixes that a zone lets through.

A zone hides every fix within its radius. What is left has gaps: the last fix before a gap and the
first one after it lie just outside the zone, and the way to it points at its middle. Two attacks: a
circle through these fixes (algebraic least squares), and the point nearest to all lines of
approach.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.policy import Policy
from priste.results import true_steps
from priste.traces import Trace
from priste.traces.town import FIX_EVERY, residents, town_places

Floats = NDArray[np.float64]

GAP = 3 * FIX_EVERY.total_seconds() * 1e6
"""A longer pause between two fixes is a gap."""

MOVING = 0.15
"""Two fixes farther apart than so many km are a line of approach."""

RADII = (0.2, 0.5, 1.0)


def ends_of_gaps(times: NDArray[np.int64], places: Floats) -> tuple[Floats, Floats]:
    """Return the fixes (n, 2) next to gaps, and the fix (n, 2) before or after each of them."""
    gaps = np.flatnonzero(np.diff(times) > GAP)
    before = gaps[gaps >= 1]
    after = gaps[gaps + 2 < len(times)]
    ends = np.concatenate([places[before], places[after + 1]])
    farther = np.concatenate([places[before - 1], places[after + 2]])
    return ends, farther


def circle(ends: Floats) -> tuple[Floats, float]:
    """Return the middle and the radius of the circle that fits points best (Kåsa).

    >>> corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> middle, radius = circle(corners + 3)
    >>> middle.round(6).tolist(), round(radius, 6)
    ([3.0, 3.0], 1.0)
    """
    table = np.column_stack([2 * ends, np.ones(len(ends))])
    x, y, rest = np.linalg.lstsq(table, (ends**2).sum(axis=1), rcond=None)[0]
    return np.array([x, y]), float(np.sqrt(max(rest + x**2 + y**2, 0.0)))


def crossing(ends: Floats, farther: Floats) -> Floats | None:
    """Return the point nearest to all lines of approach; None with fewer than two of them."""
    ways = ends - farther
    lengths = np.hypot(ways[:, 0], ways[:, 1])
    moving = lengths > MOVING
    if moving.sum() < 2:
        return None
    along = ways[moving] / lengths[moving, None]
    across = np.eye(2) - along[:, :, None] * along[:, None, :]
    for _ in range(20):  # reweighted: lines that lead somewhere other count less
        total = across.sum(axis=0)
        point = np.linalg.solve(
            total + 1e-9 * np.eye(2), np.einsum("nij,nj->i", across, ends[moving])
        )
        apart = np.linalg.norm(np.einsum("nij,nj->ni", across, point - ends[moving]), axis=1)
        weights = 1.0 / np.maximum(apart, 0.05)
        across = (np.eye(2) - along[:, :, None] * along[:, None, :]) * weights[:, None, None]
    return np.asarray(point)


def shown(policy: Policy, trace: Trace, middle: Floats, radius: float) -> tuple[Any, Floats]:
    """Return the times and places of the fixes outside a zone."""
    places = np.stack(policy.grid.xy(trace.lat, trace.lon), axis=1)
    outside = np.hypot(*(places - middle).T) > radius
    return trace.times[outside], places[outside]


def zone_attack(policy: Policy, people: int) -> dict[str, Any]:
    """Attack zones around the hospital from its visitors' fixes, and priste's releases of them."""
    middle = np.array(policy.grid.xy(*town_places()["hospital"]))
    visitors = []
    for trace in residents(10 * people, days=14, seed=99):
        places = np.stack(policy.grid.xy(trace.lat, trace.lon), axis=1)
        if (np.hypot(*(places - middle).T) < 0.1).sum() > 6:
            visitors.append(trace)
    visitors = visitors[:people]
    rows = []
    for radius in RADII:
        circles, lines = [], []
        for trace in visitors:
            ends, farther = ends_of_gaps(*shown(policy, trace, middle, radius))
            if len(ends) >= 3:
                circles.append(float(np.hypot(*(circle(ends)[0] - middle))))
            point = crossing(ends, farther)
            if point is not None:
                lines.append(float(np.hypot(*(point - middle))))
        rows.append(
            {
                "radius_m": round(1000 * radius),
                "circle_m": _median(circles),
                "circles": len(circles),
                "lines_m": _median(lines),
                "lines": len(lines),
            }
        )
    return {"rows": rows, "priste": _priste_gaps(policy, visitors[:2]), "visitors": len(visitors)}


def _priste_gaps(policy: Policy, visitors: list[Trace]) -> dict[str, int]:
    """Count how many gaps priste leaves in streams of visitors of the place."""
    gaps = releases = 0
    for number, trace in enumerate(visitors):
        truth = true_steps(policy, trace)
        protector = policy.protector(rng=number)
        for step in range(48, 80):  # around the first treatment
            released = protector.release(int(truth.cells[step]), step=step)
            releases += 1
            gaps += released.cell is None
    return {"releases": releases, "gaps": gaps}


def _median(values: list[float]) -> int | None:
    return round(1000 * float(np.median(values))) if values else None
