"""The problems of records, what is done about each, and their counts.

No record is dropped silently: whatever is set aside, reordered or read with a rule is counted under
one :class:`Problem`, and each problem states its rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Problem(StrEnum):
    """A kind of problem with a record; ``rule`` says what reading does about it."""

    BAD_LINE = "bad line"
    BAD_CHECKSUM = "bad checksum"
    OTHER_RECORD = "other record"
    NO_FIX = "no fix"
    MISSING_USER = "missing user"
    MISSING_TIME = "missing time"
    UNREADABLE_TIME = "unreadable time"
    MISSING_POSITION = "missing position"
    IMPOSSIBLE_TIME = "impossible time"
    CONTRADICTORY_TIME = "contradictory time"
    NONEXISTENT_TIME = "nonexistent time"
    AMBIGUOUS_TIME = "ambiguous time"
    IMPOSSIBLE_POSITION = "impossible position"
    ZERO_POSITION = "zero position"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNSORTED = "unsorted"
    ODD_STAY = "odd stay"

    @property
    def rule(self) -> str:
        """What reading does with such a record, in one sentence."""
        return _RULES[self]

    @property
    def sets_aside(self) -> bool:
        """Whether such a record takes no part; False when it is only counted."""
        return self not in (Problem.AMBIGUOUS_TIME, Problem.UNSORTED, Problem.ODD_STAY)


_RULES = {
    Problem.BAD_LINE: "Set aside: it cannot be read as a record of its format.",
    Problem.BAD_CHECKSUM: "Set aside: its checksum does not match its text.",
    Problem.OTHER_RECORD: "Set aside: it is of a kind that holds no timed fix of the user.",
    Problem.NO_FIX: "Set aside: the receiver itself said that it had no fix.",
    Problem.MISSING_USER: "Set aside: its user is empty while the source names users.",
    Problem.MISSING_TIME: "Set aside: it has no time.",
    Problem.UNREADABLE_TIME: "Set aside: its time is not written in a way that is known (such as "
    "2024-05-01T08:30:00Z). State how a table writes it, as time_format=%d.%m.%Y %H:%M.",
    Problem.MISSING_POSITION: "Set aside: it has no position, or none that can be read.",
    Problem.IMPOSSIBLE_TIME: "Set aside: it is of a time before positioning by satellite, or far "
    "ahead; of times as numbers the unit may be another.",
    Problem.CONTRADICTORY_TIME: "Set aside: it states its time twice, and the two differ.",
    Problem.NONEXISTENT_TIME: "Set aside: the clocks of its zone skipped that time.",
    Problem.AMBIGUOUS_TIME: "Kept: the clocks showed that time twice; taken as the first.",
    Problem.IMPOSSIBLE_POSITION: "Set aside: beyond ±90° of latitude or ±180° of longitude.",
    Problem.ZERO_POSITION: "Set aside: exactly (0, 0), what devices write without a fix.",
    Problem.DUPLICATE: "Set aside: same user, instant and position as the record kept, the first.",
    Problem.CONFLICT: "Set aside: same user and instant as the record kept, another position.",
    Problem.UNSORTED: "Kept: earlier than the record before it; fixes are sorted by time.",
    Problem.ODD_STAY: "Kept as a fix at its beginning: its end cannot be read, comes before the "
    "beginning, or more than a year after it.",
}


def counted(count: int, one: str, more: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "fix", "fixes"), counted(2, "user")
    ('1 fix', '2 users')
    """
    return f"{count} {one if count == 1 else more or one + 's'}"


@dataclass(frozen=True)
class ReadingReport:
    """What reading a source met: how many records, fixes and users, and every problem.

    ``records`` counts everything met, ``fixes`` what is used; the difference is the
    sum of the problems that set records aside. ``problems`` lists only kinds that occurred, and
    ``owners`` says whose the files of a folder were taken to be. No position is in it.
    """

    source: str
    format: str
    records: int
    fixes: int
    users: int
    problems: Mapping[Problem, int]
    owners: str | None = None

    def count(self, problem: Problem) -> int:
        """Return how many records had ``problem``; 0 when none had."""
        return self.problems.get(problem, 0)

    @property
    def set_aside(self) -> int:
        """How many records take no part."""
        return sum(count for problem, count in self.problems.items() if problem.sets_aside)

    @property
    def mostly_set_aside(self) -> bool:
        """Whether more records were set aside than used; those of other kinds do not count."""
        beside = self.count(Problem.OTHER_RECORD) + self.count(Problem.DUPLICATE)
        return self.set_aside - beside > self.fixes

    @property
    def commonest(self) -> Problem | None:
        """The problem for which most records were set aside, if any was."""
        aside = {each: count for each, count in self.problems.items() if each.sets_aside}
        return max(aside, key=lambda each: aside[each], default=None)

    def lines(self) -> list[str]:
        """Return the report as sentences for a person."""
        lines = [
            f"{self.source} ({self.format}): {counted(self.fixes, 'fix', 'fixes')} of "
            f"{counted(self.users, 'user')} in {counted(self.records, 'record')}."
        ]
        if self.owners is not None:
            lines.append(self.owners)
        lines += [
            f"{count} × {problem}. {problem.rule}" for problem, count in self.problems.items()
        ]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values."""
        return {
            "source": self.source,
            "format": self.format,
            "records": self.records,
            "fixes": self.fixes,
            "users": self.users,
            "owners": self.owners,
            "problems": {
                str(problem): {"count": count, "rule": problem.rule}
                for problem, count in self.problems.items()
            },
        }


class Tally:
    """The counts of one pass over a source, while it runs."""

    def __init__(self) -> None:
        self.records = 0
        self.fixes = 0
        self.users = 0
        self._problems: Counter[Problem] = Counter()

    def add(self, problem: Problem, count: int = 1) -> None:
        """Count ``count`` records with ``problem``; the caller counts the records themselves."""
        if count:
            self._problems[problem] += int(count)

    def refuse(self, problem: Problem, count: int = 1) -> None:
        """Count ``count`` records that were met and set aside for ``problem``."""
        self.records += int(count)
        self.add(problem, count)

    def report(self, source: str, format_name: str, owners: str | None = None) -> ReadingReport:
        """Return the counts as a frozen report, problems in the order of :class:`Problem`."""
        found = {kind: self._problems[kind] for kind in Problem if self._problems[kind]}
        return ReadingReport(
            source, format_name, self.records, self.fixes, self.users, found, owners
        )
