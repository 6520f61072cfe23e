"""Collecting every mistake of a policy file, each with its line, its rule and a suggestion."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import ValidationError

from priste.errors import PolicyError, PristeError
from priste.policy.sections import Section
from priste.policy.toml_lines import Path, line_of, lines_of_keys

SomeSection = TypeVar("SomeSection", bound=Section)


class Mistakes:
    """The mistakes found so far in one text."""

    def __init__(self, text: str, where: str) -> None:
        self._lines = lines_of_keys(text)
        self._where = where
        self._found: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, path: Path, message: str) -> None:
        """Note a mistake at a key."""
        line = line_of(path, self._lines)
        place = ".".join(path)
        shown = f"line {line}: {place}" if line else place
        self._found.append((line or 0, f"{shown}: {message}"))

    @contextmanager
    def at(self, path: Path) -> Iterator[None]:
        """Note any error of priste, or a plain ValueError, that is raised inside."""
        try:
            yield
        except (PristeError, ValueError, OSError) as error:
            self.add(path, str(error))

    def section(
        self,
        kind: type[SomeSection],
        table: Mapping[str, Any],
        path: Path,
        also_known: tuple[str, ...] = (),
    ) -> SomeSection | None:
        """Read a table as a section; None if that failed, with every reason noted.

        ``also_known`` are keys that may stand there beside those of the section.
        """
        try:
            return kind.model_validate(dict(table))
        except ValidationError as error:
            for fault in error.errors():
                self._add_fault(kind, path, fault, also_known)
            return None

    def raise_if_any(self) -> None:
        """Raise a PolicyError that lists everything, in the order of the file."""
        if not self._found:
            return
        listed = tuple(message for _, message in sorted(self._found, key=lambda item: item[0]))
        count = "1 mistake" if len(listed) == 1 else f"{len(listed)} mistakes"
        raise PolicyError(
            f"{self._where} has {count}:\n" + "\n".join(f"  {message}" for message in listed),
            listed,
        )

    def unknown(self, path: Path, known: list[str]) -> None:
        """Note a key that is not known, with the closest one that is."""
        close = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5)
        hint = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}"
        self.add(path, f"unknown key; {hint}")

    def _add_fault(
        self, kind: type[Section], path: Path, fault: Any, also_known: tuple[str, ...]
    ) -> None:
        inner = tuple(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            self.unknown(path + inner, sorted({*_keys(kind, inner[:-1]), *also_known}))
            return
        if fault["type"] == "missing":
            self.add(path + inner, "this key is missing")
            return
        message = fault["msg"].removeprefix("Value error, ")
        value = fault.get("input")
        shown = "" if isinstance(value, Mapping) else f"; got {value!r:.60}"
        self.add(path + inner, f"{message[:1].lower()}{message[1:]}{shown}")


def _keys(kind: type[Section], inner: tuple[str, ...]) -> set[str]:
    """Return the keys a section knows, or those of the section inside it at ``inner``."""
    if not inner:
        return set(kind.model_fields)
    for option in getattr(kind.model_fields[inner[0]].annotation, "__args__", ()):
        if isinstance(option, type) and issubclass(option, Section):
            return set(option.model_fields)
    return set()
