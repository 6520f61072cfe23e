"""The people of a source: their true cells under a policy, and what is odd about them together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from priste.batch.keyed_digests import Recognition
from priste.errors import TraceError
from priste.policy import Policy
from priste.traces import Traces
from priste.traces.fixes import utc_datetime

MOST_NAMED = 5
"""How many people a message names."""


@dataclass(frozen=True)
class Person:
    """One user's true cells, up to the last step with any, and digests of their hours.

    ``policy`` is the user's own, where the policy of all has a model that was fitted on them.
    """

    user: str | None
    cells: tuple[int | None, ...] = field(repr=False)
    hours: frozenset[str] = field(repr=False)
    policy: Policy | None = field(default=None, repr=False)


def people_of(policy: Policy, traces: Traces, recognition: Recognition) -> list[Person]:
    """Return everybody for whom there is something to release.

    A stream ends with its last fix, so that it can go on when the input has grown. Raises
    TraceError if there is nothing to release for anybody: then this is the wrong file, or the wrong
    policy.
    """
    found = []
    times: list[int] = []
    for trace in traces:
        times += [int(trace.times[0]), int(trace.times[-1])]
        own = policy.for_user(trace)  # nobody is guarded by a model that was fitted on them
        cells = own.cells(trace).cells
        last = max((step for step, cell in enumerate(cells) if cell is not None), default=-1)
        if last >= 0:
            found.append(
                Person(
                    trace.user,
                    cells[: last + 1],
                    recognition.hours(trace),
                    None if own is policy else own,
                )
            )
    if not found:
        raise TraceError(_nothing(policy, traces, times))
    return found


def _nothing(policy: Policy, traces: Traces, times: Sequence[int]) -> str:
    line = policy.timeline
    begin, end = line.time_of(0), line.time_of(policy.steps)
    first, last = (utc_datetime(t).astimezone(begin.tzinfo) for t in (min(times), max(times)))
    source = traces.source.root.name
    if last < begin or first >= end:
        return (
            f"Nothing in {source} can be released: its fixes are from {_said(first)} to "
            f"{_said(last)}, and the clock of the policy runs from {_said(begin)} to {_said(end)}. "
            "Is this the right file? If so, change the [clock]."
        )
    return (
        f"Nothing in {source} can be released: no fix lies within the clock of the policy, "
        f"{_said(begin)} to {_said(end)}, and on its map of {policy.grid.rows} by "
        f"{policy.grid.columns} cells. Is this the right file? If so, change [clock] or [map]."
    )


def _said(time: datetime) -> str:
    return f"{time:%d %b %Y %H:%M}"


def oddities(people: Sequence[Person]) -> tuple[str, ...]:
    """Return what should be known before these people's streams are handed out together.

    >>> one, two = (Person(name, (3, 4), frozenset()) for name in ("Ada", " ada"))
    >>> for line in oddities([one, two]): print(line)
    'Ada' and ' ada' have the same locations. Each is promised ε; whoever knows that they are one \
person learns from both, up to the sum.
    'Ada' and ' ada' count as different people. If they are one, give them one name: ε is promised \
for each.
    """
    alike: dict[tuple[int | None, ...], list[str]] = defaultdict(list)
    sounding: dict[str, list[str]] = defaultdict(list)
    for person in people:
        alike[person.cells].append(repr(person.user))
        sounding["".join((person.user or "").split()).casefold()].append(repr(person.user))
    told = [
        f"{_named(names)} have the same locations. Each is promised ε; whoever knows that they are "
        "one person learns from both, up to the sum."
        for cells, names in alike.items()
        if len(names) > 1 and len(set(cells)) > 1
    ]
    told += [
        f"{_named(names)} count as different people. If they are one, give them one name: ε is "
        "promised for each."
        for names in sounding.values()
        if len(names) > 1
    ]
    return tuple(told)


def _named(names: Sequence[str]) -> str:
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]])
