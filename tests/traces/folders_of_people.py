"""Folders of traces, made up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from priste.traces import Trace, write_traces
from priste.traces.fixes import microseconds

MONDAY = datetime(2026, 3, 2, 8, tzinfo=UTC)


def part(day: float, lat: float = 46.0, lon: float = 7.0, to: float = 46.0) -> Trace:
    """An hour, so many days after Monday, from one latitude to another."""
    begin = microseconds(MONDAY + timedelta(days=day))
    return Trace(
        None,
        begin + np.arange(7, dtype=np.int64) * 600_000_000,
        np.linspace(lat, to, 7),
        np.full(7, lon),
    )


def folder_of(root: Path, parts: dict[str, Trace]) -> Path:
    for name, trace in parts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_traces([trace], path)
    return root
