"""What is read: a file, or the files of one format below a folder or in an archive."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO

from priste.errors import TraceError


@dataclass(frozen=True)
class SourceFile:
    """One file: where it is, its name within the source, and whose it is if its place tells.

    A file in a zip archive has the archive as ``path`` and its name there as ``member``.
    """

    path: Path
    name: str
    user: str | None = None
    member: str | None = None

    @property
    def suffix(self) -> str:
        """The end of its name, in small letters."""
        return PurePath(self.name).suffix.lower()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file for reading; what the system says against it becomes a TraceError."""
        try:
            if self.member is None:
                with self.path.open("rb") as file:
                    yield file
            else:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
                    yield file
        except OSError as error:
            raise TraceError(
                f"{self.name} cannot be read: {error.strerror}.", hint="Can this user read it?"
            ) from None
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            KeyError,
            UnicodeDecodeError,  # of a name
        ):
            if self.member is None:
                raise
            raise TraceError(
                f"{self.name} cannot be unpacked: the archive is damaged or encrypted.",
                hint="Unpack it yourself.",
            ) from None


@dataclass(frozen=True)
class Source:
    """A file, or the files of one format of a folder or archive in the order of their names.

    ``skipped`` names the files that are not of the format. ``owners`` says in a sentence whose the
    files were taken to be, where only their names could tell.
    """

    root: Path
    format: str
    files: tuple[SourceFile, ...]
    skipped: tuple[str, ...] = ()
    owners: str | None = None

    @property
    def is_person_a_file(self) -> bool:
        """Whether each of several files is a user of its own because nothing says otherwise."""
        return len(self.files) > 1 and all(
            file.user == PurePath(file.name).with_suffix("").as_posix() for file in self.files
        )

    @property
    def is_folder(self) -> bool:
        """Whether what is written is a folder: of a folder, and of an archive of several users."""
        if not self.is_archive:
            return not (len(self.files) == 1 and self.files[0].path == self.root)
        return len({file.user for file in self.files}) > 1

    @property
    def is_archive(self) -> bool:
        """Whether its files lie in a zip archive."""
        return self.files[0].member is not None

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Return what changes when a file is changed: its number, size and time."""
        found = []
        for path in dict.fromkeys(file.path for file in self.files):
            try:
                state = path.stat()
            except OSError as error:
                raise TraceError(
                    f"{path.name} cannot be read: {error.strerror}.", hint="Can this user read it?"
                ) from None
            found.append((state.st_ino, state.st_size, state.st_mtime_ns))
        return tuple(found)
