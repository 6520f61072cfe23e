"""The time of day with a check: if the clock jumps, no step is released."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

LARGEST_JUMP = timedelta(days=1)
"""How far the time of day may differ from the elapsed time before it is not believed."""


def _passed() -> float:
    """Return seconds that pass steadily, also while the machine sleeps where it can tell."""
    source = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if source is None else time.clock_gettime(source)


class SteadyClock:
    """The time of day, and whether to believe it.

    >>> said, passed = [1_000_000.0], [0.0]
    >>> clock = SteadyClock(lambda: said[0], lambda: passed[0])
    >>> said[0] += 3600; clock.believed()      # an hour that did not pass: a clock that was set
    True
    >>> said[0] += 86400 * 365; clock.believed()
    False
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, passed: Callable[[], float] = _passed
    ) -> None:
        self._wall, self._passed = wall, passed
        self._offset = wall() - passed()

    def now(self) -> datetime:
        """Return the time of day."""
        return datetime.fromtimestamp(self._wall(), UTC)

    def believed(self) -> bool:
        """Return whether the time of day has kept up with the time that passed since the start."""
        strayed = abs(self._wall() - self._passed() - self._offset)
        return strayed <= LARGEST_JUMP.total_seconds()
