"""Where a model comes from: the clock of its steps, and what it was fitted on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from priste.errors import InvalidParameter


@dataclass(frozen=True)
class ModelOrigin:
    """What a model says about itself beyond its matrices.

    Step 0 of the model begins at ``start`` (aware) and steps are ``step`` long; days are read on
    the clocks of ``zone``. ``sources`` are fingerprints of the traces it was fitted on, one per
    person and day; empty for a model made otherwise.
    """

    start: datetime
    step: timedelta
    zone: str
    sources: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.step <= timedelta(0):
            raise InvalidParameter(
                "A ModelOrigin needs a 'start' with a zone and a 'step' > 0.",
                got=f"{self.start.isoformat()} and {self.step}",
            )

    def shifted(self, steps: int) -> ModelOrigin:
        """Return the origin of the model that starts ``steps`` later."""
        return replace(self, start=self.start + steps * self.step)

    def knows(self, fingerprints: Iterable[str]) -> bool:
        """Tell whether one of these days of a person was fitted on."""
        return not self.sources.isdisjoint(fingerprints)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values; :meth:`from_dict` gives back an equal origin."""
        return {
            "start": self.start.isoformat(),
            "step_microseconds": self.step // timedelta(microseconds=1),
            "zone": self.zone,
            "sources": sorted(self.sources),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> ModelOrigin:
        """Return the origin that :meth:`to_dict` saved."""
        return cls(
            datetime.fromisoformat(saved["start"]),
            timedelta(microseconds=int(saved["step_microseconds"])),
            str(saved["zone"]),
            frozenset(map(str, saved["sources"])),
        )
