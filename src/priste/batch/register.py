"""The register: which hours of whose days were released before, under what, and where to.

The same locations protected twice are two draws for one step, and together they tell more than
either. So every run writes down, before it draws, what it is about to release, and looks whether
that was released before. The register holds digests alone (see :mod:`priste.batch.keyed_digests`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from priste.errors import StateError
from priste.whole_files import private_folder


@dataclass(frozen=True)
class Released:
    """One stream that was begun: the policy's fingerprint, its journal, and the hours in it."""

    policy: str
    journal: str
    hours: tuple[str, ...]


class Register:
    """What this user has released; one file per person, named by a digest, that only grows."""

    def __init__(self, folder: Path) -> None:
        self._folder = private_folder(folder)

    def earlier(self, person: str, hours: frozenset[str]) -> list[Released]:
        """Return the streams of a person that hold any of these hours, latest last."""
        return [each for each in self._of(person) if not hours.isdisjoint(each.hours)]

    def add(self, person: str, released: Released) -> None:
        """Write a stream down; it is on the disk when this returns."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(self._file(person), flags, 0o600)
        try:
            # One write of a whole line, begun by a line end in case the last writer was cut short.
            os.write(handle, b"\n" + json.dumps(asdict(released)).encode() + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)

    def _of(self, person: str) -> Iterator[Released]:
        path = self._file(person)
        if not path.exists():
            return
        for line in path.read_bytes().split(b"\n"):
            if not line:
                continue
            try:
                found = json.loads(line)
                yield Released(found["policy"], found["journal"], tuple(found["hours"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                if line.startswith(b'{"policy"') and not line.endswith(b"}"):
                    continue  # a writer was cut short before it drew anything
                raise StateError(
                    f"The register {str(path)!r} is damaged. Restore it from a copy; without it, "
                    "what was released before cannot be recognised."
                ) from None

    def _file(self, person: str) -> Path:
        return self._folder / f"{person}.jsonl"
