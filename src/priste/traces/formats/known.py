"""The table of all formats, in the order in which a file's content is compared with them."""

from __future__ import annotations

from priste.traces.formats.cabspotting import CABSPOTTING
from priste.traces.formats.contract import TraceFormat
from priste.traces.formats.fit_activities import FIT
from priste.traces.formats.format import Format
from priste.traces.formats.geojson import GEOJSON
from priste.traces.formats.geolife import GEOLIFE
from priste.traces.formats.google import GOOGLE
from priste.traces.formats.gpx import GPX
from priste.traces.formats.kml import KML
from priste.traces.formats.nmea import NMEA
from priste.traces.formats.owntracks import OWNTRACKS
from priste.traces.formats.table_formats import CSV, PARQUET, TDRIVE
from priste.traces.formats.tcx import TCX

# Almost any text looks like CSV, so it is asked last.
FORMATS: dict[Format, TraceFormat] = {
    each.name: each
    for each in (
        PARQUET,
        FIT,
        GPX,
        KML,
        TCX,
        GEOJSON,
        GOOGLE,
        OWNTRACKS,
        GEOLIFE,
        NMEA,
        TDRIVE,
        CABSPOTTING,
        CSV,
    )
}
