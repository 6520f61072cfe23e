"""``priste audit``: what a ledger, or a trace released by anybody, tells about each event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from priste.cli.console import notices, progress
from priste.cli.sources import Reading
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.audit import EventAudit
    from priste.policy import Policy

Audits = Mapping[str, "EventAudit"]

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 64


@dataclass(frozen=True)
class Audit:
    """What was found, per user."""

    policy: Policy
    emission: str
    users: Mapping[str | None, Audits]

    @property
    def kept(self) -> bool:
        """Whether every event of every user stayed within its ε."""
        return all(
            audit.max <= self.policy.events[name].epsilon
            for audits in self.users.values()
            for name, audit in audits.items()
        )

    def worst(self) -> dict[str, tuple[str | None, EventAudit]]:
        """Return for each event the user whose stream leaks most about it."""
        found = {}
        for name in self.policy.events:
            user = max(self.users, key=lambda each: self.users[each][name].max)
            found[name] = (user, self.users[user][name])
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/cli.md."""
        found: dict[str, Any] = {
            "emission": self.emission,
            "kept": self.kept,
            "events": {
                name: {**self._event(name, audit), "user": user}
                for name, (user, audit) in self.worst().items()
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
            "leakage": list(audit.leakage),
            "max": audit.max,
            "worst_prior": {str(cell): weight for cell, weight in audit.worst_prior.items()},
            "prior_belief": audit.prior_belief,
            "belief": list(audit.belief),
        }


def audit(
    policy_path: Path,
    released: Path,
    *,
    alpha: float | None = None,
    users: Sequence[str] = (),
    reading: Reading | None = None,
) -> Audit:
    """Audit a ledger (whose budgets are known) or a trace of released positions.

    A trace is taken to come from the policy's mechanism at its full budget, or at ``alpha``.
    """
    from priste.batch import is_ledger, ledger_of, read_ledgers
    from priste.cli.reporting import choose
    from priste.policy import load_policy
    from priste.report import audit_cells, audit_releases

    with progress("Reading the policy"):
        policy = load_policy(policy_path)
    found: dict[str | None, Audits] = {}
    if is_ledger(released):
        if alpha is not None:
            raise InvalidParameter("A ledger states the budget of each release: leave out --alpha.")
        ledgers = choose(read_ledgers(released), users, most=None)
        with progress("Auditing") as tell:
            for number, (user, ledger) in enumerate(ledgers.items(), start=1):
                found[user] = audit_releases(policy, ledger)
                tell(number, len(ledgers))
        return Audit(policy, f"{policy.mechanism!r} at the budgets of the ledger", found)
    if ledger_of(released).exists():
        notices().print(
            f"{ledger_of(released).name} lies beside this file and states the budget of each "
            "release: audit that for exact numbers."
        )
    wanted = {user or None for user in users}
    with progress("Auditing") as tell:
        for number, trace in enumerate((reading or Reading()).open(released), start=1):
            if wanted and trace.user not in wanted:
                continue
            cells = policy.timeline.cells(
                trace, policy.grid, policy.rule, outside=policy.outside, steps=policy.steps
            )
            found[trace.user] = audit_cells(policy, cells.cells, budget=alpha)
            tell(number, number)
    if not found:
        raise InvalidParameter(f"{released.name} holds no fixes of {', '.join(users)}.")
    level = policy.mechanism if alpha is None else policy.mechanism.with_budget(alpha)
    return Audit(policy, f"{level!r} at every step", found)


def show(made: Audit, out: Console) -> None:
    """Print the worst user's numbers for each event, with a line over time."""
    from priste.report import odds, percent

    who = "one stream" if len(made.users) == 1 else f"{len(made.users)} streams"
    out.print(f"[bold]What {who} told[/bold], if released by {made.emission}\n")
    line = made.policy.timeline
    for name, (user, found) in made.worst().items():
        epsilon = made.policy.events[name].epsilon
        within = found.max <= epsilon
        whose = f" (user {user})" if len(made.users) > 1 else ""
        verdict = Text("within" if within else "ABOVE", style="green" if within else "bold red")
        out.print(Text.assemble((name, "bold"), whose))
        out.print(
            Text.assemble(
                f"  odds can move {odds(found.max)}, ",
                verdict,
                f" the promised {odds(epsilon)} (leakage {found.max:.3f}, ε = {epsilon:g})",
            )
        )
        out.print(f"  [cyan]{sparkline(found.leakage)}[/cyan]")
        if found.leakage and found.max > 0:
            step = max(range(len(found.leakage)), key=found.leakage.__getitem__)
            prior = " or ".join(
                f"cell {cell} ({percent(weight)})" for cell, weight in found.worst_prior.items()
            )
            out.print(
                f"  most at step {step} ({line.time_of(step):%a %d %b %H:%M}), to those who think "
                f"the user began in {prior}"
            )
        after = found.belief[-1] if found.belief else found.prior_belief
        out.print(
            f"  an observer without a guess believes {percent(found.prior_belief)} before and "
            f"{percent(after)} after\n"
        )


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """Return a line of bars, the largest value of each stretch; ∞ where it is unbounded.

    >>> sparkline([0.0, 0.5, 1.0]), sparkline([0.0, float("inf")]), sparkline([])
    (' ▄█', ' ∞', '')
    """
    count = min(width, len(values))
    groups = [
        max(values[k * len(values) // count : (k + 1) * len(values) // count]) for k in range(count)
    ]
    top = max((value for value in groups if value != float("inf")), default=0.0) or 1.0
    return "".join(
        "∞" if value == float("inf") else BARS[round(value / top * (len(BARS) - 1))]
        for value in groups
    )
