"""Whether points are longitudes and latitudes of WGS 84, by the description of their system."""

from __future__ import annotations

from typing import Any


def is_wgs84(system: Any) -> bool:
    """Return whether a coordinate system is WGS 84 in degrees; ``system`` is any form pyproj reads.

    >>> is_wgs84("OGC:CRS84"), is_wgs84("EPSG:3857"), is_wgs84("no system")
    (True, False, False)
    """
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        given = CRS.from_user_input(system)
    except CRSError:
        return False
    return any(given.equals(CRS(known), ignore_axis_order=True) for known in ("OGC:CRS84", 4326))
