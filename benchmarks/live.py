"""A soak of the live service: very many fixes, with flat memory and nothing lost.

Run with ``python -m benchmarks.live [--fixes N]``; 100,000 unless told. Writes
``benchmarks/results/live.json``. A service runs in this process. A receiver sends it NMEA sentences
over loopback, two hundred a step of a quarter of an hour, as fast as it takes them, and a gpsd
client reads. Memory is that of the process, receiver and client included.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from tests.live.soaking import PARTS, soak

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances

RESULTS = Path(__file__).parent / "results" / "live.json"
FIXES = 100_000


def main(arguments: Sequence[str] = ()) -> None:
    """Run the soak and write what came out."""
    parser = parser_of(__doc__)
    parser.add_argument("--fixes", type=int, default=FIXES, help="how many are sent")
    fixes = parser.parse_args(arguments).fixes
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(soak(Path(folder), fixes))
    found["measured"] = circumstances()
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    out = Console(highlight=False)
    for done, (size, passed) in enumerate(zip(found["megabytes"], found["seconds"], strict=True)):
        out.print(f"{(done + 1) * fixes // PARTS:>8} fixes  {size:8.1f} MB  {passed:8.1f} s")
    out.print({key: value for key, value in found.items() if not isinstance(value, list)})


if __name__ == "__main__":
    main(sys.argv[1:])
