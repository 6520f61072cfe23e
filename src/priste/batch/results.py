"""From parts to what may be handed out: one file in the input's format, or a folder of files.

A folder holds one file per part and ``manifest.json``, which names the policy by its fingerprint
and every file with its checksum. The manifest is written last: a folder without it is not finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import priste
from priste.atomic_files import check_writable, write_file
from priste.batch.parts import Ledgers, Parts, ReleasedCells
from priste.batch.workspace import LEDGER_SUFFIX, WORKSPACE_SUFFIX, file_digest
from priste.errors import OutputError, OutputExists
from priste.policy import Policy
from priste.release import write_ledgers
from priste.traces import Trace, Traces, WritingReport, write_released, write_traces
from priste.traces.fixes import microseconds
from priste.traces.points import ReleasedPoints

MANIFEST = "manifest.json"
FORMAT, VERSION = "priste-released", 1
USERS_PER_FILE = 500
"""How many users a file of a folder has at least, but for the last."""

_TABLES = ("csv", "parquet")


@dataclass(frozen=True)
class Destination:
    """Where results go: one file, or ``in_parts`` a folder with tables of these ``columns``."""

    path: Path
    columns: Mapping[str, str] | None = None

    @classmethod
    def of(cls, path: Path, traces: Traces) -> Destination:
        """Return what a path means for a source.

        A table that names its users is written in parts where a folder is wanted: for a source
        that is one, and for a name without a suffix.
        """
        wanted = traces.source.is_folder or not path.suffix or path.is_dir()
        if not wanted or traces.format not in _TABLES:
            return cls(path)
        named = traces.columns()
        parts = {part: getattr(named, part) for part in ("user", "time", "lat", "lon", "geometry")}
        columns = {part: name for part, name in parts.items() if name is not None}
        return cls(path, columns if "user" in columns else None)

    @property
    def in_parts(self) -> bool:
        """Whether the result is a folder with a file per part."""
        return self.columns is not None

    @property
    def ledger(self) -> Path:
        """The ledger next to the result: a file, or a folder of files where the result is one."""
        return beside(self.path, ".ledger" if self.in_parts else LEDGER_SUFFIX)

    @property
    def workspace(self) -> Path:
        """The private folder of the run, next to the result."""
        return beside(self.path, WORKSPACE_SUFFIX)

    def check(self, *, folder: bool, overwrite: bool) -> None:
        """Raise an error before any work is done if a result could not be written."""
        kept = (
            "Choose another name, or overwrite it (--overwrite, or overwrite=True): what was drawn "
            "is not drawn again."
        )
        try:
            for path in (self.path, self.ledger) if self.in_parts else (self.path,):
                if not (self.in_parts and overwrite and _is_ours(path)):
                    check_writable(path, overwrite=overwrite, folder=self.in_parts or folder)
            if not self.in_parts:
                check_writable(self.ledger, overwrite=True)
        except OutputExists as error:
            raise OutputExists(error.path, kept, what=error.what) from None


def beside(path: Path, suffix: str) -> Path:
    """Return the path next to a result with a suffix behind its name."""
    if not path.name:
        raise OutputError(
            f"{str(path)!r} is a folder without a name of its own",
            hint="Give the name of the released file.",
        )
    return path.with_name(path.name + suffix)


def write_one(
    parts: Parts,
    traces: Traces,
    destination: Path,
    policy: Policy,
    *,
    overwrite: bool,
) -> WritingReport:
    """Write all parts as one result in the format of the source."""
    return write_released(
        traces,
        destination,
        ReleasedCells(parts),
        policy.timeline,
        policy.grid,
        overwrite=overwrite,
    )


def write_in_parts(
    parts: Parts,
    traces: Traces,
    destination: Destination,
    policy: Policy,
    *,
    sampled: float,
) -> WritingReport:
    """Write a file of releases, and one of ledgers, for each part; then the manifests of both."""
    suffix = ".parquet" if traces.format == "parquet" else ".csv"
    folders = destination.path, destination.ledger
    for folder in folders:
        folder.mkdir(mode=0o755, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
    listed: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []
    for number, part in enumerate(parts.gathered(USERS_PER_FILE)):
        path = destination.path / f"part-{number:05}{suffix}"
        traced = _Traced(part, policy)
        write_traces(traced, path, traces.format, columns=destination.columns, overwrite=True)
        ledger = destination.ledger / f"part-{number:05}.csv"
        write_ledgers(ledger, tuple(policy.events), Ledgers(part))
        for files, each in zip(listed, (path, ledger), strict=True):
            entry = {"file": each.name, "sha256": file_digest(each), "users": part.totals().users}
            files.append({**entry, "releases": traced.written})
    for folder, files in zip(folders, listed, strict=True):
        _remove_others(folder, {entry["file"] for entry in files})
        told = _manifest(policy, files, parts.totals().problems, sampled)
        write_file(folder / MANIFEST, told, private=False)
    written = sum(entry["releases"] for entry in listed[0])
    return WritingReport(str(destination.path), written)


class _Traced:
    """The releases of a part as traces, which are counted as they are taken."""

    def __init__(self, part: Parts, policy: Policy) -> None:
        self._part, self._policy = part, policy
        self.written = 0

    def __iter__(self) -> Iterator[Trace]:
        cells = ReleasedCells(self._part)
        line = self._policy.timeline
        points = ReleasedPoints(cells, line, self._policy.grid)
        middles: list[int] = []
        for user in cells:
            places = points.of(user)
            steps = np.flatnonzero(~np.isnan(places[:, 0]))
            self.written += len(steps)
            if len(steps):
                unknown = range(len(middles), len(places))
                middles += [microseconds(line.middle_of(step)) for step in unknown]
                times = np.array([middles[step] for step in steps])
                yield Trace(user, times, places[steps, 0], places[steps, 1])


def _manifest(policy: Policy, files: list[dict[str, Any]], left_out: int, sampled: float) -> str:
    told = {
        "format": FORMAT,
        "version": VERSION,
        "policy": policy.fingerprint(),
        "guarantees": {name: event.guaranteed for name, event in policy.events.items()},
        "against": policy.chosen_adversary.words,
        "priste": priste.__version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "users": sum(entry["users"] for entry in files),
        "releases": sum(entry["releases"] for entry in files),
        "left_out": left_out,
        "sampled": sampled,
        "files": files,
    }
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def _is_ours(folder: Path) -> bool:
    """Return whether a folder holds nothing but what an earlier run wrote, finished or not."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    names = set(os.listdir(folder)) - {MANIFEST}
    return all(name.startswith(("part-", ".part-")) for name in names)


def _remove_others(folder: Path, names: set[str]) -> None:
    """Remove files of parts that there are no more, so that nobody takes them for results."""
    for path in folder.iterdir():
        if path.name.startswith("part-") and path.name not in names:
            path.unlink()


def rehearse(
    policy: Policy,
    traces: Traces,
    users: Mapping[str | None, tuple[int, ...]],
    place: Path,
) -> None:
    """Write the result with one cell everywhere: so errors come before any draw."""
    write_released(traces, place, users, policy.timeline, policy.grid)
