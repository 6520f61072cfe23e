"""The queue of sinks that push."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from priste.live.point import Point
from priste.live.retrying import Line, keep_trying

LONGEST_LINE = 1_000
"""Points that wait for an unreachable server; when there are more, the oldest are dropped."""


class Pushing:
    """An outlet that pushes each point in order, and again until the other side has it."""

    def __init__(self, line: Line, session: Callable[[Pushing], Awaitable[None]]) -> None:
        self.line = line
        self._session = session
        self._waiting: deque[Point] = deque()
        self._news = asyncio.Event()

    def offer(self, point: Point) -> None:
        """Queue a point; if too many wait, the oldest is dropped."""
        if len(self._waiting) >= LONGEST_LINE:
            self._waiting.popleft()
            self.line.dropped += 1
        self._waiting.append(point)
        self.line.waiting = len(self._waiting)
        self._news.set()

    async def next(self) -> Point:
        """Return the oldest point that waits; it stays in line until :meth:`delivered`."""
        while not self._waiting:
            self._news.clear()
            await self._news.wait()
        return self._waiting[0]

    def delivered(self, point: Point) -> None:
        """Take a point out of the line."""
        if self._waiting and self._waiting[0] is point:
            self._waiting.popleft()
        self.line.waiting = len(self._waiting)
        self.line.messages += 1
        self.line.state = "delivering"
        self.line.last = point.clock

    async def run(self) -> None:
        """Hold sessions with the other side, one after the other."""
        await keep_trying(self.line, lambda: self._session(self))
