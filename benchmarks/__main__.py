"""Run every benchmark, or those named: ``python -m benchmarks [NAME ...]``.

Each is a module of this package with a ``main(arguments)`` that prints its table and writes
``results/NAME.json``. ``python -m benchmarks.NAME --help`` tells of one, its parts and its options.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from benchmarks.arguments import parser_of

BENCHMARKS = (
    "quantification", "worst_prior", "release", "usefulness", "live", "batch", "growth", "answers",
    "studio", "waiting", "compared", "reliability",
)  # fmt: skip
"""Those that need no data of one's own."""

WITH_FOLDER = (
    "first_run", "fitting", "forecasts", "usefulness_families", "usefulness_floor", "regressions",
)  # fmt: skip
"""Those that need a folder, of data or of an older checkout: ``python -m benchmarks.NAME``."""


def main(arguments: Sequence[str]) -> None:
    """Run the benchmarks named, or all."""
    parser = parser_of(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)}")
    parser.epilog = f"With a folder of one's own: {', '.join(WITH_FOLDER)}."
    names = parser.parse_args(arguments).names
    if unknown := sorted(set(names) - set(BENCHMARKS)):
        parser.error(f"no such benchmark: {', '.join(unknown)}. Known are {', '.join(BENCHMARKS)}.")
    for name in names or BENCHMARKS:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main([])


if __name__ == "__main__":
    main(sys.argv[1:])
