"""The fixes of a source, sorted into chunks of users on the disk: any size, flat memory.

Which chunk a user belongs to follows from a digest of their name and the number of chunks only. So
the chunks of a run stay the same people when the input grows, whatever the order of its rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from priste.batch.own_places import Disc, OwnPlace, Places
from priste.errors import TraceError
from priste.register import Recognition
from priste.traces import Trace
from priste.traces.databases import open_database
from priste.traces.zones import NO_TIME

MEMORY = "256MB"
_HELD_ROWS = 200_000
_BATCH = 65_536

MOST_USERS = 500
"""How many users a chunk has in a large run."""

FEWEST_CHUNKS = 128
"""How many chunks there are if there are enough users, so that workers end together and parts are
saved early."""

SPREAD = 8
"""Chunks per user where users are few: hardly any two meet in one, and empty ones cost nothing."""

MOST_FIXES = 1_000_000
"""How many fixes a chunk has on average at most."""


def chunks_for(users: int, fixes: int) -> int:
    """Return into how many chunks a run is cut, whatever the number of workers.

    >>> chunks_for(3, 90), chunks_for(1_000, 24_000), chunks_for(10_000_000, 240_000_000)
    (24, 125, 20000)
    """
    if users <= FEWEST_CHUNKS:
        return max(1, SPREAD * users)
    size = min(-(-users // FEWEST_CHUNKS), MOST_USERS)
    return max(-(-users // size), min(users, -(-fixes // MOST_FIXES)))


def place_of(user: str | None) -> int:
    """Return a number in [0, 2**62) by which users are spread over chunks and samples."""
    return int.from_bytes(hashlib.sha256(repr(user).encode()).digest()[:8], "big") >> 2


@dataclass(frozen=True)
class Chunk:
    """Some users' fixes; ``digest`` changes with any of them, and with the users' own places.

    Of somebody without a usable record there is one row, which has no time.
    """

    number: int
    table: Any = field(repr=False)
    digest: str
    places: Mapping[str | None, Places] = field(default_factory=dict, repr=False)

    @property
    def users(self) -> list[str | None]:
        """Every user in the chunk who has a fix."""
        rows = zip(self.table["user"].to_pylist(), self.table["time"].to_pylist(), strict=True)
        return list(dict.fromkeys(user for user, time in rows if time != NO_TIME))

    def traces(self) -> dict[str | None, Trace]:
        """Return the traces of the chunk by user, of those who have a fix."""
        users = self.table["user"].to_pylist()
        columns = [self.table[name].to_numpy() for name in ("time", "lat", "lon", "until")]
        starts = [0, *(k for k in range(1, len(users)) if users[k] != users[k - 1])]
        return {
            users[begin]: Trace(users[begin], *(column[begin:end] for column in columns))
            for begin, end in zip(starts, [*starts[1:], len(users)], strict=True)
            if columns[0][begin] != NO_TIME
        }


class Gathering:
    """A private table of fixes in a folder; use it in a ``with`` statement.

    ``users`` are those who have a fix, and ``unusable`` is how many others were named.
    """

    def __init__(self, folder: Path, recognition: Recognition) -> None:
        self._folder = folder
        self._recognition = recognition
        self._held: list[Trace] = []
        self._people: list[tuple[str | None, int, bytes]] = []
        self._rows = 0
        self.users = 0
        self.unusable = 0
        self.fixes = 0

    def __enter__(self) -> Gathering:
        with self._told():
            self._connection = open_database(
                self._folder / "spill",
                memory=MEMORY,
                threads=2,
                file=str(self._folder / "fixes.duckdb"),
            )
            self._connection.execute(
                "CREATE TABLE fixes(place BIGINT, person VARCHAR, t BIGINT, a DOUBLE, o DOUBLE, "
                "e BIGINT)"
            )
            self._connection.execute(
                "CREATE TABLE people(person VARCHAR, place BIGINT, fixes BLOB)"
            )
            self._connection.execute("CREATE TABLE named(person VARCHAR, place BIGINT)")
            self._connection.execute(
                "CREATE TABLE discs(person VARCHAR, place BIGINT, region VARCHAR, a DOUBLE, "
                "o DOUBLE, radius DOUBLE)"
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def add(self, trace: Trace, digests: bytes) -> None:
        """Add one user's fixes, and the digests by which they are recognised."""
        self._held.append(trace)
        self._people.append((trace.user, place_of(trace.user), digests))
        self._rows += len(trace)
        self.users += 1
        self.fixes += len(trace)
        if self._rows >= _HELD_ROWS:
            self.settle()

    def settle(self) -> None:
        """Write to the disk what is held in memory."""
        if not self._held:
            return
        import pyarrow as pa

        lengths = [len(trace) for trace in self._held]
        users, places, digests = (list(column) for column in zip(*self._people, strict=True))
        fixes = pa.table(
            {
                "place": np.repeat(np.array(places, dtype=np.int64), lengths),
                "person": pa.array(users, pa.string()).take(
                    pa.array(np.repeat(np.arange(len(users)), lengths))
                ),
                "t": np.concatenate([trace.times for trace in self._held]),
                "a": np.concatenate([trace.lat for trace in self._held]),
                "o": np.concatenate([trace.lon for trace in self._held]),
                "e": np.concatenate([trace.until for trace in self._held]),
            }
        )
        people = pa.table(
            {
                "person": pa.array(users, pa.string()),
                "place": pa.array(places, pa.int64()),
                "fixes": pa.array(digests, pa.binary()),
            }
        )
        self._insert("fixes", fixes)
        self._insert("people", people)
        self._held, self._people, self._rows = [], [], 0

    def add_named(self, names: Iterable[str | None]) -> None:
        """Add the people whom the source names; those without a fix are reported by their chunk.

        Names may come more than once. Ask after every user's fixes are in.
        """
        import pyarrow as pa

        self.settle()
        rest, found = iter(names), 0
        while held := list(islice(rest, _BATCH)):
            columns = [pa.array(held, pa.string()), pa.array(map(place_of, held), pa.int64())]
            self._insert("named", pa.table(columns, names=["person", "place"]))
            found += len(held)
        if not found:
            return
        with self._told():
            self._connection.execute(
                "CREATE TABLE unusable AS SELECT DISTINCT person, place FROM named WHERE NOT EXISTS"
                " (SELECT 1 FROM people WHERE people.person IS NOT DISTINCT FROM named.person)"
            )
            self._connection.execute(
                "INSERT INTO people SELECT person, place, ''::BLOB FROM unusable"
            )
            self._connection.execute(
                "INSERT INTO fixes "
                f"SELECT place, person, {NO_TIME}, 'nan'::DOUBLE, 'nan'::DOUBLE, {NO_TIME} "
                "FROM unusable"
            )
            ((self.unusable,),) = self._connection.execute(
                "SELECT count(*) FROM unusable"
            ).fetchall()

    def add_places(self, places: Iterable[OwnPlace]) -> None:
        """Add personal places."""
        import pyarrow as pa

        rows = iter(places)
        while held := list(islice(rows, _BATCH)):
            columns = [
                pa.array([user for user, _, _ in held], pa.string()),
                pa.array([place_of(user) for user, _, _ in held], pa.int64()),
                pa.array([region for _, region, _ in held], pa.string()),
                *(pa.array([disc[k] for _, _, disc in held], pa.float64()) for k in range(3)),
            ]
            names = ["person", "place", "region", "a", "o", "radius"]
            self._insert("discs", pa.table(columns, names=names))

    def placed(self) -> tuple[int, int]:
        """Return how many of those named have places of their own, and how many others have."""
        query = (
            "SELECT count(*) FILTER (found), count(*) FILTER (NOT found) FROM (SELECT EXISTS "
            "(SELECT 1 FROM people WHERE people.person IS NOT DISTINCT FROM owners.person) AS found"
            " FROM (SELECT DISTINCT person FROM discs) AS owners)"
        )
        with self._told():
            ((users, others),) = self._connection.execute(query).fetchall()
        return int(users), int(others)

    def _insert(self, name: str, table: Any) -> None:
        with self._told():
            self._connection.register("arriving", table)
            self._connection.execute(f"INSERT INTO {name} SELECT * FROM arriving")
            self._connection.unregister("arriving")

    def people(self) -> Iterator[tuple[str | None, bytes]]:
        """Yield who has a fix, and the digests they are recognised by, in the order of names."""
        query = "SELECT person, fixes FROM people WHERE fixes <> '' ORDER BY person NULLS FIRST"
        with self._told():
            found = self._connection.cursor().execute(query)
            while rows := found.fetchmany(1024):
                for user, digests in rows:
                    yield user, bytes(digests)

    def chunks(self, count: int) -> Iterator[Chunk]:
        """Yield the chunks in their order, each with its users in the order of names."""
        import pyarrow as pa

        places = _Merged(self._discs(count))

        query = (
            f"SELECT place % {int(count)} AS chunk, person, t, a, o, e FROM fixes "
            "ORDER BY chunk, person NULLS FIRST, t"
        )
        held: list[Any] = []
        current = -1
        with self._told():
            for batch in self._connection.cursor().sql(query).to_arrow_reader(_BATCH):
                numbers = batch.column(0).to_numpy()
                starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
                if not starts or starts[0]:
                    starts = [0, *starts]
                for begin, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
                    if int(numbers[begin]) != current and held:
                        yield self._chunk(current, pa.Table.from_batches(held), places)
                        held = []
                    current = int(numbers[begin])
                    held.append(batch.slice(begin, end - begin))
        if held:
            yield self._chunk(current, pa.Table.from_batches(held), places)

    def _discs(self, count: int) -> Iterator[tuple[int, OwnPlace]]:
        """Yield personal places in the order of the chunks."""
        query = (
            f"SELECT place % {int(count)} AS chunk, person, region, a, o, radius FROM discs "
            "ORDER BY chunk, person NULLS FIRST, region, a, o, radius"
        )
        found = self._connection.cursor().execute(query)
        while rows := found.fetchmany(1024):
            for chunk, user, region, *disc in rows:
                yield chunk, (user, region, (disc[0], disc[1], disc[2]))

    def _chunk(self, number: int, table: Any, merged: _Merged) -> Chunk:
        table = table.drop_columns(["chunk"]).rename_columns(
            ["user", "time", "lat", "lon", "until"]
        )
        table = table.combine_chunks()
        users = table["user"].to_pylist()
        places = merged.of(number, set(users))
        digest = self._recognition.fixes(
            [
                repr(users).encode(),
                *(table[name].to_numpy().tobytes() for name in ("time", "lat", "lon", "until")),
                *(f"{u!r}:{self._recognition.places(p)}".encode() for u, p in places.items()),
            ]
        )
        return Chunk(number, table, digest, places)

    @contextmanager
    def _told(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error:  # its words may quote rows
            raise TraceError(
                "The fixes could not be sorted on the disk: it is full, or cannot be written to",
                hint=f"Make room beside {str(self._folder)!r}; what was drawn is kept.",
            ) from None


class _Merged:
    """Places in the order of chunks, handed out chunk by chunk."""

    def __init__(self, places: Iterator[tuple[int, OwnPlace]]) -> None:
        self._places = places
        self._next = next(places, None)

    def of(self, chunk: int, users: set[str | None]) -> dict[str | None, Places]:
        """Return the places of the users of a chunk; places of absent people are dropped."""
        found: dict[str | None, dict[str, list[Disc]]] = {}
        while self._next is not None and self._next[0] <= chunk:
            number, (user, region, disc) = self._next
            if number == chunk and user in users:
                found.setdefault(user, {}).setdefault(region, []).append(disc)
            self._next = next(self._places, None)
        return dict(found)
