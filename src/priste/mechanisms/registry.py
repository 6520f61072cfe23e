"""All kinds of mechanisms in one table: how state files restore them and policies make them.

Another package adds a kind with an entry point of the group ``priste.mechanisms`` that names a
:class:`NamedMechanism`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
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
from priste.registered import Registered


@dataclass(frozen=True)
class NamedMechanism:
    """One kind of mechanism: how state files restore it, and how policies make and explain it.

    ``name`` is the "kind" of its ``describe()``, ``entries`` are what else a description has, and
    ``restore(grid, description)`` returns the mechanism. ``make(grid, **parameters)`` is for
    policies, which write the name with hyphens, and None for a kind that they do not offer; all
    ``parameters`` are needed, and each is explained. ``words`` says what a mechanism does.
    """

    name: str
    entries: Set[str]
    restore: Callable[[Grid, Mapping[str, Any]], Mechanism] = field(repr=False)
    make: Callable[..., Mechanism] | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)
    words: Callable[[Mechanism], str] | None = field(default=None, repr=False)


def mechanism_from_dict(grid: Grid, saved: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism whose ``describe()`` gave ``saved``; its table is equal to the bit.

    Unknown kinds, and missing or unknown entries, raise InvalidParameter.

    >>> grid = Grid(rows=2, columns=2, cell_size=1.0)
    >>> mechanism_from_dict(grid, {"kind": "planar_laplace", "alpha": 0.5})
    PlanarLaplace(2x2 cells, budget=0.5)
    """
    kind = saved.get("kind") if isinstance(saved, Mapping) else None
    if not isinstance(kind, str) or kind not in MECHANISMS:
        raise InvalidParameter(
            f"must be one of {sorted(MECHANISMS)}",
            parameter="kind",
            owner="a saved mechanism",
            value=kind,
        )
    entries = MECHANISMS[kind].entries
    if set(saved) != {*entries, "kind"}:
        raise InvalidParameter(
            f"must be {sorted(entries)} for the kind {kind!r}",
            parameter="entries",
            owner="a saved mechanism",
            value=sorted(map(str, set(saved) - {"kind"})),
        )
    return MECHANISMS[kind].restore(grid, saved)


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


def _noise_words(mechanism: Mechanism) -> str:
    return (
        f"is planar Laplace noise with α = {mechanism.budget:g} per km, that is about "
        f"{2000 / mechanism.budget:,.0f} m on average, or more where that is needed"
    )


_ALPHA = "per km"

_BUILT_IN = (
    NamedMechanism(
        "emission_table", {"table", "output_cells", "background", "budget"}, _emission_table
    ),
    NamedMechanism(
        "identity",
        set(),
        lambda grid, saved: Identity(grid),
        make=Identity,
        words=lambda mechanism: "releases the cell itself, where the guarantee allows it",
    ),
    NamedMechanism("location_set", {"base", "delta", "belief"}, _location_set),
    NamedMechanism(
        "planar_isotropic",
        {"alpha", "cells", "delta", "belief"},
        _planar_isotropic,
        make=PlanarIsotropic,
        parameters={"alpha": _ALPHA, "delta": "for its location set"},
    ),
    NamedMechanism(
        "planar_laplace",
        {"alpha"},
        lambda grid, saved: PlanarLaplace(grid, saved["alpha"]),
        make=PlanarLaplace,
        parameters={"alpha": _ALPHA},
        words=_noise_words,
    ),
    NamedMechanism(
        "uniform",
        set(),
        lambda grid, saved: Uniform(grid),
        make=Uniform,
        words=lambda mechanism: "draws a cell blindly",
    ),
)

MECHANISMS = Registered(
    "priste.mechanisms", NamedMechanism, {each.name: each for each in _BUILT_IN}
)
"""Every kind of mechanism by its name."""


def mechanisms_of_policies() -> dict[str, tuple[Callable[..., Mechanism], Mapping[str, str]]]:
    """Return how the kinds that policies offer are made, and from what, by the word they write.

    >>> sorted(mechanisms_of_policies())
    ['identity', 'planar-isotropic', 'planar-laplace', 'uniform']
    """
    return {
        each.name.replace("_", "-"): (each.make, each.parameters)
        for each in MECHANISMS.values()
        if each.make is not None
    }


def mechanism_words(mechanism: Mechanism) -> str:
    """Say what a mechanism does, as "draws a cell blindly"."""
    named = MECHANISMS.get(str(mechanism.describe().get("kind")))
    if named is None or named.words is None:
        return f"is {mechanism!r}, at this budget or a smaller one"
    return named.words(mechanism)
