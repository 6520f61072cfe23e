"""Every Python example in README.md and docs/ runs, and prints what the page says it prints."""

import doctest
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = [*sorted(ROOT.glob("*.md")), *PAGES[1:]]
REPLACED = re.compile(
    r"\bobservers?\b|\bpromis\w+|\bwhom you fear\b|\banybody at all\b|\bconstant cells?\b"
    r"|\bone's own\b|\beverybody's own\b|\bbare mechanism\b|\bmechanism alone\b|\blaws?\b",
    re.IGNORECASE,
)
"""Words for which the pages have others: adversary, guarantee, any prior, constant point, personal
place, uncalibrated mechanism, release table."""
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


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+?) *$", outside, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def dead_links(page: Path) -> list[str]:
    """Return the relative links of a page whose file or heading does not exist."""
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)", page.read_text()):
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        if "://" in link or link.startswith("mailto:"):
            continue
        headed = not anchor or (file.suffix == ".md" and file.exists())
        if not file.exists() or not headed or (anchor and anchor not in anchors(file.read_text())):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_link_is_dead(page: Path) -> None:
    """Every relative link leads to a file, and with an anchor to a heading of it."""
    assert dead_links(page) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    """The reader of links sees missing files and missing headings."""
    page = tmp_path / "page.md"
    page.write_text("# A `b`, c\n[x](page.md#a-b-c) [y](none.md) [z](#none) [w](https://a.b/c)\n")
    assert dead_links(page) == ["none.md", "#none"]


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_replaced_words_are_gone(page: Path) -> None:
    """No page uses a word that the vocabulary has replaced."""
    assert REPLACED.findall(page.read_text()) == []


def test_the_reader_of_examples_sees_them() -> None:
    """The pattern that finds examples is not silently blind."""
    assert examples("a\n```python\nx = 1\n```\n```bash\nls\n```\n") == [(2, "x = 1\n")]
    assert os.environ.get("PYTEST_CURRENT_TEST")
