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
from priste.results import RunTotals, TrueSteps, summarise_run, usefulness
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
    """The figures of one user are those of the report of that user."""
    totals = RunTotals(policy)
    truth = TrueSteps.of_cells(GRID, PATHS["ben"])
    totals.add("ben", ledgers["ben"], truth)
    found = totals.summary()
    alone = usefulness(policy, truth, [r.cell for r in ledgers["ben"]])
    assert repr(found.ways) == repr(alone.ways)  # which holds nan
    (user,) = found.users
    assert (user.user, user.steps, user.releases) == ("ben", STEPS, STEPS - 1)
    assert repr(user.worth) == repr(alone.ways["with priste"])
    assert user.leakage == tuple(max(r.leakage[k] for r in ledgers["ben"]) for k in range(2))


def test_all_users_are_weighed_by_their_steps(
    policy: Policy, ledgers: dict[str | None, Ledger], tmp_path: Path
) -> None:
    """Errors over a whole run, against a plain loop over every step of every user."""
    found = summarise_run(policy, ledgers, traces=read_traces(write_trips(tmp_path)))
    near = near_events(STEPS, [e.event for e in policy.events.values()], near_reach(3600.0))
    told: dict[bool, list[float]] = {True: [], False: []}
    exact = []
    for user, path in PATHS.items():
        for step, (cell, release) in enumerate(zip(path, ledgers[user], strict=True)):
            if release.cell is not None:
                km = math.dist(GRID.centers[cell], GRID.centers[release.cell])
                told[bool(near[step])].append(1000 * km)
                exact.append(cell == release.cell)
    way = found.ways["with priste"]
    # The file holds seven decimals of a degree, about a centimetre.
    assert way.everywhere == pytest.approx(np.mean(told[True] + told[False]), abs=0.02)
    assert way.near == pytest.approx(np.mean(told[True]), abs=0.02)
    assert math.isnan(way.far) == (not told[False])
    assert way.exact == pytest.approx(np.mean(exact))
    assert [user.user for user in found.users] == list(PATHS)
    first, second = found.lines()
    assert "of the releases are within one cell" in first
    assert second.startswith("The uncalibrated mechanism is expected to be")


def test_without_the_truth_nothing_is_said_of_distances(
    policy: Policy, ledgers: dict[str | None, Ledger]
) -> None:
    """Leakages are known from the ledgers alone; then the summary may be published."""
    found = summarise_run(policy, ledgers)
    assert found.lines() == ()
    assert all(user.worth is None for user in found.users)
    assert len(found.users) == len(PATHS)
    with pytest.raises(InvalidParameter, match="2 steps"):
        RunTotals(policy).add("ada", ledgers["ada"], TrueSteps.of_cells(GRID, [0, 1]))
