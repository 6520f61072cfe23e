"""Settings for all tests: the same examples everywhere, and no failure because a machine is busy.

Property tests draw their examples from a fixed seed, so that a green run repeats and red means
that something changed. ``PRISTE_FREE_EXAMPLES=1 make test`` draws new ones every time.
"""

import gc
import itertools
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from tests.drawn_examples import FREE, examples
from tests.real_browser import browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile(
    "priste",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not FREE,
    max_examples=examples(100).max_examples,
)
settings.load_profile("priste")


# A run in the background (nohup, &) ignores these signals, and so would the processes of tests.
for _name, _handler in (("SIGHUP", signal.SIG_DFL), ("SIGINT", signal.default_int_handler)):
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


@pytest.fixture(scope="session", autouse=True)
def _state_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRISTE_STATE", str(tmp_path_factory.mktemp("session") / "priste"))
        yield


@pytest.fixture(scope="session")
def _states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names for the states of tests; a folder is made only where something is kept."""
    place = tmp_path_factory.mktemp("states")
    return (place / str(number) / "priste" for number in itertools.count())


@pytest.fixture(autouse=True)
def own_state(_states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let no test see or change what this user has released."""
    folder = next(_states)
    monkeypatch.setenv("PRISTE_STATE", str(folder))
    return folder


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Browser]":
    """One browser for a file of tests. While it is open its loop runs in this process, and tests of
    other files that run loops of their own must not meet it."""
    with browser() as opened:
        yield opened


LONGEST_FIRST = (
    "tests/studio/",
    "tests/batch/test_engines.py",
    "tests/batch/test_spark_recipe.py",
    "tests/paper/test_experiments.py",
    "tests/cli/test_commands.py",
    "tests/batch/test_what_a_run_is_bound_to.py",
    "tests/live/",
    "tests/batch/",
    "tests/cli/",
    "tests/audit/test_black_box.py",
    "tests/paper/",
    "tests/test_full_disks.py",
    "tests/test_workers.py",
    "tests/docs/",
    "tests/traces/test_bounded_memory.py",
    "tests/release/test_journals_move.py",
    "tests/report/",
)
"""What would set the length of a run if it began last, and what waits while others compute."""


def pytest_runtest_setup() -> None:
    """Forget what `priste live`, run in this process by an earlier test, asked of it."""
    os.environ.pop("PRISTE_SPARE_MEMORY", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that all workers end together."""

    def place(item: pytest.Item) -> int:
        places = (i for i, first in enumerate(LONGEST_FIRST) if item.nodeid.startswith(first))
        return next(places, len(LONGEST_FIRST))

    items.sort(key=place)  # stable: all others stay in order


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line which tests were skipped for want of Debian packages."""
    missing: Counter[str] = Counter()
    for report in terminalreporter.getreports("skipped"):
        if found := re.search(r"Debian package ([\w.+-]+)", str(report.longrepr)):
            missing[found[1]] += 1
    if missing:
        names = ", ".join(sorted(missing))
        terminalreporter.write_line(
            f"{missing.total()} tests were skipped without Debian packages: {names}; .ci/run "
            "installs them."
        )


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make, not again and again among all that was loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)
