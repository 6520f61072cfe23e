"""Every Python example and every command of a tutorial runs, and prints what the page says."""

import doctest
import os
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = [*sorted(ROOT.glob("*.md")), *PAGES[1:]]
REPLACED = re.compile(
    r"\bobservers?\b|\bpromis\w+|\bwhom you fear\b|\banybody('s)?\b|\bconstant cells?\b|\btold\b"
    r"|\bone's own\b|\beverybody's own\b|\bbare mechanism\b|\bmechanism alone\b|\blaws?\b"
    r"|\bwhoever\b|\b(is|are|was|were) worth\b|\belsewhere\b",
    re.IGNORECASE,
)
"""Words for which priste has others: adversary, guarantee, any prior, constant point, personal
place, uncalibrated mechanism, release table, revealed, useful, off-map."""
MOST_WORDS = 45_000
"""Words of the pages that no command makes, examples and tables included."""
LONGEST_LINE = 140
"""Characters of a line of prose; the pages are wrapped at some 120."""
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(text: str) -> list[tuple[int, str]]:
    """Return the Python and console blocks of a page with the line on which each begins.

    Console blocks are written ``$ command``, with the expected output below each command.
    """
    return [(text.count("\n", 0, m.start()) + 1, m.group(2)) for m in BLOCK.finditer(text)]


def run_commands(block: str, where: str) -> None:
    """Run the commands of a console block; ``...`` in the expected output stands for anything."""
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command,
            shell=True,
            env={**os.environ, "PATH": path, "COLUMNS": "80", "TERM": "dumb"},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, f"{where}: {command}\n{said}"
        pattern = r".*".join(re.escape(" ".join(part.split())) for part in expected.split("..."))
        assert re.search(pattern, " ".join(said.split()), re.DOTALL), f"{where}: {command}\n{said}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's blocks run from top to bottom in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict[str, object] = {"__name__": "__page__"}
    for line, block in examples(page.read_text()):
        where = f"{page.relative_to(ROOT)}:{line}"
        if block.startswith("$ "):
            run_commands(block, where)
        elif block.lstrip().startswith(">>>"):
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
    assert [found[0] for found in REPLACED.finditer(page.read_text())] == []


def test_replaced_words_are_gone_from_the_source() -> None:
    """No docstring, message or comment of the package uses a word that was replaced."""
    found = []
    for path in sorted((ROOT / "src" / "priste").rglob("*.py")):
        with tokenize.open(path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type in (tokenize.STRING, tokenize.COMMENT):
                    text = re.sub(r"\{[^}]*\}", "", token.string)  # names in f-strings
                    found += [
                        f"{path.name}:{token.start[0]}: {m[0]}" for m in REPLACED.finditer(text)
                    ]
    assert found == []


def words_of(text: str) -> int:
    """Return how many words a text has; the bars of tables are none."""
    return sum(re.search(r"\w", word) is not None for word in text.split())


TEMPLATES = sorted((ROOT / "benchmarks" / "pages").glob("*.md"))
MADE = {"red-team.md", *(path.name for path in TEMPLATES)}
BY_HAND = [page for page in PAGES[1:] if page.parent.name != "evidence" or page.name not in MADE]
"""Pages of docs/ that no command makes."""


def test_the_documentation_stays_short() -> None:
    """Pages have at most so many words in all; README and ARCHITECTURE so many lines."""
    assert sum(words_of(page.read_text()) for page in BY_HAND) <= MOST_WORDS
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 150


def test_words_are_counted() -> None:
    """Words of code count; bars do not."""
    assert words_of("| a | 1.5 m |\n```python\nx = 1\n```\nb\n") == 7
    assert len(BY_HAND) > 40


def long_lines(text: str) -> list[str]:
    """Return the lines of prose that are too long: no tables, no code, no template expressions."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [
        line for line in prose.splitlines() if not line.startswith(("|", "    ", "{", "![", ">"))
    ]
    return [line for line in lines if "{{" not in line and len(line) > LONGEST_LINE]


@pytest.mark.parametrize("page", [ROOT / "README.md", *BY_HAND, *TEMPLATES], ids=lambda p: p.stem)
def test_lines_are_short(page: Path) -> None:
    """No line of prose is longer than a window is wide."""
    assert long_lines(page.read_text()) == []


def test_long_lines_are_found() -> None:
    """A long line of prose is seen; a long row of a table and long code are not."""
    long = "word " * 40
    assert long_lines(f"{long}\n| {long} |\n```\n{long}\n```\n    {long}\nshort\n") == [long]


def test_the_reader_of_examples_sees_them() -> None:
    """The pattern that finds examples is not silently blind."""
    text = "a\n```python\nx = 1\n```\n```bash\nls\n```\n```console\n$ echo a\na\n```\n"
    assert examples(text) == [(2, "x = 1\n"), (8, "$ echo a\na\n")]


def test_a_command_that_fails_or_says_something_else_is_seen() -> None:
    """Commands of a page must end well and print what the page says."""
    run_commands("$ echo one two three\none...three\n$ true\n", "here")
    for block in ("$ false\n", "$ echo one\ntwo\n", "$ true\n$ echo a; exit 3\na\n"):
        with pytest.raises(AssertionError):
            run_commands(block, "here")


def test_pages_run_under_pytest() -> None:
    """The environment of the examples is that of the tests."""
    assert os.environ.get("PYTEST_CURRENT_TEST")
