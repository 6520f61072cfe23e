"""How a file's format is recognised: by its name and by its first bytes, which must agree."""

from __future__ import annotations

from pathlib import Path

from priste.errors import InvalidParameter, TraceError
from priste.traces.formats.contract import Head
from priste.traces.formats.format import Format
from priste.traces.formats.known import FORMATS

HEAD_BYTES = 16_384
"""How much of a file is looked at to recognise it."""


def format_named(name: str) -> Format:
    """Return the format of a name such as "gpx".

    >>> format_named("gpx")
    <Format.GPX: 'gpx'>
    """
    try:
        return Format(name)
    except ValueError:
        raise InvalidParameter(
            f"A 'format' must be one of {', '.join(Format)}. Got {name!r:.40}."
        ) from None


def format_of_name(path: Path) -> Format | None:
    """Return the format that a file's name guarantees, if any.

    >>> format_of_name(Path("walk.GPX"))
    <Format.GPX: 'gpx'>
    """
    suffix = path.suffix.lower()
    return next((kind for kind, known in FORMATS.items() if suffix in known.suffixes), None)


def detect_format(path: Path) -> Format:
    """Return the format of a file by its name and its first bytes, which must agree.

    Raises :class:`TraceError` for an empty file, one that nothing recognises, or one whose name
    guarantees something else than it holds; ``format=`` overrides.
    """
    head = head_of(path)
    if not head.data:
        raise TraceError(f"{path.name} is empty: it holds no fix.")
    held = next((kind for kind, known in FORMATS.items() if known.recognises(head)), None)
    guaranteed = format_of_name(path)
    if held is None:
        if guaranteed is not Format.CSV:
            raise TraceError(_unknown(path, head))
        if b"\0" in head.data:
            raise TraceError(f"{path.name} is named as CSV but is not text.")
        return Format.CSV
    fitting = (*FORMATS[held].suffixes, *FORMATS[held].other_suffixes)
    if guaranteed is not None and path.suffix.lower() not in fitting:
        raise TraceError(
            f"{path.name} is named as {guaranteed} but looks like {held}. State which with format=."
        )
    return held


def head_of(path: Path) -> Head:
    """Return the first bytes of a file."""
    try:
        with path.open("rb") as file:
            return Head(file.read(HEAD_BYTES))
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from None


def _unknown(path: Path, head: Head) -> str:
    kind = "JSON" if head.is_json else "XML" if head.is_xml else None
    sought = [
        f"{known.name} ({known.told_by})"
        for known in FORMATS.values()
        if kind is None or kind in known.told_by
    ]
    what = f"is {kind}, but of no kind" if kind else "looks like none of the formats"
    return (
        f"{path.name} {what} that is known. Looked for: {'; '.join(sought)}. "
        "If it is one of them, say so with format=."
    )
