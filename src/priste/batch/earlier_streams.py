"""The streams that the register names, read from where each door keeps them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from priste.batch.gathering import place_of
from priste.batch.parts import checked_bytes, journals_in
from priste.batch.workspace import MANIFEST, part_name, read_manifest
from priste.errors import StateError
from priste.register import KeptStream

LIVE = "stream.json"
"""The file by which the state folder of a person in priste live is known."""


@dataclass(frozen=True)
class Missing:
    """Why a stream cannot be read that was begun."""

    reason: str


class EarlierStreams:
    """Reads streams one after the other; the part that was read last is kept."""

    def __init__(self) -> None:
        self._read: tuple[str, int, dict[str | None, bytes]] = ("", -1, {})

    def at(self, place: str, user: str | None) -> KeptStream | Missing | None:
        """Return the stream of a user that is kept at a place, None if nothing was released.

        A place is the folder of a run, the state folder of a person in priste live, or a file.
        """
        path = Path(place)
        try:
            if path.is_file():
                return KeptStream.read(path.read_bytes(), path)
            if (path / LIVE).is_file():
                return _live(path)
            return self._of_run(path, place, user)
        except (OSError, ValueError, KeyError, TypeError) as problem:
            return Missing(f"the stream cannot be read ({type(problem).__name__})")

    def _of_run(self, folder: Path, place: str, user: str | None) -> KeptStream | Missing | None:
        manifest = read_manifest(folder / MANIFEST)
        if manifest.head is None:
            return Missing("its journal is gone")
        number = place_of(user) % int(manifest.head["chunks"])
        if number not in manifest.parts:
            return Missing("its end is missing: run it again to finish it")
        if self._read[:2] != (place, number):
            part = manifest.parts[number]
            try:
                data = checked_bytes(folder / part_name(number, part.generation), part.checksum)
            except StateError:
                return Missing("its journal is gone or was changed")
            self._read = (place, number, journals_in(data))
        journal = self._read[2].get(user)
        return None if journal is None else KeptStream.read(journal, folder)


def _live(folder: Path) -> KeptStream | None:
    """Return the stream of a state folder of priste live; StateError while it is running."""
    begun = json.loads((folder / LIVE).read_text(encoding="utf-8"))
    journals = sorted(folder.glob("[0-9]*.journal"))
    if not journals and not begun["journal"]:
        return None
    start = datetime.fromisoformat(begun["start"])
    return KeptStream.of_journal(journals[-1], start, timedelta(microseconds=begun["step"]))
