"""Finding what is read: which files of a folder are of one format, and whose each is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from priste.errors import TraceError
from priste.traces.file_owners import owners_by_date
from priste.traces.formats.contract import by_name
from priste.traces.formats.format import Format
from priste.traces.formats.known import FORMATS
from priste.traces.formats.recognition import detect_format, format_named, format_of_name
from priste.traces.sources import Source, SourceFile


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
    companions = _companions(paths)
    kinds: dict[Path, Format] = {}
    for path in paths:
        if path.name in companions:
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
    kind = found[0]
    held = [path for path in paths if path in kinds]
    users = [user] * len(held) if user else [_user_of_file(root, path, kind) for path in held]
    owners = None
    if not user and FORMATS[kind].user_of_file is by_name and FORMATS[kind].one_user:
        dated = owners_by_date([path.relative_to(root) for path in held], root.resolve().name)
        users = users if dated is None else list(dated)
        owners = _owners(len(held), dated)
    files = tuple(
        SourceFile(path, path.relative_to(root).as_posix(), owner)
        for path, owner in zip(held, users, strict=True)
    )
    skipped = tuple(
        path.relative_to(root).as_posix()
        for path in paths
        if path not in kinds and path.name not in FORMATS[kind].companions.values()
    )
    return Source(root, kind, files, skipped, owners)


def _owners(files: int, dated: Sequence[str] | None) -> str | None:
    """Say whose the files are taken to be, and how to say otherwise."""
    if files < 2:
        return None
    if dated is None:
        return (
            f"Each of its {files} files is taken for another person. If all are one person's, say "
            "so with user='NAME': a person who is split gets the budget of each part."
        )
    people = sorted(set(dated))
    if len(people) == 1:
        return (
            f"Its {files} files are named by date and are taken for one person's, {people[0]!r}. "
            "If they are not, put each person's in a folder of their own."
        )
    shown = ", ".join(repr(name) for name in people[:4]) + (", …" if len(people) > 4 else "")
    return (
        f"Its {files} files are named by date and are taken for those of {len(people)} people: "
        f"{shown}. If all are one person's, say so with user='NAME'."
    )


def _kind_in_folder(path: Path, chosen: Format | None) -> Format | None:
    """Return the format of one file of a folder; None for a file that is beside the point.

    A file whose name guarantees a format is never passed over: if it is broken, reading says so.
    """
    guaranteed = format_of_name(path)
    try:
        held = detect_format(path)
    except TraceError:
        if guaranteed is not None and chosen in (None, guaranteed):
            raise
        return None
    if chosen is None or held is chosen:
        return held
    return chosen if guaranteed is chosen else None


def _user_of_file(root: Path, path: Path, kind: Format) -> str | None:
    inner = path.relative_to(root)
    # A folder that is itself one user's is known by its own name.
    return FORMATS[kind].user_of_file(inner) or FORMATS[kind].user_of_file(path.resolve())


def _companions(paths: list[Path]) -> set[str]:
    """Return the names of files that accompany those of a format found here, and are none."""
    suffixes = {path.suffix.lower() for path in paths}
    return {
        name
        for known in FORMATS.values()
        if suffixes & set(known.suffixes)
        for name in known.companions.values()
    }
