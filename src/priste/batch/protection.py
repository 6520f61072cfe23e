"""A file of many users, protected: each its own stream, on all cores or a cluster, resumable.

The order of work: the input is gathered into chunks of users on the disk; everything that can be
wrong is checked; then every chunk is released and its part kept (in a folder next to the
destination); last, ledger and result are written from the parts. A run that is stopped at any
moment continues where it was: finished parts stay, and the others are drawn with the same bits.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

import priste
from priste.arguments import check_int
from priste.atomic_files import check_apart
from priste.batch.batch_report import BatchReport
from priste.batch.continuing import Continuation
from priste.batch.engine_table import THIS_PROCESS, engine_at, processes
from priste.batch.engines import Work, here
from priste.batch.gathering import Gathering, chunks_for, place_of
from priste.batch.groups import NOTHING_USABLE, true_cells
from priste.batch.own_places import places_in_columns, read_own_places
from priste.batch.parts import Ledgers, Parts
from priste.batch.people import (
    about_places,
    dropped,
    named_in,
    nothing_to_release,
    oddities,
    refuse_unsaid_places,
)
from priste.batch.results import Destination, rehearse, write_in_parts, write_one
from priste.batch.workspace import MANIFEST, Workspace, read_manifest
from priste.errors import (
    InvalidParameter,
    OutputExists,
    OutsideMap,
    PristeError,
    StateError,
    TraceError,
)
from priste.extras import need
from priste.policy import Policy
from priste.register import Recognition
from priste.release import write_ledgers
from priste.traces import Trace, Traces

OnProgress = Callable[[int, int], None]

MOST_NAMED = 5
"""How many people off the map are named."""

_ALL_PLACES = 1 << 62


def workspace_of(destination: str | Path) -> Path:
    """Return the folder next to a destination that holds the parts of its run."""
    return Destination(Path(destination)).workspace


def ledger_of(destination: str | Path) -> Path:
    """Return the path of the ledger that is written next to a result of one file."""
    return Destination(Path(destination)).ledger


def protect_file(
    policy: Policy,
    traces: Traces,
    destination: str | Path,
    *,
    workers: int = 1,
    apart: bool = False,
    cluster: str | None = None,
    seed: int | None = None,
    places: Path | None = None,
    place_columns: Mapping[str, str] | None = None,
    sample: float = 1.0,
    users: Collection[str] = (),
    overwrite: bool = False,
    beside_earlier: bool = False,
    on_progress: OnProgress | None = None,
) -> BatchReport:
    """Protect every user of ``traces`` under ``policy`` and write the result.

    Each user is a stream of its own: ε is guaranteed for each. The result does not depend on
    ``workers``, the processes of this machine, nor on the ``cluster``, the address of a Dask
    scheduler or another engine that does the work in their stead. One worker is this process; with
    ``apart`` it is a process of its own, so that a user at whom it dies does not take this one
    along. With a ``seed`` (for experiments: with it the noise can be undone) each user's draws
    depend on it and the user's name only. One record per released step is written, and nothing
    else of the input. ``places`` is a table of users' own regions, and ``place_columns`` the
    columns of the input that hold them, by the region's name (see :mod:`priste.batch.own_places`);
    ``sample`` is the share of users to take, chosen by their names; ``users`` are those to take,
    every user unless some are named.
    ``on_progress`` gets how many users are done, and of how many.

    Users whose data cannot be protected are named with the reason, and the others are released.

    All releases about a person are one stream. What was released about somebody before, by any
    door, counts: later locations continue it, with silence in between, and steps that were
    released get the first draws again. Refused are locations that were released under another
    name, and those of somebody whose stream cannot continue (another map, other steps, an earlier
    time), unless ``beside_earlier`` says that both may be known together, without a guarantee
    about both. Runs with a seed take no part in this.

    Everything that can be wrong with the run is found before anything is drawn.
    """
    need("traces", "Protecting files", "duckdb", "pyarrow")
    check_int(workers, "workers", least=1)
    if not 0.0 < sample <= 1.0:
        raise InvalidParameter("must be > 0 and at most 1", parameter="sample", value=sample)
    refuse_unsaid_places(policy, (place_columns or ()) if places is None else None)
    target = Destination.of(Path(destination), traces)
    _check_places(target, traces, places, overwrite)
    on_this_machine = processes(workers) if apart or workers > 1 else THIS_PROCESS
    opened = engine_at(cluster or on_this_machine)
    recognition = Recognition.of_this_user()
    fresh = not target.workspace.exists()
    run = Continuation(policy, recognition, seeded=seed is not None, beside_earlier=beside_earlier)
    try:
        with ExitStack() as stack:
            workspace = stack.enter_context(
                Workspace(target.workspace, policy.fingerprint(), recognition)
            )
            temporary = stack.enter_context(workspace.temporary_files())
            if (
                not overwrite
                and target.ledger.is_file()
                and not workspace.has_written(target.ledger)
            ):
                raise OutputExists(target.ledger)
            engine = stack.enter_context(opened)
            gathering = stack.enter_context(Gathering(temporary, recognition))
            if places is not None:
                gathering.add_places(read_own_places(places, policy.regions))
            if place_columns:
                gathering.add_places(places_in_columns(traces, place_columns, policy.regions))
            outside = _gather(policy, traces, gathering, recognition, sample, frozenset(users))
            notes = dropped(policy, traces.report, gathering.fixes, outside)
            if places is not None or place_columns:
                placed, unknown = gathering.placed()
                everyone = sample == 1.0 and not users  # others are unknown for no fault of theirs
                others = unknown if everyone else 0
                people = gathering.users + gathering.unusable
                notes += about_places(people, placed, others, policy.own_regions)
            if not target.in_parts:
                everybody = _Everybody(gathering, policy.steps)
                rehearse(policy, traces, everybody, temporary / target.path.name)
            count = workspace.chunks or chunks_for(gathering.users, gathering.fixes)
            with run.register() as register:
                run.check(workspace, gathering, count, register)
                workspace.begin(count, priste.__version__)
                secret = workspace.secret()
                run.write_down(workspace, gathering, register)
            work = Work(policy, secret if seed is None else seed, recognition)
            told = _Told(on_progress, gathering.users + gathering.unusable)
            if before := run.done_before(workspace):
                told.more(before)  # at once, so that a rate is about the others
            if gathering.users == 1 and cluster is None:
                engine = here  # nobody to go on with if that process died
            for made in engine(work, run.jobs(workspace, gathering, count), told.more):
                workspace.finish_part(made.number, made.data, made.fixes, made.users)
                run.drawn += made.drawn
                run.errors.add(made.errors, made.number)
            parts = Parts(workspace.files(leaving_out=run.vacant), policy)
            totals = parts.totals()
            if not totals.users:
                reason = next(iter(parts.problems(1).values()), "no fix lies within the clock.")
                raise PristeError(
                    f"Nothing could be released for anyone: {reason}",
                    hint="Change the policy, or the input.",
                )
            workspace.forget_secret()
            if target.in_parts:
                writing = write_in_parts(parts, traces, target, policy, sampled=sample)
            else:
                write_ledgers(target.ledger, tuple(policy.events), Ledgers(parts))
                workspace.wrote(target.ledger)
                writing = write_one(parts, traces, target.path, policy, overwrite=overwrite)
    except BaseException:
        if fresh and _is_unbegun(target.workspace):
            shutil.rmtree(target.workspace)
        raise
    return BatchReport(
        target.path,
        target.ledger,
        parts,
        traces.report,
        writing,
        policy.events,
        policy.chosen_adversary.words,
        policy.calibrator,
        totals,
        run.errors,
        run.drawn,
        (*notes, *oddities(parts)),
        run.given_again,
        run.continued,
        sample,
    )


def _check_places(
    target: Destination, traces: Traces, places: Path | None, overwrite: bool
) -> None:
    """Refuse, before anything is drawn, results that could not be written or would harm the
    input."""
    target.check(folder=traces.source.is_folder, overwrite=overwrite)
    outputs = {"destination": target.path, "ledger": target.ledger, "workspace": target.workspace}
    inputs = {"input": traces.source.root}
    check_apart(outputs, inputs if places is None else {**inputs, "table of places": places})


def _is_unbegun(workspace: Path) -> bool:
    """Return whether a workspace holds nothing that a run would need again."""
    try:
        return workspace.is_dir() and read_manifest(workspace / MANIFEST).head is None
    except StateError:
        return False


def _gather(
    policy: Policy,
    traces: Traces,
    gathering: Gathering,
    recognition: Recognition,
    sample: float,
    wanted: frozenset[str],
) -> int:
    """Put the fixes of every user, or of some, onto the disk; TraceError if nothing is there.

    Returns how many of them lie outside the clock of the policy.
    """
    times: list[int] = []
    outside = 0
    off_map: list[str] = []
    something = False
    missing = set(wanted)

    def is_asked_for(user: str | None) -> bool:
        missing.discard(str(user))
        return (not wanted or user in wanted) and place_of(user) < sample * _ALL_PLACES

    for trace in traces:
        if not is_asked_for(trace.user):
            continue
        times = [min([*times[:1], int(trace.times[0])]), max([*times[1:], int(trace.times[-1])])]
        if not something:
            try:
                something = bool(true_cells(policy, trace, None)[1])
            except PristeError:
                something = True  # reported when it is that user's turn
        if policy.outside == "refuse" and _is_off_the_map(policy, trace):
            off_map.append(str(trace.user))
        line, ends = policy.timeline, (trace.until, trace.times)
        before, after = (line.steps_of(each) for each in ends)
        outside += int(np.count_nonzero((before < 0) | (after >= policy.steps)))
        gathering.add(trace, recognition.fixes_of(trace))
    gathering.settle()
    gathering.add_named(filter(is_asked_for, named_in(traces)))
    if missing:
        raise TraceError(
            f"There is no user {', '.join(map(repr, sorted(missing)))} in "
            f"{traces.source.root.name}, which has {traces.report.users}",
            hint="Are names written as they are there?",
        )
    if off_map:
        raise OutsideMap(
            f"{len(off_map)} of {gathering.users} people have positions off the map "
            f"({', '.join(off_map[:MOST_NAMED])}{', …' if len(off_map) > MOST_NAMED else ''}). "
            "To leave them out would reveal that they were there, so nothing was drawn.",
            hint="Make the map larger, write outside = 'off-map' in [release], or say by name who "
            "takes part (--user).",
        )
    if gathering.unusable and not gathering.users:
        raise TraceError(f"Nothing can be released: {NOTHING_USABLE}", hint="Is it the right file?")
    if not gathering.users:
        raise TraceError(
            f"The sample is empty: {traces.report.users} users are in {traces.source.root.name}",
            hint="Take a larger share.",
        )
    if not something:
        raise TraceError(
            nothing_to_release(policy, traces.source.root.name, *times),
            hint="Is this the right file? If so, change [clock] or [map].",
        )
    return outside


def _is_off_the_map(policy: Policy, trace: Trace) -> bool:
    """Return whether a person has a position off the map within the clock."""
    try:
        policy.stream_cells(trace)
    except OutsideMap:
        return True
    except PristeError:
        return False  # reported when it is that user's turn
    return False


class _Everybody(Mapping[str | None, tuple[int, ...]]):
    """One cell for every step of every user, for a rehearsal."""

    def __init__(self, gathering: Gathering, steps: int) -> None:
        self._gathering = gathering
        self._cells = (0,) * steps

    def __iter__(self) -> Iterator[str | None]:
        return (user for user, _ in self._gathering.people())

    def __len__(self) -> int:
        return self._gathering.users

    def __getitem__(self, user: str | None) -> tuple[int, ...]:
        return self._cells


class _Told:
    """Counts users that are done; a chunk that is done again does not count beyond all."""

    def __init__(self, on_progress: OnProgress | None, users: int) -> None:
        self._on_progress = on_progress
        self._users = users
        self._done = 0

    def more(self, count: int) -> None:
        """Tell that more users are done."""
        self._done = min(self._users, self._done + count)
        if self._on_progress is not None:
            self._on_progress(self._done, self._users)
