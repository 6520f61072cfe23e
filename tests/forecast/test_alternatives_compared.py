"""priste beside what people use in its place: the figures, the page and the command."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.small_world import EPSILON, GRID, PATHS, QUICK, START
from tests.real_browser import browser
from typer.testing import CliRunner

from priste.cli.application import app
from priste.errors import InvalidParameter
from priste.forecast.alternatives_at_work import (
    DEFAULT,
    KINDS,
    Released,
    alternatives_of,
    with_priste,
)
from priste.forecast.alternatives_compared import Comparison, _beliefs, compare
from priste.forecast.alternatives_page import comparison_page, lines_of, shown_columns
from priste.policy import Policy, load_policy
from priste.randomness import bit_source
from priste.results import TrueSteps
from priste.traces import Fix, Trace, write_traces

ROUNDING = 1e-9
"""How far beliefs of two implementations may differ."""

ONE_EVENT = QUICK[: QUICK.index("[events.homecoming]")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a policy about one event, and two traces of ada."""
    made = tmp_path_factory.mktemp("compare")
    (made / "policy.toml").write_text(ONE_EVENT)
    write_traces([ada(PATHS["ada"])], made / "ada.csv")
    # Differs from 05:00 to 08:00 only, which is what the event speaks of.
    other = [*PATHS["ada"][:5], 4, 4, 4, *PATHS["ada"][8:]]
    write_traces([ada(other)], made / "other.csv")
    return made


def ada(cells: list[int]) -> Trace:
    """Return a trace with one fix in the middle of each hour, near the centre of the cell."""
    fixes = []
    for hour, cell in enumerate(cells):
        lat, lon = GRID.latlon(cell)
        time = START.replace(hour=hour, minute=30)
        fixes.append(Fix("ada", time, lat + 0.001, lon - 0.0005))
    return Trace.of(fixes)


@pytest.fixture(scope="module")
def policy(folder: Path) -> Policy:
    """Return the policy."""
    return load_policy(folder / "policy.toml")


@pytest.fixture(scope="module")
def found(policy: Policy) -> Comparison:
    """Return priste beside everything else, on four streams."""
    return compare(policy, streams=4)


def person(policy: Policy, name: str = "ada") -> TrueSteps:
    return TrueSteps.of_cells(policy.grid, PATHS[name])


def released(policy: Policy, name: str, who: str = "ada") -> Released:
    steps = np.ones(policy.steps, dtype=np.bool_)
    way = with_priste(policy) if name == "priste" else alternatives_of(policy, [name])[0]
    return way.release(person(policy, who), steps, bit_source(7))


def belief(policy: Policy, likelihoods: list[np.ndarray | None]) -> float:
    """Return Pr(visit | releases) by two forward passes: of all paths, and without the clinic."""
    event = policy.events["visit"].event
    steps = {layer.step for layer in event.automaton().layers}
    clinic = list(policy.regions["clinic"].cells)
    matrix = policy.model.transition(0).toarray()
    masses = []
    for avoiding in (False, True):
        mass = policy.population.copy()
        for step in range(max(len(likelihoods), max(steps) + 1)):
            likelihood = likelihoods[step] if step < len(likelihoods) else None
            if step:
                told = matrix if likelihood is None or likelihood.ndim == 1 else matrix * likelihood
                mass = mass @ told
            if likelihood is not None and likelihood.ndim == 1:
                mass = mass * likelihood
            if avoiding and step in steps:
                mass[clinic] = 0.0
        masses.append(mass.sum())
    return 1.0 - masses[1] / masses[0]


@pytest.mark.parametrize("name", ["priste", *DEFAULT])
def test_beliefs_are_those_of_a_forward_pass(policy: Policy, name: str) -> None:
    """Before and after each way to release, the belief is that of an independent forward pass."""
    stream = released(policy, name)
    before, after = _beliefs(policy, policy.events["visit"], stream)
    assert abs(before - belief(policy, [])) < ROUNDING
    assert abs(after - belief(policy, list(stream.likelihoods))) < ROUNDING


def test_priste_keeps_its_guarantee_and_the_truth_does_not(found: Comparison) -> None:
    """Priste stays within ε, a constant point and silence tell nothing, and the truth tells all."""
    ways = {way.name: way for way in found.ways}
    assert list(ways) == ["priste", *DEFAULT]
    assert ways["priste"].kept
    assert ways["priste"].leakage <= ways["priste"].events["visit"].epsilon + ROUNDING
    for name in ("constant", "off"):
        assert ways[name].leakage < ROUNDING
        assert math.isclose(ways[name].events["visit"].before, ways[name].events["visit"].after)
    assert ways["exact"].leakage == math.inf
    assert ways["exact"].events["visit"].after > 1 - ROUNDING
    assert ways["exact"].events["visit"].after_not < ROUNDING
    assert ways["exact"].error < 1000 * GRID.cell_size
    assert ways["off"].silent == 1.0
    assert math.isnan(ways["off"].error)
    assert ways["delay"].leakage == ways["exact"].leakage
    tried = sum(way.kept for way in found.ways)
    assert found.sentence().startswith(f"{tried} of {len(found.ways)} ways")
    for way in found.ways:
        figures = way.events["visit"]
        # each adversary of the policy is one of any prior
        assert figures.reached.leakage <= figures.any_prior.leakage + ROUNDING
        assert figures.own_history is None


def test_a_delay_tells_the_same_later(policy: Policy) -> None:
    """A delayed stream has the likelihoods of the truth, also of what comes after its end."""
    now, late = released(policy, "exact"), released(policy, "delay:120")
    assert np.array_equal(now.likelihoods, late.likelihoods)
    assert np.array_equal(now.points[:-2], late.points[2:])
    assert np.isnan(late.points[:2]).all()


def test_each_guarantee_is_judged_by_its_own_bounds(folder: Path) -> None:
    """A cap on beliefs, or a smaller bound upwards, is broken by the truth and kept by priste."""
    for name, bounds in {
        "belief": "belief_at_most = 0.6",
        "upwards": "odds_up = 0.5\nodds_down = 9.0",
    }.items():
        (folder / f"{name}.toml").write_text(ONE_EVENT.replace(f"epsilon = {EPSILON}", bounds))
        found = compare(load_policy(folder / f"{name}.toml"), ["exact", "coarse:2", "laplace"])
        ways = {way.name: way for way in found.ways}
        assert ways["priste"].kept
        for way in found.ways:
            most, guarantee = way.events["visit"].reached, found.guarded[0]
            if name == "belief":
                assert way.kept == (most.belief <= 0.6 + ROUNDING)
                assert "60 % sure" in guarantee
            else:
                assert way.kept == (most.towards <= 0.5 + ROUNDING and most.leakage <= 9 + ROUNDING)
        assert not all(way.kept for way in found.ways)
        assert ("sure" in shown_columns(found)) == (name == "belief")


def test_sampling_and_hours_off_are_silent_by_the_clock(policy: Policy) -> None:
    """Which steps are silent does not depend on the person."""
    for name in ("sampling:3", "hours-off", "delay:60", "constant", "off"):
        silent = [
            [likelihood is None for likelihood in released(policy, name, who).likelihoods]
            for who in ("ada", "ben")
        ]
        assert silent[0] == silent[1]
    shown = [like is not None for like in released(policy, "sampling:3").likelihoods]
    assert shown == [step % 3 == 0 for step in range(policy.steps)]


def test_numbers_and_names_of_alternatives(policy: Policy) -> None:
    """A kind may take a number; unknown kinds and numbers are refused with the kinds there are."""
    assert len(alternatives_of(policy, ["coarse:2", "zones:1", "laplace:3", "pglp:2"])) == 4
    assert {name.partition(":")[0] for name in DEFAULT} == set(KINDS)
    for wrong in ("fog", "coarse:big", "off:3", "coarse:-1"):
        with pytest.raises(InvalidParameter):
            alternatives_of(policy, [wrong])


def test_the_page_says_what_was_found(found: Comparison) -> None:
    """Every way and its odds are on the page, which asks nothing of the network."""
    page = comparison_page(found)
    assert found.sentence().replace("'", "&#39;") in page
    assert found.guarded[0].split('"')[0] in page
    for line in lines_of(found):
        assert all(line.cells[column] in page for column in shown_columns(found))
    assert "http" not in page.replace("http-equiv", "")


def test_the_page_is_one_sheet_of_paper(found: Comparison) -> None:
    """All ways are printed on one sheet."""
    with browser() as opened:
        sheet = opened.new_page()
        sheet.set_content(comparison_page(found))
        printed = sheet.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", printed)) == 1


def run(folder: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["compare", str(folder / "policy.toml"), *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_shows_a_table_and_draws(folder: Path) -> None:
    """The command prints a table, and writes a page and a picture."""
    plots = [folder / "compared.html", folder / "compared.png"]
    asked = ["--with", "coarse:2", "--with", "off", "--streams", "1"]
    shown = run(folder, *asked, "--plot", str(plots[0]), "--plot", str(plots[1]))
    assert all(word in shown for word in ("coarse:2", "priste", "belief"))
    assert plots[0].read_text().startswith("<!doctype html>")
    assert plots[1].read_bytes().startswith(b"\x89PNG")
    refused = CliRunner().invoke(app, ["compare", str(folder / "policy.toml"), "--with", "fog"])
    assert refused.exit_code == 2


def test_two_worlds_that_differ_in_guarded_hours_give_one_answer(folder: Path) -> None:
    """What happened in the guarded hours of a trace changes nothing, own history included."""
    asked = ["--with", "exact", "--with", "zones", "--streams", "2", "--json"]
    one, two = (run(folder, str(folder / name), *asked) for name in ("ada.csv", "other.csv"))
    assert one == two
    told = json.loads(one)
    assert told["opened"]
    assert told["ways"][0]["events"]["visit"]["own_history"] is not None
