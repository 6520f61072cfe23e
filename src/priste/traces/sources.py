"""What is read: a file, or the files of one format below a folder, and whose each is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from priste.errors import TraceError
from priste.traces.formats import Format, detect_format, format_named, format_of_name

GEOLIFE_LABELS = "labels.txt"


@dataclass(frozen=True)
class SourceFile:
    """One file: where it is, its name within the source, and whose it is if its place tells."""

    path: Path
    name: str
    user: str | None


@dataclass(frozen=True)
class Source:
    """A file, or a folder of files of one format in the order of their names.

    ``skipped`` names the files of a folder that are not of the format.
    """

    root: Path
    format: Format
    files: tuple[SourceFile, ...]
    skipped: tuple[str, ...]

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


def find_source(path: str | Path, format_name: str | None, user: str | None) -> Source:
    """Return the source at ``path``; ``user`` makes every file that user's."""
    root = Path(path)
    chosen = None if format_name is None else format_named(format_name)
    if root.is_dir():
        return _folder(root, chosen, user)
    if not root.is_file():
        raise TraceError(f"There is no file or folder {str(root)!r} to read.")
    held = detect_format(root) if chosen is None else chosen
    return Source(root, held, (SourceFile(root, root.name, user),), ())


def _folder(root: Path, chosen: Format | None, user: str | None) -> Source:
    paths = sorted(
        Path(where) / name
        for where, folders, names in os.walk(root)
        for name in names
        if not name.startswith(".")
    )
    has_plt = any(path.suffix.lower() == ".plt" for path in paths)
    kinds: dict[Path, Format] = {}
    for path in paths:
        if has_plt and path.name == GEOLIFE_LABELS:
            continue
        kind = _kind_in_folder(path, chosen)
        if kind is not None:
            kinds[path] = kind
    found = sorted(set(kinds.values()))
    if not found:
        wanted = "of a known format" if chosen is None else f"of format {chosen}"
        raise TraceError(f"The folder {root.name} holds no file {wanted}.")
    if len(found) > 1:
        raise TraceError(
            f"The folder {root.name} mixes the formats {', '.join(found)}. "
            "Choose one with format=, or read them one by one."
        )
    files, skipped = [], []
    for path in paths:
        name = path.relative_to(root).as_posix()
        if path in kinds:
            files.append(SourceFile(path, name, user or _user_of_file(root, path, found[0])))
        elif not (found[0] is Format.GEOLIFE and path.name == GEOLIFE_LABELS):
            skipped.append(name)
    return Source(root, found[0], tuple(files), tuple(skipped))


def _kind_in_folder(path: Path, chosen: Format | None) -> Format | None:
    """Return the format of one file of a folder; None for a file that is beside the point.

    A file whose name promises a format is never passed over: if it is broken, reading says so.
    """
    promised = format_of_name(path)
    try:
        held = detect_format(path)
    except TraceError:
        if promised is not None and chosen in (None, promised):
            raise
        return None
    if chosen is None or held is chosen:
        return held
    return chosen if promised is chosen else None


def _user_of_file(root: Path, path: Path, kind: Format) -> str | None:
    inner = path.relative_to(root)
    if kind is Format.GEOLIFE:
        folder = path.parent
        owner = folder.parent if folder.name == "Trajectory" else folder
        return owner.resolve().name
    if kind is Format.OWNTRACKS and inner.parent != Path():
        return inner.parent.as_posix()
    stem = inner.with_suffix("").as_posix()
    return stem.removeprefix("new_") if kind is Format.CABSPOTTING else stem
