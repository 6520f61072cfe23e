"""One person's stream: fixes in, one released point per step out. No sockets, no tasks, no waiting.

The service calls :meth:`Stream.take` for every fix and :meth:`Stream.release` when a step is over.
A release is on the disk before it is returned, so nothing is ever drawn twice.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

from priste.errors import InvalidParameter, ReleaseRefused, StateError
from priste.live import own_days
from priste.live.collecting import Collector
from priste.live.keeping import StateFolder
from priste.live.output_points import NamedPoint, OutputPoints
from priste.live.point import Point
from priste.live.rolling import RollingEvents, first_step
from priste.policy import Policy, PolicyEvent
from priste.quantify import Guarantee
from priste.randomness import BitSource, ExactDistribution, SystemBits
from priste.register import ContinuedStreams, KeptStream, settled
from priste.register.continued import step_of_clock
from priste.release import Protector
from priste.release.seeded_steps import SeededSteps
from priste.traces import Fix, Trace
from priste.traces.fixes import microseconds

AHEAD = timedelta(minutes=1)
"""How far the clock of a device may be ahead of the clock here."""

_STEPS_KNOWN = 16
"""For how many steps it is remembered whether they are in guarded hours."""

_MICROSECOND = timedelta(microseconds=1)


class Releases(Protocol):
    """What was released about people before, by any door."""

    def begin(self, person: str, policy: Policy, folder: Path) -> KeptStream | None:
        """Write down that a person's stream continues in a folder.

        Returns what another place holds of the stream, None if it is all in the folder.
        """

    def released_before(self, person: str, policy: Policy, folder: Path, fixes: Trace) -> bool:
        """Write down fixes that are about to be released; True if another stream has some."""


class Taken(StrEnum):
    """What became of a fix."""

    KEPT = "kept"
    GUARDED = "not looked at: guarded hours"
    LATE = "late: its step has been released"
    EARLY = "early: its time is ahead of the clock"
    BEFORE = "before the policy's clock begins"
    CROWDED = "ahead of too many steps"
    RELEASED = "released before, in another stream"


@dataclass(frozen=True)
class StreamOptions:
    """How a person's stream behaves beyond what the policy says; all of it may be public.

    ``missing`` is what a step without a fix does: ``"cover"`` releases a point that was drawn from
    public knowledge only, ``"silence"`` nothing. ``hold`` is for how long the last fix still
    counts when none comes, for devices that report only when they move. ``points``,
    ``avoid_guarded`` and ``accuracy`` say where outputs are shown: see
    :class:`~priste.live.output_points.OutputPoints`. With a ``seed`` draws repeat, for tests and
    demonstrations only.
    """

    missing: Literal["cover", "silence"] = "cover"
    hold: timedelta = timedelta(0)
    accuracy: float | None = None
    points: tuple[NamedPoint, ...] = ()
    avoid_guarded: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.missing not in ("cover", "silence"):
            raise InvalidParameter(
                "must be 'cover' or 'silence'", parameter="missing", value=self.missing
            )
        if self.hold < timedelta(0):
            raise InvalidParameter("must not be negative", parameter="hold", got=f"{self.hold}")
        if self.accuracy is not None and not 0 < self.accuracy < 1e7:
            raise InvalidParameter("must be metres > 0", parameter="accuracy", value=self.accuracy)


@dataclass
class Counts:
    """What a stream has seen since it was opened; numbers only."""

    kept: int = 0
    released: int = 0
    covered: int = 0
    silent: int = 0
    guarded: int = 0
    last_fix: str | None = None
    """When the last fix came that was kept, by its own time."""
    covers_since: str | None = None
    """Since which step only covers or silence were released; None after a release from a fix.

    Guarded hours do not count."""
    reasons: Counter[str] = field(default_factory=Counter)
    """How many fixes were refused, by the reason."""

    @property
    def refused(self) -> int:
        """How many fixes were refused."""
        return self.reasons.total()


class Stream:
    """The releases of one person under one policy, continued from its state folder.

    Steps count on the policy's clock. Made by :meth:`open`; close it to give up its journal.
    """

    def __init__(
        self,
        state: StateFolder,
        policy: Policy,
        options: StreamOptions,
        origin: int,
        releases: Releases | None = None,
        past: KeptStream | None = None,
    ) -> None:
        self.person = state.person
        self.policy = policy
        self.options = options
        self.origin = origin
        self.counts = Counts()
        self._points = OutputPoints(
            policy,
            options.points,
            avoid_guarded=options.avoid_guarded,
            accuracy=options.accuracy,
        )
        self._state = state
        self._seeded = None if options.seed is None else SeededSteps(options.seed)
        self._bits: BitSource = self._seeded or SystemBits()
        self._events = RollingEvents(policy, origin)
        self._guarded: dict[str, PolicyEvent] = {}
        self._refused: dict[str, PolicyEvent] = {}
        self._hours: dict[int, bool] = {}
        self._collector = Collector(policy, options.hold)
        self._releases = releases
        self._protector = self._open_protector(past)
        self.latest = self._last_point()
        self.trouble: str | None = None
        """Why only covers go out, if that is so."""

    @classmethod
    def open(
        cls,
        person: str,
        policy: Policy,
        folder: Path,
        options: StreamOptions,
        now: datetime,
        releases: Releases | None = None,
        history: Path | None = None,
    ) -> Stream:
        """Continue the stream of a folder, or what was released before, or begin one at ``now``.

        ``releases`` says what other doors released about the person; a stream with a seed takes
        no part in that. ``history`` is a recording of days before the stream, for a policy whose
        family has "own"; it is read when the stream begins, and never again.

        Raises StateError if the folder holds a stream of somebody else or on other ground, is in
        use or damaged; OutputError if others may enter it; InvalidParameter if the policy's clock
        has not begun.
        """
        state = StateFolder(folder, person)
        policy = own_days.as_kept(policy, state)
        origin = state.origin(policy)
        if options.seed is not None:
            releases = None
        past = None if releases is None else releases.begin(person, policy, state.folder)
        if origin is None:
            if past is not None:
                origin = -step_of_clock(policy, past)
            else:
                origin = first_step(policy, policy.timeline.step_at(now))
            start = policy.timeline.time_of(0) + origin * policy.timeline.step
            policy = own_days.fitted(policy, state, history, start)
            state.begin(policy, origin)
        return cls(state, policy, options, origin, releases, past)

    def recover(self) -> None:
        """Open the journal again after it could not be written; the disk decides what counts.

        Fixes of the running steps are kept. Raises StateError while it still cannot be opened.
        """
        self.close()
        self._protector = self._open_protector()
        self.latest = self._last_point()

    # ------------------------------------------------------------------ looking

    @property
    def next_step(self) -> int:
        """The first step that has not been released."""
        return self.origin + self._protector.next_step

    def told(self) -> dict[str, tuple[Guarantee, float, float]]:
        """Return for each guarded event what is guaranteed, and the leakage and belief so far."""
        protector = self._protector
        listed = zip(protector.guarantees, protector.leakage, protector.belief, strict=True)
        return dict(zip(protector.event_names, listed, strict=True))

    def guaranteed(self) -> dict[str, str]:
        """Return for each guarded event what is guaranteed, in words."""
        terms = self._protector.state.terms
        return {
            name: guarantee.words(len(event.answers))
            for name, event, guarantee in zip(
                terms.event_names, terms.events, terms.guarantees, strict=True
            )
        }

    @property
    def leakage(self) -> dict[str, float]:
        """How much the stream has revealed so far about each event that it guards now."""
        return dict(zip(self._protector.event_names, self._protector.leakage, strict=True))

    def step_at(self, when: datetime) -> int:
        """Return the step of an instant; negative before the policy's clock begins."""
        timeline = self.policy.timeline
        return (microseconds(when) - microseconds(timeline.start)) // (
            timeline.step // _MICROSECOND
        )

    def guards(self, step: int) -> bool:
        """Return whether a step of the stream is in guarded hours, also before it is prepared.

        It follows from the policy, the clock and past releases.
        """
        found = self._hours.get(step)
        if found is None:
            if len(self._hours) > _STEPS_KNOWN:
                self._hours.clear()
            found = self._protector.calibrator.guaranteed and (
                step - self.origin in self._protector.guarded_hours
                or step - self.origin in self._events.guarded_hours(step)
            )
            self._hours[step] = found
        return found

    # ------------------------------------------------------------------ fixes in

    def take(self, fix: Fix, now: datetime) -> Taken:
        """Keep a fix until its step is over, and say what became of it. Never waits.

        A fix of guarded hours leaves no trace: it is neither kept nor counted.
        """
        taken = self._taken(fix, now)
        if taken is Taken.KEPT:
            self.counts.kept += 1
            self.counts.last_fix = f"{fix.time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        elif taken is not Taken.GUARDED:
            self.counts.reasons[str(taken)] += 1
        return taken

    def _taken(self, fix: Fix, now: datetime) -> Taken:
        step = self.step_at(fix.time)
        if step < 0:
            return Taken.BEFORE
        if fix.time > now + AHEAD:
            return Taken.EARLY
        if step >= self.origin and self.guards(step):
            return Taken.GUARDED
        if step < self.next_step:
            return Taken.LATE
        return Taken.KEPT if self._collector.put(step, fix) else Taken.CROWDED

    # ------------------------------------------------------------------ releases out

    def release(self, step: int) -> Point | None:
        """Release a step that is over and return its point; None for silence.

        Steps before it that were not released become silent. A step that was released before is
        not drawn again: None is returned, and :attr:`latest` is what apps have.
        """
        if step < self.next_step:
            return None
        self._roll(step)
        if self._seeded is not None:
            self._seeded.begin(step - self.origin)
        output = self._output(step)
        if output is None:
            self.counts.silent += 1
            return None
        point = self._point(output, step)
        self._state.keep_latest(point)
        self.latest = point
        return point

    def _refuse_released(self, step: int) -> None:
        """Forget fixes that another stream has released, because a second draw would reveal
        more."""
        if self._releases is None or not (fixes := self._collector.held(step)):
            return
        trace = Trace.of(Fix(None, fix.time, fix.lat, fix.lon) for fix in fixes)
        if self._releases.released_before(self.person, self.policy, self._state.folder, trace):
            self._collector.drop(step)
            self.counts.reasons[str(Taken.RELEASED)] += len(fixes)

    def _output(self, step: int) -> int | None:
        """Return the released output of a step, a cover, or None for silence.

        In guarded hours the release says nothing, so it is made whether or not there is a fix.
        """
        guarded, cell = step - self.origin in self._protector.guarded_hours, None
        if guarded:
            self._collector.drop(step)  # the fix before these hours does not count after them
        else:
            self._refuse_released(step)
            cell = self._collector.cell(step)
        if (guarded or cell is not None) and not self._refused:
            try:
                output = self._protector.release(cell or 0, step=step - self.origin).cell
            except ReleaseRefused as refusal:
                self.trouble = str(refusal)
            else:
                self.trouble = None
                self.counts.guarded += guarded
                self.counts.released += not guarded
                if not guarded:
                    self.counts.covers_since = None
                return output
        if self.counts.covers_since is None:
            since = self.policy.timeline.time_of(step).astimezone(UTC)
            self.counts.covers_since = f"{since:%Y-%m-%dT%H:%M:%SZ}"
        cover = self._cover(step - self.origin) if self.options.missing == "cover" else None
        self._protector.release(None, step=step - self.origin)
        self.counts.covered += cover is not None
        return cover

    def _cover(self, step: int) -> int:
        """Draw a release from public knowledge only.

        A cell is drawn as past releases predict it, and from it an output as if it were the true
        cell. Neither depends on where a person is, so the step counts as silent: it changes no
        ratio. To an adversary who expects what is predicted it has exactly the distribution of a
        release.
        """
        if self._protector.next_step < step:
            self._protector.release(None, step=step - 1)
        node = self._protector.node
        expected = ExactDistribution(node.state.predicted()).draw(self._bits)
        return node.rule.draw(expected, self._bits).output

    def prepare(self, step: int | None = None) -> None:
        """Choose the table of the next step before it is over: it follows from past releases.

        Then the end of a step waits for a draw and the disk only. With ``step`` choose that of a
        later one; the steps before it become silent.
        """
        if step is not None and step > self.next_step:
            self._roll(step)
            self._protector.release(None, step=step - self.origin - 1)
        self._roll(self.next_step)
        with suppress(ReleaseRefused):  # which the release will meet, and say
            _ = self._protector.node.rule

    def _point(self, cell: int, step: int) -> Point:
        lat, lon, accuracy, place = self._points.of(cell)
        return Point(
            self.person, step, self.policy.timeline.time_of(step), lat, lon, accuracy, place
        )

    # ------------------------------------------------------------------ events that roll on

    def _roll(self, step: int) -> None:
        """Guard what the policy asks for at a step, and what is not settled yet."""
        wanted = self._events.due(step)
        if all(_same(self._guarded.get(label), each) for label, each in wanted.items()):
            return
        left = settled(self._protector)
        for label in self._guarded:
            if label not in wanted and label not in left:
                # What was guaranteed stays so, also where the policy has lost the event.
                wanted[label] = self._events.labelled(label, step) or self._guarded[label]
        if not wanted:  # all is settled, and a Protector guards one event at least
            return
        self._take_on(wanted)

    def _take_on(self, wanted: dict[str, PolicyEvent]) -> None:
        """Guard other events from now on, with all releases so far counted against them.

        If a guarantee about one of them cannot be given at all (a cap on beliefs below what an
        adversary would believe of that day before any release), only covers go out until the next
        change.
        """
        if wanted.keys() == self._refused.keys():
            return
        try:
            self._protector = self._protector.with_policy(
                **_terms(wanted), journal=self._state.next_journal()
            )
        except InvalidParameter as problem:
            self._refused, self.trouble = wanted, str(problem)
            return
        self._refused = {}
        self._guarded = wanted
        self._hours = {}
        self._state.drop_old_journals()

    # ------------------------------------------------------------------ opening and closing

    def _open_protector(self, past: KeptStream | None = None) -> Protector:
        journal = self._state.journal()
        if past is not None:
            return self._go_on(past)
        if journal is not None:
            protector = Protector.resume(journal, rng=self._bits, binding=self._state.binding)
            self._state.has_journal()
            self._state.drop_old_journals()
            self._guarded = _as_policy_events(protector)
            self._events.due(self.origin + protector.next_step)  # now, not at the end of a step
            return protector
        events = self._events.due(self.origin)
        if not events:
            raise InvalidParameter(
                "Every event of the policy was over before now: there is nothing to guard",
                hint="Add an event that is still to come, or let it recur with every = 'week'.",
            )
        begun = self.policy.starting_at(self.origin, events)
        protector = Protector(
            begun.models,
            mechanism=begun.mechanism,
            calibrator=begun.calibrator,
            rng=self._bits,
            adversary=begun.chosen_adversary.adversary,
            family=begun.family,
            public_prior=begun.public_prior,
            **_terms(events),
            journal=self._state.next_journal(),
            binding=self._state.binding,
        )
        self._state.has_journal()
        self._guarded = events
        return protector

    def _go_on(self, past: KeptStream) -> Protector:
        """Take in what was released in another place, into a journal of this folder."""
        events = self._events.due(max(self.origin + len(past.records), 0))
        stream, _ = ContinuedStreams().protector(self.policy, past, self._bits, events)
        self._guarded = _as_policy_events(stream)
        protector = stream.with_policy(
            **_terms(self._guarded),
            journal=self._state.next_journal(),
            binding=self._state.binding,
        )
        self._state.has_journal()
        self._state.drop_old_journals()
        return protector

    def _last_point(self) -> Point | None:
        """Return what apps were last given, or should have been when the process ended."""
        latest = self._state.latest()
        if latest is not None and latest.step >= self.next_step:
            raise StateError(
                f"The folder {str(self._state.folder)!r} has given out step {latest.step}, "
                "which its journal does not know: an older copy was put back",
                hint="It was left as it is.",
            )
        last = self._protector.next_step - 1
        if last + self.origin < 0 or last < 0:
            return latest
        released = self._protector.ledger[last]
        if released.cell is None or (latest is not None and latest.step >= last + self.origin):
            return latest
        point = self._point(released.cell, last + self.origin)
        self._state.keep_latest(point)
        return point

    def close(self) -> None:
        """Give up the journal."""
        self._protector.close()


def _terms(events: dict[str, PolicyEvent]) -> dict[str, Any]:
    """Return events, guarantees and guarded hours as arguments of a Protector."""
    return {
        "events": {name: each.event for name, each in events.items()},
        "guarantee": {name: each.guarantee for name, each in events.items()},
        "guarded_hours": {name: each.pad for name, each in events.items()},
    }


def _as_policy_events(protector: Protector) -> dict[str, PolicyEvent]:
    """Return what a resumed stream guards; the texts of its formulas are not kept."""
    terms = protector.state.terms
    listed = zip(terms.event_names, terms.events, terms.guarantees, terms.pads, strict=True)
    return {
        name: PolicyEvent(name, None, "", event, guarantee, pad=pad)
        for name, event, guarantee, pad in listed
    }


def _same(guarded: PolicyEvent | None, wanted: PolicyEvent) -> bool:
    """Return whether an event is guarded as it is wanted, however its formula was written."""
    return guarded is not None and (guarded.event, guarded.guarantee, guarded.pad) == (
        wanted.event,
        wanted.guarantee,
        wanted.pad,
    )
