"""The names of the formats."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """A format of fixes."""

    CABSPOTTING = "cabspotting"
    CSV = "csv"
    FIT = "fit"
    GEOJSON = "geojson"
    GEOLIFE = "geolife"
    GOOGLE = "google"
    GPX = "gpx"
    KML = "kml"
    NMEA = "nmea"
    OWNTRACKS = "owntracks"
    PARQUET = "parquet"
    TCX = "tcx"
    TDRIVE = "tdrive"
