"""What is built and installed is what was tested, in empty environments with and without extras."""

import email
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import markdown
import pytest

from priste.extras import EXTRAS

ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).with_name("uv")

RELEASE = (
    "import sys, warnings; warnings.simplefilter('ignore', RuntimeWarning); import priste; "
    "assert priste.__file__.startswith(sys.prefix), priste.__file__; "
    "g = priste.Grid(rows=2, columns=3, cell_size=1.0); "
    "m = priste.MarkovModel.gaussian(g, sigma=1.0); "
    "p = priste.Protector(m, priste.presence([0], [1]), priste.PlanarLaplace(g, 1.0), 0.5, "
    "adversary=priste.AnyPrior()); "
    "print(p.release(4).leakage[0] <= 0.5)"
)


def build(source: Path, kind: str, folder: Path) -> Path:
    """Build a wheel or an sdist with the pinned build tool, without the network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def installed(what: str, place: Path) -> Path:
    """Install something into an empty environment, with the pinned versions; return its Python."""
    python = place / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, place], check=True)
    command = [UV, "pip", "install", "--quiet", "--python", python]
    command += ["-c", ROOT / "requirements.lock", what]
    # `make setup` has left everything in uv's cache; on a machine without it, it is fetched.
    if subprocess.run([*command, "--offline"], capture_output=True).returncode:
        subprocess.run(command, check=True)
    return python


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-I", *arguments]
    return subprocess.run(command, cwd=python.parent, capture_output=True, text=True)


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


def test_the_description_for_a_package_index_leads_nowhere_into_the_repository(
    wheel: Path,
) -> None:
    """README as an index shows it: every link and picture has an address of its own."""
    archive = zipfile.ZipFile(wheel)
    (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(archive.read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert "# priste" in text
    assert "](docs/" in (ROOT / "README.md").read_text()
    addresses = re.findall(r'(?:href|src)="([^"]*)"', markdown.markdown(text))
    assert [each for each in addresses if not each.startswith("https://")] == []


def test_the_light_installation_releases_and_names_what_it_lacks(
    wheel: Path, tmp_path: Path
) -> None:
    """`pip install priste` releases without numba; the command names the extra that brings it."""
    python = installed(str(wheel), tmp_path / "light")
    search = "; q = priste.Quantifier(m, priste.presence([0], [1])); "
    search += "q.observe(priste.PlanarLaplace(g, 1.0).emission()[:, 2]); print(q.leakage().value)"
    done = run(python, "-c", RELEASE + search)
    assert done.stdout.startswith("True\n0."), done.stderr
    command = run(python, "-m", "priste", "--help")
    assert command.returncode == 1
    assert "pip install 'priste[cli]'" in command.stderr
    site = next((tmp_path / "light" / "lib").glob("python*")) / "site-packages"
    there = {path.name for path in site.iterdir()}
    optional = {module.partition(".")[0] for modules in EXTRAS.values() for module in modules}
    assert not optional & there
    shutil.rmtree(tmp_path / "light")


def test_the_sdist_makes_the_same_wheel_which_runs_with_all_extras(
    wheel: Path, tmp_path: Path
) -> None:
    """The sdist builds the wheel anew, and `priste[all]` of it has the command and the kernels."""
    (tmp_path / "sdist").mkdir()
    with tarfile.open(build(ROOT, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    again = build(source, "wheel", tmp_path / "sdist")
    contents = [
        {entry.filename: entry.CRC for entry in zipfile.ZipFile(path).infolist()}
        for path in (wheel, again)
    ]
    assert contents[0] == contents[1]
    python = installed(f"{again}[all]", tmp_path / "all")
    done = run(python, "-c", RELEASE)
    assert done.stdout.strip() == "True", done.stderr
    command = run(python, "-m", "priste", "--version")
    assert command.returncode == 0, command.stderr
    named = run(python, "-c", "from priste.extras import *; [need(e, e) for e in EXTRAS]")
    assert named.returncode == 0, named.stderr
    shutil.rmtree(tmp_path / "all")


def test_the_extras_of_the_package_are_those_of_the_error() -> None:
    """pyproject.toml and priste.extras know the same extras, and `all` is all of them."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = told["optional-dependencies"]
    assert set(extras) - {"all", "dev", "solvers"} == set(EXTRAS)
    (everything,) = extras["all"]
    assert set(re.findall(r"\w+", everything)) - {"priste"} == set(EXTRAS)
    modules = {
        "mapbox-vector-tile": "mapbox_vector_tile",
        "pynacl": "nacl",
        "xstatic-leaflet": "xstatic.pkg.leaflet",
    }
    for extra, wanted in EXTRAS.items():
        named = [re.split(r"[>=\[]", each)[0] for each in extras[extra]]
        assert {modules.get(name, name) for name in named} - {"priste"} == set(wanted)
