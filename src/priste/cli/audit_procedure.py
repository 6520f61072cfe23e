"""``priste audit --procedure``: what a procedure reveals to those who know its code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from priste.cli.console import progress

if TYPE_CHECKING:
    from priste.audit import ProcedureRow
    from priste.policy import Policy
    from priste.results import Verdict

OWN = "policy"
"""The name of the policy's own calibrator in the table."""

MOST_STEPS = 24
"""How many steps are followed by default: each takes a table of the whole map."""


@dataclass(frozen=True)
class ProcedureAudit:
    """Claimed ε against true leakage, for the policy's calibrator and for comparison."""

    policy: Policy
    steps: int
    rows: tuple[ProcedureRow, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether the policy's own calibrator keeps every claim, if it makes any."""
        from priste.results import verdict

        own = (row for row in self.rows if row.calibrator == OWN)
        return verdict(self.policy.calibrator, (row.kept for row in own))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        return {
            "verdict": str(self.verdict),
            "steps": self.steps,
            "rows": [row.to_dict() for row in self.rows],
        }

    def show(self, out: Console) -> None:
        """Print the table, and what it means."""
        out.print(
            f"[bold]Claimed ε and true leakage[/bold] over the first {self.steps} of "
            f"{self.policy.steps} steps, to an adversary who knows the code: "
            f"{self.policy.chosen_adversary.words}\n"
        )
        from priste.results import percent

        table = Table(box=None, pad_edge=False)
        for title in (*_WORDS, "claimed", "true", "belief", "any prior", "broken"):
            table.add_column(title, justify="left" if title in _WORDS else "right")
        for row in self.rows:
            table.add_row(
                row.calibrator,
                row.event,
                row.sees,
                f"{row.claimed:g}",
                Text(f"{row.true:.3f}", style="green" if row.kept else "bold red"),
                percent(row.belief),
                f"{row.any_prior:.3f}",
                f"{100 * row.exceeding:.0f} %",
            )
        out.print(table)
        out.print(
            "\nbelief: that adversary's largest belief that it happened; any prior: the true "
            "leakage to those who may believe anything about where the user began; broken: the "
            "share of streams that break the guarantee."
        )
        if any(row.method == "sampled runs" for row in self.rows):
            out.print(
                "\nToo many sequences to enumerate: sampled streams, each judged exactly. The true "
                "leakage is the largest that was found."
            )


_WORDS = ("calibrator", "event", "who sees")


def audit_the_procedure(
    policy: Policy, *, steps: int | None, runs: int, seed: int | None
) -> ProcedureAudit:
    """Audit a policy's procedure over its first ``steps`` steps, next to paper and certified."""
    from priste.audit import audit_procedure

    length = min(policy.steps, MOST_STEPS if steps is None else steps)
    with progress("Following the procedures"):
        rows = audit_procedure(
            policy.models,
            {name: each.event for name, each in policy.events.items()},
            policy.mechanism,
            {name: each.guarantee for name, each in policy.events.items()},
            length,
            calibrators={OWN: policy.calibrator, "paper": "paper", "certified": "certified"},
            runs=runs,
            rng=seed,
            adversary=policy.chosen_adversary.adversary,
        )
    return ProcedureAudit(policy, length, tuple(rows))
