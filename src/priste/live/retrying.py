"""Connections that are made again when they end, after growing pauses."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from priste.live.logs import tell

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 30.0
"""Seconds between two attempts, doubling from the first to the longest."""


@dataclass
class Line:
    """The state of one source or sink, for the status: numbers and words, no locations."""

    address: str
    state: str = "starting"
    messages: int = 0
    waiting: int = 0
    dropped: int = 0
    last: str | None = None
    """The time of the last release that was delivered here."""
    reasons: Counter[str] = field(default_factory=Counter)
    """How often messages were refused, by the reason."""

    @property
    def refused(self) -> int:
        """How many messages were refused."""
        return self.reasons.total()


async def keep_trying(line: Line, attempt: Callable[[], Awaitable[None]]) -> None:
    """Run ``attempt`` again and again: at once when it returns, after a pause when it fails.

    A connection that did something useful (``line.messages`` moved) resets the pause.
    """
    pause = FIRST_PAUSE
    while True:
        before = line.messages
        try:
            await attempt()
            line.state = "closed by the other side"
        except asyncio.CancelledError:
            raise
        except Exception as problem:
            line.state = f"failed: {_why(problem)}"
        tell("disconnected", line=line.address, why=line.state)
        pause = FIRST_PAUSE if line.messages > before else min(2 * pause, LONGEST_PAUSE)
        await asyncio.sleep(pause)


def _why(problem: Exception) -> str:
    """Return why an attempt failed, in words that repeat nothing of what was received."""
    if isinstance(problem, OSError) and problem.errno is not None:
        return problem.strerror or type(problem).__name__
    if type(problem) is ConnectionError:  # raised by this package, whose texts are its own
        return str(problem)
    return type(problem).__name__
