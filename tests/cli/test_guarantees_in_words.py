"""Every command says against whom and what is guaranteed, and judges by nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import complaint_of, priste, told
from tests.cli.small_world import POLICY, QUICK, write_policy, write_trips

from priste.audit import EventAudit
from priste.batch import ledger_of
from priste.quantify import BeliefBound, OddsBound
from priste.release import Release
from priste.results.verdict import ledger_keeps

INF = float("inf")


def policy_with(guarantee: str, adversary: str | None = None) -> str:
    """Return the small policy with one event, another guarantee and another adversary."""
    text = QUICK[: QUICK.index("[events.homecoming]")].replace("epsilon = 0.8", guarantee)
    return text if adversary is None else text + f"\n[adversary]\n{adversary}\n"


def run(folder: Path, text: str, code: int = 0) -> tuple[Path, dict[str, Any]]:
    """Protect one user under a policy and return its path and what was told."""
    policy = write_policy(folder, text)
    trips = write_trips(folder, ("ada",))
    return policy, told("protect", trips, "-p", policy, "-o", folder / "o.csv", "--seed", 3,
                        "--report", folder / "r.html", code=code)  # fmt: skip


@pytest.mark.parametrize(
    ("guarantee", "adversary", "guaranteed", "against"),
    [
        ("epsilon = 0.8", None, "odds", "any belief"),
        ("odds_up = 0.7", 'knows = "population"', "rise by at most", "how people here move"),
        ("odds_up = 0.4\nodds_down = 1.5", None, "rise by at most", "any belief"),
        ("belief_at_most = 0.9", 'knows = "population"', "90 % sure", "how people here move"),
    ],
)
def test_every_door_says_it_and_judges_it(
    tmp_path: Path, guarantee: str, adversary: str | None, guaranteed: str, against: str
) -> None:
    """protect, audit, report and the page tell the same guarantee against the same adversary."""
    policy, found = run(tmp_path, policy_with(guarantee, adversary))
    assert found["verdict"] == "kept"
    assert against in found["adversary"]
    assert guaranteed in found["events"]["visit"]["guarantee"]
    assert (found["any_prior"] is None) == (adversary is None)
    audited = told("audit", ledger_of(tmp_path / "o.csv"), "-p", policy)
    entry = audited["events"]["visit"]
    assert (audited["verdict"], audited["adversary"]) == ("kept", found["adversary"])
    if adversary is not None:  # the anybody of the audit and of protect are one number
        assert found["any_prior"]["leakage"]["visit"] == pytest.approx(max(entry["any_prior"]))
        assert max(entry["any_prior"]) >= max(entry["for_event"])
    page = (tmp_path / "r.html").read_text()
    flat = " ".join(page.split())
    assert "The guarantee was kept, of this stream and under these models." in flat
    assert guaranteed in flat
    assert against in flat
    assert ("that is not guaranteed" in flat) == (adversary is not None)
    words = priste("audit", ledger_of(tmp_path / "o.csv"), "-p", policy).stdout
    assert against in " ".join(words.split())


def test_nothing_guaranteed_is_said_everywhere(tmp_path: Path) -> None:
    """With the paper's loop: a warning, exit code 3, and a page that says so."""
    text = POLICY.replace("pace = 0.3", 'calibrator = "paper"\nno_guarantee = true')
    policy, found = run(tmp_path, text, code=3)
    assert found["verdict"] == "not guaranteed"
    page = " ".join((tmp_path / "r.html").read_text().split())
    assert "Nothing was guaranteed." in page
    assert "The guarantee was kept" not in page
    assert "events kept deniable" not in page
    ledger = ledger_of(tmp_path / "o.csv")
    audited = priste("audit", ledger, "-p", policy, "--json", code=3)
    assert json.loads(audited.stdout)["verdict"] == "not guaranteed"
    again = priste("protect", tmp_path / "trips.csv", "-p", policy, "-o", tmp_path / "p.csv",
                   "--seed", 3, code=3)  # fmt: skip
    assert "guarantees nothing" in " ".join(again.stderr.split())
    assert "Nothing was guaranteed" in again.stdout
    unsaid = write_policy(tmp_path, text.replace("no_guarantee = true", ""))
    refused = priste("explain", unsaid, code=2)
    assert "no_guarantee" in complaint_of(refused)


def audit_of(
    guarantee: OddsBound | BeliefBound, up: float, down: float, belief: float
) -> EventAudit:
    return EventAudit(
        (max(up, down),), (0.1,), 0.1, {}, (), (up,), (down,), (belief,), guarantee=guarantee
    )


@pytest.mark.parametrize(
    ("guarantee", "up", "down", "belief", "kept"),
    [
        (OddsBound(1.0, 1.0), 1.0, 0.5, 0.9, True),
        (OddsBound(1.0, 1.0), 0.5, 1.1, 0.9, False),
        (OddsBound(1.0, INF), 0.9, 9.0, 0.9, True),
        (OddsBound(1.0, INF), 1.1, 0.0, 0.9, False),
        (OddsBound(0.5, 2.0), 0.6, 1.0, 0.1, False),
        (OddsBound(0.5, 2.0), 0.5, 2.0, 0.1, True),
        (BeliefBound(0.2), 9.0, 9.0, 0.2, True),
        (BeliefBound(0.2), 0.0, 0.0, 0.21, False),
    ],
)
def test_a_guarantee_is_judged_by_what_it_bounds(
    guarantee: OddsBound | BeliefBound, up: float, down: float, belief: float, kept: bool
) -> None:
    """Directions by their own bounds, beliefs by theirs; a ledger never says more than that."""
    assert audit_of(guarantee, up, down, belief).kept is kept
    bounded = [up] if isinstance(guarantee, BeliefBound) or guarantee.down == INF else [up, down]
    by_ledger = ledger_keeps(guarantee, [Release(0, 1, 0.5, (max(bounded),), 1, 0, (belief,))], 0)
    assert by_ledger in (kept, None)


def test_a_belief_that_nobody_measured_is_not_kept() -> None:
    """Unknown is unsafe."""
    assert ledger_keeps(BeliefBound(0.5), [Release(0, 1, 0.5, (0.0,), 1)], 0) is None
