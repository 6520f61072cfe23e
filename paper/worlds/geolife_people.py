"""People of the Geolife data set: who has recorded most, and where they were, step by step.

The data set is read from a folder that the user of priste names; nothing of it is kept on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from paper.worlds.recorded import Cut, Stretches
from priste.errors import TraceError
from priste.traces import Trace, read_traces

CENTRE = (39.98, 116.32)
"""Latitude and longitude of the middle of the map: Haidian, the north-west of Beijing."""

_MOST_READINGS = 256


@dataclass(frozen=True)
class GeolifeUser:
    """A user of the data set, by the name of the folder, with the amount of data in bytes."""

    name: str
    folder: Path
    size: int


def geolife_users(folder: str | Path) -> tuple[GeolifeUser, ...]:
    """Return the users below a folder, most data first (bytes of ``.plt`` files), then by name.

    ``folder`` is ``Data``, the folder that holds ``Data``, or any folder of folders with
    ``Trajectory/*.plt`` inside. Users without such a file are none. Nothing is read.
    """
    root = Path(folder)
    if not root.is_dir():
        raise TraceError(
            f"There is no folder {str(root)!r}. Name the folder of Geolife that holds 'Data'."
        )
    if (root / "Data").is_dir():
        root = root / "Data"
    found = []
    for person in root.iterdir():
        files = [
            file
            for file in (person / "Trajectory").glob("*")
            if file.suffix.lower() == ".plt" and file.is_file()
        ]
        if files:
            size = sum(file.stat().st_size for file in files)
            found.append(GeolifeUser(person.name, person, size))
    if not found:
        raise TraceError(
            f"The folder {str(folder)!r} holds no user of Geolife, that is no "
            "'<user>/Trajectory/*.plt'. Name the folder that holds 'Data'."
        )
    return tuple(sorted(found, key=lambda user: (-user.size, user.name)))


def person_of_rank(
    folder: str | Path, rank: int, cut: Cut, *, steps: int, windows: int
) -> tuple[GeolifeUser, Stretches]:
    """Return the user of a rank, from 0, and the stretches on the map around :data:`CENTRE`.

    Ranked are the users with at least ``windows`` windows of ``steps`` steps on that map, in the
    order of :func:`geolife_users`; users are read in that order until the rank is reached. The
    answer is a pure function of the files and the arguments. A user's files are read once per
    process and length of a step.

    Raises :class:`TraceError` when there are not that many such users.
    """
    users = geolife_users(folder)
    suitable = 0
    for user in users:
        stretches = _stretches_of(user.folder, cut)
        if stretches.windows(steps) >= windows:
            if suitable == rank:
                return user, stretches
            suitable += 1
    raise TraceError(
        f"A user of Geolife needs at least {windows} windows of {steps} consecutive steps on the "
        f"map ({cut}, around {CENTRE[0]} N {CENTRE[1]} E). {suitable} of {len(users)} users have "
        f"them, so there is none of rank {rank} (ranks count from 0). Take a lower rank, a larger "
        "map, a longer 'longest_gap', or ask for fewer 'steps' or 'windows'."
    )


@lru_cache(maxsize=_MOST_READINGS)
def _stretches_of(folder: Path, cut: Cut) -> Stretches:
    return cut.stretches(_fixes_of(folder, cut.minutes), cut.grid_around(*CENTRE))


@lru_cache(maxsize=_MOST_READINGS)
def _fixes_of(folder: Path, minutes: float) -> Trace:
    # Only what decides the cells is kept, so that other maps need no second reading.
    return Cut(minutes=minutes).essential(read_traces(folder, format="geolife").one())
