"""The documentation as a site: it builds without a warning, loads nothing, and can be searched."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.real_browser import browser

ROOT = Path(__file__).parent.parent.parent
LOADED = re.compile(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=[\"']?(https?:|//)[^>]*>")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    place = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", place],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return place


def test_pages_load_nothing_from_other_machines(site: Path) -> None:
    """No page asks another machine for a script, a style, a font or a picture."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    found = [f"{p.name}: {m[0]}" for p in pages for m in LOADED.finditer(p.read_text())]
    assert found == []


def test_the_api_and_the_commands_are_on_it(site: Path) -> None:
    """The generated pages hold public names with their examples, and options of commands."""
    api = (site / "reference" / "python-api.html").read_text()
    assert 'id="priste.Protector.release"' in api
    assert "&gt;&gt;&gt;" in api
    assert "<blockquote>" not in api
    commands = (site / "reference" / "command-line.html").read_text()
    assert "priste live status" in commands
    assert "--policy" in commands


def test_search_works_from_the_disk(site: Path) -> None:
    """A page opened as a file finds other pages, without a server."""
    with browser() as chromium:
        page = chromium.new_page()
        page.goto((site / "index.html").as_uri())
        page.click(".md-search__input")
        page.keyboard.type("guarded hours")
        page.wait_for_selector(".md-search-result__item")
        assert "matching documents" in page.inner_text(".md-search-result__meta")
