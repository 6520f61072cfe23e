"""One studio for all tests of a process: starting it takes longer than asking it."""

from collections.abc import Iterator

import pytest
from tests.studio.running_studio import RunningStudio, Tab


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
