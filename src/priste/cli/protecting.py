"""``priste protect``: a file of true locations in, a released file and its ledger out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from priste.cli.console import progress
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.batch import BatchReport
    from priste.policy import Policy
    from priste.traces import Traces


@dataclass(frozen=True)
class Reading:
    """How a file of fixes is to be read, as options of a command state it."""

    format: str | None = None
    zone: str | None = None
    columns: tuple[str, ...] = ()

    def open(self, path: Path) -> Traces:
        """Open a source; ``columns`` are texts such as ``lat=y``."""
        from priste.traces import read_traces

        named = {}
        for text in self.columns:
            part, found, name = text.partition("=")
            if not found or not name:
                raise InvalidParameter(f"A --column is written PART=NAME, as lat=y. Got {text!r}.")
            named[part] = name
        return read_traces(path, self.format, columns=named or None, zone=self.zone)


@dataclass(frozen=True)
class Protection:
    """What a run made, and what it was made from."""

    policy: Policy
    traces: Traces
    batch: BatchReport


def protect(
    policy_path: Path,
    source: Path,
    destination: Path,
    *,
    reading: Reading | None = None,
    workers: int = 1,
    seed: int | None = None,
    keep: Sequence[str] = (),
    overwrite: bool = False,
) -> Protection:
    """Protect a file of fixes under a policy file; shows its progress on a terminal."""
    from priste.batch import protect_file
    from priste.policy import load_policy

    with progress("Reading the policy"):
        policy = load_policy(policy_path)
    traces = (reading or Reading()).open(source)
    with progress("Releasing") as tell:
        batch = protect_file(
            policy,
            traces,
            destination,
            workers=workers,
            seed=seed,
            keep=keep,
            overwrite=overwrite,
            on_progress=tell,
        )
    return Protection(policy, traces, batch)
