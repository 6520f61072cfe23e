"""Protect a frame: the same run as for a file, kept so that no draw is lost."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from priste.atomic_files import private_folder, scratch_folder
from priste.errors import InvalidParameter
from priste.traces import Columns
from priste.traces.frames import open_frame
from priste.traces.reading import Traces
from priste.traces.zones import Zone

if TYPE_CHECKING:
    from priste.batch import BatchReport
    from priste.batch.protection import OnProgress
    from priste.policy import Policy

KEPT = "frames"
"""The folder of runs of frames, in the folder of the user's state."""

RELEASED = "released.parquet"


def protect(
    frame: Any,
    policy: Policy | str | Path,
    *,
    columns: Columns | Mapping[str, str] | None = None,
    zone: Zone | None = None,
    as_user: str | None = None,
    users: Collection[str] = (),
    places: Mapping[str, str] | None = None,
    to: str | Path | None = None,
    overwrite: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    sample: float = 1.0,
    seed: int | None = None,
    beside_earlier_releases: bool = False,
    on_progress: OnProgress | None = None,
    return_report: bool = False,
) -> Any:
    """Release a frame of true locations under a policy; return a frame of the same type.

    ``frame`` is of pandas, polars, pyarrow, DuckDB, geopandas, movingpandas, trackintel or
    scikit-mobility, or has the Arrow C stream. ``policy`` is a Policy or the path of its file. The
    columns of users, times and positions are found by their usual names, or named as in
    ``columns={"user": "taxi", "time": "when"}``. ``zone`` is the zone of times that carry none;
    ``as_user`` makes everything one person's; ``users`` are the people to take, all by default.
    ``places`` maps regions of personal places to columns that say where.

    The result has one row per person and released step, at the middle of the step: user, time and
    position under the names they have in ``frame``, ``leakage`` (the largest of all events that the
    stream has reached with this step) and ``leakage_NAME`` for each event. These follow from what
    is released. No other column of the input is in it.

    This is the run of ``priste protect``: every person is one stream, the register of people is
    asked before anything is drawn, and a position off the map stops the run if the policy says so.
    The run is kept in the folder that ``to`` names (a file ``.parquet``, its ledger and its
    journals next to it), by default below the user's state. The same frame gets the same draws
    again, a frame that has grown is continued, and later locations of a person continue that
    person's stream, by whichever command it began. What cannot continue (another name, another map,
    an earlier time) is refused, unless ``beside_earlier_releases`` says that nothing need be
    guaranteed about both together. A ``seed`` is for experiments: its draws can be undone, the
    register is not asked, and nothing is kept.

    Notes about the run are warnings. ``return_report=True`` returns the frame and a
    :class:`~priste.batch.BatchReport`.
    """
    from priste.batch import protect_file

    loaded = loaded_policy(policy)
    opened = open_frame(frame, columns, tuple((places or {}).values()))
    if seed is not None and to is None and return_report:
        raise InvalidParameter(
            "must be given to get a report of a run with a seed, which is kept nowhere else",
            parameter="to",
            owner="protect",
        )
    with (
        opened.traces(zone=zone, user=as_user) as traces,
        _place_of_run(to, traces, loaded, is_kept=seed is None) as destination,
    ):
        report = protect_file(
            loaded,
            traces,
            destination,
            workers=workers,
            apart=workers > 1,
            cluster=cluster,
            seed=seed,
            place_columns=places,
            sample=sample,
            users=users,
            overwrite=overwrite or to is None,
            beside_earlier=beside_earlier_releases,
            on_progress=on_progress,
        )
        released = opened.like(destination, _leakages(destination, opened.columns, report, loaded))
        _warn(report, loaded)
    return (released, report) if return_report else released


def loaded_policy(policy: Policy | str | Path) -> Policy:
    """Return a policy, read from its file if a path is given."""
    from priste.policy import load_policy

    return load_policy(policy) if isinstance(policy, str | Path) else policy


@contextmanager
def _place_of_run(
    to: str | Path | None, traces: Traces, policy: Policy, *, is_kept: bool
) -> Iterator[Path]:
    """Yield the path of the released file; by default one that follows from input and policy.

    So the same call finds its own run again. The name is a keyed digest, which reveals nothing
    without the key.
    """
    if to is not None:
        path = Path(to)
        if path.suffix != ".parquet":
            raise InvalidParameter(
                "must be the name of a Parquet file", parameter="to", owner="protect", value=str(to)
            )
        yield path
    elif is_kept:
        from priste.batch.workspace import file_digest
        from priste.register.keyed_digests import Recognition, state_folder

        source = file_digest(traces.source.root).encode()
        name = Recognition.of_this_user().fixes([source, policy.fingerprint().encode()])
        folder = private_folder(private_folder(private_folder(state_folder()) / KEPT) / name)
        yield folder / RELEASED
    else:
        with scratch_folder() as folder:
            yield folder / RELEASED


def _leakages(
    released: Path, columns: Columns, report: BatchReport, policy: Policy
) -> dict[str, NDArray[np.float64]]:
    """Return the leakage that each released row's stream had reached with its step."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    named = [name for name in (columns.user, columns.time) if name is not None]
    table = pq.read_table(released, columns=named)
    times = table[columns.time or "time"].cast(pa.int64()).to_numpy()
    steps = policy.timeline.steps_of(times)
    people = (
        np.array(table[columns.user].to_pylist(), dtype=object)
        if columns.user is not None and columns.user in table.column_names
        else np.full(len(steps), None, dtype=object)
    )
    events = list(policy.events)
    found = np.full((len(steps), len(events)), np.nan)
    for user, ledger in report.ledgers.items():
        rows = np.flatnonzero(people == user) if columns.user else np.arange(len(steps))
        found[rows] = np.array([release.leakage for release in ledger])[steps[rows]]
    each = {f"leakage_{name}": found[:, number] for number, name in enumerate(events)}
    return {"leakage": found.max(axis=1, initial=-np.inf), **each}


def _warn(report: BatchReport, policy: Policy) -> None:
    """Warn of everything that matters before the result is handed out."""
    notes = list(report.notes)
    if not policy.calibrator.guaranteed:
        notes.append("The calibrator of this policy guarantees nothing: use it to compare.")
    if report.totals.problems:
        reasons = "; ".join(f"{user}: {reason}" for user, reason in report.problems.items())
        notes.append(f"Nothing could be released for {report.totals.problems} users. {reasons}")
    for note in notes:
        warnings.warn(note, stacklevel=3)
