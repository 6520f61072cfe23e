"""The owners of the files of a folder, if only their names show them.

A file that is named by a date is a day, a month or an outing of somebody, not a person: when all
files of a folder are, each belongs to the person that the rest of its path names.
``ada-2024-05-01`` is Ada's, ``bob/20240501`` Bob's, and ``2024-05-01`` that of the person of the
folder. ``track (1)`` is what a browser calls the second download of ``track``: the two belong to
one person. Otherwise each file is a person of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import PurePath

_MONTHS = "january february march april may june july august september october november december"
_NAMED_MONTH = re.compile(
    rf"(?<!\d)(?:19|20)\d\d[-_. ]?(?:{'|'.join(_MONTHS.split())})(?![a-z])", re.IGNORECASE
)
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_. ]?)(\d\d)\2(\d\d)(?=\D|\d{4}(?:\d\d)?(?!\d)|$)")
_TIME = re.compile(
    r"^(?:[T_\- ]*|(?:[ _-]at[ _-]))\d{1,2}[-:._h]?\d\d(?:[-:._m]?\d\d)?(?:\.\d+)?"
    r"[-_ ]?(?:am|pm|Z|UTC|[+-]\d{2}:?\d{2})?(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_COPY = re.compile(r"[ _]?(?:\(\d{1,3}\)| - Copy(?: \(\d{1,3}\))?)$", re.IGNORECASE)
_EDGES = "-_. ,()[]"


def owners_by_name(files: Sequence[PurePath], folder: str) -> tuple[list[str], str | None]:
    """Return the owner of each file of a folder, and which part of the names says so (None: none).

    ``files`` are paths from the folder, whose name is that of a person without another.

    >>> owners_by_name([PurePath("2024-05-01.gpx"), PurePath("2024-05-02_0815.gpx")], "ada")
    (['ada', 'ada'], 'date')
    >>> owners_by_name([PurePath("bob/run 20240501.gpx"), PurePath("eve 20240501.gpx")], "club")
    (['bob/run', 'eve'], 'date')
    >>> owners_by_name([PurePath("track.gpx"), PurePath("track (1).gpx")], "ada")
    (['track', 'track'], 'number of a copy')
    >>> owners_by_name([PurePath("ada.gpx"), PurePath("2024-05-01.gpx")], "club")
    (['ada', '2024-05-01'], None)
    """
    stems = [path.with_suffix("") for path in files]
    originals = [path.with_name(_COPY.sub("", path.name) or path.name) for path in stems]
    rests = [_without_date(path.name) for path in originals]
    if len(files) > 1 and all(rest is not None for rest in rests):
        owners = []
        for path, rest in zip(originals, rests, strict=True):
            # A folder of a year or a month says when, not who.
            above = [part for part in path.parent.parts if not re.fullmatch(r"[\d\-_. ]+", part)]
            owners.append("/".join([*above, *([rest] if rest else [])]) or folder)
        return owners, "date"
    is_copied = len(set(originals)) < len(files)
    chosen = originals if is_copied else stems
    return [path.as_posix() for path in chosen], "number of a copy" if is_copied else None


def _without_date(stem: str) -> str | None:
    """Return a file's name without the date and time in it, None if there is no date."""
    month = _NAMED_MONTH.search(stem)
    if month is not None:
        return (stem[: month.start()] + stem[month.end() :]).strip(_EDGES)
    for day in _DAY.finditer(stem):
        year, _, number, of_month = day.groups()
        try:
            date(int(year), int(number), int(of_month))
        except ValueError:
            continue
        after = _TIME.sub("", stem[day.end() :])
        before, rest = stem[: day.start()].strip(_EDGES), after.strip(_EDGES)
        return "-".join(part for part in (before, rest) if part)
    return None
