"""``python -m paper`` on the command line."""

import json
from pathlib import Path

import pytest
from paper import reproduction
from paper.__main__ import app
from paper.catalogue import CATALOGUE
from paper.experiments import experiment as sizes
from typer.testing import CliRunner

from priste.cli.console import REFUSED

RUNNER = CliRunner()
NAME = "fig-budget-presence-early"


def test_the_list_names_every_experiment() -> None:
    """The names that can be asked for are listed, for people and for programs."""
    shown = RUNNER.invoke(app, ["--list"])
    assert shown.exit_code == 0
    assert all(name in shown.output for name in CATALOGUE)
    told = json.loads(RUNNER.invoke(app, ["--list", "--json"]).stdout)
    assert list(told) == list(CATALOGUE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fig-nowhere"], "fig-nowhere"),
        ([], "None was named"),
        ([NAME, "--calibrator", "magic"], "magic"),
        ([NAME, "--calibrator", "certified=0"], "certified=0"),
    ],
)
def test_mistakes_are_named(words: list[str], said: str, tmp_path: Path) -> None:
    """An unknown experiment or calibrator is refused before anything is run or written."""
    done = RUNNER.invoke(app, [*words, "--output", str(tmp_path / "out")])
    assert done.exit_code == REFUSED
    assert said in done.output
    assert not (tmp_path / "out").exists()


def test_one_experiment_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small run writes its files and its page, and tells the verdicts."""
    monkeypatch.setitem(sizes._SIZES, "quick", {**sizes._SIZES["tiny"], "steps": 9})
    words = [NAME, "--quick", "--runs", "2", "--calibrator", "certified=1"]
    words += ["--workers", "1", "--seed", "3", "--output", str(tmp_path / "out")]
    done = RUNNER.invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    made = json.loads(done.stdout)
    assert Path(made["index"]).is_file()
    (experiment,) = made["made"]
    assert experiment["name"] == NAME
    account = json.loads((tmp_path / "out" / NAME / "settings.json").read_text())
    assert account["command"] == (
        f"python -m paper {NAME} --quick --runs 2 --calibrator certified=1 --seed 3"
    )
    assert account["settings"]["runs_with"] == {"certified": 1}
    # Once more in words; its pictures are there, and drawing takes longest.
    monkeypatch.setattr(reproduction, "write_outcome", lambda *_: None)
    shown = RUNNER.invoke(app, words)
    assert "Budgets dip" in shown.output
    assert "index.html" in shown.output
