"""The register: which hours of whose days were released before, under what, and where to.

The same locations protected twice are two draws for one step, and together they tell more than
either. So every run writes down, before it draws, what it is about to release, and looks whether
that was released before. The register holds digests alone (see :mod:`priste.batch.keyed_digests`),
in one SQLite file for all people; what earlier versions wrote, one file a person, is still read.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from priste.atomic_files import private_folder
from priste.errors import StateError

PATIENCE = 60.0
"""Seconds to wait for another run that is writing to the register."""

HOUR_BYTES = 8
"""How much of the digest of an hour is kept."""


@dataclass(frozen=True)
class Released:
    """One stream that was begun: the policy's fingerprint, where it is kept, and the hours in it.

    ``place`` is the folder of the run; for streams of earlier versions it is their journal.
    """

    policy: str
    place: str
    hours: frozenset[bytes]


def hours_to_bytes(hours: Iterable[str]) -> bytes:
    """Return the digests of hours, hexadecimal, as the register keeps them.

    >>> hours_to_bytes(["00" * 16]).hex()
    '0000000000000000'
    """
    return b"".join(bytes.fromhex(hour)[:HOUR_BYTES] for hour in sorted(hours))


def hours_from_bytes(data: bytes) -> frozenset[bytes]:
    """Undo :func:`hours_to_bytes`."""
    return frozenset(data[at : at + HOUR_BYTES] for at in range(0, len(data), HOUR_BYTES))


class Register:
    """What this user has released; it only grows."""

    def __init__(self, folder: Path) -> None:
        self._folder = private_folder(folder)
        self._file = folder / "register.sqlite"

    def earlier(
        self, people: Iterable[tuple[str | None, str, bytes]]
    ) -> Iterator[tuple[str | None, Released]]:
        """Yield the streams that hold any of the hours of people, with the name of the person.

        People are given by name, digest of the name, and hours.
        """
        with self._open() as connection:
            for name, person, hours in people:
                wanted = hours_from_bytes(hours)
                rows = connection.execute(
                    "SELECT policy, place, hours FROM streams WHERE person = ?",
                    (person,),
                )
                found = [Released(p, place, hours_from_bytes(h)) for p, place, h in rows]
                for each in [*self._older(person), *found]:
                    if not wanted.isdisjoint(each.hours):
                        yield name, each

    def add(self, policy: str, place: str, people: Iterable[tuple[str, bytes]]) -> None:
        """Write down that streams are begun; they are on the disk when this returns."""
        with self._open() as connection, connection:
            connection.executemany(
                "INSERT OR IGNORE INTO streams(person, policy, place, hours) VALUES (?, ?, ?, ?)",
                ((person, policy, place, hours) for person, hours in people),
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            os.close(os.open(self._file, flags, 0o600))
            with closing(sqlite3.connect(self._file, timeout=PATIENCE)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS streams(person TEXT NOT NULL, policy TEXT NOT NULL,"
                    " place TEXT NOT NULL, hours BLOB NOT NULL,"
                    " PRIMARY KEY (person, policy, place, hours)) WITHOUT ROWID"
                )
                yield connection
        except sqlite3.OperationalError as problem:
            raise StateError(
                f"The register {str(self._file)!r} cannot be used: {problem}. Is another run at "
                "work, or the disk full? Nothing was drawn; try again."
            ) from None
        except (sqlite3.Error, OSError, TypeError, UnicodeError):  # its messages quote the file
            raise self._damaged(self._file) from None

    def _older(self, person: str) -> Iterator[Released]:
        """Yield what versions before there was one file for all wrote down about a person."""
        path = self._folder / f"{person}.jsonl"
        if not path.exists():
            return
        for line in path.read_bytes().split(b"\n"):
            if not line:
                continue
            try:
                found = json.loads(line)
                hours = hours_from_bytes(hours_to_bytes(found["hours"]))
                yield Released(str(found["policy"]), str(found["journal"]), hours)
            except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
                if line.startswith(b'{"policy"') and not line.endswith(b"}"):
                    continue  # a writer was cut short before it drew anything
                raise self._damaged(path) from None

    def _damaged(self, path: Path) -> StateError:
        return StateError(
            f"The register {str(path)!r} is damaged. Restore it from a copy; without it, "
            "what was released before cannot be recognised."
        )
