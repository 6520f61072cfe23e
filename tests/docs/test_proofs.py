"""Every theorem names its code and its tests, which exist, and its code names the theorem."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "explanation" / "proofs.md").read_text()
ABOUT_EVERY_CALIBRATOR = {10, 11}
"""Limits of what any calibrator can do: no code relies on them."""


def theorems() -> dict[int, str]:
    """Return the text from each theorem to the next, by number."""
    parts = re.split(r"^\*\*Theorem (\d+)\.\*\*", PAGE, flags=re.MULTILINE)
    return dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))


def files_named(text: str, label: str) -> list[Path]:
    """Return the files between a label and the next one or the end of the paragraph."""
    named = []
    for found in re.finditer(rf"\*{label}:\*(.*?)(?=\*[A-Z]|\n\n|\Z)", text, flags=re.DOTALL):
        for path in re.findall(r"`([\w/]+\.py)`", found[1]):
            top = path.startswith(("tests/", "benchmarks/"))
            named.append(ROOT / path if top else ROOT / "src" / "priste" / path)
    return named


def test_theorems_are_numbered_in_order() -> None:
    """No number is missing or given twice."""
    found = re.findall(r"^\*\*Theorem (\d+)\.\*\*", PAGE, flags=re.MULTILINE)
    assert [int(number) for number in found] == list(range(1, len(found) + 1))
    assert len(found) >= 15


def test_every_theorem_names_its_code_and_its_tests() -> None:
    """The files that a theorem names exist, and its code names the theorem."""
    texts = theorems()
    texts[7] += texts[8]  # one paragraph for both
    for number in texts.keys() - ABOUT_EVERY_CALIBRATOR:
        code, tests = files_named(texts[number], "Code"), files_named(texts[number], "Tests")
        assert code, number
        assert tests, number
        assert [str(path) for path in code + tests if not path.is_file()] == []
        for path in code:
            if path.name == "accountant.py":
                continue  # makes what release_tables.py defines
            said = re.findall(r"Theorems? ([\d, and]+)", " ".join(path.read_text().split()))
            assert str(number) in " ".join(said).replace(",", " ").split(), (number, path.name)


def test_code_names_no_theorem_that_does_not_exist() -> None:
    """A theorem that the code relies on is on the page."""
    known = theorems().keys()
    for path in (ROOT / "src").rglob("*.py"):
        text = " ".join(path.read_text().split())
        for found in re.findall(r"Theorems? (\d+)(?: and (\d+))? of docs", text):
            assert {int(number) for number in found if number} <= known, path.name
