"""The sections of a policy file as they are written, before they are turned into objects."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from priste.quantify import BeliefBound, Guarantee, OddsBound
from priste.release.calibrators import CALIBRATORS, DEFAULT_CALIBRATOR, RETIRED

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1)]
Latitude = Annotated[float, Field(ge=-90, le=90)]
Longitude = Annotated[float, Field(ge=-180, le=180)]
Corner = Annotated[tuple[Latitude, Longitude], Field(strict=False)]  # TOML has no tuples

FamilyMember = Literal["narrow", "wide", "plain", "day", "week", "roaming"]
"""A further model beside that of a mobility section: another width or memory, or no home."""

HOME_KEYS = frozenset(
    {"home", "stay_home", "stay_home_at_night", "back_home", "back_home_at_night"}
)
"""What a mobility section of any kind may say about the user's home."""

Memory = Literal["auto", "none", "parts", "hours", "week"]
"""How much of the clock a fitted model knows; "auto" is what predicts best those left out."""

Outside = Literal["refuse", "nearest", "elsewhere", "gap"]
"""What becomes of a fix beyond the map."""

MOST_STEPS = 1_000_000
"""The longest stream; more is taken for a wrong unit, and nobody would wait for it."""


class Section(BaseModel):
    """What all sections share: no unknown keys, no silent conversions, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class MapSection(Section):
    """The part of the earth that is cut into cells."""

    south: Latitude
    west: Longitude
    north: Latitude
    east: Longitude
    cell_size: Positive


class ClockSection(Section):
    """When steps begin and how long they are."""

    start: datetime | date
    step: str
    steps: Annotated[int, Field(gt=0, le=MOST_STEPS)] | None = None
    end: datetime | date | None = None
    zone: str = "UTC"
    rule: Literal["nearest", "majority", "interpolated", "any"] = "nearest"

    @model_validator(mode="after")
    def _one_length(self) -> ClockSection:
        if (self.steps is None) == (self.end is None):
            raise ValueError("give either 'steps' (how many) or 'end' (a time), not both or none")
        return self


class MobilitySection(Section):
    """How people move: what the adversary is taken to know."""

    kind: Literal["gaussian", "stay-or-go", "fit", "saved"]
    sigma: Positive | None = None
    stay: Share | None = None
    stay_at_night: Share | None = None
    decay: Annotated[float, Field(ge=0.5, le=8, multiple_of=0.5)] | None = None
    traces: str | list[str] | None = None
    format: str | None = None
    path: str | None = None
    cycle: Literal["day", "week"] | None = None
    memory: Memory | None = None
    away_hours: Positive | None = None
    away_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    home: str | None = None
    stay_home: Share | None = None
    stay_home_at_night: Share | None = None
    back_home: Share | None = None
    back_home_at_night: Share | None = None
    family: list[FamilyMember] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _what_each_kind_needs(self) -> MobilitySection:
        needs = {"gaussian": "sigma", "stay-or-go": "stay", "fit": "traces", "saved": "path"}
        takes = {
            "stay-or-go": {"stay", "stay_at_night", "decay", "away_hours", "away_share", "family"},
            "gaussian": {"sigma", "away_hours", "away_share", "family"},
            "fit": {"traces", "format", "cycle", "memory", "sigma", "family"},
            "saved": {"path"},
        }
        needed = needs[self.kind]
        if getattr(self, needed) is None:
            raise ValueError(f"kind = {self.kind!r} needs '{needed}'")
        for name in type(self).model_fields:
            given = name != "kind" and getattr(self, name) is not None
            if given and name not in takes[self.kind] | HOME_KEYS:
                raise ValueError(f"kind = {self.kind!r} does not take '{name}'")
        if self.memory is not None and (self.cycle is not None or self.sigma is not None):
            raise ValueError("give 'memory', or 'cycle' and 'sigma' of the plain fit, not both")
        self._check_home()
        self._check_family()
        return self

    def _check_home(self) -> None:
        habits = sorted(name for name in HOME_KEYS - {"home"} if getattr(self, name) is not None)
        if self.home is None and habits:
            raise ValueError(f"'{habits[0]}' needs 'home', the name of a region")
        half = (self.stay_home is None) != (self.back_home is None)
        if half or (self.stay_home is None and habits):
            raise ValueError("give 'stay_home' and 'back_home' together")
        if self.home is not None and self.kind != "fit" and not habits:
            raise ValueError(
                f"'home' with kind = {self.kind!r} needs 'stay_home' and 'back_home', the chances "
                "to be home a step later of those who are there and of those who are not"
            )

    def _check_family(self) -> None:
        family = self.family or []
        if len(set(family)) < len(family):
            raise ValueError("'family' names each of its members once")
        if "roaming" in family and self.home is None:
            raise ValueError(
                "'roaming' in 'family' is the model without its 'home', and there is none"
            )
        if self.kind != "fit" and not set(family) <= {"narrow", "wide", "roaming"}:
            raise ValueError(f'the \'family\' of kind = {self.kind!r} is of "narrow" and "wide"')
        if self.memory is None and (self.cycle or "plain") in family:
            raise ValueError(
                f"'family' names further models; {self.cycle or 'plain'!r} is the section's own"
            )


class MechanismSection(Section):
    """How a location is perturbed."""

    kind: Literal["planar-laplace", "planar-isotropic", "identity", "uniform"]
    alpha: Positive | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _what_each_kind_needs(self) -> MechanismSection:
        noisy = self.kind in ("planar-laplace", "planar-isotropic")
        if noisy and self.alpha is None:
            raise ValueError(f"kind = {self.kind!r} needs 'alpha' (per km)")
        if not noisy and self.alpha is not None:
            raise ValueError(f"kind = {self.kind!r} does not take 'alpha'")
        if self.kind == "planar-isotropic" and self.delta is None:
            raise ValueError("kind = 'planar-isotropic' needs 'delta', for its location set")
        return self


class GuaranteeSection(Section):
    """What is bounded: odds both ways, odds in one direction or each its own, or a belief."""

    epsilon: Positive | None = None
    odds_up: Positive | None = None
    odds_down: Positive | None = None
    belief_at_most: Annotated[float, Field(gt=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _one_guarantee(self) -> GuaranteeSection:
        odds = self.odds_up is not None or self.odds_down is not None
        given = (self.epsilon is not None) + odds + (self.belief_at_most is not None)
        if given > 1:
            raise ValueError(
                "give one guarantee: 'epsilon' (both ways), 'odds_up' and 'odds_down' (each "
                "way its own; one left out is not bounded), or 'belief_at_most'"
            )
        return self

    def guarantee(self) -> Guarantee | None:
        """Return what is guaranteed here, None if nothing is said."""
        if self.epsilon is not None:
            return OddsBound(self.epsilon, self.epsilon)
        if self.belief_at_most is not None:
            return BeliefBound(self.belief_at_most)
        if self.odds_up is not None or self.odds_down is not None:
            return OddsBound(self.odds_up or math.inf, self.odds_down or math.inf)
        return None


class ReleaseSection(GuaranteeSection):
    """What is guaranteed and how releases are made and written.

    The parameters of the calibrator stand here too; the table of calibrators knows them.
    """

    calibrator: str = DEFAULT_CALIBRATOR
    no_guarantee: bool = False
    points: Literal["centre", "random"] = "centre"
    outside: Outside = "refuse"

    @field_validator("calibrator")
    @classmethod
    def _known(cls, name: str) -> str:
        if name in RETIRED:
            raise ValueError(f"the calibrator {name} was retired; its successor is {RETIRED[name]}")
        if name not in CALIBRATORS:
            raise ValueError(f"a calibrator is one of {', '.join(CALIBRATORS)}")
        return name

    @model_validator(mode="after")
    def _what_is_guaranteed(self) -> ReleaseSection:
        if not CALIBRATORS[self.calibrator].guarantee and not self.no_guarantee:
            raise ValueError(
                f"calibrator = {self.calibrator!r} guarantees nothing: what is learnt from its "
                "releases may be anything. To use it all the same, for comparison, say "
                "no_guarantee = true"
            )
        if CALIBRATORS[self.calibrator].guarantee and self.no_guarantee:
            raise ValueError(
                f"calibrator = {self.calibrator!r} keeps a guarantee; leave no_guarantee out"
            )
        if self.outside == "gap" and CALIBRATORS[self.calibrator].guarantee:
            raise ValueError(
                "outside = 'gap' is silent exactly when the user is off the map, so silence tells "
                "where they are and the guarantee would not hold. Use 'elsewhere' (a place of its "
                "own around the map), 'nearest' (the border cell), or a larger map"
            )
        return self


class AdversarySection(Section):
    """Whom the guarantee is against."""

    knows: Literal["anything", "population", "near", "stale", "starts"]
    factor: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None
    hours: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    also: list[str] | None = Field(default=None, min_length=1)
    population: str | None = None

    @model_validator(mode="after")
    def _what_each_kind_takes(self) -> AdversarySection:
        takes = {
            "anything": set(),
            "population": {"also", "population"},
            "near": {"factor", "population"},
            "stale": {"hours"},
            "starts": {"also"},
        }[self.knows]
        needs = {"near": "factor", "stale": "hours", "starts": "also"}.get(self.knows)
        if needs is not None and getattr(self, needs) is None:
            raise ValueError(f"knows = {self.knows!r} needs '{needs}'")
        for name in ("factor", "hours", "also", "population"):
            if getattr(self, name) is not None and name not in takes:
                raise ValueError(f"knows = {self.knows!r} does not take '{name}'")
        return self


class Circle(Section):
    """A disc on the earth."""

    lat: Latitude
    lon: Longitude
    radius_km: Positive


class Box(Section):
    """A box of degrees."""

    south: Latitude
    west: Longitude
    north: Latitude
    east: Longitude


class RegionSection(Section):
    """A named place, in exactly one of five ways, or one that is everybody's ``own``.

    That is nowhere but for those of whom it is said where theirs is.
    """

    circle: Circle | None = None
    box: Box | None = None
    polygon: list[Corner] | None = Field(default=None, strict=False, min_length=3)
    geojson: str | None = None
    cells: list[Annotated[int, Field(ge=0)]] | None = Field(default=None, min_length=1)
    own: Literal[True] | None = None
    cover: Literal["touching", "centers"] = "touching"

    @model_validator(mode="after")
    def _exactly_one_shape(self) -> RegionSection:
        shapes = ("circle", "box", "polygon", "geojson", "cells", "own")
        given = [name for name in shapes if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a region has exactly one of {', '.join(shapes)}; got {', '.join(given) or 'none'}"
            )
        return self


class EventSection(GuaranteeSection):
    """Something that must stay deniable."""

    formula: str
    every: Literal["day", "week"] | None = None
