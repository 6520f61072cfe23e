"""What is read: a file, or the files of one format below a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath

from priste.errors import TraceError
from priste.traces.formats.format import Format


@dataclass(frozen=True)
class SourceFile:
    """One file: where it is, its name within the source, and whose it is if its place tells."""

    path: Path
    name: str
    user: str | None


@dataclass(frozen=True)
class Source:
    """A file, or a folder of files of one format in the order of their names.

    ``skipped`` names the files of a folder that are not of the format. ``owners`` says in a
    sentence whose the files were taken to be, where only their names could tell.
    """

    root: Path
    format: Format
    files: tuple[SourceFile, ...]
    skipped: tuple[str, ...]
    owners: str | None = None

    @property
    def is_person_a_file(self) -> bool:
        """Whether each of several files is a user of its own for want of anything that tells."""
        return len(self.files) > 1 and all(
            file.user == PurePath(file.name).with_suffix("").as_posix() for file in self.files
        )

    @property
    def is_folder(self) -> bool:
        """Whether the source is a folder, so that what is written is one too."""
        return not (len(self.files) == 1 and self.files[0].path == self.root)

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Return what changes when a file is changed: its number, size and time."""
        found = []
        for file in self.files:
            try:
                state = file.path.stat()
            except OSError as error:
                raise TraceError(f"{file.name} cannot be read: {error.strerror}.") from None
            found.append((state.st_ino, state.st_size, state.st_mtime_ns))
        return tuple(found)
