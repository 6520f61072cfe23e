"""What a run did, for people and for JSON. It holds no true location."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from priste.batch.parts import Ledgers, Parts, Totals
from priste.policy import PolicyEvent
from priste.quantify import Guarantee
from priste.release import Calibrator
from priste.results import RunErrors, Verdict, verdict
from priste.traces import ReadingReport, WritingReport

MOST_PROBLEMS = 20
"""How many people without a release are named."""

MOST_SHOWN = 10
"""How many people's ledgers are looked at closely: those with the largest leakage."""


@dataclass(frozen=True)
class BatchReport:
    """What a run did. ``ledgers`` and what is asked of them are read from the parts when asked for.

    ``drawn_now`` counts steps, ``given_again`` users whose first draws were given again,
    ``continued`` those whose stream of another run continues, and ``sampled`` is the share of users
    that was asked for.
    """

    destination: Path
    ledger: Path
    parts: Parts
    reading: ReadingReport
    writing: WritingReport
    guarded: Mapping[str, PolicyEvent]
    against: str
    calibrator: Calibrator
    totals: Totals
    errors: RunErrors
    drawn_now: int
    notes: tuple[str, ...] = ()
    given_again: int = 0
    continued: int = 0
    sampled: float = 1.0

    def __repr__(self) -> str:
        return (
            f"<BatchReport of {self.totals.users} users, {self.totals.releases} releases in "
            f"{str(self.destination)!r}; {self.verdict}>"
        )

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """The guarantee about each event."""
        return {name: event.guarantee for name, event in self.guarded.items()}

    @property
    def ledgers(self) -> Ledgers:
        """The ledger of each user; they are read one by one."""
        return Ledgers(self.parts)

    @property
    def cells(self) -> dict[str | None, tuple[int | None, ...]]:
        """The released cells of each user, None for silence."""
        return dict(self.parts.cells())

    @property
    def problems(self) -> dict[str | None, str]:
        """Why nothing was released, for the first users without a release."""
        return self.parts.problems(MOST_PROBLEMS)

    @property
    def verdict(self) -> Verdict:
        """Whether the guarantee was kept for every event of every user."""
        return verdict(self.calibrator, [self.totals.kept])

    def largest_leakage(self) -> dict[str, float]:
        """Return each event's largest leakage over all users and steps."""
        return dict(zip(self.guarantees, self.parts.largest("leakage"), strict=True))

    def largest_belief(self) -> dict[str, float]:
        """Return the largest belief in each event, over all users and steps."""
        return dict(zip(self.guarantees, self.parts.largest("belief"), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        leakage, belief = self.largest_leakage(), self.largest_belief()
        spread = self.parts.leakage_spread()
        return {
            "destination": str(self.destination),
            "ledger": str(self.ledger),
            "users": self.totals.users,
            "releases": self.totals.releases,
            "drawn_now": self.drawn_now,
            "given_again": self.given_again,
            "continued": self.continued,
            "sampled": self.sampled,
            "quarantined": {
                "users": self.totals.problems,
                "reasons": {user or "": reason for user, reason in self.problems.items()},
            },
            "notes": list(self.notes),
            "verdict": str(self.verdict),
            "events": {
                name: {
                    "guarantee": event.guaranteed,
                    "epsilon": epsilon_of(event.guarantee),
                    "max": leakage[name],
                    "belief": belief[name],
                    "of_users": spread.get(name, {}),
                }
                for name, event in self.guarded.items()
            },
            "adversary": self.against,
            "metres": {
                **{way.replace(" ", "_"): asdict(each) for way, each in self.errors.ways().items()},
                "of_users": self.errors.spread(),
            },
            "off_map": asdict(self.errors.off_map),
        }


def epsilon_of(guarantee: Guarantee) -> float:
    """Return the largest bound on a logarithm of odds, inf where beliefs are bounded instead."""
    return guarantee.largest_leakage
