"""Find what is read: which files of a folder or archive are of one format, and their owners."""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath

from priste.errors import TraceError
from priste.traces.file_owners import owners_by_name
from priste.traces.formats.contract import by_name
from priste.traces.formats.known import FORMATS
from priste.traces.formats.recognition import (
    detect_format,
    format_named,
    format_of_name,
    head_of,
)
from priste.traces.sources import Source, SourceFile

ARCHIVES = (".zip", ".kmz")
MOST_IN_AN_ARCHIVE = 100_000
LARGEST_UNPACKED = 2**32
"""Bytes that the files of an archive may unpack to, all together. A Takeout of ten years is below;
what is larger can be unpacked by hand, where the disk sets the limit."""


def find_source(path: str | Path, format_name: str | None, user: str | None) -> Source:
    """Return the source at ``path``; ``user`` makes every file that user's."""
    root = Path(path)
    chosen = None if format_name is None else format_named(format_name)
    if root.is_dir():
        return _source(root, _in_folder(root), chosen, user, f"The folder {root.name}")
    if not root.is_file():
        raise TraceError(_nothing_at(root), hint="Is the name right?")
    if root.suffix.lower() in ARCHIVES and zipfile.is_zipfile(root):
        return _source(root, _in_archive(root), chosen, user, f"The archive {root.name}")
    file = SourceFile(root, root.name, user)
    return Source(root, chosen or detect_format(file), (file,))


def _nothing_at(path: Path) -> str:
    """Say why there is no file or folder to read."""
    try:
        path.stat()
    except FileNotFoundError:
        return f"There is no file or folder {str(path)!r} to read."
    except OSError as error:
        what = (
            "links that lead back to themselves" if error.errno == errno.ELOOP else error.strerror
        )
        return f"{str(path)!r} cannot be read: {what}."
    return f"{str(path)!r} is a pipe or a device, not a file or folder. Save it as a file first."


def _in_folder(root: Path) -> list[SourceFile]:
    """Return the files below a folder; hidden ones, pipes and broken links are none."""
    paths = sorted(
        Path(where) / name
        for where, _, names in os.walk(root)
        for name in names
        if not name.startswith(".")
    )
    return [SourceFile(each, each.relative_to(root).as_posix()) for each in paths if each.is_file()]


def _in_archive(root: Path) -> list[SourceFile]:
    """Return the files in an archive. Nothing is unpacked: a name is only a name."""
    try:
        with zipfile.ZipFile(root) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        raise TraceError(f"{root.name} is a broken archive", hint="Unpack it yourself.") from None
    unpacked = sum(each.file_size for each in members)
    if len(members) > MOST_IN_AN_ARCHIVE or unpacked > LARGEST_UNPACKED:
        raise TraceError(
            f"{root.name} holds {len(members)} files of {unpacked / 1e9:.1f} GB; "
            f"an archive may hold {MOST_IN_AN_ARCHIVE} of "
            f"{LARGEST_UNPACKED / 1e9:.1f} GB",
            hint="Unpack it, and read the folder.",
        )
    found = []
    for each in sorted(members, key=lambda member: member.filename):
        parts = [part for part in PurePosixPath(each.filename).parts if part not in ("/", "..")]
        if parts and not parts[-1].startswith(".") and parts[0] != "__MACOSX":
            found.append(SourceFile(root, "/".join(parts), member=each.filename))
    return found


def _source(
    root: Path, files: Sequence[SourceFile], chosen: str | None, user: str | None, what: str
) -> Source:
    ignored = _ignored(files)
    kinds: dict[SourceFile, str] = {}
    for file in files:
        kind = None if PurePath(file.name).name in ignored else _kind_among(file, chosen)
        if kind is not None:
            kinds[file] = kind
    found = sorted(set(kinds.values()))
    if not found:
        wanted = "of a known format" if chosen is None else f"of format {chosen}"
        raise TraceError(f"{what} holds no file {wanted}.", hint="Is it the right one?")
    if len(found) > 1:
        raise TraceError(
            f"must be given: {what} mixes {', '.join(found)}.",
            parameter="format",
            hint="Or read them one by one.",
        )
    kind, held = found[0], list(kinds)
    users, owners = ([user] * len(held), None) if user else _owners(root, held, kind)
    return Source(
        root,
        kind,
        tuple(
            SourceFile(file.path, file.name, owner, file.member)
            for file, owner in zip(held, users, strict=True)
        ),
        tuple(
            file.name
            for file in files
            if file not in kinds and PurePath(file.name).name not in FORMATS[kind].ignores
        ),
        owners,
    )


def _owners(
    root: Path, held: Sequence[SourceFile], kind: str
) -> tuple[Sequence[str | None], str | None]:
    """Return whose each file is, and a sentence that says so where only names could tell."""
    known, names = FORMATS[kind], [PurePath(file.name) for file in held]
    is_archive = held[0].member is not None
    above = PurePath(root.stem) if is_archive else root.resolve()
    # A folder that is itself one user's is known by its own name.
    users = [known.user_of_file(name) or known.user_of_file(above / name) for name in names]
    said = None
    if not known.names_users and users == [by_name(name) for name in names]:
        named, recognised_by = owners_by_name(names, above.name)
        users, said = [*named], _owners_said(named, recognised_by)
    if is_archive and len(set(users)) == 1:
        users = [None] * len(users)  # an archive of one person is as one file
    return users, said


def _owners_said(owners: Sequence[str], recognised_by: str | None) -> str | None:
    """Say whose the files are taken to be, and how to say otherwise."""
    files, people = len(owners), sorted(set(owners))
    if files < 2:
        return None
    if recognised_by is None:
        return (
            f"Each of its {files} files is taken for another person. If all are one person's, name "
            "that one user: a person who is split gets the budget of each part."
        )
    if len(people) == 1:
        return (
            f"Its {files} files are named by {recognised_by} and are taken for one person's, "
            f"{people[0]!r}. If they are not, put each person's in a folder of their own."
        )
    shown = ", ".join(repr(name) for name in people[:4]) + (", …" if len(people) > 4 else "")
    return (
        f"Its {files} files are named by {recognised_by} and are taken for those of {len(people)} "
        f"people: {shown}. If all are one person's, name that one user."
    )


def _kind_among(file: SourceFile, chosen: str | None) -> str | None:
    """Return the format of one of several files; None for a file that is next to the point.

    A file whose name states a format is never left out: if it is broken, reading reports it. Only
    JSON in an archive is: that of an account holds many such files about other things.
    """
    guaranteed = format_of_name(file.name)
    try:
        held = detect_format(file)
    except TraceError:
        if guaranteed is None or chosen not in (None, guaranteed):
            return None
        if file.suffix == ".json" and file.member is not None:
            head_of(file)  # a damaged one raises
            return None
        raise
    if chosen is None or held == chosen:
        return held
    return chosen if guaranteed == chosen else None


def _ignored(files: Sequence[SourceFile]) -> set[str]:
    """Return the names of files that accompany those of a format found here, and are none."""
    suffixes = {file.suffix for file in files}
    return {
        name
        for known in FORMATS.values()
        if suffixes & set(known.suffixes)
        for name in known.ignores
    }
