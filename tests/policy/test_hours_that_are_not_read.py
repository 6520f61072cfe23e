"""What a trace is released from: nothing of its guarded hours, not even whether there was a fix."""

from datetime import timedelta

import pytest
from tests.cli.small_world import GRID, POLICY, START

from priste.policy import Policy, read_policy
from priste.traces import Fix, Trace

HOURS = range(4, 8)
"""The guarded hours: the steps of the event and one before and after it."""

WORLDS = {
    "there": {4: [9], 5: [9], 6: [10], 7: [9]},
    "other": {4: [0], 5: [3], 6: [3], 7: [15]},
    "silent": {},
    "in part": {6: [9]},
    "busy": {5: [0, 1, 2, 3]},
}


def policy_of(rule: str) -> Policy:
    text = POLICY[: POLICY.index("[events.visit]")]
    text = text.replace('step = "1h"', f'step = "1h"\nrule = "{rule}"')
    text += "[events.visit]\nformula = 'presence(clinic, \"05:00-07:00\")'\n"
    text = text.replace("[guarantee]", '[guarantee]\nguarded_hours = "1h"')
    return read_policy(text)


def trace_of(inside: dict[int, list[int]], outside: dict[int, int]) -> Trace:
    """Return fixes of hours, several of an hour evenly spread."""
    fixes = []
    for hour, cells in sorted({**{h: [c] for h, c in outside.items()}, **inside}.items()):
        for number, cell in enumerate(cells):
            minute = 60 * (number + 0.5) / len(cells)
            time = START + timedelta(hours=hour, minutes=minute)
            fixes.append(Fix("ada", time, *GRID.latlon(cell)))
    return Trace.of(fixes)


OUTSIDE = {0: 0, 1: 1, 2: 1, 3: 5, 8: 5, 10: 1}


@pytest.mark.parametrize("rule", ["nearest", "any"])
def test_worlds_that_differ_in_guarded_hours_are_released_alike(rule: str) -> None:
    """Every step of the guarded hours is released, and the others from the same cells."""
    policy = policy_of(rule)
    assert [step for each in policy.guarded_hours for step in each] == list(HOURS)
    found = {
        name: policy.stream_cells(trace_of(inside, OUTSIDE)) for name, inside in WORLDS.items()
    }
    assert len(set(found.values())) == 1
    cells = found["there"]
    assert [cells[step] for step in HOURS] == [0] * len(HOURS)
    assert (cells[3], cells[10], len(cells)) == (5, 1, 11)


@pytest.mark.parametrize(
    "outside", [{0: 0, 3: 1}, {8: 1, 9: 1}, {}], ids=["before", "after", "none"]
)
def test_hours_at_the_ends_of_a_trace_do_not_show(outside: dict[int, int]) -> None:
    """A stream begins and ends with a fix outside guarded hours, whatever happened inside."""
    policy = policy_of("nearest")
    worlds = [trace_of(inside, outside) for inside in WORLDS.values() if inside or outside]
    assert len({policy.stream_cells(trace) for trace in worlds}) == 1
    cells = policy.stream_cells(worlds[0])
    assert len(cells) == max(outside, default=-1) + 1
    assert all(cells[step] is None for step in HOURS if step < len(cells))
