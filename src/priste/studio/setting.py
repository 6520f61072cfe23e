"""What the page has set, as a policy: one JSON object in, the text of a policy file out.

The text is all that a run is made from, so what the studio does is what the command line does with
the exported file. Values are judged where every policy is judged, by ``read_policy``; here they
are only written down, each in a form that TOML reads back as the same value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from priste.errors import PristeError
from priste.maps import Grid
from priste.policy.sections import (
    AdversarySection,
    ClockSection,
    GuaranteeSection,
    MapSection,
    MechanismSection,
    MobilitySection,
    RegionSection,
    ReleaseSection,
)
from priste.release.calibrators import CALIBRATORS, DEFAULT_CALIBRATOR
from priste.studio.painted_shapes import ring_around
from priste.studio.wire import Problem, Refused, read_numbers

PARTS = {
    "map": frozenset(MapSection.model_fields),
    "clock": frozenset(ClockSection.model_fields) - {"end"},
    "mobility": frozenset(MobilitySection.model_fields) - {"path"},
    "mechanism": frozenset(MechanismSection.model_fields),
    "adversary": frozenset(AdversarySection.model_fields) - {"population"},
    "guarantee": frozenset(GuaranteeSection.model_fields),
}
"""What may stand in each part of a setting: what stands in that section of a policy, but for files,
because a page has no business on this machine's disk."""

RELEASE = frozenset(ReleaseSection.model_fields) - PARTS["guarantee"]
SHAPE = frozenset(RegionSection.model_fields) - {"cells", "geojson"}
EVENT = frozenset({"name", "formula", "every", "guarantee", "structure"})
KNOWN = frozenset({*PARTS, *RELEASE, "regions", "events"})

MOST_STEPS = 20_000
MOST_NAMED = 200
"""The longest stream, and the most regions and events that the studio takes."""


def alpha_of(metres: float) -> float:
    """Return the α (per km) at which planar Laplace noise is so many metres on average.

    >>> alpha_of(500.0)
    4.0
    """
    return float(f"{2000.0 / metres:.6g}")


def metres_of(alpha: float) -> float:
    """Return how many metres planar Laplace noise of this α (per km) is on average."""
    return 2000.0 / alpha


def policy_text(setting: object, files: Collection[str] = ()) -> str:
    """Return the policy that a setting means; ``files`` are what a model may be fitted on.

    Raises Refused for what is no setting at all; whether its values are right is for
    ``read_policy`` to say.
    """
    parts = _object(setting, "The setting", KNOWN | _parameters(setting))
    lines = ["# A policy of priste, written by its studio.", ""]
    for name in ("map", "clock", "mobility", "mechanism"):
        lines += _part(name, parts.get(name), files)
    if parts.get("adversary") is not None:
        lines += _part("adversary", parts["adversary"], files)
    lines += ["[release]", *_guarantee(parts.get("guarantee"), "guarantee")]
    release = sorted((RELEASE | _parameters(setting)) & set(parts))
    lines += [f"{key} = {_value(parts[key], key)}" for key in release if parts[key] is not None]
    lines.append("")
    grid = _map_with_elsewhere(parts)
    for region in _listed(parts.get("regions"), "regions"):
        found = _object(region, "A region", frozenset({"name", "cells", "shape"}))
        lines += [f"[regions.{_key(found.get('name'))}]", *_place(found, grid), ""]
    for event in _listed(parts.get("events"), "events"):
        found = _object(event, "An event", EVENT)
        lines.append(f"[events.{_key(found.get('name'))}]")
        lines.append(f"formula = {_value(found.get('formula', ''), 'formula')}")
        if found.get("every") is not None:
            lines.append(f"every = {_value(found['every'], 'every')}")
        if found.get("guarantee") is not None:
            lines += _guarantee(found["guarantee"], "guarantee of an event")
        lines.append("")
    return "\n".join(lines)


def _parameters(setting: object) -> frozenset[str]:
    """Return the parameters of the calibrator that a setting names."""
    name = setting.get("calibrator", DEFAULT_CALIBRATOR) if isinstance(setting, dict) else None
    known = CALIBRATORS.get(name) if isinstance(name, str) else None
    return frozenset() if known is None else frozenset(known.parameters)


def _part(name: str, given: object, files: Collection[str]) -> list[str]:
    more = {"metres"} if name == "mechanism" else set()
    values = dict(_object(given, f"The part {name!r}", PARTS[name] | more))
    if name == "mechanism" and "metres" in values:
        metres = values.pop("metres")
        if not isinstance(metres, int | float) or not 0 < metres < math.inf:
            raise _wrong(
                "mechanism.metres", f"The metres must be a number > 0. Got {metres!r:.40}."
            )
        values["alpha"] = alpha_of(float(metres))
    if name == "mobility" and values.get("traces") not in (None, *files):
        raise _wrong("mobility.traces", "A model is fitted on the people of the opened file alone.")
    if name == "clock":
        values["start"] = _moment(values.get("start"))
        steps = values.get("steps")
        if isinstance(steps, int) and steps > MOST_STEPS:
            raise _wrong(
                "clock.steps", f"The studio takes at most {MOST_STEPS:,} steps. Got {steps}."
            )
    written = [
        f"{key} = {_value(value, f'{name}.{key}')}"
        for key, value in values.items()
        if value is not None
    ]
    return [f"[{name}]", *written, ""]


def _map_with_elsewhere(parts: Mapping[str, Any]) -> Grid | None:
    """Return the map with the ring for beyond it, None without one; its cells are not numbered."""
    if parts.get("outside") != "elsewhere" or not isinstance(parts.get("map"), dict):
        return None
    try:
        return Grid.covering(**parts["map"]).bordered()
    except (PristeError, TypeError):
        return None  # what is wrong with the map is for read_policy to say


def _place(region: Mapping[str, Any], grid: Grid | None) -> list[str]:
    """Return the lines of a place: its shape as it was given, or the cells that were painted."""
    if region.get("shape") is not None:
        shape = _object(region["shape"], "A shape", SHAPE)
        return [f"{key} = {_nested(value, key)}" for key, value in shape.items()]
    cells = read_numbers(region.get("cells"), "cells of a region")
    if grid is None or not cells:
        return [f"cells = {_cells(cells)}"]
    if not set(cells) <= set(range(grid.size)) - grid.border:
        raise _wrong("regions", "A place must lie on the map itself, not in the ring around it.")
    ring = [list(corner) for corner in ring_around(grid, tuple(sorted(set(cells))))]
    return [f"polygon = {_nested(ring, 'polygon')}", 'cover = "centers"']


def _nested(value: object, path: str) -> str:
    if isinstance(value, dict):
        parts = [f"{_key(key)} = {_value(each, path)}" for key, each in value.items()]
        return f"{{ {', '.join(parts)} }}"
    if isinstance(value, list) and value and all(isinstance(each, list) for each in value):
        return f"[{', '.join(_value(each, path) for each in value)}]"
    return _value(value, path)


def _guarantee(given: object, what: str) -> list[str]:
    values = _object({} if given is None else given, f"The {what}", PARTS["guarantee"])
    return [f"{key} = {_value(value, key)}" for key, value in values.items() if value is not None]


def _object(given: object, who: str, known: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise Refused(422, f"{who} must be an object.")
    for key in given:
        if key not in known:
            raise Refused(422, f"{who} has no {key!r:.40}. Known are {', '.join(sorted(known))}.")
    return given


def _listed(given: object, what: str) -> list[Any]:
    if not isinstance(given, list) or len(given) > MOST_NAMED:
        raise _wrong(what, f"The {what} must be a list of at most {MOST_NAMED}.")
    names = [each.get("name") if isinstance(each, dict) else None for each in given]
    for name in names:
        if names.count(name) > 1:
            raise _wrong(what, f"Two of the {what} have the same name, {name!r:.60}. Rename one.")
    return given


def _moment(given: object) -> datetime:
    try:
        if isinstance(given, str):
            return datetime.fromisoformat(given).replace(tzinfo=None)
    except ValueError:
        pass
    raise _wrong("clock.start", "The start must be a date and time, as 2026-03-02T00:00:00.")


def _value(value: object, path: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        raise _wrong(path, "This must be a finite number.")
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return f"[{', '.join(_value(each, path) for each in value)}]"
    raise _wrong(path, f"This must be a text or a number. Got {type(value).__name__}.")


def _text(value: str, path: str) -> str:
    """Return a basic string of TOML: JSON's form, but no surrogates and no raw DEL."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _wrong(path, "This text has characters that no file can hold.") from None
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _key(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > 80:
        raise Refused(422, "Regions and events need a name of 1 to 80 characters.")
    return _text(name, "name")


def _cells(cells: Sequence[int]) -> str:
    return f"[{', '.join(map(str, sorted(set(cells))))}]"


def _wrong(path: str, message: str) -> Refused:
    return Refused(422, message, problems=[Problem(path, message)])
