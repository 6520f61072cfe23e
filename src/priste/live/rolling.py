"""Recurring events without an end: which events a stream guards at a step.

A policy is written for a stretch of time; a running stream has no end. So a recurring event is made
anew for each day or week: a period enters when the one before it begins, at least one whole period
ahead, and the releases so far are counted against it (``Protector.with_policy``). It leaves again
when it is *settled*: over, and even the exact cell of every later step could not bring it above its
ε. Entering depends on the calendar and leaving on past releases, so the releases reveal nothing by
either. docs/explanation/endless-streams.md says what is guaranteed with that.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime, time, timedelta

from priste.errors import EventSyntaxError, PolicyError
from priste.events import Event, parse_event
from priste.policy import Policy, PolicyEvent
from priste.policy.calendar import NoSteps, Period, StepReader, period_of
from priste.policy.guarded_rules import GuardedRule, rules_of
from priste.policy.policy_reader import places_of_events
from priste.release.guarded_hours import guarded_hours_of
from priste.traces import Timeline

Events = dict[str, PolicyEvent]


class RollingEvents:
    """The events of a policy at any step, in steps of a stream that begins at ``origin``.

    ``origin`` and all steps that are given count on the policy's clock.
    """

    def __init__(self, policy: Policy, origin: int) -> None:
        self._policy = policy
        self._origin = origin
        self.rules = rules_of(policy.document)
        self._known: dict[tuple[str, Period | None], tuple[str, PolicyEvent] | None] = {}
        self._places = places_of_events(policy.regions, policy.grid, policy.outside)

    def due(self, step: int) -> Events:
        """Return what must be guarded at a step: this period and the next, and all that come once.

        Neighbouring periods that are guarded together are there while one of these two is among
        them. Events that were over before the stream began are left out.
        """
        asked: list[tuple[GuardedRule, Period | None]] = []
        for rule in self.rules:
            if rule.every is None:
                asked.append((rule, None))
                continue
            last = _period(self._policy.timeline, step, rule.every)
            for _ in range(rule.span + 1):
                asked.append((rule, last))
                last = period_of(last.last + timedelta(days=1), rule.every)
        # Compiled once a period, not once a step; fixes ask while another thread releases.
        before = self._known
        known = {
            (rule.name, last): before[rule.name, last]
            if (rule.name, last) in before
            else self._made(rule, last)
            for rule, last in asked
        }
        self._known = known
        return dict(found for found in known.values() if found is not None)

    def guarded_hours(self, step: int) -> frozenset[int]:
        """Return the guarded hours of what must be guarded at a step, in steps of the stream."""
        due = self.due(step).values()
        hours = [guarded_hours_of(each.event, each.pad) for each in due if each.pad is not None]
        return frozenset[int]().union(*hours)

    def labelled(self, label: str, step: int) -> PolicyEvent | None:
        """Return the event of a period up to a step by its label, if the policy still has it."""
        for rule in self.rules:
            if rule.every is None:
                continue
            period = _period(self._policy.timeline, step, rule.every)
            begin = _period(self._policy.timeline, max(self._origin, 0), rule.every).first
            while period.last >= begin - timedelta(days=1):  # a night may begin the evening before
                found = self._made(rule, period) if label.startswith(rule.name) else None
                if found is not None and found[0] == label:
                    return found[1]
                period = period_of(period.first - timedelta(days=1), rule.every)
        return None

    def _made(self, rule: GuardedRule, last: Period | None) -> tuple[str, PolicyEvent] | None:
        """Return label and event of the periods up to ``last``, guarded as their kind is."""
        like = next(each for each in self._policy.events.values() if each.name == rule.name)
        if rule.every is None or last is None:
            parts = self._parts(rule, None)
            if len(parts) < len(rule.formulas):
                return None
            return rule.name, dataclasses.replace(like, stated=rule.guarded(parts))
        window: dict[str, dict[str, Event]] = {}
        period = last
        for _ in range(rule.span):
            parts = self._parts(rule, period)
            if parts:
                window = {period.name: parts, **window}
            period = period_of(period.first - timedelta(days=1), rule.every)
        if not window:
            return None
        found = rule.occurrence(window)
        made = dataclasses.replace(
            like,
            period=found.period,
            stated=found.guarded,
            partly=False,
            recurrences=found.recurrences,
        )
        return made.label, made

    def _parts(self, rule: GuardedRule, period: Period | None) -> dict[str, Event]:
        """Return the events of a rule in a period, without those that it does not hold."""
        found = {n: self._compiled(n, f, period) for n, f in rule.formulas.items()}
        return {name: event for name, event in found.items() if event is not None}

    def _compiled(self, name: str, formula: str, period: Period | None) -> Event | None:
        """Return the event in steps of the stream; None if the period holds no such event.

        Nor does it hold one that was over before the stream began. One that had begun by then
        could be guarded in part only: PolicyError.
        """
        timeline, steps = self._policy.timeline, self._policy.steps
        if period is not None:  # the clock goes on; a night may end on the day after the period
            steps = _steps_of(timeline, period, days_after=2).stop
        read = StepReader(timeline, steps, period)
        try:
            event = parse_event(formula, self._places, steps=read)
        except EventSyntaxError as error:
            if isinstance(error.__cause__, NoSteps):
                return None
            raise
        if event.automaton().constant is not None or (event.last_step or 0) < self._origin:
            return None
        if (event.first_step or 0) < self._origin:
            raise PolicyError(
                f"The event {name!r} begins before the stream does, so it cannot be guarded whole",
                hint="Begin a new stream in another state folder, or name later times.",
            )
        return parse_event(
            formula,
            self._places,
            steps=lambda word, last: [step - self._origin for step in read(word, last)],
        )


def first_step(policy: Policy, now: int) -> int:
    """Return where a stream that is begun at step ``now`` counts from.

    That is the beginning of the current day, or week if an event recurs weekly, so that the events
    of this period are guarded whole; or the first step of a night that began in the period
    before, or of an event that comes once, if it is not over. The steps until ``now`` are silent.
    """
    events = RollingEvents(policy, 0)
    first = now
    under_way: list[Event] = []
    for rule in events.rules:
        if rule.every is None:
            under_way += events._parts(rule, None).values()
            continue
        here = _period(policy.timeline, now, rule.every)
        first = min(first, _steps_of(policy.timeline, here).start)
        before = period_of(here.first - timedelta(days=1), rule.every)
        under_way += events._parts(rule, before).values()
    for event in under_way:
        if (event.last_step or 0) >= now:
            first = min(first, event.first_step or 0)
    return first


def _period(timeline: Timeline, step: int, every: str) -> Period:
    """Return the day, or the week from Monday, that holds a step."""
    # The middle: a step that spans midnight belongs to where most of it lies.
    return period_of(timeline.middle_of(step).date(), every)


def _steps_of(timeline: Timeline, period: Period, days_after: int = 1) -> range:
    begin = datetime.combine(period.first, time.min)
    end = datetime.combine(period.last, time.min) + timedelta(days=days_after)
    return timeline.steps_between(begin, end)
