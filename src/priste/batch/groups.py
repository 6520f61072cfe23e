"""Protect the fixes of some users: one pure function, on every engine.

:func:`protect_group` reads no file, keeps no state, makes no request: the same fixes, policy and
key give the same result in this process, in a pool, on a cluster, and when it is done twice. So
engines (see :mod:`priste.batch.engines`) only decide where.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.batch.draws import Key, bits_of
from priste.batch.own_places import Places, policy_with
from priste.batch.streams import ProtectedStream, protect_stream
from priste.errors import InvalidParameter, PristeError, StateError
from priste.policy import Policy
from priste.register import ContinuedStreams, KeptStream, Recognition, guarded_by
from priste.release import Ledger
from priste.results import PersonErrors, keeps_its_guarantees, person_errors, true_steps
from priste.results.audits import cells_of_outputs
from priste.traces import Trace
from priste.traces.cleaning import RawFixes, clean
from priste.traces.points import ReleasedPoints
from priste.traces.record_problems import Tally

OnUser = Callable[[], None]

NOTHING_USABLE = (
    "None of this user's records is a usable fix: times or positions are missing, unreadable or "
    "impossible."
)


@dataclass(frozen=True)
class Outcome:
    """The result of one user: a stream, or a ``problem`` for which nothing was released.

    ``journal`` is the stream as it is kept, empty if there is none. ``alike`` is equal for users
    with equal true cells; without the key it reveals nothing else. ``lost`` says that a process
    ended, which is no fault of the user's data.
    """

    user: str | None
    problem: str | None
    stream: ProtectedStream
    journal: bytes = field(default=b"", repr=False)
    kept: bool = True
    alike: str = ""
    lost: bool = False
    errors: PersonErrors | None = field(default=None, repr=False)

    @property
    def largest_leakage(self) -> tuple[float, ...]:
        """The largest leakage of each event."""
        ledger = self.stream.ledger
        return tuple(
            max((release.leakage[k] for release in ledger), default=0.0)
            for k in range(len(ledger.event_names))
        )

    @property
    def largest_belief(self) -> tuple[float, ...]:
        """The largest belief in each event; nan if it was not measured."""
        ledger = self.stream.ledger
        return tuple(
            max((release.belief[k] for release in ledger if release.belief), default=float("nan"))
            for k in range(len(ledger.event_names))
        )


@dataclass(frozen=True)
class Group:
    """What was made of some users: an outcome for each, in the order of their names."""

    outcomes: tuple[Outcome, ...]
    _make_rows: Callable[[], Any] = field(repr=False)

    @cached_property
    def rows(self) -> Any:
        """What may be handed out, as an Arrow table with one row per released step.

        Its columns are user, step, time (its middle, UTC), lat, lon. Engines, which keep parts and
        not tables, do not ask for it.
        """
        return self._make_rows()

    @property
    def problems(self) -> dict[str | None, str]:
        """Why nothing was released, for each user without a release."""
        return {each.user: each.problem for each in self.outcomes if each.problem is not None}

    @property
    def ledgers(self) -> dict[str | None, Ledger]:
        """The ledger of each user for whom something was released."""
        return {each.user: each.stream.ledger for each in self.outcomes if each.stream.ledger}


def protect_group(
    table: Any,
    policy: Policy,
    key: Key,
    *,
    places: Mapping[str | None, Places] | None = None,
    earlier: Mapping[str | None, bytes] | None = None,
    recognition: Recognition | None = None,
    on_user: OnUser | None = None,
) -> Group:
    """Release every user of a table of fixes under a policy; pure, and safe to do again.

    ``table`` is an Arrow table with the columns user (text), time (a timestamp with its zone, or
    whole microseconds since 1970), lat and lon (degrees), in any order of rows. ``key`` is a
    secret, 32 random bytes: the draws follow from it, the user and the step, so that
    a repetition draws the same; with it the noise can be undone. (An integer is a seed, for
    experiments.) ``places`` are single
    users' own, in the stead of the policy's regions of the same names. ``earlier``
    holds journals of former outcomes, also of other policies on the same map: their steps are kept
    as they are, they count, and only later ones are drawn. ``recognition`` makes the digests that
    journals are bound with; without one they are made with the key.

    A user whose data cannot be protected has a problem in words and no releases; all others are
    released. Raises StateError for an earlier journal that is not of its user, policy and fixes.
    """
    if recognition is None:
        recognition = Recognition(hashlib.sha256(b"recognition:" + repr(key).encode()).digest())
    named = policy.fingerprint()
    bits_of(key, named, None)  # a key that is none is no user's problem
    outcomes = []
    continued = ContinuedStreams()
    for user, trace in _traces(table):
        outcomes.append(
            _outcome(
                user,
                trace,
                policy,
                key,
                named,
                recognition,
                (places or {}).get(user),
                (earlier or {}).get(user),
                continued,
            )
        )
        if on_user is not None:
            on_user()
    return Group(tuple(outcomes), lambda: _rows(outcomes, policy))


def _outcome(
    user: str | None,
    trace: Trace | None,
    policy: Policy,
    key: Key,
    named: str,
    recognition: Recognition,
    places: Places | None,
    journal: bytes | None,
    continued: ContinuedStreams,
) -> Outcome:
    try:
        if trace is None:
            raise InvalidParameter(
                NOTHING_USABLE, hint="Say how times are written (--column), or leave this user out."
            )
        past = None if journal is None else KeptStream.read(journal, Path(f"<{user}>"))
        own, cells = true_cells(policy, trace, places, past)
        if not cells:
            return without_a_stream(user, policy, None)
        if past is not None:
            check_kept(past, recognition, named, user, cells, places)
        stream = protect_stream(
            own,
            user,
            cells,
            bits=bits_of(key, named, user),
            past=past,
            continued=continued,
            name=stream_name(key, named, user),
            binding=belongs_to(recognition, named, user, cells, places),
        )
        return Outcome(
            user,
            None,
            stream,
            b"" if stream.kept is None else stream.kept.to_bytes(),
            keeps_its_guarantees(own, stream.ledger),
            recognition.steps(None, cells) if len(set(cells)) > 1 else "",
            errors=errors_of(own, trace, stream.cells),
        )
    except (StateError, OSError, MemoryError):
        raise  # about what was kept, or the machine: not about this user's data
    except PristeError as problem:
        return without_a_stream(user, policy, str(problem))
    except Exception as problem:  # the message may hold a location, so it is not shown
        said = f"An error that should not happen ({type(problem).__name__}); please report it."
        return without_a_stream(user, policy, said)


def without_a_stream(user: str | None, policy: Policy, problem: str | None) -> Outcome:
    """Return what became of a user without a release, and why if something is wrong."""
    return Outcome(user, problem, ProtectedStream(user, Ledger(tuple(policy.events), []), 0))


def true_cells(
    policy: Policy, trace: Trace, places: Places | None, past: KeptStream | None = None
) -> tuple[Policy, tuple[int | None, ...]]:
    """Return a user's own policy, and the cells that their stream is released from."""
    # Nobody is guarded by a model that was fitted on them.
    own = policy.for_user(trace, None if past is None else past.start)
    if places:
        own = policy_with(own, places)
    return own, own.stream_cells(trace, () if past is None else guarded_by(past, own))


def errors_of(policy: Policy, trace: Trace, outputs: Sequence[int | None]) -> PersonErrors:
    """Measure the outputs that were released for a user, under the user's own policy."""
    truth = true_steps(policy, trace, len(outputs))
    return person_errors(policy, truth, cells_of_outputs(policy, outputs))


def stream_name(key: Key, policy: str, user: str | None) -> str:
    """Return the identity of a stream, the same whenever it is begun with the same key."""
    digest = hashlib.sha256(b"stream:" + repr((key, policy, user)).encode())
    return digest.hexdigest()[:32]


def belongs_to(
    recognition: Recognition,
    policy: str,
    user: str | None,
    cells: Sequence[int | None],
    places: Places | None,
) -> dict[str, str]:
    """Return what a stream of a user is bound to: whose, under what, and made from what.

    Keyed digests: without the key they show neither who it is nor where they were.
    """
    return {
        "user": recognition.user(user),
        "policy": policy,
        "source": recognition.steps(user, cells),
        "places": recognition.places(places),
    }


def check_kept(
    kept: KeptStream,
    recognition: Recognition,
    policy: str,
    user: str | None,
    cells: Sequence[int | None],
    places: Places | None,
) -> None:
    """Raise StateError, with the reason, unless a kept stream is of this user and input.

    Of a stream under another policy only the user is compared: its steps are those of another
    clock.
    """
    whose = "" if user is None else f" of {user}"
    wanted = belongs_to(recognition, policy, user, cells[: kept.steps], places)
    found = kept.binding
    if found.get("user") != wanted["user"]:
        raise StateError(
            f"the stream{whose} is that of another person", hint="Give each person one name."
        )
    if found.get("policy") != wanted["policy"]:
        return
    if found.get("places") != wanted["places"]:
        raise StateError(
            f"the places{whose} have changed, so what was guaranteed is about others",
            hint="State the places as they were.",
        )
    if len(cells) < kept.steps:
        raise StateError(
            f"it released {kept.steps} steps{whose}, and the input now ends after {len(cells)}",
            hint="Give all of the input that was released.",
        )
    if found.get("source") != wanted["source"]:
        raise StateError(
            f"rows{whose} have changed in steps that it has already taken up",
            hint="Rows may be added at the end only",
        )


# Arrow in and out


def _traces(table: Any) -> Iterator[tuple[str | None, Trace | None]]:
    """Yield each user's trace in the order of names; None where no record can be used."""
    import pyarrow as pa

    missing = [name for name in ("user", "time", "lat", "lon") if name not in table.column_names]
    if missing:
        raise InvalidParameter(
            "must have the columns user, time, lat and lon",
            parameter="table",
            owner="protect_group",
            hint=f"It lacks {', '.join(missing)}.",
        )
    times = table["time"]
    if pa.types.is_timestamp(times.type):
        if times.type.tz is None:
            raise InvalidParameter(
                "must carry its zone", parameter="time", owner="table", got="timestamps without one"
            )
        times = times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64())
    clocks = _numbers(times, pa.int64(), np.iinfo(np.int64).min)
    lat, lon = (_numbers(table[name], pa.float64(), float("nan")) for name in ("lat", "lon"))
    ends = None
    if "until" in table.column_names:
        ends = _numbers(table["until"], pa.int64(), np.iinfo(np.int64).min)
    for user, rows in stretches(table).items():
        raw = RawFixes(clocks[rows], lat[rows], lon[rows], None if ends is None else ends[rows])
        yield user, clean(user, raw, Tally())


def _numbers(column: Any, kind: Any, missing: float) -> NDArray[Any]:
    """Return a column as an array; only one that must be converted waits until Arrow can do so."""
    if column.type != kind or column.null_count:
        column = column.cast(kind).fill_null(missing)
    found: NDArray[Any] = column.to_numpy()
    return found


def stretches(table: Any) -> dict[str | None, NDArray[np.int64]]:
    """Return the numbers of each user's rows of a table, in the order of names."""
    import pyarrow as pa

    users = table["user"]
    names = (users if users.type == pa.string() else users.cast(pa.string())).to_pylist()
    numbers: dict[str | None, int] = {}
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(numbers) + 1)).tolist()
    return {
        name: order[starts[code] : starts[code + 1]]
        for name, code in sorted(numbers.items(), key=lambda it: (it[0] is not None, it[0] or ""))
    }


def _rows(outcomes: Sequence[Outcome], policy: Policy) -> Any:
    import pyarrow as pa

    schema = rows_schema()
    parts = []
    for each in outcomes:
        if not each.stream.ledger:
            continue
        released = {each.user: each.stream.cells}
        points = ReleasedPoints(released, policy.timeline, policy.grid).of(each.user)
        steps = np.flatnonzero(~np.isnan(points[:, 0]))
        times = [policy.timeline.middle_of(int(step)) for step in steps]
        parts.append(
            pa.table(
                [
                    pa.array([each.user] * len(steps), pa.string()),
                    pa.array(steps, pa.int32()),
                    pa.array(times, schema.field("time").type),
                    pa.array(points[steps, 0]),
                    pa.array(points[steps, 1]),
                ],
                schema=schema,
            )
        )
    return pa.concat_tables(parts) if parts else schema.empty_table()


def rows_schema() -> Any:
    """Return the Arrow schema of what may be handed out: user, step, time, lat, lon."""
    import pyarrow as pa

    return pa.schema(
        [
            ("user", pa.string()),
            ("step", pa.int32()),
            ("time", pa.timestamp("us", "UTC")),
            ("lat", pa.float64()),
            ("lon", pa.float64()),
        ]
    )
