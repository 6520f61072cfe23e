"""The sections of a policy file as they are written, before they are turned into objects."""

from __future__ import annotations

import difflib
import math
import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from priste.maps import Grid
from priste.mechanisms import LocationSet, Mechanism, mechanisms_of_policies
from priste.policy.calendar import read_when
from priste.policy.windows import Windows
from priste.quantify import BeliefBound, Guarantee, OddsBound
from priste.release import Calibrator
from priste.release.calibrators import CALIBRATORS, DEFAULT_CALIBRATOR
from priste.traces.fixes import microseconds
from priste.traces.zones import zone_of

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1)]
Latitude = Annotated[float, Field(ge=-90, le=90)]
Longitude = Annotated[float, Field(ge=-180, le=180)]
Corner = Annotated[tuple[Latitude, Longitude], Field(strict=False)]  # TOML has no tuples

FamilyMember = Literal["home", "own", "narrow", "wide", "plain", "day", "week", "roaming"]
"""A model of the family of a mobility section. "home" is the section's own model. The others are
the person's own history, another width or memory, or a model without a home."""

HOME_KEYS = frozenset(
    {"home", "stay_home", "stay_home_at_night", "back_home", "back_home_at_night"}
)
"""What a mobility section of any kind may say about the user's home."""

Memory = Literal["auto", "none", "parts", "hours", "week"]
"""How much of the clock a fitted model knows; "auto" is what predicts best those left out."""

Outside = Literal["refuse", "nearest", "off-map", "gap"]
"""What becomes of a fix off the map."""

UNKNOWN = "unknown_parameter"
"""The type of the error about a key of [release] that the calibrator does not know."""

MOST_STEPS = 1_000_000
"""The longest stream; more is taken for a wrong unit, and nobody would wait for it."""


_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|min|m|h|hour|hours|d|day|days)")
_UNIT = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "hours": 3600}
_UNIT |= {"d": 86400, "day": 86400, "days": 86400}


def read_length(text: str) -> timedelta:
    """Read a length of time above zero, such as 90s, 30min or 2h.

    >>> read_length("30min")
    datetime.timedelta(seconds=1800)
    """
    found = _LENGTH.fullmatch(text.strip())
    try:
        length = timedelta(seconds=float(found[1]) * _UNIT[found[2]]) if found else timedelta()
    except OverflowError:
        raise ValueError("this is too long") from None
    if not length:
        raise ValueError("write a length like '30min' or '1h'")
    return length


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
    lattice: Corner | None = None


class ClockSection(Section):
    """When steps begin and how long they are."""

    start: datetime | date
    step: str
    steps: Annotated[int, Field(gt=0, le=MOST_STEPS)] | None = None
    end: datetime | date | None = None
    zone: str = "UTC"
    rule: Literal["nearest", "any"] = "nearest"

    @field_validator("step")
    @classmethod
    def _a_length(cls, text: str) -> str:
        read_length(text)
        return text

    @field_validator("zone")
    @classmethod
    def _a_zone(cls, name: str) -> str:
        zone_of(name)
        return name

    @model_validator(mode="after")
    def _one_length(self) -> ClockSection:
        if (self.steps is None) == (self.end is None):
            raise ValueError("give either 'steps' (how many) or 'end' (a time), not both or none")
        return self

    @property
    def step_length(self) -> timedelta:
        """How long a step is."""
        return read_length(self.step)

    @property
    def begin(self) -> datetime:
        """When step 0 begins; a date alone means its midnight."""
        return as_datetime(self.start)


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
    memory: Memory | None = None
    away_hours: Positive | None = None
    away_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    home: str | None = None
    stay_home: Share | None = None
    stay_home_at_night: Share | None = None
    back_home: Share | None = None
    back_home_at_night: Share | None = None
    family: list[FamilyMember] | None = Field(default=None, min_length=1)
    family_mode: Literal["each", "joint"] | None = None
    public: Literal[True] | None = None

    @model_validator(mode="after")
    def _what_each_kind_needs(self) -> MobilitySection:
        needs = {"gaussian": "sigma", "stay-or-go": "stay", "fit": "traces", "saved": "path"}
        takes = {
            "stay-or-go": {"stay", "stay_at_night", "decay", "away_hours", "away_share"},
            "gaussian": {"sigma", "away_hours", "away_share"},
            "fit": {"traces", "format", "memory", "public"},
            "saved": {"path"},
        }
        needed = needs[self.kind]
        if getattr(self, needed) is None:
            raise ValueError(f"kind = {self.kind!r} needs '{needed}'")
        for name in type(self).model_fields:
            given = name != "kind" and getattr(self, name) is not None
            if given and name not in takes[self.kind] | HOME_KEYS | {"family", "family_mode"}:
                raise ValueError(f"kind = {self.kind!r} does not take '{name}'")
        self._check_home()
        self._check_family()
        return self

    @property
    def members(self) -> tuple[FamilyMember, ...]:
        """The models that are guarded next to the section's own; all of them where it knows a home.

        "own" is guarded of a person who has days before the clock.
        """
        if self.family is not None:
            return tuple(member for member in self.family if member != "home")
        return ("own",) if self.home is None else ("own", "roaming")

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
        if not {"home", "roaming"}.isdisjoint(family) and self.home is None:
            raise ValueError(
                "'home' and 'roaming' in 'family' are the models with and without the 'home' of "
                "this section, and it names none"
            )
        further = {"fit": {"narrow", "wide", "plain", "day", "week"}, "saved": set()}
        known = {"home", "own", "roaming"} | further.get(self.kind, {"narrow", "wide"})
        if not set(family) <= known:
            raise ValueError(f"the 'family' of kind = {self.kind!r} is of {sorted(known)}")


class MechanismSection(Section):
    """How a location is perturbed.

    The table of mechanisms knows the kinds and their parameters. With ``delta``, one that does not
    take it itself draws among the cells where the user may well be.
    """

    model_config = ConfigDict(extra="allow")

    kind: str
    alpha: Positive | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] | None = None

    @field_validator("kind")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in (known := mechanisms_of_policies()):
            raise ValueError(f"a mechanism is one of {', '.join(sorted(known))}")
        return name

    @property
    def _given(self) -> dict[str, Any]:
        found = {"alpha": self.alpha, "delta": self.delta, **(self.model_extra or {})}
        return {name: value for name, value in found.items() if value is not None}

    @model_validator(mode="after")
    def _what_each_kind_needs(self) -> MechanismSection:
        _, needed = mechanisms_of_policies()[self.kind]
        for name in self.model_extra or {}:
            if name not in needed:
                raise unknown_key(name, [*type(self).model_fields, *needed])
        for name, meaning in needed.items():
            if name not in self._given:
                raise ValueError(f"kind = {self.kind!r} needs {name!r} ({meaning})")
        if self.alpha is not None and "alpha" not in needed:
            raise ValueError(f"kind = {self.kind!r} does not take 'alpha'")
        return self

    def make(self, grid: Grid) -> Mechanism:
        """Return the mechanism on a map; parameters that are wrong raise InvalidParameter."""
        make, needed = mechanisms_of_policies()[self.kind]
        parameters = {name: value for name, value in self._given.items() if name in needed}
        made = make(grid, **parameters)
        return (
            made if self.delta is None or "delta" in parameters else LocationSet(made, self.delta)
        )


class GuaranteeSection(Section):
    """What is bounded: odds both ways, odds in one direction or each its own, or a belief.

    ``guarded_hours`` is how long they last before and after an event: a length, "auto" or "off".
    """

    epsilon: Positive | None = None
    odds_up: Positive | None = None
    odds_down: Positive | None = None
    belief_at_most: Annotated[float, Field(gt=0, lt=1)] | None = None
    guarded_hours: str | None = None

    @field_validator("guarded_hours")
    @classmethod
    def _a_pad(cls, text: str | None) -> str | None:
        if text not in (None, "auto", "off"):
            read_length(text)
        return text

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


class ReleaseSection(Section):
    """How releases are made and written.

    The parameters of the calibrator stand here too; the table of calibrators knows them.
    """

    model_config = ConfigDict(extra="allow")

    calibrator: str = DEFAULT_CALIBRATOR
    no_guarantee: bool = False
    outside: Outside = "refuse"

    @field_validator("calibrator")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in CALIBRATORS:
            raise ValueError(f"a calibrator is one of {', '.join(CALIBRATORS)}")
        return name

    @property
    def parameters(self) -> dict[str, Any]:
        """What stands in the section for the calibrator."""
        return dict(self.model_extra or {})

    def make_calibrator(self) -> Calibrator:
        """Return the calibrator with its parameters; they raise InvalidParameter if wrong."""
        named = CALIBRATORS[self.calibrator]
        return named.make(**{**named.in_policies, **self.parameters})

    @model_validator(mode="after")
    def _known_parameters(self) -> ReleaseSection:
        known = [*type(self).model_fields, *CALIBRATORS[self.calibrator].parameters]
        for name in self.parameters:
            if name not in known:
                raise unknown_key(name, known)
        return self

    @model_validator(mode="after")
    def _what_is_guaranteed(self) -> ReleaseSection:
        if not CALIBRATORS[self.calibrator].guaranteed and not self.no_guarantee:
            raise ValueError(
                f"calibrator = {self.calibrator!r} guarantees nothing: what is learnt from its "
                "releases may be anything. To use it all the same, for comparison, say "
                "no_guarantee = true"
            )
        if CALIBRATORS[self.calibrator].guaranteed and self.no_guarantee:
            raise ValueError(
                f"calibrator = {self.calibrator!r} keeps a guarantee; leave no_guarantee out"
            )
        if self.outside == "gap" and CALIBRATORS[self.calibrator].guaranteed:
            raise ValueError(
                "outside = 'gap' is silent exactly when the user is off the map, so silence "
                "reveals where they are and the guarantee would not hold. Use 'off-map' (a place "
                "of its "
                "own around the map), 'nearest' (the border cell), or a larger map"
            )
        return self


class AdversarySection(Section):
    """The adversary that the guarantee is against."""

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

    ``cells`` count on the map as [map] states it, row by row from the south-west, whatever
    ``outside`` adds around it. A personal place is nowhere until it is said where a person's is.
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
    """Something that must stay deniable.

    With ``together`` this many neighbouring days or weeks of a recurring event, its ``span``, are
    guarded together.
    """

    formula: str
    every: Literal["day", "week"] | None = None
    together: Literal["days", "weeks"] | None = None
    span: Annotated[int, Field(ge=2, le=4)] | None = None

    @model_validator(mode="after")
    def _neighbours_of_a_recurring_event(self) -> EventSection:
        if (self.together is None) != (self.span is None):
            raise ValueError("give 'together' and 'span' together, as together = 'weeks', span = 2")
        if self.together is not None and self.together != f"{self.every}s":
            raise ValueError(f"together = {self.together!r} needs every = {self.together[:-1]!r}")
        return self


class SecretSection(GuaranteeSection):
    """Several answers that must not be distinguished: events together, or one event an answer.

    ``together`` names events of the policy, which are then guarded here and not by themselves.
    ``answers`` maps the names of answers to formulas that exclude each other, in every day or week
    if ``every`` says so.
    """

    together: list[str] | None = Field(default=None, min_length=2)
    answers: dict[str, str] | None = Field(default=None, min_length=1)
    every: Literal["day", "week"] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> SecretSection:
        if (self.together is None) == (self.answers is None):
            raise ValueError("give 'together' (names of events) or 'answers' (name = formula)")
        if self.together is not None and self.every is not None:
            raise ValueError("'every' belongs to the events that are guarded together")
        if self.together is not None and len(set(self.together)) < len(self.together):
            raise ValueError("'together' names each event once")
        return self


class DraftedSection(Section):
    """The hours that were not read when the policy was drafted, with ``margin`` on both sides.

    Each is a time of the day or week, or a stretch from one clock time to another, as
    "2026-03-04T14:00..2026-03-04T16:00".
    """

    without: list[str] = Field(min_length=1)
    margin: str | None = None

    @model_validator(mode="after")
    def _readable(self) -> DraftedSection:
        self.windows(UTC)
        return self

    def windows(self, zone: tzinfo) -> Windows:
        """Return these hours as clocks of a zone show them."""
        spans = []
        for text in self.without:
            if ".." in text:
                begin, end = (
                    microseconds(datetime.fromisoformat(each).replace(tzinfo=zone))
                    for each in text.split("..", 1)
                )
                spans.append((begin, end))
        whens = tuple(read_when(text) for text in self.without if ".." not in text)
        margin = timedelta(0) if self.margin is None else read_length(self.margin)
        return Windows(whens, tuple(spans), zone, margin)


def unknown_key(name: str, known: list[str]) -> PydanticCustomError:
    """Return the error about a key that is not known, with the closest one that is."""
    return PydanticCustomError(
        UNKNOWN, "{words}", {"key": name, "words": did_you_mean(name, known)}
    )


def did_you_mean(name: str, known: list[str]) -> str:
    """Say that a key is unknown and which one may be meant.

    >>> did_you_mean("paec", ["pace", "points"])
    "unknown key; did you mean 'pace'?"
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"unknown key; {hint}"


def as_datetime(value: datetime | date) -> datetime:
    """Return a datetime; a date alone is its midnight."""
    return value if isinstance(value, datetime) else datetime.combine(value, time.min)
