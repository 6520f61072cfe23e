"""How a file's format is recognised: by its name and by its first bytes, which must agree."""

from __future__ import annotations

from pathlib import Path, PurePath

from priste.errors import InvalidParameter, TraceError
from priste.traces.formats.contract import Head
from priste.traces.formats.known import FORMATS
from priste.traces.sources import SourceFile

HEAD_BYTES = 16_384
"""How much of a file is looked at to recognise it."""


def format_named(name: str) -> str:
    """Return the name of a format, such as "gpx", if there is one of that name."""
    if name not in FORMATS:
        raise InvalidParameter(
            f"must be one of {', '.join(sorted(FORMATS))}", parameter="format", value=name
        )
    return name


def format_of_name(name: str | PurePath) -> str | None:
    """Return the format that a file's name states, if any.

    >>> format_of_name("walk.GPX")
    'gpx'
    """
    suffix = PurePath(name).suffix.lower()
    return next((kind for kind, known in FORMATS.items() if suffix in known.suffixes), None)


def detect_format(file: SourceFile | Path) -> str:
    """Return the format of a file by its name and its first bytes, which must agree.

    Raises :class:`TraceError` for an empty file, one that nothing recognises, or one whose name
    states another format than it holds; ``format=`` overrides.
    """
    if isinstance(file, Path):
        file = SourceFile(file, file.name)
    head = head_of(file)
    if not head.data:
        raise TraceError(f"{file.name} is empty: it holds no fix.", hint="Is it the right file?")
    held = next((kind for kind, known in FORMATS.items() if known.recognises(head)), None)
    guaranteed = format_of_name(file.name)
    if held is None:
        if guaranteed != "csv":
            raise _unknown(file.name, head)
        if b"\0" in head.data:
            raise TraceError(
                f"{file.name} is named as CSV but is not text.", hint="Is it the right file?"
            )
        return "csv"
    fitting = (*FORMATS[held].suffixes, *FORMATS[held].other_suffixes)
    if guaranteed is not None and file.suffix not in fitting:
        raise TraceError(
            f"must be given: {file.name} is named as {guaranteed} but looks like {held}.",
            parameter="format",
        )
    return held


def head_of(file: SourceFile) -> Head:
    """Return the first bytes of a file."""
    with file.open() as opened:
        return Head(opened.read(HEAD_BYTES))


def _unknown(name: str, head: Head) -> TraceError:
    kind = "JSON" if head.is_json else "XML" if head.is_xml else None
    sought = [
        f"{known.name} ({known.recognised_by})"
        for known in FORMATS.values()
        if kind is None or kind in known.recognised_by
    ]
    what = f"begins like {kind}, but of no kind that is" if kind else "is of none of the formats"
    return TraceError(
        f"must be given: {name} {what} known. Looked for: {'; '.join(sought)}.",
        parameter="format",
        hint="Is it the right file?",
    )
