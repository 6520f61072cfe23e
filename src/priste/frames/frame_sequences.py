"""A frame of fixes as sequences of cells, which models are fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.traces import Columns, Timeline
from priste.traces.frames import traces_of
from priste.traces.zones import Zone


def cells_of_frame(
    frame: Any,
    grid: Grid,
    step: timedelta | None,
    columns: Columns | Mapping[str, str] | None = None,
    zone: Zone | None = None,
) -> list[tuple[int | None, ...]]:
    """Return one sequence of cells per person of a frame.

    A sequence has a cell for every ``step`` from the midnight (of ``zone``, else UTC) before the
    first fix, None where there is no fix and off the map.
    """
    if not isinstance(step, timedelta):
        raise InvalidParameter(
            "must be a timedelta where a model is fitted on a frame, as timedelta(minutes=15)",
            parameter="step",
            owner="MarkovModel.fit",
            value=step,
        )
    sequences = []
    for trace in traces_of(frame, columns, zone):
        line = Timeline.covering(trace, step, "UTC" if zone is None else zone)
        sequences.append(line.cells(trace, grid, outside="gap").cells)
    return sequences
