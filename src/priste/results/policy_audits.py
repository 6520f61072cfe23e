"""What a ledger, or a trace of any origin, reveals about the events of a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from priste.audit import EventAudit, RecurrenceAudit, at_level, share_off_centre
from priste.errors import InvalidParameter
from priste.mechanisms import Identity, Mechanism
from priste.release import Ledger
from priste.results.audits import (
    audit_cells,
    audit_recurrences,
    audit_releases,
    begin_of_stream,
    columns_of_cells,
    columns_of_releases,
    policy_of_ledger,
)
from priste.results.other_adversaries import other_adversaries
from priste.results.verdict import Verdict, verdict, within
from priste.showable import Plottable, Tabular
from priste.traces import Trace

if TYPE_CHECKING:
    from priste.policy import Policy, PolicyOf

Audits = Mapping[str, EventAudit]
Floats = NDArray[np.float64]
OnAudited = Callable[[int, int], None]
AssumedMechanism = Literal["policy", "identity"]


@dataclass(frozen=True)
class PolicyAudit(Plottable, Tabular):
    """What was found, per user; ``ours`` when a ledger tells that the policy was at work."""

    policy: Policy
    emission: str
    users: Mapping[str | None, Audits]
    ours: bool
    otherwise: Mapping[str | None, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    own: Mapping[str | None, Policy] = field(default_factory=dict)
    """The policies of users who have one of their own."""
    snapped: float = 0.0
    """The share of positions that were not centres of cells."""
    recurring: Mapping[str | None, Mapping[str, RecurrenceAudit]] = field(default_factory=dict)
    """What the streams of the worst users reveal about recurring events over all their periods."""

    def __repr__(self) -> str:
        worst = ", ".join(f"{name} {event.max:.3g}" for name, (_, event) in self.worst().items())
        return f"<PolicyAudit of {len(self.users)} streams; leakage {worst}; {self.verdict}>"

    @property
    def verdict(self) -> Verdict:
        """Whether every event of every user stayed within its ε, if that was guaranteed."""
        return verdict(
            self.policy.calibrator if self.ours else None,
            (
                within(audit.max, self.policy.events[name].epsilon) and audit.kept
                for audits in self.users.values()
                for name, audit in audits.items()
            ),
        )

    def worst(self) -> dict[str, tuple[str | None, EventAudit]]:
        """Return for each event the user whose stream leaks most about it."""
        found = {}
        for name in self.policy.events:
            user = max(self.users, key=lambda each: self.users[each][name].max)
            found[name] = (user, self.users[user][name])
        return found

    def recurrences(self) -> dict[str, RecurrenceAudit]:
        """Return for each recurring event the largest of the users that were looked at."""
        found: dict[str, RecurrenceAudit] = {}
        for audits in self.recurring.values():
            for name, audit in audits.items():
                known = found.get(name, audit)
                found[name] = RecurrenceAudit(
                    max(known.periods, audit.periods),
                    _larger(known.at_least_once, audit.at_least_once),
                    _larger(known.every_time, audit.every_time),
                )
        return found

    @property
    def against(self) -> str:
        """The adversary in words, with the models of the people's own days."""
        return adversary_of_all(self.policy, self.own)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        found: dict[str, Any] = {
            "emission": self.emission,
            "snapped": self.snapped,
            "adversary": self.against,
            "verdict": str(self.verdict),
            "events": {
                name: {
                    **self._event(name, audit),
                    "user": user,
                    "other_movement": self.otherwise[user][name],
                }
                for name, (user, audit) in self.worst().items()
            },
            "recurring": {
                name: {
                    "periods": audit.periods,
                    "at_least_once": audit.at_least_once,
                    "every_time": audit.every_time,
                }
                for name, audit in self.recurrences().items()
            },
        }
        if len(self.users) > 1:
            found["users"] = [
                {
                    "user": user,
                    "events": {name: self._event(name, audit) for name, audit in audits.items()},
                }
                for user, audits in self.users.items()
            ]
        return found

    def _event(self, name: str, audit: EventAudit) -> dict[str, Any]:
        return {
            "epsilon": self.policy.events[name].epsilon,
            "guarantee": self.policy.events[name].guaranteed,
            "leakage": list(audit.leakage),
            "max": audit.max,
            "for_event": list(audit.for_event),
            "against_event": list(audit.against_event),
            "highest_belief": list(audit.highest_belief),
            "any_prior": list(audit.any_prior),
            "any_movement": list(audit.any_movement),
            "worst_prior": {str(cell): weight for cell, weight in audit.worst_prior.items()},
            "worst_given_prior": [
                {"model": model, "prior": number, "weight": weight}
                for (model, number), weight in audit.worst_given.items()
            ],
            "prior_belief": audit.prior_belief,
            "belief": list(audit.belief),
        }


def judged_against(policy: Policy, adversary: str) -> Policy:
    """Return the policy with another adversary, against which releases are then judged.

    ``adversary`` is a word of the command line: anything, population, near:FACTOR, stale:HOURS or
    starts:REGION.
    """
    from priste.policy.adversary_choice import AdversaryChoice, adversary_section

    choice = AdversaryChoice.read(
        adversary_section(adversary), policy.grid, policy.regions, policy.timeline.step, Path()
    )
    return replace(policy, adversary_choice=choice)


def assumed_mechanism(
    policy: Policy, chosen: AssumedMechanism | None, alpha: float | None
) -> Mechanism:
    """Return the mechanism that a trace of positions is taken to come from."""
    if chosen == "identity":
        if alpha is not None:
            raise InvalidParameter(
                "must be left out: the mechanism 'identity' adds no noise", parameter="alpha"
            )
        return Identity(policy.grid)
    return policy.mechanism if alpha is None else at_level(policy.mechanism, alpha)


def _refuse_calibrated(policy: Policy, name: str) -> None:
    """Refuse to judge by plain noise what a calibrator of this policy may have released."""
    raise InvalidParameter(
        f"All positions of {name} are centres of the policy's cells, as protect "
        "releases them, and the calibrator of the policy is "
        f"{policy.calibrator.describe()['kind']!r}",
        hint="Judged as plain noise they would seem to reveal far more, or less, than they "
        "do. Audit the ledger that protect wrote beside them. If they do come from the "
        "mechanism without a calibrator, say so (--mechanism policy, or "
        "mechanism='policy').",
    )


def audit_ledgers(
    policy: Policy,
    ledgers: Mapping[str | None, Ledger],
    whose: PolicyOf | None = None,
    traces: Iterable[Trace] = (),
    on_audited: OnAudited | None = None,
) -> PolicyAudit:
    """Audit what protect released, by its ledgers; ``whose`` gives the policies of users.

    ``traces`` are the true locations, of which a policy that depends on the person makes its
    model. ``on_audited`` is called with how many streams are done, and of how many.
    """
    found: dict[str | None, Audits] = {}
    own = policies_of_ledgers(policy, ledgers, whose, traces)
    for number, (user, ledger) in enumerate(ledgers.items(), start=1):
        found[user] = audit_releases(own[user], ledger)
        if on_audited is not None:
            on_audited(number, len(ledgers))
    made = f"{policy.mechanism!r} at the budgets of the ledger"
    return _with_other_models(
        PolicyAudit(policy, made, found, ours=True, own=own),
        lambda user: (own[user], columns_of_releases(own[user], ledgers[user])),
    )


def policies_of_ledgers(
    policy: Policy,
    ledgers: Mapping[str | None, Ledger],
    whose: PolicyOf | None = None,
    traces: Iterable[Trace] = (),
) -> dict[str | None, Policy]:
    """Return the policy under which each stream was made; see :func:`audit_ledgers`."""
    own = {user: policy if whose is None else whose(user) for user in ledgers}
    for trace in traces:
        if trace.user in own:
            since = begin_of_stream(own[trace.user], ledgers[trace.user])
            own[trace.user] = own[trace.user].for_user(trace, since)
    return {user: policy_of_ledger(own[user], ledger) for user, ledger in ledgers.items()}


def adversary_of_all(policy: Policy, own: Mapping[str | None, Policy]) -> str:
    """Return the adversary in words: of a single person, with the model of their own days."""
    if len(own) == 1:
        (policy,) = own.values()
        return policy.chosen_adversary.words
    also = "; of people with enough earlier days, also one who knows a model of these days"
    return policy.chosen_adversary.words + also * policy.depends_on_person


def _with_other_models(
    audit: PolicyAudit,
    stream: Callable[[str | None], tuple[Policy, Sequence[Floats | None]]],
) -> PolicyAudit:
    """Add what the worst users' streams tell if people move otherwise than the model says, and what
    they reveal about recurring events over all their periods.
    """
    streams = {user: stream(user) for user, _ in audit.worst().values()}
    return replace(
        audit,
        otherwise={user: other_adversaries(*each) for user, each in streams.items()},
        recurring={user: audit_recurrences(*each) for user, each in streams.items()},
    )


def _larger(one: float | None, other: float | None) -> float | None:
    return max((x for x in (one, other) if x is not None), default=None)


def audit_traces(
    policy: Policy,
    traces: Iterable[Trace],
    name: str,
    *,
    users: Sequence[str] = (),
    whose: PolicyOf | None = None,
    sure: bool,
    on_audited: OnAudited | None = None,
) -> PolicyAudit:
    """Audit positions, taken to come from the policy's mechanism at full budget.

    ``name`` is what messages call them. Positions between centres are snapped to cells. Unless it
    is ``sure`` that the mechanism made them, positions that a calibrator may have released are
    refused.
    """
    found: dict[str | None, Audits] = {}
    own: dict[str | None, Policy] = {}
    released: dict[str | None, tuple[int | None, ...]] = {}
    wanted = {user or None for user in users}
    off_centre, fixes = 0.0, 0
    for number, trace in enumerate(traces, start=1):
        if wanted and trace.user not in wanted:
            continue
        off = share_off_centre(policy.grid, trace.lat, trace.lon)
        if not sure and not off and policy.calibrator.guaranteed:
            _refuse_calibrated(policy, name)
        off_centre, fixes = off_centre + off * len(trace), fixes + len(trace)
        own[trace.user] = whose(trace.user) if whose else policy
        released[trace.user] = own[trace.user].for_user(trace).cells(trace).cells
        found[trace.user] = audit_cells(own[trace.user], released[trace.user])
        if on_audited is not None:
            on_audited(number, number)
    if not found:
        raise InvalidParameter(
            f"{name} holds no fixes of {', '.join(users)}.",
            hint="Are names written as they are there?",
        )
    return _with_other_models(
        PolicyAudit(
            policy,
            f"{policy.mechanism!r} at every step",
            found,
            ours=False,
            own=own,
            snapped=off_centre / fixes,
        ),
        lambda user: (own[user], columns_of_cells(own[user], released[user])),
    )
