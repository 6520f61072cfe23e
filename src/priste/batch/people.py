"""The people of a source: what is unusual about them, or why there is nothing to release."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from priste.batch.parts import Parts
from priste.errors import InvalidParameter, TraceError
from priste.policy import Policy
from priste.traces import ReadingReport, Traces
from priste.traces.fixes import utc_datetime
from priste.traces.formats.known import FORMATS
from priste.traces.record_problems import Tally

MOST_NAMED = 5
"""How many people a message names, and how many messages there are of a kind."""


def named_in(traces: Traces) -> Iterator[str | None]:
    """Yield the people whom a source names, so that those without a usable record are reported too.

    Some come more than once, and only some or nobody where all records are usable. Ask after
    the source was read.
    """
    if traces.reading.user is not None:
        return
    source, reading, kind = traces.source, traces.reading, FORMATS[traces.format]
    column = None if kind.tables is None else traces.columns().user
    if not kind.names_users or (kind.tables is not None and column is None):
        yield from (file.user for file in source.files)
    elif traces.report.set_aside:
        records = kind.users(source, reading, Tally()) if column is None else traces.texts(column)
        yield from (user for user, _ in records)


def nothing_to_release(policy: Policy, source: str, earliest: int, latest: int) -> str:
    """Say why nothing in a source can be released, whose fixes are between two times."""
    line = policy.timeline
    begin, end = line.time_of(0), line.time_of(policy.steps)
    first, last = (utc_datetime(t).astimezone(begin.tzinfo) for t in (earliest, latest))
    if last < begin or first >= end:
        return (
            f"Nothing in {source} can be released: its fixes are from {_said(first)} to "
            f"{_said(last)}, and the clock of the policy runs from {_said(begin)} to {_said(end)}"
        )
    return (
        f"Nothing in {source} can be released: no fix lies within the clock of the policy, "
        f"{_said(begin)} to {_said(end)}, outside guarded hours, and on its map of "
        f"{policy.grid.rows} by {policy.grid.columns} cells"
    )


def dropped(policy: Policy, report: ReadingReport, fixes: int, outside: int) -> tuple[str, ...]:
    """Return warnings where most of the input takes no part, with the numbers.

    ``outside`` of ``fixes`` lie outside the clock of the policy.
    """
    told = []
    if report.mostly_set_aside:
        told.append(
            f"Most records of {report.source} are no usable fixes: {report.set_aside:,} of "
            f"{report.records:,} were set aside, most of them for: {report.commonest}."
        )
    if 2 * outside > fixes:
        line = policy.timeline
        begin, end = line.time_of(0), line.time_of(policy.steps)
        told.append(
            f"Most fixes take no part: {outside:,} of {fixes:,} lie outside the clock of the "
            f"policy, which runs from {_said(begin)} to {_said(end)}. Change the [clock] if they "
            "should be released."
        )
    return tuple(told)


def _said(time: datetime) -> str:
    return f"{time:%d %b %Y %H:%M}"


def refuse_unsaid_places(policy: Policy, said: Collection[str] | None) -> None:
    """Raise InvalidParameter for a region of personal places if nothing says where.

    ``said`` are the regions of which columns of the input tell, None where a table may tell of all.
    """
    unsaid = [name for name in policy.own_regions if said is not None and name not in said]
    if unsaid:
        raise InvalidParameter(
            f"must say where {unsaid[0]!r} is, a personal place of the policy",
            parameter="places",
            hint=f"Give a table (--places TABLE) or a column of the input (--place {unsaid[0]}).",
        )


def about_places(users: int, placed: int, unknown: int, own: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what should be known about personal places, of which many have some.

    ``own`` are regions that are nowhere for those who have none.
    ``unknown`` are people who have places and are not among the users: a name that is written in
    two ways means that somebody is guarded at other places than theirs. Raises TraceError
    where that is so for every user.

    >>> about_places(users=3, placed=1, unknown=0)
    ('2 of 3 users have no place of their own: for them the regions of the policy stand.',)
    """
    if unknown and not placed:
        raise TraceError(
            f"None of the {users} users has a place of their own: those given are of others "
            f"({unknown})",
            hint="Are names written in the same way?",
        )
    told = []
    if placed < users:
        nowhere = f", and {' and '.join(own)} is nowhere" if own else ""
        told.append(
            f"{users - placed} of {users} users have no place of their own: for them the regions "
            f"of the policy stand{nowhere}."
        )
    if unknown:
        told.append(
            f"People with places of their own who are not among the users: {unknown}. If that is a "
            "matter of how names are written, hand out nothing: nobody is guarded at those places."
        )
    return tuple(told)


def oddities(parts: Parts) -> tuple[str, ...]:
    """Return what should be known before these people's streams are handed out together."""
    told = [
        f"{_named(names)} have the same locations. Each is guaranteed ε; adversaries who know that "
        "they are one person learn from both, up to the sum."
        for names in parts.alike("nullif(alike, '')", MOST_NAMED)
    ]
    told += [
        f"{_named(names)} count as different people. If they are one, give them one name: ε is "
        "guaranteed for each."
        for names in parts.alike("lower(regexp_replace(user, '\\s+', '', 'g'))", MOST_NAMED)
    ]
    return tuple(told)


def _named(names: Sequence[str]) -> str:
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]])
