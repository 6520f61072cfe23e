"""Files of one run belong together: any of them leads to the policy and the input."""

import json
from datetime import timedelta
from pathlib import Path

from tests.cli.command_line import complaint_of, priste, told
from tests.cli.small_world import (
    PATHS,
    QUICK,
    START,
    trace_of,
    with_a_short_event,
    write_policy,
    write_trips,
)

from priste.batch import files_of_run, ledger_of
from priste.traces import write_traces


def test_evaluate_audit_and_report_read_the_folder_that_protect_wrote(tmp_path: Path) -> None:
    """A result in parts: no option but its name is needed, and the figures are those of the run."""
    trips, policy, out = write_trips(tmp_path), write_policy(tmp_path), tmp_path / "out"
    made = told("protect", trips, "-p", policy, "-o", out, "--seed", 3)
    assert (out / "manifest.json").is_file()
    evaluated = json.loads(priste("evaluate", out, "--json").stdout)
    mean = made["metres"]["with_priste"]["everywhere"]
    assert abs(evaluated["released"]["distance"]["mean"] - mean) < 0.5
    assert evaluated["people"] == len(PATHS)
    audited = told("audit", out)
    for name, entry in made["events"].items():
        assert abs(audited["events"][name]["max"] - entry["max"]) < 1e-6
    page = tmp_path / "page.html"
    found = told("report", out, "--private", "-o", page)
    assert found["verdict"] == "kept"
    assert "mean error" in page.read_text()


def test_a_name_of_nothing_is_told_before_anything_else(tmp_path: Path) -> None:
    """Not that its policy is missing, nor that the page is there already."""
    (tmp_path / "page.html").write_text("a page")
    for command in (("audit",), ("evaluate",), ("report", "-o", tmp_path / "page.html")):
        said = complaint_of(priste(*command, tmp_path / "nothing.csv", code=2))
        assert "There is no file or folder" in said


def test_the_constant_point_is_one_number_at_every_door(tmp_path: Path) -> None:
    """Protect and evaluate measure it from the same fixes, far from the centres of cells."""
    trips, policy, out = tmp_path / "t.csv", write_policy(tmp_path), tmp_path / "o.csv"
    write_trips(tmp_path)
    shift = {"lat": 0.0012, "lon": -0.0021}
    lines = (tmp_path / "trips.csv").read_text().splitlines()
    names = lines[0].split(",")
    moved = [
        ",".join(
            f"{float(text) + shift[name]:.7f}" if name in shift else text
            for name, text in zip(names, line.split(","), strict=True)
        )
        for line in lines[1:]
    ]
    trips.write_text("\n".join([lines[0], *moved]) + "\n")
    made = told("protect", trips, "-p", policy, "-o", out, "--seed", 3)
    found = json.loads(priste("evaluate", out, "--json").stdout)["constant"]
    assert abs(found["distance"]["mean"] - made["metres"]["constant_point"]["everywhere"]) < 0.1


def test_audit_knows_the_model_of_own_days(tmp_path: Path) -> None:
    """Whose earlier days were guarded against is audited with them, found through the run."""
    before = [12, 8, 4, 8, 9, 13, 9, 8, 12, 13, 12, 8] * 14
    first = START - timedelta(hours=len(before))
    days = [trace_of("ada", before + PATHS["ada"], first)]
    write_traces(days, tmp_path / "ada.csv")
    text = QUICK.replace(
        'kind = "gaussian"\n',
        'kind = "gaussian"\nhome = "home"\nstay_home = 0.9\nback_home = 0.1\n',
    )
    policy, out = write_policy(tmp_path, with_a_short_event(text)), tmp_path / "out.csv"
    made = told("protect", tmp_path / "ada.csv", "-p", policy, "-o", out, "--seed", 3)
    audited = told("audit", out)
    assert abs(audited["events"]["visit"]["max"] - made["events"]["visit"]["max"]) < 1e-6
    (tmp_path / "ada.csv").rename(tmp_path / "moved.csv")
    assert "--input" in complaint_of(priste("audit", out, code=2))
    assert told("audit", out, "--input", tmp_path / "moved.csv") == audited


def test_any_file_of_the_run_leads_to_the_others(tmp_path: Path) -> None:
    """The result, its ledger, and what it was made of; the folder of the run is private."""
    trips, policy, out = write_trips(tmp_path), write_policy(tmp_path), tmp_path / "out.csv"
    told("protect", trips, "-p", policy, "-o", out, "--seed", 3)
    for given in (out, ledger_of(out)):
        run = files_of_run(given)
        assert run.released == out
        assert run.ledgers == (ledger_of(out),)
        assert run.sources.input == trips.resolve()
        assert run.sources.policy == policy.resolve()
    kept = tmp_path / "out.csv.priste" / "sources.json"
    assert kept.stat().st_mode & 0o077 == 0
    assert json.loads(kept.read_text())["input"] == str(trips.resolve())


def test_what_is_gone_is_said_with_the_option_that_gives_it(tmp_path: Path) -> None:
    """A moved input, or a result without the folder of its run."""
    trips, policy, out = write_trips(tmp_path), write_policy(tmp_path), tmp_path / "out.csv"
    told("protect", trips, "-p", policy, "-o", out, "--seed", 3)
    trips.rename(tmp_path / "moved.csv")
    assert "which is gone" in complaint_of(priste("evaluate", out, code=2))
    found = priste("evaluate", out, "--truth", tmp_path / "moved.csv", "--json").stdout
    assert json.loads(found)["people"] == len(PATHS)
    other = tmp_path / "else.csv"
    other.write_bytes(out.read_bytes())
    assert "Give it with" in complaint_of(priste("evaluate", other, code=2))
