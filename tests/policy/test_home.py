"""A policy that knows where its user lives: numbers given or learnt, leaving out, own places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.small_world import GRID, PATHS, POLICY, trace_of, with_a_short_event, write_trips

from priste import KnownPrior, MarkovModel, PolicyError
from priste.maps import Region
from priste.mobility import HomeHabits, home_habits_of, with_home
from priste.policy import draft_policy, explain_policy, read_policy, somewhere, with_regions
from priste.policy.formula_models import nights
from priste.results import other_adversaries
from priste.traces import Fix, Trace

GAUSSIAN = 'kind = "gaussian"\nsigma = 1.0'
GIVEN = f'{GAUSSIAN}\nhome = "home"\nstay_home = 0.9\nback_home = 0.2\nback_home_at_night = 0.5'
FITTED = 'kind = "fit"\ntraces = "trips.csv"\nmemory = "none"\nhome = "home"'


GUARDED = range(5, 8)
"""The steps of the short event, and one more on each side: models are fitted without them."""


def policy_of(mobility: str) -> str:
    return POLICY.replace(GAUSSIAN, mobility)


def test_given_numbers_are_those_of_the_model() -> None:
    """The Gaussian, drawn home by just what the section says, day and night."""
    policy = read_policy(policy_of(GIVEN))
    plain, night = MarkovModel.gaussian(GRID, sigma=1.0), nights(policy.timeline)
    expected = with_home(plain, [0], HomeHabits(0.9, 0.2, None, 0.5), night)
    assert policy.model.fingerprint() == expected.fingerprint()
    assert night is not None
    back = [policy.model.transition(step).toarray()[-1, 0] for step in (0, 12)]
    assert back == pytest.approx([0.5 if night[0] else 0.2, 0.5 if night[12] else 0.2], abs=1e-8)


def test_habits_are_learnt_from_others(tmp_path: Path) -> None:
    """Of a fitted model they are people's own, each without the person who is protected."""
    write_trips(tmp_path)
    text = with_a_short_event(policy_of(FITTED))
    policy = read_policy(text, folder=tmp_path)
    own = policy.for_user(trace_of("ada", PATHS["ada"]))
    for each, missing in ((policy, ""), (own, "ada")):
        walks = [
            [[None if step in GUARDED else cell for step, cell in enumerate(path)]]
            for name, path in PATHS.items()
            if name != missing
        ]
        home = each.chosen_models[0].home
        assert home is not None
        assert home.habits == home_habits_of(GRID, walks, nights(policy.timeline))
        drawn = with_home(home.roaming, [0], home.habits, nights(policy.timeline))
        assert each.model.fingerprint() == drawn.fingerprint()
    assert own.model.fingerprint() != policy.model.fingerprint()


def test_everybody_has_their_own_home() -> None:
    """Own places move the home of the model too, and who has the policy's shares its model."""
    policy = read_policy(policy_of(GIVEN))
    moved = with_regions(policy, {"home": Region(GRID, [5])})
    assert moved.model.transition(0).toarray()[-1, 5] >= 0.2 - 1e-8
    direct = read_policy(policy_of(GIVEN).replace("cells = [0]", "cells = [5]"))
    assert moved.model.fingerprint() == direct.model.fingerprint()
    same = with_regions(policy, {"clinic": Region(GRID, [3])})
    assert same.model is policy.model


def test_a_home_may_be_everybodys_own_and_nobodys_yet() -> None:
    """Until it is said where, people roam; then they live there, as if the policy said so."""
    text = policy_of(GIVEN).split("[events.homecoming]")[0]
    observed = '\n[adversary]\nknows = "population"\nalso = ["home"]\n'
    own = read_policy(text.replace("cells = [0]", "own = true") + observed)
    assert own.own_regions == ("home",)
    assert own.model.fingerprint() == MarkovModel.gaussian(GRID, sigma=1.0).fingerprint()
    moved = with_regions(own, {"home": Region(GRID, [5])})
    direct = read_policy(text.replace("cells = [0]", "cells = [5]") + observed)
    assert moved.model.fingerprint() == direct.model.fingerprint()
    assert moved.chosen_adversary == direct.chosen_adversary
    told = explain_policy(own)
    assert "home" not in told.drawings
    assert any("home is a personal place" in line for line in told.summary)
    assert not moved.own_regions


@pytest.mark.parametrize(
    ("region", "complaint"),
    [
        ("own = true\ncells = [0]", "exactly one of"),
        ("own = false", "own"),
    ],
)
def test_regions_of_ones_own_that_are_none(region: str, complaint: str) -> None:
    with pytest.raises(PolicyError, match=complaint):
        read_policy(policy_of(GIVEN).replace("cells = [0]", region))


def test_own_places_reach_no_further_than_the_map() -> None:
    """As the regions of a policy with a place for what is beyond: the rest of them counts."""
    text = policy_of(GIVEN).replace("[release]", '[release]\noutside = "off-map"')
    home, clinic = (tuple(map(float, GRID.latlon(cell))) for cell in (0, 9))
    for cells, (lat, lon) in (("[0]", home), ("[9, 10]", clinic)):
        circle = f"circle = {{ lat = {lat}, lon = {lon}, radius_km = 0.1 }}"
        text = text.replace(f"cells = {cells}", circle)
    policy = read_policy(text)
    inner = next(iter(policy.regions["home"]))
    moved = with_regions(policy, {"home": Region(policy.grid, {inner} | policy.grid.border)})
    assert moved.regions["home"] == Region(policy.grid, [inner])
    with pytest.raises(PolicyError, match="off the map"):
        with_regions(policy, {"home": Region(policy.grid, policy.grid.border)})


def test_roaming_is_a_relative_and_may_be_guarded_against() -> None:
    """The model without the home is a doubt that reports look at, and may stand in the family."""
    policy = read_policy(policy_of(GIVEN))
    relatives = policy.chosen_models[0].relatives()
    assert set(relatives) == {"narrow", "wide", "roaming"}
    assert relatives["roaming"].fingerprint() == MarkovModel.gaussian(GRID, sigma=1.0).fingerprint()
    narrow = MarkovModel.gaussian(GRID, sigma=0.5)
    habits = HomeHabits(0.9, 0.2, None, 0.5)
    drawn = with_home(narrow, [0], habits, nights(policy.timeline))
    assert relatives["narrow"].fingerprint() == drawn.fingerprint()
    both = read_policy(policy_of(f'{GIVEN}\nfamily = ["roaming"]'))
    assert [model.fingerprint() for model in both.models] == [
        policy.model.fingerprint(),
        relatives["roaming"].fingerprint(),
    ]
    columns = [np.full(GRID.size, 1.0)] * policy.steps
    told = other_adversaries(policy, columns)
    assert all("who knows no home of the person" in each for each in told.values())


def test_words_say_what_the_adversary_knows() -> None:
    """Whoever knows the model knows where one lives."""
    policy = read_policy(
        policy_of(GIVEN) + '\n[adversary]\nknows = "population"\nalso = ["home"]\n'
    )
    words = policy.chosen_adversary.words
    assert "one of 2 models of how you move (people here with your home; people here " in words
    assert "without a home), and perhaps knows that you began at home" in words
    assert isinstance(policy.chosen_adversary.adversary.of_model(0), KnownPrior)
    assert any("you live at home" in line for line in explain_policy(policy).summary)


@pytest.mark.parametrize(
    ("mobility", "complaint"),
    [
        (f'{GAUSSIAN}\nhome = "home"', "needs 'stay_home' and 'back_home'"),
        (f"{GAUSSIAN}\nstay_home = 0.9\nback_home = 0.1", "needs 'home'"),
        (f'{GAUSSIAN}\nhome = "home"\nstay_home = 0.9', "together"),
        (f'{GAUSSIAN}\nhome = "home"\nback_home_at_night = 0.9', "together"),
        (f'{GAUSSIAN}\nhome = "house"\nstay_home = 0.9\nback_home = 0.1', "must name a region"),
        (f'{GAUSSIAN}\nhome = "home"\nstay_home = 1.0\nback_home = 0.1', "stay_home"),
        (f'{GAUSSIAN}\nfamily = ["roaming"]', "names none"),
    ],
)
def test_homes_that_are_none(mobility: str, complaint: str) -> None:
    with pytest.raises(PolicyError, match=complaint):
        read_policy(policy_of(mobility))


def test_an_event_at_a_personal_place_waits_until_it_is_stated() -> None:
    """Its times hold for everybody; there is no stream before the place is known."""
    text = POLICY.replace("[regions.clinic]\ncells = [9, 10]", "[regions.clinic]\nown = true")
    own, direct = read_policy(text), read_policy(POLICY)
    assert not own.is_placed
    assert own.guarded_hours == direct.guarded_hours
    for ask in (own.protector, lambda: own.events["visit"].event, own.chances):
        with pytest.raises(PolicyError, match="'visit' speaks of 'clinic', a personal place"):
            ask()
    placed = with_regions(own, {"clinic": Region(own.grid, [9, 10])})
    assert placed.is_placed
    assert placed.events["visit"].event == direct.events["visit"].event
    example = somewhere(own)
    (cell,) = example.regions["clinic"].cells
    assert own.population[cell] == max(own.population[c] for c in range(GRID.size) if c != 0)
    assert example.chances().keys() == direct.chances().keys()
    assert somewhere(direct) is direct


def test_a_draft_of_somebody_with_a_home_says_so() -> None:
    """The draft is read again, and its numbers are those of the person's own days."""
    lat, lon = GRID.latlon(5)
    away = GRID.latlon(15)
    start = trace_of("ada", PATHS["ada"]).start
    fixes = [
        Fix("ada", start.replace(hour=0) + each, *(away if 9 <= hour < 17 else (lat, lon)))
        for day in range(7)
        for hour in range(24)
        for each in [np.timedelta64(24 * day + hour, "h").item()]
    ]
    text = draft_policy([Trace.of(fixes)])
    assert 'home = "home"' in text
    policy = read_policy(text)
    home = policy.chosen_models[0].home
    assert home is not None
    assert home.habits.stay_at_night is not None
    assert home.habits.stay_at_night > 0.9
    assert policy.homes == ("home",)
