"""A service that guards secrets with several answers: served, restarted, and gone on from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import httpx
import numpy as np
from tests.live.running import InThread, serving
from tests.live.small_town import GROUP, POLICY, assert_no_truth, fix_of, folder_bytes, write_policy

from priste import MarkovModel
from priste.batch import protect_file
from priste.cli.released_before import LiveReleases
from priste.live.person_stream import StreamOptions
from priste.live.service import Service
from priste.live.settings import PersonSettings, Settings
from priste.policy import read_policy
from priste.register import KeptStream
from priste.release import Ledger
from priste.traces import Fix, Trace, read_traces, write_traces

EPSILON = 0.8
ROUNDING = 1e-6
KNOWN = POLICY.replace("[guarantee]", '[adversary]\nknows = "population"\n\n[guarantee]')
DAYS = 2
TEXT = (
    KNOWN.replace("steps = 12", f"steps = {24 * DAYS}")
    + 'every = "day"\n'
    + GROUP
    + 'every = "day"\n[secrets.health]\ntogether = ["visit", "group"]\n'
)
"""Every day a visit and a group, of which every combination is guarded."""
CELLS = (4, 5)
VISIT, MEETING = (4, 5), (8, 9)


def settings(folder: Path) -> Settings:
    person = PersonSettings(
        "ada", write_policy(folder, TEXT), options=StreamOptions(seed=None), clock="fixes"
    )
    return Settings(folder / "state", (person,), listen=("127.0.0.1", 0))


def odds_between_answers(model: MarkovModel, told: Sequence[np.ndarray | None], day: int) -> float:
    """Return the largest ln ratio between two of the four combinations of a day, by plain sums."""
    move, cells = model.transition(0).toarray(), list(CELLS)
    prior = np.zeros((model.grid.size, 2, 2))
    prior[:, 0, 0] = model.stationary()
    joint = prior.copy()
    for step, likelihood in enumerate(told):
        if step:
            prior, joint = (np.tensordot(move.T, each, 1) for each in (prior, joint))
        for axis, steps in ((1, VISIT), (2, MEETING)):
            if step in [24 * day + each for each in steps]:
                for table in (prior, joint):
                    shown = np.moveaxis(table, axis, 1)
                    shown[cells, 1] += shown[cells, 0]
                    shown[cells, 0] = 0.0
        if likelihood is not None:
            joint = joint * likelihood[:, None, None]
    speaks = np.log(joint.sum(axis=0) / prior.sum(axis=0)).ravel()
    return max(abs(one - other) for one, other in itertools.combinations(speaks, 2))


def told_by(ledger: Ledger) -> list[np.ndarray | None]:
    return [ledger.likelihood(step) for step in range(len(ledger))]


def released(live: InThread, steps: range) -> None:
    for step in steps:
        live.do(live.person.take(fix_of(step)))
        live.do(live.person._release(step))


def test_a_service_with_a_secret(tmp_path: Path) -> None:
    """Each combination of a day stays within ε, over a restart; the owner sees it, apps do not."""
    policy = read_policy(TEXT)
    with serving(settings(tmp_path)) as live, httpx.Client(trust_env=False, timeout=30) as client:
        released(live, range(20))
        owner = {"Authorization": f"Bearer {live.service.owner_token}"}
        said = client.get(f"{live.url}/people/ada/leakage", headers=owner).json()
        assert next(iter(said["events"])) == "health, 2026-03-04"
        page = client.get(f"{live.url}/", headers=owner).text
        assert "any two of its 4 answers" in page
        assert client.get(f"{live.url}/people/ada/leakage").status_code == 401
        before = live.person.stream.leakage["health, 2026-03-04"]
    with serving(settings(tmp_path)) as live:
        assert live.person.stream.leakage["health, 2026-03-04"] == before
        released(live, range(20, 24 * DAYS))
        ledger = live.person.stream._protector.ledger
    told = told_by(ledger)
    assert len(told) == 24 * DAYS
    for day in range(DAYS):
        assert odds_between_answers(policy.model, told, day) <= EPSILON + ROUNDING
    assert max(odds_between_answers(policy.model, told[: 24 * day + 24], day) for day in (0, 1)) > 0
    assert_no_truth(folder_bytes(tmp_path / "state"))


def test_protect_goes_on_from_live_with_a_secret(tmp_path: Path) -> None:
    """What the service released counts: its steps are given again, the later ones are drawn."""
    policy = read_policy(TEXT)
    service = Service(settings(tmp_path), releases=LiveReleases())
    service.open()
    (person,) = service.people.values()
    for step in range(10):
        person.stream.take(fix_of(step), fix_of(step + 1).time)
        person.stream.release(step)
    cells = [each.cell for each in person.stream._protector.ledger]
    person.stream.close()
    fixes = [Fix("ada", fix.time, fix.lat, fix.lon) for fix in map(fix_of, range(24 * DAYS))]
    write_traces([Trace.of(fixes)], tmp_path / "in.csv")
    made = protect_file(policy, read_traces(tmp_path / "in.csv"), tmp_path / "out.csv")
    assert list(made.cells["ada"])[:10] == cells
    assert (made.drawn_now, made.continued) == (24 * DAYS - 10, 1)
    told = told_by(made.ledgers["ada"])
    for day in range(DAYS):
        assert odds_between_answers(policy.model, told, day) <= EPSILON + ROUNDING
    assert not math.isclose(odds_between_answers(policy.model, told, 0), 0.0)


def test_a_kept_stream_holds_its_secrets() -> None:
    """Bytes of a stream with a secret are read as the same secret, with its guarded hours."""
    policy = read_policy(TEXT)
    with policy.protector(rng=1) as protector:
        for step in range(3):
            protector.release(step)
        kept = KeptStream.of(protector, policy, 0, 3, stream="s", binding={})
    again = KeptStream.read(kept.to_bytes(), Path("a stream"))
    assert [each.event for each in again.events.values()] == [
        each.event for each in policy.events.values()
    ]
    assert again.guarded_hours == frozenset().union(*policy.guarded_hours)
