"""What every source hands its fixes to."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from priste.traces import Fix


class Intake(Protocol):
    """The person at the other end of a source."""

    def now(self) -> datetime:
        """The time by which fixes are judged."""
        ...

    def owns(self, *names: str) -> bool:
        """Tell whether messages of a device are this person's, by any of its names."""
        ...

    async def take(self, fix: Fix) -> None:
        """Take a fix; waits while a recorded stream catches up."""
        ...
