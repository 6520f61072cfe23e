"""Make every picture of docs/images that shows the program: ``make pictures``.

Runs the other scripts of this folder one after the other. The pictures of the reproduction are made
by ``make reproduce``, that of growing costs by ``python -m benchmarks.growth --picture FILE``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__)


def main() -> None:
    """Run every script; one that fails ends the run."""
    for script in sorted(HERE.parent.glob("make_*.py")):
        if script != HERE:
            print(script.name, flush=True)
            subprocess.run([sys.executable, script], check=True)


if __name__ == "__main__":
    main()
