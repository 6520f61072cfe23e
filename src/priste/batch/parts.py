"""Part files: what was made of the users of one chunk, a row for each, checked when it is read.

A part is Parquet, so that all parts together are a table: results are written from it, and
summaries asked of it, by DuckDB and without holding the users in memory. It holds released
cells, journals and leakages; no true location.
"""

from __future__ import annotations

import hashlib
import io
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from priste.batch.groups import Outcome
from priste.errors import StateError
from priste.policy import Policy
from priste.register import KeptStream
from priste.release import Ledger
from priste.traces.databases import open_database

MEMORY = "256MB"


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            ("user", pa.string()),
            ("problem", pa.string()),
            ("cells", pa.list_(pa.int32())),
            ("leakage", pa.list_(pa.float64())),
            ("belief", pa.list_(pa.float64())),
            ("kept", pa.bool_()),
            ("alike", pa.string()),
            ("lost", pa.bool_()),
            ("journal", pa.binary()),
        ]
    )


def part_bytes(outcomes: Sequence[Outcome]) -> bytes:
    """Return the content of a part file; the same outcomes give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [
        [each.user for each in outcomes],
        [each.problem for each in outcomes],
        [list(each.stream.cells) for each in outcomes],
        [list(each.largest_leakage) for each in outcomes],
        [list(each.largest_belief) for each in outcomes],
        [each.kept for each in outcomes],
        [each.alike for each in outcomes],
        [each.lost for each in outcomes],
        [each.journal for each in outcomes],
    ]
    schema = _schema()
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="zstd")
    return out.getvalue()


def checksum(data: bytes) -> str:
    """Return the digest by which a part is recognised."""
    return hashlib.sha256(data).hexdigest()


def checked_bytes(path: Path, expected: str) -> bytes:
    """Return what a part file holds; StateError if it is not what was written there."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise StateError(
            f"{path.name} cannot be read: {problem.strerror}", hint="Restore it from a copy."
        ) from None
    if checksum(data) != expected:
        raise StateError(
            f"{path.name} is not what it wrote: it was changed, swapped or damaged",
            hint="Restore it from a copy.",
        )
    return data


def journals_in(data: bytes) -> dict[str | None, bytes]:
    """Return the journals of a part by user; only of users with a stream."""
    users, journals = _columns(data, "user", "journal")
    return {user: journal for user, journal in zip(users, journals, strict=True) if journal}


def has_lost(data: bytes) -> bool:
    """Return whether working on a user of a part ended a process."""
    return any(_columns(data, "lost")[0])


def _columns(data: bytes, *names: str) -> list[list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data), columns=list(names))
        return [table[name].to_pylist() for name in names]
    except (pa.ArrowException, OSError, KeyError, ValueError):
        raise StateError(
            "a part is not a table of streams", hint="Restore it from a copy."
        ) from None


@dataclass(frozen=True)
class Totals:
    """What all parts hold together."""

    users: int
    releases: int
    kept: bool
    problems: int


class Parts:
    """All parts of a run as one table; only what is being read is in memory."""

    def __init__(self, files: Sequence[Path], policy: Policy) -> None:
        self.files = tuple(files)
        self._policy = policy

    def gathered(self, users: int) -> Iterator[Parts]:
        """Yield consecutive parts together, at least this many users at a time."""
        query = "SELECT filename, count(*) FILTER (steps > 0) FROM people GROUP BY filename"
        counts = dict(self._rows(query))
        groups: list[list[Path]] = []
        found = users
        for file in self.files:
            if found >= users:
                groups.append([])
                found = 0
            groups[-1].append(file)
            found += counts.get(str(file), 0)
        if groups and not found:  # nobody behind the last who has a stream
            groups.pop()
        for files in groups:
            yield self if files == list(self.files) else Parts(files, self._policy)

    @cached_property
    def _connection(self) -> Any:
        """A connection on which ``parts`` is the table of all parts; opened when first asked.

        ``people`` is what summaries ask for, without cells and journals, copied from the files
        once: opening thousands of files for every question takes longer than answering it.
        """
        connection = open_database(tempfile.gettempdir(), memory=MEMORY, threads=2)
        listed = ", ".join(_quoted(str(path)) for path in self.files)
        connection.execute(f"CREATE VIEW parts AS FROM read_parquet([{listed}], filename=true)")
        connection.execute(
            "CREATE TABLE people AS SELECT user, problem, kept, alike, leakage, belief, filename, "
            "len(cells) AS steps, len(list_filter(cells, lambda c: c IS NOT NULL)) AS releases "
            "FROM parts"
        )
        return connection

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        if not self.files:
            return
        answer = self._connection.cursor().execute(query)
        while rows := answer.fetchmany(256):
            yield from rows

    def totals(self) -> Totals:
        """Return how many people have a stream, with how many releases, and how many a problem."""
        query = (
            "SELECT count(*) FILTER (steps > 0), coalesce(sum(releases), 0), "
            "coalesce(bool_and(kept), true), count(problem) FROM people"
        )
        for users, releases, kept, problems in self._rows(query):
            return Totals(int(users), int(releases), bool(kept), int(problems))
        return Totals(0, 0, True, 0)

    def cells(self) -> Iterator[tuple[str | None, tuple[int | None, ...]]]:
        """Yield every user's released cells in the order of names."""
        query = "SELECT user, cells FROM parts WHERE len(cells) > 0 ORDER BY user NULLS FIRST"
        for user, cells in self._rows(query):
            yield user, tuple(cells)

    def streams(self) -> Iterator[tuple[str | None, Ledger]]:
        """Yield every user's ledger in the order of names."""
        query = "SELECT user, journal FROM parts WHERE len(cells) > 0 ORDER BY user NULLS FIRST"
        for user, journal in self._rows(query):
            yield user, self._ledger(journal)

    def users(self) -> Iterator[str | None]:
        """Yield every user who has a stream, in the order of names."""
        for (user,) in self._rows(
            "SELECT user FROM people WHERE steps > 0 ORDER BY user NULLS FIRST"
        ):
            yield user

    def ledger(self, user: str | None) -> Ledger:
        """Return one user's ledger; KeyError if they have no stream."""
        return self.ledgers_of([user])[user]

    def ledgers_of(self, users: Sequence[str | None]) -> dict[str | None, Ledger]:
        """Return the ledgers of some users in their order; KeyError if one has no stream."""
        chosen = ["user IS NULL" if u is None else f"user = {_quoted(u)}" for u in users]
        query = "SELECT user, journal FROM parts WHERE len(cells) > 0 AND "
        found = dict(self._rows(f"{query}({' OR '.join(chosen)})")) if users else {}
        return {user: self._ledger(found[user]) for user in users}

    def problems(self, most: int) -> dict[str | None, str]:
        """Return why nothing was released, for the first people without a release."""
        query = (
            "SELECT user, problem FROM people WHERE problem IS NOT NULL "
            f"ORDER BY user NULLS FIRST LIMIT {int(most)}"
        )
        return dict(self._rows(query))

    def most_leaking(self, most: int) -> list[str | None]:
        """Return the people with the largest leakages, the largest first."""
        query = (
            "SELECT user FROM people WHERE steps > 0 "
            f"ORDER BY list_max(leakage) DESC, user NULLS FIRST LIMIT {int(most)}"
        )
        return [user for (user,) in self._rows(query)]

    def largest(self, column: str) -> list[float]:
        """Return the largest "leakage" or "belief" of each event over all users and steps."""
        found = []
        for k in range(1, len(self._policy.events) + 1):
            query = (
                f"SELECT max({column}[{k}]) FILTER (NOT isnan({column}[{k}])) FROM people "
                "WHERE steps > 0"
            )
            (value,) = next(self._rows(query), (None,))
            found.append((0.0 if column == "leakage" else math.nan) if value is None else value)
        return found

    def leakage_spread(self) -> dict[str, dict[str, float]]:
        """Return the median and the 95th percentile over users of the leakage about each event."""
        spread = {}
        for k, name in enumerate(self._policy.events):
            query = (
                f"SELECT quantile_cont(leakage[{k + 1}], [0.5, 0.95]) FROM people WHERE steps > 0"
            )
            for (found,) in self._rows(query):
                half, most = found or (math.nan, math.nan)
                spread[name] = {"half": float(half), "nineteen_of_twenty": float(most)}
        return spread

    def alike(self, expression: str, most: int) -> list[list[str]]:
        """Return lists of people for whom an expression is the same, the first of them."""
        query = (
            f"SELECT list(user ORDER BY user)[:{most + 1}], count(*) FROM people "
            f"WHERE steps > 0 AND {expression} IS NOT NULL GROUP BY {expression} "
            f"HAVING count(*) > 1 ORDER BY min(user) LIMIT {most}"
        )
        return [
            [*map(repr, users), *([""] * (count - len(users)))]
            for users, count in self._rows(query)
        ]

    def _ledger(self, journal: bytes) -> Ledger:
        events = self._policy.events
        guarantees = [event.guarantee for event in events.values()]
        against = self._policy.chosen_adversary.adversary.words()
        return KeptStream.read(bytes(journal), Path("a part")).ledger(
            tuple(events), guarantees, against
        )


def _quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


class ReleasedCells(Mapping[str | None, Sequence[int | None]]):
    """Every user's released cells, asked of the parts one after the other."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._latest: dict[str | None, Sequence[int | None]] = {}
        self._all: dict[str | None, Sequence[int | None]] | None = None

    def __iter__(self) -> Iterator[str | None]:
        for user, cells in self._parts.cells():
            self._latest = {user: cells}
            yield user

    def __len__(self) -> int:
        return self._parts.totals().users

    def __getitem__(self, user: str | None) -> Sequence[int | None]:
        if user not in self._latest:
            if self._all is None:  # asked in another order: as many as there are users
                self._all = dict(self._parts.cells())
            return self._all[user]
        return self._latest[user]


class Ledgers(Mapping[str | None, Ledger]):
    """Every user's ledger, asked of the parts one after the other."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[str | None]:
        return self._parts.users()

    def __len__(self) -> int:
        return self._parts.totals().users

    def __getitem__(self, user: str | None) -> Ledger:
        return self._parts.ledger(user)

    def items(self) -> Any:
        """Return users and ledgers, one after the other."""
        return self._parts.streams()

    def values(self) -> Any:
        """Return ledgers, one after the other."""
        return (ledger for _, ledger in self._parts.streams())

    def of(self, users: Iterable[str | None]) -> dict[str | None, Ledger]:
        """Return the ledgers of some users, in memory."""
        return self._parts.ledgers_of(list(users))
