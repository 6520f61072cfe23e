"""The record of a stream: its releases in memory and, with a journal, on disk.

Nothing here draws, decides or knows a true location.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import logging
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from priste.errors import StateError
from priste.float_text import floats_to_text, number_from_json, number_to_json
from priste.mechanisms import Mechanism
from priste.release.accountant import AccountantState, StateSnapshot
from priste.release.calibrators import Calibrator
from priste.release.ledger import Ledger, Release
from priste.release.release_tables import Draw
from priste.release.stream_file import checkpoint
from priste.release.stream_file import journal as files
from priste.release.stream_file.header import (
    check_binding,
    checked_binding,
    terms_from_json,
    terms_to_json,
)
from priste.release.terms import Terms

_log = logging.getLogger("priste.release")

LARGEST_LIKELIHOOD = 2**27
"""Bytes of a likelihood that is unpacked, at most: that of 16 million cells."""

MOST_HINTS = 1000
"""How many integers a calibrator may leave for itself with a release."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A release, the digest of its likelihood (None for silence), and the calibrator's hints."""

    release: Release
    digest: str | None = None
    hints: tuple[int, ...] = ()


class Likelihoods:
    """The likelihoods of a stream by digest, each packed once."""

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}

    def add(self, likelihood: NDArray[np.float64]) -> str:
        """Keep a likelihood and return its digest."""
        digest = likelihood_digest(likelihood)
        if digest not in self._packed:
            self._packed[digest] = pack(likelihood)
        return digest

    def add_packed(self, digest: str, text: object) -> None:
        """Keep what a file holds of a likelihood; ValueError if it is not text."""
        if not isinstance(text, str):
            raise ValueError("its likelihood is not text")
        self._packed[digest] = base64.b64decode(text, validate=True)

    def packed_text(self, digest: str) -> str:
        """Return a likelihood as a file holds it."""
        return base64.b64encode(self._packed[digest]).decode("ascii")

    def array(self, digest: str) -> NDArray[np.float64]:
        """Return (m,) a likelihood; ValueError if it is missing or not that of its digest."""
        packed = self._packed.get(digest)
        if packed is None:
            raise ValueError("its likelihood is missing")
        found = unpack(packed)
        if likelihood_digest(found) != digest:
            raise ValueError("its likelihood does not match its digest")
        return found


class LikelihoodTexts(Sequence[str | None]):
    """The likelihoods of entries as a ledger holds them, made when they are asked for."""

    def __init__(self, entries: Sequence[Entry], likelihoods: Likelihoods) -> None:
        self._digests = tuple(entry.digest for entry in entries)
        self._likelihoods = likelihoods

    def __len__(self) -> int:
        return len(self._digests)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str | None] | None:
        if isinstance(index, slice):
            return [self._text(digest) for digest in self._digests[index]]
        return self._text(self._digests[index])

    def _text(self, digest: str | None) -> str | None:
        return None if digest is None else floats_to_text(self._likelihoods.array(digest))


def pack(likelihood: NDArray[np.float64]) -> bytes:
    """Return the exact bits of a likelihood, compressed.

    >>> unpack(pack(np.array([0.1, 0.0, 0.7]))).tolist()
    [0.1, 0.0, 0.7]
    """
    return zlib.compress(np.ascontiguousarray(likelihood, dtype="<f8").tobytes())


def unpack(packed: bytes) -> NDArray[np.float64]:
    """Undo :func:`pack`; ValueError if these are not its bytes."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, LARGEST_LIKELIHOOD)
    except zlib.error as problem:
        raise ValueError(f"its likelihood cannot be unpacked ({problem})") from problem
    if not data or len(data) % 8 or not unpacking.eof:
        raise ValueError("its likelihood is not a list of floats")
    found = np.frombuffer(data, dtype="<f8").astype(np.float64)
    found.flags.writeable = False
    return found


def likelihood_digest(likelihood: NDArray[np.float64]) -> str:
    """Return 32 hex digits that change with any bit of the likelihood."""
    data = np.ascontiguousarray(likelihood, dtype="<f8").tobytes()
    return hashlib.sha256(data).hexdigest()[:32]


def entry_to_json(entry: Entry, likelihoods: Likelihoods, written: set[str]) -> dict[str, Any]:
    """Return an entry as a record of a state file.

    ``written`` are the digests whose likelihood the file holds; that of this entry is added.
    """
    r = entry.release
    record: dict[str, Any] = {
        "step": r.step,
        "output": r.cell,
        "leakage": [number_to_json(value) for value in r.leakage],
        "belief": list(r.belief),
    }
    if entry.digest is not None:
        record["budget"] = number_to_json(r.budget)
        record["attempts"] = r.attempts
        record["undecided"] = r.undecided
        record["hints"] = list(entry.hints)
        record["digest"] = entry.digest
        if entry.digest not in written:
            record["likelihood"] = likelihoods.packed_text(entry.digest)
            written.add(entry.digest)
    return record


def entry_from_json(record: Mapping[str, Any], likelihoods: Likelihoods, against: str) -> Entry:
    """Undo :func:`entry_to_json`; KeyError, TypeError or ValueError if the record is another.

    The likelihood of the record, if it holds one, is added to ``likelihoods``.
    """
    silent = record["output"] is None
    release = Release(
        step=_count(record, "step"),
        cell=None if silent else _count(record, "output"),
        budget=0.0 if silent else number_from_json(record["budget"]),
        leakage=tuple(number_from_json(value) for value in record["leakage"]),
        attempts=0 if silent else _count(record, "attempts"),
        undecided=0 if silent else _count(record, "undecided"),
        belief=tuple(number_from_json(value) for value in record["belief"]),
        against=against,
    )
    if silent:
        return Entry(release)
    digest = record["digest"]
    if not isinstance(digest, str):
        raise ValueError("its digest is not text")
    if "likelihood" in record:
        likelihoods.add_packed(digest, record["likelihood"])
    return Entry(release, digest, _hints(record["hints"]))


def _hints(values: Sequence[int]) -> tuple[int, ...]:
    if len(values) > MOST_HINTS or not all(type(v) is int and abs(v) < 2**63 for v in values):
        raise ValueError("its hints are not integers")
    return tuple(values)


def _count(record: Mapping[str, Any], name: str) -> int:
    value = record[name]
    if type(value) is not int or value < 0:
        raise ValueError(f"its {name!r} is {value!r}")
    return value


class StreamRecord:
    """The releases of one stream, the file they are written to, and what the stream belongs to."""

    def __init__(
        self, terms: Terms, calibrator: Calibrator, binding: Mapping[str, str] | None
    ) -> None:
        self.terms = terms
        self.calibrator = calibrator
        self.binding = checked_binding(binding)
        self.name = secrets.token_hex(16)
        self.over_limit: tuple[str, ...] = ()
        self.torn_bytes = 0
        self.entries: list[Entry] = []
        self.likelihoods = Likelihoods()
        self._journal: files.Journal | None = None
        self._written: set[str] = set()  # digests of the likelihoods that the journal holds
        self._checkpointed = 0  # how many steps the checkpoint beside the journal covers

    # ------------------------------------------------------------------ adding

    def entry(self, drawn: Draw | None, after: AccountantState) -> Entry:
        """Return the entry of a draw, None for silence, given the state after it."""
        release = Release(
            step=after.step - 1,
            cell=None if drawn is None else int(drawn.output),
            budget=0.0 if drawn is None else float(drawn.budget),
            leakage=after.leakage,
            attempts=0 if drawn is None else int(drawn.attempts),
            undecided=0 if drawn is None else int(drawn.undecided),
            belief=after.belief,
            against=self.terms.against,
        )
        if drawn is None:
            return Entry(release)
        hints = tuple(int(hint) for hint in drawn.hints)
        return Entry(release, self.likelihoods.add(drawn.likelihood), hints)

    def append(self, entries: Sequence[Entry], after: AccountantState) -> None:
        """Add entries; with a journal they are on the disk when this returns."""
        journal = self._journal
        if journal is not None:
            journal.append(self._to_json(entries, self._written))
        self.entries.extend(entries)
        if journal is not None and after.step - self._checkpointed >= checkpoint.EVERY:
            self._checkpointed = after.step
            checkpoint.keep(journal.path, journal.chain, after.snapshot())

    def replay(
        self, records: Sequence[Mapping[str, Any]], state: AccountantState
    ) -> AccountantState:
        """Take in the records of earlier steps and return the state after them.

        Raises KeyError, TypeError or ValueError for records that cannot be of this stream.
        """
        for record in records:
            entry, state = replayed(record, self.likelihoods, state)
            self.entries.append(entry)
        self._written = {entry.digest for entry in self.entries if entry.digest is not None}
        return state

    def recount(
        self, records: Sequence[Mapping[str, Any]], state: AccountantState
    ) -> AccountantState:
        """Take in the records of steps that were released under other terms; see :meth:`replay`."""
        stored, against = self.likelihoods, self.terms.against
        entries = [entry_from_json(record, stored, against) for record in records]
        if [entry.release.step for entry in entries] != list(range(len(entries))):
            raise ValueError("its steps are not in order")
        self.entries, state, self.over_limit = recounted(entries, stored, state)
        return state

    # ------------------------------------------------------------------ reading

    @property
    def ledger(self) -> Ledger:
        """All releases so far."""
        return Ledger(
            self.terms.event_names,
            [entry.release for entry in self.entries],
            LikelihoodTexts(self.entries, self.likelihoods),
            guarantees=self.terms.guarantees,
            against=self.terms.against,
        )

    def records(self) -> list[dict[str, Any]]:
        """Return what a file of this stream holds of its steps: plain values, one record a step."""
        return self._to_json(self.entries, set())

    def _to_json(self, entries: Sequence[Entry], written: set[str]) -> list[dict[str, Any]]:
        return [entry_to_json(entry, self.likelihoods, written) for entry in entries]

    def _header(self) -> dict[str, Any]:
        return {
            "stream": self.name,
            "over_limit": list(self.over_limit),
            "binding": self.binding,
            **terms_to_json(self.terms, self.calibrator),
        }

    # ------------------------------------------------------------------ files

    @property
    def journal_path(self) -> Path | None:
        """Where releases are written to; None without a journal."""
        return None if self._journal is None else self._journal.path

    def start_journal(self, path: Path) -> None:
        """Create a journal that holds the releases so far, and write all later ones to it."""
        written: set[str] = set()
        files.create(path, self._header(), self._to_json(self.entries, written))
        self._written = written
        self._journal, _ = files.Journal.open(path)

    def save(self, path: Path, state: AccountantState) -> None:
        """Write the whole state to a private file; see :meth:`priste.Protector.save`."""
        if self._journal is not None and self._journal.is_at(path):
            return  # every release is there already
        chain = files.replace(path, self._header(), self.records())
        if state.step >= checkpoint.EVERY:
            checkpoint.keep(path, chain, state.snapshot())

    def close(self) -> bool:
        """Give up the journal and its lock; return whether there was one."""
        if self._journal is None:
            return False
        self._journal.close()
        return True

    @classmethod
    def read(
        cls,
        path: Path,
        *,
        writing: bool,
        mechanism: Mechanism | None,
        calibrator: Calibrator | None,
        binding: Mapping[str, str] | None,
    ) -> tuple[StreamRecord, AccountantState]:
        """Return the record in a file and the state after it; with ``writing`` the file is kept
        open and locked, and later releases are written to it.
        """
        if not writing:
            files.refuse_if_locked(path)
            return cls._restored(path, files.read(path), mechanism, calibrator, binding)
        journal, contents = files.Journal.open(path)
        try:
            record, state = cls._restored(path, contents, mechanism, calibrator, binding)
        except BaseException:
            journal.close()
            raise
        record._journal = journal
        return record, state

    @classmethod
    def _restored(
        cls,
        path: Path,
        contents: files.Contents,
        mechanism: Mechanism | None,
        calibrator: Calibrator | None,
        binding: Mapping[str, str] | None,
    ) -> tuple[StreamRecord, AccountantState]:
        belongs_to = check_binding(contents.header, binding, path)
        terms, kind = terms_from_json(
            contents.header, path, mechanism=mechanism, calibrator=calibrator
        )
        name, over_limit = contents.header.get("stream"), contents.header.get("over_limit")
        known = set(terms.event_names)
        if not isinstance(name, str) or not (
            isinstance(over_limit, list) and all(event in known for event in over_limit)
        ):
            raise StateError(
                f"The stream in {str(path)!r} has no name. It was left as it is.",
                hint="Restore it from a copy.",
            )
        record = cls(terms, kind, belongs_to)
        record.name, record.over_limit = name, tuple(over_limit)
        record.torn_bytes = contents.torn
        if contents.torn:
            _log.warning(
                "The last line of %s was unfinished (%d bytes): a crash came before its release "
                "was returned. It does not count.", path, contents.torn
            )  # fmt: skip
        state = record._recall(path, contents, AccountantState.first(terms))
        try:
            state = record.replay(contents.records[len(record.entries) :], state)
        except (KeyError, TypeError, ValueError) as problem:
            raise StateError(
                f"A line of {str(path)!r} cannot be replayed: {problem}. It was left as it is.",
                hint="Restore it from a copy.",
            ) from problem
        return record, state

    def _recall(
        self, path: Path, contents: files.Contents, first: AccountantState
    ) -> AccountantState:
        """Take in the steps of a file that its checkpoint covers, if it has one that fits."""
        kept = checkpoint.found(path, contents.chains)
        if kept is None:
            return first
        covered, likelihoods = contents.records[: kept.state.step], Likelihoods()
        try:
            entries, state = recalled(covered, likelihoods, kept.state, first)
        except (KeyError, TypeError, ValueError) as problem:
            checkpoint.ignored(path, str(problem))
            return first
        self.entries, self.likelihoods = entries, likelihoods
        self._checkpointed = kept.state.step
        return state


def replayed(
    record: Mapping[str, Any], stored: Likelihoods, state: AccountantState
) -> tuple[Entry, AccountantState]:
    """Return the entry of a line, and the state after it, with the numbers measured then.

    ``stored`` holds the likelihoods of earlier lines. Raises KeyError, TypeError or ValueError if
    the line cannot be the next one of this stream.
    """
    entry = _next_entry(record, stored, state.step, state)
    release = entry.release
    after = state.replayed(recorded_draw(entry, stored, state), release.leakage, release.belief)
    return entry, after


def recalled(
    records: Sequence[Mapping[str, Any]],
    stored: Likelihoods,
    snapshot: StateSnapshot,
    state: AccountantState,
) -> tuple[list[Entry], AccountantState]:
    """Return the entries of ``records`` and the state of a snapshot after them, without replaying.

    The lines are checked as :func:`replayed` checks them, as far as nothing is computed anew.
    Raises KeyError, TypeError or ValueError if that is not enough, or the snapshot is of another
    stream.
    """
    entries: list[Entry] = []
    budget: float | None = None
    hints: tuple[int, ...] = ()
    for step, record in enumerate(records):
        entry = _next_entry(record, stored, step, state)
        if recorded_draw(entry, stored, state) is not None:
            budget, hints = entry.release.budget, entry.hints
        entries.append(entry)
    last = entries[-1].release
    after = state.restored(
        snapshot, leakage=last.leakage, belief=last.belief, last_budget=budget, hints=hints
    )
    return entries, after


def recounted(
    entries: Sequence[Entry], stored: Likelihoods, state: AccountantState
) -> tuple[list[Entry], AccountantState, tuple[str, ...]]:
    """Return releases made under other terms, measured anew, and the state after them.

    The names are those of the events whose guarantee these releases do not keep, or may not.
    """
    counted: list[Entry] = []
    broken: tuple[str, ...] = ()
    for entry in entries:
        drawn = recorded_draw(entry, stored, state)
        if drawn is not None and bool((drawn.likelihood != drawn.likelihood[0]).any()):
            broken = over_limit(state, drawn)
        state = state.after(drawn)
        release = dataclasses.replace(
            entry.release,
            leakage=state.leakage,
            belief=state.belief,
            against=state.terms.against,
        )
        counted.append(dataclasses.replace(entry, release=release))
    return counted, state, broken


def over_limit(state: AccountantState, drawn: Draw) -> tuple[str, ...]:
    """Return the names of the events whose guarantee a recorded draw would not keep; doubt counts.

    The verdict is that of the exact check. The reported leakage is an upper bound and may lie
    above a guarantee that is kept.
    """
    verdicts = state.verdicts(drawn.likelihood)
    return tuple(
        name for name, kept in zip(state.terms.event_names, verdicts, strict=True) if not kept
    )


def recorded_draw(entry: Entry, stored: Likelihoods, state: AccountantState) -> Draw | None:
    """Return what a recorded release adds to a state; None for silence.

    Raises ValueError if the mechanism could not have made it, or its likelihood is not stored.
    """
    release, mechanism = entry.release, state.terms.mechanism
    if release.cell is None or entry.digest is None:
        return None
    if not (release.cell < mechanism.outputs and 0.0 <= release.budget <= mechanism.budget):
        raise ValueError("the mechanism has no such output or budget")
    likelihood = stored.array(entry.digest)
    if len(likelihood) != mechanism.grid.size:
        raise ValueError("its likelihood is about another number of cells")
    return Draw(release.cell, release.budget, likelihood, hints=entry.hints)


def _next_entry(
    record: Mapping[str, Any], stored: Likelihoods, step: int, state: AccountantState
) -> Entry:
    """Return the entry of a line, which must be about a step and have a number per event."""
    entry = entry_from_json(record, stored, state.terms.against)
    release, events = entry.release, len(state.terms.events)
    if release.step != step:
        raise ValueError(f"step {release.step} comes where step {step} should")
    if len(release.leakage) != events or len(release.belief) != events:
        raise ValueError("it has another number of events")
    return entry
