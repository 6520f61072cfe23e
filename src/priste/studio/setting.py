"""What the page has set, as a policy document: one JSON object in, the text of a policy file out.

The text is all that a run is made from, so what the studio does is what the command line does with
the exported file. The page may set what a policy may say, except for files of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from priste.errors import PolicyError
from priste.policy import Document, Ground
from priste.policy.document import GroundDocument
from priste.policy.policy import OFF_MAP
from priste.policy.policy_reader import ground_of, unringed
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
from priste.studio.size_limits import check_size
from priste.studio.wire import Problem, Refused, read_numbers

PARTS = {
    "map": frozenset(MapSection.model_fields),
    "clock": frozenset(ClockSection.model_fields) - {"end"},
    "mobility": frozenset(MobilitySection.model_fields) - {"path"},
    "mechanism": frozenset(MechanismSection.model_fields) | {"metres"},
    "adversary": frozenset(AdversarySection.model_fields) - {"population"},
    "guarantee": frozenset(GuaranteeSection.model_fields),
}
"""What may stand in each part of a setting: what stands in that section of a policy, but for files,
because a page has no business on this machine's disk."""

GUARANTEE = PARTS["guarantee"]
RELEASE = frozenset(ReleaseSection.model_fields)
SHAPE = frozenset(RegionSection.model_fields) - {"cells", "geojson"}
EVENT = frozenset({"name", "formula", "every", "span", "guarantee", "structure"})
SECRET = frozenset({"name", "together", "answers", "every", "guarantee"})
KNOWN = frozenset({*PARTS, *RELEASE, "regions", "events", "secrets"})

_TABLES = frozenset({"release", "regions", "events", "secrets"})

SEVERAL = "several"
"""The kind of movement that stands on the page for several models of an opened policy."""

MOST_STEPS = 20_000
MOST_NAMED = 200
"""The longest stream, and the most regions and events that the studio takes."""


def alpha_of(metres: float) -> float:
    """Return the α (per km) at which planar Laplace noise is this many metres on average.

    >>> alpha_of(500.0)
    4.0
    """
    return float(f"{2000.0 / metres:.6g}")


def carried_of(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a policy says that the page neither shows nor sends, to be put back.

    These are sections that the page does not know, several models of movement, and ``files``: the
    names of all files of the policy. They never come from a page.
    """
    mobility, adversary = tables["mobility"], tables.get("adversary", {})
    listed = mobility if isinstance(mobility, list) else [mobility]
    named = [each.get(key) for each in listed for key in ("path", "traces")]
    named += [adversary.get("population")]
    named += [place.get("geojson") for place in tables.get("regions", {}).values()]
    texts = [text for each in named if each for text in ([each] if isinstance(each, str) else each)]
    return {
        "sections": only(tables, tables.keys() - PARTS.keys() - _TABLES),
        "mobility": mobility if isinstance(mobility, list) else only(mobility, {"path"}),
        "adversary": only(adversary, {"population"}),
        "files": texts,
    }


def only(table: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Return the part of a table that has these keys."""
    return {key: each for key, each in table.items() if key in keys}


def policy_text(
    setting: object, files: Collection[str] = (), carried: Mapping[str, Any] | None = None
) -> str:
    """Return the policy file that a setting means; see :func:`document_of`."""
    text = document_of(setting, files, carried).to_toml()
    return f"# A policy of priste, written by its studio.\n\n{text}"


def document_of(
    setting: object, files: Collection[str] = (), carried: Mapping[str, Any] | None = None
) -> Document:
    """Return the policy that a setting means; ``files`` are what a model may be fitted on.

    ``carried`` is what :func:`carried_of` kept of a policy. Raises Refused with every mistake of
    form.
    """
    kept = carried or {"sections": {}, "mobility": {}, "adversary": {}, "files": ()}
    parts = _sections(setting, {*files, *kept["files"]})
    if parts["mobility"].get("kind") == SEVERAL:
        parts["mobility"] = kept["mobility"]
    elif isinstance(kept["mobility"], dict):
        parts["mobility"] |= only(kept["mobility"], {"path"})
    if kept["adversary"] and parts.get("adversary", {}).get("knows") == "population":
        parts["adversary"] |= kept["adversary"]
    grid = ground_of_setting(setting, files).grid if _is_ringed(parts) else None
    parts["regions"] = {
        _name(each): _place(_object(each, "A region", frozenset({"name", "cells", "shape"})), grid)
        for each in _listed(setting, "regions")
    }
    parts["events"] = {
        _name(each): event_table(_object(each, "An event", EVENT))
        for each in _listed(setting, "events")
    }
    secrets = {
        _name(each): secret_table(_object(each, "A secret", SECRET))
        for each in _listed(setting, "secrets", [])
    }
    if secrets:
        parts["secrets"] = secrets
    try:
        return Document.from_json({**kept["sections"], **parts}, "The setting")
    except (PolicyError, ValueError) as error:
        raise mistakes(error) from None


def ground_of_setting(setting: object, files: Collection[str] = ()) -> Ground:
    """Return the map and the clock of a setting only; Refused with their mistakes.

    A map of too many cells is one: everything else takes memory for each of them.
    """
    try:
        document = GroundDocument.from_json(_sections(setting, files), "The setting")
        return checked_ground(document)
    except (PolicyError, ValueError) as error:
        raise mistakes(error) from None


def checked_ground(document: GroundDocument) -> Ground:
    """Return the map and the clock; a map that is too large is refused in words of the studio."""
    known = None if document.adversary is None else document.adversary.knows
    anyhow = AdversarySection(knows="population")
    found = ground_of(document.model_copy(update={"adversary": anyhow}))
    check_size(found.grid, known)
    return found


def mistakes(error: PolicyError | ValueError) -> Refused:
    """Return the mistakes of a policy as an answer, without the lines of a file nobody sees."""
    faults = getattr(error, "faults", ()) or (("", str(error)),)
    problems = [Problem(path, message) for path, message in faults]
    return Refused(
        422, "\n".join(map(_sentence, problems)), "Change what is named, then try again.", problems
    )


def _sentence(problem: Problem) -> str:
    """Return a mistake in words; one that is no sentence of its own says where it is."""
    if not problem.path or problem.message[:1].isupper():
        return problem.message
    return f"{problem.path}: {problem.message}"


def _sections(setting: object, files: Collection[str]) -> dict[str, Any]:
    """Return the sections of a setting, apart from its places and events."""
    given = _object(setting, "The setting", KNOWN | _parameters(setting))
    found: dict[str, Any] = {
        name: _without_none(_object(given.get(name), f"The part {name!r}", known))
        for name, known in PARTS.items()
        if given.get(name) is not None or name in ("map", "clock", "mobility", "mechanism")
    }
    metres = found["mechanism"].pop("metres", None)
    if metres is not None:
        if not isinstance(metres, int | float) or not 0 < metres < math.inf:
            raise _wrong(
                "mechanism.metres", f"The metres must be a number > 0. Got {metres!r:.40}."
            )
        found["mechanism"]["alpha"] = alpha_of(float(metres))
    if found["mobility"].get("traces") not in (None, *files):
        raise _wrong("mobility.traces", "A model is fitted on the people of the opened file alone.")
    steps = found["clock"].get("steps")
    if isinstance(steps, int) and steps > MOST_STEPS:
        raise _wrong("clock.steps", f"The studio takes at most {MOST_STEPS:,} steps. Got {steps}.")
    release = RELEASE | _parameters(setting)
    found["release"] = _without_none({key: given[key] for key in sorted(release & set(given))})
    return found


def _is_ringed(sections: Mapping[str, Any]) -> bool:
    return bool(sections["release"].get("outside") == OFF_MAP)


def _parameters(setting: object) -> frozenset[str]:
    """Return the parameters of the calibrator that a setting names."""
    name = setting.get("calibrator", DEFAULT_CALIBRATOR) if isinstance(setting, dict) else None
    known = CALIBRATORS.get(name) if isinstance(name, str) else None
    return frozenset() if known is None else frozenset(known.parameters)


def _place(region: Mapping[str, Any], ringed: Any) -> dict[str, Any]:
    """Return a place: its shape as it was given, or the cells of the map that were painted."""
    if region.get("shape") is not None:
        return dict(_object(region["shape"], "A shape", SHAPE))
    cells = sorted(set(read_numbers(region.get("cells"), "cells of a region")))
    try:
        return {"cells": cells if ringed is None else unringed(ringed, cells)}
    except ValueError as error:
        raise _wrong("regions", f"{str(error).capitalize()}.") from None


def event_table(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event as a policy has it; with a span neighbouring days or weeks together."""
    every, span = event.get("every"), event.get("span")
    neighbours = {} if span is None else {"together": f"{every}s", "span": span}
    table = {"formula": event.get("formula"), "every": every, **neighbours}
    return {**_own(event), **_without_none(table)}


def secret_table(secret: Mapping[str, Any]) -> dict[str, Any]:
    """Return a secret: events by their names, or a formula for each answer."""
    table = only(secret, {"together", "every"})
    if secret.get("answers") is not None:
        listed = _listed(secret, "answers")
        table["answers"] = {_name(each): each.get("formula") for each in listed}
    return {**_own(secret), **_without_none(table)}


def _own(guarded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantee that stands with an event or a secret."""
    guarantee = guarded.get("guarantee")
    return {} if guarantee is None else dict(_object(guarantee, "A guarantee", GUARANTEE))


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _object(given: object, who: str, known: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise Refused(422, f"{who} must be an object.")
    for key in given:
        if key not in known:
            raise Refused(422, f"{who} has no {key!r:.40}. Known are {', '.join(sorted(known))}.")
    return given


def _listed(setting: object, what: str, otherwise: object = None) -> list[Any]:
    given = setting.get(what, otherwise) if isinstance(setting, dict) else None
    if not isinstance(given, list) or len(given) > MOST_NAMED:
        raise _wrong(what, f"The {what} must be a list of at most {MOST_NAMED}.")
    names = [each.get("name") if isinstance(each, dict) else None for each in given]
    for name in names:
        if names.count(name) > 1:
            raise _wrong(what, f"Two of the {what} have the same name, {name!r:.60}. Rename one.")
    return given


def _name(given: object) -> str:
    name = given.get("name") if isinstance(given, dict) else None
    if not isinstance(name, str) or not name.strip() or len(name) > 80:
        raise Refused(422, "Regions and events need a name of 1 to 80 characters.")
    return name


def _wrong(path: str, message: str) -> Refused:
    return Refused(422, message, problems=[Problem(path, message)])
