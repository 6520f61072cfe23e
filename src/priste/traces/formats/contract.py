"""What a format must offer: the one object that a new format adds to the table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from priste.traces.cleaning import EARLIEST, RawFix, RawFixes
from priste.traces.fixes import Trace
from priste.traces.formats.format import Format
from priste.traces.points import ReleasedPoints
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Tally
from priste.traces.sources import Source, SourceFile

Records: TypeAlias = Callable[
    [SourceFile, ReadingOptions, Tally], Iterator[tuple[str | None, RawFix]]
]
"""Yields the records of a file in its order with their users; counts what is none."""

Users: TypeAlias = Callable[[Source, ReadingOptions, Tally], Iterator[tuple[str | None, RawFixes]]]
"""Yields each user of a source once, in the order of names."""

Rewrite: TypeAlias = Callable[
    [SourceFile, Path, ReadingOptions, ReleasedPoints, Collection[str]], int
]
"""Writes a file again with released points and the kept fields; returns the records written."""

Write: TypeAlias = Callable[[Iterable[Trace], Path, ReadingOptions], None]
"""Writes traces as they are."""


class Head:
    """The first bytes of a file, without a byte-order mark or leading space."""

    def __init__(self, data: bytes) -> None:
        data = data.removeprefix(b"\xef\xbb\xbf")
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            data = data.decode("utf-16", errors="replace").encode()
        # The header of a binary file may begin with a byte that looks like a space.
        self.data = data if b"\0" in data[:16] else data.lstrip()

    @cached_property
    def lines(self) -> list[bytes]:
        """The first lines."""
        return self.data.splitlines()[:20]

    @property
    def is_json(self) -> bool:
        """Whether it begins as a JSON object or list does."""
        return self.data.startswith((b"{", b"["))

    @property
    def is_xml(self) -> bool:
        """Whether it begins as XML does."""
        return self.data.startswith(b"<")


def by_name(inner: Path) -> str | None:
    """Return the name of a file as its user: nothing else tells."""
    return inner.with_suffix("").as_posix()


@dataclass(frozen=True)
class TraceFormat:
    """Everything there is to know about one format.

    ``told_by`` says in words what ``recognises`` looks for in the first bytes; ``suffixes``
    guarantee the format, ``other_suffixes`` guarantee another but may hold it. ``rewrite`` and
    ``write`` are None for a format that is only read. ``keepable`` names the fields that may be
    kept besides time and place; None: any name the file has. ``one_user`` tells that a file holds
    one user and no name, ``user_of_file`` whose a file of a folder is by its place.
    ``companions`` are files beside, copied when the field is kept.
    """

    name: Format
    told_by: str
    recognises: Callable[[Head], bool]
    users: Users
    rewrite: Rewrite | None
    write: Write | None
    suffixes: tuple[str, ...] = ()
    other_suffixes: tuple[str, ...] = ()
    keepable: frozenset[str] | None = frozenset()
    one_user: bool = True
    is_folder: bool = False
    earliest: datetime = EARLIEST
    user_of_file: Callable[[Path], str | None] = by_name
    companions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    options_of: Callable[[Source, ReadingOptions], ReadingOptions] | None = None
    """How new records are to be named like the input's own, for tables."""
    texts: Callable[[Source, ReadingOptions, str], Iterator[tuple[str | None, str]]] | None = None
    """What a column says about each user, every value once, for tables."""


def per_file(records: Records) -> Users:
    """Return how users are read when a file is one user's: one at a time, file by file."""

    def users(
        source: Source, options: ReadingOptions, tally: Tally
    ) -> Iterator[tuple[str | None, RawFixes]]:
        files = sorted(source.files, key=lambda file: (named_last(file.user), file.name))
        for user, owned in groupby(files, key=lambda file: file.user):
            found = (fix for file in owned for _, fix in records(file, options, tally))
            yield user, RawFixes.of(found)

    return users


def named_inside(records: Records) -> Users:
    """Return how users are read when files name them, in any order: all are held at once."""

    def users(
        source: Source, options: ReadingOptions, tally: Tally
    ) -> Iterator[tuple[str | None, RawFixes]]:
        held: dict[str | None, list[RawFix]] = {}
        for file in source.files:
            for user, fix in records(file, options, tally):
                held.setdefault(user, []).append(fix)
        for user in sorted(held, key=named_last):
            yield user, RawFixes.of(held.pop(user))

    return users


def named_last(user: str | None) -> tuple[bool, str]:
    """Order users by name, one without a name first."""
    return user is not None, user or ""


def some_line(*patterns: object) -> Callable[[Head], bool]:
    """Return a test whether one of the first lines matches a compiled pattern."""

    def recognises(head: Head) -> bool:
        return any(pattern.match(line) for pattern in patterns for line in head.lines)  # type: ignore[attr-defined]

    return recognises
