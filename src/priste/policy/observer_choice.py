"""The observer section of a policy: whom the promise is against, as an object and in words."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps import Grid, Region
from priste.mobility import MarkovModel
from priste.policy.sections import ObserverSection
from priste.quantify import AnyStart, Near, Observer, Priors, Stale, Starts

SHARES_TOLERANCE = 1e-6
"""How far the shares in a population file may be from summing to 1; then they are divided by it."""

ANYBODY = "anybody, whatever they believe about where the user began"


@dataclass(frozen=True)
class ChosenObserver:
    """An observer, and who that is in words for a person."""

    observer: Observer
    words: str


def chosen_observer(
    section: ObserverSection | None,
    models: Sequence[MarkovModel],
    regions: Mapping[str, Region],
    step: timedelta,
    folder: Path,
) -> ChosenObserver:
    """Return whom a policy guards against; without the section anybody."""
    if section is None or section.knows == "anything":
        return ChosenObserver(AnyStart(), ANYBODY)
    grid = models[0].grid
    if section.knows == "stale":
        # Fewer steps is a stronger observer: a part of a step is not counted in our favour.
        steps = math.floor(timedelta(hours=section.hours or 0.0) / step)
        return ChosenObserver(
            Stale(steps),
            "an observer who knows how people here move and knew exactly where you were "
            f"{section.hours:g} hours before the first step, and nothing since",
        )
    named = section.also or []
    for name in named:
        if name not in regions:
            raise InvalidParameter(
                f"'also' names regions of this policy. Got {name!r}; known are "
                f"{', '.join(regions) or 'none'}."
            )
    places = " or ".join(named)
    cells = sorted({cell for name in named for cell in regions[name].cells})
    if section.knows == "starts":
        return ChosenObserver(
            Starts(cells), f"anybody who knows that you began in {places}, whatever else they think"
        )
    rows = _populations(section.population, models, grid, folder)
    if section.knows == "near":
        if len(rows) > 1:
            raise InvalidParameter(
                "knows = 'near' takes one population. With several models give a file: "
                "population = 'shares.csv'."
            )
        return ChosenObserver(
            Near(rows[0], section.factor or 1.0),
            "an observer who knows how people here move, and whose odds between any two places "
            f"where you may have begun are within a factor {section.factor:g} of those of people "
            "here",
        )
    known = np.zeros((len(cells), grid.size))
    known[np.arange(len(cells)), cells] = 1.0
    perhaps = f", and perhaps that you began in {places}" if named else ""
    return ChosenObserver(
        Priors(np.vstack([*rows, known])), f"an observer who knows how people here move{perhaps}"
    )


def _populations(
    path: str | None, models: Sequence[MarkovModel], grid: Grid, folder: Path
) -> list[NDArray[np.float64]]:
    """Return where people are at the first step: by a file, or by each model in the long run."""
    if path is None:
        return [model.stationary() for model in models]
    return [read_shares(folder / path, grid)]


def read_shares(path: Path, grid: Grid) -> NDArray[np.float64]:
    """Return the (m,) shares of a CSV file with the columns ``cell`` and ``share``.

    Cells that are not listed have share 0. The shares must sum to 1 within
    ``SHARES_TOLERANCE`` and are then divided by their sum.
    """
    shares = np.zeros(grid.size)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                cell, share = int(row["cell"]), float(row["share"])
                if not 0 <= cell < grid.size or not 0.0 <= share <= 1.0:
                    raise InvalidParameter(
                        f"Line {number} of {path.name}: the cell must be 0 to {grid.size - 1} and "
                        f"the share 0 to 1. Got {cell} and {share:g}."
                    )
                shares[cell] += share
    except OSError as error:
        raise InvalidParameter(f"{path.name} cannot be read: {error.strerror}.") from None
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(
            f"{path.name} must be CSV with the columns 'cell' and 'share', numbers."
        ) from None
    total = float(shares.sum())
    if abs(total - 1.0) > SHARES_TOLERANCE:
        raise InvalidParameter(f"The shares of {path.name} must sum to 1. They sum to {total:.6g}.")
    return shares / total
