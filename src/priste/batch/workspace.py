"""The folder of a run: its journals, and a manifest that tells which belong to it.

The manifest (``run.jsonl``) only grows. Its first line names the policy; then, per user, a line
written before anything is drawn says how many steps there are to release and what their true cells
were (as a keyed digest), and a line written when the user's journal exists says which
stream it holds. So a run that is taken up again recognises every journal as its own: one that is
missing, foreign, of another user or of another policy is refused, because drawing again for the
same steps would tell more than ε. Input that has grown is continued; input whose old rows
changed is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priste.batch.keyed_digests import Recognition
from priste.errors import StateError
from priste.release.stream_file import journal as stream_file
from priste.whole_files import private_folder, sweep, write_whole

MANIFEST = "run.jsonl"
FORMAT, VERSION = "priste-run", 1
TEMPORARY = "temporary"


@dataclass(frozen=True)
class Begun:
    """What the manifest says of one journal: steps and their digest, and the stream if begun."""

    steps: int
    cells: str
    stream: str | None = None


def journal_name(user: str | None) -> str:
    """Return the name of a user's journal, which tells nothing about the user."""
    return f"{hashlib.sha256(repr(user).encode()).hexdigest()[:24]}.journal"


class Workspace:
    """The folder of one run; use it in a ``with`` statement, which locks it."""

    def __init__(self, folder: Path, policy: str, recognition: Recognition) -> None:
        self.folder = folder
        self._policy = policy
        self._recognition = recognition
        self._handle = -1

    def __enter__(self) -> Workspace:
        private_folder(self.folder)
        if (self.folder / "run.json").exists():
            raise StateError(
                f"The folder {str(self.folder)!r} belongs to a run of an earlier version. Finish "
                "it with that version, or choose another destination."
            )
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        self._handle = os.open(self.manifest, flags, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._close()
            raise StateError(
                f"Another process is at work in {str(self.folder)!r}. Wait for it to end."
            ) from None
        sweep(self.folder)
        shutil.rmtree(self.folder / TEMPORARY, ignore_errors=True)
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

    def journal(self, user: str | None) -> Path:
        """Return the path of a user's journal."""
        return self.folder / journal_name(user)

    @contextmanager
    def temporary_files(self) -> Iterator[Path]:
        """Let temporary files of this process and its workers lie here: they hold true locations.

        They are private, and what a killed run left is swept when the run is taken up again.
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

    def begin(self, cells: Mapping[str | None, Sequence[int | None]]) -> None:
        """Check that every journal belongs to this run and input, and write down what is to come.

        ``cells`` are the true cells of each user. Raises StateError with the reason; then nothing
        was changed.
        """
        known = self.begun()
        names = {journal_name(user): user for user in cells}
        if gone := [name for name in known if name not in names]:
            raise self._refusal(
                f"it holds the streams of {len(gone)} users whom the input does not hold any more"
            )
        for path in sorted(self.folder.glob("*.journal")):
            self._check_journal(path, known.get(path.name))
        for name, told in known.items():
            if told.stream is not None and not (self.folder / name).exists():
                raise self._refusal(
                    "a journal that it began is missing, so what was released is not known"
                )
            self._check_input(names[name], cells[names[name]], told)
        lines: list[dict[str, Any]] = []
        if not self.manifest.stat().st_size:
            lines.append(
                {
                    "format": FORMAT,
                    "version": VERSION,
                    "policy": self._policy,
                    "key": self._recognition.name,
                }
            )
        for name, user in names.items():
            told_before = known.get(name)
            if told_before is None or told_before.steps != len(cells[user]):
                digest = self._recognition.steps(user, cells[user])
                lines.append({"journal": name, "steps": len(cells[user]), "cells": digest})
        if lines:
            append(self.manifest, lines)

    def adopt(self, user: str | None, cells: Sequence[int | None], other: Path) -> None:
        """Take over the journal that another run under the same policy has of these very steps.

        An own journal that is the beginning of the other one gives way to it; one that holds more,
        or other draws, stays. Raises StateError if the other one is of other rows.
        """
        told = read_manifest(other.parent / MANIFEST)[1].get(other.name)
        if told is None or told.stream is None:
            raise self._refusal(f"{str(other)!r} is not in the manifest beside it")
        self._check_input(user, cells, told)
        stream_file.refuse_if_locked(other)
        if stream_file.read(other).header.get("stream") != told.stream:
            raise self._refusal(f"{str(other)!r} holds another stream than its manifest says")
        content, own = other.read_bytes(), self.journal(user)
        if own.exists() and not content.startswith(own.read_bytes()):
            return
        write_whole(own, content, overwrite=True)
        append(self.manifest, [{"journal": own.name, "stream": told.stream}])

    def wrote(self, ledger: Path) -> None:
        """Write down that the ledger is of this run."""
        append(self.manifest, [{"ledger": _file_digest(ledger)}])

    def has_written(self, ledger: Path) -> bool:
        """Tell whether a file is the ledger that this run wrote."""
        head, _ = read_manifest(self.manifest)
        return head is not None and head.get("ledger") == _file_digest(ledger)

    def begun(self) -> dict[str, Begun]:
        """Return what the manifest says; StateError if it is not of this policy and key."""
        head, found = read_manifest(self.manifest)
        if head is None:
            if journals := list(self.folder.glob("*.journal")):
                count = len(journals)
                raise self._refusal(f"its manifest is missing, but {count} journals are there")
            return {}
        if head.get("policy") != self._policy:
            raise self._refusal("it belongs to another policy")
        if head.get("key") != self._recognition.name:
            raise self._refusal(
                "it was begun by another user or on another machine, so that its rows cannot be "
                "compared: copy the file recognition.key from there"
            )
        return found

    def _check_journal(self, path: Path, told: Begun | None) -> None:
        if told is None or (told.stream is None and stream_file.read(path).records):
            raise self._refusal(f"the journal {path.name} is not one that it began")
        if told.stream is None:
            path.unlink()  # a crash came before anything was drawn into it
        elif stream_file.read(path).header.get("stream") != told.stream:
            raise self._refusal(f"the journal {path.name} holds another stream than it began")

    def _check_input(self, user: str | None, cells: Sequence[int | None], told: Begun) -> None:
        whose = "" if user is None else f" of {user}"
        if len(cells) < told.steps:
            raise self._refusal(
                f"it released {told.steps} steps{whose}, and the input now ends after {len(cells)}"
            )
        if self._recognition.steps(user, cells[: told.steps]) != told.cells:
            raise self._refusal(
                f"rows{whose} have changed in steps that it has already taken up. Rows may be "
                "added at the end alone"
            )

    def _refusal(self, reason: str) -> StateError:
        return StateError(
            f"The run in {str(self.folder)!r} cannot be continued: {reason}. Drawing again for the "
            "same steps would tell more than ε, so nothing was drawn. Restore what was there, or "
            "choose another destination if this is other data."
        )


def append(manifest: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Add lines to a manifest; they are on the disk when this returns."""
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    handle = os.open(manifest, os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0))
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            text = b"\n" + text  # the last writer was cut short, before it drew anything
        os.write(handle, text)
        os.fsync(handle)
    finally:
        os.close(handle)


def read_manifest(path: Path) -> tuple[dict[str, Any] | None, dict[str, Begun]]:
    """Return the head of a manifest, None if it has none yet, and what it says of each journal."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return None, {}
    head: dict[str, Any] | None = None
    found: dict[str, Begun] = {}
    for number, text in enumerate(lines, start=1):
        try:
            if not text:
                continue
            line = json.loads(text)
            if head is None:
                if (line["format"], line["version"]) != (FORMAT, VERSION):
                    raise ValueError("another format or version")
                head = line
            elif "ledger" in line:
                head["ledger"] = str(line["ledger"])
            elif "stream" in line:
                told = found[line["journal"]]
                found[line["journal"]] = Begun(told.steps, told.cells, str(line["stream"]))
            else:
                old = found.get(line["journal"])
                stream = None if old is None else old.stream
                found[line["journal"]] = Begun(int(line["steps"]), str(line["cells"]), stream)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            if head is not None and number == len(lines):
                break  # cut short by a crash: nothing was drawn after it
            if head is not None and not text.endswith(b"}"):
                continue
            raise StateError(
                f"Line {number} of {str(path)!r} is not of a run of priste. It was left as it is. "
                "Restore it from a copy, or choose another destination."
            ) from None
    return head, found


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
