"""People on whom the model is fitted, each guarded by that of the others, at every door."""

from pathlib import Path

import pytest
from tests.cli.command_line import complaint_of, priste, told
from tests.cli.small_world import QUICK, with_a_short_event, write_policy, write_trips

from priste import MarkovModel
from priste.audit import audit_stream
from priste.batch import ledger_of
from priste.cli.protect import learnt_by_anybody
from priste.policy import load_policy, read_policy
from priste.release import read_ledgers
from priste.results import anybody_learns, columns_of_releases

FITTED = with_a_short_event(QUICK).replace(
    'kind = "gaussian"\nsigma = 1.0', 'kind = "fit"\ntraces = "trips.csv"\nsigma = 1.0'
)
ADVERSARY = '\n[adversary]\nknows = "population"\n'
NIGHTS = """
[events.treatment]
formula = 'presence(home, "22:00-02:00")'
every = "day"
"""


def test_their_ledgers_are_audited_and_reported_without_their_traces(tmp_path: Path) -> None:
    """An auditor who has the policy and the ledger finds the model without the person."""
    trips = write_trips(tmp_path)
    policy = write_policy(tmp_path, FITTED + ADVERSARY)
    out = tmp_path / "o.csv"
    found = told("protect", trips, "-p", policy, "-o", out, "--seed", 3)
    audited = told("audit", ledger_of(out), "-p", policy)
    assert audited["verdict"] == found["verdict"] == "kept"
    for name, entry in found["events"].items():
        assert audited["events"][name]["max"] == entry["max"]
    told("report", ledger_of(out), "-p", policy, "-o", tmp_path / "r.html")
    # A ledger that is nobody's is still refused.
    changed = tmp_path / "changed.ledger.csv"
    lines = ledger_of(out).read_text().splitlines()
    fields = lines[-1].split(",")
    fields[6] = "0.123456"
    changed.write_text("\n".join([*lines[:-1], ",".join(fields)]) + "\n")
    refused = priste("audit", changed, "-p", policy, code=2)
    assert "was changed" in complaint_of(refused)


def test_audits_tell_how_much_hangs_on_the_model(tmp_path: Path) -> None:
    """The same releases under half and double the spread, recomputed from the ledger by hand."""
    policy_path = write_policy(tmp_path, QUICK)
    out = tmp_path / "o.csv"
    told("protect", write_trips(tmp_path, ("ada",)), "-p", policy_path, "-o", out, "--seed", 3)
    found = told("audit", ledger_of(out), "-p", policy_path)
    policy = load_policy(policy_path)
    (ledger,) = read_ledgers(ledger_of(out)).values()
    columns = columns_of_releases(policy, ledger)
    for how, sigma in (("half", 0.5), ("twice", 2.0)):
        model = MarkovModel.gaussian(policy.grid, sigma=sigma)
        for name, event in policy.events.items():
            expected = audit_stream(model, {name: event.event}, columns)[name].max
            told_here = found["events"][name]["other_movement"][f"{how} as far as the model says"]
            assert told_here == pytest.approx(expected, rel=1e-9, abs=1e-12)
    words = " ".join(priste("audit", ledger_of(out), "-p", policy_path).stdout.split())
    assert "if people move otherwise" in words


def test_workers_share_the_streams_that_anybody_looks_at(tmp_path: Path) -> None:
    """The most of all streams, the same from any number of workers; nothing against anybody."""
    trips, out = write_trips(tmp_path), tmp_path / "o.csv"
    path = write_policy(tmp_path, QUICK + ADVERSARY)
    found = told("protect", trips, "-p", path, "-o", out, "--seed", 3)
    policy, ledgers = load_policy(path), read_ledgers(ledger_of(out))
    singly = [anybody_learns(policy, [ledger]) or {} for ledger in ledgers.values()]
    expected = {name: max(each[name] for each in singly) for name in policy.events}
    assert learnt_by_anybody(policy, ledgers, None, 2) == expected
    assert found["anybody"] == expected
    assert len(singly) == 3
    assert learnt_by_anybody(read_policy(QUICK), ledgers, None, 1) is None


def test_protect_tells_what_it_did_not_guard(tmp_path: Path) -> None:
    """Nights that the clock cuts, or leaves out, are listed as `explain` lists them."""
    policy = write_policy(tmp_path, QUICK + NIGHTS)
    trips = write_trips(tmp_path, ("ada",))
    run = ("protect", trips, "-p", policy, "--seed", 3, "-o")
    listed = told("explain", policy)["unguarded"]
    assert listed
    assert told(*run, tmp_path / "o.csv")["unguarded"] == listed
    words = " ".join(priste(*run, tmp_path / "p.csv").stdout.split())
    assert f"Not guarded: {listed[0]}" in words
