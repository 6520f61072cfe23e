"""A person's stream as it is kept: its releases, its clock and its terms.

This form holds all that a later run needs to continue a stream: the events that are guarded with
their guarantees, digests of the map and of the other terms, and every release with its likelihood.
It holds no true location.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from priste.errors import StateError
from priste.policy import Policy, PolicyEvent
from priste.quantify import Guarantee, guarantee_from_dict
from priste.release import Ledger, Protector, Release
from priste.release.guarded_hours import guarded_hours_of, stretches
from priste.release.stream_file import journal as stream_file
from priste.release.stream_file.header import (
    check_binding,
    checked_binding,
    events_to_json,
    ground_in,
    ground_of,
    guarded_from_json,
)
from priste.release.stream_record import Entry, Likelihoods, LikelihoodTexts, entry_from_json

Records = Sequence[Mapping[str, Any]]
Events = dict[str, PolicyEvent]

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class KeptStream:
    """A stream: its identity, what it belongs to, its clock, its terms and its releases.

    ``start`` is when step 0 begins. ``before`` is the step of the stream at which the clock of the
    policy begins that the stream was last released under, and ``steps`` is how many steps of that
    clock it covers. A stream that continues under a later clock keeps its first step, so ``before``
    grows; it is negative where the clock of the policy begins before the stream does. ``inherited``
    are steps of the guarded hours of earlier policies, in which no later trace is read.
    """

    stream: str
    binding: Mapping[str, str]
    start: datetime
    step: timedelta
    before: int
    steps: int
    ground: Mapping[str, str]
    guarded: Sequence[Mapping[str, Any]]
    records: tuple[Mapping[str, Any], ...]
    inherited: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        protector: Protector,
        policy: Policy,
        before: int,
        steps: int,
        *,
        stream: str,
        binding: Mapping[str, str],
        past: KeptStream | None = None,
    ) -> KeptStream:
        """Return the stream of a Protector; the clock of the policy begins at step ``before``."""
        terms = protector.state.terms
        return cls(
            stream,
            checked_binding(binding),
            policy.timeline.time_of(0) - before * policy.timeline.step,
            policy.timeline.step,
            before,
            steps,
            ground_of(terms, protector.calibrator),
            events_to_json(terms),
            tuple(protector.records()),
            frozenset() if past is None else past.guarded_hours,
        )

    def to_bytes(self) -> bytes:
        """Return the stream as bytes that are checked when they are read."""
        header = {
            "stream": self.stream,
            "binding": dict(self.binding),
            "start": self.start.isoformat(),
            "step": self.step // _MICROSECOND,
            "before": self.before,
            "steps": self.steps,
            "ground": dict(self.ground),
            "events": list(self.guarded),
            "inherited": [[each.start, each.stop] for each in stretches(self.inherited)],
        }
        return stream_file.encode(header, self.records)[0]

    @classmethod
    def read(cls, data: bytes, place: Path) -> KeptStream:
        """Undo :meth:`to_bytes`; ``place`` is for messages."""
        contents = stream_file.decode(data, place)
        header = contents.header
        try:
            return cls(
                str(header["stream"]),
                check_binding(header, None, place),
                datetime.fromisoformat(header["start"]),
                int(header["step"]) * _MICROSECOND,
                int(header["before"]),
                int(header["steps"]),
                dict(header["ground"]),
                list(header["events"]),
                contents.records,
                frozenset(
                    step for first, stop in header["inherited"] for step in range(first, stop)
                ),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise _damaged(place) from problem

    @classmethod
    def of_journal(cls, path: Path, start: datetime, step: timedelta) -> KeptStream:
        """Return the stream of a Protector's journal, whose step 0 begins at ``start``.

        Raises StateError while somebody is writing to it.
        """
        stream_file.refuse_if_locked(path)
        contents = stream_file.read(path)
        header = contents.header
        try:
            binding = check_binding(header, None, path)
            return cls(
                str(header["stream"]),
                binding,
                start,
                step,
                0,
                len(contents.records),
                ground_in(header),
                list(header["events"]),
                contents.records,
            )
        except (KeyError, TypeError) as problem:
            raise _damaged(path) from problem

    @property
    def end(self) -> datetime:
        """When the last released step ends."""
        return self.start + len(self.records) * self.step

    def step_of(self, when: datetime) -> int | None:
        """Return the step of the stream that begins at an instant; None if none does."""
        steps, rest = divmod(when - self.start, self.step)
        return None if rest else steps

    @property
    def told(self) -> list[tuple[int | None, str | None]]:
        """What was released at each step: the output, and the digest of its likelihood."""
        return [(record.get("output"), record.get("digest")) for record in self.records]

    def begins(self, other: KeptStream) -> bool:
        """Return whether another stream continues this one, or is this one."""
        told = self.told
        same_clock = (self.start, self.step) == (other.start, other.step)
        return same_clock and other.told[: len(told)] == told

    @cached_property
    def events(self) -> Events:
        """What is guarded, in steps of the stream."""
        try:
            return {str(entry["name"]): _event(entry) for entry in self.guarded}
        except (KeyError, TypeError, ValueError) as problem:
            raise _damaged(Path("a kept stream")) from problem

    @cached_property
    def guarded_hours(self) -> frozenset[int]:
        """The steps of the stream that are guarded hours of its events, or were of earlier ones."""
        own = (
            guarded_hours_of(each.stated, each.pad)
            for each in self.events.values()
            if each.pad is not None
        )
        return self.inherited.union(*own)

    @property
    def cells(self) -> tuple[int | None, ...]:
        """The released cell of each step of the policy's clock; None for silence."""
        told = [output for output, _ in self.told]
        return tuple([None] * -self.before + told[max(self.before, 0) :])[: self.steps]

    def ledger(self, names: Sequence[str], guarantees: Sequence[Guarantee], against: str) -> Ledger:
        """Return the ledger of the steps of the policy's clock, about the events of these names.

        What the stream guards next to them are events of earlier runs.
        """
        guarded = [str(entry["name"]) for entry in self.guarded]
        asked = [guarded.index(name) for name in names]
        likelihoods = Likelihoods()
        nothing = Release(0, None, 0.0, (0.0,) * len(guarded), 0, 0, (), against)
        entries = [Entry(nothing)] * -self.before
        try:
            entries += [entry_from_json(record, likelihoods, against) for record in self.records]
        except (KeyError, TypeError, ValueError) as problem:
            raise StateError(
                f"A kept stream cannot be read: {problem}.", hint="Restore it from a copy."
            ) from problem
        shown = [
            replace(
                entry,
                release=replace(
                    entry.release,
                    step=step,
                    leakage=tuple(entry.release.leakage[k] for k in asked),
                    belief=tuple(entry.release.belief[k] for k in asked if entry.release.belief),
                ),
            )
            for step, entry in enumerate(entries[max(self.before, 0) :][: self.steps])
        ]
        return Ledger(
            names,
            [entry.release for entry in shown],
            LikelihoodTexts(shown, likelihoods),
            guarantees=guarantees,
            against=against,
            past=LikelihoodTexts(entries[: max(self.before, 0)], likelihoods),
        )


def _event(entry: Mapping[str, Any]) -> PolicyEvent:
    guarded = guarded_from_json(entry["event"])
    guarantee = guarantee_from_dict(entry["guarantee"])
    return PolicyEvent(
        str(entry["name"]), None, str(guarded), guarded, guarantee, pad=entry["guarded_hours"]
    )


def _damaged(place: Path) -> StateError:
    return StateError(f"{str(place)!r} is not a stream as it is kept", hint="It was left as it is.")
