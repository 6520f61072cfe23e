"""The states in which a power loss can leave a folder, enumerated.

:class:`Recorder` notes what a program does to the files below a folder: which are made, written and
synced, which names appear, move and go, and what was handed out in between. :func:`crash_states`
then yields, for a crash after each operation, what a disk may hold:

- Bytes that were synced are there. Of bytes that were written since, a file has none, all, the
  first half, room without content (NULs), or NULs to the end of a block and then the rest.
- Names of a folder that was synced are as they were. Of later changes of names any subset may have
  reached the disk; with more than :data:`MOST_SUBSETS` of them, any beginning.
- A sync that failed leaves bytes that can be read and are not on the disk; the next sync does not
  bring them there unless they were written again.

Content that libraries write without these calls is looked at when the file is synced.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

MOST_SUBSETS = 3
BLOCK = 512
"""Blocks that never reached the disk end at multiples of this."""


@dataclass(frozen=True)
class Operation:
    """One thing that was done: ``kind`` and what it was done to."""

    kind: str
    path: str = ""
    other: str = ""
    file: int = 0
    content: bytes = b""
    said: Any = None


class Recorder:
    """Notes what happens below a folder while it is entered; ``said`` is what was handed out."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.operations: list[Operation] = []
        self.fail_sync: Callable[[str], bool] = lambda path: False
        self._real: dict[str, Any] = {}
        self._paths: dict[int, str] = {}

    def handed_out(self, said: Any) -> None:
        """Note that somebody was given something: no crash after this may contradict it."""
        self.operations.append(Operation("handed out", said=said))

    def __enter__(self) -> Self:
        for path in sorted(self.root.rglob("*")):
            self._known(path)
        for name in ("open", "write", "fsync", "ftruncate", "replace", "rename", "link", "unlink",
                     "remove", "mkdir", "rmdir"):  # fmt: skip
            self._real[name] = getattr(os, name)
            setattr(os, name, getattr(self, f"_{name}"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, function in self._real.items():
            setattr(os, name, function)

    def _known(self, path: Path) -> None:
        """Take what is there before for synced."""
        name = str(path.relative_to(self.root))
        if path.is_dir():
            self.operations += [Operation("mkdir", name), Operation("sync names", _above(name))]
            return
        found = path.stat().st_ino
        self.operations += [
            Operation("create", name, file=found),
            Operation("sync", name, file=found, content=path.read_bytes()),
            Operation("sync names", _above(name)),
        ]

    def _inside(self, path: Any) -> str | None:
        """Return the name of a path below the folder, None for one that is not."""
        with suppress(TypeError, ValueError):
            return str(Path(os.fspath(path)).absolute().relative_to(self.root))
        return None

    def _note(self, kind: str, path: Any, **more: Any) -> None:
        name = self._inside(path)
        if name is not None:
            self.operations.append(Operation(kind, name, **more))

    def _open(self, path: Any, flags: int, mode: int = 0o777, *more: Any, **named: Any) -> int:
        there = os.path.lexists(path)
        handle: int = self._real["open"](path, flags, mode, *more, **named)
        name = self._inside(path)
        if name is not None:
            self._paths[handle] = name
            if not there:
                self._note("create", path, file=os.fstat(handle).st_ino)
        return handle

    def _content(self, handle: int) -> bytes:
        size = os.fstat(handle).st_size
        reading = self._real["open"](f"/proc/self/fd/{handle}", os.O_RDONLY)
        try:
            return os.pread(reading, size, 0)
        finally:
            os.close(reading)

    def _write(self, handle: int, data: Any) -> int:
        count: int = self._real["write"](handle, data)
        self._note_content("write", handle)
        return count

    def _ftruncate(self, handle: int, length: int) -> None:
        self._real["ftruncate"](handle, length)
        self._note_content("write", handle)

    def _fsync(self, handle: int) -> None:
        name = self._name_of(handle)
        if name is not None and self.fail_sync(name):
            self._note_content("failed sync", handle)
            raise OSError(errno.EIO, "Input/output error")
        self._real["fsync"](handle)
        if name is not None and stat.S_ISDIR(os.fstat(handle).st_mode):
            self.operations.append(Operation("sync names", name))
        else:
            self._note_content("sync", handle)

    def _name_of(self, handle: int) -> str | None:
        if handle not in self._paths:
            return None
        return self._paths[handle]

    def _note_content(self, kind: str, handle: int) -> None:
        found = os.fstat(handle)
        if self._name_of(handle) is not None and stat.S_ISREG(found.st_mode):
            content = self._content(handle)
            self.operations.append(Operation(kind, file=found.st_ino, content=content))

    def _replace(self, source: Any, target: Any, **named: Any) -> None:
        self._real["replace"](source, target, **named)
        self._note("rename", source, other=self._inside(target) or "")

    def _rename(self, source: Any, target: Any, **named: Any) -> None:
        self._real["rename"](source, target, **named)
        self._note("rename", source, other=self._inside(target) or "")

    def _link(self, source: Any, target: Any, **named: Any) -> None:
        self._real["link"](source, target, **named)
        self._note("link", source, other=self._inside(target) or "")

    def _unlink(self, path: Any, **named: Any) -> None:
        self._real["unlink"](path, **named)
        if "dir_fd" not in named or named["dir_fd"] is None:
            self._note("unlink", path)

    _remove = _unlink

    def _mkdir(self, path: Any, mode: int = 0o777, **named: Any) -> None:
        self._real["mkdir"](path, mode, **named)
        self._note("mkdir", path)

    def _rmdir(self, path: Any, **named: Any) -> None:
        self._real["rmdir"](path, **named)
        if "dir_fd" not in named or named["dir_fd"] is None:
            self._note("unlink", path)


def _above(name: str) -> str:
    return os.path.dirname(name) or "."


@dataclass
class _Disk:
    """What is on the disk for certain, and what is on its way."""

    synced: dict[int, bytes] = field(default_factory=dict)
    written: dict[int, bytes] = field(default_factory=dict)
    suspect: dict[int, bytes] = field(default_factory=dict)
    """What was on the disk before a sync that failed: later syncs do not bring the rest there."""
    names: dict[str, int] = field(default_factory=dict)
    changes: list[Operation] = field(default_factory=list)
    said: list[Any] = field(default_factory=list)

    def do(self, done: Operation) -> None:
        """Take in one operation."""
        if done.kind == "handed out":
            self.said.append(done.said)
        elif done.kind == "write":
            self.written[done.file] = done.content
            self.suspect.pop(done.file, None)
        elif done.kind == "failed sync":
            self.suspect[done.file] = self.synced.get(done.file, b"")
            self.written.pop(done.file, None)
        elif done.kind == "sync":
            if done.file not in self.suspect:
                self.synced[done.file] = done.content
                self.written.pop(done.file, None)
        elif done.kind == "sync names":
            here = [each for each in self.changes if done.path in _folders(each)]
            for each in here:
                _rename(self.names, each)
                self.changes.remove(each)
        else:
            self.changes.append(done)


def _folders(change: Operation) -> set[str]:
    return {_above(path) for path in (change.path, change.other) if path}


FOLDER = -1


def _rename(names: dict[str, int], change: Operation) -> None:
    """Apply a change of names; one whose source never reached the disk does nothing."""
    if change.kind == "create":
        names[change.path] = change.file
    elif change.kind == "mkdir":
        names[change.path] = FOLDER
    elif change.kind == "unlink":
        names.pop(change.path, None)
    elif change.path in names:
        moved = [
            name for name in names if name == change.path or name.startswith(change.path + "/")
        ]
        for name in moved:
            names[change.other + name[len(change.path) :]] = names[name]
            if change.kind == "rename":
                del names[name]


@dataclass(frozen=True)
class CrashState:
    """What a disk may hold after a crash, and what had been handed out before."""

    after: int
    files: tuple[tuple[str, bytes | None], ...]
    said: tuple[Any, ...]

    def make(self, folder: Path) -> Path:
        """Write the state into an empty folder."""
        folder.mkdir(mode=0o700)
        for name, content in sorted(self.files):
            path = folder / name
            if content is None:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            elif path.parent.is_dir():
                path.write_bytes(content)
                path.chmod(0o600)
        return folder


def crash_states(operations: list[Operation]) -> Iterator[CrashState]:
    """Yield every state once, in the order of the crashes that could leave it."""
    seen: set[tuple[Any, ...]] = set()
    disk = _Disk()
    for after in range(len(operations) + 1):
        if after:
            disk.do(operations[after - 1])
        for names in _namings(disk):
            files = {file for file in names.values() if file != FOLDER}
            choices = [[(file, content) for content in _contents(disk, file)] for file in files]
            for chosen in itertools.product(*choices):
                content = dict(chosen)
                listed = tuple(
                    sorted(
                        (name, None if file == FOLDER else content[file])
                        for name, file in names.items()
                    )
                )
                key = (listed, len(disk.said))
                if key not in seen:
                    seen.add(key)
                    yield CrashState(after, listed, tuple(disk.said))


def _namings(disk: _Disk) -> Iterator[dict[str, int]]:
    count = len(disk.changes)
    if count <= MOST_SUBSETS:
        picked = [
            chosen
            for size in range(count + 1)
            for chosen in itertools.combinations(disk.changes, size)
        ]
    else:
        picked = [tuple(disk.changes[:size]) for size in range(count + 1)]
    for chosen in picked:
        names = dict(disk.names)
        for change in chosen:
            _rename(names, change)
        yield names


def _contents(disk: _Disk, file: int) -> list[bytes]:
    synced = disk.suspect.get(file, disk.synced.get(file, b""))
    if file not in disk.written:
        return [synced]
    new = disk.written[file]
    if not new.startswith(synced):
        return [synced, new]
    added, half = new[len(synced) :], (len(new) - len(synced)) // 2
    found = [synced, new, synced + added[:half], synced + b"\0" * len(added)]
    first = BLOCK - len(synced) % BLOCK  # the block in which they begin is missing, others not
    if first < len(added):
        found.append(synced + b"\0" * first + added[first:])
    return list(dict.fromkeys(found))
