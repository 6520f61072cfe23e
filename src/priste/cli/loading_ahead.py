"""The process that workers come from, begun before this one has loaded the command line.

Loading takes each of them most of a second, in which a second core would have nothing to do. So
that process begins at once. Nothing depends on it: a command that finds none begins one itself, and
one that nobody takes ends with this process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from priste.workers import Nursery

LOADING = "priste.batch.engines:load"
"""What it loads, as ``priste.batch.engines`` says: which this process has not loaded yet."""

_begun: list[tuple[Nursery, ExitStack]] = []


def wants_workers(arguments: Sequence[str]) -> bool:
    """Tell whether these look like the arguments of a run with several workers.

    >>> wants_workers(["protect", "trips.csv", "--workers", "2"])
    True
    >>> wants_workers(["protect", "trips.csv", "--workers=1"]), wants_workers(["init", "trips.csv"])
    (False, False)
    """
    if arguments[:1] != ["protect"] or any(each.startswith("--cluster") for each in arguments):
        return False
    asked = re.findall(r"(?<=\0)--workers[=\0](\d{1,9})(?=\0)", "\0".join([*arguments, ""]))
    return bool(asked) and int(asked[-1]) > 1


@contextmanager
def loading_ahead(arguments: Sequence[str]) -> Iterator[None]:
    """Begin it, where it can be forked, if a command with these arguments wants several workers."""
    if not wants_workers(arguments):
        yield
        return
    from priste.workers import Nursery, may_fork

    with ExitStack() as stack:
        if may_fork():
            _begun.append((stack.enter_context(Nursery(LOADING, sharing=True)), stack))
        try:
            yield
        finally:
            _begun.clear()


@contextmanager
def begun_ahead() -> Iterator[Nursery | None]:
    """Hand over the one that has begun, which ends with this statement then; None without one."""
    if not _begun:
        yield None
        return
    nursery, stack = _begun.pop()
    with stack.pop_all():
        yield nursery
