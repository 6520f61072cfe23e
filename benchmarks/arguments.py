"""What benchmarks are asked for on the command line; a wrong word ends before work begins."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence


def parser_of(told: str | None) -> argparse.ArgumentParser:
    """Return a parser whose ``--help`` shows a benchmark's docstring."""
    run = sys.modules["__main__"].__spec__
    return argparse.ArgumentParser(
        prog=run and f"python -m {run.name.removesuffix('.__main__')}",
        description=told,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def asked_for(
    arguments: Sequence[str], told: str | None, parts: Iterable[str], **flags: str
) -> argparse.Namespace:
    """Return ``parts``, those named, and every flag; an unknown word ends before anything is run.

    ``told`` is the docstring of the benchmark, shown by ``--help``; ``flags`` are switches with
    what they do.
    """
    parser = parser_of(told)
    known = list(parts)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(known)}; else all")
    for name, help_text in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=help_text)
    found = parser.parse_args(arguments)
    unknown = sorted(set(found.parts) - set(known))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}. There are {', '.join(known)}.")
    return found
