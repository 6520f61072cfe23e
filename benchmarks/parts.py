"""What a benchmark of several parts is asked for on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence


def asked_for(
    arguments: Sequence[str], told: str | None, parts: Iterable[str], **flags: str
) -> argparse.Namespace:
    """Return ``parts``, those named, and every flag; an unknown word ends before anything is run.

    ``told`` is the docstring of the benchmark, shown by ``--help``; ``flags`` are switches with
    what they do.
    """
    parser = argparse.ArgumentParser(
        description=told, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = list(parts)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(known)}; else all")
    for name, help_text in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=help_text)
    found = parser.parse_args(arguments)
    unknown = sorted(set(found.parts) - set(known))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}. There are {', '.join(known)}.")
    return found
