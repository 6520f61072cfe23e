"""Events as the page draws them: as text of the event language, and as a tree.

A text is read by the language's own parser. Names of regions and words of times are replaced by
numbers first, so that the result can be written with these names and words again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from priste.events import Event, parse_event
from priste.events.formula import And, At, AtLeast, Constant, Junction, Not, walk
from priste.events.language import StepReader
from priste.studio.wire import Refused, read_numbers

Structure = dict[str, Any]

MOST_PARTS = 300
"""A formula of more parts is shown as text only."""

DEEPEST = 40
"""How deep a tree may be that a page sends."""

_REGION = 2_000_000_000
"""Numbers from here on stand for names of regions; no map has so many cells."""

_ENTRY = 10**9
"""Numbers of steps are entry * this + which of its steps."""


def structure_of(formula: str, regions: Iterable[str], steps: StepReader) -> Structure | None:
    """Return the tree of a formula that can be read; None if it is too large for a picture.

    >>> tree = structure_of("presence(home, 3..4, 7)", ["home"], lambda a, b: [0, 1])
    >>> tree
    {'kind': 'presence', 'region': 'home', 'when': ['3..4', '7']}
    """
    names = list(regions)
    words: list[str] = []

    def coded(word: str, last: str | None) -> list[int]:
        words.append(word if last is None else f"{word}..{last}")
        entry = (len(words) - 1) * _ENTRY
        return [entry + number for number, _ in enumerate(steps(word, last))]

    event = parse_event(
        formula, {name: [_REGION + number] for number, name in enumerate(names)}, steps=coded
    )
    return _tree(event, names, words)


def _tree(event: Event, names: Sequence[str], words: Sequence[str]) -> Structure | None:
    made: dict[int, Structure] = {}
    for count, node in enumerate(walk(event)):
        if count > MOST_PARTS:
            return None
        made[id(node)] = _node(node, made, names, words)
    return made[id(event)]


def _node(
    node: Event, made: Mapping[int, Structure], names: Sequence[str], words: Sequence[str]
) -> Structure:
    if isinstance(node, Constant):
        return {"kind": "true" if node.value else "false"}
    if isinstance(node, At):
        return {
            "kind": "at",
            "region": _region(node.cells, names),
            "when": words[node.step // _ENTRY],
        }
    if isinstance(node, AtLeast):
        entries = sorted({step // _ENTRY for step in node.steps})
        found: Structure = {
            "region": _region(node.cells, names),
            "when": [words[e] for e in entries],
        }
        if node.count == 1:
            return {"kind": "presence", **found}
        return {"kind": "at_least", "times": node.count, **found}
    if isinstance(node, Not):
        return {"kind": "not", "part": made[id(node.part)]}
    if not isinstance(node, Junction):
        raise TypeError(type(node).__name__)
    return _joined("and" if isinstance(node, And) else "or", [made[id(p)] for p in node.parts])


def _joined(kind: str, parts: Sequence[Structure]) -> Structure:
    flat: list[Structure] = []
    for part in parts:
        if part["kind"] == kind:
            flat += part["parts"]
        elif kind == "and" and part["kind"] == "pattern":
            flat += [{"kind": "at", **place} for place in part["places"]]
        else:
            flat.append(part)
    if kind == "and" and all(part["kind"] == "at" for part in flat):
        places = [{"region": part["region"], "when": part["when"]} for part in flat]
        return {"kind": "pattern", "places": places}
    return {"kind": kind, "parts": flat}


def _region(cells: frozenset[int], names: Sequence[str]) -> str | dict[str, list[int]]:
    first = min(cells)
    if first >= _REGION:
        return names[first - _REGION]
    return {"cells": sorted(cells)}


def formula_of(structure: object) -> str:
    """Return the text of a tree; Refused for what is no tree.

    >>> formula_of({"kind": "not", "part": {"kind": "at", "region": "my home", "when": "3"}})
    'not at("my home", 3)'
    """
    return _text(structure, 0)[0]


_TIGHT = {"or": 1, "and": 2, "not": 3}


def _text(tree: object, depth: int) -> tuple[str, int]:
    """Return the text and how tightly its outermost connective binds."""
    if not isinstance(tree, dict) or depth > DEEPEST:
        raise Refused(422, f"An event is a tree of objects, at most {DEEPEST} deep.")
    writers: dict[str, Callable[[], str]] = {
        "true": lambda: "true",
        "false": lambda: "false",
        "at": lambda: f"at({_name(tree.get('region'))}, {_when(tree.get('when'))})",
        "presence": lambda: f"presence({_name(tree.get('region'))}, {_whens(tree.get('when'))})",
        "at_least": lambda: (
            f"at_least({_count(tree.get('times'))}, {_name(tree.get('region'))}, "
            f"{_whens(tree.get('when'))})"
        ),
        "pattern": lambda: f"pattern({', '.join(map(_place, _parts(tree.get('places'))))})",
    }
    kind = tree.get("kind")
    if kind in writers:
        return writers[kind](), 4
    if kind == "not":
        inner, binds = _text(tree.get("part"), depth + 1)
        return (f"not {inner}" if binds >= _TIGHT["not"] else f"not ({inner})"), _TIGHT["not"]
    if kind in ("and", "or"):
        tight = _TIGHT[kind]
        texts = [_text(part, depth + 1) for part in _parts(tree.get("parts"))]
        return f" {kind} ".join(t if binds >= tight else f"({t})" for t, binds in texts), tight
    raise Refused(422, f"There is no kind of event {kind!r:.40}.")


def _parts(parts: object) -> list[Any]:
    if not isinstance(parts, list) or not 0 < len(parts) <= MOST_PARTS:
        raise Refused(422, "Nothing is joined here: add at least one part.")
    return parts


def _place(place: object) -> str:
    if not isinstance(place, dict):
        raise Refused(422, "A pattern is a list of places, each with a region and a time.")
    return f"{_name(place.get('region'))} @ {_when(place.get('when'))}"


def _count(times: object) -> int:
    if type(times) is not int or times < 1:
        raise Refused(422, f"How often must be a whole number >= 1. Got {times!r:.40}.")
    return times


def _name(region: object) -> str:
    if isinstance(region, dict):
        cells = read_numbers(region.get("cells"), "cells of a region")
        if not cells:
            raise Refused(422, "A region needs at least one cell. Paint one.")
        return f"{{{', '.join(map(str, sorted(set(cells))))}}}"
    if not isinstance(region, str) or not region:
        raise Refused(422, "Choose a region for each part of the event.")
    if region.isidentifier() and region.isascii() and region not in ("and", "or", "not"):
        return region
    return _quoted(region)


def _whens(when: object) -> str:
    entries = when if isinstance(when, list) else [when]
    return ", ".join(_when(each) for each in _parts(entries))


def _when(when: object) -> str:
    """Return one entry of a list of times, quoted unless it is a number, a moment or a range."""
    if not isinstance(when, str) or not when.strip():
        raise Refused(422, "Choose a time for each part of the event.")
    parts = when.split("..")
    moments = all("T" in part for part in parts)
    if len(parts) <= 2 and (all(part.isdigit() for part in parts) or (moments and " " not in when)):
        return "..".join(part if part.isdigit() else _quoted(part) for part in parts)
    return _quoted(when)


def _quoted(text: str) -> str:
    if '"' in text:
        raise Refused(422, 'Names and times cannot hold a ". Use another name.')
    return f'"{text}"'
