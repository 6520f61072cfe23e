"""A recorded trace, played at any speed as if it happened now; its own times are its clock."""

from __future__ import annotations

import asyncio
from pathlib import Path

from priste.errors import InvalidParameter
from priste.live.addresses import Address
from priste.live.protocol import Intake
from priste.live.retrying import Line
from priste.traces import read_traces


def speed_of(address: Address) -> float:
    """Return how many seconds of the trace pass in one; 0 means without waiting."""
    text = address.options.get("speed", "0")
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < 1e9:
        raise InvalidParameter(
            "must be a number >= 0", parameter="speed", owner="replay", value=text
        )
    return speed


async def play(address: Address, intake: Intake, line: Line) -> None:
    """Play a file of one person's fixes to its end, once."""
    speed = speed_of(address)
    line.state = "playing"
    for trace in read_traces(Path(address.path)):
        before = None
        for fix in trace:
            if speed and before is not None:
                await asyncio.sleep((fix.time - before).total_seconds() / speed)
            before = fix.time
            if await intake.take(fix):
                line.messages += 1
    line.state = "played to its end"
