"""Is the path on a road network found again? Map matching by leuvenmapmatching.

A lattice of streets, 500 m apart; each walker takes a shortest way, one crossing a step. The event
is to pass one crossing in the middle hours. The matcher knows the streets and every release.
"""

from __future__ import annotations

import itertools
import logging
import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.redteam.attackers import limits
from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.mechanisms.alternatives import coarsened

SIDE, STEPS = 8, 12
GRID = Grid(rows=SIDE, columns=SIDE, cell_size=0.5)
CROSSING = 3 * SIDE + 4
EVENT = presence([CROSSING], range(3, 9))
NOISE = PlanarLaplace(GRID, 4.0)
COARSE = 1.5
TRAINING = 4000
WAYS = ("priste", "exact", "laplace", "coarse:1.5")


def walk(rng: np.random.Generator) -> list[int]:
    """Return the crossings of a shortest way, and the last one until the end."""
    (row, column), (to_row, to_column) = rng.integers(0, SIDE, (2, 2)).tolist()
    moves = [(int(math.copysign(1, to_row - row)), 0)] * abs(to_row - row)
    moves += [(0, int(math.copysign(1, to_column - column)))] * abs(to_column - column)
    cells = [row * SIDE + column]
    for number in rng.permutation(len(moves)).tolist():
        row, column = row + moves[number][0], column + moves[number][1]
        cells.append(row * SIDE + column)
    return (cells + [cells[-1]] * STEPS)[:STEPS]


def model_of(walks: list[list[int]]) -> MarkovModel:
    """Return the moves of walkers, hour by hour alike."""
    counts = 0.01 * np.eye(GRID.size)
    for before, after in itertools.chain.from_iterable(map(itertools.pairwise, walks)):
        counts[before, after] += 1
    return MarkovModel(GRID, counts / counts.sum(axis=1, keepdims=True))


def points_of(way: str, cells: list[int], protector: Protector, rng: Any) -> NDArray[np.float64]:
    """Return the released points (n, 2); silence is left out."""
    if way == "priste":
        shown = [protector.release(cell).cell for cell in cells]
        return GRID.centers[[cell for cell in shown if cell is not None]]
    if way == "exact":
        return GRID.centers[cells]
    table = NOISE.emission() if way == "laplace" else coarsened(GRID, COARSE).mechanism.emission()
    points = GRID.centers if way == "laplace" else coarsened(GRID, COARSE).points
    return points[[int(rng.choice(len(points), p=table[cell])) for cell in cells]]


def streets() -> Any:
    """Return the lattice as a map of leuvenmapmatching."""
    inmem: Any = import_module("leuvenmapmatching.map.inmem")
    found = inmem.InMemMap("lattice", use_latlon=False, index_edges=False)
    for cell in range(GRID.size):
        found.add_node(cell, tuple(GRID.centers[cell].tolist()))
    for cell in range(GRID.size):
        row, column = divmod(cell, SIDE)
        for other_row, other_column in ((row + 1, column), (row, column + 1)):
            if other_row < SIDE and other_column < SIDE:
                other = other_row * SIDE + other_column
                found.add_edge(cell, other)
                found.add_edge(other, cell)
    return found


def matched(network: Any, points: NDArray[np.float64], noise: float) -> list[int]:
    """Return the crossings of the likeliest path."""
    distance: Any = import_module("leuvenmapmatching.matcher.distance")
    matcher = distance.DistanceMatcher(
        network, obs_noise=noise, max_dist_init=3.0, max_dist=3.0, max_lattice_width=20,
        non_emitting_states=True,
    )  # fmt: skip
    matcher.match([tuple(point) for point in points.tolist()])
    return list(matcher.path_pred_onlynodes)


def edges_of(cells: list[int]) -> set[frozenset[int]]:
    """Return the streets that a path takes."""
    return {frozenset(pair) for pair in itertools.pairwise(cells) if pair[0] != pair[1]}


def map_matching(each: int) -> dict[str, Any]:
    """Match ``each`` walkers with the event and as many without, released in every way."""
    logging.getLogger("be.kuleuven.cs.dtai.mapmatching").setLevel(logging.CRITICAL)
    rng = np.random.default_rng(42)
    training = [walk(rng) for _ in range(TRAINING)]
    model = model_of(training)
    start = np.bincount([cells[0] for cells in training], minlength=GRID.size) / TRAINING
    people: dict[bool, list[list[int]]] = {True: [], False: []}
    while min(map(len, people.values())) < each:
        cells = walk(rng)
        if len(people[EVENT.holds(cells)]) < each and len(set(cells)) > 4:
            people[EVENT.holds(cells)].append(cells)
    network = streets()
    rows = {}
    for way in WAYS:
        recalls, precisions, yes = [], [], {True: 0, False: 0}
        noise = 0.05 if way == "exact" else 0.5
        for label, number in itertools.product(people, range(each)):
            cells = people[label][number]
            protector = Protector(
                model, EVENT, NOISE, 1.0, "optimal", number, adversary=KnownPrior(start)
            )
            path = matched(network, points_of(way, cells, protector, rng), noise)
            true, found = edges_of(cells), edges_of(path)
            recalls.append(len(true & found) / len(true))
            precisions.append(len(true & found) / len(found) if found else 0.0)
            yes[label] += CROSSING in path
        low, high = limits(yes[True], each)[0], limits(yes[False], each)[1]
        rows[way] = {
            "recall": round(float(np.mean(recalls)), 3),
            "precision": round(float(np.mean(precisions)), 3),
            "with_event": yes[True] / each,
            "without": yes[False] / each,
            "sure": round(max(0.0, math.log(low / high)) if low > 0 else 0.0, 4),
        }
    return {"rows": rows, "people": 2 * each}
