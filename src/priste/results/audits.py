"""What a stream reveals about the events of a policy: a ledger, or releases of any origin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priste.audit import EventAudit, RecurrenceAudit, audit_recurrence, audit_stream
from priste.audit.stream import asked_at_every_step
from priste.errors import InvalidParameter
from priste.float_text import floats_from_text
from priste.quantify import AnyPrior
from priste.release import AccountantState, Draw, Ledger, Release
from priste.results.verdict import ledger_keeps
from priste.results.wording import odds

if TYPE_CHECKING:
    from priste.policy import Policy

SAME_LEAKAGE = 1e-6
"""How far a ledger's leakage may lie from the one computed here before it is called foreign."""

TELLING = 1e-5
"""From this leakage on, models differ. Below it, all of them agree that little was revealed."""

OnEvent = Callable[[int, int], None]


def columns_of_releases(
    policy: Policy, releases: Sequence[Release], steps: int | None = None
) -> list[NDArray[np.float64] | None]:
    """Return the likelihood of each release at every cell, None for silence.

    Of all of them, or of the first ``steps``.

    That is the column that a ledger holds for the release, if it does (as for tables that are
    searched for), and otherwise the column of the policy's mechanism at the budget of the release.
    Releases must be of steps 0, 1, 2, … and outputs of that mechanism, else InvalidParameter is
    raised.
    """
    columns = StreamColumns(policy)
    return [columns.next(releases) for _ in islice(releases, steps)]


class StreamColumns:
    """The likelihood of each release of a stream at every cell, release by release."""

    def __init__(self, policy: Policy) -> None:
        self._mechanism = policy.mechanism
        self._state = policy.protector().state
        self._step = 0

    def next(self, releases: Sequence[Release]) -> NDArray[np.float64] | None:
        """Return the column of the first release that was not asked for; None for silence.

        ``releases`` are all so far, the same ones at each call and more; see
        :func:`columns_of_releases`.
        """
        step = self._step
        release = releases[step]
        if release.step != step:
            raise InvalidParameter(
                "A stream must hold the steps 0, 1, 2, … in order", hint=f"Step {step} is missing."
            )
        if release.cell is not None and not 0 <= release.cell < self._mechanism.outputs:
            raise InvalidParameter(
                f"The release of step {step} is not an output of this policy's mechanism",
                hint="Was it made under another policy?",
            )
        column = _column(self._state, releases, step)
        if self._mechanism.uses_belief:
            # Only then do later columns depend on earlier releases.
            drawn = (
                None
                if release.cell is None or column is None
                else Draw(release.cell, release.budget, column)
            )
            self._state = self._state.replayed(drawn, release.leakage, release.belief)
        self._step += 1
        return column


def _column(
    state: AccountantState, releases: Sequence[Release], step: int
) -> NDArray[np.float64] | None:
    release = releases[step]
    if release.cell is None:
        return None
    stored = releases.likelihood(step) if isinstance(releases, Ledger) else None
    if stored is None:
        return np.array(state.mechanism_at(release.budget).likelihood(release.cell))
    cells = state.mechanism.grid.size
    if len(stored) != cells:
        raise InvalidParameter(
            f"The ledger's likelihood of step {step} is about {len(stored)} cells, the map "
            f"of this policy has {cells}",
            hint="Was it made under another policy?",
        )
    return stored


def policy_of_ledger(policy: Policy, releases: Ledger) -> Policy:
    """Return the policy under which a stream was made: without the person, if they were left out.

    A person on whom the policy's model is fitted is guarded by the model of the others. The
    ledger's own leakages show which of them it was. If they fit none, the policy itself is
    returned, and :func:`audit_releases` says what does not fit.
    """
    if all(chosen.fitting is None for chosen in policy.chosen_models):
        return policy
    told = next(
        (step for step, release in enumerate(releases, 1) if max(release.leakage) > TELLING),
        len(releases),
    )
    if _agrees(policy, releases, told):
        return policy
    others = (own for own in policy.for_each_fitted() if _agrees(own, releases, told))
    return next((own for own in others if _agrees(own, releases, len(releases))), policy)


def _agrees(policy: Policy, releases: Ledger, steps: int) -> bool:
    """Return whether the first leakages of a ledger are those that its releases have here."""
    if releases.event_names != tuple(policy.events):
        return False
    past, begun, columns = _whole_stream(policy, releases, steps)
    return all(
        _first_difference(leakages(begun, name, columns)[past:], releases, number) is None
        for number, name in enumerate(policy.events)
    )


def _whole_stream(
    policy: Policy, releases: Ledger, steps: int | None = None
) -> tuple[int, Policy, list[NDArray[np.float64] | None]]:
    """Return how many steps earlier runs released, the policy in steps of the stream, and columns.

    The columns are those of all steps since the stream began.
    """
    own, past = columns_of_releases(policy, releases, steps), len(releases.past)
    if not past:
        return 0, policy, own
    from priste.register.continued import policy_of_stream  # only policies have a past

    before = [None if text is None else floats_from_text(text) for text in releases.past]
    return past, policy_of_stream(policy, past), before + own


def begin_of_stream(policy: Policy, releases: Ledger) -> datetime | None:
    """Return when a stream began that earlier runs released a part of, None if none did."""
    past = len(releases.past)
    return policy.timeline.start - past * policy.timeline.step if past else None


def _first_difference(found: Sequence[float], releases: Ledger, number: int) -> int | None:
    """Return the first step whose leakage is not the ledger's."""
    for step, here in enumerate(found):
        there = releases[step].leakage[number]
        if not math.isclose(here, there, rel_tol=SAME_LEAKAGE, abs_tol=SAME_LEAKAGE):
            return step
    return None


def audit_releases(
    policy: Policy,
    releases: Ledger,
    *,
    beside: bool = True,
    on_event: OnEvent | None = None,
) -> dict[str, EventAudit]:
    """Recompute what a stream reveals about each event of its policy, from its ledger.

    The leakages of the ledger are kept: they are bounds of the same quantity, and where the check
    has shown that a stream is within ε they say so. Raises InvalidParameter when they are not
    what these releases reveal under this policy. ``beside`` is as in :func:`audit_stream`.
    """
    if releases.event_names != tuple(policy.events):
        raise InvalidParameter(
            f"The ledger is about {', '.join(releases.event_names)}, the policy about "
            f"{', '.join(policy.events)}",
            hint="Give the policy that the releases were made under.",
        )
    past, begun, columns = _whole_stream(policy, releases)
    found = {}
    for number, name in enumerate(policy.events):
        audited = _since(past, audit_columns(begun, name, columns, beside=beside))
        ledger = tuple(release.leakage[number] for release in releases)
        step = _first_difference(audited.leakage, releases, number)
        if step is not None:
            raise InvalidParameter(
                f"The ledger says that step {step} brought the leakage about {name!r} to "
                f"{ledger[step]:.6g}; under this policy it is {audited.leakage[step]:.6g}",
                hint="The ledger belongs to another policy, to a person whose own days were "
                "guarded against (give the protected file, --input) or who has personal places "
                "(--places), or it was changed.",
            )
        found[name] = replace(audited, leakage=ledger)
        if on_event is not None:
            on_event(number + 1, len(policy.events))
    return found


def _since(step: int, audit: EventAudit) -> EventAudit:
    """Return the part of an audit from a step on."""
    series = ("leakage", "belief", "any_movement", "for_event", "against_event", "highest_belief")
    cut = {name: getattr(audit, name)[step:] for name in (*series, "any_prior")}
    return replace(audit, **cut) if step else audit


def audit_recurrences(
    policy: Policy, columns: Sequence[NDArray[np.float64] | None]
) -> dict[str, RecurrenceAudit]:
    """Return what a stream reveals about each recurring event over all its days or weeks, by name.

    Where all of them are guarded together their secret says it already; one that recurs once only
    is an event.
    """
    found = {}
    for name, events in policy.recurring().items():
        found[name] = audit_recurrence(
            policy.models,
            events,
            columns,
            policy.chosen_adversary.adversary,
            family=policy.family,
        )
    return found


def audit_columns(
    policy: Policy,
    name: str,
    columns: Sequence[NDArray[np.float64] | None],
    *,
    beside: bool = True,
) -> EventAudit:
    """Audit one event against the policy's adversary, jointly over its models."""
    event = policy.events[name]
    return audit_stream(
        policy.models,
        {name: event.event},
        columns,
        adversary=policy.chosen_adversary.adversary,
        guarantees={name: event.guarantee},
        beside=beside,
        family=policy.family,
    )[name]


def leakages(
    policy: Policy, name: str, columns: Sequence[NDArray[np.float64] | None]
) -> list[float]:
    """Return the leakages of :func:`audit_columns`, and take no time for anything else."""
    event = policy.events[name]
    guarded = asked_at_every_step(
        policy.models, event.event, policy.chosen_adversary.adversary, len(columns), policy.family
    )
    found = []
    for column in columns:
        guarded.observe(column)
        found.append(guarded.leakage().over(event.guarantee))
    return found


def keeps_its_guarantees(policy: Policy, releases: Ledger) -> bool:
    """Return whether a stream kept every guarantee of its policy, as far as possible by its
    ledger."""
    told = [
        ledger_keeps(event.guarantee, releases, number)
        for number, event in enumerate(policy.events.values())
    ]
    if None in told:
        own = policy_of_ledger(policy, releases)
        return all(audit.kept for audit in audit_releases(own, releases, beside=False).values())
    return all(told)


def any_prior_work(policy: Policy, steps: int) -> float:
    """Return about how many products it takes to find what any prior learns at so many steps.

    Each step moves a row for each first cell through each model, for each event.
    """
    return float(policy.grid.size) ** 3 * steps * len(policy.models) * len(policy.events)


@dataclass(frozen=True)
class AnyPriorLeakage:
    """The largest leakage about each event to adversaries with any prior and the same model.

    Where it is not ``complete``, the time was over: then each value is the largest that was found.
    """

    leakage: Mapping[str, float]
    complete: bool = True

    def words(self, name: str) -> str:
        """Return the leakage about one event in words."""
        return ("" if self.complete else "≥ ") + odds(self.leakage[name])


def any_prior_leakage(
    streams: Iterable[tuple[Policy, Ledger]],
    *,
    seconds: float = math.inf,
    on_progress: Callable[[int], None] | None = None,
) -> AnyPriorLeakage | None:
    """Return what adversaries with any prior could have learnt from these streams, the largest.

    Each stream comes with the policy of its user. It ends after about ``seconds`` of computing;
    ``on_progress`` gets how many steps were looked at. None where the guarantee is against any
    prior already: then the leakages say it.
    """
    found: dict[str, float] = {}
    began, looked = process_time(), 0
    for policy, ledger in streams:
        if policy.chosen_adversary.adversary == AnyPrior():
            return None
        own = policy_of_ledger(policy, ledger)
        columns = columns_of_releases(own, ledger)
        for name, event in own.events.items():
            asked = asked_at_every_step(
                own.models, event.event, AnyPrior(), len(columns), own.family
            )
            found.setdefault(name, 0.0)
            for column in columns:
                asked.observe(column)
                # A verdict on what was found already costs less than a new bound.
                if not asked.judge.passes(asked.joint_probabilities(), found[name])[0]:
                    found[name] = max(found[name], asked.leakage().value)
                looked += 1
                if on_progress is not None:
                    on_progress(looked)
                if process_time() - began > seconds:
                    missing = dict.fromkeys(own.events, 0.0)
                    return AnyPriorLeakage({**missing, **found}, complete=False)
    return AnyPriorLeakage(found)


def audit_cells(
    policy: Policy,
    cells: Sequence[int | None],
    *,
    budget: float | None = None,
) -> dict[str, EventAudit]:
    """Return what released cells, None for silence, reveal about each event under a stated model.

    The emission model: each cell is an output of the policy's mechanism at ``budget``, its own
    unless given, drawn independently given the true cells. If the releases were made in
    another way, the numbers are about that other way.
    """
    columns = columns_of_cells(policy, cells, budget=budget)
    return {name: audit_columns(policy, name, columns) for name in policy.events}


def columns_of_cells(
    policy: Policy, cells: Sequence[int | None], *, budget: float | None = None
) -> list[NDArray[np.float64] | None]:
    """Return the likelihood of each released cell under the model of :func:`audit_cells`."""
    mechanism = policy.mechanism
    level = mechanism.budget if budget is None else float(budget)
    mechanism.with_budget(level)  # says what is wrong with a budget before any work is done
    places = mechanism.output_cells()
    if places is None or list(places) != list(range(policy.grid.size)):
        raise InvalidParameter(
            "must have the map's cells as outputs", parameter="mechanism", owner="audit_cells"
        )
    unknown = (0.0,) * len(policy.events)
    releases = [Release(step, cell, level, unknown, 1) for step, cell in enumerate(cells)]
    return columns_of_releases(policy, releases)


def released_cells(policy: Policy, releases: Sequence[Release]) -> tuple[int | None, ...]:
    """Return the cell of the map that each release means, None for silence."""
    return cells_of_outputs(policy, [release.cell for release in releases])


def cells_of_outputs(policy: Policy, outputs: Sequence[int | None]) -> tuple[int | None, ...]:
    """Return the cell of the map that each output of the mechanism means, None where it is none."""
    places = policy.mechanism.output_cells()
    if places is None:
        return (None,) * len(outputs)
    return tuple(None if output is None else int(places[output]) for output in outputs)
