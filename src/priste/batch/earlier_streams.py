"""The streams that the register names, read from the files of each command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from priste.batch.gathering import place_of
from priste.batch.parts import checked_bytes, journals_in
from priste.batch.workspace import MANIFEST, part_name, read_manifest
from priste.errors import StateError
from priste.policy import Policy
from priste.register import KeptStream, Released
from priste.register.continued import CannotGoOn, step_of_clock

LIVE = "stream.json"
"""The file that identifies the state folder of a person in priste live."""


class ReleasedBefore(StateError):
    """Fixes were released before, and drawing again would reveal more than the guarantee allows."""

    def __init__(self, user: str | None, place: str, under: str) -> None:
        self.reason = f"some of these locations were released under {under}, see {place!r}"
        super().__init__(
            f"{_whose(user)} were released before, under {under}: see {place!r}. Both releases "
            "together may reveal more than is guaranteed, so nothing was drawn. Hand out the first "
            "release. If nothing of it was or will be handed out, remove it and use "
            "--beside-earlier-releases."
        )


SAME_CLOCK = (
    "Use the map and the step of the earlier policy, and a clock that goes on where it ended."
)
"""What to do where a stream is there, and these locations do not fit it."""


class AnotherStream(StateError):
    """Something was released about the same person, and these locations cannot be added to it."""

    def __init__(
        self, user: str | None, place: str, reason: str, way_out: str = SAME_CLOCK
    ) -> None:
        self.reason = f"{reason}, see {place!r}"
        name = "" if user is not None else " If this is another person, name them (--as-user)."
        super().__init__(
            f"{_whose(user)} cannot be added to what was released about the same person before "
            f"(see {place!r}): {reason}. The guarantee is about one stream per person: two streams "
            f"together may reveal more. {way_out}{name} To release them as a second stream, "
            "without a guarantee about both together, use --beside-earlier-releases."
        )


def _whose(user: str | None) -> str:
    return "Some of these locations" if user is None else f"Locations of {user}"


def check_goes_on(
    user: str | None,
    found: Sequence[Released],
    past: KeptStream,
    policy: Policy,
    cells: Sequence[int | None],
) -> None:
    """Refuse true cells of a policy's clock for steps that a stream can no longer release.

    ``found`` are the streams of the person in the register, of which the last is ``past``.
    """
    place = found[-1].place
    try:
        before = step_of_clock(policy, past)
    except CannotGoOn as problem:
        raise AnotherStream(user, place, problem.reason) from None
    held = [step + before for step, cell in enumerate(cells) if cell is not None]
    if any(step < 0 for step in held):
        raise AnotherStream(user, place, "some of these days are before its first step")
    if any(each.same_fixes for each in found):
        return
    if any(step < len(past.records) for step in held):
        raise AnotherStream(
            user, place, "it has released steps of the same time, from other locations"
        )


@dataclass(frozen=True)
class Missing:
    """Why a stream that was begun cannot be read, and what to do."""

    reason: str
    way_out: str = "Bring the files of that run back."


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

    def latest(
        self,
        user: str | None,
        found: Sequence[Released],
        own: str = "",
        mine: KeptStream | None = None,
    ) -> KeptStream | None:
        """Return all that was released about a user so far, None if nothing.

        ``found`` are the streams under the user's name in the order in which they were written
        down, and ``mine`` is that of the place ``own``. The last one holds everything before it,
        or else streams were released side by side.
        """
        held: list[tuple[str, KeptStream | Missing]] = []
        for place in (each.place for each in found):
            kept = mine if place == own else self.at(place, user)
            if kept is not None:
                held.append((place, kept))
        if not held:
            return None
        last, past = held[-1]
        if isinstance(past, Missing):
            raise AnotherStream(user, last, past.reason, past.way_out)
        for other, kept in held:
            if not isinstance(kept, Missing) and not kept.begins(past):
                raise AnotherStream(
                    user, other, f"another one was released beside it, see {last!r}"
                )
        return past

    def _of_run(self, folder: Path, place: str, user: str | None) -> KeptStream | Missing | None:
        manifest = read_manifest(folder / MANIFEST)
        if manifest.head is None:
            return Missing("its journal is gone")
        number = place_of(user) % int(manifest.head["chunks"])
        if number not in manifest.parts:
            return Missing("that run was stopped", "Run it again to finish it.")
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
