"""Audit a frame of released locations, or a run, under a policy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priste.errors import InvalidParameter, LedgerError
from priste.frames.frame_protection import loaded_policy
from priste.release import Ledger
from priste.results import (
    PolicyAudit,
    assumed_mechanism,
    audit_ledgers,
    audit_traces,
    judged_against,
)
from priste.results.policy_audits import AssumedMechanism
from priste.traces import Columns, Trace
from priste.traces.frames import open_frame, traces_of
from priste.traces.zones import Zone

if TYPE_CHECKING:
    from priste.batch import BatchReport
    from priste.policy import Policy


def audit(
    released: Any,
    policy: Policy | str | Path | None = None,
    *,
    mechanism: AssumedMechanism | None = None,
    alpha: float | None = None,
    adversary: str | None = None,
    users: Collection[str] = (),
    truth: Any = None,
    columns: Columns | Mapping[str, str] | None = None,
    zone: Zone | None = None,
) -> PolicyAudit:
    """Return what released locations reveal about each event of a policy, step by step.

    ``released`` is a frame of locations that any mechanism released, one row per step and person.
    It is judged as an output of the policy's ``mechanism`` at full budget, or at ``alpha``;
    ``mechanism="identity"`` is for true locations. ``adversary`` judges against another than the
    policy's: anything, population, near:FACTOR, stale:HOURS or starts:REGION.

    What :func:`priste.protect` released is judged by the tables it was drawn from. They are in the
    ledger of the run: give the report of the run, or the path of what ``priste protect`` wrote.
    ``truth`` is the frame of true locations; policies whose model depends on the person need it.
    """
    from priste.batch import BatchReport

    if isinstance(released, BatchReport | str | Path):
        if mechanism is not None or alpha is not None or adversary is not None:
            raise InvalidParameter(
                "must be left out with a ledger, as 'alpha' and 'adversary': it states the "
                "table of each release, and leakages against the adversary of its policy",
                parameter="mechanism",
                owner="audit",
            )
        true = () if truth is None else traces_of(truth, columns, zone)
        return _of_run(released, policy, users, true)
    if policy is None:
        raise InvalidParameter("must be given with a frame", parameter="policy", owner="audit")
    loaded = loaded_policy(policy)
    if adversary is not None:
        loaded = judged_against(loaded, adversary)
    assumed = replace(loaded, mechanism=assumed_mechanism(loaded, mechanism, alpha))
    with open_frame(released, columns).traces(zone=zone) as traces:
        return audit_traces(
            assumed,
            traces,
            "the frame",
            users=list(users),
            sure=mechanism is not None or alpha is not None,
        )


def _of_run(
    run: BatchReport | str | Path,
    policy: Policy | str | Path | None,
    users: Collection[str],
    true: Sequence[Trace],
) -> PolicyAudit:
    from priste.batch import BatchReport, files_of_run

    ledgers: Mapping[str | None, Ledger]
    if isinstance(run, BatchReport):
        if policy is None:
            raise InvalidParameter("must be given with a report", parameter="policy", owner="audit")
        loaded, ledgers = loaded_policy(policy), dict(run.ledgers.items())
    else:
        files = files_of_run(Path(run))
        ledgers = files.read_ledgers()
        given = Path(policy) if isinstance(policy, str) else policy
        loaded = loaded_policy(files.policy(given) if given is None else given)
    missing = [user for user in users if user not in ledgers]
    if missing:
        raise LedgerError(
            f"Nothing was released for {', '.join(missing)}.",
            hint="Are names written as they are in the ledger?",
        )
    chosen = [user for user in ledgers if not users or user in users]
    return audit_ledgers(loaded, {user: ledgers[user] for user in chosen}, traces=true)
