"""A world small enough for tests: sixteen cells, twelve hours, three people, one secret."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from priste import Grid
from priste.policy import Policy, read_policy
from priste.traces import Fix, Trace, write_traces

SOUTH, WEST, NORTH, EAST = 46.000, 7.000, 46.0355, 7.0515
GRID = Grid.covering(SOUTH, WEST, NORTH, EAST, 1.0)
START = datetime(2026, 3, 4, tzinfo=UTC)
STEPS = 12
EPSILON = 0.8
PATHS = {
    "ada": [0, 0, 1, 5, 6, 10, 10, 9, 5, 1, 0, 0],
    "ben": [15, 15, 14, 10, 10, 6, 6, 7, 11, 15, 15, 15],
    "cleo": [3, 3, 3, 7, 7, 11, 10, 10, 9, 8, 12, 12],
}

POLICY = f"""\
[map]
south = {SOUTH}
west = {WEST}
north = {NORTH}
east = {EAST}
cell_size = 1.0

[clock]
start = 2026-03-04T00:00:00
step = "1h"
steps = {STEPS}

[mobility]
kind = "gaussian"
sigma = 1.0

[mechanism]
kind = "planar-laplace"
alpha = 1.5

[guarantee]
epsilon = {EPSILON}

[release]
pace = 0.3

[regions.clinic]
cells = [9, 10]

[regions.home]
cells = [0]

[events.visit]
formula = 'presence(clinic, "05:00-08:00")'

[events.homecoming]
formula = 'pattern(home@1, home@11)'
epsilon = 1.2
"""


QUICK = POLICY.replace("pace = 0.3", 'calibrator = "certified"\npace = 0.3')
"""The same with the calibrator that takes least time: for tests that are not about tables."""


def with_a_short_event(text: str) -> str:
    """Return a policy whose one event leaves most hours of the people to fit a model on."""
    events = "[events.visit]\nformula = 'presence(clinic, \"06:00-07:00\")'\n"
    return text[: text.index("[events.visit]")] + events


def write_policy(folder: Path, text: str = QUICK) -> Path:
    """Write the policy and return its path."""
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


@cache
def policy_of(text: str = QUICK) -> Policy:
    """Return the policy of a text: it is frozen, so those who mean the same may share it."""
    return read_policy(text)


def trace_of(user: str, path: list[int], first: datetime = START) -> Trace:
    """Return fixes in the middle of every step."""
    times = [first + timedelta(hours=step, minutes=30) for step in range(len(path))]
    return Trace.of(
        Fix(user, time, *GRID.latlon(cell)) for time, cell in zip(times, path, strict=True)
    )


def write_trips(
    folder: Path, users: tuple[str, ...] = tuple(PATHS), name: str = "trips.csv"
) -> Path:
    """Write the trips of some people and return the path of the file."""
    path = folder / name
    write_traces([trace_of(user, PATHS[user]) for user in users], path)
    return path
