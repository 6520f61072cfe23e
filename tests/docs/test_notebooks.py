"""Every notebook runs, its own asserts hold, and it is kept without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parent.parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
"""What the client of kernels itself warns of."""


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run a notebook in a folder, in a kernel of its own."""
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell fails; the statements of a notebook are asserts in it."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any("assert" in cell.source for cell in code)
    run(notebook, tmp_path)
    assert all(cell.execution_count for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    """A notebook in the repository is valid and holds no outputs of a machine."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert not cell.get("execution_count")
        assert not cell.metadata


def test_there_are_notebooks_and_a_false_statement_is_seen(tmp_path: Path) -> None:
    """The notebooks are found, and one whose assert does not hold fails."""
    assert NOTEBOOKS
    wrong = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1 > 2")])
    with pytest.raises(CellExecutionError):
        run(wrong, tmp_path)
