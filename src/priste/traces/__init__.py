"""Fixes in and out of files, and the clock that turns them into one cell per step.

:func:`read_traces` reads GPX, CSV, Parquet, GeoJSON, Geolife, T-Drive, Cabspotting, OwnTracks and
NMEA, one user at a time; :class:`Timeline` makes cells of a trace; :func:`write_released`
writes the source back with released positions and nothing that would betray the true ones.
"""

from __future__ import annotations

from priste.traces.fixes import Fix, Trace
from priste.traces.formats.format import Format
from priste.traces.formats.geolife import Label, read_labels
from priste.traces.formats.recognition import detect_format
from priste.traces.reading import Traces, read_traces
from priste.traces.reading_options import Columns
from priste.traces.record_problems import Problem, ReadingReport
from priste.traces.timeline import CellOfEachStep, StepCells, Timeline
from priste.traces.writing import WritingReport, write_released, write_traces

__all__ = [
    "CellOfEachStep",
    "Columns",
    "Fix",
    "Format",
    "Label",
    "Problem",
    "ReadingReport",
    "StepCells",
    "Timeline",
    "Trace",
    "Traces",
    "WritingReport",
    "detect_format",
    "read_labels",
    "read_traces",
    "write_released",
    "write_traces",
]
