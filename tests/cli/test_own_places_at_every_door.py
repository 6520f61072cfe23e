"""Places of everybody's own: a run with them is reported and audited as any other."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.cli.command_line import complaint_of, priste, told
from tests.cli.small_world import GRID, PATHS, QUICK, with_a_short_event, write_policy, write_trips

from priste import Region
from priste.audit import audit_stream
from priste.batch import ledger_of
from priste.errors import PolicyError
from priste.policy import load_policy, with_regions
from priste.release import read_ledgers
from priste.results import columns_of_releases
from priste.traces import read_traces

CELLS = {"ada": 0, "ben": 15}
"""Where two of three people live; the third has no place of her own."""

ROAMS = QUICK + '\n[adversary]\nknows = "population"\n'
LIVES = QUICK.replace(
    'kind = "gaussian"\nsigma = 1.0',
    'kind = "fit"\ntraces = "trips.csv"\nmemory = "none"\nhome = "home"\nstay_home = 0.9\n'
    'back_home = 0.4\nfamily = ["home"]',
).replace("[regions.home]\ncells = [0]", "[regions.home]\nown = true")
LIVES = LIVES.replace("[guarantee]\n", '[guarantee]\nguarded_hours = "off"\n')
LIVES = with_a_short_event(LIVES) + '[adversary]\nknows = "population"\n'
CAPPED = ROAMS.replace("epsilon = 1.2", "belief_at_most = 0.9")


def disc(cell: int) -> str:
    return "{} {} 0.05".format(*GRID.latlon(cell))


def write_homes(folder: Path, cells: dict[str, int], name: str = "homes.csv") -> Path:
    rows = [f"{user},home,{disc(cell).replace(' ', ',')}" for user, cell in cells.items()]
    path = folder / name
    path.write_text("\n".join(["user,region,lat,lon,radius_km", *rows]) + "\n")
    return path


@pytest.mark.parametrize("text", [LIVES, CAPPED], ids=["model", "belief"])
def test_runs_are_audited_and_reported_with_their_table(tmp_path: Path, text: str) -> None:
    """What the ledger says comes out with everybody's places, and with no others."""
    trips, homes = write_trips(tmp_path, tuple(CELLS)), write_homes(tmp_path, CELLS)
    policy, out = write_policy(tmp_path, text), tmp_path / "o.csv"
    made = told("protect", trips, "-p", policy, "-o", out, "--places", homes, "--seed", 3,
                "--report", tmp_path / "page.html")  # fmt: skip
    assert made["verdict"] == "kept"
    assert set(made["any_prior"]["leakage"]) == set(made["events"])
    audited = told("audit", ledger_of(out), "-p", policy, "--places", homes)
    assert audited["verdict"] == "kept"
    for name, entry in made["events"].items():
        assert audited["events"][name]["max"] == entry["max"]
        # The report of the run computed the same from the very same streams.
        told_anybody = max(max(user["events"][name]["any_prior"]) for user in audited["users"])
        assert made["any_prior"]["leakage"][name] == pytest.approx(told_anybody, abs=1e-6)
    elsewhere = write_homes(tmp_path, {"ada": 5, "ben": 2}, "elsewhere.csv")
    assert told("audit", out)["verdict"] == "kept"  # places and policy are those of the run
    refused = priste("audit", ledger_of(out), "-p", policy, "--places", elsewhere, code=2)
    assert "personal places (--places)" in complaint_of(refused)
    shared = told("report", out, "-p", policy, "--places", homes, "-o", tmp_path / "r.html")
    assert (shared["verdict"], shared["private"]) == ("kept", True)
    for page in (tmp_path / "page.html", tmp_path / "r.html"):
        assert "where people have their own places" in page.read_text()
        assert "true locations at hand" in page.read_text()


def test_the_audit_is_about_the_place_of_the_user(tmp_path: Path) -> None:
    """By hand, from the ledger and the event at the user's own home."""
    trips, homes = write_trips(tmp_path), write_homes(tmp_path, CELLS)
    path, out = write_policy(tmp_path, ROAMS), tmp_path / "o.csv"
    told("protect", trips, "-p", path, "-o", out, "--places", homes, "--seed", 3)
    policy, ledger = load_policy(path), read_ledgers(ledger_of(out))["ben"]
    own = with_regions(policy, {"home": Region(policy.grid, frozenset({CELLS["ben"]}))})
    (expected,) = audit_stream(
        own.models,
        {"homecoming": own.events["homecoming"].event},
        columns_of_releases(policy, ledger),
        adversary=own.chosen_adversary.adversary,
    ).values()
    found = told("audit", ledger_of(out), "-p", path, "--places", homes, "--user", "ben")
    leakage = found["events"]["homecoming"]["leakage"]
    assert leakage == pytest.approx(list(expected.leakage), abs=1e-6)
    assert max(leakage) > 0.01


def test_places_in_a_column_and_released_traces(tmp_path: Path) -> None:
    """Reports take the column of the input; what others released is audited with a table."""
    trips, policy, out = write_trips(tmp_path), write_policy(tmp_path, ROAMS), tmp_path / "o.csv"
    table = pa.csv.read_csv(trips)
    said = [disc(CELLS[user]) if user in CELLS else "" for user in table["user"].to_pylist()]
    pa.csv.write_csv(table.append_column("home", pa.array(said)), trips)
    made = told("protect", trips, "-p", policy, "-o", out, "--place", "home", "--seed", 3)
    page = tmp_path / "r.html"
    found = told("report", out, "-p", policy, "--place", "home", "--input", trips, "-o", page)
    for name, entry in made["events"].items():
        assert found["events"][name]["max"] == entry["max"]
    words = priste("report", out, "-p", policy, "--places", write_homes(tmp_path, CELLS),
                   "-o", page, "--overwrite").stdout  # fmt: skip
    assert "keep it to yourself" in " ".join(words.split())
    assert "where people have their own places" in page.read_text()
    homes = write_homes(tmp_path, {"ben": PATHS["ben"][0]})
    asked = ("audit", trips, "-p", policy, "--mechanism", "identity", "--user", "ben")
    plain, own = (told(*asked, *places, code=1) for places in ((), ("--places", homes)))
    assert own["events"]["visit"]["max"] == plain["events"]["visit"]["max"]
    assert own["events"]["homecoming"]["belief"][-1] == pytest.approx(1.0)
    assert plain["events"]["homecoming"]["belief"][-1] == pytest.approx(0.0)
    refused = priste("audit", "--procedure", "-p", policy, "--places", homes, code=2)
    assert "--places" in complaint_of(refused)


def test_events_may_speak_of_personal_places(tmp_path: Path) -> None:
    """Everybody is guarded at their own place; somebody without one is left out by name."""
    text = LIVES.replace(
        "[events.visit]", "[events.homecoming]\nformula = 'at(home, 3)'\n[events.visit]"
    )
    people = (*CELLS, "cleo")
    trips, homes = write_trips(tmp_path, people), write_homes(tmp_path, CELLS)
    policy, out = write_policy(tmp_path, text), tmp_path / "o.csv"
    explained = told("explain", policy, "--no-forecast")
    assert "homecoming" in {event["name"] for event in explained["events"]}
    assert any("home is a personal place" in line for line in explained["summary"])
    ran = priste("protect", trips, "-p", policy, "-o", out, "--places", homes, "--seed", 3, code=4)
    assert "cleo" in ran.output
    assert "a personal place (own = true)" in " ".join(ran.output.split())
    audited = told("audit", out)
    assert audited["verdict"] == "kept"
    assert {user["user"] for user in audited["users"]} == set(CELLS)
    base = load_policy(policy)
    with pytest.raises(PolicyError, match="a personal place"):
        base.protector()
    with pytest.raises(PolicyError, match="a personal place"):
        _ = base.events["homecoming"].event
    for trace in read_traces(trips):
        if (user := str(trace.user)) not in CELLS:
            continue
        home = Region(base.grid, frozenset({CELLS[user]}))
        own = with_regions(base, {"home": home}).for_user(trace)
        ledger = read_ledgers(ledger_of(out))[user]
        (expected,) = audit_stream(
            own.models,
            {"homecoming": own.events["homecoming"].event},
            columns_of_releases(own, ledger),
            adversary=own.chosen_adversary.adversary,
        ).values()
        (found,) = [each for each in audited["users"] if each["user"] == user]
        leakage = found["events"]["homecoming"]["leakage"]
        assert leakage == pytest.approx(list(expected.leakage), abs=1e-6)
