"""One run of a target: an input from a number, read under limits of time and memory."""

from __future__ import annotations

import contextlib
import logging
import random
import resource
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzzing.targets import TARGETS

from priste import PristeError

SECONDS = 20
"""For one input; a reader that takes longer hangs."""

EXTRA_BYTES = 3 * 2**30
"""Address space beyond what the process has: no small input may ask for more."""


@dataclass
class Tally:
    """What came of the inputs of a target."""

    read: int = 0
    refused: int = 0
    findings: dict[str, str] = field(default_factory=dict)

    @property
    def share_read(self) -> float:
        """The share of inputs that could be read."""
        return self.read / max(1, self.read + self.refused)


def run(name: str, number: int, tally: Tally) -> None:
    """Give a target the input of a number, and count what came of it."""
    rng = random.Random(f"{name}/{number}")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        logging.disable(logging.CRITICAL)
        try:
            with _in_time():
                TARGETS[name](rng, Path(folder))
        except PristeError:
            tally.refused += 1
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt):
                raise
            frames = traceback.extract_tb(problem.__traceback__)
            ours = [frame for frame in frames if "priste" in frame.filename] or frames
            last = ours[-1]
            kind = f"{type(problem).__name__} at {Path(last.filename).name}:{last.lineno}"
            text = f"{problem!s:.200}\n" + "".join(traceback.format_list(ours[-4:]))
            tally.findings.setdefault(kind, f"input {number}: {text}")
        else:
            tally.read += 1
        finally:
            logging.disable(logging.NOTSET)


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """Let this process have little more address space than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + EXTRA_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def late(signal_number: int, frame: object) -> None:
        raise TimeoutError(f"the reader took more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def summary(tallies: dict[str, Tally]) -> Counter[str]:
    """How many inputs there were of each kind."""
    total: Counter[str] = Counter()
    for tally in tallies.values():
        total.update(read=tally.read, refused=tally.refused, findings=len(tally.findings))
    return total
