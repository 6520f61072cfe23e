"""What the page shows of an opened trace: map, clock, trace, and the first setting."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from priste.errors import OutsideMap, PristeError
from priste.maps import Grid, Region
from priste.policy import Policy
from priste.policy.draft.places import frequent_places
from priste.release.calibrators import DEFAULT_CALIBRATOR
from priste.results import percent
from priste.studio import sliders
from priste.studio.opening import Source
from priste.studio.setting import GUARANTEE, SEVERAL, SHAPE, ground_of_setting, only
from priste.studio.size_limits import slow, too_large
from priste.studio.wire import floats, read_numbers, whole_numbers
from priste.traces import Timeline, Trace
from priste.traces.fixes import utc_datetime

MOST_POINTS = 4_000
"""The most fixes that are drawn."""

MOST_SUGGESTED = 8

ANY_PRIOR = {"knows": "anything"}
"""The adversary of a policy without the section."""


def opened(source: Source, setting: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return all that the page shows of what was opened; ``setting`` replaces the draft."""
    setting = draft_setting(source) if setting is None else setting
    policy = source.policy(setting)
    # What is shown of a shape is what is guarded of it.
    places = [
        {**each, "cells": list(policy.regions[str(each["name"])].cells)}
        for each in setting["regions"]
    ]
    setting = {**setting, "regions": places}
    cells = _true_cells(policy, source.trace)
    line, grid = policy.timeline, policy.grid
    times = [line.time_of(step) for step in range(policy.steps)]
    within = np.flatnonzero(_within(line, policy.steps, source.trace))
    thin = within[np.linspace(0, within.size - 1, min(within.size, MOST_POINTS)).astype(int)]
    report = source.traces.report
    return {
        "source": {
            "kind": source.kind,
            "name": _name(source),
            "format": str(source.traces.format),
            "people": list(source.people),
            "counts": list(source.counts),
            "drafted": source.is_drafted,
            "span": _span(line, source.trace),
            "shown": int(within.size),
            "person": source.person,
            "fixes": len(source.trace),
            "notes": list(report.lines()),
        },
        "map": {**_map(grid), "border": policy.outside == "off-map"},
        "clock": {
            "zone": str(line.zone),
            "step_seconds": line.step.total_seconds(),
            "steps": policy.steps,
            "times": [time.isoformat() for time in times],
            "labels": [f"{time:%a %d %b %H:%M}" for time in times],
        },
        "trace": {
            "cells": whole_numbers(cells),
            "points": {
                "lat": floats(source.trace.lat[thin]),
                "lon": floats(source.trace.lon[thin]),
            },
            "steps_with_fix": sum(cell is not None for cell in cells),
        },
        "suggestions": _suggestions(policy, source.trace),
        "population": floats(policy.population),
        "adversaries": sliders.adversaries(policy),
        "against_many": {"too_large": too_large(grid), "slow": slow(grid)},
        **sliders.guarantees(),
        "protections": sliders.protections(grid.cell_size),
        "setting": setting,
    }


def _true_cells(policy: Policy, trace: Trace) -> tuple[int | None, ...]:
    """Return the cell of each step, for the page only; a fix off the map is shown as a gap."""
    own = policy.for_user(trace)
    try:
        return own.cells(trace).cells
    except PristeError:
        line = own.timeline
        return line.cells(trace, own.grid, outside="gap", steps=own.steps).cells


def _name(source: Source) -> str:
    """Return what was opened: the name of a file, or how many files there are."""
    if source.kind == "upload" and source.path.is_dir():
        return f"{len(source.traces.source.files)} files"
    return source.path.name


def _within(line: Timeline, steps: int, trace: Trace) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which fixes of a trace lie within the clock."""
    numbers = line.steps_of(trace.times)
    return np.asarray((numbers >= 0) & (numbers < steps))


def _span(line: Timeline, trace: Trace) -> dict[str, Any]:
    """Return the first and the last day of a trace on the clocks of its zone, and how many days."""
    ends = [utc_datetime(int(trace.times[at])).astimezone(line.zone) for at in (0, -1)]
    shift = (ends[0].utcoffset() or timedelta()) // timedelta(microseconds=1)
    known = np.unique((trace.times + shift) // 86_400_000_000).size
    first, last = (end.date().isoformat() for end in ends)
    return {"first": first, "last": last, "days": known}


def draft_setting(source: Source) -> dict[str, Any]:
    """Return the draft of a source as a setting: its regions as cells of its map."""
    read = source.policies.policy(source.draft)
    tables = read.document.to_json()
    clock, mobility = tables["clock"], tables["mobility"]
    return {
        **{name: tables[name] for name in ("map", "mechanism")},
        "mobility": mobility if isinstance(mobility, dict) else {"kind": SEVERAL},
        "adversary": tables.get("adversary", ANY_PRIOR),
        "guarantee": tables.get("guarantee", {}),
        "calibrator": DEFAULT_CALIBRATOR,
        **tables.get("release", {}),
        "clock": {**_without(clock, {"end"}), "steps": read.steps},
        "regions": [
            {"name": name, "cells": list(region.cells), **_shape_of(tables["regions"][name])}
            for name, region in read.regions.items()
        ],
        "events": [
            {"name": name, **only(table, {"formula", "every", "span"}), **_guarantee(table)}
            for name, table in tables.get("events", {}).items()
        ],
        "secrets": [
            {"name": name, **_answers(table), **_guarantee(table)}
            for name, table in tables.get("secrets", {}).items()
        ],
    }


def _guarantee(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantee that stands with an event or a secret."""
    return {"guarantee": own} if (own := only(table, GUARANTEE)) else {}


def _answers(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the events of a secret, or the formulas of its answers in their order."""
    listed = [{"name": name, "formula": text} for name, text in table.get("answers", {}).items()]
    return only(table, {"together", "every"}) | ({"answers": listed} if listed else {})


def _shape_of(table: dict[str, Any]) -> dict[str, Any]:
    """Return the shape of a place of the draft; it stays as long as nobody paints it anew."""
    return {"shape": table} if set(table) <= SHAPE else {}


def _without(table: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def regrounded(source: Source, setting: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a setting on another map or clock; painted regions become all cells they touch."""
    moved = {**setting, **changes}
    before = ground_of_setting(setting, source.files).grid
    ground = ground_of_setting(moved, source.files)
    grid = ground.grid
    if grid == before:
        return moved
    beyond = grid.border if ground.outside == "off-map" else frozenset()
    regions = []
    for region in setting["regions"]:
        if region.get("shape") is not None:
            regions.append(region)
            continue
        cells = Region(before, read_numbers(region["cells"], "cells of a region"))
        touched = {cell for each in cells for cell in _touched(before, each, grid)} - beyond
        if touched:
            regions.append({"name": region["name"], "cells": sorted(touched)})
    return {**moved, "regions": regions}


def redrafted(source: Source, setting: dict[str, Any]) -> dict[str, Any]:
    """Return a setting on the map and clock of a source's draft, with its places and model.

    What was painted stays, as all cells that it touches, and so does every place that the events
    speak of, unless the draft has one of its name that touches it.
    """
    fresh = draft_setting(source)
    changes = only(fresh, {"map", "clock", "outside"})
    shapes = {region["name"]: region.get("shape") for region in setting["regions"]}
    bare = [only(region, {"name", "cells"}) for region in setting["regions"]]
    spoken = str([*setting["events"], *setting.get("secrets", [])])
    places = {region["name"]: region for region in fresh["regions"]}
    for region in regrounded(source, {**setting, "regions": bare}, changes)["regions"]:
        name, shape = region["name"], shapes[region["name"]]
        cells = set(read_numbers(region["cells"], "cells of a region"))
        if shape is None:
            places[name] = region
        elif name in spoken and not cells & set(places.get(name, {"cells": ()})["cells"]):
            places[name] = {**region, "shape": shape}
    kept = only(setting, {"guarantee", "calibrator", "events", "secrets"})
    adversary = setting["adversary"]
    if set(adversary.get("also", ())) <= places.keys():
        kept["adversary"] = adversary
    return {**fresh, **kept, "regions": list(places.values())}


def _touched(before: Grid, cell: int, grid: Grid) -> tuple[int, ...]:
    """Return the cells of another map that share area with a cell; none if it lies beyond."""
    west, south, east, north = before.bounds_of(cell)
    corners = [(west, south), (east, south), (east, north), (west, north)]
    try:
        return Region.polygon_latlon(grid, [before.latlon_at(x, y) for x, y in corners]).cells
    except OutsideMap:
        return ()


def _map(grid: Grid) -> dict[str, Any]:
    """Return where the cells lie: the corners of all of them, row by row from the south."""
    across = np.arange(grid.columns + 1) * grid.cell_size
    up = np.arange(grid.rows + 1) * grid.cell_size
    lat, lon = grid.latlon_at(*(each.ravel() for each in np.meshgrid(across, up)))
    center_lat, center_lon = grid.latlon(np.arange(grid.size))
    return {
        "rows": grid.rows,
        "columns": grid.columns,
        "cell_size_km": grid.cell_size,
        "width_km": grid.width,
        "height_km": grid.height,
        "bounds": [float(lat.min()), float(lon.min()), float(lat.max()), float(lon.max())],
        "mesh": {
            "rows": grid.rows,
            "columns": grid.columns,
            "lat": floats(lat),
            "lon": floats(lon),
        },
        "centers": {"lat": floats(center_lat), "lon": floats(center_lon)},
    }


def _suggestions(policy: Policy, trace: Trace) -> list[dict[str, Any]]:
    """Return the places where a person stays, each as the cell of the map it lies in."""
    grid = policy.grid
    beyond = grid.border if policy.outside == "off-map" else frozenset()
    found: dict[int, dict[str, Any]] = {}
    # What is suggested may become a place of the policy, which must not follow from guarded hours.
    rest = policy.windows.outside(trace)
    for place in frequent_places([] if rest is None else [rest], most=2 * MOST_SUGGESTED):
        try:
            cell = grid.cell_at(place.lat, place.lon)
        except OutsideMap:
            continue
        if cell not in found and cell not in beyond and len(found) < MOST_SUGGESTED:
            found[cell] = {
                "name": "home" if not found else f"place {len(found) + 1}",
                "cells": [cell],
                "lat": place.lat,
                "lon": place.lon,
                "share": place.share,
                "words": f"{percent(place.share)} of the time",
            }
    return list(found.values())
