"""Small harm done to good content: bytes, texts, JSON values and tables, all from one seed."""

from __future__ import annotations

import json
import random
from typing import Any

ODD_TEXTS = [
    "", " ", "0", "-0", "-1", "1", "1e308", "1e400", "-1e400", "nan", "NaN", "inf", "Infinity",
    "9" * 40, "0x10", "é", "\u0000", "\ud7ff", "null", "true", "[]", "{}", '"', "'", ",", ";",
    "\n", "\r", "<", "&amp;", "..", "/", "2026-13-45", "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:59Z", "24:00:60", "1970-01-01T00:00:00+99:99", "geo:0,0", "1,2,3,4,5,6,7",
]  # fmt: skip
ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**400, 0.5, -0.0, 1e308, 5e-324,
    "", "x", "inf", "nan", [], {}, [[]], [None], {"": None}, ["a", 1], [0] * 50, float("inf"),
    float("-inf"), float("nan"),
]  # fmt: skip
_BYTES = [
    b"",
    b"\0",
    b"\xff",
    b"\xff\xfe",
    b"\n",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\x80",
    b'"',
    b"PK\3\4",
    b"\x1f\x8b",
]


def harmed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Flip, cut, repeat, insert or exchange parts of some bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(changed) + 1)
        length = min(rng.choice((1, 2, 4, 8, 40)), len(changed) - place)
        kind = rng.randrange(6)
        if kind == 0 and length:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del changed[place : place + length]
        elif kind == 2:
            changed[place:place] = changed[place : place + length] * rng.choice((1, 3))
        elif kind == 3:
            changed[place : place + length] = rng.choice(_BYTES)
        elif kind == 4 and length:
            changed[place : place + length] = rng.randbytes(length)
        elif kind == 5:
            changed = changed[: rng.randrange(len(changed) + 1)]
    return bytes(changed)


def harmed_text(text: str, rng: random.Random, separators: str) -> str:
    """Exchange a few words of a text (between separators) for odd ones, or move whole lines."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        if rng.random() < 0.2:
            lines = text.splitlines(keepends=True)
            rng.shuffle(lines) if rng.random() < 0.3 else lines.insert(
                rng.randrange(len(lines) + 1), rng.choice(lines) if lines else "\n"
            )
            text = "".join(lines)
            continue
        places = [place for place, sign in enumerate(text) if sign in separators]
        if len(places) < 2:
            return text + rng.choice(ODD_TEXTS)
        number = rng.randrange(len(places) - 1)
        begin, end = places[number] + 1, places[number + 1]
        text = text[:begin] + rng.choice(ODD_TEXTS) + text[end:]
    return text


def harmed_json(value: Any, rng: random.Random) -> Any:
    """Exchange a few values anywhere in a document for odd ones; the document is not changed."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = _harmed_once(value, rng)
    return value


def _harmed_once(value: Any, rng: random.Random, depth: int = 0) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        kind = rng.random()
        if kind < 0.1:
            return {name: inner for name, inner in value.items() if name != key}
        if kind < 0.15:
            return {**value, rng.choice(ODD_TEXTS): rng.choice(ODD_VALUES)}
        return {**value, key: _harmed_once(value[key], rng, depth + 1)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        kind = rng.random()
        if kind < 0.1:
            return value[:place] + value[place + 1 :]
        if kind < 0.2:
            return [*value, value[place]]
        return [*value[:place], _harmed_once(value[place], rng, depth + 1), *value[place + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.4:
        return rng.choice((value + 1, -value, value * 10**6, value // 3, str(value)))
    if isinstance(value, str) and value and rng.random() < 0.4:
        place = rng.randrange(len(value))
        return value[:place] + rng.choice(ODD_TEXTS) + value[place + 1 :]
    return deep(rng) if rng.random() < 0.03 else rng.choice(ODD_VALUES)


def deep(rng: random.Random) -> Any:
    """A value that is nested deeply, but not beyond what JSON can be written with."""
    value: Any = rng.choice(ODD_VALUES)
    for _ in range(rng.choice((10, 300))):
        value = [value] if rng.random() < 0.5 else {"type": value}
    return value


def as_json(value: Any, rng: random.Random) -> str:
    """A document as text; sometimes with brackets that never end, or numbers JSON does not have."""
    text = json.dumps(value)
    if rng.random() < 0.02:
        place = rng.randrange(len(text) + 1)
        return text[:place] + "[" * 100_000 + text[place:]
    return text
