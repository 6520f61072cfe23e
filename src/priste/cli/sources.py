"""How commands open files of fixes: the options that say what a file does not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.traces import Traces


@dataclass(frozen=True)
class Reading:
    """How a file of fixes is to be read, as the options of a command state it."""

    format: str | None = None
    zone: str | None = None
    columns: tuple[str, ...] = ()

    def open(self, path: Path) -> Traces:
        """Open a source; ``columns`` are texts such as ``lat=y``."""
        from priste.traces import read_traces

        named = {}
        for text in self.columns:
            part, found, name = text.partition("=")
            if not found or not name:
                raise InvalidParameter(f"A --column is written PART=NAME, as lat=y. Got {text!r}.")
            named[part] = name
        return read_traces(path, self.format, columns=named or None, zone=self.zone)
