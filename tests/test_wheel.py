"""What is built and installed is what was tested: the wheel carries everything it needs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the pinned build tool, without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """Everything of the package is there; tests and the paper's experiments are not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "priste"
    wanted = {
        str(path.relative_to(ROOT / "src"))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= names
    assert not any(name.startswith(("tests", "benchmarks", "paper")) for name in names)


def test_the_wheel_works_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    """A release and a leakage from the unpacked wheel, with the repository out of sight."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import priste; "
        "assert priste.__file__.startswith(sys.argv[1]), priste.__file__; "
        "g = priste.Grid(rows=2, columns=3, cell_size=1.0); "
        "m = priste.MarkovModel.gaussian(g, sigma=1.0); "
        "p = priste.Protector(m, priste.presence([0], [1]), priste.PlanarLaplace(g, 1.0), 0.5, "
        "adversary=priste.AnyPrior()); "
        "print(p.release(4).leakage[0] <= 0.5)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tmp_path / "site")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "True"
