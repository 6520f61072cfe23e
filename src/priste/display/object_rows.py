"""The rows of objects, as columns by name and as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import singledispatch
from typing import Any

import numpy as np

from priste.arguments import check_choice
from priste.errors import MissingExtra
from priste.extras import install, need
from priste.maps import Grid, Region
from priste.release import Ledger
from priste.results import Evaluation, PolicyAudit

Rows = Mapping[str, Sequence[Any]]

BACKENDS = ("pandas", "polars", "pyarrow")
"""The libraries of frames, in the order in which they are looked for."""


@singledispatch
def rows(shown: object) -> Rows:
    """Return the rows of an object as columns by name."""
    raise TypeError(f"A {type(shown).__name__} has no rows.")


@rows.register
def _(shown: Ledger) -> Rows:
    names = shown.event_names
    columns: dict[str, list[Any]] = {
        "step": [release.step for release in shown],
        "cell": [release.cell for release in shown],
        "budget": [release.budget for release in shown],
        "attempts": [release.attempts for release in shown],
    }
    for number, name in enumerate(names):
        columns[f"leakage_{name}"] = [release.leakage[number] for release in shown]
        columns[f"belief_{name}"] = [
            release.belief[number] if release.belief else None for release in shown
        ]
    return columns


@rows.register
def _(shown: Grid) -> Rows:
    cells = np.arange(shown.size)
    x, y = shown.centers.T
    columns: dict[str, Any] = {
        "cell": cells.tolist(),
        "row": (cells // shown.columns).tolist(),
        "column": (cells % shown.columns).tolist(),
        "x_km": x.tolist(),
        "y_km": y.tolist(),
    }
    if shown.is_geographic:
        lat, lon = shown.latlon(cells)
        columns |= {"lat": lat.tolist(), "lon": lon.tolist()}
    return columns


@rows.register
def _(shown: Region) -> Rows:
    cells = list(shown.cells)
    return {name: [column[cell] for cell in cells] for name, column in rows(shown.grid).items()}


@rows.register
def _(shown: Evaluation) -> Rows:
    ways = {name: asdict(way) for name, way in shown.rows().items()}
    flat = {name: dict(_flat(values)) for name, values in ways.items()}
    columns: dict[str, Any] = {"way": list(flat)}
    for measure in flat["released"]:
        columns[measure] = [flat[name][measure] for name in flat]
    return columns


def _flat(values: Mapping[Any, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = f"{before}{f'{key:g}_km' if isinstance(key, float) else key}"
        if isinstance(value, Mapping):
            found += _flat(value, f"{name}_")
        elif value is not None:
            found.append((name, value))
    return found


@rows.register
def _(shown: PolicyAudit) -> Rows:
    found = [
        (user, name, step, leakage, belief)
        for user, events in shown.users.items()
        for name, event in events.items()
        for step, (leakage, belief) in enumerate(zip(event.leakage, event.belief, strict=True))
    ]
    names = ("user", "event", "step", "leakage", "belief")
    return {name: [row[k] for row in found] for k, name in enumerate(names)}


def frame(shown: object, backend: str | None = None) -> Any:
    """Return the rows of an object as a frame of a library, the first that is installed."""
    if backend is not None:
        check_choice(backend, BACKENDS, "backend", "to_frame")
    for library in BACKENDS if backend is None else (backend,):
        try:
            need("traces", "A frame", library, "narwhals")
        except MissingExtra:
            continue
        import narwhals as nw

        kind: Any = library
        return nw.from_dict(dict(rows(shown)), backend=kind).to_native()
    raise MissingExtra(
        f"A frame needs narwhals and {backend or 'pandas, polars or pyarrow'}, which are not "
        "installed.",
        hint=f"Install them with: {install('traces')}",
        extra="traces",
    )
