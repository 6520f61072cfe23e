"""The table of all formats, in the order in which a file's content is compared with them.

Another package adds a format with an entry point of the group ``priste.trace_formats`` that names a
:class:`~priste.traces.formats.contract.TraceFormat`. Its formats are asked before those here, since
almost any text looks like CSV; they cannot replace one of these.
"""

from __future__ import annotations

from priste.registered import Registered
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

_BUILT_IN = (
    PARQUET, FIT, GPX, KML, TCX, GEOJSON, GOOGLE, OWNTRACKS, GEOLIFE, NMEA, TDRIVE, CABSPOTTING, CSV
)  # fmt: skip

FORMATS = Registered("priste.trace_formats", TraceFormat, {each.name: each for each in _BUILT_IN})
"""Every format by its name."""
