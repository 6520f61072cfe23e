"""How a service is doing: one private file with numbers and words, no true location."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priste.atomic_files import write_file
from priste.errors import StateError

if TYPE_CHECKING:
    from priste.live.retrying import Line
    from priste.live.service import Person, Service

FILE = "status.json"
STALE = 30.0
"""Seconds after which a status that was not renewed is one of a service that is gone."""


def write_status(service: Service, *, running: bool = True) -> None:
    """Write the status of a service into its state folder."""
    content = {
        "written": datetime.now(UTC).isoformat(),
        "started": service.started.isoformat(),
        "running": running,
        "process": os.getpid(),
        "port": service.port,
        "people": {person.name: _person(person) for person in service.people.values()},
    }
    write_file(service.settings.state / FILE, json.dumps(content, indent=1), overwrite=True)


def _person(person: Person) -> dict[str, Any]:
    stream = person.stream
    latest = person.latest
    return {
        "state": person.state,
        "next_step": stream.next_step,
        "latest": None if latest is None else latest.clock,
        "fixes": {"kept": stream.counts.kept, "refused": stream.counts.refused},
        "steps": {
            "released": stream.counts.released,
            "covered": stream.counts.covered,
            "silent": stream.counts.silent,
        },
        "events": person.told()["events"],
        "in": [_line(line) for line in person.inputs],
        "out": [_line(outlet.line) for outlet in person.outlets],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "address": line.address,
        "state": line.state,
        "messages": line.messages,
        "refused": dict(line.reasons),
        "waiting": line.waiting,
        "dropped": line.dropped,
    }


def read_status(state: Path) -> dict[str, Any]:
    """Return the last status that a service wrote; ``running`` is False for one that is gone."""
    path = state / FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        written = datetime.fromisoformat(found["written"])
        age = (datetime.now(UTC) - written).total_seconds()
    except FileNotFoundError:
        raise StateError(
            f"There is no service in {str(state)!r}: no status was ever written. Start one with "
            "priste live, or name its folder with --state."
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise StateError(f"The status in {str(path)!r} cannot be read.") from problem
    found["running"] = bool(found.get("running")) and age <= STALE
    return found
