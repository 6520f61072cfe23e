"""Worlds that differ in guarded hours only, and what the page about handing out calls public."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np
from tests.cli.command_line import ROOT
from tests.cli.small_world import GRID, START, trace_of

from priste.traces import Trace

PAGE = ROOT / "docs" / "explanation" / "handed-out.md"
HOURS = range(5, 8)
"""The steps of the event, and an hour before and after it: its guarded hours."""

PATHS = {
    "ada": [0, 0, 1, 5, 6, 10, 10, 9, 5, 1, 0, 0],
    "ben": [15, 15, 14, 10, 10, 6, 6, 7, 11, 15, 15, 15],
    "cleo": [3, 3, 3, 7, 7, 11, 10, 10, 9, 8, 12, 12],
}
WORLDS = (
    "as it was",
    "a visit moved",
    "a visit off the map",
    "a fix removed",
    "a fix added",
    "only then",
)


def listed() -> dict[str, tuple[set[str], set[str]]]:
    """Return what the page calls public and private, of each command."""
    text = PAGE.read_text()
    rows = re.findall(r"^\| `(\w+)`[^|]*\|(.*?)\|(.*)\|$", text, re.MULTILINE)
    return {
        name: (set(re.findall("`(.*?)`", public)), set(re.findall("`(.*?)`", private)))
        for name, public, private in rows
    }


def person(user: str, world: str, first: timedelta = timedelta(0)) -> Trace:
    """Return a person's fixes in a world."""
    whole = trace_of(user, PATHS[user], START + first)
    steps = np.arange(len(whole))
    inside = np.isin(steps, HOURS)
    times, lat, lon = whole.times, whole.lat.copy(), whole.lon.copy()
    kept = np.ones(len(whole), dtype=bool)
    if world == "a visit moved":
        lat[inside], lon[inside] = GRID.latlon(12)
    if world == "a visit off the map":
        lat[inside] += 5.0
    if world == "a fix removed":
        kept = steps != 6
    if world == "only then":
        kept = ~inside
    times, lat, lon = times[kept], lat[kept], lon[kept]
    if world == "a fix added":
        more = whole.times[inside] + 600_000_000
        where = np.array([GRID.latlon(2)] * more.size)
        times = np.concatenate([times, more])
        lat, lon = np.concatenate([lat, where[:, 0]]), np.concatenate([lon, where[:, 1]])
    order = np.argsort(times)
    return Trace(user, times[order], lat[order], lon[order])
