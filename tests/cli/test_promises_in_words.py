"""Every command says against whom and what is promised, and judges by nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.small_world import POLICY, QUICK, write_policy, write_trips
from tests.cli.test_commands import complaint_of, priste, told

from priste.audit import EventAudit
from priste.batch import ledger_of
from priste.quantify import Belief, Odds
from priste.release import Release
from priste.report.verdict import ledger_keeps

INF = float("inf")


def policy_with(promise: str, observer: str | None = None) -> str:
    """Return the small policy with one event, another promise and another observer."""
    text = QUICK[: QUICK.index("[events.homecoming]")].replace("epsilon = 0.8", promise)
    return text if observer is None else text + f"\n[observer]\n{observer}\n"


def run(folder: Path, text: str, code: int = 0) -> tuple[Path, dict[str, Any]]:
    """Protect one user under a policy and return its path and what was told."""
    policy = write_policy(folder, text)
    trips = write_trips(folder, ("ada",))
    return policy, told("protect", trips, "-p", policy, "-o", folder / "o.csv", "--seed", 3,
                        "--report", folder / "r.html", code=code)  # fmt: skip


@pytest.mark.parametrize(
    ("promise", "observer", "promised", "against"),
    [
        ("epsilon = 0.8", None, "odds", "anybody"),
        ("odds_up = 0.7", 'knows = "population"', "rise by at most", "how people here move"),
        ("odds_up = 0.4\nodds_down = 1.5", None, "rise by at most", "anybody"),
        ("belief_at_most = 0.9", 'knows = "population"', "90 % sure", "how people here move"),
    ],
)
def test_every_door_says_it_and_judges_it(
    tmp_path: Path, promise: str, observer: str | None, promised: str, against: str
) -> None:
    """protect, audit, report and the page tell the same promise against the same observer."""
    policy, found = run(tmp_path, policy_with(promise, observer))
    assert found["verdict"] == "kept"
    assert against in found["observer"]
    assert promised in found["events"]["visit"]["promise"]
    assert (found["anybody"] is None) == (observer is None)
    audited = told("audit", ledger_of(tmp_path / "o.csv"), "-p", policy)
    entry = audited["events"]["visit"]
    assert (audited["verdict"], audited["observer"]) == ("kept", found["observer"])
    if observer is not None:  # the anybody of the audit and of protect are one number
        assert found["anybody"]["visit"] == pytest.approx(max(entry["anybody"]))
        assert max(entry["anybody"]) >= max(entry["for_event"])
    page = (tmp_path / "r.html").read_text()
    flat = " ".join(page.split())
    assert "The promise was kept." in flat
    assert promised in flat
    assert against in flat
    assert ("that is not promised" in flat) == (observer is not None)
    words = priste("audit", ledger_of(tmp_path / "o.csv"), "-p", policy).stdout
    assert against in " ".join(words.split())


def test_nothing_promised_is_said_everywhere(tmp_path: Path) -> None:
    """With the paper's loop: a warning, exit code 3, and a page that says so."""
    text = POLICY.replace("pace = 0.3", 'calibrator = "paper"\nno_promise = true')
    policy, found = run(tmp_path, text, code=3)
    assert found["verdict"] == "not promised"
    page = " ".join((tmp_path / "r.html").read_text().split())
    assert "Nothing was promised." in page
    assert "The promise was kept" not in page
    assert "events kept deniable" not in page
    ledger = ledger_of(tmp_path / "o.csv")
    audited = priste("audit", ledger, "-p", policy, "--json", code=3)
    assert json.loads(audited.stdout)["verdict"] == "not promised"
    again = priste("protect", tmp_path / "trips.csv", "-p", policy, "-o", tmp_path / "p.csv",
                   "--seed", 3, code=3)  # fmt: skip
    assert "promises nothing" in " ".join(again.stderr.split())
    assert "Nothing was promised" in again.stdout
    unsaid = write_policy(tmp_path, text.replace("no_promise = true", ""))
    refused = priste("explain", unsaid, code=2)
    assert "no_promise" in complaint_of(refused)


def audit_of(promise: Odds | Belief, up: float, down: float, belief: float) -> EventAudit:
    return EventAudit(
        (max(up, down),), (0.1,), 0.1, {}, (), (up,), (down,), (belief,), promise=promise
    )


@pytest.mark.parametrize(
    ("promise", "up", "down", "belief", "kept"),
    [
        (Odds(1.0, 1.0), 1.0, 0.5, 0.9, True),
        (Odds(1.0, 1.0), 0.5, 1.1, 0.9, False),
        (Odds(1.0, INF), 0.9, 9.0, 0.9, True),
        (Odds(1.0, INF), 1.1, 0.0, 0.9, False),
        (Odds(0.5, 2.0), 0.6, 1.0, 0.1, False),
        (Odds(0.5, 2.0), 0.5, 2.0, 0.1, True),
        (Belief(0.2), 9.0, 9.0, 0.2, True),
        (Belief(0.2), 0.0, 0.0, 0.21, False),
    ],
)
def test_a_promise_is_judged_by_what_it_bounds(
    promise: Odds | Belief, up: float, down: float, belief: float, kept: bool
) -> None:
    """Directions by their own bounds, beliefs by theirs; a ledger never says more than that."""
    assert audit_of(promise, up, down, belief).kept is kept
    bounded = [up] if isinstance(promise, Belief) or promise.down == INF else [up, down]
    by_ledger = ledger_keeps(promise, [Release(0, 1, 0.5, (max(bounded),), 1, 0, (belief,))], 0)
    assert by_ledger in (kept, None)


def test_a_belief_that_nobody_measured_is_not_kept() -> None:
    """Unknown is unsafe."""
    assert ledger_keeps(Belief(0.5), [Release(0, 1, 0.5, (0.0,), 1)], 0) is None
