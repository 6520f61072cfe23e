"""Forecasts of policies: their neighbours, what they guarantee, and the command."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.small_world import GRID, POLICY, write_policy, write_trips
from tests.live.small_town import POLICY as TOWN
from tests.live.small_town import TOGETHER, WHICH
from typer.testing import CliRunner

from priste.audit.estimates import Estimate
from priste.cli.application import app
from priste.errors import InvalidParameter, OutputExists
from priste.events import near_events
from priste.forecast import (
    Row,
    forecast,
    model_costs,
    quick_forecast,
    refined_forecast,
    suggest,
)
from priste.forecast.neighbours import neighbours_of
from priste.forecast.picture import forecast_page, groups_of, save_forecast
from priste.forecast.policy_cost import followed_steps, unbroken_steps
from priste.forecast.simulation import DENSE_SPREAD
from priste.forecast.suggestion import LADDER, MOST_TRIED, _strongest
from priste.policy import Policy, load_policy, read_policy
from priste.quantify import AnyPrior, BeliefBound, OddsBound
from priste.traces import Fix, Trace


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
    """Each neighbour keeps all of the policy but the guarantees, or but the adversary."""

    def guarantees(of: Policy) -> list[Any]:
        return [event.guarantee for event in of.events.values()]

    listed = list(neighbours_of(policy))
    assert listed[0].name == "as it is"
    assert listed[0].policy is policy
    for each in listed[1:]:
        same_guarantees = guarantees(each.policy) == guarantees(policy)
        adversary = each.policy.chosen_adversary.adversary
        same_adversary = adversary == policy.chosen_adversary.adversary
        same_pace = each.every == 1
        assert [same_guarantees, same_adversary, same_pace].count(False) == 1, each.name
        assert "against" in each.guarantee
    names = [each.name for each in listed]
    assert len(names) == len(set(names))
    assert {"ε halved", "ε doubled", "upwards only", "half as often"} <= set(names)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (TOGETHER, "health: the odds between any two of its 4 answers"),
        (TOWN + WHICH, "visit, which"),
    ],
)
def test_a_forecast_takes_secrets_and_names_them(text: str, named: str) -> None:
    """Every setting of a policy with a secret is forecast within its guarantee, under its name."""
    policy = read_policy(text)
    found = forecast(policy, runs=2, steps=8)
    settings = {each.name: each.policy for each in neighbours_of(policy)}
    assert [row.name for row in found.rows] == list(settings)
    for row in found.rows:
        events = settings[row.name].events
        assert row.cost.leakage.keys() == events.keys()
        for name, event in events.items():
            assert row.cost.leakage[name] <= event.guarantee.up + 1e-8
        assert row.cost.released.all.value > 0
    assert named in found.rows[0].guarantee


def test_a_belief_is_only_offered_where_it_can_be_kept(policy: Policy) -> None:
    """Against anybody somebody is surer than the cap from the start, or nobody is: both are so."""
    capped = [each for each in neighbours_of(policy) if each.name == "belief capped"]
    assert isinstance(policy.chosen_adversary.adversary, AnyPrior)
    for each in capped:
        assert all(isinstance(e.guarantee, BeliefBound) for e in each.policy.events.values())


def test_the_same_seed_gives_the_same_forecast(policy: Policy) -> None:
    """A forecast is a function of the policy and the seed, and stays within the guarantee."""
    one, two = (forecast(policy, runs=2, seed=5, neighbours=False) for _ in range(2))
    assert one == two
    (row,) = one.rows
    for name, event in policy.events.items():
        guarantee = event.guarantee
        assert isinstance(guarantee, OddsBound)
        assert row.cost.leakage[name] <= guarantee.up


def test_a_quick_forecast_is_the_first_row_and_can_be_cancelled(policy: Policy) -> None:
    """The quick form agrees with the long one; what progress raises passes through at once."""
    row = quick_forecast(policy, seconds=None, runs=2, seed=5)
    assert row == forecast(policy, runs=2, seed=5, neighbours=False).rows[0]
    assert "one constant point" in row.sentence()
    assert "in 80 of 100 cases between" in row.sentence()
    assert str(row.cost.steps) in row.basis()
    hurried = quick_forecast(policy, seconds=0.0, runs=2, seed=5)
    assert hurried.cost.steps == 1
    assert "the time was over" in hurried.basis()
    calls = []

    def enough(done: int, total: int) -> None:
        calls.append((done, total))
        raise StopAsking

    with pytest.raises(StopAsking):
        quick_forecast(policy, runs=2, on_progress=enough)
    assert calls == [(1, 2 * row.cost.of_steps)]


def test_a_refined_forecast_grows_and_can_be_cancelled(policy: Policy) -> None:
    """Each row is the quick forecast of so many streams; releases are counted."""
    tried: list[tuple[int, int]] = []
    rows = list(
        refined_forecast(
            policy,
            runs=5,
            seconds=600.0,
            seed=5,
            on_trial=lambda *t: tried.append(t),
        )
    )
    assert [row.cost.runs for row in rows] == [2, 4, 5]
    for row in (rows[0], rows[-1]):
        runs = row.cost.runs
        assert row == quick_forecast(policy, seconds=None, runs=runs, seed=5)
    cost = rows[-1].cost
    beyond = cost.beyond_constant
    assert beyond.low < cost.released.all.value - cost.constant.all.value < beyond.high
    total = 2 * rows[0].cost.of_steps
    assert [done for done, _ in tried[:total]] == list(range(1, total + 1))
    assert {of for _, of in tried} == {total}

    # Without time there is one row all the same, from two streams that end after their first step.
    (hurried,) = refined_forecast(policy, seconds=0.0, first_seconds=0.0, seed=5)
    assert (hurried.cost.runs, hurried.cost.steps) == (2, 1)

    def enough(*_: object) -> None:
        raise StopAsking

    with pytest.raises(StopAsking):
        next(refined_forecast(policy, on_trial=enough))


def test_a_refined_forecast_ends_with_what_each_model_costs(folder: Path) -> None:
    """After the policy comes each setting without a model; one model has nothing to say."""
    two = POLICY.replace("sigma = 1.0", 'sigma = 1.0\nfamily = ["wide"]')
    rows = list(refined_forecast(read_policy(two, folder=folder), runs=4, seconds=600.0, seed=5))
    assert [row.without for row in rows] == [None, None, "wide"]
    (said,) = model_costs(rows[1:])
    assert said.startswith("Guarding also against an adversary who takes people to move farther")
    assert model_costs(rows[1:2]) == []


class StopAsking(Exception):
    """The user went away."""


def test_neighbours_end_where_the_policy_itself_ended(policy: Policy) -> None:
    """With little time all rows are about the same steps, every second of them for one."""
    rows = forecast(policy, runs=2, seconds=0.0).rows
    assert {row.cost.steps for row in rows} == {1}
    whole = forecast(policy, runs=2, steps=4).rows
    assert [row.cost.steps for row in whole] == [4] * (len(whole) - 1) + [2]


def test_suggestions_cost_at_most_what_was_asked(policy: Policy) -> None:
    """Each suggested guarantee is within the wish; an impossible wish has no answer."""
    found = suggest(policy, 1e6, runs=2, steps=2)
    assert found.rows[0].name == "ε = 0.1"
    assert {row.name for row in found.rows} == {"ε = 0.1", "ε = 0.1, upwards only"}
    assert suggest(policy, 1e-6, runs=2, steps=2).rows == ()
    for where in ("near", "everywhere"):
        within = suggest(policy, 900.0, where=where, runs=2, steps=3)  # type: ignore[arg-type]
        for row in within.rows:
            released = row.cost.released
            chosen = {"far": released.far, "near": released.near, "everywhere": released.all}[where]
            assert (chosen or released.all).value <= 900.0
    with pytest.raises(InvalidParameter, match="must be > 0"):
        suggest(policy, 0.0)
    with pytest.raises(InvalidParameter, match="far, near, everywhere"):
        suggest(policy, 1.0, where="there")  # type: ignore[arg-type]


@pytest.mark.parametrize("cheap_from", range(len(LADDER) + 1))
def test_halving_finds_the_first_rung_that_is_cheap_enough(cheap_from: int) -> None:
    """Compared with trying every rung, wherever the costs cross; few rungs are tried."""
    tried = []

    def cost_at(epsilon: float) -> Any:
        tried.append(epsilon)
        return LADDER.index(epsilon)

    found = _strongest(cost_at, lambda rung: rung >= cheap_from)  # type: ignore[operator]
    assert found == (cheap_from if cheap_from < len(LADDER) else None)
    assert len(tried) <= MOST_TRIED


def test_steps_are_those_of_the_clock(policy: Policy) -> None:
    """The first so many, more than the clock has are refused; a short clock is followed whole."""
    whole = np.ones(policy.steps, dtype=np.bool_)
    followed, events = followed_steps(policy, whole, 3)
    assert followed.tolist() == [True] * 3 + [False] * (policy.steps - 3)
    assert [event.name for event in events] == list(policy.document.events)
    assert followed_steps(policy, whole)[0].all()
    with pytest.raises(InvalidParameter, match=f"1 to {policy.steps}"):
        followed_steps(policy, whole, policy.steps + 1)


def test_of_a_long_clock_the_first_occurrence_and_stretches_far_from_it_are_followed() -> None:
    """Four weeks of hours with a weekly event: its near steps, and some of all weeks."""
    text = POLICY.replace("steps = 12", "steps = 672").partition("[events.homecoming]")[0]
    text = text.replace("05:00-08:00", "wed 05:00-08:00")
    weekly = read_policy(f"{text}every = 'week'\n")
    assert len(weekly.events) == 4
    followed, events = followed_steps(weekly, np.ones(672, dtype=np.bool_))
    assert [event.label for event in events] == [next(iter(weekly.events))]
    steps = followed.nonzero()[0]
    assert 80 <= len(steps) <= 100
    first = [step for step in steps if step < 24]  # the clock begins on a Wednesday
    assert set(range(8 + 6)) <= set(first)
    assert {int(step) // 168 for step in steps} == {0, 1, 2, 3}
    near = near_events(672, [each.event for each in weekly.events.values()], 6)
    assert not near[steps[steps > 24]].any()  # later occurrences cost the same


def test_a_dense_trace_is_followed_without_a_break() -> None:
    """Two weeks of a fix each hour: from near an event on, step after step, the near ones fewer."""
    text = POLICY.replace("steps = 12", "steps = 336").partition("[events.homecoming]")[0]
    weekly = read_policy(text.replace("05:00-08:00", "wed 05:00-08:00") + "every = 'week'\n")
    near = near_events(336, [each.event for each in weekly.events.values()], 6)
    released = np.ones(336, dtype=np.bool_)
    released[40:50] = False
    begins = []
    for run in range(3):
        steps = unbroken_steps(weekly, released, 24, run).nonzero()[0]
        assert len(steps) == 24
        assert not set(range(40, 50)) & set(steps.tolist())
        assert 4 <= near[steps].sum() <= 8
        far = steps[~near[steps]]
        between = released[far[0] : far[-1] + 1].sum()
        assert between == len(far)
        begins.append(int(steps[0]))
    assert begins == [0, 167, 0]  # six hours before 05:00 on the two Wednesdays, or the first step
    line = weekly.timeline
    at = [GRID.latlon(0 if hour % 24 < 12 else 5) for hour in range(336)]
    fixes = [Fix("ada", line.middle_of(hour), *place) for hour, place in enumerate(at)]
    row = forecast(weekly, trace=Trace.of(fixes), runs=4, releases=12, neighbours=False).rows[0]
    assert (row.cost.runs, row.cost.steps) == (2, 24)
    found = row.cost.released.all
    least = 2 * 1.28 * DENSE_SPREAD * (1 - row.share)  # of normal errors
    assert math.log(found.high / found.low) > least > 0


def test_the_command_in_words_and_in_json(folder: Path) -> None:
    """The table names the settings; JSON has the same rows with intervals."""
    runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"})
    base = ["forecast", str(folder / "policy.toml"), "--runs", "2", "--steps", "3"]
    words = runner.invoke(app, base)
    assert words.exit_code == 0, words.output
    assert "one constant point" in " ".join(words.stdout.split())
    assert "as it is" in words.stdout
    found = json.loads(runner.invoke(app, [*base, "--json"]).stdout)
    first = found["settings"][0]
    assert first["name"] == "as it is"
    assert first["cost"]["released"]["all"]["low"] <= first["cost"]["released"]["all"]["value"]
    asked = json.loads(runner.invoke(app, [*base, "--at-most", "1000000", "--json"]).stdout)
    assert asked["settings"][0]["name"] == "ε = 0.1"
    told = runner.invoke(app, [*base, "--at-most", "1000000", "--where", "everywhere"])
    assert "strongest guarantees" in " ".join(told.stdout.split())
    none = runner.invoke(app, [*base, "--at-most", "0.001"])
    assert "No guarantee that was tried" in " ".join(none.stdout.split())


@pytest.fixture(scope="module")
def rows(policy: Policy) -> tuple[Row, ...]:
    """Return a short forecast."""
    return forecast(policy, runs=2, steps=8).rows


def test_the_picture_tells_the_figures(rows: tuple[Row, ...]) -> None:
    """Each bar is as long as its mean, its line as its interval; both comparisons come first."""
    groups = groups_of(rows)
    first = rows[0].cost
    ways = [first.uncalibrated, first.constant, *(row.cost.released for row in rows)]
    names = [group.name for group in groups]
    assert names[:3] == ["uncalibrated", "constant point", "as it is"]
    scales = []
    for group, way in zip(groups, ways, strict=True):
        kinds = {"everywhere": way.all} if way.far is None else {"far": way.far, "near": way.near}
        assert [bar.name for bar in group.bars] == list(kinds)
        for bar, each in zip(group.bars, kinds.values(), strict=True):
            assert each is not None
            assert 0 <= bar.low <= bar.width <= bar.high <= 100
            if bar.width > 1:
                scales.append(each.value / bar.width)
    assert max(scales) == pytest.approx(min(scales), rel=0.02)  # one scale for all


def test_pictures_are_files_by_their_suffix(rows: tuple[Row, ...], tmp_path: Path) -> None:
    """A page and pictures; the same forecast gives the same bytes; nothing is replaced unasked."""
    page = save_forecast(rows, tmp_path / "cost.html").read_text(encoding="utf-8")
    assert page == forecast_page(rows)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert rows[0].sentence() in page
    for kind, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        one, two = (save_forecast(rows, tmp_path / f"{name}.{kind}") for name in "ab")
        assert one.read_bytes().startswith(magic)
        assert one.read_bytes() == two.read_bytes()
    with pytest.raises(OutputExists):
        save_forecast(rows, tmp_path / "cost.html")
    with pytest.raises(InvalidParameter, match=r"\.html, \.png"):
        save_forecast(rows, tmp_path / "cost.bmp")


def test_the_command_draws_and_explain_tells_in_short(folder: Path) -> None:
    """--plot writes the page; explain ends with a sentence, unless it is told not to."""
    runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"})
    policy = str(folder / "policy.toml")
    page = folder / "cost.html"
    asked = ["forecast", policy, "--runs", "2", "--steps", "2", "--no-neighbours", "--plot"]
    assert runner.invoke(app, [*asked, str(page)]).exit_code == 0
    assert "In a sentence" in page.read_text(encoding="utf-8")
    assert runner.invoke(app, [*asked, str(page)]).exit_code == 2
    told = json.loads(runner.invoke(app, ["explain", policy, "--json"]).stdout)
    assert told["cost"][0].startswith("Expect a mean error")
    assert "priste forecast" in told["cost"][1]
    quiet = runner.invoke(app, ["explain", policy, "--no-forecast", "--json"])
    assert json.loads(quiet.stdout)["cost"] == []


def test_events_whose_names_look_like_periods_are_all_followed() -> None:
    """Two events are two events, also where a comma makes their names look like one that recurs."""
    text = POLICY[: POLICY.index("[events.visit]")].replace("steps = 12", "steps = 60")
    text += "[events.\"visit, am\"]\nformula = 'presence(clinic, 2..3)'\n"
    text += "[events.\"visit, pm\"]\nformula = 'presence(clinic, 55..56)'\n"
    policy = read_policy(text)
    followed, events = followed_steps(policy, np.ones(60, dtype=np.bool_), most=40)
    assert [event.name for event in events] == ["visit, am", "visit, pm"]
    assert followed[:10].sum() >= 4
    assert followed[50:].sum() >= 4


def test_ctrl_c_keeps_what_was_simulated(policy: Policy) -> None:
    """Two streams that are done make a row; before that, the interrupt goes on."""

    def after(steps: int) -> Any:
        def stop(done: int, total: int) -> None:
            if done > steps:
                raise KeyboardInterrupt

        return stop

    whole = forecast(policy, runs=4, neighbours=False, steps=3)
    assert whole.complete
    cut = forecast(policy, runs=4, neighbours=False, steps=3, on_progress=after(7))
    assert not cut.complete
    assert [row.cost.runs for row in cut.rows] == [2]
    later = forecast(policy, runs=2, steps=3, on_progress=after(7))
    assert [row.name for row in later.rows] == ["as it is"]
    with pytest.raises(KeyboardInterrupt):
        forecast(policy, runs=4, neighbours=False, steps=3, on_progress=after(2))


def test_a_forecast_on_an_opened_trace_is_marked_private(folder: Path) -> None:
    """It follows the steps of the trace, and says that its figures are the user's own."""
    trips = write_trips(folder, ("ada",))
    visit = folder / "visit.toml"
    visit.write_text(POLICY.partition("[events.homecoming]")[0], encoding="utf-8")
    runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"})
    asked = ["--runs", "2", "--no-neighbours", "--trace", str(trips)]
    words = " ".join(runner.invoke(app, ["forecast", str(visit), *asked]).stdout.split())
    assert "on the opened trace without its guarded hours: keep them to yourself" in words
    assert "12 releases" in words
    refused = runner.invoke(app, ["forecast", str(folder / "policy.toml"), *asked])
    assert refused.exit_code == 2  # the two events guard all of the clock
    assert "Forecast without it" in " ".join(refused.stderr.split()).replace(" │ │ ", " ")


def test_where_a_constant_does_as_well_that_is_said(rows: tuple[Row, ...]) -> None:
    """Near the events or everywhere, plainly; and not where releases are nearer."""
    cost = rows[0].cost
    near, everywhere = cost.constant.near, cost.constant.all
    assert near is not None
    for near_factor, factor, said in (
        (1.0, 0.5, "Near the events a constant point would do as well."),
        (0.5, 0.5, None),
        (0.5, 1.0, "A constant point would do as well or better."),
        (2.0, 2.0, "A constant point would do as well or better."),
    ):
        told = replace(
            cost.released,
            near=Estimate(near.value * near_factor, 0.0, 1e6),
            all=Estimate(everywhere.value * factor, 0.0, 1e6),
        )
        words = replace(rows[0], cost=replace(cost, released=told)).sentence()
        found = [each for each in words.split(". ") if "constant point would" in each]
        assert found == ([] if said is None else [said.rstrip(".")])
