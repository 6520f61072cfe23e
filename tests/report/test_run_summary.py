"""Many users added up: the same figures as from each user's own, and from all steps at once."""

import math
from pathlib import Path

import numpy as np
import pytest
from tests.cli.small_world import GRID, PATHS, QUICK, STEPS, write_trips

from priste import InvalidParameter
from priste.events import near_events, near_reach
from priste.policy import Policy, read_policy
from priste.release import Ledger
from priste.report import RunTotals, summarise_run, usefulness
from priste.traces import read_traces


@pytest.fixture(scope="module")
def policy() -> Policy:
    return read_policy(QUICK)


@pytest.fixture(scope="module")
def ledgers(policy: Policy) -> dict[str | None, Ledger]:
    found: dict[str | None, Ledger] = {}
    for number, (user, path) in enumerate(PATHS.items()):
        protector = policy.protector(rng=number)
        for step, cell in enumerate(path):
            protector.release(None if (number, step) == (1, 4) else cell)
        found[user] = protector.ledger
    return found


def test_one_user_is_told_as_on_their_own_page(
    policy: Policy, ledgers: dict[str | None, Ledger]
) -> None:
    """The mean distances of one user are those of the report of that user."""
    totals = RunTotals(policy, 1)
    totals.add("ben", ledgers["ben"], PATHS["ben"])
    found = totals.summary()
    events = [each.event for each in policy.events.values()]
    alone = usefulness(GRID, PATHS["ben"], [r.cell for r in ledgers["ben"]], events, 3600.0)
    for way in ("with priste", "one constant cell"):
        for name in ("everywhere", "near", "far", "within_a_cell", "exact"):
            told, expected = (getattr(each.ways[way], name) for each in (found, alone))
            assert told == pytest.approx(expected, nan_ok=True), (way, name)
    (user,) = found.users
    assert (user.user, user.steps, user.releases) == ("ben", STEPS, STEPS - 1)
    assert user.worth == alone.ways["with priste"]
    assert user.leakage == tuple(max(r.leakage[k] for r in ledgers["ben"]) for k in range(2))


def test_all_users_are_weighed_by_their_steps(
    policy: Policy, ledgers: dict[str | None, Ledger], tmp_path: Path
) -> None:
    """Distances over a whole run, against a plain loop over every step of every user."""
    found = summarise_run(policy, ledgers, traces=read_traces(write_trips(tmp_path)), seed=3)
    near = near_events(STEPS, [e.event for e in policy.events.values()], near_reach(3600.0))
    told: dict[bool, list[float]] = {True: [], False: []}
    for user, path in PATHS.items():
        for step, (cell, release) in enumerate(zip(path, ledgers[user], strict=True)):
            if release.cell is not None:
                km = math.dist(GRID.centers[cell], GRID.centers[release.cell])
                told[bool(near[step])].append(1000 * km)
    way = found.ways["with priste"]
    everything = told[True] + told[False]
    assert way.everywhere == pytest.approx(np.mean(everything))
    assert way.near == pytest.approx(np.mean(told[True]))
    assert math.isnan(way.far) == (not told[False])
    assert way.exact == pytest.approx(np.mean(np.array(everything) == 0))
    best = min(
        np.mean([math.dist(GRID.centers[c], GRID.centers[k]) for p in PATHS.values() for c in p])
        for k in range(GRID.size)
    )
    assert found.ways["one constant cell"].everywhere == pytest.approx(1000 * best)
    assert [user.user for user in found.users] == list(PATHS)
    first, second = found.lines()
    assert first.startswith(f"{way.within_a_cell:.0%}".replace("%", " %"))
    assert second.startswith("The mechanism alone would have been")


def test_without_the_truth_nothing_is_said_of_distances(
    policy: Policy, ledgers: dict[str | None, Ledger]
) -> None:
    """Leakages are known from the ledgers alone; then the summary may be published."""
    found = summarise_run(policy, ledgers)
    assert found.lines() == ()
    assert all(user.worth is None for user in found.users)
    assert len(found.users) == len(PATHS)
    with pytest.raises(InvalidParameter, match="2 steps"):
        RunTotals(policy).add("ada", ledgers["ada"], [0, 1])
