"""The command line: ``priste`` and ``python -m priste``. A door, which holds no maths.

Heavy libraries are imported by the commands that need them, so that ``--help`` and completion
answer at once.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line with the arguments of the process."""
    import typer

    from priste.cli.application import app
    from priste.cli.console import DONE, clean_errors, silence

    try:
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
