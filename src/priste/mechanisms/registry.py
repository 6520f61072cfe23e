"""From the description of a mechanism, as kept in state files, back to the mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms.emission_table import EmissionTable
from priste.mechanisms.identity import Identity
from priste.mechanisms.location_set import LocationSet
from priste.mechanisms.mechanism import Mechanism
from priste.mechanisms.planar_isotropic import PlanarIsotropic
from priste.mechanisms.planar_laplace import PlanarLaplace
from priste.mechanisms.saved_arrays import array_from_dict
from priste.mechanisms.uniform import Uniform


def mechanism_from_dict(grid: Grid, saved: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism whose ``describe()`` gave ``saved``; its table is equal to the bit.

    Unknown kinds, and missing or unknown entries, raise InvalidParameter.

    >>> grid = Grid(rows=2, columns=2, cell_size=1.0)
    >>> mechanism_from_dict(grid, {"kind": "planar_laplace", "alpha": 0.5})
    PlanarLaplace(2x2 cells, budget=0.5)
    """
    kind = saved.get("kind") if isinstance(saved, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidParameter(
            f"A saved mechanism must have a 'kind' among {sorted(_KINDS)}.", value=kind
        )
    entries, restore = _KINDS[kind]
    if set(saved) != entries | {"kind"}:
        raise InvalidParameter(
            f"A saved mechanism of kind {kind!r} must have the entries {sorted(entries)}.",
            value=sorted(map(str, set(saved) - {"kind"})),
        )
    return restore(grid, saved)


def _emission_table(grid: Grid, saved: Mapping[str, Any]) -> Mechanism:
    cells = saved["output_cells"]
    table = array_from_dict(saved["table"], name="table")
    background = array_from_dict(saved["background"], name="background")
    return EmissionTable(
        grid, table, output_cells=cells, background=background, budget=saved["budget"]
    )


def _location_set(grid: Grid, saved: Mapping[str, Any]) -> Mechanism:
    belief = array_from_dict(saved["belief"], name="belief")
    return LocationSet(mechanism_from_dict(grid, saved["base"]), saved["delta"], belief)


def _planar_isotropic(grid: Grid, saved: Mapping[str, Any]) -> Mechanism:
    belief = saved["belief"]
    if belief is not None:
        belief = array_from_dict(belief, name="belief")
    return PlanarIsotropic(
        grid, saved["alpha"], cells=saved["cells"], delta=saved["delta"], belief=belief
    )


_KINDS: dict[str, tuple[set[str], Callable[[Grid, Mapping[str, Any]], Mechanism]]] = {
    "emission_table": ({"table", "output_cells", "background", "budget"}, _emission_table),
    "identity": (set(), lambda grid, saved: Identity(grid)),
    "location_set": ({"base", "delta", "belief"}, _location_set),
    "planar_isotropic": ({"alpha", "cells", "delta", "belief"}, _planar_isotropic),
    "planar_laplace": ({"alpha"}, lambda grid, saved: PlanarLaplace(grid, saved["alpha"])),
    "uniform": (set(), lambda grid, saved: Uniform(grid)),
}
