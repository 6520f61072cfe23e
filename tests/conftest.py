"""Settings for all tests: the same examples everywhere, and no failure because a machine is busy.

Property tests draw their examples from a fixed seed, so that a green run repeats and red means
that something changed. ``PRISTE_FREE_EXAMPLES=1 make test`` draws new ones every time.
"""

import gc
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.drawn_examples import FREE, examples

settings.register_profile(
    "priste",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not FREE,
    max_examples=examples(100).max_examples,
)
settings.load_profile("priste")


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


LONGEST_FIRST = (
    "tests/reproduce/test_experiments.py",
    "tests/batch/test_engines.py",
    "tests/cli/test_commands.py",
    "tests/audit/test_black_box.py",
    "tests/batch/test_what_a_run_is_bound_to.py",
    "tests/cli/test_clean_ends.py",
    "tests/batch/test_spark_recipe.py",
    "tests/batch/test_many_users.py",
)
"""Files that set the length of a run if a worker begins them last: each goes to one worker."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that all workers end together."""

    def place(item: pytest.Item) -> int:
        file = item.nodeid.split("::")[0]
        return LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=place)  # stable: all others stay in order


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make, and not again and again among all modules and tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)
