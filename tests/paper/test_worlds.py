"""The worlds of the experiments, on files in the Geolife format that the tests make themselves."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper.worlds import geolife_people
from paper.worlds.geolife_people import CENTRE, geolife_users
from paper.worlds.made_up_city import city_dweller
from paper.worlds.recorded import Cut, Stretches
from paper.worlds.world import smoothing_of, world_of
from tests.drawn_examples import examples

from priste.errors import TraceError
from priste.maps import Grid
from priste.mobility import AddNearby, GaussianPrior, MarkovModel, MaximumLikelihood
from priste.traces import Timeline, Trace, write_traces

MONDAY = 1_209_340_800  # 2008-04-28T00:00Z, in seconds
CUT = Cut(side=6, cell_size=0.5)
GRID = CUT.grid_around(*CENTRE)
SMALL: dict[str, Any] = {"kind": "geolife", "side": 6, "steps": 5, "windows": 3}


def steps_of_cells(user: str, cells: list[int | None], *, every: int = 1) -> Trace:
    """Return fixes in the middle of minute-long steps, at the centres of cells; None is a gap."""
    lat, lon = GRID.latlon([0 if cell is None else cell for cell in cells])
    here = np.array([cell is not None for cell in cells])
    times = (MONDAY + 30 + 60 * every * np.arange(len(cells))) * 1_000_000
    return Trace(user, times[here], lat[here], lon[here])


def gap(minutes: int = 15) -> list[int | None]:
    """Return a gap that is too long to be crossed."""
    return [None] * minutes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three users: much data but no long stretch, then two with stretches, the last with less."""
    scattered: list[int | None] = []
    for cell in range(36):
        scattered += [cell, cell, *gap()]
    walker: list[int | None] = [7, 7, 8, 14, 14, 20, 20, 21, *gap(), 21, 27, 27, 33, 33, 33]
    idler: list[int | None] = [0, 0, 1, 1, 2, 2, 8, 9]
    traces = [
        steps_of_cells("000", walker),
        steps_of_cells("001", idler),
        steps_of_cells("002", scattered),
    ]
    write_traces(traces, tmp_path / "geolife", format="geolife")
    return tmp_path / "geolife"


# The paper's synthetic data


@pytest.mark.parametrize(("side", "region"), [(20, range(10)), (5, range(2)), (2, range(1))])
def test_gaussian_world_is_the_papers(side: int, region: range) -> None:
    """The model is the Gaussian one on the plane, and S the first half of the first row."""
    world = world_of({"kind": "gaussian", "side": side, "cell_size": 0.7, "sigma": 2.0})
    grid = Grid(side, side, 0.7)
    assert world.grid == grid
    assert world.model.fingerprint() == MarkovModel.gaussian(grid, 2.0).fingerprint()
    assert world.region == tuple(region)


def test_paper_scale_is_the_default() -> None:
    """Without a word it is the paper's 20 x 20 map with ten cells in S."""
    world = world_of({"kind": "gaussian"})
    assert (world.grid.rows, world.grid.columns, world.region) == (20, 20, tuple(range(10)))


@given(sigma=st.floats(0.1, 100.0))
@examples(20)
def test_variance_is_a_squared_deviation(sigma: float) -> None:
    """Reading sigma as a variance gives the model of its square root."""
    world = world_of({"kind": "gaussian", "side": 4, "sigma": sigma, "sigma_means": "variance"})
    expected = MarkovModel.gaussian(Grid(4, 4, 1.0), math.sqrt(sigma))
    assert world.model.fingerprint() == expected.fingerprint()


def test_gaussian_walks_follow_the_model() -> None:
    """A walk is the model's own sample for the seed, from every cell alike."""
    world = world_of({"kind": "gaussian", "side": 4, "sigma": 0.5})
    assert world.walk(11, 30) == tuple(world.model.sample(30, rng=11).tolist())
    starts = {world.walk(seed, 1)[0] for seed in range(200)}
    assert starts == set(range(16))


# Specifications


def test_world_is_made_once() -> None:
    """Equal specifications, in any order and with defaults spelt out, are one object."""
    first = world_of({"kind": "gaussian", "side": 6, "sigma": 2.0})
    again = {"sigma": 2, "start": "uniform", "cell_size": 1.0, "kind": "gaussian", "side": 6}
    assert world_of(again) is first


def test_specification_is_not_changed() -> None:
    """A specification is read, and left as it was."""
    spec = {"kind": "city", "side": 4, "days": 3, "smoothing": {"kind": "add_nearby"}}
    before = json.dumps(spec)
    world_of(spec)
    assert json.dumps(spec) == before


@pytest.mark.parametrize(
    ("spec", "choice"),
    [
        ({"kind": "gaussian_prior"}, GaussianPrior()),
        ({"kind": "add_nearby", "weight": 0.5, "reach": 1.0}, AddNearby(0.5, 1.0)),
        ({"kind": "maximum_likelihood", "unvisited": "stay"}, MaximumLikelihood("stay")),
    ],
)
def test_smoothing_in_plain_values(spec: dict[str, Any], choice: object) -> None:
    """A mapping describes a choice of smoothing with its own fields."""
    assert smoothing_of(spec) == choice


# Geolife: users and ranks


def test_users_are_ranked_by_their_data(folder: Path) -> None:
    """The user with the most bytes comes first; equal amounts go by name."""
    assert [user.name for user in geolife_users(folder)] == ["002", "000", "001"]
    twin = folder / "Data" / "0005" / "Trajectory"
    twin.mkdir(parents=True)
    for file in (folder / "Data" / "000" / "Trajectory").iterdir():
        (twin / file.name).write_bytes(file.read_bytes())
    assert [user.name for user in geolife_users(folder)] == ["002", "000", "0005", "001"]


def test_folder_may_be_data_or_what_holds_it(folder: Path) -> None:
    """The folder above Data and Data itself name the same users."""
    above, data = geolife_users(folder), geolife_users(folder / "Data")
    assert [(user.name, user.size) for user in above] == [(user.name, user.size) for user in data]


def test_rank_passes_over_users_without_windows(folder: Path) -> None:
    """The user with the most data has no stretch of five steps, so rank 0 is the next one."""
    assert "User 000" in world_of({**SMALL, "folder": str(folder)}).about
    assert "User 001" in world_of({**SMALL, "folder": str(folder), "user_rank": 1}).about
    assert "User 002" in world_of({**SMALL, "folder": str(folder), "steps": 2}).about


def test_too_high_rank_says_how_many_there_are(folder: Path) -> None:
    """When users run out, the error tells the rule, the count, and no cell."""
    with pytest.raises(TraceError, match="2 of 3 users have them, so there is none of rank 2"):
        world_of({**SMALL, "folder": str(folder), "user_rank": 2})


def test_missing_folder(tmp_path: Path) -> None:
    """A folder that is not there, or that is a file, is an error of its own."""
    file = tmp_path / "file"
    file.touch()
    for path in (tmp_path / "nowhere", file):
        with pytest.raises(TraceError, match="no folder"):
            world_of({**SMALL, "folder": str(path)})


def test_folder_without_users(tmp_path: Path) -> None:
    """Folders without any .plt file, and stray files, are no users."""
    (tmp_path / "Data" / "000" / "Trajectory").mkdir(parents=True)
    (tmp_path / "Data" / "readme.txt").touch()
    with pytest.raises(TraceError, match="no user of Geolife"):
        world_of({**SMALL, "folder": str(tmp_path)})


def test_user_outside_the_map(tmp_path: Path) -> None:
    """Somebody in another city has no window on the map, and no position is told."""
    times = (MONDAY + 60 * np.arange(30)) * 1_000_000
    away = Trace("000", times, np.full(30, 31.2304), np.full(30, 121.4737))
    write_traces([away], tmp_path / "g", format="geolife")
    with pytest.raises(TraceError, match="0 of 1 users") as caught:
        world_of({**SMALL, "folder": str(tmp_path / "g")})
    assert "31.2" not in str(caught.value)
    assert "121.4" not in str(caught.value)


def test_broken_file_is_not_passed_over(folder: Path) -> None:
    """A user whose file is none of Geolife stops the ranking instead of losing a rank."""
    (file,) = (folder / "Data" / "002" / "Trajectory").iterdir()
    file.write_text("latitude,longitude\n" * 200)
    with pytest.raises(TraceError):
        world_of({**SMALL, "folder": str(folder)})


def test_files_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another map, region or smoothing needs no second reading of a user's files."""
    world_of({**SMALL, "folder": str(folder)})

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the files were read again")

    monkeypatch.setattr(geolife_people, "read_traces", refuse)
    world_of({**SMALL, "folder": str(folder), "region": "first"})
    world_of({**SMALL, "folder": str(folder), "side": 8, "longest_gap": 5})
    world_of({**SMALL, "folder": str(folder), "smoothing": {"kind": "add_everywhere"}})


# Geolife: model, region, walks

WALKED = [[7, 7, 8, 14, 14, 20, 20, 21], [21, 27, 27, 33, 33, 33]]
"""The stretches of user 000."""


@pytest.mark.parametrize(
    ("spec", "choice"),
    [
        (None, None),
        ({"kind": "add_everywhere", "weight": 0.5}, 0.5),
        ({"kind": "maximum_likelihood", "unvisited": "uniform"}, MaximumLikelihood("uniform")),
    ],
)
def test_fit_is_that_of_the_cells(folder: Path, spec: dict[str, Any] | None, choice: Any) -> None:
    """The model is MarkovModel.fit on the cells from which the files were made."""
    more = {} if spec is None else {"smoothing": spec}
    world = world_of({**SMALL, "folder": str(folder), **more})
    assert world.grid == GRID
    expected = MarkovModel.fit(GRID, WALKED, smoothing=choice)
    assert world.model.fingerprint() == expected.fingerprint()


def test_likelihood_counts_by_hand(folder: Path) -> None:
    """Without smoothing, rows are the shares of the observed moves."""
    spec = {"kind": "maximum_likelihood", "unvisited": "stay"}
    world = world_of({**SMALL, "folder": str(folder), "smoothing": spec})
    matrix = world.model.transition(0).toarray()
    assert matrix[7, 7] == matrix[7, 8] == 0.5  # 7 7 8
    assert matrix[8, 14] == 1.0
    assert matrix[21, 27] == 1.0  # nothing leads across the gap
    assert matrix[35, 35] == 1.0  # never visited


def test_regions(folder: Path) -> None:
    """S is the first visited cells, or the first of the map."""
    assert world_of({**SMALL, "folder": str(folder)}).region == (7, 8, 14)
    assert world_of({**SMALL, "folder": str(folder), "region": "first"}).region == (0, 1, 2)


def test_region_needs_more_visited_cells(tmp_path: Path) -> None:
    """Somebody who stays in three of 6 x 6 cells leaves no cell outside S."""
    stays: list[int | None] = [3, 3, 4, 4, 5, 5, 4, 3]
    write_traces([steps_of_cells("000", stays)], tmp_path / "g", format="geolife")
    with pytest.raises(TraceError, match="Only 3 were visited"):
        world_of({**SMALL, "folder": str(tmp_path / "g")})
    assert world_of({**SMALL, "folder": str(tmp_path / "g"), "region": "first"}).region == (0, 1, 2)


def test_walks_are_all_windows_and_no_others(folder: Path) -> None:
    """Over many seeds every observed window occurs, and nothing but observed windows."""
    world = world_of({**SMALL, "folder": str(folder)})
    windows = {tuple(s[i : i + 5]) for s in WALKED for i in range(len(s) - 4)}
    assert {world.walk(seed, 5) for seed in range(200)} == windows


def test_walk_is_a_pure_function_of_the_seed(folder: Path) -> None:
    """Walks asked for in another order, or again, are the same."""
    world = world_of({**SMALL, "folder": str(folder)})
    forwards = [world.walk(seed, 5) for seed in range(20)]
    backwards = [world.walk(seed, 5) for seed in reversed(range(20))]
    assert forwards == backwards[::-1]


def test_walk_longer_than_any_stretch(folder: Path) -> None:
    """Nine steps were nowhere recorded: an error that tells the longest, and no cell."""
    world = world_of({**SMALL, "folder": str(folder)})
    with pytest.raises(TraceError, match=r"None of 9 steps.*the longest has 8"):
        world.walk(1, 9)


def test_no_cell_in_texts(folder: Path) -> None:
    """The text forms of a world and of stretches tell how much there is, never where."""
    world = world_of({**SMALL, "folder": str(folder)})
    assert repr(Stretches(WALKED)) == "<2 stretches, 14 steps>"
    assert "14 steps in 2 stretches" in world.about
    assert "walker" not in repr(world)


# Stretches


@given(
    stretches=st.lists(st.lists(st.integers(0, 50), max_size=12), max_size=6),
    steps=st.integers(1, 14),
    seed=st.integers(0, 2**40),
)
@examples(150)
def test_windows_are_those_of_enumeration(
    stretches: list[list[int]], steps: int, seed: int
) -> None:
    """Counts, visited cells, moves and the drawn window agree with listing them all."""
    found = Stretches(stretches)
    every = [tuple(s[i : i + steps]) for s in stretches for i in range(len(s) - steps + 1)]
    moves = [pair for s in stretches for pair in pairwise(s)]
    assert found.windows(steps) == len(every)
    assert found.visited == tuple(sorted({cell for s in stretches for cell in s}))
    assert found.moving == sum(a != b for a, b in moves) / max(len(moves), 1)
    if every:
        assert found.walk(seed, steps) in every
    else:
        with pytest.raises(TraceError):
            found.walk(seed, steps)


@given(
    seconds=st.lists(st.integers(0, 4 * 3600), min_size=1, max_size=80, unique=True),
    minutes=st.sampled_from([0.5, 1.0, 2.5, 7.0]),
    longest=st.sampled_from([0.5, 3.0, 20.0, 200.0]),
    offset=st.integers(0, 86_399),
    seed=st.integers(0, 10**6),
)
@examples(150)
def test_essential_fixes_tell_everything(
    seconds: list[int], minutes: float, longest: float, offset: int, seed: int
) -> None:
    """The fixes around the middles of steps give the same stretches as all fixes."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-0.5, CUT.extent + 0.5, (2, len(seconds)))
    lat, lon = GRID.latlon_at(x, y)
    times = (MONDAY + offset + np.sort(np.array(seconds))) * 1_000_000
    trace = Trace("a", times, lat, lon)
    cut = Cut(side=6, cell_size=0.5, minutes=minutes, longest_gap=longest)
    few = cut.essential(trace)
    whole = [list(cells) for cells in cut.stretches(trace, GRID).cells]
    assert [list(cells) for cells in cut.stretches(few, GRID).cells] == whole
    # And the whole is what the timeline itself says.
    line = Timeline.covering(trace, timedelta(minutes=minutes))
    cells = line.cells(
        trace, GRID, "interpolated", outside="gap", longest_gap=timedelta(minutes=longest)
    )
    assert whole == list(cells.runs())


def test_dense_receivers_are_thinned() -> None:
    """Of sixty fixes a minute two are kept, and the first and the last."""
    times = (MONDAY + np.arange(600)) * 1_000_000
    trace = Trace("a", times, np.full(600, CENTRE[0]), np.full(600, CENTRE[1]))
    assert len(CUT.essential(trace)) == 2 * 10 + 2


def test_map_lies_around_its_centre() -> None:
    """The centre of the map is where it was asked to be, to a millimetre."""
    x, y = GRID.xy(*CENTRE)
    assert abs(x - 1.5) < 1e-6
    assert abs(y - 1.5) < 1e-6
    assert (GRID.rows, GRID.columns, GRID.cell_size) == (6, 6, 0.5)


# The made-up city


def test_city_is_a_pure_function_of_its_seed() -> None:
    """One seed is one life to the bit, and another seed another."""
    one, again, other = (city_dweller(seed, GRID, 3) for seed in (1, 1, 2))
    assert np.array_equal(one.times, again.times)
    assert np.array_equal(one.lat, again.lat)
    assert np.array_equal(one.lon, again.lon)
    assert not (len(one) == len(other) and np.array_equal(one.lat, other.lat))


@given(seed=st.integers(0, 10**6), side=st.integers(2, 12))
@examples(15)
def test_any_city_can_be_walked(seed: int, side: int) -> None:
    """Any seed and size has windows of 50 minutes, on the map, in small steps."""
    world = world_of({"kind": "city", "seed": seed, "side": side, "days": 21, "region": "first"})
    walk = np.array(world.walk(seed, 50))
    assert walk.min() >= 0
    assert walk.max() < side * side
    rows, columns = np.divmod(walk, side)
    farthest = max(np.abs(np.diff(rows)).max(), np.abs(np.diff(columns)).max())
    # A bus makes 0.44 km a minute and cells are 0.5 km; a step's fix may be 30 s off its middle.
    assert farthest <= 2


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_city_looks_like_a_life(seed: int) -> None:
    """People stay much more than they move, see part of the city, and have many long stretches."""
    world = world_of({"kind": "city", "seed": seed})
    cut, grid = Cut(), world.grid
    stretches = cut.stretches(city_dweller(seed, grid, 90), grid)
    assert 0.05 < stretches.moving < 0.35
    assert 0.2 < len(stretches.visited) / grid.size < 0.4
    assert stretches.windows(50) > 1000
    assert len(world.region) == 10


def test_city_takes_the_way_of_geolife(tmp_path: Path) -> None:
    """The fixes of a city, written as Geolife and read back, give the very same walks and model."""
    spec = {"kind": "city", "seed": 3, "side": 6, "days": 5}
    made = world_of(spec)
    trace = city_dweller(3, made.grid, 5)
    east, north = made.grid.xy(trace.lat, trace.lon)
    lat, lon = GRID.latlon_at(east, north)
    write_traces([Trace("000", trace.times, lat, lon)], tmp_path / "g", format="geolife")
    read = world_of({**SMALL, "folder": str(tmp_path / "g")})
    assert read.region == made.region
    assert [read.walk(seed, 30) for seed in range(30)] == [
        made.walk(seed, 30) for seed in range(30)
    ]
    assert np.array_equal(read.model.transition(0).toarray(), made.model.transition(0).toarray())


def test_first_day_is_a_monday_of_geolife() -> None:
    """The city's days begin after the data set's first, so that its files can be read back."""
    start = city_dweller(1, GRID, 1).start
    assert start.weekday() == 0
    assert start > datetime(2007, 4, 1, tzinfo=UTC)
