"""Tables of parts by name, to which other packages add theirs by entry points.

A package writes one line into its ``pyproject.toml``, under the group of the table, and its part is
offered wherever those of this package are. docs/how-to/extend.md names the groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import entry_points
from typing import TypeVar

from priste.errors import PristeError

Part = TypeVar("Part")


class Registered(Mapping[str, Part]):
    """The parts of one kind: those of this package, which cannot be replaced, and those of others.

    A part is known by its ``name``, or where it has none by that of its entry point. Other packages
    are looked at when a name is asked for that is not built in, or all names; theirs come first.

    >>> table = Registered("priste.examples", int, {"one": 1})
    >>> table["one"], list(table)
    (1, ['one'])
    """

    def __init__(self, group: str, kind: type[Part], built_in: Mapping[str, Part]) -> None:
        self._group = group
        self._kind = kind
        self._built_in = dict(built_in)

    @cached_property
    def _others(self) -> dict[str, Part]:
        found: dict[str, Part] = {}
        for point in sorted(entry_points(group=self._group), key=lambda point: point.name):
            whose = f"The entry point {point.name!r} of {self._group!r}"
            hint = "Remove the package that has it, or mend it."
            try:
                part = point.load()
            except Exception as problem:  # of another package: anything
                raise PristeError(
                    f"{whose} cannot be loaded ({type(problem).__name__}).", hint=hint
                ) from problem
            name = getattr(part, "name", point.name)
            if not isinstance(part, self._kind) or name in {*self._built_in, *found}:
                raise PristeError(
                    f"{whose} must name a {self._kind.__name__} whose name no other has.", hint=hint
                )
            found[name] = part
        return found

    def __getitem__(self, name: str) -> Part:
        return self._built_in[name] if name in self._built_in else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._others, **self._built_in})

    def __len__(self) -> int:
        return len(self._others) + len(self._built_in)
