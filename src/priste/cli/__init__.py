"""The command line: ``priste`` and ``python -m priste``. A door, which holds no maths.

Heavy libraries are imported by the commands that need them, so that ``--help`` and completion
answer at once.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line with the arguments of the process."""
    from priste.cli.application import app

    app(prog_name="priste")
