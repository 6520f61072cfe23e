"""The files of one run: from any of them to the others, and to the input and the policy.

The folder of the run (private, next to the result) remembers where its input and its policy were.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from priste.atomic_files import write_file
from priste.batch.results import MANIFEST, Destination
from priste.batch.workspace import LEDGER_SUFFIX, refuse_changed_ledger
from priste.errors import InvalidParameter, LedgerError
from priste.release import Ledger, is_ledger, read_ledgers

SOURCES = "sources.json"
LEDGER_FOLDER = ".ledger"


@dataclass(frozen=True)
class Sources:
    """What a run was made of; ``reading`` are the options with which the input was read."""

    input: Path | None = None
    policy: Path | None = None
    places: Path | None = None
    place: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFiles:
    """The result of a run, its ledgers, which are one file or several, and its sources."""

    released: Path
    ledgers: tuple[Path, ...]
    sources: Sources

    def policy(self, given: Path | None) -> Path:
        """Return the policy that was given, or else that of the run."""
        return _needed(given, self.sources.policy, "policy", "-p", self.released)

    def input(self, given: Path | None) -> Path:
        """Return the input that was given, or else that of the run."""
        return _needed(given, self.sources.input, "input", "--truth or --input", self.released)

    def parts(self) -> tuple[Path, ...]:
        """Return the files of the result: itself, or the parts of a folder that protect wrote."""
        if not (self.released / MANIFEST).is_file():
            return (self.released,)
        return tuple(sorted(self.released.glob("part-*")))

    def read_ledgers(self) -> dict[str | None, Ledger]:
        """Return every user's ledger; StateError for one that was changed."""
        if not self.ledgers:
            raise LedgerError(
                f"There is no ledger beside {str(self.released)!r}",
                hint="Name a file or folder that protect wrote, or its ledger.",
            )
        found: dict[str | None, Ledger] = {}
        for path in self.ledgers:
            refuse_changed_ledger(path)
            found |= read_ledgers(path)
        return found


def files_of_run(given: Path) -> RunFiles:
    """Return the files of the run that a result or a ledger belongs to, whichever is given."""
    name = given.name
    base = given
    for suffix in (LEDGER_SUFFIX, LEDGER_FOLDER):
        if name.endswith(suffix) and len(name) > len(suffix):
            base = given.with_name(name.removesuffix(suffix))
            break
    ledgers = tuple(_ledgers(base))
    if not ledgers and is_ledger(given):
        ledgers = (given,)
    if not ledgers and not given.exists():
        raise InvalidParameter(
            f"There is no file or folder {str(given)!r}", hint="Is the name right?"
        )
    return RunFiles(base, ledgers, _read_sources(Destination(base).workspace / SOURCES))


def _ledgers(base: Path) -> Iterator[Path]:
    if not base.name:
        return
    single, folder = (base.with_name(base.name + s) for s in (LEDGER_SUFFIX, LEDGER_FOLDER))
    if single.is_file():
        yield single
    elif folder.is_dir():
        yield from sorted(folder.glob("part-*.csv"))


def remember_sources(
    released: Path,
    *,
    source: Path,
    policy: Path,
    reading: Mapping[str, Any],
    places: Path | None = None,
    place: Sequence[str] = (),
) -> None:
    """Write into the folder of a run what it was made of, readable only by its owner."""
    told = {
        "input": str(source.resolve()),
        "policy": str(policy.resolve()),
        "places": None if places is None else str(places.resolve()),
        "place": list(place),
        "reading": dict(reading),
    }
    path = Destination(released).workspace / SOURCES
    write_file(path, json.dumps(told, indent=1) + "\n", overwrite=True)


def _read_sources(path: Path) -> Sources:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        places = told["places"]
        return Sources(
            Path(told["input"]),
            Path(told["policy"]),
            None if places is None else Path(places),
            tuple(told["place"]),
            told["reading"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return Sources()


def _needed(given: Path | None, found: Path | None, what: str, option: str, run: Path) -> Path:
    if given is not None:
        return given
    if found is None:
        raise InvalidParameter(
            f"Nothing beside {run.name!r} tells where the {what} of its run is",
            hint=f"Give it with {option}.",
        )
    if not found.exists():
        raise InvalidParameter(
            f"The {what} of the run of {run.name!r} was {str(found)!r}, which is gone",
            hint=f"Give it with {option}.",
        )
    return found
