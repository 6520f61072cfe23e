"""The command line: ``priste`` and ``python -m priste``. A door, which holds no maths.

Heavy libraries are imported by the commands that need them, so that ``--help`` and completion
answer at once.
"""

from __future__ import annotations

import os
import sys

from priste.errors import MissingExtra
from priste.extras import need

__all__ = ["main"]


def main() -> None:
    """Run the command line with the arguments of the process."""
    # The matrices of a step are small: with a thread a core, libraries mostly wait for each other.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # before anything loads them

    try:
        need("cli", "The command line")
    except MissingExtra as missing:
        sys.exit(str(missing))
    import typer

    from priste.atomic_files import remove_abandoned_scratch
    from priste.cli.application import app
    from priste.cli.console import DONE, clean_errors, silence

    try:
        remove_abandoned_scratch()
        with clean_errors():  # of what is printed before a command begins: help, the version
            app(prog_name="priste")
    except typer.Exit as end:
        silence()
        sys.exit(end.exit_code)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        silence()  # the libraries' own end with 1 for a reader of the help that left
        sys.exit(DONE)
