"""The policy document: what a person writes, as TOML, as JSON and as one checked value."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from priste.errors import PolicyError
from priste.policy.mistakes import Mistakes
from priste.policy.sections import (
    AdversarySection,
    ClockSection,
    DraftedSection,
    EventSection,
    GuaranteeSection,
    MapSection,
    MechanismSection,
    MobilitySection,
    RegionSection,
    ReleaseSection,
    SecretSection,
    Section,
)

ORDER = (
    "map", "clock", "mobility", "mechanism", "adversary", "guarantee", "release", "regions",
    "events", "secrets", "drafted",
)  # fmt: skip
"""The order in which sections are written."""


NOTHING_GUARDED = PydanticCustomError(
    "nothing_guarded", "name at least one event; write [events.NAME]"
)


class GroundDocument(Section):
    """The map and the clock of a policy; the rest is ignored."""

    model_config = ConfigDict(extra="ignore")

    map: MapSection
    clock: ClockSection
    adversary: AdversarySection | None = None
    release: ReleaseSection = ReleaseSection()

    @classmethod
    def from_json(cls, value: object, name: str = "The policy") -> Self:
        """Read a document from JSON, a value or its text; moments are ISO 8601 texts."""
        text = value if isinstance(value, str | bytes) else json.dumps(value)
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise cls._mistaken(error, Mistakes("", name)) from None

    @classmethod
    def _mistaken(cls, error: ValidationError, mistakes: Mistakes) -> PolicyError:
        mistakes.add_faults(cls, error)
        return mistakes.error()


class Document(GroundDocument):
    """A policy as it is written: every section checked by itself, nothing computed yet.

    The keys that were not written keep their defaults and are not written back.

    >>> document = Document.from_toml(EXAMPLE)
    >>> Document.from_json(document.to_json()) == Document.from_toml(document.to_toml()) == document
    True
    """

    model_config = ConfigDict(extra="forbid")

    mobility: list[MobilitySection] = Field(min_length=1)
    mechanism: MechanismSection
    guarantee: GuaranteeSection = GuaranteeSection()
    regions: dict[str, RegionSection] = Field(default_factory=dict)
    events: dict[str, EventSection] = Field(default_factory=dict)
    secrets: dict[str, SecretSection] = Field(default_factory=dict)
    drafted: DraftedSection | None = None

    @field_validator("mobility", mode="before")
    @classmethod
    def _one_or_several(cls, given: Any) -> Any:
        return [given] if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _something_to_guard(self) -> Document:
        if not self.events and not self.secrets:
            raise NOTHING_GUARDED
        return self

    @classmethod
    def from_toml(cls, text: str, name: str = "The policy") -> Document:
        """Read a document from TOML; PolicyError lists every mistake of form, with its line."""
        try:
            return cls.model_validate(read_tables(text, name))
        except ValidationError as error:
            raise cls._mistaken(error, Mistakes(text, name)) from None

    @classmethod
    def load(cls, path: str | Path) -> Document:
        """Read a document from a file."""
        return cls.from_toml(text_of(Path(path)), Path(path).name)

    def to_json(self) -> dict[str, Any]:
        """Return what was written as JSON values."""
        return self._written("json")

    def to_toml(self, onto: str = "") -> str:
        """Return the document as TOML.

        ``onto`` is a text that a person wrote. Entries with the same meaning stay as they are, with
        their comments and order. The rest is changed, added or removed.
        """
        import tomlkit

        target = tomlkit.parse(onto)
        _update(target, self._written("python"))
        return tomlkit.dumps(target).lstrip("\n")

    def _written(self, mode: str) -> dict[str, Any]:
        found = self.model_dump(mode=mode, exclude_unset=True)
        if len(self.mobility) == 1:
            found["mobility"] = found["mobility"][0]
        return {name: found[name] for name in ORDER if name in found}

    def files(self, folder: Path) -> dict[str, Path]:
        """Return the files that the document names, by words for what they are."""
        found = {}
        for section in self.mobility:
            traces = [section.traces] if isinstance(section.traces, str) else section.traces
            for path in filter(None, [section.path, *(traces or [])]):
                found[f"model's file {path} of the policy"] = folder / path
        for region in self.regions.values():
            if region.geojson is not None:
                found[f"region file {region.geojson} of the policy"] = folder / region.geojson
        if self.adversary is not None and self.adversary.population is not None:
            found["population file of the policy"] = folder / self.adversary.population
        return found


def text_of(path: Path, what: str = "policy file") -> str:
    """Return the text of a policy file, or of ``what`` is written like one."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        command = "priste init" if what == "policy file" else "priste live setup"
        raise PolicyError(
            f"There is no {what} {str(path)!r}.", hint=f"Write one with: {command}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"The {what} {str(path)!r} cannot be read: {error}.") from error


def read_tables(text: str, name: str) -> dict[str, Any]:
    """Return the tables of a TOML text, or refuse what is not TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"{name} is not TOML: {error}.", (str(error),)) from error


def _update(target: Any, wanted: Mapping[str, Any]) -> None:
    """Update a TOML table; entries that have the wanted value already are not touched."""
    import tomlkit

    for key in [key for key in target if key not in wanted]:
        del target[key]
    for key, value in wanted.items():
        present = target.get(key)
        if isinstance(value, Mapping) and isinstance(present, Mapping):
            _update(present, value)
        elif present is None or present != value:
            target[key] = tomlkit.item(_plain(value), _parent=target)


def _plain(value: Any) -> Any:
    """Return a value without tuples, which TOML writers do not know."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


EXAMPLE = """\
[map]
south = 52.48
west = 13.33
north = 52.56
east = 13.47
cell_size = 0.5
[clock]
start = 2026-03-02T00:00:00
step = "1h"
steps = 24
[mobility]
kind = "stay-or-go"
stay = 0.7
[mechanism]
kind = "planar-laplace"
alpha = 4.0
[guarantee]
epsilon = 1.0
[regions.clinic]
circle = { lat = 52.52, lon = 13.4, radius_km = 0.1 }
[events.visit]
formula = 'presence(clinic, "14:00-16:00")'
"""
"""A small document, for examples."""
