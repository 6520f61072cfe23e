"""``priste audit --procedure``: its table, its JSON and its exit codes."""

import json

import pytest
from tests.cli.small_world import POLICY, write_policy
from typer.testing import CliRunner

from priste.cli.application import app


def priste(*arguments, code=0):
    result = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"}).invoke(
        app, [str(a) for a in arguments]
    )
    assert result.exit_code == code, result.output
    return result


def test_one_step_is_enumerated(tmp_path) -> None:
    """One step of a small map is exact for both adversaries, and the policy keeps its claim."""
    policy = write_policy(tmp_path, POLICY)
    found = json.loads(priste("audit", "--procedure", "-p", policy, "--steps", 1, "--json").stdout)
    assert found["verdict"] == "kept"
    assert found["steps"] == 1
    assert {row["calibrator"] for row in found["rows"]} == {"policy", "paper", "certified"}
    assert {row["method"] for row in found["rows"]} == {"all sequences"}
    assert {row["sees"] for row in found["rows"]} == {"outputs", "budgets"}
    for row in found["rows"]:
        if row["calibrator"] != "paper":
            assert row["kept"]
            assert row["true"] <= row["claimed"] + 1e-8


def test_longer_streams_are_sampled_and_repeat(tmp_path) -> None:
    """Several steps are sampled; a seed repeats them; the words name the paper's excess."""
    policy = write_policy(tmp_path, POLICY)
    where = ("audit", "--procedure", "-p", policy, "--steps", 6, "--runs", 3, "--seed", 1)
    first = priste(*where, "--json").stdout
    assert first == priste(*where, "--json").stdout
    rows = json.loads(first)["rows"]
    assert {row["method"] for row in rows} == {"sampled runs"}
    assert any(not row["kept"] for row in rows if row["calibrator"] == "paper")
    words = priste(*where).stdout
    assert "first 6 of 12 steps" in words
    assert "sampled streams" in words


def test_a_policy_with_the_papers_loop_guarantees_nothing(tmp_path) -> None:
    """A policy that chooses the paper's loop claims nothing: exit code 3."""
    policy = write_policy(
        tmp_path, POLICY.replace("pace = 0.3", 'calibrator = "paper"\nno_guarantee = true')
    )
    where = ("audit", "--procedure", "-p", policy, "--steps", 6, "--runs", 3, "--seed", 1)
    assert json.loads(priste(*where, "--json", code=3).stdout)["verdict"] == "not guaranteed"


@pytest.mark.parametrize("arguments", [(), ("trips.csv", "--procedure")])
def test_a_file_or_the_procedure(tmp_path, arguments) -> None:
    """Neither or both of a released file and --procedure is an error."""
    policy = write_policy(tmp_path, POLICY)
    assert "--procedure" in priste("audit", *arguments, "-p", policy, code=2).stderr
