"""People leave the map: a place of its own for that, and families of models, in a policy."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.cli.small_world import (
    GRID,
    NORTH,
    PATHS,
    POLICY,
    SOUTH,
    START,
    WEST,
    trace_of,
    with_a_short_event,
    write_policy,
    write_trips,
)

from priste import Grid, MarkovModel, OutsideMap, PolicyError
from priste.mobility import GaussianPrior, gaussian_with_stays
from priste.policy import explain_policy, load_ground, read_policy
from priste.policy.model_choice import cell_sequences
from priste.traces import Fix, Trace

MIDDLE = ((SOUTH + NORTH) / 2, WEST + 0.026)
PLACES = f"""[regions.clinic]
circle = {{ lat = {MIDDLE[0]}, lon = {MIDDLE[1]}, radius_km = 0.1 }}

[events.visit]
formula = 'presence(clinic, "05:00-08:00")'

[events.journey]
formula = 'presence(off-map, "02:00-05:00")'
"""
AWAY = (POLICY[: POLICY.index("[regions.clinic]")] + PLACES).replace(
    "pace = 0.3", 'outside = "off-map"'
)


def traveller() -> Trace:
    """Somebody who is far north of the map from 02:00 to 05:00."""
    home = GRID.latlon(0)
    return Trace.of(
        Fix(
            "ada",
            START + timedelta(hours=step, minutes=30),
            *((NORTH + 3.0, WEST) if step in (2, 3, 4) else home),
        )
        for step in range(12)
    )


def test_the_map_has_one_more_cell_on_each_side() -> None:
    """Cells of the map itself lie where they lay; everything beyond is in the border."""
    grid = GRID.bordered()
    assert (grid.rows, grid.columns) == (GRID.rows + 2, GRID.columns + 2)
    assert len(grid.border) == grid.size - GRID.size
    for cell in range(GRID.size):
        lat, lon = GRID.latlon(cell)
        row, column = divmod(cell, GRID.columns)
        inner = (row + 1) * grid.columns + column + 1
        assert grid.cell_at(lat, lon) == inner
        assert inner not in grid.border
    assert grid.cell_at(NORTH + 5.0, WEST + 0.02, outside="nearest") in grid.border


def test_who_leaves_the_map_is_in_a_place_of_their_own() -> None:
    """No step is silent, and steps beyond the map are in the border, wherever beyond."""
    policy = read_policy(AWAY)
    stayed, left = policy.cells(trace_of("ada", PATHS["ada"])), policy.cells(traveller())
    assert None not in left.cells
    assert [step for step, cell in enumerate(left.cells) if cell in policy.grid.border] == [2, 3, 4]
    assert not policy.grid.border & set(stayed.cells)
    refusing = read_policy(POLICY)
    with pytest.raises(OutsideMap):
        refusing.cells(traveller())


def test_the_guarantee_holds_for_having_been_off_the_map() -> None:
    """A stream of somebody who was beyond the map keeps the guarantee about just that."""
    policy = read_policy(AWAY)
    protector = policy.protector(rng=4)
    for cell in policy.cells(traveller()).cells:
        release = protector.release(cell)
        assert max(release.leakage) <= 0.8
    chance = policy.events["journey"].event.automaton()
    assert {cell for layer in chance.layers for cells in layer.classes for cell in cells} == set(
        policy.grid.border
    )


def test_a_place_is_on_the_map_itself() -> None:
    """A circle that reaches over the edge does not make everywhere beyond a part of the place."""
    edge = AWAY.replace(f"lat = {MIDDLE[0]}", f"lat = {NORTH}").replace("0.1 }", "0.8 }")
    policy = read_policy(edge)
    assert policy.regions["clinic"]
    assert not frozenset(policy.regions["clinic"]) & policy.grid.border


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        (f"circle = {{ lat = {MIDDLE[0]}, lon = {MIDDLE[1]}, radius_km = 0.1 }}", "cells = [16]",
         "0 to 15"),
        ("[regions.clinic]", "[regions.off-map]", "means off the map"),
        (f"lat = {MIDDLE[0]}", f"lat = {NORTH + 0.008}", "lies off the map"),
        ('outside = "off-map"', 'outside = "nearest"', "off-map"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(before: str, after: str, complaint: str) -> None:
    """Cells that the map has not, a region of that name, places off the map."""
    assert before in AWAY
    with pytest.raises(PolicyError, match=complaint):
        read_policy(AWAY.replace(before, after))


def test_how_long_people_stay_away() -> None:
    """A Gaussian model leaves the border as rarely as it is told."""
    policy = read_policy(AWAY.replace("sigma = 1.0", "sigma = 1.0\naway_hours = 4"))
    grid, matrix = policy.grid, policy.model.transition(0).toarray()
    stay = np.zeros(grid.size)
    stay[sorted(grid.border)] = 0.75
    expected = gaussian_with_stays(grid, 1.0, stay, off_map=0.1).transition(0).toarray()
    np.testing.assert_array_equal(matrix, expected)
    assert min(matrix[cell, cell] for cell in grid.border) >= 0.75
    with pytest.raises(PolicyError, match="away_hours"):
        read_policy(POLICY.replace("sigma = 1.0", "sigma = 1.0\naway_hours = 4"))


@pytest.mark.parametrize("share", [None, 0.02, 0.4])
@pytest.mark.parametrize(
    "mobility", ["", 'kind = "stay-or-go"\nstay = 0.5', "night"], ids=["gaussian", "day", "night"]
)
def test_how_much_people_are_away(mobility: str, share: float | None) -> None:
    """In the long run the share of the time that is told is spent beyond the map."""
    text = (
        AWAY if share is None else AWAY.replace("sigma = 1.0", f"sigma = 1.0\naway_share = {share}")
    )
    if mobility:
        own = 'kind = "stay-or-go"\nstay = 0.5' + "\nstay_at_night = 0.9" * (mobility == "night")
        text = text.replace('kind = "gaussian"', own).replace("sigma = 1.0", "")
    policy = read_policy(text)
    beyond = policy.model.stationary()[sorted(policy.grid.border)].sum()
    # Factors have two digits, and a night begins with what the day left.
    assert beyond == pytest.approx(share or 0.1, rel=0.15)
    with pytest.raises(PolicyError, match="away_share"):
        read_policy(POLICY.replace("sigma = 1.0", "sigma = 1.0\naway_share = 0.1"))


def test_moves_in_and_out_are_fitted(tmp_path: Path) -> None:
    """People who leave the map are counted where they go; without the place they are gaps."""
    path = write_policy(tmp_path, AWAY)
    ground = load_ground(path)
    assert ground.grid == GRID.bordered()
    known = cell_sequences([traveller()], ground.grid, ground.timeline, outside=ground.beyond)
    assert None not in known[0].cells
    plain = load_ground(write_policy(tmp_path, POLICY))
    gaps = cell_sequences([traveller()], plain.grid, plain.timeline, outside=plain.beyond)
    assert [step for step, cell in enumerate(gaps[0].cells) if cell is None] == [2, 3, 4]


def test_explain_tells_of_the_place() -> None:
    """The words say what the border stands for."""
    assert any("a place of its own" in line for line in explain_policy(read_policy(AWAY)).summary)


def test_lingering_on_large_maps_is_the_same_model() -> None:
    """The form of large maps moves as the dense one does."""
    grid = Grid(rows=21, columns=20, cell_size=1.0)
    stay = np.linspace(0.0, 0.9, grid.size)
    model = gaussian_with_stays(grid, 1.5, stay)
    plain = MarkovModel.gaussian(grid, sigma=1.5, form="dense").transition(0).toarray()
    expected = stay[:, None] * np.eye(grid.size) + (1 - stay)[:, None] * plain
    np.testing.assert_allclose(model.transition(0).toarray(), expected, rtol=1e-12)


# Families of models


def test_a_family_of_gaussians_in_one_line() -> None:
    """Half and double the width are guarded against together with the width itself."""
    text = POLICY.replace("sigma = 1.0", 'sigma = 1.0\nfamily = ["narrow", "wide"]')
    policy = read_policy(text)
    found = [model.fingerprint() for model in policy.models]
    expected = [MarkovModel.gaussian(GRID, sigma=sigma).fingerprint() for sigma in (1.0, 0.5, 2.0)]
    assert found == expected


def test_a_family_of_fitted_models(tmp_path: Path) -> None:
    """Each member is fitted on everybody else, for each person, with its own memory and width."""
    write_trips(tmp_path)
    fitted = 'kind = "fit"\ntraces = "trips.csv"\nfamily = ["plain", "day", "week", "narrow"]'
    text = with_a_short_event(POLICY).replace('kind = "gaussian"\nsigma = 1.0', fitted)
    policy = read_policy(text, folder=tmp_path)
    assert [model.period for model in policy.models[1:]] == [1, 24, 168, 1]
    person = policy.for_user(trace_of("ada", PATHS["ada"]))
    assert len(person.models) == 5
    for mine, all_of_them in zip(person.models, policy.models, strict=True):
        assert mine.fingerprint() != all_of_them.fingerprint()


def test_a_family_whose_spread_comes_from_the_data(tmp_path: Path) -> None:
    """The narrow one is smoothed by half of what the plain fit takes from the moves."""
    write_trips(tmp_path)
    fitted = 'kind = "fit"\ntraces = "trips.csv"\npublic = true\nfamily = ["narrow"]'
    text = POLICY.replace('kind = "gaussian"\nsigma = 1.0', fitted)
    policy = read_policy(text, folder=tmp_path)
    moves = [pair for path in PATHS.values() for pair in pairwise(path)]
    apart = [GRID.distances_from(a)[b] ** 2 for a, b in moves]
    sigma = 0.5 * max(1.0, float(np.sqrt(np.mean(apart) / 2)))
    smoothing = GaussianPrior(sigma=sigma)
    same = MarkovModel.fit(GRID, list(PATHS.values()), smoothing).transition(0).toarray()
    np.testing.assert_allclose(policy.models[1].transition(0).toarray(), same, rtol=1e-9)


@pytest.mark.parametrize(
    ("family", "complaint"),
    [
        ('["narrow", "narrow"]', "once"),
        ('["day"]', "narrow.*wide"),
        ("[]", "family"),
        ('["broad"]', "family"),
    ],
)
def test_families_that_are_none(family: str, complaint: str) -> None:
    """Members are known, named once, and fit the kind."""
    with pytest.raises(PolicyError, match=complaint):
        read_policy(POLICY.replace("sigma = 1.0", f"sigma = 1.0\nfamily = {family}"))


def test_a_fix_stays_private() -> None:
    """No message of these refusals shows where somebody was."""
    policy = read_policy(POLICY)
    with pytest.raises(OutsideMap) as refused:
        policy.cells(Trace.of([Fix("ada", START, 47.125, 7.03125)]))
    assert "47.1" not in str(refused.value)


STAY_OR_GO = 'kind = "stay-or-go"\nstay = 0.6\nstay_at_night = 0.9\ndecay = 2.0'


@pytest.mark.parametrize("outside", ["nearest", "off-map"])
def test_people_who_stay_or_go(outside: str) -> None:
    """The chance to stay is the night's from ten to six, and beyond the map that of the hours."""
    text = AWAY.replace('kind = "gaussian"\nsigma = 1.0', STAY_OR_GO)
    if outside != "off-map":
        text = text[: text.index("[events.journey]")].replace('"off-map"', f'"{outside}"')
    policy = read_policy(text)
    inner = min(set(range(policy.grid.size)) - policy.grid.border)
    hours = [policy.timeline.time_of(step).hour for step in range(24)]
    for step, hour in enumerate(hours):
        kept = policy.model.transition(step).toarray()[inner, inner]
        assert kept == (0.9 if hour >= 22 or hour < 6 else 0.6)
    if outside == "off-map":
        border = min(policy.grid.border)
        assert policy.model.transition(0).toarray()[border, border] == 1 - 1 / 8
