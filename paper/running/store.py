"""Where results are kept: one line per finished job, in a file that only grows.

A line that a crash left unfinished is cut off when the file is opened again. Lines that other
source wrote are not used: it may have computed something else. The file
belongs to one process at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from paper.running.jobs import Job, Result, Results
from paper.running.provenance import source_digest
from priste.atomic_files import take_lock
from priste.errors import StateError

STORE = "results.jsonl"


class Store:
    """The results of a folder; use it in a ``with`` statement."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / STORE
        self._by_digest: dict[str, Result] = {}
        self._seconds: dict[str, float] = {}
        self._file = self._path.open("a+b")
        try:
            if not take_lock(self._file.fileno(), self._path):
                raise StateError(
                    f"Another process is writing to {str(self._path)!r}. Wait for it, or choose "
                    "another folder."
                )
            self._read()
        except BaseException:
            self._file.close()
            raise

    @property
    def results(self) -> Results:
        """All finished jobs."""
        return Results(self._by_digest)

    def seconds(self, jobs: Iterable[Job]) -> float:
        """Return how many seconds finished jobs took together, each in its process."""
        return sum(self._seconds.get(digest, 0.0) for digest in {job.digest for job in jobs})

    def add(self, job: Job, result: Result, seconds: float) -> None:
        """Keep a result; it is on the disk when this returns, unless the machine itself fails."""
        record = {
            "job": job.digest,
            "source": source_digest(),
            "kind": job.kind,
            "parameters": job.parameters,
            "result": result,
            "seconds": seconds,
        }
        self._file.write(json.dumps(record).encode() + b"\n")
        self._file.flush()
        self._take(record)

    def _read(self) -> None:
        self._file.seek(0)
        good = 0
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                self._take(record)
            except (ValueError, KeyError, TypeError) as problem:
                raise StateError(
                    f"Line {number} of {str(self._path)!r} is no result: {problem}. It was left as "
                    "it is; move it away to begin anew."
                ) from problem
            good += len(line)
        if good < os.path.getsize(self._path):
            self._file.truncate(good)
        self._file.seek(0, os.SEEK_END)

    def _take(self, record: dict[str, Any]) -> None:
        if record.get("source", "another") == source_digest():
            self._by_digest[record["job"]] = record["result"]
            self._seconds[record["job"]] = record["seconds"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
