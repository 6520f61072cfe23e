"""The places on which experiments run: a map, how people move there, and the event's region.

A world follows from a specification of plain values, so that a job can carry it. Three kinds:

``{"kind": "gaussian", "side": 20, "cell_size": 1.0, "sigma": 10.0}``
    the paper's synthetic data; see :class:`GaussianWorld`;
``{"kind": "geolife", "folder": "...", "user_rank": 0}``
    one user of the Geolife data set; see :class:`GeolifeWorld`;
``{"kind": "city", "seed": 1}``
    somebody in a made-up city, who stands in for a data set; see :class:`CityWorld`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

from paper.worlds import geolife_people, made_up_city
from paper.worlds.recorded import Cut, Stretches
from priste.errors import TraceError
from priste.maps import Grid
from priste.mobility import (
    AddEverywhere,
    AddNearby,
    GaussianPrior,
    MarkovModel,
    MaximumLikelihood,
    Smoothing,
)

SigmaMeaning = Literal["deviation", "variance"]
RegionChoice = Literal["visited", "first"]

_SMOOTHINGS: dict[str, Callable[..., Smoothing]] = {
    "add_everywhere": AddEverywhere,
    "add_nearby": AddNearby,
    "gaussian_prior": GaussianPrior,
    "maximum_likelihood": MaximumLikelihood,
}
_MOST_WORLDS = 64


@dataclass(frozen=True, eq=False)
class World:
    """A map with a mobility model, the event's region (the paper's S), and walks.

    ``about`` tells in one sentence how the world was made.
    """

    name: str
    grid: Grid
    model: MarkovModel
    region: tuple[int, ...]
    about: str
    walker: Callable[[int, int], tuple[int, ...]] = field(repr=False)

    @cached_property
    def best_constant(self) -> int:
        """The cell with the smallest expected distance in the long run of the model.

        Released at every step it tells nothing at all.
        """
        expected = self.model.stationary() @ self.grid.distances()
        return int(expected.argmin())

    def walk(self, seed: int, steps: int) -> tuple[int, ...]:
        """Return the true cells of one run of ``steps`` >= 1 steps; a pure function of the seed.

        In a recorded world these are consecutive recorded steps, and :class:`TraceError` is
        raised when so many were nowhere recorded.
        """
        return self.walker(seed, steps)


def world_of(spec: Mapping[str, Any]) -> World:
    """Return the world of a specification of plain values; made once per process.

    What the specification leaves out is at the default of its kind.

    >>> world = world_of({"kind": "gaussian", "side": 4, "sigma": 1.0})
    >>> world.region, world.walk(7, 3) == world.walk(7, 3)
    ((0, 1), True)
    """
    values = {name: value for name, value in spec.items() if name != "kind"}
    if "smoothing" in values:
        values["smoothing"] = smoothing_of(values["smoothing"])
    return _made(_KINDS[spec["kind"]](**values))


@dataclass(frozen=True)
class GaussianWorld:
    """The paper's synthetic data: Gaussian moves on a square map, walks from anywhere.

    ``sigma`` is the deviation in km; with ``sigma_means="variance"`` it is the variance in km²,
    since the paper does not say which. The region is the first half of the southernmost row: the
    paper's S = [1:10] when ``side`` is 20. A walk starts in every cell alike.
    """

    side: int = 20
    cell_size: float = 1.0
    sigma: float = 10.0
    sigma_means: SigmaMeaning = "deviation"
    start: Literal["uniform"] = "uniform"

    def made(self) -> World:
        """Return the world."""
        grid = Grid(self.side, self.side, self.cell_size)
        deviation = math.sqrt(self.sigma) if self.sigma_means == "variance" else self.sigma
        model = MarkovModel.gaussian(grid, deviation)
        about = (
            f"A plane of {self.side} x {self.side} cells of {self.cell_size:g} km, Gaussian moves "
            f"with a deviation of {deviation:g} km, walks from every cell alike."
        )
        return World("gaussian", grid, model, _first(self.side), about, partial(_sampled, model))


@dataclass(frozen=True)
class _RecordedWorld(Cut):
    """What both recorded worlds share: the map, the fit, the region.

    The model is fitted to everything recorded on the map, as in the paper, also to what is then
    walked. ``smoothing`` is a mapping with a ``"kind"`` ("gaussian_prior", "add_nearby",
    "add_everywhere", "maximum_likelihood") and the fields of that choice in
    :mod:`priste.mobility`. The paper's would be maximum likelihood, in a chain
    whose states are the visited cells alone; on a map, cells that were never left need an answer.
    The default gives every cell one move's worth of a Gaussian on the scale of the data: next to
    nothing where much was recorded, and a plausible row where nothing was.

    ``region`` "visited" is the first ``side // 2`` visited cells in the order of their numbers (the
    paper's S = [1:10] in a chain of visited cells), "first" the first ones of the map.
    """

    smoothing: Smoothing = field(default_factory=GaussianPrior)
    region: RegionChoice = "visited"

    def _world(self, name: str, grid: Grid, stretches: Stretches, who: str) -> World:
        model = MarkovModel.fit(grid, stretches.cells, self.smoothing)
        about = (
            f"{who}: {stretches.steps} steps in {len(stretches.cells)} stretches on a map of "
            f"{self}, {len(stretches.visited) / grid.size:.0%} of the cells visited, "
            f"{stretches.moving:.0%} of the steps into another cell; the model is fitted to all of "
            f"them with {self.smoothing}."
        )
        return World(name, grid, model, self._region(stretches), about, stretches.walk)

    def _region(self, stretches: Stretches) -> tuple[int, ...]:
        wanted = self.side // 2
        if self.region == "first":
            return _first(self.side)
        if len(stretches.visited) <= wanted:
            raise TraceError(
                f"The region 'visited' takes {wanted} of more visited cells, so that the event can "
                f"be true or false. Only {len(stretches.visited)} were visited. Take the region "
                "'first', smaller cells or another user."
            )
        return stretches.visited[:wanted]


@dataclass(frozen=True)
class GeolifeWorld(_RecordedWorld):
    """One user of the Geolife data set on a map around 39.98 N 116.32 E, the north-west of Beijing.

    ``user_rank`` counts from 0 among the users who have ``windows`` windows of ``steps`` steps, the
    one with the most data first; see :func:`~.geolife_people.person_of_rank`. So
    another map may mean other users. A walk is one of the user's windows. Receivers lose their
    signal indoors, so long stretches are rare: with steps of several minutes few users have any of
    50 steps, which is why a step is a minute and gaps of ten are crossed unless told otherwise.
    """

    folder: str = ""
    user_rank: int = 0
    steps: int = 50
    windows: int = 100

    def made(self) -> World:
        """Return the world; reads users until the rank is reached."""
        cut = Cut(self.side, self.cell_size, self.minutes, self.longest_gap)
        user, stretches = geolife_people.person_of_rank(
            self.folder, self.user_rank, cut, steps=self.steps, windows=self.windows
        )
        who = f"User {user.name} of Geolife in the north-west of Beijing"
        return self._world("geolife", cut.grid_around(*geolife_people.CENTRE), stretches, who)


@dataclass(frozen=True)
class CityWorld(_RecordedWorld):
    """Somebody in a made-up city as large as the map, followed for ``days`` days.

    From the fixes on, everything is done as with a user of Geolife. Another ``seed`` is another
    city with another person. Measured at the defaults for seeds 1 to 5: 28 to 34 % of the cells
    visited, 12 to 26 % of the steps into another cell, more than 5,000 windows of 50 steps.
    """

    seed: int = 1
    days: int = 90

    def made(self) -> World:
        """Return the world."""
        grid = self.grid_around(*made_up_city.CENTRE)
        stretches = self.stretches(made_up_city.city_dweller(self.seed, grid, self.days), grid)
        who = f"Person {self.seed} of a made-up city in {self.days} days"
        return self._world("city", grid, stretches, who)


_AnyWorld = GaussianWorld | GeolifeWorld | CityWorld
_KINDS: dict[str, type[_AnyWorld]] = {
    "gaussian": GaussianWorld,
    "geolife": GeolifeWorld,
    "city": CityWorld,
}


@lru_cache(maxsize=_MOST_WORLDS)
def _made(settled: _AnyWorld) -> World:
    return settled.made()


def smoothing_of(spec: Mapping[str, Any]) -> Smoothing:
    """Return the choice of smoothing that a mapping of plain values describes.

    >>> smoothing_of({"kind": "maximum_likelihood", "unvisited": "uniform"})
    MaximumLikelihood(unvisited='uniform')
    """
    values = {name: value for name, value in spec.items() if name != "kind"}
    return _SMOOTHINGS[spec["kind"]](**values)


def _sampled(model: MarkovModel, seed: int, steps: int) -> tuple[int, ...]:
    return tuple(model.sample(steps, rng=seed).tolist())


def _first(side: int) -> tuple[int, ...]:
    return tuple(range(side // 2))
