"""The command as people run it, and what it took: ``python -m benchmarks.command protect …``.

CPU seconds and memory of the process and of those that it started are the last line of stderr.
Imports nothing that the command does not.
"""

from __future__ import annotations

import json
import resource
import sys
from multiprocessing.forkserver import _forkserver  # type: ignore[attr-defined]


def tell_costs() -> None:
    """Print what this process and those it started took, as the last line of stderr."""
    _forkserver._stop()  # type: ignore[attr-defined]  # or its time and its workers' are nobody's
    own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    told = {
        "here": own.ru_utime + own.ru_stime,
        "others": others.ru_utime + others.ru_stime,
        "here_mb": own.ru_maxrss / 1024,
        "largest_other_mb": others.ru_maxrss / 1024,
    }
    print(json.dumps(told), file=sys.stderr)


if __name__ == "__main__":
    from priste.cli import main

    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    tell_costs()
