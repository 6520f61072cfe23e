"""One studio and one browser for all tests of a process: starting them takes longest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.studio.running_studio import RunningStudio, Tab
from tests.studio.studio_in_browser import address_of, write_week


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    """Return a running studio; when it has ended, nothing of it is left."""
    folder = tmp_path_factory.mktemp("studio")
    running = RunningStudio(folder)
    yield running
    code = running.stop()
    assert code == 0, running.printed()
    assert [path.name for path in folder.iterdir()] == ["studio.log"]


@pytest.fixture
def tab(studio: RunningStudio) -> Iterator[Tab]:
    """Return a tab of its own."""
    opened = Tab(studio)
    yield opened
    opened.close()


@pytest.fixture
def address(studio: RunningStudio) -> str:
    """Where the page is; every test opens tabs of its own."""
    return address_of(studio)


@pytest.fixture(scope="session")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days of somebody, as a file."""
    return write_week(tmp_path_factory.mktemp("week") / "week.csv")
