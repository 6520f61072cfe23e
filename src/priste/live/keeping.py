"""The state folder of one person: what must outlive the process, and no true location.

``stream.json``    where the stream begins and what it was begun under; written once
``NNNNNN.journal`` the Protector's journal; a change of events begins the next number
``latest.json``    the point that apps were last given

All files are private (0600, the folder 0700) and written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from priste.atomic_files import write_file
from priste.errors import StateError
from priste.live.point import Point
from priste.policy import Policy
from priste.release.stream_file.checkpoint import checkpoint_of

_VERSION = 1


class StateFolder:
    """The files of one stream."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def origin(self) -> int | None:
        """Return the step at which the stream begins; None before it has begun."""
        found = self._read("stream.json")
        if found is None:
            return None
        if type(origin := found.get("origin")) is not int:
            raise self._damaged("stream.json")
        return origin

    def begin(self, policy: Policy, origin: int) -> None:
        """Write down where a stream begins, and what cannot change while it goes on."""
        ground = {"version": _VERSION, "origin": origin, "ground": ground_of(policy)}
        self._write("stream.json", ground)

    def check_ground(self, policy: Policy) -> None:
        """Raise StateError if the policy changed in more than its events."""
        found = self._read("stream.json")
        if found is None or found.get("ground") == ground_of(policy):
            return
        raise StateError(
            f"The stream in {str(self.folder)!r} was begun on another map, clock, mobility model, "
            "adversary, mechanism or calibrator. Only events and guarantees may change while a "
            "stream goes on: undo the change, or begin a new stream in another state folder. "
            "Releases of both about the same time together may tell more than either guarantees."
        )

    def journal(self) -> Path | None:
        """Return the newest journal; older ones were left by a crash and hold less."""
        found = sorted(self.folder.glob("[0-9]*.journal"))
        return found[-1] if found else None

    def next_journal(self) -> Path:
        """Return the path of the journal after the newest."""
        newest = self.journal()
        number = 0 if newest is None else int(newest.stem) + 1
        return self.folder / f"{number:06d}.journal"

    def drop_old_journals(self) -> None:
        """Remove journals whose releases the newest holds as well."""
        for path in sorted(self.folder.glob("[0-9]*.journal"))[:-1]:
            checkpoint_of(path).unlink(missing_ok=True)
            path.unlink()

    def latest(self) -> Point | None:
        """Return the point that apps were last given."""
        found = self._read("latest.json")
        if found is None:
            return None
        try:
            point = Point(**{**found, "time": datetime.fromisoformat(found["time"])})
            point.seconds, point.clock, float(point.lat + point.lon + point.accuracy)
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise self._damaged("latest.json") from problem
        return point

    def keep_latest(self, point: Point) -> None:
        """Write down a point before anybody is given it."""
        self._write(
            "latest.json",
            {
                "person": point.person,
                "step": point.step,
                "time": point.time.isoformat(),
                "lat": point.lat,
                "lon": point.lon,
                "accuracy": point.accuracy,
            },
        )

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.folder / name
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, RecursionError) as problem:
            raise self._damaged(name) from problem

    def _damaged(self, name: str) -> StateError:
        path = self.folder / name
        return StateError(
            f"The file {str(path)!r} is damaged. It was left as it is; restore it from a copy."
        )

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_file(self.folder / name, json.dumps(content), overwrite=True)


def ground_of(policy: Policy) -> str:
    """Return a digest of what a stream keeps for life: all of a policy but its events."""
    parts = [
        policy.grid.to_dict(),
        [policy.timeline.start.isoformat(), str(policy.timeline.step), str(policy.timeline.zone)],
        [policy.rule, policy.outside],
        [model.fingerprint() for model in policy.models],
        policy.chosen_adversary.adversary.describe(),
        policy.mechanism.describe(),
        policy.calibrator.describe(),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
