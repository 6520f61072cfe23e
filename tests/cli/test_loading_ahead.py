"""The process that workers come from begins before the command line is loaded, and is ended."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from priste.batch import engines
from priste.cli.loading_ahead import LOADING, wants_workers
from priste.workers import PREPARES

ROOT = Path(__file__).parent.parent.parent

HANDED_OVER = """
import multiprocessing
from priste.cli.loading_ahead import begun_ahead, loading_ahead

asked = ["protect", "trips.csv", "--workers", "2"]
with loading_ahead(asked):
    with begun_ahead() as nursery, begun_ahead() as another:
        print(sorted(found for _, found in nursery.finished(abs, [-1, -2], workers=2)), another)
    print(len(multiprocessing.active_children()))
with loading_ahead(asked):
    print(len(multiprocessing.active_children()))
print(len(multiprocessing.active_children()))
"""


def run(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_loads_what_the_engines_say() -> None:
    """Its name is written twice, because the first to need it has loaded nothing yet."""
    assert LOADING == engines.LOADING


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["protect", "x.csv", "--workers", "2"], True),
        (["protect", "--workers=16", "x.csv"], True),
        (["protect", "x.csv", "--workers", "2", "--workers", "1"], False),
        (["protect", "x.csv", "--workers", "2", "--cluster", "tcp://localhost:8786"], False),
        (["protect", "x.csv", "--workers"], False),
        (["protect", "x.csv", "--workers", "many"], False),
        (["protect", "x.csv", "--workers", "9" * 5000], False),
        (["protect", "--output=--workers=2", "x.csv"], False),
        ([], False),
    ],
)
def test_only_for_a_run_with_several_workers(arguments: list[str], wanted: bool) -> None:
    """Whatever is typed, nothing but a guess is made of it."""
    assert wants_workers(arguments) is wanted


@pytest.mark.skipif(not PREPARES, reason="only Linux bears a fork of what is loaded")
def test_it_is_handed_over_once_and_ends_with_the_command() -> None:
    """Taken, it does work and ends with its statement; not taken, it ends with the command."""
    assert run("-c", HANDED_OVER).split("\n") == ["[1, 2] None", "0", "1", "0", ""]
