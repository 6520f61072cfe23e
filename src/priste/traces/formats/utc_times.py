"""Times of formats whose clock is UTC by definition."""

from __future__ import annotations

from datetime import UTC

from priste.traces.record_problems import Problem, Tally
from priste.traces.zones import instant_of


def utc_time(value: object) -> int | None:
    """Return an ISO 8601 text (or a number of seconds) as an instant; without a zone it is UTC.

    >>> utc_time("1970-01-01T00:00:01Z"), utc_time("1970-01-01T00:00:01"), utc_time("soon")
    (1000000, 1000000, None)
    """
    if isinstance(value, str):
        value = value.strip()
    found = instant_of(value, UTC, "a record", Tally())
    return None if isinstance(found, Problem) else found
