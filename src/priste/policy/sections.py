"""The sections of a policy file as they are written, before they are turned into objects."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Latitude = Annotated[float, Field(ge=-90, le=90)]
Longitude = Annotated[float, Field(ge=-180, le=180)]
Corner = Annotated[tuple[Latitude, Longitude], Field(strict=False)]  # TOML has no tuples

MOST_STEPS = 10_000_000
"""The longest stream; more is taken for a wrong unit."""


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
    rule: Literal["nearest", "majority", "interpolated"] = "nearest"

    @model_validator(mode="after")
    def _one_length(self) -> ClockSection:
        if (self.steps is None) == (self.end is None):
            raise ValueError("give either 'steps' (how many) or 'end' (a time), not both or none")
        return self


class MobilitySection(Section):
    """How people move: what the adversary is taken to know."""

    kind: Literal["gaussian", "fit", "saved"]
    sigma: Positive | None = None
    traces: str | None = None
    format: str | None = None
    path: str | None = None
    cycle: Literal["day", "week"] | None = None

    @model_validator(mode="after")
    def _what_each_kind_needs(self) -> MobilitySection:
        needs = {"gaussian": "sigma", "fit": "traces", "saved": "path"}
        takes = {
            "gaussian": {"sigma"},
            "fit": {"traces", "format", "cycle", "sigma"},
            "saved": {"path"},
        }
        needed = needs[self.kind]
        if getattr(self, needed) is None:
            raise ValueError(f"kind = {self.kind!r} needs '{needed}'")
        for name in ("sigma", "traces", "format", "path", "cycle"):
            if getattr(self, name) is not None and name not in takes[self.kind]:
                raise ValueError(f"kind = {self.kind!r} does not take '{name}'")
        return self


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


class ReleaseSection(Section):
    """What is promised and how releases are made and written."""

    epsilon: Positive
    calibrator: Literal["certified", "remap", "optimal", "paper"] = "certified"
    pace: Annotated[float, Field(gt=0, le=1)] | None = None
    seconds: Positive | None = None
    points: Literal["centre", "random"] = "centre"
    outside: Literal["refuse", "nearest", "gap"] = "refuse"

    @model_validator(mode="after")
    def _what_each_calibrator_takes(self) -> ReleaseSection:
        if self.pace is not None and self.calibrator == "paper":
            raise ValueError("'pace' belongs to the calibrators 'certified', 'remap', 'optimal'")
        if self.seconds is not None and self.calibrator != "optimal":
            raise ValueError("'seconds' belongs to calibrator = 'optimal'")
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
    """A named place, in exactly one of five ways."""

    circle: Circle | None = None
    box: Box | None = None
    polygon: list[Corner] | None = Field(default=None, strict=False, min_length=3)
    geojson: str | None = None
    cells: list[Annotated[int, Field(ge=0)]] | None = Field(default=None, min_length=1)
    cover: Literal["touching", "centers"] = "touching"

    @model_validator(mode="after")
    def _exactly_one_shape(self) -> RegionSection:
        shapes = ("circle", "box", "polygon", "geojson", "cells")
        given = [name for name in shapes if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a region has exactly one of {', '.join(shapes)}; got {', '.join(given) or 'none'}"
            )
        return self


class EventSection(Section):
    """Something that must stay deniable."""

    formula: str
    epsilon: Positive | None = None
    every: Literal["day", "week"] | None = None
