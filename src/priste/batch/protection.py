"""A file of many users, protected: each its own stream, in parallel, resumable, written whole.

The order of work: every user's releases are drawn and journaled (in a folder beside
the destination), then the ledger and the released file are written. A run that is
stopped at any moment continues where it was; nothing is drawn twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from priste.batch.streams import ProtectedStream, Workspace, protect_stream
from priste.errors import InvalidParameter, TraceError
from priste.policy import Policy
from priste.release import Calibrator, Ledger, write_ledgers
from priste.report import Verdict, verdict
from priste.traces import ReadingReport, Traces, WritingReport, write_released
from priste.workers import finished

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class BatchReport:
    """What a run did, for people and for JSON. Holds no true location."""

    destination: Path
    ledger: Path
    streams: tuple[ProtectedStream, ...]
    reading: ReadingReport
    writing: WritingReport
    epsilons: dict[str, float]
    calibrator: Calibrator

    @property
    def ledgers(self) -> dict[str | None, Ledger]:
        """The ledger of each user."""
        return {each.user: each.ledger for each in self.streams}

    @property
    def verdict(self) -> Verdict:
        """Whether the promise was kept for every event of every user."""
        leakage = self.largest_leakage()
        return verdict(self.calibrator, ((leakage[n], e) for n, e in self.epsilons.items()))

    def largest_leakage(self) -> dict[str, float]:
        """Return each event's largest leakage over all users and steps."""
        return {
            name: max(
                (release.leakage[k] for each in self.streams for release in each.ledger),
                default=0.0,
            )
            for k, name in enumerate(self.epsilons)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        leakage = self.largest_leakage()
        return {
            "destination": str(self.destination),
            "ledger": str(self.ledger),
            "users": len(self.streams),
            "releases": sum(cell is not None for each in self.streams for cell in each.cells),
            "drawn_now": sum(each.drawn for each in self.streams),
            "verdict": str(self.verdict),
            "events": {
                name: {"epsilon": epsilon, "max": leakage[name]}
                for name, epsilon in self.epsilons.items()
            },
        }


def workspace_of(destination: str | Path) -> Path:
    """Return the folder beside a destination that holds the journals of its run."""
    path = Path(destination)
    return path.with_name(f"{path.name}.priste")


def ledger_of(destination: str | Path) -> Path:
    """Return the path of the ledger that is written beside a destination."""
    path = Path(destination)
    return path.with_name(f"{path.name}.ledger.csv")


def protect_file(
    policy: Policy,
    traces: Traces,
    destination: str | Path,
    *,
    workers: int = 1,
    seed: int | None = None,
    keep: Sequence[str] = (),
    overwrite: bool = False,
    on_progress: OnProgress | None = None,
) -> BatchReport:
    """Protect every user of ``traces`` under ``policy`` and write the released file.

    Each user is a stream of its own: ε is promised for each. The result does not
    depend on ``workers``. With a ``seed`` (for experiments: whoever knows it can undo the
    noise) each user's draws depend on the seed and the user's name alone. ``on_progress`` is
    told how many steps of all users are done, and of how many.

    Raises TraceError before anything is drawn if the destination cannot be written.
    """
    destination = Path(destination)
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InvalidParameter(f"The 'workers' must be an integer >= 1. Got {workers!r}.")
    _check_destination(destination, traces.source.root, overwrite)
    truths = _true_cells(policy, traces)  # what cannot be read is told before a folder is made
    workspace = Workspace(workspace_of(destination), policy, _stamp(traces))
    jobs = [
        _Job(
            user,
            cells,
            workspace.journal(user),
            None if seed is None else _seed_of(seed, user),
            own,
        )
        for user, cells, own in truths
    ]
    if workers == 1:
        streams = _in_this_process(policy, jobs, on_progress)
    else:
        streams = _in_workers(policy, jobs, workers, on_progress)
    ledger = ledger_of(destination)
    write_ledgers(ledger, tuple(policy.events), {each.user: each.ledger for each in streams})
    writing = write_released(
        traces,
        destination,
        {each.user: each.cells for each in streams},
        policy.timeline,
        policy.grid,
        point=policy.points,
        rng=seed,
        keep=keep,
        overwrite=overwrite,
    )
    epsilons = {name: event.epsilon for name, event in policy.events.items()}
    return BatchReport(
        destination,
        ledger,
        tuple(streams),
        traces.report,
        writing,
        epsilons,
        policy.calibrator,
    )


def _check_destination(destination: Path, root: Path, overwrite: bool) -> None:
    """Refuse before anything is drawn what could not be written, or would harm the input."""
    if not destination.parent.is_dir():
        raise TraceError(f"There is no folder {str(destination.parent)!r} to write into.")
    start = root.resolve()
    for path in (destination, ledger_of(destination), workspace_of(destination)):
        end = path.resolve()
        same = end == start or (end.exists() and end.samefile(start))
        if same or start in end.parents or end in start.parents:
            raise TraceError(
                f"{str(path)!r} is, holds or lies in what is read. Released and true positions "
                "belong apart: write somewhere else."
            )
    if destination.exists() and not overwrite:
        raise TraceError(
            f"There is already a file {str(destination)!r}. Choose another destination, or ask "
            "to overwrite it (releases that were drawn are kept, not drawn again)."
        )


@dataclass(frozen=True)
class _Job:
    user: str | None
    cells: tuple[int | None, ...]
    journal: Path
    seed: int | None
    policy: Policy | None = None
    """The user's own, where the policy of all has a model that was fitted on them."""

    def __repr__(self) -> str:  # cells are true locations
        return f"<stream of {self.user!r}>"


def _true_cells(
    policy: Policy, traces: Traces
) -> list[tuple[str | None, tuple[int | None, ...], Policy | None]]:
    found = []
    for trace in traces:
        own = policy.for_user(trace)  # nobody is guarded by a model that was fitted on them
        found.append((trace.user, own.cells(trace).cells, None if own is policy else own))
    return found


def _seed_of(seed: int, user: str | None) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}:{user!r}".encode()).digest()[:8], "big")


def _stamp(traces: Traces) -> str:
    """Return a digest of the source's bytes: what the true locations came from."""
    digest = hashlib.sha256()
    for file in traces.source.files:
        digest.update(file.name.encode())
        with file.path.open("rb") as opened:
            while block := opened.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _run(
    policy: Policy, job: _Job, on_step: Callable[[int], None] | None = None
) -> ProtectedStream:
    return protect_stream(
        job.policy or policy,
        job.user,
        job.cells,
        journal=job.journal,
        seed=job.seed,
        on_step=on_step,
    )


def _in_this_process(
    policy: Policy, jobs: Sequence[_Job], on_progress: OnProgress | None
) -> list[ProtectedStream]:
    total = sum(len(job.cells) for job in jobs)
    done = 0
    streams = []
    for job in jobs:
        tell = None if on_progress is None else _teller(on_progress, done, total)
        streams.append(_run(policy, job, tell))
        done += len(job.cells)
        if on_progress is not None:
            on_progress(done, total)
    return streams


def _teller(on_progress: OnProgress, before: int, total: int) -> Callable[[int], None]:
    return lambda step: on_progress(before + step + 1, total)


def _in_workers(
    policy: Policy, jobs: Sequence[_Job], workers: int, on_progress: OnProgress | None
) -> list[ProtectedStream]:
    """Run the jobs in a pool. What a dead worker drew is in its journal and not drawn again."""
    total = sum(len(job.cells) for job in jobs)
    results: dict[int, ProtectedStream] = {}
    for number, stream in finished(partial(_run, policy), jobs, workers=workers):
        results[number] = stream
        if on_progress is not None:
            on_progress(sum(len(jobs[done].cells) for done in results), total)
    return [results[number] for number in range(len(jobs))]
