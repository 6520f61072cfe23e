"""The people of the small world as tables of fixes, as engines get them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from tests.cli.small_world import PATHS, trace_of


def table_of(*users: str) -> Any:
    """Return the fixes of some people."""
    traces = [trace_of(user, PATHS[user]) for user in users]
    fixes = [fix for trace in traces for fix in trace]
    return pa.table(
        {
            "user": [fix.user for fix in fixes],
            "time": pa.array([fix.time for fix in fixes], pa.timestamp("us", "UTC")),
            "lat": [fix.lat for fix in fixes],
            "lon": [fix.lon for fix in fixes],
        }
    )
