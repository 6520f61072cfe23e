"""The names of the formats."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """A format of fixes."""

    CABSPOTTING = "cabspotting"
    CSV = "csv"
    GEOJSON = "geojson"
    GEOLIFE = "geolife"
    GPX = "gpx"
    NMEA = "nmea"
    OWNTRACKS = "owntracks"
    PARQUET = "parquet"
    TDRIVE = "tdrive"
