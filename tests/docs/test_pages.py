"""Every Python example in README.md and docs/ runs, and prints what the page says it prints."""

import doctest
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(text: str) -> list[tuple[int, str]]:
    """Return the Python blocks of a page with the line on which each begins."""
    return [(text.count("\n", 0, m.start()) + 1, m.group(1)) for m in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's blocks run from top to bottom in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict[str, object] = {"__name__": "__page__"}
    for line, block in examples(page.read_text()):
        where = f"{page.relative_to(ROOT)}:{line}"
        if block.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block, namespace, where, str(page), line)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            assert runner.failures == 0, "".join(report)
            namespace.update(test.globs)
        else:
            exec(compile(block, where, "exec"), namespace)


def test_broken_links_are_found() -> None:
    """Every relative link in README.md, the top-level pages and docs/ leads to a file."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    missing = []
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                missing.append(f"{page.relative_to(ROOT)} -> {target}")
    assert not missing


def test_the_reader_of_examples_sees_them() -> None:
    """The pattern that finds examples is not silently blind."""
    assert examples("a\n```python\nx = 1\n```\n```bash\nls\n```\n") == [(2, "x = 1\n")]
    assert os.environ.get("PYTEST_CURRENT_TEST")
