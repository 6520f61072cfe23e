"""The policy of ``priste demo`` next to its alternatives: ``python -m benchmarks.compared``.

Runs the demo in a folder of its own, compares its policy as ``priste compare policy.toml --streams
8`` does, and writes what the command shows to ``benchmarks/results/compared.json``. ``--picture
FILE`` draws it. Seeds are fixed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances
from priste.forecast.alternatives_compared import compare
from priste.forecast.alternatives_page import lines_of, save_comparison
from priste.policy import load_policy

RESULTS = Path(__file__).parent / "results" / "compared.json"
STREAMS = 8
SHOWN = {"way": "way", "odds": "odds", "towards": "towards", "any prior": "any",
         "belief after": "belief", "mean error": "error", "silent": "silent"}  # fmt: skip
"""Columns of the page, and those of a comparison."""


def main(arguments: Sequence[str] = ()) -> None:
    """Run the demo, compare, and keep the lines."""
    parser = parser_of(__doc__)
    parser.add_argument("--picture", type=Path, help="where to draw the comparison")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        town = Path(name) / "town"
        subprocess.run(
            [sys.executable, "-m", "priste", "demo", "--folder", town],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        policy = load_policy(town / "policy.toml")
    found = compare(policy, streams=STREAMS)
    kept = {
        "streams": STREAMS,
        "rows": [
            {column: line.cells[name] for column, name in SHOWN.items()} for line in lines_of(found)
        ],
        "circumstances": circumstances(),
    }
    RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.picture:
        save_comparison(found, options.picture, overwrite=True)


if __name__ == "__main__":
    main(sys.argv[1:])
