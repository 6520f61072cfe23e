"""What is shown of one protected stream: plain values, which other modules compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from priste.audit import EventAudit
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.policy.policy import event_label
from priste.quantify import Guarantee, OddsBound
from priste.release import Calibrator
from priste.report.strip import Day
from priste.results.usefulness import Usefulness
from priste.results.verdict import Verdict, verdict, within
from priste.results.wording import any_prior_words, from_to, reached_words


@dataclass(frozen=True)
class EventTrack:
    """One event's story: its guarantee, and what the releases revealed with and without priste.

    ``period`` is the day or week of a recurring event. ``steps`` are those it speaks of.
    ``guarded`` is what priste's releases revealed, ``uncalibrated`` what the same mechanism at full
    budget would have revealed, None if that was not computed. ``otherwise`` says how far the same
    releases leak to adversaries with other models, in words; ``releases`` how many there are
    at its steps, None if that was not counted; ``believed`` what its beliefs are a belief in.
    """

    name: str
    period: str | None
    text: str
    epsilon: float
    steps: tuple[int, ...]
    guarded: EventAudit
    uncalibrated: EventAudit | None = None
    otherwise: Mapping[str, float] = field(default_factory=dict)
    releases: int | None = None
    believed: str = "that it happened"

    @property
    def label(self) -> str:
        """The text that stands for the event, or for one period of it, in tables."""
        return event_label(self.name, self.period)

    @property
    def within(self) -> bool:
        """Whether what was revealed stayed within ε at every step."""
        return within(self.guarded.max, self.epsilon) and self.guarded.kept

    @property
    def guaranteed(self) -> Guarantee:
        """What is guaranteed; odds within ε both ways unless stated."""
        return self.guarded.guarantee or OddsBound(self.epsilon, self.epsilon)

    @property
    def reached(self) -> str:
        """What was reached of what is guaranteed, in words."""
        return reached_words(self.guaranteed, self.guarded)

    @property
    def silent(self) -> str:
        """That nothing was released at its steps, in words; empty where something was."""
        if self.releases is None or self.releases:
            return ""
        return "no release speaks of it, because nothing was released in its hours"

    @property
    def any_prior(self) -> str:
        """What adversaries learn against whom nothing is guaranteed; empty if there are none."""
        return any_prior_words(self.guarded)

    @property
    def beliefs(self) -> str:
        """What an adversary believes before any release and after all, in words."""
        audit = self.guarded
        return from_to(audit.prior_belief, (audit.belief or (audit.prior_belief,))[-1])


@dataclass(frozen=True)
class StreamReport:
    """One stream, ready to be shown.

    ``times`` labels each step. ``released`` holds output cells, None for silence.
    ``truth`` is there only when the reader asked to see it. Sequences that run over steps have
    equal length. ``calibrator`` made the releases; None if that is unknown. ``against`` says whom
    the guarantee is against. ``usefulness`` and its ``strip`` of days are there when the truth was
    at hand, and so is ``population`` (m,), where people are: it may be made from traces of others.
    ``own_places`` says that ``regions`` are the user's own, which reveals as much as where they
    were. ``continued`` says that the stream continues
    from releases of earlier runs.
    """

    title: str
    grid: Grid
    times: tuple[str, ...]
    guarantee: tuple[str, ...]
    regions: Mapping[str, tuple[int, ...]]
    events: tuple[EventTrack, ...]
    released: tuple[int | None, ...]
    budgets: tuple[float, ...]
    full_budget: float
    calibrator: Calibrator | None = None
    against: str = "an adversary who may hold any belief about where the user began"
    not_guaranteed: tuple[str, ...] = ()
    usefulness: Usefulness | None = field(default=None, repr=False)
    strip: tuple[Day, ...] = ()
    truth: tuple[int | None, ...] | None = field(default=None, repr=False)
    step_hours: float = 1.0
    own_places: bool = False
    population: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    outline: tuple[tuple[tuple[float, float], ...], ...] = field(default=(), repr=False)
    continued: bool = False

    def __post_init__(self) -> None:
        steps = len(self.times)
        lengths = {
            "released": len(self.released),
            "budgets": len(self.budgets),
            **{f"leakage of {e.label}": len(e.guarded.leakage) for e in self.events},
        }
        if self.truth is not None:
            lengths["truth"] = len(self.truth)
        wrong = {name: length for name, length in lengths.items() if length != steps}
        if wrong:
            raise InvalidParameter(
                f"must be as many as all other sequences have entries, {steps}",
                parameter="times",
                owner="StreamReport",
                got=f"{wrong}",
            )

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.times)

    @property
    def verdict(self) -> Verdict:
        """Whether the guarantee was kept, broken, or never made."""
        return verdict(self.calibrator, (event.within for event in self.events))

    @property
    def with_truth(self) -> bool:
        """Whether anything here was made from true locations."""
        compared = any(event.uncalibrated is not None for event in self.events)
        shown = self.truth is not None or self.usefulness is not None
        return compared or shown
