"""Each command, run as people run it: its words, its JSON, its exit codes and its files."""

import json
import math
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import complaint_of, priste, told
from tests.cli.small_world import GRID, PATHS, QUICK, write_policy, write_trips
from typer.main import get_command

from priste import Quantifier
from priste.batch import ledger_of, read_ledgers, workspace_of
from priste.cli.application import app
from priste.policy import load_policy
from priste.traces import read_traces

COMMANDS = ("init", "explain", "fit", "protect", "audit", "report", "demo")
SAME_LEAKAGE = 1e-6
SAME_BELIEF = 1e-9


def installed(*arguments: object, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the installed entry point."""
    script = Path(sys.executable).with_name("priste")
    done = subprocess.run(
        [script, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run of three users."""
    folder = tmp_path_factory.mktemp("finished")
    write_policy(folder)
    write_trips(folder)
    priste("protect", folder / "trips.csv", "-p", folder / "policy.toml",
           "-o", folder / "out.csv", "--seed", 4)  # fmt: skip
    return folder


# The installed entry point


def test_the_entry_point_from_init_to_report(tmp_path: Path) -> None:
    """The installed `priste` drafts and protects without a complaint on stderr."""
    write_trips(tmp_path, ("ada",))
    first = installed("init", "trips.csv", cwd=tmp_path)
    assert first.stdout.startswith("Wrote policy.toml.\nClock: 2026-03-04 01:00 to ")
    assert "Forecast: Expect a mean error" in first.stdout
    done = installed("protect", "trips.csv", "-p", "policy.toml", "-o", "out.csv", cwd=tmp_path)
    assert "what may be handed out" in done.stdout
    # A busy machine may need so long that progress is told.
    assert "Warning" not in first.stderr + done.stderr
    assert "Error" not in first.stderr + done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {
        "trips.csv", "policy.toml", "out.csv", "out.csv.ledger.csv", "out.csv.priste",
    }  # fmt: skip


def test_help_is_light_and_names_every_command(tmp_path: Path) -> None:
    """`priste --help` lists the commands without loading a heavy library."""
    shown = installed("--help", cwd=tmp_path).stdout
    assert all(f" {name} " in shown for name in COMMANDS)
    assert max(map(len, shown.splitlines())) <= 80
    heavy = ["numpy", "scipy", "numba", "duckdb", "pyarrow", "matplotlib", "pyproj"]
    code = (
        "import sys; from typer.testing import CliRunner; from priste.cli.application import app\n"
        "r = CliRunner().invoke(app, ['protect', '--help']); assert r.exit_code == 0\n"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_says_every_option_in_full() -> None:
    """At 80 columns no name of an option is cut, nor what a command does."""
    root: Any = get_command(app)
    for path in [*((name,) for name in root.commands), ("live", "setup")]:
        found = root
        for name in path:
            found = found.commands[name]
        shown = priste(*path, "--help").stdout
        assert all(option in shown for each in found.params for option in each.opts), path
    listed = priste("--help").stdout.split("Commands:")[1]
    assert "..." not in listed


def test_shells_can_complete(tmp_path: Path) -> None:
    """The completion script of a shell can be asked for, and completes commands."""
    # It looks which shell it was started from: one that does not give its place to it.
    script = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m priste --show-completion; true"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "complete" in script.stdout
    done = subprocess.run(
        [Path(sys.executable).with_name("priste")],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "_PRISTE_COMPLETE": "complete_bash", "COMP_WORDS": "priste pro",
             "COMP_CWORD": "1"},
    )  # fmt: skip
    assert done.stdout.split() == ["protect"]


def test_version() -> None:
    """The version is that of the package."""
    import priste as package

    assert priste("--version").stdout == f"priste {package.__version__}\n"


# init


def test_init_writes_a_private_policy_and_never_over_another(tmp_path: Path) -> None:
    """The draft reads, only its owner may read it, and an existing file stays."""
    path = tmp_path / "p.toml"
    found = told("init", write_trips(tmp_path, ("ada",)), "-o", path, "--zone", "Europe/Paris",
                 "--no-forecast")  # fmt: skip
    assert found["policy"] == str(path)
    assert load_policy(path).timeline.zone.key == "Europe/Paris"  # type: ignore[attr-defined]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    assert "already a file" in complaint_of(priste("init", "-o", path, code=2))
    assert path.read_bytes() == before
    priste("init", "-o", path, "--overwrite", "--no-forecast")
    assert path.read_bytes() != before


# explain

EXPLAINED = """\
In short
  • The map has 4 by 4 cells of 1 km, 4.0 by 4.0 km.
  • There is one release every hour, 12 in all, from Wed 04 Mar 2026 00:00 to
  Wed 04 Mar 2026 12:00 (UTC).
"""


def test_explain_in_words(tmp_path: Path) -> None:
    """The words begin as people know them, fit 80 columns, and draw the regions."""
    shown = priste("explain", write_policy(tmp_path)).stdout
    lines = [line.rstrip() for line in shown.splitlines()]
    assert "\n".join(lines).startswith(EXPLAINED)
    assert max(map(len, lines)) <= 80
    for title in ("What is guaranteed", "What is not guaranteed", "Region clinic"):
        assert title in lines
    assert ".##." in [line.strip() for line in lines]


def test_explain_in_json(tmp_path: Path) -> None:
    """The document has the documented keys, and probabilities are those of a Quantifier."""
    path = write_policy(tmp_path)
    found = told("explain", path)
    keys = {"summary", "against", "guaranteed", "not_guaranteed", "unguarded", "events", "drawings"}
    keys |= {"cost"}
    assert set(found) == keys
    policy = load_policy(path)
    for event in found["events"]:
        chances = Quantifier(policy.model, policy.events[event["name"]].event).prior_by_start()
        assert event["lowest"] == pytest.approx(chances.min(), abs=SAME_BELIEF)
        assert event["highest"] == pytest.approx(chances.max(), abs=SAME_BELIEF)


def test_all_mistakes_in_one_panel(tmp_path: Path) -> None:
    """A bad policy is one panel on stderr and exit code 2, with every mistake and no traceback."""
    bad = QUICK.replace("alpha = 1.5", "alpha = -1.5").replace("sigma = 1.0", "sgima = 1.0")
    result = priste("explain", write_policy(tmp_path, bad), code=2)
    assert result.stdout == ""
    assert "2 mistakes" in result.stderr
    assert "line 19: mechanism.alpha" in result.stderr
    assert "did you mean 'sigma'" in result.stderr
    assert "Traceback" not in result.stderr


# fit


def test_fit_saves_a_model_that_policies_can_use(tmp_path: Path) -> None:
    """The saved model is the one that a policy with kind = "fit" would fit; the score is told."""
    write_trips(tmp_path)
    policy = write_policy(tmp_path)
    found = told("fit", tmp_path / "trips.csv", "-p", policy, "-o", tmp_path / "m.npz", "--public")
    assert set(found) == {
        "model", "path", "fingerprint", "cells", "people", "memory", "held_out", "home_habits",
    }  # fmt: skip
    assert (found["people"], found["cells"], found["path"]) == (3, 16, "m.npz")
    assert found["held_out"]["nats_per_move"] > 0
    fitted = 'kind = "fit"\ntraces = "trips.csv"\npublic = true\nmemory = "auto"'
    text = QUICK.replace('kind = "gaussian"\nsigma = 1.0', fitted)
    assert load_policy(write_policy(tmp_path, text)).model.fingerprint() == found["fingerprint"]
    homes = 'kind = "saved"\npath = "m.npz"\nhome = "home"\n' + "\n".join(
        f"{name} = {value}" for name, value in found["home_habits"].items()
    )
    saved = load_policy(write_policy(tmp_path, text.replace(fitted, homes)))
    learnt = load_policy(write_policy(tmp_path, text.replace(fitted, f'{fitted}\nhome = "home"')))
    assert saved.model.fingerprint() == learnt.model.fingerprint()
    memories = {each["memory"]: each["nats_per_move"] for each in found["held_out"]["memories"]}
    assert memories[found["memory"]] == min(memories.values())
    words = priste(
        "fit", tmp_path / "trips.csv", "-p", policy, "-o", tmp_path / "w.npz", "--public"
    ).stdout
    assert "nats per move" in words.replace("\n", " ")
    assert "already a file" in priste(
        "fit", tmp_path / "trips.csv", "-p", policy, "-o", tmp_path / "w.npz", code=2
    ).stderr  # fmt: skip


# protect


def test_protect_in_words(tmp_path: Path) -> None:
    """The words tell what was read, released and reached, where it is, and fit 80 columns."""
    write_trips(tmp_path)
    result = priste("protect", tmp_path / "trips.csv", "-p", write_policy(tmp_path),
                    "-o", tmp_path / "o.csv", "--seed", 1)  # fmt: skip
    out = result.stdout
    assert "trips.csv (csv): 36 fixes of 3 users in 36 records." in out
    assert "36 releases for 3 users. Steps drawn now: 36." in out
    assert re.search(r"visit +2\.23× +\d\.\d\d× +0\.8 +\d\.\d{3}", out)
    assert "never for real people" in result.stderr.replace("\n", " ")


def test_protect_writes_beside_its_input_unless_told(tmp_path: Path) -> None:
    """Without ``-o`` the released file and its ledger are named after the input."""
    write_trips(tmp_path)
    priste("protect", tmp_path / "trips.csv", "-p", write_policy(tmp_path), "--seed", 1)
    assert (tmp_path / "trips.released.csv").is_file()
    assert (tmp_path / "trips.released.csv.ledger.csv").is_file()


def test_protect_in_json(tmp_path: Path) -> None:
    """The document has the documented keys and agrees with the ledger; no warning without seed."""
    result = priste("protect", write_trips(tmp_path), "-p", write_policy(tmp_path),
                    "-o", tmp_path / "o.csv", "--json")  # fmt: skip
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert set(found) == {
        "destination", "ledger", "users", "releases", "drawn_now", "given_again", "sampled",
        "quarantined", "notes", "unguarded", "combinations", "continued", "metres", "events",
        "adversary", "any_prior", "verdict", "reading", "writing", "report", "off_map",
    }  # fmt: skip
    ledgers = read_ledgers(found["ledger"])
    largest = max(r.leakage[0] for ledger in ledgers.values() for r in ledger)
    visit = found["events"]["visit"]
    assert (visit["epsilon"], visit["max"]) == (0.8, largest)
    assert found["verdict"] == "kept"


def test_protect_with_workers_equals_protect_without(finished: Path, tmp_path: Path) -> None:
    """Two workers that begin before the command is loaded release the same as one in here."""
    write_policy(tmp_path)
    write_trips(tmp_path)
    installed("protect", "trips.csv", "-p", "policy.toml", "-o", "out.csv", "--seed", 4,
              "--workers", 2, cwd=tmp_path)  # fmt: skip
    for name in ("out.csv", "out.csv.ledger.csv"):
        assert (tmp_path / name).read_bytes() == (finished / name).read_bytes()


def test_protect_with_a_report(tmp_path: Path) -> None:
    """The private page is written on demand, with true points only when asked for."""
    policy, trips = write_policy(tmp_path), write_trips(tmp_path, ("ada",))
    for number, more in enumerate(([], ["--show-truth"])):
        page = tmp_path / f"{number}.html"
        found = told("protect", trips, "-p", policy, "-o", tmp_path / f"{number}.csv",
                     "--report", page, *more)  # fmt: skip
        assert found["report"] == str(page)
        text = page.read_text()
        assert "Keep this page to yourself" in text
        assert ("Where the user was" in text) == bool(more)
        assert stat.S_IMODE(page.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nobody.csv", "-o", "o.csv"], "no file or folder"),
        (["trips.csv", "-o", "trips.csv"], "belong apart"),
        (["trips.csv", "-o", "none/o.csv"], "no folder"),
        (["trips.csv", "-o", "o.csv", "--show-truth"], "--report"),
        (["trips.csv", "-o", "o.csv", "--report", "policy.toml"], "already a file"),
        (["trips.csv", "-o", "o.csv", "--column", "lat"], "PART=NAME"),
        (["trips.csv", "-o", "o.csv", "--column", "lat=y"], "'y'"),
        (["trips.csv", "-o", "o.csv", "--format", "docx"], "one of"),
        (["trips.csv", "-o", "o.csv", "--workers", "0"], "greater than or equal to 1"),
    ],
)
def test_protect_refuses_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], complaint: str
) -> None:
    """A mistake is one message on stderr and exit code 2; nothing is drawn or written."""
    write_policy(tmp_path)
    write_trips(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = priste("protect", *arguments, "-p", "policy.toml", code=2)
    assert result.stdout == ""
    assert complaint in complaint_of(result)
    assert {p.name for p in tmp_path.iterdir()} == {"policy.toml", "trips.csv"}


def test_errors_show_no_true_location(tmp_path: Path) -> None:
    """A trace that leaves the map is refused without a coordinate in the message."""
    small = QUICK.replace("north = 46.0355", "north = 46.01")
    policy = write_policy(tmp_path, small.replace("cells = [9, 10]", "cells = [3]"))
    result = priste("protect", write_trips(tmp_path), "-p", policy, "-o", tmp_path / "o.csv",
                    code=2)  # fmt: skip
    assert "off the map" in complaint_of(result)
    assert not re.search(r"\d\.\d{3,}", result.stderr)


# audit


def test_audit_of_a_ledger(finished: Path) -> None:
    """A ledger of ours is within ε: the leakages are the ledger's, the beliefs a Quantifier's."""
    policy = load_policy(finished / "policy.toml")
    path = ledger_of(finished / "out.csv")
    found = told("audit", path, "-p", finished / "policy.toml", "--user", "ben")
    assert set(found) == {
        "emission", "snapped", "adversary", "verdict", "events", "recurring",
    }  # fmt: skip
    ledger = read_ledgers(path)["ben"]
    for number, (name, event) in enumerate(policy.events.items()):
        entry = found["events"][name]
        assert set(entry) == {
            "epsilon", "guarantee", "leakage", "max", "for_event", "against_event",
            "highest_belief", "any_prior", "any_movement", "other_movement", "worst_prior",
            "worst_given_prior",
            "prior_belief", "belief", "user",
        }  # fmt: skip
        assert entry["leakage"] == [r.leakage[number] for r in ledger]
        assert entry["max"] == max(entry["leakage"]) <= entry["epsilon"]
        assert sum(entry["worst_prior"].values()) == pytest.approx(1)
        quantifier = Quantifier(policy.model, event.event)
        uniform = [1 / GRID.size] * GRID.size
        for step, belief in enumerate(entry["belief"]):
            quantifier.observe(ledger.likelihood(step))
            assert belief == pytest.approx(quantifier.posterior(prior=uniform), abs=SAME_BELIEF)


def test_audit_of_a_foreign_trace(finished: Path) -> None:
    """Positions published as they are, taken for the mechanism's outputs, are above ε: exit 1."""
    policy = load_policy(finished / "policy.toml")
    where = ("audit", finished / "trips.csv", "-p", finished / "policy.toml",
             "--mechanism", "policy")  # fmt: skip
    found = told(*where, code=1)
    assert found["verdict"] == "broken"
    assert len(found["users"]) == 3
    quantifier = Quantifier(policy.model, policy.events["visit"].event)
    for cell, leakage in zip(
        PATHS["ada"], found["users"][0]["events"]["visit"]["leakage"], strict=True
    ):
        quantifier.observe(policy.mechanism.likelihood(cell))
        assert leakage == pytest.approx(quantifier.leakage().value, rel=SAME_LEAKAGE)
    weaker = told(*where, "--alpha", 0.01)
    assert weaker["verdict"] == "kept"
    louder = told(*where, "--alpha", 9, code=1)  # above the policy's own 1.5
    assert louder["events"]["visit"]["max"] > found["events"]["visit"]["max"]
    assert "ABOVE" in priste(*where, code=1).stdout


def test_audit_of_foreign_positions_snaps_them_and_says_what_that_means(
    finished: Path, tmp_path: Path
) -> None:
    """Positions between centres are taken for their cells; centres may be a calibrator's."""
    raw = tmp_path / "raw.csv"
    rows = [line.split(",") for line in (finished / "trips.csv").read_text().splitlines()]
    lat = rows[0].index("lat")
    for row in rows[1:]:
        row[lat] = repr(float(row[lat]) + 0.001)  # a hundred metres off
    raw.write_text("\n".join(",".join(row) for row in rows) + "\n")
    where = ("audit", raw, "-p", finished / "policy.toml")
    shown = " ".join(priste(*where, code=1).stdout.split())
    assert "100 % of the positions are not centres of the policy's cells" in shown
    assert "What a position reveals within its cell is not counted" in shown
    centres = ("audit", finished / "trips.csv", "-p", finished / "policy.toml")
    assert "--mechanism policy" in complaint_of(priste(*centres, code=2))
    snapped = told(*where, code=1)
    assert snapped["snapped"] == 1.0
    plain = told(*centres, "--mechanism", "policy", code=1)
    assert plain["snapped"] == 0.0
    assert plain["events"] == snapped["events"]
    words = priste(*centres, "--mechanism", "policy", code=1).stdout
    assert "Those who learn most think" in words
    assert "in cell" not in words
    found = told(*where, "--mechanism", "identity", code=1)
    assert found["verdict"] == "broken"
    assert max(map(float, found["events"]["visit"]["leakage"])) == float("inf")


def test_audit_refuses_what_does_not_fit(finished: Path, tmp_path: Path) -> None:
    """A changed ledger, another policy, senseless assumptions and unknown users are errors."""
    ledger = ledger_of(finished / "out.csv")
    policy = finished / "policy.toml"
    rows = ledger.read_text().splitlines()
    fields = rows[5].split(",")
    fields[6] = str(float(fields[6]) / 2)  # the first leakage
    forged = tmp_path / "forged.csv"
    forged.write_text("\n".join([*rows[:5], ",".join(fields), *rows[6:]]) + "\n")
    other = write_policy(tmp_path, QUICK.replace("[events.visit]", "[events.other]"))
    for arguments, complaint in (
        ((forged, "-p", policy), "was changed"),
        ((ledger, "-p", other), "The ledger is about"),
        ((finished / "out.csv", "-p", policy, "--mechanism", "policy"), "leave out --alpha"),
        ((ledger, "-p", policy, "--alpha", 1), "leave out --alpha"),
        ((ledger, "-p", policy, "--user", "zoe"), "zoe"),
        ((finished / "trips.csv", "-p", policy, "--user", "zoe", "--mechanism", "policy"), "zoe"),
        ((ledger, "-p", policy, "--mechanism", "identity"), "leave out --alpha"),
        ((finished / "trips.csv", "-p", policy, "--alpha", -1), "per km"),
        (
            (finished / "trips.csv", "-p", policy, "--mechanism", "identity", "--alpha", 1),
            "no noise",
        ),
    ):
        result = priste("audit", *arguments, code=2)
        assert complaint in complaint_of(result)


def test_audit_against_another_adversary(finished: Path) -> None:
    """Foreign releases tell a known population less than anybody, who stands beside it."""
    where = ("audit", finished / "trips.csv", "-p", finished / "policy.toml", "--user", "ada",
             "--mechanism", "policy")  # fmt: skip
    any_prior = told(*where, code=1)
    for words in ("population", "near:2", "stale:3", "starts:home"):
        found = told(*where, "--adversary", words, code=1)
        for name, entry in found["events"].items():
            assert entry["max"] <= any_prior["events"][name]["max"] + SAME_LEAKAGE
            assert len(entry["any_prior"]) == len(entry["leakage"])
        assert found["adversary"] != any_prior["adversary"]
    shown = priste(*where, "--adversary", "population", code=1).stdout
    assert "knows how people here move" in shown
    assert "With any belief about where the user began" in shown
    ledger = ledger_of(finished / "out.csv")
    for arguments, complaint in (
        ((finished / "trips.csv", "--adversary", "near"), "near:FACTOR"),
        ((finished / "trips.csv", "--adversary", "everybody"), "near:FACTOR"),
        ((finished / "trips.csv", "--adversary", "starts:moon"), "'moon'"),
        ((ledger, "--adversary", "population"), "must be left out with a ledger"),
    ):
        result = priste("audit", *arguments, "-p", finished / "policy.toml", code=2)
        assert complaint in complaint_of(result)


# report


def test_report_without_private_may_be_shared(finished: Path, tmp_path: Path) -> None:
    """The page holds releases and the public part of the policy, and says so."""
    page = tmp_path / "r.html"
    found = told("report", finished / "out.csv", "-o", page, "--user", "ada")
    assert (found["private"], found["users"]) == (False, ["ada"])
    text = page.read_text()
    assert "This page may be shared" in text
    for secret in ("clinic", "home", "visit", "Keep this page to yourself"):
        assert secret not in text


def test_report_of_a_run_finds_its_policy_and_input(finished: Path, tmp_path: Path) -> None:
    """With --private the page tells errors and events; figures are drawn."""
    page = tmp_path / "r.html"
    found = told("report", finished / "out.csv", "--private", "-o", page,
                 "--plots", tmp_path / "plots", "--user", "ada")  # fmt: skip
    assert (found["private"], found["verdict"], found["users"]) == (True, "kept", ["ada"])
    text = page.read_text()
    assert "Keep this page to yourself" in text
    assert "mean error, from the true fix" in text
    assert {Path(p).suffix for p in found["plots"]} == {".png", ".pdf"}
    assert all(Path(p).stat().st_size > 1000 for p in found["plots"])


def test_report_with_the_input_is_private(finished: Path, tmp_path: Path) -> None:
    """With the input the page tells errors and the uncalibrated mechanism; the path on demand."""
    base = ("report", ledger_of(finished / "out.csv"), "-p", finished / "policy.toml")
    page = tmp_path / "r.html"
    shown = priste(*base, "-o", page, "--input", finished / "trips.csv").stdout
    assert "keep it to yourself" in shown
    assert "Where the user was" not in page.read_text()
    assert "3 protected users" in page.read_text()
    assert "already a file" in complaint_of(priste(*base, "-o", page, code=2))
    priste(*base, "-o", page, "--show-truth", "--overwrite", "--user", "ada")
    assert "Where the user was" in page.read_text()
    copied = tmp_path / "out.csv.ledger.csv"
    copied.write_bytes(ledger_of(finished / "out.csv").read_bytes())
    alone = ("report", copied, "-o", tmp_path / "s.html")
    assert "Give it with -p" in complaint_of(priste(*alone, code=2))
    alone = (*alone, "-p", finished / "policy.toml", "--show-truth")
    assert "--input" in priste(*alone, code=2).stderr


def test_report_without_a_ledger_is_an_error(tmp_path: Path) -> None:
    """A file that was not released by priste has no report."""
    result = priste("report", write_trips(tmp_path), "-p", write_policy(tmp_path),
                    "-o", tmp_path / "r.html", code=2)  # fmt: skip
    assert "no ledger" in complaint_of(result)


# demo


def test_the_demo_keeps_its_guarantee_in_an_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo, cut to three days: it protects, compares, reports, and can be run again."""
    from priste.policy import town_policy

    cut = town_policy.town_policy().replace("steps = 336", "steps = 72")
    monkeypatch.setattr(town_policy, "town_policy", lambda: cut)
    monkeypatch.setattr(town_policy, "RESIDENTS", 6)
    folder = tmp_path / "demo-output"
    found = told("demo", "--folder", folder)
    (event,) = found["events"].values()
    assert event["with_priste"]["max"] <= event["epsilon"] < event["uncalibrated"]["max"]
    metres = {way: where["everywhere"] for way, where in found["metres"].items()}
    assert 0.0 < metres["with_priste"] < metres["constant_point"]
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    assert len(read_traces(folder / "released.csv").one()) == 72
    assert workspace_of(folder / "released.csv").is_dir()
    words = priste("demo", "--folder", folder).stdout
    assert max(len(line) for line in words.splitlines() if str(folder) not in line) <= 80
    assert "What it costs" in words


def test_the_readme_shows_the_figures_of_the_demo(tmp_path: Path) -> None:
    """The odds and the table of metres in README are those of the demo, as it rounds them."""
    found = told("demo", "--folder", tmp_path / "demo-output")
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    odds = [f"{math.exp(each['with_priste']['max']):.2f}" for each in found["events"].values()]
    assert f"The releases of priste move them by {' and '.join(odds)}." in readme
    rows = re.findall(
        r"^\| (with priste|uncalibrated|constant)[^|]*\|([^|]*\|[^|]*\|[^|]*)\|$", readme, re.M
    )
    assert len(rows) == len(found["metres"])
    for way, cells in rows:
        name = {"constant": "constant_point"}.get(way, way.replace(" ", "_"))
        metres = [found["metres"][name][where] for where in ("everywhere", "far", "near")]
        shown = [f"{m / 1000:.1f} km" if m > 999 else f"{round(m, -1):.0f} m" for m in metres]
        assert [each.strip() for each in cells.split("|")] == shown


def test_the_demo_never_writes_among_other_files(tmp_path: Path) -> None:
    """A folder with files of somebody else is left alone."""
    (tmp_path / "mine.txt").write_text("mine")
    assert "no demo made" in complaint_of(priste("demo", "--folder", tmp_path, code=2))
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    assert "already a file" in complaint_of(
        priste("demo", "--folder", tmp_path / "mine.txt", code=2)
    )


def test_the_policy_of_the_demo_reads() -> None:
    """The packaged policy has no mistake apart from the traces that the demo writes beside it."""
    from priste import PolicyError
    from priste.policy import read_policy
    from priste.policy.town_policy import town_policy

    with pytest.raises(PolicyError) as caught:
        read_policy(town_policy(), folder="nowhere")
    assert len(caught.value.problems) == 1
    assert "residents.csv" in caught.value.problems[0]
