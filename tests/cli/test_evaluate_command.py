"""``priste evaluate``, run as people run it."""

import json
from pathlib import Path

import pytest
from tests.cli.small_world import write_policy, write_trips
from typer.testing import CliRunner

from priste.cli.application import app

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run of three users."""
    folder = tmp_path_factory.mktemp("evaluated")
    write_policy(folder)
    write_trips(folder)
    ran = CliRunner().invoke(
        app,
        ["protect", str(folder / "trips.csv"), "-p", str(folder / "policy.toml"),
         "-o", str(folder / "out.csv"), "--seed", "4"],
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    return folder


def evaluated(folder: Path, released: Path, *more: str) -> str:
    done = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(
        app,
        ["evaluate", str(released), "--truth", str(folder / "trips.csv"),
         "-p", str(folder / "policy.toml"), *more],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_truth_is_worth_everything(finished: Path) -> None:
    """The input evaluated as if it had been released: distance 0, every measure at its best."""
    found = json.loads(evaluated(finished, finished / "trips.csv", "--json"))
    way = found["released"]
    assert (way["distance"]["mean"], way["exact"], way["density"]) == (0.0, 1.0, 0.0)
    assert (found["coverage"], found["users_left_out"]) == (1.0, 0)


def test_releases_stand_between_the_truth_and_a_constant(finished: Path) -> None:
    """The three ways have the same lines, in words and in JSON; every key is documented."""
    words = evaluated(finished, finished / "out.csv")
    assert "hotspot NDCG@10" in words
    assert "constant" in words
    assert "from the true fix" in words
    found = json.loads(evaluated(finished, finished / "out.csv", "--json"))
    page = (ROOT / "docs" / "how-to" / "evaluate.md").read_text() + (
        ROOT / "docs" / "reference" / "json.md"
    ).read_text()
    assert set(found["released"]) == set(found["uncalibrated"]) == set(found["constant"])
    for key in (*found, *found["released"], *found["released"]["distance"]):
        assert f"`{key}`" in page or f'"{key}"' in page, key
    # Drawn anew from the same seed, the uncalibrated mechanism is the same.
    again = json.loads(evaluated(finished, finished / "out.csv", "--json"))
    assert again == found
