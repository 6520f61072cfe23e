"""People on whom the model is fitted, each guarded by that of the others, at every door."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.command_line import complaint_of, priste, told
from tests.cli.small_world import (
    GRID,
    QUICK,
    START,
    STEPS,
    with_a_short_event,
    write_policy,
    write_trips,
)

from priste import MarkovModel
from priste.audit import audit_stream
from priste.batch import ledger_of
from priste.policy import load_policy, read_policy
from priste.release import read_ledgers
from priste.results import any_prior_leakage, columns_of_releases

FITTED = with_a_short_event(QUICK).replace(
    'kind = "gaussian"\nsigma = 1.0', 'kind = "fit"\ntraces = "trips.csv"'
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


def test_people_of_a_public_model_beside_somebody_with_earlier_days(tmp_path: Path) -> None:
    """Protect ends well and names the model of the earlier days; audit and report agree with it."""
    write_trips(tmp_path)
    public = FITTED.replace('"trips.csv"', '"trips.csv"\npublic = true') + ADVERSARY
    policy = write_policy(tmp_path, public)
    begin, path = START - timedelta(days=5), (0, 0, 1, 5, 6, 6, 5, 1)
    dora = tmp_path / "dora.csv"
    lines = ["user,time,lat,lon"]
    for hour in range(5 * 24 + STEPS):
        lat, lon = GRID.latlon(path[hour % len(path)])
        moment = begin + timedelta(hours=hour, minutes=30)
        lines.append(f"dora,{moment:%Y-%m-%dT%H:%M:%SZ},{lat:.6f},{lon:.6f}")
    dora.write_text("\n".join(lines) + "\n")
    out = tmp_path / "o.csv"
    found = told("protect", dora, "-p", policy, "-o", out, "--seed", 3)
    assert "your own earlier days" in found["adversary"]
    audited = told("audit", out)
    assert audited["adversary"] == found["adversary"]
    for name, entry in found["events"].items():
        assert audited["events"][name]["max"] == entry["max"]
    page = told("protect", dora, "-p", policy, "-o", tmp_path / "p.csv", "--seed", 3,
                "--report", tmp_path / "r.html")  # fmt: skip
    assert found["any_prior"]["leakage"] == pytest.approx(page["any_prior"]["leakage"], rel=1e-9)


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
            told_here = found["events"][name]["other_movement"][
                f"who thinks that people move {how} as far"
            ]
            assert told_here == pytest.approx(expected, rel=1e-9, abs=1e-12)
    words = " ".join(priste("audit", ledger_of(out), "-p", policy_path).stdout.split())
    assert "Not guaranteed, with another model" in words


def test_what_any_prior_learns_is_bounded_in_time_and_may_be_left_out(tmp_path: Path) -> None:
    """The most of all streams; a lower bound when the time is over; nothing against any prior."""
    trips, out = write_trips(tmp_path), tmp_path / "o.csv"
    path = write_policy(tmp_path, QUICK + ADVERSARY)
    found = told("protect", trips, "-p", path, "-o", out, "--seed", 3)
    policy, ledgers = load_policy(path), read_ledgers(ledger_of(out))
    streams = [(policy, ledger) for ledger in ledgers.values()]
    singly = [any_prior_leakage([stream]) for stream in streams]
    expected = {name: max(each.leakage[name] for each in singly if each) for name in policy.events}
    assert found["any_prior"] == {"leakage": expected, "complete": True}
    seen: list[int] = []
    cut = any_prior_leakage(streams, seconds=0.0, on_progress=seen.append)
    assert cut is not None
    assert not cut.complete
    assert seen == [1]
    assert set(cut.leakage) == set(policy.events)
    assert all(cut.leakage[name] <= expected[name] for name in policy.events)
    assert cut.words("visit").startswith("≥ ")
    assert any_prior_leakage([(read_policy(QUICK), ledgers["ada"])]) is None
    other = told("protect", trips, "-p", path, "-o", tmp_path / "n.csv", "--compare", 0)
    assert other["any_prior"] is None


def test_what_any_prior_learns_is_one_number_with_a_report_and_without(tmp_path: Path) -> None:
    """The report of a single stream has found it, so that it is not computed twice."""
    trips = write_trips(tmp_path, ("ada",))
    run = ("protect", trips, "-p", write_policy(tmp_path, QUICK + ADVERSARY), "--seed", 3, "-o")
    plain = told(*run, tmp_path / "o.csv")["any_prior"]
    page = told(*run, tmp_path / "p.csv", "--report", tmp_path / "r.html")["any_prior"]
    assert plain["leakage"] == pytest.approx(page["leakage"], rel=1e-9)
    assert min(plain["leakage"].values()) > 0
    assert page["complete"]
    none = told(*run, tmp_path / "q.csv", "--report", tmp_path / "s.html", "--compare", 0)
    assert none["any_prior"] is None
    pages = [" ".join((tmp_path / name).read_text().split()) for name in ("r.html", "s.html")]
    assert ["any prior, same model" in each for each in pages] == [True, False]
    assert ["is left out: <code>priste audit</code>" in each for each in pages] == [False, True]


def test_that_a_step_has_one_release_is_said_where_fixes_are_many(tmp_path: Path) -> None:
    """Three fixes an hour and a step of an hour: most fixes are not used, and that is said."""
    lines = write_trips(tmp_path, ("ada",)).read_text().splitlines()
    assert ":30:00" in lines[1]
    more = [line.replace(":30:00", f":{minute}:00") for line in lines[1:] for minute in (10, 50)]
    many, few = tmp_path / "many.csv", tmp_path / "few.csv"
    many.write_text("\n".join([*lines, *more]) + "\n")
    few.write_text("\n".join(lines) + "\n")
    policy = write_policy(tmp_path, QUICK)
    for path, said in ((many, True), (few, False)):
        out = tmp_path / f"{path.stem}.released.csv"
        words = priste("protect", path, "-p", policy, "-o", out, "--seed", 3,
                       "--beside-earlier-releases").stdout  # fmt: skip
        flat = " ".join(words.split())
        assert ("A step has one release, however many fixes it has: 36 fixes" in flat) == said
        assert ("Shorter steps in [clock] release more of them." in flat) == said


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
