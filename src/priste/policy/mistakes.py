"""Collect every mistake of a policy, each with its line, its rule and a suggestion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from priste.errors import PolicyError, PristeError, message_of
from priste.policy.sections import UNKNOWN, did_you_mean
from priste.policy.toml_lines import Path, line_of, lines_of_keys


class Mistakes:
    """The mistakes found so far in one text."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where
        self._found: list[tuple[Path, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, path: Path, message: str) -> None:
        """Note a mistake at a key."""
        self._found.append((path, message))

    @contextmanager
    def at(self, path: Path) -> Iterator[None]:
        """Note any error of priste, or a plain ValueError, that is raised inside."""
        try:
            yield
        except PristeError as error:
            # The path says whose parameter it is, by the key that was written.
            named = f"The {error.parameter!r}"
            self.add(path, message_of(error, named) if error.parameter else str(error))
        except (ValueError, OSError) as error:
            self.add(path, str(error))

    def add_faults(
        self, kind: type[BaseModel], error: ValidationError, *, values: bool = True
    ) -> None:
        """Note everything that a check of ``kind`` found.

        Without ``values``, because one may be a password, what was written is not repeated.
        """
        for fault in error.errors():
            path = tuple(str(part) for part in fault["loc"] if not isinstance(part, int))
            if fault["type"] == "extra_forbidden":
                self.add(path, did_you_mean(path[-1], sorted(_keys(kind, path[:-1]))))
            elif fault["type"] == UNKNOWN:
                self.add((*path, fault["ctx"]["key"]), fault["msg"])
            elif fault["type"] == "missing":
                section = len(path) == 1
                self.add(
                    path,
                    f"this section is missing; write [{path[0]}]"
                    if section
                    else "this key is missing",
                )
            elif fault["type"] in ("model_type", "dict_type"):
                self.add(path, f"this must be a table, written [{'.'.join(path)}]")
            elif fault["type"] == "nothing_guarded":
                self.add(("events",), fault["msg"])
            else:
                message = fault["msg"].removeprefix("Value error, ")
                value = fault.get("input")
                repeated = not values or isinstance(value, Mapping) or " Got " in message
                shown = "" if repeated else f"; got {value!r:.60}"
                self.add(path, f"{message[:1].lower()}{message[1:].rstrip('.')}{shown}")

    def error(self) -> PolicyError:
        """Return the error that lists everything, in the order of the file."""
        lines = lines_of_keys(self._text)
        listed = []
        for path, message in self._found:
            line, place = line_of(path, lines), ".".join(path)
            words = f"line {line}: {place}: {message}" if line else f"{place}: {message}"
            listed.append((line or 0, words))
        found = tuple(words for _, words in sorted(listed, key=lambda item: item[0]))
        count = "1 mistake" if len(found) == 1 else f"{len(found)} mistakes"
        return PolicyError(
            f"{self._where} has {count}:\n" + "\n".join(f"  {words}" for words in found),
            found,
            tuple((".".join(path), message) for path, message in self._found),
        )

    def raise_if_any(self) -> None:
        """Raise a PolicyError that lists everything."""
        if self._found:
            raise self.error()


def _keys(kind: Any, path: Path) -> set[str]:
    """Return the keys that a model knows, or the one inside it at ``path``."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {field.alias or name: field for name, field in kind.model_fields.items()}
        if not path:
            return set(fields)
        return _keys(fields[path[0]].annotation, path[1:]) if path[0] in fields else set()
    # A dictionary is entered by a name; a list or a choice of types is not.
    inside = get_args(kind)
    if len(inside) == 2 and inside[0] is str:
        return _keys(inside[1], path[1:])
    return set().union(*(_keys(each, path) for each in inside))
