"""State files and journals: one format, append-only, checked to the byte.

A file is text, one frame a line::

    priste-stream 1                                  the name and version of the format
    H <length> <digest> {...}                        what the stream is made of
    R <length> <digest> {...}                        one line per step
    ...

``length`` is that of the JSON in bytes, 8 hex digits. ``digest`` is the first 32 hex digits of a
SHA-256 over the digest before it, the kind and the JSON: a chain, so that no line can be changed,
moved, removed from the middle or taken from another file without notice. Only a missing end cannot
be distinguished from a file that never had it. The chain has no key. It finds damage by disks,
copies and editors; it does not stop an attacker who can write to the file. Such an attacker could
also replace this program, or read the true locations at their source, and would have a key that is
kept beside the file. A key that is kept nowhere would have to be typed in at every start.

Guarantees. ``append`` returns after the lines are on the disk (fsync). A file is
created whole and with mode 0600, whatever the umask, and never over another file. Opening a
journal for writing locks it against other processes. A last line without its end is
what a crash leaves: it was never acknowledged, so opening for writing cuts it off and
reports how many bytes. What it holds must be the beginning of the next step's frame and of
no whole one, or such a beginning and NULs where a file system had made room that it had not yet
filled; anything else that does not check raises :class:`~priste.errors.StateError` and leaves the
file as it was. Opening writes what was read again and waits until it is on the disk: after an error
of fsync a line can be read that the disk does not have.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priste.atomic_files import remove_drafts_of, take_lock, write_file
from priste.errors import OutputError, OutputExists, StateError

FORMAT = "priste-stream"
VERSION = 1

Json = Mapping[str, Any]

_MAGIC = f"{FORMAT} {VERSION}\n".encode("ascii")
_HEAD = re.compile(rb"([HR]) ([0-9a-f]{8}) ([0-9a-f]{32}) ")
_HEAD_LENGTH = len(b"R 00000000 ") + 32 + 1
# What the beginning of a frame's head may look like when the rest has not been written.
_TORN_HEAD = re.compile(rb"R?\Z|R [0-9a-f]{0,8}\Z|R [0-9a-f]{8} [0-9a-f]{0,32}\Z")


BLOCK = 512
"""Bytes that disks write whole or not at all: NULs before other bytes end at a multiple of it."""

FEWEST_NULS = 2
"""A single NUL before other bytes is taken for damage: one bit turns a space into it. Only in place
of the first letter of the last line it is mended, since the digest shows that nothing else is lost.
"""


@dataclass(frozen=True)
class Contents:
    """What a state file says.

    ``end`` is the number of bytes that check, ``torn`` the number of bytes of an unfinished
    last line after them, ``chains[n]`` the digest of the line after which n steps are known.
    """

    header: Json
    records: tuple[Json, ...]
    end: int
    torn: int
    chains: tuple[str, ...]
    ends_with_newline: bool


def _digest(previous: str, kind: bytes, payload: bytes) -> str:
    return hashlib.sha256(previous.encode("ascii") + kind + payload).hexdigest()[:32]


def _frame(kind: bytes, content: Json, previous: str) -> tuple[bytes, str]:
    payload = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
    digest = _digest(previous, kind, payload)
    return b"%s %08x %s %s\n" % (kind, len(payload), digest.encode("ascii"), payload), digest


def _first_digest() -> str:
    return hashlib.sha256(_MAGIC).hexdigest()[:32]


def encode(header: Json, records: Iterable[Json]) -> tuple[bytes, str]:
    """Return the bytes of a whole file, and its chain: the digest of its last line."""
    head, chain = _frame(b"H", header, _first_digest())
    parts = [_MAGIC, head]
    for record in records:
        line, chain = _frame(b"R", record, chain)
        parts.append(line)
    return b"".join(parts), chain


def _corrupt(path: Path, what: str) -> StateError:
    return StateError(
        f"The state file {str(path)!r} is corrupt: {what}. It was left as it is.",
        hint="Restore it from a copy; starting the stream anew would forget what has already been "
        "released.",
    )


def decode(data: bytes, path: Path) -> Contents:
    """Read the bytes of a file, or raise :class:`StateError`; ``path`` is for messages only."""
    if not data.startswith(_MAGIC):
        raise _not_ours(data, path)
    records: list[Json] = []
    chains: list[str] = []
    header: Json | None = None
    chain = _first_digest()
    position = len(_MAGIC)
    while position < len(data):
        newline = data.find(b"\n", position)
        line = data[position:] if newline < 0 else data[position:newline]
        where = f"line {len(records) + (2 if header is None else 3)}"
        kind = b"H" if header is None else b"R"
        if header is not None and _is_torn(data, position, chain, len(records)):
            break
        match = _HEAD.match(line)
        payload = line[_HEAD_LENGTH:]
        if match is None or match[1] != kind or int(match[2], 16) != len(payload):
            raise _corrupt(path, f"{where} is not a whole frame of this format")
        digest = _digest(chain, kind, payload)
        if match[3].decode("ascii") != digest:
            raise _corrupt(path, f"{where} does not match its digest")
        content = _content(payload)
        if content is None:
            raise _corrupt(path, f"{where} holds no JSON object")
        if header is None:
            header = content
        else:
            records.append(content)
        chain = digest
        chains.append(chain)
        position = len(data) if newline < 0 else newline + 1
    if header is None:
        raise _corrupt(path, "it ends before its header does")
    return Contents(
        header=header,
        records=tuple(records),
        end=position,
        torn=len(data) - position,
        chains=tuple(chains),
        ends_with_newline=data[position - 1 : position] == b"\n",
    )


def sound_part(data: bytes, path: Path) -> Contents:
    """Return what a damaged file says up to the last line that checks; StateError without any."""
    end = len(data)
    while True:
        try:
            return decode(data[:end], path)
        except StateError:
            end = data.rfind(b"\n", 0, end - 1) + 1
            if end <= len(_MAGIC):
                raise


def _is_torn(data: bytes, position: int, chain: str, step: int) -> bool:
    """Return whether what follows the last whole line is an append that a crash cut short.

    That is the beginning of the next frame and no more; a whole frame that lacks only its newline
    is not torn: it checks, and is kept. Nor is one whose length was changed: its JSON is whole, or
    matches its digest, or is of another step. Or it is such a beginning (none of it, perhaps) and
    NULs to the end of the file or of a block, with at most the rest of that one line after them:
    blocks of an append that never reached the disk.
    """
    tail = data[position:]
    begun = tail.partition(b"\0")[0]
    if len(begun) == len(tail):
        return b"\n" not in tail and _begins_frame(tail, chain, step)
    rest = tail[len(begun) :].lstrip(b"\0")
    end = len(data) - len(rest)
    if b"\n" in begun or b"\0" in rest or b"\n" in rest.removesuffix(b"\n"):
        return False
    if rest and (end % BLOCK or end - position - len(begun) < FEWEST_NULS):
        return False
    match, payload = _HEAD.match(begun), begun[_HEAD_LENGTH:]
    if match is not None and match[3].decode("ascii") == _digest(chain, b"R", payload):
        return True  # all but the newline
    return _begins_frame(begun, chain, step)


def _begins_frame(tail: bytes, chain: str, step: int) -> bool:
    if _TORN_HEAD.match(tail):
        return True
    match, payload = _HEAD.match(tail), tail[_HEAD_LENGTH:]
    if match is None or match[1] != b"R" or len(payload) >= int(match[2], 16):
        return False
    begins = b'{"step":%d,' % step
    if not (payload.startswith(begins) or begins.startswith(payload)):
        return False
    matches = match[3].decode("ascii") == _digest(chain, b"R", payload)
    return not matches and _content(payload) is None


def _content(payload: bytes) -> Json | None:
    """Return the JSON object that a frame holds, None if it is none; a forger's may be deep."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _not_ours(data: bytes, path: Path) -> StateError:
    version = re.match(rf"{FORMAT} (\d+)\n".encode("ascii"), data)
    if version is not None:
        return StateError(
            f"The state file {str(path)!r} has version {int(version[1])} of its format; this "
            f"priste reads version {VERSION}. It was left as it is.",
            hint="Open it with the priste that wrote it.",
        )
    if _MAGIC.startswith(data):
        return _corrupt(path, f"it has only {len(data)} bytes")
    return StateError(
        f"The file {str(path)!r} is not a state file of priste (it does not begin with "
        f"{FORMAT!r}). It was left as it is.",
        hint="Choose another path.",
    )


def read(path: Path) -> Contents:
    """Read a whole state file or journal without changing it."""
    return decode(_bytes_of(path), path)


READABLE = "Check that the path is right and may be read and written."


def _bytes_of(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise StateError(
            f"The state file {str(path)!r} cannot be read: {problem.strerror}.", hint=READABLE
        ) from problem
    last = data.rfind(b"\n", 0, -1) + 1
    if data[last : last + 1] == b"\0":
        mended = b"R" + data[last + 1 :]
        if _HEAD.match(mended):
            return data[:last] + mended
    return data


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _write_again(path: Path, data: bytes) -> None:
    """Write the same bytes over themselves, so that the next fsync is about all of them."""
    fd = os.open(path, os.O_WRONLY)  # one that appends would add them at the end
    try:
        _write_all(fd, data)
    finally:
        os.close(fd)


def _lock(fd: int, path: Path) -> None:
    try:
        taken = take_lock(fd, path)
    except OutputError as problem:
        raise StateError(problem.rule, hint=problem.hint) from problem
    if not taken:
        raise _in_use(path)


def _in_use(path: Path) -> StateError:
    return StateError(
        f"The journal {str(path)!r} is in use by another Protector. Two writers would draw twice "
        "for one step.",
        hint="Close the other one first.",
    )


def create(path: Path, header: Json, records: Iterable[Json] = ()) -> str:
    """Create a state file in one piece and return its chain; StateError if the path is taken."""
    data, chain = encode(header, records)
    try:
        write_file(path, data)
    except OutputExists as problem:
        raise StateError(
            f"There is already a file at {str(path)!r}; it was not touched.",
            hint="Continue its stream with Protector.resume(path), or choose another path.",
        ) from problem
    except OutputError as problem:
        raise _unwritten(path, problem) from problem
    return chain


def _unwritten(path: Path, problem: OutputError) -> StateError:
    return StateError(
        f"The state file {str(path)!r} cannot be written. {problem.rule}", hint=problem.hint
    )


def replace(path: Path, header: Json, records: Sequence[Json]) -> str:
    """Write a state file over an earlier state of the same stream, and over nothing else.

    The earlier state must check, carry the same name and hold a beginning of ``records``. Returns
    the chain of the file.
    """
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return create(path, header, records)
    except OSError as problem:
        raise StateError(
            f"The file at {str(path)!r} cannot be replaced: {problem.strerror}.",
            hint="Choose another path, or make this one writable.",
        ) from problem
    try:
        _lock(fd, path)
        earlier = read(path)
        same_stream = earlier.header.get("stream") == header.get("stream")
        if not same_stream or list(earlier.records) != list(records[: len(earlier.records)]):
            raise StateError(
                f"The file at {str(path)!r} holds another stream, or more of this one than is to "
                "be saved; it was not touched.",
                hint="Choose another path.",
            )
        data, chain = encode(header, records)
        write_file(path, data, overwrite=True)
    except OutputError as problem:
        raise _unwritten(path, problem) from problem
    finally:
        os.close(fd)
    return chain


def refuse_if_locked(path: Path) -> None:
    """Raise :class:`StateError` while another Protector writes to this journal.

    Where files cannot be locked no process is writing: continuing a journal takes a lock.
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError as problem:
        raise StateError(
            f"The state file {str(path)!r} cannot be read: {problem.strerror}.", hint=READABLE
        ) from problem
    try:
        with suppress(OutputError):
            if not take_lock(fd, path):
                raise _in_use(path)
    finally:
        os.close(fd)


class Journal:
    """An open, locked journal; use :meth:`open`."""

    def __init__(self, path: Path, fd: int, size: int, chain: str) -> None:
        self.path = path
        self._fd = fd
        self._size = size
        self._chain = chain
        self._owner = os.getpid()

    @classmethod
    def open(cls, path: Path) -> tuple[Journal, Contents]:
        """Lock a journal, read it, and cut off a last line that a crash left unfinished."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError as problem:
            raise StateError(
                f"The journal {str(path)!r} cannot be opened: {problem.strerror}.", hint=READABLE
            ) from problem
        try:
            _lock(fd, path)
            if not os.path.samestat(os.fstat(fd), os.stat(path)):
                raise StateError(
                    f"The journal {str(path)!r} was replaced while it was opened.",
                    hint="Open it again when nothing else writes to it.",
                )
            remove_drafts_of(path)  # a second name that a crash at its creation left
            data = _bytes_of(path)
            contents = decode(data, path)
            if contents.torn:
                os.ftruncate(fd, contents.end)
            _write_again(path, data[: contents.end])
            size = contents.end
            if not contents.ends_with_newline:
                _write_all(fd, b"\n")
                size += 1
            os.fsync(fd)
        except OSError as problem:
            os.close(fd)
            raise StateError(
                f"The journal {str(path)!r} cannot be continued: {problem.strerror}. What it holds "
                "is as it was.",
                hint="Make room, or mend the disk, and try again.",
            ) from problem
        except BaseException:
            os.close(fd)
            raise
        return cls(path, fd, size, contents.chains[-1]), contents

    @property
    def chain(self) -> str:
        """The digest of the last line, which stands for the whole file."""
        return self._chain

    def is_at(self, path: Path) -> bool:
        """Return whether this open journal is the file at a path."""
        try:
            return self._fd >= 0 and os.path.samestat(os.fstat(self._fd), os.stat(path))
        except FileNotFoundError:
            return False

    def append(self, records: Iterable[Json]) -> None:
        """Write records and wait until they are on the disk.

        On any failure the journal closes itself: what is on the disk is then decided by
        opening it again, never by a second attempt.
        """
        if self._fd < 0:
            raise StateError(f"The journal {str(self.path)!r} is closed.", hint="Resume it first.")
        if os.getpid() != self._owner:
            raise StateError(
                f"The journal {str(self.path)!r} belongs to the process that opened it, not to a "
                "fork of it: two writers would draw twice for one step.",
                hint="Open the stream in the process that releases.",
            )
        lines = []
        chain = self._chain
        for record in records:
            line, chain = _frame(b"R", record, chain)
            lines.append(line)
        data = b"".join(lines)
        try:
            if not self.is_at(self.path):
                raise StateError(
                    f"The journal {str(self.path)!r} was removed or replaced while it was in use. "
                    "Nothing was added, and nothing was released.",
                    hint="Put it back, then resume it.",
                )
            if os.fstat(self._fd).st_size != self._size:
                raise StateError(
                    f"Something else wrote to the journal {str(self.path)!r}. Nothing was added.",
                    hint="Resume it when nothing else writes to it.",
                )
            _write_all(self._fd, data)
            os.fsync(self._fd)
        except OSError as problem:
            self.close()
            raise StateError(
                f"The journal {str(self.path)!r} cannot be written: {problem.strerror}. Nothing "
                "was released.",
                hint="Make room and continue with Protector.resume(path).",
            ) from problem
        except BaseException:
            self.close()
            raise
        self._chain = chain
        self._size += len(data)

    def close(self) -> None:
        """Give up the file and its lock; closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
