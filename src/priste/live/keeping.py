"""The state folder of one person: what must outlive the process. It holds no true location.

``stream.json``    whose stream it is, where it begins and what it was begun under
``NNNNNN.journal`` the Protector's journal; a change of events begins the next number
``latest.json``    the point that apps were last given
``own.model``      the model of the person's earlier days, where the policy guards against it

Journals are bound to the person and to the random name that stream.json gives the stream. All files
are private (0600, the folder 0700) and appear complete or not at all.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from priste.atomic_files import private_folder, remove_abandoned_drafts, write_file
from priste.errors import StateError
from priste.live.point import Point
from priste.mobility import MarkovModel
from priste.policy import Policy
from priste.release.stream_file.checkpoint import checkpoint_of

STREAM = "stream.json"
OWN_MODEL = "own.model"
_VERSION = 2


class StateFolder:
    """The files of one person's stream.

    Raises OutputError for a folder that is a link, belongs to somebody else or lets others in.
    """

    def __init__(self, folder: Path, person: str) -> None:
        self.folder = private_folder(folder)
        self.person = person
        remove_abandoned_drafts(folder)  # drafts of a process that was killed

    @property
    def binding(self) -> dict[str, str]:
        """What the journals of this folder belong to; StateError before the stream has begun."""
        found = self._begun()
        if found is None or not isinstance(stream := found.get("stream"), str):
            raise self._damaged(STREAM)
        return {"person": self.person, "stream": stream}

    def origin(self, policy: Policy) -> int | None:
        """Return the step at which the stream begins; None before it has begun.

        Raises StateError for the stream of another person, for a policy that changed in more than
        its events, and where a file of the stream is missing.
        """
        found = self._begun()
        if found is None:
            # A model is kept before the stream begins, so a crash may leave it by itself.
            left = [path.name for path in self.folder.iterdir() if path.name != OWN_MODEL]
            if left:
                raise self._refusal(
                    f"{STREAM} is missing, which says when its steps were, but {left[0]} is there"
                )
            return None
        if found.get("person") != self.person:
            raise self._refusal(f"it is not a stream of {self.person!r}")
        if type(origin := found.get("origin")) is not int:
            raise self._damaged(STREAM)
        if found.get("ground") != ground_of(policy):
            raise StateError(
                f"The stream in {str(self.folder)!r} was begun on another map, clock, mobility "
                "model, adversary, mechanism or calibrator",
                hint="Only events and guarantees may change while a stream goes on: undo the "
                "change, or begin a new stream in another state folder. Releases of both about "
                "the same time together may reveal more than either guarantees.",
            )
        if found.get("journal") and self.journal() is None:
            raise self._refusal("its journal is missing, so what was released is not known")
        return origin

    def begin(self, policy: Policy, origin: int) -> None:
        """Write down whose stream this is, where it begins, and what cannot change."""
        self._write(
            STREAM,
            {
                "version": _VERSION,
                "person": self.person,
                "stream": secrets.token_hex(16),
                "origin": origin,
                "start": (policy.timeline.time_of(0) + origin * policy.timeline.step).isoformat(),
                "step": policy.timeline.step // timedelta(microseconds=1),
                "ground": ground_of(policy),
                "journal": False,
            },
        )

    def has_journal(self) -> None:
        """Write down that a journal was begun: from now on one must be there."""
        found = self._begun()
        if found is not None and not found.get("journal"):
            self._write(STREAM, {**found, "journal": True})

    def _begun(self) -> dict[str, Any] | None:
        found = self._read(STREAM)
        if found is not None and found.get("version") != _VERSION:
            raise self._damaged(STREAM)
        return found

    def _refusal(self, reason: str) -> StateError:
        return StateError(
            f"The stream in {str(self.folder)!r} cannot be continued: {reason}",
            hint="Drawing again for the same steps could reveal more than is guaranteed, so "
            "nothing was drawn. Restore what was there, or choose another state folder for "
            "another stream.",
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

    def own_model(self) -> MarkovModel | None:
        """Return the model of the person's earlier days, if the stream was begun with one."""
        path = self.folder / OWN_MODEL
        return None if self._begun() is None or not path.exists() else MarkovModel.load(path)

    def keep_own_model(self, model: MarkovModel) -> None:
        """Keep the model of the person's earlier days, before the stream begins."""
        model.save(self.folder / OWN_MODEL)

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
        if point.person != self.person:
            raise self._refusal(f"latest.json is not a point of {self.person!r}")
        return point

    def keep_latest(self, point: Point) -> None:
        """Write down a point before it is given out."""
        self._write("latest.json", {**asdict(point), "time": point.time.isoformat()})

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
            f"The file {str(path)!r} is damaged",
            hint="It was left as it is; restore it from a copy.",
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
        policy.chosen_adversary.adversary.to_dict(),
        policy.mechanism.describe(),
        policy.calibrator.describe(),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
