"""A file of many users, protected: each its own stream, in parallel, resumable, written whole.

The order of work: every user's releases are drawn and journaled (in a folder beside
the destination), then the ledger and the released file are written. A run that is
stopped at any moment continues where it was; nothing is drawn twice.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from priste.arguments import whole
from priste.batch.keyed_digests import Recognition, state_folder
from priste.batch.people import Person, oddities, people_of
from priste.batch.register import Register, Released
from priste.batch.streams import ProtectedStream, protect_stream
from priste.batch.workspace import Workspace
from priste.errors import InvalidParameter, OutputError, OutputExists, StateError
from priste.policy import Policy
from priste.quantify import Odds, Promise
from priste.release import Calibrator, Ledger, write_ledgers
from priste.release.seeded_steps import seed_of_user
from priste.report import Verdict, keeps_its_promises, verdict
from priste.traces import ReadingReport, Traces, WritingReport, write_released
from priste.traces.writing import RowChoice
from priste.whole_files import check_apart, check_writable
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
    promises: Mapping[str, Promise]
    against: str
    calibrator: Calibrator
    kept: bool
    rows: RowChoice = "steps"
    notes: tuple[str, ...] = ()
    given_again: int = 0

    @property
    def ledgers(self) -> dict[str | None, Ledger]:
        """The ledger of each user."""
        return {each.user: each.ledger for each in self.streams}

    @property
    def verdict(self) -> Verdict:
        """Whether the promise was kept for every event of every user."""
        return verdict(self.calibrator, [self.kept])

    def largest_leakage(self) -> dict[str, float]:
        """Return each event's largest leakage over all users and steps."""
        return {
            name: max(
                (release.leakage[k] for each in self.streams for release in each.ledger),
                default=0.0,
            )
            for k, name in enumerate(self.promises)
        }

    def largest_belief(self) -> dict[str, float]:
        """Return how sure of each event the surest observer got, over all users and steps."""
        return {
            name: max(
                (r.belief[k] for each in self.streams for r in each.ledger if r.belief),
                default=math.nan,
            )
            for k, name in enumerate(self.promises)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        leakage, belief = self.largest_leakage(), self.largest_belief()
        return {
            "destination": str(self.destination),
            "ledger": str(self.ledger),
            "users": len(self.streams),
            "releases": sum(cell is not None for each in self.streams for cell in each.cells),
            "drawn_now": sum(each.drawn for each in self.streams),
            "given_again": self.given_again,
            "rows": self.rows,
            "notes": list(self.notes),
            "verdict": str(self.verdict),
            "events": {
                name: {
                    "promise": promise.words(),
                    "epsilon": epsilon_of(promise),
                    "max": leakage[name],
                    "belief": belief[name],
                }
                for name, promise in self.promises.items()
            },
            "observer": self.against,
        }


def epsilon_of(promise: Promise) -> float:
    """Return the largest bound on a logarithm of odds, inf where beliefs are bounded instead."""
    bounds = (promise.up, promise.down) if isinstance(promise, Odds) else ()
    return max((bound for bound in bounds if bound < math.inf), default=math.inf)


def workspace_of(destination: str | Path) -> Path:
    """Return the folder beside a destination that holds the journals of its run."""
    return _beside(destination, ".priste")


def ledger_of(destination: str | Path) -> Path:
    """Return the path of the ledger that is written beside a destination."""
    return _beside(destination, ".ledger.csv")


def _beside(destination: str | Path, suffix: str) -> Path:
    path = Path(destination)
    if not path.name:
        raise OutputError(
            f"{str(destination)!r} is a folder without a name of its own. Give the name of the "
            "released file."
        )
    return path.with_name(path.name + suffix)


def protect_file(
    policy: Policy,
    traces: Traces,
    destination: str | Path,
    *,
    workers: int = 1,
    seed: int | None = None,
    keep: Sequence[str] = (),
    rows: RowChoice = "steps",
    overwrite: bool = False,
    again: bool = False,
    on_progress: OnProgress | None = None,
) -> BatchReport:
    """Protect every user of ``traces`` under ``policy`` and write the released file.

    Each user is a stream of its own: ε is promised for each. The result does not
    depend on ``workers``. With a ``seed`` (for experiments: whoever knows it can undo the
    noise) each user's draws depend on the seed and the user's name alone. ``rows`` is what
    is written: one record per released step, or with "fixes" one per record of the input, whose
    times and number then tell what they tell; only then can fields be written back with
    ``keep``. ``on_progress`` is told how many steps of all users are done, and of how many.

    Locations that were released before under the same policy, to another destination, get the first
    draws again; under another policy they are refused, unless ``again`` says that both may be
    known together. Runs with a seed take no part in this.

    Everything that can be wrong is found before anything is drawn.
    """
    destination = Path(destination)
    whole(workers, "The 'workers'", least=1)
    if keep and rows == "steps":
        raise InvalidParameter(
            f"What is kept ({', '.join(keep)}) belongs to records of the input, and one record is "
            "written per step. Write the input's records instead: rows = 'fixes'."
        )
    ledger = ledger_of(destination)
    place = workspace_of(destination)
    _check_places(destination, traces, place, overwrite)
    recognition = Recognition.of_this_user()
    fresh = not place.exists()
    try:
        with (
            Workspace(place, policy.fingerprint(), recognition) as workspace,
            workspace.temporary_files() as temporary,
        ):
            _check_ledger(ledger, workspace, overwrite)
            people = people_of(policy, traces, recognition)
            _rehearse(policy, traces, people, temporary / destination.name, keep, rows)
            workspace.begin({each.user: each.cells for each in people})
            given_again = 0
            if seed is None:
                register = Register(state_folder() / "released")
                given_again = _recall(register, recognition, workspace, policy, people, again)
            jobs = [
                _Job(
                    each.user,
                    each.cells,
                    workspace.journal(each.user),
                    workspace.manifest,
                    None if seed is None else seed_of_user(seed, each.user),
                    each.policy,
                )
                for each in people
            ]
            if workers == 1:
                streams = _in_this_process(policy, jobs, on_progress)
            else:
                streams = _in_workers(policy, jobs, workers, on_progress)
            ledgers = {each.user: each.ledger for each in streams}
            write_ledgers(ledger, tuple(policy.events), ledgers)
            workspace.wrote(ledger)
            writing = write_released(
                traces,
                destination,
                {each.user: each.cells for each in streams},
                policy.timeline,
                policy.grid,
                point=policy.points,
                rng=seed,
                keep=keep,
                rows=rows,
                overwrite=overwrite,
            )
    except BaseException:
        if fresh and place.is_dir() and not list(place.glob("*.journal")):
            shutil.rmtree(place)  # nothing was begun
        raise
    own = {each.user: each.policy for each in people}
    return BatchReport(
        destination,
        ledger,
        tuple(streams),
        traces.report,
        writing,
        {name: event.promise for name, event in policy.events.items()},
        policy.chosen_observer.words,
        policy.calibrator,
        all(keeps_its_promises(own[each.user] or policy, each.ledger) for each in streams),
        rows,
        oddities(people),
        given_again,
    )


def _check_places(destination: Path, traces: Traces, workspace: Path, overwrite: bool) -> None:
    """Refuse before anything is drawn what could not be written, or would harm the input."""
    kept = "Choose another name, or ask to overwrite it: what was drawn is not drawn again."
    try:
        check_writable(destination, overwrite=overwrite, folder=traces.source.is_folder)
        check_writable(ledger_of(destination), overwrite=True)
    except OutputExists as error:
        raise OutputExists(error.path, kept, what=error.what) from None
    check_apart(
        {"destination": destination, "ledger": ledger_of(destination), "workspace": workspace},
        {"input": traces.source.root},
    )


def _check_ledger(ledger: Path, workspace: Workspace, overwrite: bool) -> None:
    """Refuse to replace a ledger unasked, unless this very run wrote it before it was stopped."""
    if os.path.lexists(ledger) and not overwrite and not workspace.has_written(ledger):
        raise OutputExists(ledger)


def _rehearse(
    policy: Policy,
    traces: Traces,
    people: Sequence[Person],
    place: Path,
    keep: Sequence[str],
    rows: RowChoice,
) -> None:
    """Write the result with one cell everywhere: what cannot be written is told before drawing."""
    write_released(
        traces,
        place,
        {each.user: (0,) * len(each.cells) for each in people},
        policy.timeline,
        policy.grid,
        keep=keep,
        rows=rows,
    )


def _recall(
    register: Register,
    recognition: Recognition,
    workspace: Workspace,
    policy: Policy,
    people: Sequence[Person],
    again: bool,
) -> int:
    """Find what was released before; return for how many people the first draws are given again."""
    fingerprint = policy.fingerprint()
    recalled = 0
    entries = []
    for each in people:
        name = recognition.user(each.user)
        journal = workspace.journal(each.user)
        own = str(journal.resolve())
        earlier = [one for one in register.earlier(name, each.hours) if one.journal != own]
        if not again:
            if other := [one for one in earlier if one.policy != fingerprint]:
                raise _released_before(each, other[-1], "another policy")
            if earlier and not _adopt_longest(workspace, each, earlier):
                raise _released_before(each, earlier[-1], "the same policy, its journal is gone")
            recalled += bool(earlier)
        entries.append((name, Released(fingerprint, own, tuple(sorted(each.hours)))))
    for name, entry in entries:
        if entry not in register.earlier(name, frozenset(entry.hours)):
            register.add(name, entry)
    return recalled


def _adopt_longest(workspace: Workspace, person: Person, earlier: Sequence[Released]) -> bool:
    there = sorted({Path(one.journal) for one in earlier if Path(one.journal).exists()})
    for path in sorted(there, key=lambda path: path.stat().st_size, reverse=True):
        workspace.adopt(person.user, person.cells, path)
        return True
    return workspace.journal(person.user).exists()


def _released_before(person: Person, released: Released, under: str) -> StateError:
    whose = "Some of these locations" if person.user is None else f"Locations of {person.user}"
    place = Path(released.journal).parent
    return StateError(
        f"{whose} were released before, under {under}: see {str(place)!r}. Both releases together "
        "would tell more than ε, so nothing was drawn. Hand out the first release. If nothing of "
        "it was or will be handed out, remove it and ask to draw again (--again)."
    )


@dataclass(frozen=True)
class _Job:
    user: str | None
    cells: tuple[int | None, ...]
    journal: Path
    manifest: Path
    seed: int | None
    policy: Policy | None = None
    """The user's own, where the policy of all has a model that was fitted on them."""

    def __repr__(self) -> str:  # cells are true locations
        return f"<stream of {self.user!r}>"


def _run(
    policy: Policy, job: _Job, on_step: Callable[[int], None] | None = None
) -> ProtectedStream:
    return protect_stream(
        policy,
        job.user,
        job.cells,
        journal=job.journal,
        manifest=job.manifest,
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
