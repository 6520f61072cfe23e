"""Which mechanism a file of released positions is assumed to come from.

An audit of released positions needs the mechanism they came from. A wrong statement
makes a wrong audit: true positions taken for the outputs of a noisy mechanism look private.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from priste.arguments import check_float
from priste.maps import Grid
from priste.mechanisms import Mechanism
from priste.mechanisms.registry import mechanism_from_dict

CENTRE_TOLERANCE = 0.02
"""How far from a centre, as a share of the cell's side, a rounded centre may be: files keep five
or six decimals of a degree, which is a metre or less."""


def share_off_centre(grid: Grid, latitudes: ArrayLike, longitudes: ArrayLike) -> float:
    """Return which share of the positions on the map are not the centre of a cell; 0.0 of none.

    Mechanisms on a grid release centres. Positions in between come from a receiver, or from
    another way of releasing.

    >>> grid = Grid.covering(46.0, 7.0, 46.1, 7.1, 1.0)
    >>> share_off_centre(grid, *grid.latlon([0, 5])), share_off_centre(grid, [46.0512], [7.0477])
    (0.0, 1.0)
    """
    lat = np.atleast_1d(np.asarray(latitudes, dtype=np.float64))
    lon = np.atleast_1d(np.asarray(longitudes, dtype=np.float64))
    cells = np.asarray(grid.cell_at(lat, lon, outside="nearest"))
    x, y = (np.asarray(each) for each in grid.xy(lat, lon))
    away = np.abs(np.stack([x, y], axis=1) - grid.centers[cells]).max(axis=1) / grid.cell_size
    inside = away <= 0.5 + CENTRE_TOLERANCE
    if not inside.any():
        return 0.0
    return float((away[inside] > CENTRE_TOLERANCE).mean())


def at_level(mechanism: Mechanism, alpha: float) -> Mechanism:
    """Return the mechanism at another alpha (1/km), also one above its own.

    Mechanisms whose level is no parameter (a table) can only be lowered; above their own level
    InvalidParameter is raised.

    >>> from priste import PlanarLaplace
    >>> at_level(PlanarLaplace(Grid(2, 2, 1.0), alpha=0.5), 3.0)
    PlanarLaplace(2x2 cells, budget=3)
    """
    alpha = check_float(alpha, "alpha", "an assumed mechanism", least=0.0, hint="It is per km.")
    if alpha > mechanism.budget:
        raised = _raised(mechanism.describe(), alpha)
        if raised is not None:
            return mechanism_from_dict(mechanism.grid, raised)
    return mechanism.with_budget(alpha)


def _raised(saved: Mapping[str, Any], alpha: float) -> dict[str, Any] | None:
    if "alpha" in saved:
        return {**saved, "alpha": alpha}
    base = _raised(saved["base"], alpha) if "base" in saved else None
    return None if base is None else {**saved, "base": base}
