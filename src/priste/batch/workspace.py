"""The folder of a run: its secret, its parts, and a manifest that tells which belong to it.

The manifest (``run.jsonl``) only grows. Its first line names the policy and the number of chunks;
then there is a line per part, written when the part is on the disk, with its checksum and a keyed
digest of the fixes it was made from. So a run that is taken up again recognises every part as its
own: one that is missing, foreign, changed or of another policy is refused, because drawing again
for the same steps would reveal more than ε. Input that has grown is continued; input whose old rows
changed is refused.

The secret (``secret.key``, mode 0600) is made when a run begins, before any draw, and removed when
all its parts are there, because with it the noise could be undone. A run that is killed and taken
up again draws with the same secret, so that nothing is drawn twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from priste.atomic_files import private_folder, remove_abandoned_drafts, sync, take_lock, write_file
from priste.batch.parts import checked_bytes, checksum
from priste.errors import LedgerError, OutputExists, StateError
from priste.register import Recognition

LEDGER_SUFFIX, WORKSPACE_SUFFIX = ".ledger.csv", ".priste"
"""Behind the name of a result: its ledger, if that is one file, and the folder of its run."""

MANIFEST = "run.jsonl"
SECRET = "secret.key"
FORMAT, VERSION = "priste-run", 3
TEMPORARY = "temporary"
SECRET_BYTES = 32

_PART = re.compile(r"part-(\d{5,})-(\d+)\.parquet")


@dataclass(frozen=True)
class FinishedPart:
    """What the manifest says of one part: generation, checksum, and which fixes it is made from."""

    generation: int
    checksum: str
    fixes: str
    users: int


@dataclass
class Manifest:
    """What a manifest says: its first line (None if it has none yet), and every part."""

    head: dict[str, Any] | None = None
    parts: dict[int, FinishedPart] = field(default_factory=dict)


def part_name(number: int, generation: int) -> str:
    """Return the name of a part file, which reveals nothing about its users."""
    return f"part-{number:05}-{generation}.parquet"


class Workspace:
    """The folder of one run; use it in a ``with`` statement, which locks it."""

    def __init__(self, folder: Path, policy: str, recognition: Recognition) -> None:
        self.folder = folder
        self._policy = policy
        self._recognition = recognition
        self._handle = -1
        self.known = Manifest()
        self.was_at_work = False

    def __enter__(self) -> Workspace:
        private_folder(self.folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        self._handle = os.open(self.manifest, flags, 0o600)
        try:
            if not take_lock(self._handle, self.manifest):
                raise StateError(
                    f"Another process is at work in {str(self.folder)!r}",
                    hint="Wait for it to end.",
                )
            remove_abandoned_drafts(self.folder)
            shutil.rmtree(self.folder / TEMPORARY, ignore_errors=True)
            # The secret is there from before the first draw until the last part is kept.
            self.was_at_work = (self.folder / SECRET).exists()
            self.known = self._checked()
            if self.known.head is None:  # nothing was begun; a crash may have cut the line short
                os.ftruncate(self._handle, 0)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        os.close(self._handle)
        self._handle = -1

    @property
    def manifest(self) -> Path:
        """The path of the manifest."""
        return self.folder / MANIFEST

    @contextmanager
    def temporary_files(self) -> Iterator[Path]:
        """Put temporary files of this process and its workers here, because they hold true
        locations.

        They are private, and those of a killed run are removed when the run is continued.
        """
        place = self.folder / TEMPORARY
        place.mkdir(mode=0o700, exist_ok=True)
        before = tempfile.tempdir, os.environ.get("TMPDIR")
        tempfile.tempdir = os.environ["TMPDIR"] = str(place.resolve())
        try:
            yield place
        finally:
            tempfile.tempdir = before[0]
            os.environ.pop("TMPDIR")
            if before[1] is not None:
                os.environ["TMPDIR"] = before[1]
            shutil.rmtree(place, ignore_errors=True)

    # What was begun

    @property
    def chunks(self) -> int | None:
        """Into how many chunks the users of this run are cut; None before it has begun."""
        return None if self.known.head is None else int(self.known.head["chunks"])

    def begin(self, chunks: int, version: str) -> None:
        """Write the first line of the manifest; nothing if it is there."""
        if self.known.head is None:
            self.known.head = {
                "format": FORMAT,
                "version": VERSION,
                "policy": self._policy,
                "key": self._recognition.name,
                "chunks": chunks,
                "priste": version,
                "begun": _now(),
            }
            append(self.manifest, [self.known.head])

    def secret(self) -> bytes:
        """Return the secret of this run; drawn, and on the disk, when first asked for."""
        path = self.folder / SECRET
        if not path.exists():
            with suppress(OutputExists):
                write_file(path, secrets.token_bytes(SECRET_BYTES))
        found = path.read_bytes()
        if len(found) != SECRET_BYTES:
            raise self.refusal(f"{SECRET} is not what it wrote")
        return found

    def forget_secret(self) -> None:
        """Remove the secret: every part is on the disk, and new steps get a new one."""
        (self.folder / SECRET).unlink(missing_ok=True)
        sync(self.folder)

    def part(self, number: int) -> Path | None:
        """Return the path of a finished part, None if there is none."""
        told = self.known.parts.get(number)
        return None if told is None else self.folder / part_name(number, told.generation)

    def read_part(self, number: int) -> bytes:
        """Return the content of a finished part; StateError if it is not what was written."""
        told = self.known.parts[number]
        try:
            return checked_bytes(self.folder / part_name(number, told.generation), told.checksum)
        except StateError as problem:
            raise self.refusal(str(problem)) from None

    def finish_part(self, number: int, data: bytes, fixes: str, users: int) -> None:
        """Keep a part: write it to the disk, then into the manifest, then remove its
        predecessor."""
        before = self.known.parts.get(number)
        generation = 0 if before is None else before.generation + 1
        write_file(self.folder / part_name(number, generation), data, overwrite=True)
        told = FinishedPart(generation, checksum(data), fixes, users)
        line = {
            "part": number,
            "generation": generation,
            "sha256": told.checksum,
            "fixes": fixes,
            "users": users,
            "finished": _now(),
        }
        append(self.manifest, [line])
        self.known.parts[number] = told
        if before is not None:
            (self.folder / part_name(number, before.generation)).unlink(missing_ok=True)

    def files(self, leaving_out: Collection[int] = ()) -> list[Path]:
        """Return the paths of all finished parts but some, in their order."""
        return [
            self.folder / part_name(number, told.generation)
            for number, told in sorted(self.known.parts.items())
            if number not in leaving_out
        ]

    def wrote(self, ledger: Path) -> None:
        """Write down that the ledger is of this run."""
        append(self.manifest, [{"ledger": file_digest(ledger)}])

    def has_written(self, ledger: Path) -> bool:
        """Return whether a file is the ledger that this run wrote."""
        head = self.known.head
        return head is not None and head.get("ledger") == file_digest(ledger)

    # Whether all of it belongs together

    def _checked(self) -> Manifest:
        """Return the manifest if it and every part next to it are of this run; else StateError."""
        found = read_manifest(self.manifest)
        there = {path.name: path for path in sorted(self.folder.glob("part-*"))}
        if found.head is None:
            if there:
                raise self.refusal(f"its manifest is missing, but {len(there)} parts are there")
            return found
        if found.head.get("policy") != self._policy:
            raise self.refusal("it belongs to another policy")
        if found.head.get("key") != self._recognition.name:
            raise self.refusal(
                "it was begun by another user or on another machine, so that its rows cannot be "
                "compared: copy the file recognition.key from there"
            )
        for number, told in found.parts.items():
            path = there.pop(part_name(number, told.generation), None)
            if path is None:
                raise self.refusal(
                    f"{part_name(number, told.generation)} is missing, so what was released is "
                    "not known"
                )
            try:
                checked_bytes(path, told.checksum)
            except StateError as problem:
                raise self.refusal(str(problem)) from None
        for name, path in there.items():
            self._remove_leftover(name, path, found)
        return found

    def _remove_leftover(self, name: str, path: Path, found: Manifest) -> None:
        """Remove a part that a crash kept out of the manifest, or whose successor is there.

        Nothing was handed out of the first, which the same secret draws again, and the second holds
        all that the forerunner held. Any other part is not ours.
        """
        match = _PART.fullmatch(name)
        if match is None:
            raise self.refusal(f"{name} is not a part that it wrote")
        number, generation = int(match[1]), int(match[2])
        told = found.parts.get(number)
        expected = (0,) if told is None else (told.generation - 1, told.generation + 1)
        chunks = 0 if found.head is None else int(found.head["chunks"])
        if not self.was_at_work or generation not in expected or number >= chunks:
            raise self.refusal(f"{name} is not a part that it wrote")
        path.unlink()

    def refusal(self, reason: str) -> StateError:
        """Return the error that says why a run cannot be continued."""
        return StateError(
            f"The run in {str(self.folder)!r} cannot be continued: {reason}",
            hint="Drawing again for the same steps would reveal more than ε, so nothing was "
            "drawn. Restore what was there, or choose another destination if this is other "
            "data.",
        )


def append(manifest: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Add lines to a manifest; they are on the disk when this returns."""
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    handle = os.open(manifest, os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0))
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            text = b"\n" + text  # the last writer was cut short
        view = memoryview(text)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def read_manifest(path: Path) -> Manifest:
    """Read a manifest; a line that a crash cut short is left out, all else raises StateError.

    Cut short is a last line without its end, also the first of all, and one with NULs in it: blocks
    that never reached the disk.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return Manifest()
    found = Manifest()
    for number, text in enumerate(lines, start=1):
        try:
            if text:
                _take_in(json.loads(text), found)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            cut = not text.endswith(b"}") if found.head is not None else number == len(lines)
            if cut or b"\0" in text:
                continue  # by a crash: what it was about is not taken for finished
            raise StateError(
                f"Line {number} of {str(path)!r} is not of a run of priste that this version reads",
                hint="It was left as it is. Restore it from a copy, or choose another destination.",
            ) from None
    return found


def refuse_changed_ledger(ledger: Path) -> None:
    """Raise LedgerError if a ledger is not what the run next to it wrote last.

    A ledger without its run cannot be verified: only the journals know which cell a table of the
    calibrator released.
    """
    name = ledger.name.removesuffix(LEDGER_SUFFIX)
    head = None
    with suppress(OSError):  # somebody else's: they can tell, we cannot
        head = read_manifest(ledger.with_name(name + WORKSPACE_SUFFIX) / MANIFEST).head
    if head is not None and head.get("ledger", file_digest(ledger)) != file_digest(ledger):
        raise LedgerError(
            f"{ledger.name} was changed after its run wrote it, so it may list other "
            "releases than were made",
            hint="Run the same protect again with --overwrite: nothing is drawn anew, and the "
            "ledger is written as it was.",
        )


def _take_in(line: Any, found: Manifest) -> None:
    if found.head is None:
        if (line["format"], line["version"]) != (FORMAT, VERSION):
            raise ValueError("another format or version")
        if not 1 <= int(line["chunks"]) < 2**40:
            raise ValueError("no number of chunks")
        found.head = line
    elif "ledger" in line:
        found.head["ledger"] = str(line["ledger"])
    else:
        told = FinishedPart(
            int(line["generation"]), str(line["sha256"]), str(line["fixes"]), int(line["users"])
        )
        found.parts[int(line["part"])] = told


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
