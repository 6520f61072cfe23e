"""Opening: the built-in town, or a file in any format that priste reads, and its draft."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from priste.errors import OutsideMap, PristeError
from priste.maps import Grid, Region
from priste.policy import Policy, draft_policy
from priste.policy.draft.places import frequent_places
from priste.policy.town_policy import RESIDENTS, town_policy
from priste.release.calibrators import DEFAULT_CALIBRATOR
from priste.results import percent
from priste.studio import sliders
from priste.studio.policies import Policies
from priste.studio.setting import SHAPE, ground_of_setting, policy_text
from priste.studio.size_limits import slow, too_large
from priste.studio.wire import Refused, floats, read_numbers, whole_numbers
from priste.studio.worker import bound_memory
from priste.traces import ReadingReport, Trace, Traces, read_traces, write_traces
from priste.traces.town import ada, residents
from priste.workers import Said, Worker

MOST_PEOPLE = 5_000
MOST_POINTS = 4_000
"""The most people of a file that can be chosen from, and fixes of one that are drawn."""

MOST_SUGGESTED = 8

LONGEST_OPENING = 60.0
"""Seconds in which a file must be read. The limit is a choice: a person waits that long, and a KMZ
of two million placemarks was read in 16 CPU seconds."""

ANYBODY = {"knows": "anything"}
"""Whom a policy without the section is against."""


@dataclass(frozen=True, eq=False)
class Source:
    """What was opened, and whose trace of it is looked at."""

    kind: Literal["town", "file", "upload"]
    path: Path
    draft: str = field(repr=False)
    person: str | None
    people: tuple[str | None, ...]
    traces: Traces
    trace: Trace = field(repr=False)
    policies: Policies

    @property
    def folder(self) -> Path:
        """Where a policy would lie, so that it finds its files."""
        return self.path.parent

    @property
    def files(self) -> tuple[str, ...]:
        """The names that a model may be fitted on."""
        return ("residents.csv",) if self.kind == "town" else (self.path.name,)

    def policy(self, setting: object) -> Policy:
        """Return the policy of a setting for everybody; Refused with every mistake."""
        return self.policies.policy(policy_text(setting, self.files))


def open_town(folder: Path, policies: Policies) -> Source:
    """Build the town in a folder, unless it is there, and return Ada's two weeks in it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "ada.csv"
    if not path.exists():
        write_traces(residents(RESIDENTS), folder / "residents.csv")
        write_traces([ada()], path)
    traces, draft = read_traces(path), town_policy()
    return _source("town", path, traces, _read(_Order(traces, path.name, None, draft)), policies)


def open_file(
    path: Path,
    kind: Literal["file", "upload"],
    *,
    person: str | None = None,
    format: str | None = None,
    zone: str | None = None,
) -> Source:
    """Open a file of fixes; raises PristeError or Refused in words for one that cannot be read."""
    traces = read_traces(path, format, zone=zone)
    order = _Order(traces, path.name, person, None, format, zone)
    return _source(kind, path, traces, _read_apart(order), Policies(path.parent))


def another_person(source: Source, person: str | None) -> Source:
    """Return the same source with another of its people."""
    order = _Order(source.traces, source.path.name, person, source.draft)
    found = _read(order) if source.kind == "town" else _read_apart(order)
    return _source(source.kind, source.path, source.traces, found, source.policies)


def _source(
    kind: Literal["town", "file", "upload"],
    path: Path,
    traces: Traces,
    found: _Found,
    policies: Policies,
) -> Source:
    traces.know(found.report)
    chosen = found.trace
    return Source(kind, path, found.draft, chosen.user, found.people, traces, chosen, policies)


@dataclass(frozen=True)
class _Order:
    """What to read, whose trace is wanted (None: the first one's), and the draft if it is known."""

    traces: Traces
    name: str
    person: str | None
    draft: str | None
    format: str | None = None
    zone: str | None = None


@dataclass(frozen=True)
class _Found:
    """What reading a file came to."""

    draft: str = field(repr=False)
    people: tuple[str | None, ...]
    trace: Trace = field(repr=False)
    report: ReadingReport


def _read(order: _Order) -> _Found:
    """Read a file to its end, and draft a policy from it unless there is one."""
    everybody = list(order.traces)
    wanted = everybody[0].user if order.person is None else order.person
    chosen = next((trace for trace in everybody if trace.user == wanted), None)
    if chosen is None:
        raise Refused(404, f"The file holds nobody called {order.person!r:.60}.")
    draft = order.draft or draft_policy(
        everybody, zone=order.zone, source=order.name, format=order.format
    )
    people = tuple(trace.user for trace in everybody[:MOST_PEOPLE])
    return _Found(draft, people, chosen, order.traces.report)


def _read_within_bounds(order: _Order) -> _Found:
    bound_memory()
    return _read(order)


def _read_apart(order: _Order) -> _Found:
    """Read a file in a process of its own: one that crashes or hangs its reader harms nobody."""
    worker = Worker(pickle.dumps(_read_within_bounds))
    limit = threading.Timer(LONGEST_OPENING, worker.kill)
    limit.start()
    try:
        worker.begin(order)
        said, value = worker.hear()
    finally:
        is_over = limit.finished.is_set()
        limit.cancel()
        worker.end(grace=0.0)
    if said is Said.DONE and isinstance(value, _Found):
        return value
    if said is Said.FAILED and isinstance(value, PristeError | Refused):
        raise value
    if is_over:
        words = f"The file was not read within {LONGEST_OPENING:.0f} seconds."
        raise Refused(422, words, "Cut it to the weeks that matter, or use priste protect.")
    words = "The file cannot be read to its end: it is damaged, or needs too much memory."
    raise Refused(422, words, "Cut it to the weeks that matter.")


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
    thin = np.linspace(0, len(source.trace) - 1, min(len(source.trace), MOST_POINTS)).astype(int)
    report = source.traces.report
    return {
        "source": {
            "kind": source.kind,
            "name": source.path.name,
            "format": str(source.traces.format),
            "people": list(source.people),
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
        "guarantees": sliders.guarantees(),
        "upward": sliders.upward_guarantees(),
        "beliefs": sliders.beliefs(),
        "protections": sliders.protections(grid.cell_size),
        "setting": setting,
    }


def _true_cells(policy: Policy, trace: Trace) -> tuple[int | None, ...]:
    """Return the cell of each step, for the page alone; a fix beyond the map is shown as a gap."""
    own = policy.for_user(trace)
    try:
        return own.cells(trace).cells
    except PristeError:
        line = own.timeline
        return line.cells(trace, own.grid, outside="gap", steps=own.steps).cells


def draft_setting(source: Source) -> dict[str, Any]:
    """Return the draft of a source as a setting: its regions as cells of its map."""
    read = source.policies.policy(source.draft)
    tables = read.document.to_json()
    return {
        **{name: tables[name] for name in ("map", "clock", "mobility", "mechanism")},
        "adversary": tables.get("adversary", ANYBODY),
        "guarantee": tables.get("guarantee", {}),
        "calibrator": DEFAULT_CALIBRATOR,
        **tables.get("release", {}),
        "regions": [
            {"name": name, "cells": list(region.cells), **_shape_of(tables["regions"][name])}
            for name, region in read.regions.items()
        ],
        "events": [
            {
                "name": name,
                "formula": table["formula"],
                "every": table.get("every"),
                **({"guarantee": own} if (own := _own_guarantee(table)) else {}),
            }
            for name, table in tables["events"].items()
        ],
    }


def _shape_of(table: dict[str, Any]) -> dict[str, Any]:
    """Return the shape of a place of the draft; it stays as long as nobody paints it anew."""
    return {"shape": table} if set(table) <= SHAPE else {}


def _own_guarantee(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in ("formula", "every")}


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
    # What is suggested may become a place of the policy, which must not tell of guarded hours.
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
