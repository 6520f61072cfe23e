"""Under what circumstances figures were measured: kept next to them."""

from __future__ import annotations

import datetime
import os
import platform


def circumstances() -> dict[str, object]:
    """Return the day, the machine, and how many jobs shared it just now."""
    return {
        "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "jobs_waiting": round(os.getloadavg()[0], 1),
    }
