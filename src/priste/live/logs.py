"""Structured logs: one JSON object a line, with facts that are public or mere counts.

Nothing of a message, a request line or an exception's text is ever logged: each may hold a true
location. An exception is named by its type.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_log = logging.getLogger("priste.live")

LOUD = ("uvicorn", "uvicorn.access", "uvicorn.error", "httpx", "httpcore", "asyncio", "mqtt")
"""Loggers of libraries that would write requests, addresses or exceptions with their values."""


def tell(event: str, **facts: str | int | float | None) -> None:
    """Log one event with its facts."""
    if _log.isEnabledFor(logging.INFO):
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        _log.info("%s", json.dumps({"time": now, "event": event, **facts}))


def log_to_stderr() -> None:
    """Send the log to stderr, and silence what libraries would log of requests."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    _log.handlers[:] = [handler]
    _log.setLevel(logging.INFO)
    _log.propagate = False


def quiet_libraries() -> None:
    """Keep libraries from logging; errors of theirs that matter are logged by type."""
    for name in LOUD:
        logging.getLogger(name).disabled = True
