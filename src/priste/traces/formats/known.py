"""The table of all formats, in the order in which a file's content is compared with them.

Another package adds a format with an entry point of the group ``priste.trace_formats`` that names a
:class:`~priste.traces.formats.contract.TraceFormat`. Its formats are asked before those here, since
almost any text looks like CSV; they cannot replace one of these.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from priste.errors import PristeError
from priste.traces.formats.cabspotting import CABSPOTTING
from priste.traces.formats.contract import TraceFormat
from priste.traces.formats.fit_activities import FIT
from priste.traces.formats.geojson import GEOJSON
from priste.traces.formats.geolife import GEOLIFE
from priste.traces.formats.google import GOOGLE
from priste.traces.formats.gpx import GPX
from priste.traces.formats.kml import KML
from priste.traces.formats.nmea import NMEA
from priste.traces.formats.owntracks import OWNTRACKS
from priste.traces.formats.table_formats import CSV, PARQUET, TDRIVE
from priste.traces.formats.tcx import TCX

ENTRY_POINTS = "priste.trace_formats"

_BUILT_IN = (
    PARQUET, FIT, GPX, KML, TCX, GEOJSON, GOOGLE, OWNTRACKS, GEOLIFE, NMEA, TDRIVE, CABSPOTTING, CSV
)  # fmt: skip


@cache
def formats() -> dict[str, TraceFormat]:
    """Return every format by its name."""
    built_in = {each.name: each for each in _BUILT_IN}
    found: dict[str, TraceFormat] = {}
    for point in entry_points(group=ENTRY_POINTS):
        format_ = point.load()
        if not isinstance(format_, TraceFormat) or format_.name in built_in | found:
            raise PristeError(
                f"The entry point {point.name!r} of {ENTRY_POINTS!r} must name a TraceFormat whose "
                "name no other format has. Remove the package that has it, or mend it."
            )
        found[format_.name] = format_
    return found | built_in
