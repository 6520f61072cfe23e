"""What a format must offer: the one object that a new format adds to the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeAlias

from priste.traces.cleaning import EARLIEST, RawFix, RawFixes
from priste.traces.fixes import Trace
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Tally
from priste.traces.sources import Source, SourceFile

if TYPE_CHECKING:
    from priste.traces.formats.table_formats import Tables

Read: TypeAlias = Callable[[SourceFile, ReadingOptions, Tally], Iterator[tuple[str | None, RawFix]]]
"""Yields the records of a file in its order with their users; counts what is none."""

Write: TypeAlias = Callable[[Iterable[Trace], Path, ReadingOptions], None]
"""Writes traces as they are, without their stays."""


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


def by_name(inner: PurePath) -> str | None:
    """Return the name of a file as its user, if nothing else names one."""
    return inner.with_suffix("").as_posix()


@dataclass(frozen=True)
class TraceFormat:
    """Everything there is to know about one format.

    ``recognised_by`` says in words what ``recognises`` looks for in the first bytes; ``suffixes``
    name the format; files with ``other_suffixes``, which name another, may hold it. ``read`` yields
    the records of a file; a format of ``tables`` has that instead. ``write`` is None for a format
    that is only read. ``names_users`` says that files name users themselves; otherwise a file holds
    one user, and ``user_of_file`` tells whose a file of a folder is by its place. ``ignores`` are
    names of files that lie next to those of the format. Times before ``earliest`` are wrong clocks.
    """

    name: str
    recognised_by: str
    recognises: Callable[[Head], bool]
    read: Read | None = None
    write: Write | None = None
    tables: Tables | None = None
    suffixes: tuple[str, ...] = ()
    other_suffixes: tuple[str, ...] = ()
    names_users: bool = False
    is_folder: bool = False
    earliest: datetime = EARLIEST
    user_of_file: Callable[[PurePath], str | None] = by_name
    ignores: tuple[str, ...] = ()

    def users(
        self, source: Source, options: ReadingOptions, tally: Tally
    ) -> Iterator[tuple[str | None, RawFixes]]:
        """Yield the records of each user of a source once, in the order of names.

        One user is held at a time, and all at once where files name their users in any order.
        """
        if self.tables is not None:
            yield from self.tables.users(source, options, tally)
        elif self.read is not None and self.names_users:
            held: dict[str | None, list[RawFix]] = {}
            for file in source.files:
                for user, fix in self.read(file, options, tally):
                    held.setdefault(user, []).append(fix)
            for user in sorted(held, key=_named_last):
                yield user, RawFixes.of(held.pop(user))
        elif self.read is not None:
            files = sorted(source.files, key=lambda file: (_named_last(file.user), file.name))
            for user, owned in groupby(files, key=lambda file: file.user):
                records = (fix for file in owned for _, fix in self.read(file, options, tally))
                yield user, RawFixes.of(records)


def _named_last(user: str | None) -> tuple[bool, str]:
    """Order users by name, one without a name first."""
    return user is not None, user or ""


def some_line(pattern: re.Pattern[bytes]) -> Callable[[Head], bool]:
    """Return a test whether one of the first lines matches a pattern."""
    return lambda head: any(pattern.match(line) for line in head.lines)


def text_writer(lines: Callable[[Trace], Iterator[str]], newline: str = "\n") -> Write:
    """Return how a trace is written as a text file, given its lines without their ends."""

    def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
        with target.open("w", encoding="utf-8", newline=newline) as out:
            for trace in traces:
                out.writelines(f"{line}\n" for line in lines(trace))

    return write
