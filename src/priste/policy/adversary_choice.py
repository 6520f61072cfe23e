"""The adversary section of a policy: the adversary of the guarantee, as an object and in words."""

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
from priste.policy.sections import AdversarySection
from priste.quantify import (
    Adversary,
    AnyPrior,
    Family,
    KnownPrior,
    LastSeen,
    PriorsWithin,
    StartsIn,
)
from priste.quantify.adversaries.per_model import PerModel

SHARES_TOLERANCE = 1e-6
"""How far the shares in a population file may be from summing to 1; then they are divided by it."""

ASSUMED = "What is assumed, and what is not covered, is in docs/explanation/threat-model.md."
"""What stands next to every guarantee and every verdict."""

ANY_PRIOR = "an adversary who may hold any belief about where the user began"

PEOPLE = "people here"
"""The words for people who move by a model of the population."""


@dataclass(frozen=True)
class ChosenAdversary:
    """An adversary, and its description in words."""

    adversary: Adversary
    words: str


@dataclass(frozen=True, eq=False)
class AdversaryChoice:
    """The adversary of a policy, without the models that give "how people here move".

    ``shares`` (m,) is a population from a file, None for that of the models; ``places`` are the
    regions that 'also' names, with their cells.
    """

    section: AdversarySection | None
    shares: NDArray[np.float64] | None
    places: Mapping[str, tuple[int, ...]]
    step: timedelta

    @classmethod
    def read(
        cls,
        section: AdversarySection | None,
        grid: Grid,
        regions: Mapping[str, Region],
        step: timedelta,
        folder: Path,
    ) -> AdversaryChoice:
        """Return what the section says; None means any prior."""
        named = (section.also if section is not None else None) or []
        for name in named:
            if name not in regions:
                raise InvalidParameter(
                    f"must name regions of this policy: {', '.join(regions) or 'none'}",
                    parameter="also",
                    value=name,
                )
        file = None if section is None else section.population
        shares = None if file is None else read_shares(folder / file, grid)
        return cls(section, shares, {name: tuple(regions[name].cells) for name in named}, step)

    def adversary(
        self,
        models: Sequence[MarkovModel],
        movers: Sequence[str] = (PEOPLE,),
        family: Family = "joint",
    ) -> ChosenAdversary:
        """Return the adversary of people who move by these models; ``movers`` says who they are.

        With ``family="each"`` an adversary who holds a model holds its own population, too.
        """
        moves = _movement(movers, family)
        found = [self._adversary([model], moves) for model in models]
        if family == "joint" or len(models) == 1 or not found[0].adversary.states_prior:
            return self._adversary(models, moves)
        return ChosenAdversary(PerModel(tuple(x.adversary for x in found)), found[0].words)

    def _adversary(self, models: Sequence[MarkovModel], moves: str) -> ChosenAdversary:
        section = self.section
        if section is None or section.knows == "anything":
            return ChosenAdversary(AnyPrior(), ANY_PRIOR)
        if section.knows == "stale":
            # Fewer steps is a stronger adversary: a part of a step is not counted in our favour.
            steps = math.floor(timedelta(hours=section.hours or 0.0) / self.step)
            return ChosenAdversary(
                LastSeen(steps),
                f"an adversary who {moves} and knew exactly where you were "
                f"{section.hours:g} hours before the first step, and nothing since",
            )
        places = " or ".join(self.places)
        cells = sorted({cell for listed in self.places.values() for cell in listed})
        if section.knows == "starts":
            return ChosenAdversary(
                StartsIn(cells),
                f"an adversary who knows that you began at {places}, and may believe anything else",
            )
        rows = [self.shares] if self.shares is not None else [m.stationary() for m in models]
        if section.knows == "near":
            if len(rows) > 1:
                raise InvalidParameter(
                    "must not be 'near' with several models jointly: it takes one population",
                    parameter="knows",
                    hint="Give a file: population = 'shares.csv'.",
                )
            return ChosenAdversary(
                PriorsWithin(rows[0], section.factor or 1.0),
                f"an adversary who {moves}, and whose odds between any two places "
                f"where you may have begun are within a factor {section.factor:g} of those of "
                "people here",
            )
        known = np.zeros((len(cells), models[0].grid.size))
        known[np.arange(len(cells)), cells] = 1.0
        perhaps = f", and perhaps knows that you began at {places}" if places else ""
        return ChosenAdversary(
            KnownPrior(np.vstack([*rows, known])),
            f"an adversary who {moves}{perhaps}",
        )


def _movement(movers: Sequence[str], family: Family) -> str:
    """Return what is known of movement, as the end of "an adversary who ...".

    >>> _movement(["people here"], "each")
    'knows how people here move'
    >>> _movement(["people here", "your own earlier days"], "each")
    'knows one of 2 models of how you move (people here; your own earlier days)'
    """
    if len(movers) == 1:
        return f"knows how {movers[0]} move"
    listed = "; ".join(movers)
    if family == "joint":
        return f"does not know which of {len(movers)} models you move by ({listed})"
    return f"knows one of {len(movers)} models of how you move ({listed})"


def adversary_section(words: str) -> AdversarySection:
    """Read an adversary as commands write it: the policy's word, and its value after a colon.

    >>> adversary_section("near:3").factor, adversary_section("starts:home").also
    (3.0, ['home'])
    """
    kind, _, value = words.partition(":")
    fields: dict[str, object] = {"knows": kind}
    takes = {"near": "factor", "stale": "hours", "starts": "also"}.get(kind)
    try:
        if takes == "also":
            fields[takes] = [name.strip() for name in value.split(",") if name.strip()] or None
        elif takes is not None:
            fields[takes] = float(value)
        elif value:
            raise ValueError(f"{kind!r} takes no value")
        return AdversarySection.model_validate(fields)
    except ValueError as error:
        raise InvalidParameter(
            "must be anything, population, near:FACTOR (>= 1), stale:HOURS (>= 0) or starts:REGION",
            parameter="adversary",
            value=words,
        ) from error


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
                        f"must have cells 0 to {grid.size - 1} and shares 0 to 1, in line {number} "
                        f"of {path.name}",
                        got=f"{cell} and {share:g}",
                        parameter="population",
                    )
                shares[cell] += share
    except OSError as error:
        raise InvalidParameter(
            f"cannot be read: {error.strerror}", parameter=path.name, owner="the policy"
        ) from None
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(
            "must be CSV with the columns 'cell' and 'share', numbers",
            parameter=path.name,
            owner="the policy",
        ) from None
    total = float(shares.sum())
    if abs(total - 1.0) > SHARES_TOLERANCE:
        raise InvalidParameter(
            f"must have shares that sum to 1, in {path.name}",
            got=f"a sum of {total:.6g}",
            parameter="population",
        )
    return shares / total
