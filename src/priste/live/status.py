"""The state of a service: numbers and words for its owner, no true location.

The status tells which steps had a fix and which did not, so it is private: a file of mode 0600 in a
folder of mode 0700, and a page that asks for the owner's token. Fixes of guarded hours are in
neither.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priste.atomic_files import take_lock, write_file
from priste.errors import OutputError, StateError

if TYPE_CHECKING:
    from priste.live.retrying import Line
    from priste.live.service import Person, Service

FILE = "status.json"
LOCK = "service.lock"
"""The lock that a running service holds, so that its end is seen at once."""


def status_of(service: Service, *, running: bool = True) -> dict[str, Any]:
    """Return the status of a service."""
    return {
        "written": datetime.now(UTC).isoformat(),
        "started": service.started.isoformat(),
        "running": running,
        "process": os.getpid(),
        "url": service.url,
        "http": [_line(line) for line in service.doors.values() if line.messages or line.refused],
        "people": {person.name: _person(person) for person in service.people.values()},
    }


def write_status(service: Service, *, running: bool = True) -> None:
    """Write the status of a service into its state folder."""
    content = json.dumps(status_of(service, running=running), indent=1)
    write_file(service.settings.state / FILE, content, overwrite=True)


def _person(person: Person) -> dict[str, Any]:
    counts = person.stream.counts
    latest = person.latest
    return {
        "state": person.state,
        "guarded_hours": person.in_guarded_hours,
        "next_step": person.stream.next_step,
        "latest": None if latest is None else latest.clock,
        "fixes": {
            "kept": counts.kept,
            "last": counts.last_fix,
            "refused": dict(counts.reasons),
        },
        "steps": {
            "released": counts.released,
            "covered": counts.covered,
            "covers_since": counts.covers_since,
            "guarded": counts.guarded,
            "silent": counts.silent,
        },
        "adversary": person.guarantee()["adversary"],
        "events": person.leakage()["events"],
        "in": [_line(line) for line in person.inputs],
        "out": [_line(outlet.line) for outlet in person.outlets],
    }


def rows_of(person: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the status of a person as rows of a label and a text, for any reader."""
    steps, fixes = person["steps"], person["fixes"]
    went = ("released", "covered", "silent")
    counted = ", ".join(f"{steps[what]} {what}" for what in went)
    found = [
        ("state", person["state"]),
        ("latest release", person["latest"] or "none yet"),
        ("last fix", fixes["last"] or "none yet"),
        ("fixes", f"{fixes['kept']} kept, {sum(fixes['refused'].values())} refused"),
        *(("", f"{count} refused: {reason}") for reason, count in fixes["refused"].items()),
        ("steps", f"{counted}, {steps['guarded']} in guarded hours"),
    ]
    if steps["covers_since"]:
        found.append(("covers only since", steps["covers_since"]))
    if person["guarded_hours"]:
        now = "now: releases say nothing, and fixes are neither looked at nor counted"
        found.append(("guarded hours", now))
    return found


def remarks_on(line: dict[str, Any]) -> list[str]:
    """Return remarks on a source or sink, to be shown next to its state."""
    found = [f"{line[what]} {what}" for what in ("waiting", "dropped") if line[what]]
    found += [f"last release {line['last']}"] if line["last"] else []
    return found + [f"{count} refused: {reason}" for reason, count in line["refused"].items()]


def _line(line: Line) -> dict[str, Any]:
    return {
        "address": line.address,
        "state": line.state,
        "messages": line.messages,
        "refused": dict(line.reasons),
        "waiting": line.waiting,
        "dropped": line.dropped,
        "last": line.last,
    }


def lock_state(state: Path) -> int:
    """Lock a state folder for a service and return the handle; StateError if one is running."""
    handle = os.open(state / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if take_lock(handle, state / LOCK):
            return handle
    except OutputError as problem:
        os.close(handle)
        raise StateError(str(problem), hint=problem.hint) from problem
    os.close(handle)
    raise StateError(
        f"A priste live is running in {str(state)!r} already",
        hint="Stop it, or choose another --state.",
    )


def _is_running(state: Path) -> bool:
    """Return whether a service holds the lock of a state folder."""
    try:
        os.close(lock_state(state))
    except StateError:
        return True
    except OSError:
        return False
    return False


def read_status(state: Path) -> dict[str, Any]:
    """Return the last status of a service; ``running`` is False if it has ended."""
    path = state / FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        datetime.fromisoformat(found["written"])
    except FileNotFoundError:
        raise StateError(
            f"There is no service in {str(state)!r}: no status was ever written",
            hint="Start one with priste live, or name its folder with --state.",
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise StateError(
            f"The status in {str(path)!r} cannot be read.",
            hint="Stop the service and start it again: it writes a new one.",
        ) from problem
    found["running"] = bool(found.get("running")) and _is_running(state)
    return found
