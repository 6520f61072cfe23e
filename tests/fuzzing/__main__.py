"""The long run, by hand: ``python -m tests.fuzzing [--seconds 60] [--from 0] [target ...]``.

Each target runs for so many seconds of CPU time on inputs 0, 1, 2, …, which are the same on every
machine: ``--from N --seconds 0`` repeats input N. Ends with 1 if something was found.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzzing.run import Tally, limited_memory, run, summary
from tests.fuzzing.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("targets", nargs="*", default=list(TARGETS), metavar="target")
    given = parser.parse_args()
    tallies = {}
    for name in given.targets:
        tally = tallies[name] = Tally()
        number, end = given.first, time.process_time() + given.seconds
        with limited_memory():
            run(name, number, tally)
            while time.process_time() < end:
                number += 1
                run(name, number, tally)
        print(
            f"{name}: {number + 1 - given.first} inputs, {tally.share_read:.0%} could be read, "
            f"{len(tally.findings)} findings",
            flush=True,
        )
        for kind, text in tally.findings.items():
            print(f"--- {kind}\n{text}", flush=True)
    found = summary(tallies)
    print(", ".join(f"{name}: {count}" for name, count in found.items()))
    return int(found["findings"] > 0)


if __name__ == "__main__":
    sys.exit(main())
