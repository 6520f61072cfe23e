"""Fixes in and out of files, and the clock that turns them into one cell per step.

:func:`read_traces` reads files, folders and archives of many formats, one user at a time;
:class:`Timeline` makes cells of a trace; :func:`write_released` writes what was released, one
record per step, in the format of the source.
"""

from __future__ import annotations

from priste.traces.fixes import Fix, Trace
from priste.traces.formats.contract import TraceFormat
from priste.traces.formats.known import FORMATS
from priste.traces.formats.recognition import detect_format
from priste.traces.reading import Traces, read_traces
from priste.traces.reading_options import Columns
from priste.traces.record_problems import Problem, ReadingReport
from priste.traces.timeline import CellOfEachStep, StepCells, Timeline
from priste.traces.writing import WritingReport, released_suffix, write_released, write_traces

__all__ = [
    "FORMATS",
    "CellOfEachStep",
    "Columns",
    "Fix",
    "Problem",
    "ReadingReport",
    "StepCells",
    "Timeline",
    "Trace",
    "TraceFormat",
    "Traces",
    "WritingReport",
    "detect_format",
    "read_traces",
    "released_suffix",
    "write_released",
    "write_traces",
]
