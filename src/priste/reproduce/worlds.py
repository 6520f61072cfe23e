"""The places on which experiments run: a map, how people move there, and the event's region."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import MarkovModel


@dataclass(frozen=True, eq=False)
class World:
    """A map with a mobility model, the event's region, and walks that follow from a seed."""

    name: str
    grid: Grid
    model: MarkovModel
    region: tuple[int, ...]
    about: str
    walk: Callable[[int, int], tuple[int, ...]]


def world_of(spec: Mapping[str, Any]) -> World:
    """Return the world of a specification of plain values; made once per process."""
    return _made(json.dumps(dict(spec), sort_keys=True))


@lru_cache(maxsize=32)
def _made(text: str) -> World:
    spec = json.loads(text)
    if spec["kind"] not in ("gaussian", "city"):
        raise InvalidParameter(f"Unknown world {spec['kind']!r}.")
    grid = Grid(rows=spec["side"], columns=spec["side"], cell_size=spec.get("cell_size", 1.0))
    sigma = spec.get("sigma", 2.0)
    model = MarkovModel.gaussian(grid, sigma=sigma**0.5 if "sigma_means" in spec else sigma)
    return World(
        "gaussian",
        grid,
        model,
        tuple(range(spec["side"] // 2)),
        "Gaussian.",
        lambda seed, steps: tuple(int(c) for c in np.asarray(model.sample(steps, rng=seed))),
    )
