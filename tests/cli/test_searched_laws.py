"""Tables that are searched for: audited and reported like any other, from the ledger alone."""

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.cli.small_world import EPSILON, GRID, POLICY, write_policy, write_trips
from typer.testing import CliRunner

from priste import Quantifier
from priste.batch import ledger_of, read_ledgers
from priste.cli.application import app
from priste.policy import load_policy

SAME_LEAKAGE = 1e-6

RELEASE = {
    "by pace": 'calibrator = "optimal"\npace = 0.3',
}


def told(*arguments: object, code: int = 0) -> Any:
    """Run a command with --json and return the document."""
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout) if code == 0 else result.stderr


@pytest.fixture(scope="module", params=RELEASE)
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run of three users under each calibrator."""
    folder = tmp_path_factory.mktemp(request.param)
    write_policy(folder, POLICY.replace("pace = 0.3", RELEASE[request.param]))
    write_trips(folder)
    made = told("protect", folder / "trips.csv", "-p", folder / "policy.toml",
                "-o", folder / "out.csv", "--seed", 4)  # fmt: skip
    assert made["events"]["visit"]["max"] <= EPSILON
    return folder


def test_the_ledger_holds_the_distribution_of_each_release(finished: Path) -> None:
    """A Quantifier that observes the columns of the ledger finds the leakages of the ledger."""
    policy = load_policy(finished / "policy.toml")
    informative = 0
    for ledger in read_ledgers(ledger_of(finished / "out.csv")).values():
        quantifier = Quantifier(policy.model, policy.events["visit"].event)
        for step, release in enumerate(ledger):
            column = ledger.likelihood(step)
            if column is None:
                assert release.cell is not None
                column = policy.mechanism.with_budget(release.budget).likelihood(release.cell)
            informative += len(set(column.tolist())) > 1
            quantifier.observe(column)
            assert quantifier.leakage().value == pytest.approx(release.leakage[0], abs=SAME_LEAKAGE)
    assert informative > 0


def test_audit_and_report_need_the_ledger_alone(finished: Path, tmp_path: Path) -> None:
    """Both tell that ε is kept, and write what they write for other calibrators."""
    where = ledger_of(finished / "out.csv"), "-p", finished / "policy.toml"
    found = told("audit", *where)
    assert found["verdict"] == "kept"
    ledger = read_ledgers(where[0])["ada"]
    entry = found["users"][0]["events"]["visit"]
    assert entry["leakage"] == [release.leakage[0] for release in ledger]
    page = tmp_path / "r.html"
    made = told("report", finished / "out.csv", "-p", finished / "policy.toml", "-o", page)
    assert made["private"] is False
    assert page.stat().st_size > 1000


def test_a_distribution_that_was_changed_is_noticed(finished: Path, tmp_path: Path) -> None:
    """A likelihood of another release, of another map, or no likelihood at all, is an error."""
    rows = ledger_of(finished / "out.csv").read_text().splitlines()
    told_most = next(row for row in rows[1:] if float(row.split(",")[6]) > 0.1)
    place = rows.index(told_most)
    cut, _, likelihood = told_most.rpartition(",")
    other = [0.5] * GRID.size
    other[0] = 1.0
    for text, complaint in (
        (changed(other), "was changed"),
        (changed([0.5, 1.0]), "another policy"),
        (changed([2.0] * GRID.size), "probabilities"),
        ("no vector", "probabilities"),
    ):
        assert text != likelihood
        forged = tmp_path / "forged.csv"
        forged.write_text("\n".join([*rows[:place], f"{cut},{text}", *rows[place + 1 :]]) + "\n")
        complained = told("audit", forged, "-p", finished / "policy.toml", code=2)
        assert complaint in " ".join(complained.replace("│", " ").split())


def changed(column: list[float]) -> str:
    """Return a column as a ledger holds it."""
    return base64.b64encode(struct.pack(f"<{len(column)}d", *column)).decode()
