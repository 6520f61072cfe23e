"""The pages about the paper name files, tests and commands that exist."""

import re
from pathlib import Path
from pkgutil import resolve_name

from paper.catalogue import CATALOGUE

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "docs" / "reference" / name for name in ("paper.md", "paper-claims.md")]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
NAMED = re.findall(r"`([^`\n]+)`", TEXT)


def test_named_files_exist() -> None:
    """Every path that the page names is in the repository."""
    paths = [name for name in NAMED if name.startswith(("tests/", "src/", "docs/"))]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_named_tests_exist() -> None:
    """Every test that the page names is defined in the test suite."""
    names = {name for name in NAMED if re.fullmatch(r"test_\w+", name)}
    every = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert len(names) > 10
    assert [name for name in names if f"def {name}(" not in every] == []


def test_named_experiments_exist_and_none_is_forgotten() -> None:
    """The commands of the page are the experiments of the catalogue, all of them."""
    commands = " ".join(name for name in NAMED if name.startswith("python -m paper "))
    named = set(re.findall(r"\b(?:fig|table|sweep)-[\w-]+", commands))
    assert named == set(CATALOGUE)


def test_named_modules_can_be_imported() -> None:
    """Every dotted name of the package that the page names leads somewhere."""
    for name in {name for name in NAMED if re.fullmatch(r"(priste|paper)(\.[a-z_]+)+", name)}:
        resolve_name(name)
