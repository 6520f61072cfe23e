"""What a policy guards: events, events guarded together, and secrets; once, or each day or week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from priste.errors import EventSyntaxError
from priste.events import Event, Guarded, Secret, parse_event, together
from priste.policy.calendar import NoSteps, Period, StepReader, periods

if TYPE_CHECKING:
    from priste.policy.document import Document
    from priste.policy.sections import EventSection, GuaranteeSection
    from priste.traces import Timeline

Recurrence = tuple[str, str, Event]
"""The name of a recurring event, a day or week, and the event then."""


@dataclass(frozen=True)
class GuardedRule:
    """One thing that a policy guards, as it is written.

    ``formulas`` has one entry for an event, and one for each event of a secret, by its name.
    ``joined`` says how they are guarded: an event "alone", events of a secret by their "answers",
    or "together". With ``every`` there is one such thing in each day or week; with a ``span`` above
    1 this many neighbouring ones are guarded together.
    """

    path: tuple[str, str]
    section: GuaranteeSection
    formulas: Mapping[str, str]
    joined: str
    every: str | None = None
    span: int = 1

    @property
    def name(self) -> str:
        """The name under which it is written."""
        return self.path[1]

    @property
    def text(self) -> str:
        """What is guarded, as it is written."""
        if self.joined == "alone":
            return self.formulas[self.name]
        return "; ".join(f"{name}: {formula}" for name, formula in self.formulas.items())

    def guarded(self, parts: Mapping[str, Event]) -> Guarded:
        """Return the event or secret of what each formula means, once or in one period."""
        if self.joined == "alone":
            return parts[self.name]
        return Secret(parts) if self.joined == "answers" else together(parts)

    def occurrence(
        self, window: Mapping[str, Mapping[str, Event]], *, partly: bool = False
    ) -> Occurrence:
        """Return what is guarded in neighbouring periods, of each of which the parts are given."""
        if len(window) == 1:
            (guarded,) = map(self.guarded, window.values())
        else:
            guarded = together({period: parts[self.name] for period, parts in window.items()})
        return Occurrence(
            window_label(list(window)),
            guarded,
            partly,
            tuple(
                (self.name if self.joined == "alone" else f"{self.name}: {part}", period, event)
                for period, parts in window.items()
                for part, event in parts.items()
            ),
        )


@dataclass(frozen=True)
class Occurrence:
    """An event or secret of a policy once, in one period, or in neighbouring ones.

    ``partly`` says that the clock cuts a part of its time off.
    """

    period: str | None
    guarded: Guarded
    partly: bool = False
    recurrences: tuple[Recurrence, ...] = ()


@dataclass(frozen=True)
class Unguarded:
    """A day or week of a recurring event that is not guarded, and why."""

    event: str
    period: str
    reason: str


@dataclass
class _InPeriod:
    """What a rule means in one period."""

    period: Period
    parts: dict[str, Event] = field(default_factory=dict)
    partly: bool = False


def rules_of(document: Document) -> list[GuardedRule]:
    """Return what a document guards, in its order; an event of a secret is not guarded twice."""
    inside = {member for section in document.secrets.values() for member in section.together or ()}
    rules = [rule_of(n, e) for n, e in document.events.items() if n not in inside]
    for name, section in document.secrets.items():
        path = ("secrets", name)
        if section.answers is not None:
            rules.append(GuardedRule(path, section, section.answers, "answers", section.every))
            continue
        members = {each: document.events[each] for each in section.together or ()}
        formulas = {each: member.formula for each, member in members.items()}
        every = next(iter(members.values())).every
        rules.append(GuardedRule(path, section, formulas, "together", every))
    return rules


def rule_of(name: str, section: EventSection) -> GuardedRule:
    """Return the rule of an event that is guarded by itself."""
    formulas, span = {name: section.formula}, section.span or 1
    return GuardedRule(("events", name), section, formulas, "alone", section.every, span)


def all_formulas(document: Document) -> list[str]:
    """Return every formula of a document."""
    own = [section.formula for section in document.events.values()]
    return own + [
        formula
        for secret in document.secrets.values()
        for formula in (secret.answers or {}).values()
    ]


def check_secrets(document: Document) -> list[tuple[tuple[str, ...], str]]:
    """Return what is wrong with the secrets of a document, with where it stands."""
    found: list[tuple[tuple[str, ...], str]] = []
    for name, secret in document.secrets.items():
        path = ("secrets", name, "together")
        if name in document.events:
            found.append((("secrets", name), "an event has this name too; rename one"))
        unknown = [each for each in secret.together or () if each not in document.events]
        if unknown:
            known = ", ".join(document.events) or "none"
            found.append((path, f"there is no event {unknown[0]!r}; the events are {known}"))
            continue
        members = {each: document.events[each] for each in secret.together or ()}
        for each, member in members.items():
            if member.guarantee() is not None or member.guarded_hours is not None:
                found.append(
                    (
                        ("events", each),
                        f"this event is guarded in the secret {name!r}; give its guarantee and "
                        f"guarded_hours there, in [secrets.{name}]",
                    )
                )
            if member.together is not None:
                found.append(
                    (
                        ("events", each, "together"),
                        f"this event is guarded in the secret {name!r}, one day or week at a time",
                    )
                )
        if len({member.every for member in members.values()}) > 1:
            found.append((path, "events that are guarded together have the same 'every'"))
    return found


def occurrences(
    rule: GuardedRule, regions: Mapping[str, Any], timeline: Timeline, steps: int
) -> tuple[list[Occurrence], list[Unguarded]]:
    """Return what a rule guards: once, or in each period in which its times have steps.

    And the periods that have to be left out.
    """
    if rule.every is None:
        reader = StepReader(timeline, steps)
        parts = {name: _read(formula, regions, reader) for name, formula in rule.formulas.items()}
        return [Occurrence(None, rule.guarded(parts))], []
    found: list[_InPeriod] = []
    missed: list[Unguarded] = []
    opening = timeline.time_of(0).date()
    for period in periods(timeline, steps, rule.every):
        here = _InPeriod(period)
        for name, formula in rule.formulas.items():
            reader = StepReader(timeline, steps, period)
            try:
                here.parts[name] = _read(formula, regions, reader)
            except EventSyntaxError as error:
                if not isinstance(error.__cause__, NoSteps):
                    raise
                if period.last >= opening:  # the period before the clock is not missed
                    whose = rule.name if rule.joined == "alone" else f"{rule.name}: {name}"
                    missed.append(Unguarded(whose, period.name, str(error.__cause__)))
            here.partly |= reader.cut
        if here.parts:
            found.append(here)
    if not found:
        raise NoSteps(f"no {rule.every} of the timeline holds a step for every time in it")
    span = min(rule.span, len(found))
    windows = [found[first : first + span] for first in range(len(found) - span + 1)]
    return [_occurrence(rule, window) for window in windows], missed


def _occurrence(rule: GuardedRule, window: Sequence[_InPeriod]) -> Occurrence:
    parts = {each.period.name: each.parts for each in window}
    return rule.occurrence(parts, partly=any(each.partly for each in window))


def window_label(names: Sequence[str]) -> str:
    """Return the name of neighbouring periods.

    >>> window_label(["week of 2026-03-02", "week of 2026-03-09"])
    'week of 2026-03-02 and week of 2026-03-09'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _read(formula: str, regions: Mapping[str, Any], reader: StepReader) -> Event:
    return parse_event(formula, regions, steps=reader)
