"""Run every benchmark, or those named: ``python -m benchmarks [NAME ...]``.

Each benchmark is a module of this package with a ``main()`` that prints its table and writes
``results/NAME.json``.
"""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = ("quantification", "worst_prior", "release", "usefulness", "live", "batch")


def main(names: list[str]) -> int:
    """Run the benchmarks and return the exit code."""
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; known are {', '.join(BENCHMARKS)}.")
        return 2
    for name in names or BENCHMARKS:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
