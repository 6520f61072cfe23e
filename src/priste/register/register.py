"""The register: whose fixes were released before, under which policy, and into which folder.

All releases about a person are one stream. The same fixes protected twice are two draws for one
step, and two streams about one person together reveal more than each. So every run looks up, before
it draws, whether anything was released about its people, and writes down what it is about to
release; both are one transaction. A person is recognised by name, and by fixes whatever the name.
The register holds keyed digests only (:mod:`priste.register.keyed_digests`), in one SQLite file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from priste.atomic_files import private_folder
from priste.errors import StateError
from priste.register.keyed_digests import FIX_BYTES, MOST_FIXES, RELEASED, state_folder

PATIENCE = 60.0
"""Seconds to wait for another run that is writing to the register."""

SAME_SHARE = 0.5
"""A person is that of a stream when so large a share of the fixes of one of them are those of the
other: a renamed trace, a part of it, or one that has grown. Fewer may be chance, as in data whose
fixes lie on the hour and on cell centres."""

REGISTER = "register.sqlite"
"""The name of the file in the folder of the register."""


@dataclass(frozen=True)
class Released:
    """One stream that was begun: under which policy, in which folder, and whether it is of the
    same name and of the same fixes as the person that was asked about."""

    policy: str
    place: str
    same_name: bool
    same_fixes: bool


@dataclass(frozen=True)
class Person:
    """Somebody about whom something is released: digests of the name and of fixes."""

    name: str | None
    digest: str
    fixes: bytes

    def each_fix(self) -> list[bytes]:
        """Return the digests of the fixes one by one."""
        return [self.fixes[at : at + FIX_BYTES] for at in range(0, len(self.fixes), FIX_BYTES)]

    @property
    def levels(self) -> list[int]:
        """The levels of the fixes."""
        return list(self.fixes[FIX_BYTES - 1 :: FIX_BYTES])

    @property
    def level(self) -> int:
        """The level of the sample that the fixes are: 0 where all fixes are there.

        A sample is taken of more than ``MOST_FIXES`` fixes, and about half as many are left.
        """
        levels = self.levels
        return min(levels) if len(levels) > MOST_FIXES // 4 else 0


class Register:
    """What this user has released; it only grows. Use :meth:`transaction`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / REGISTER

    @classmethod
    def of_this_user(cls) -> Register:
        """Return the register of this user, which is made when first written to."""
        return cls(state_folder() / RELEASED)

    @contextmanager
    def transaction(self) -> Iterator[RegisterTransaction]:
        """Look up and write down without another run in between; on the disk when this ends.

        Nothing is written if the block raises.
        """
        private_folder(self._folder)
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            os.close(os.open(self._file, flags, 0o600))
            with closing(
                sqlite3.connect(self._file, timeout=PATIENCE, isolation_level=None)
            ) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    _create(connection)
                    yield RegisterTransaction(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.OperationalError as problem:
            raise StateError(
                f"The register {str(self._file)!r} cannot be used: {problem}",
                hint="Is another run at work, or the disk full? Nothing was drawn; try again.",
            ) from None
        except (sqlite3.Error, UnicodeError):  # its messages quote the file
            raise StateError(
                f"The register {str(self._file)!r} is damaged",
                hint="Restore it from a copy; without it, what was released before cannot be "
                "recognised.",
            ) from None


class RegisterTransaction:
    """The register while nobody else writes to it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def earlier(self, person: Person) -> list[Released]:
        """Return the streams about a person, in the order in which they were last written down."""
        execute = self._connection.execute
        execute("CREATE TEMP TABLE IF NOT EXISTS asked(digest BLOB PRIMARY KEY) WITHOUT ROWID")
        execute("DELETE FROM asked")
        self._connection.executemany(
            "INSERT OR IGNORE INTO asked VALUES (?)", ((fix,) for fix in person.each_fix())
        )
        rows = execute(
            "SELECT s.id, s.policy, s.place, s.person = ?, s.level, coalesce(f.matches, 0)"
            " FROM streams s LEFT JOIN (SELECT stream, count(*) AS matches"
            " FROM fixes JOIN asked USING (digest) GROUP BY stream) f ON f.stream = s.id"
            " WHERE s.person = ? OR f.matches > 0 ORDER BY s.turn, s.id",
            (person.digest, person.digest),
        ).fetchall()
        found = []
        for stream, policy, place, same_name, level, matches in rows:
            same_fixes = bool(matches) and (
                bool(same_name) or self._is_same(int(stream), int(level), person)
            )
            if same_name or same_fixes:
                found.append(Released(str(policy), str(place), bool(same_name), same_fixes))
        return found

    def _is_same(self, stream: int, level: int, person: Person) -> bool:
        """Compare a person with a stream on the sample that both of them are known by."""
        common = max(level, person.level)
        asked = sum(each >= common for each in person.levels)
        at_least = bytes([common])
        count = "SELECT count(*) FROM fixes {} WHERE stream = ? AND substr(digest, 8) >= ?"
        registered, matches = (
            self._connection.execute(count.format(join), (stream, at_least)).fetchone()[0]
            for join in ("", "JOIN asked USING (digest)")
        )
        return bool(matches) and matches >= SAME_SHARE * min(asked, registered)

    def add(self, policy: str, place: str, people: Iterable[Person]) -> None:
        """Write down that streams about people are begun, or continue."""
        (turn,) = self._connection.execute(
            "SELECT coalesce(max(turn), 0) + 1 FROM streams"
        ).fetchone()
        for person in people:
            found = self._connection.execute(
                "INSERT INTO streams(person, policy, place, level, turn) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET level = max(level, excluded.level),"
                " turn = excluded.turn RETURNING id",
                (person.digest, policy, place, person.level, turn),
            ).fetchone()
            self._connection.executemany(
                "INSERT OR IGNORE INTO fixes VALUES (?, ?)",
                ((fix, found[0]) for fix in person.each_fix()),
            )


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS streams(id INTEGER PRIMARY KEY, person TEXT NOT NULL,"
        " policy TEXT NOT NULL, place TEXT NOT NULL, level INTEGER NOT NULL,"
        " turn INTEGER NOT NULL,"
        " UNIQUE (person, policy, place))"
    )
    connection.execute(
        "CREATE TABLE IF NOT EXISTS fixes(digest BLOB NOT NULL, stream INTEGER NOT NULL,"
        " PRIMARY KEY (digest, stream)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX IF NOT EXISTS fixes_of ON fixes(stream)")
