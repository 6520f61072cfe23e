"""Forecasts of policies: their neighbours, what they promise, and the command."""

import json
from pathlib import Path

import pytest
from tests.cli.small_world import write_policy
from typer.testing import CliRunner

from priste.cli.application import app
from priste.errors import InvalidParameter
from priste.forecast import forecast, suggest
from priste.forecast.neighbours import neighbours_of, setting_of
from priste.forecast.policy_cost import simulated_steps
from priste.policy import Policy, load_policy
from priste.quantify import AnyStart, Belief, Odds


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small policy."""
    made = tmp_path_factory.mktemp("forecast")
    write_policy(made)
    return made


@pytest.fixture(scope="module")
def policy(folder: Path) -> Policy:
    """Return the small policy."""
    return load_policy(folder / "policy.toml")


def test_neighbours_differ_in_one_thing(policy: Policy) -> None:
    """Each neighbour keeps all of the policy but the promises, or but the observer."""
    here = setting_of(policy)
    listed = list(neighbours_of(policy))
    assert listed[0].name == "as it is"
    assert listed[0].setting.promises == here.promises
    for each in listed[1:]:
        same_promises = each.setting.promises == here.promises
        same_observer = each.setting.observer == here.observer
        assert same_promises != same_observer, each.name
        assert "against" in each.promise
    names = [each.name for each in listed]
    assert len(names) == len(set(names))
    assert {"ε halved", "ε doubled", "upwards only"} <= set(names)


def test_a_belief_is_only_offered_where_it_can_be_kept(policy: Policy) -> None:
    """Against anybody somebody is surer than the cap from the start, or nobody is: both are so."""
    capped = [each for each in neighbours_of(policy) if each.name == "belief capped"]
    assert isinstance(setting_of(policy).observer, AnyStart)
    for each in capped:
        assert all(isinstance(p, Belief) for p in each.setting.promises.values())


def test_the_same_seed_gives_the_same_forecast(policy: Policy) -> None:
    """A forecast is a function of the policy and the seed, and stays within the promise."""
    one, two = (forecast(policy, runs=2, seed=5, neighbours=False) for _ in range(2))
    assert one == two
    (row,) = one.rows
    for name, event in policy.events.items():
        promise = event.promise
        assert isinstance(promise, Odds)
        assert row.cost.leakage[name] <= promise.up


def test_suggestions_cost_at_most_what_was_asked(policy: Policy) -> None:
    """The suggested promise is within the wish; an impossible wish has no answer."""
    row = suggest(policy, 1e6, runs=2)
    assert row is not None
    assert row.name == "ε = 0.1"
    assert suggest(policy, 1e-6, runs=2, steps=2) is None
    with pytest.raises(InvalidParameter, match="must be > 0"):
        suggest(policy, 0.0)


def test_steps_are_those_of_the_clock(policy: Policy) -> None:
    """More steps than the clock has are refused."""
    assert simulated_steps(policy, 3) == 3
    assert 1 <= simulated_steps(policy) <= policy.steps
    with pytest.raises(InvalidParameter, match=f"1 to {policy.steps}"):
        simulated_steps(policy, policy.steps + 1)


def test_the_command_in_words_and_in_json(folder: Path) -> None:
    """The table names the settings; JSON has the same rows with intervals."""
    runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"})
    base = ["forecast", str(folder / "policy.toml"), "--runs", "2", "--steps", "3"]
    words = runner.invoke(app, base)
    assert words.exit_code == 0, words.output
    assert "one constant cell" in " ".join(words.stdout.split())
    assert "as it is" in words.stdout
    found = json.loads(runner.invoke(app, [*base, "--json"]).stdout)
    first = found["settings"][0]
    assert first["name"] == "as it is"
    assert first["cost"]["released"]["all"]["low"] <= first["cost"]["released"]["all"]["value"]
    asked = json.loads(runner.invoke(app, [*base, "--at-most", "1000000", "--json"]).stdout)
    assert asked["setting"]["name"] == "ε = 0.1"
