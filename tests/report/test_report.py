"""The report says what the numbers say, shows the truth only when asked, and needs no network."""

import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.small_reports import Strict, a_report

from priste import InvalidParameter, OutputExists
from priste.report import render, save_figures, write_html
from priste.results import odds, percent


def test_the_page_is_well_formed_and_asks_nothing_of_the_network() -> None:
    """Every element closes; every reference points into the page or is inline data."""
    page = Strict()
    page.feed(render(a_report()))
    assert page.open == []
    assert all(link.startswith(("#", "data:")) for link in page.fetched)
    assert "@import" not in render(a_report())
    assert not re.search(r"url\((?!#)", render(a_report()))


def test_the_page_is_a_pure_function_of_the_report() -> None:
    """The same report gives the same bytes."""
    assert render(a_report()) == render(a_report())


def test_a_kept_guarantee_and_a_broken_one_read_differently() -> None:
    """The verdict follows the numbers, not the intention."""
    kept = "The guarantee was kept, of this stream and under these models."
    assert kept in render(a_report())
    assert "docs/explanation/threat-model.md" in render(a_report())
    event = a_report().events[0]
    broken = replace(event, epsilon=0.4)
    page = render(a_report(events=(broken,)))
    assert "The guarantee was not kept, of this stream" in page
    assert kept not in page


def test_names_are_escaped() -> None:
    """An event's name cannot put markup into the page."""
    page = render(a_report(title="<script>alert(1)</script>"))
    assert "<script" not in page
    assert "clinic &lt;b&gt;&amp;" in page


def test_the_truth_is_shown_only_when_given() -> None:
    """The page has no trace of the true path unless the report carries it."""
    hidden = render(a_report())
    shown = render(a_report(truth=(0, 1, 2, 6, 10, None)))
    assert "Where the user was" not in hidden
    assert "Where the user was" in shown
    assert 'class="true-' not in hidden
    assert 'class="true-' in shown
    assert "truth" not in repr(a_report(truth=(0, 1, 2, 6, 10, None)))


def test_several_streams_share_a_page() -> None:
    """Each stream has its own section, only the first is open."""
    page = render([a_report(title="one"), a_report(title="two")])
    assert page.count("<details open>") == 1
    assert "2 protected streams" in page


def test_a_stream_without_events_or_distances_is_shown_too() -> None:
    """Nothing to say about events is no reason to fail."""
    page = render(a_report(events=(), usefulness=None, regions={}, guarantee=()))
    assert "No event was named." in page


def test_lengths_must_agree() -> None:
    """A report whose sequences disagree is refused with the numbers."""
    with pytest.raises(InvalidParameter, match=r"as many as all other.*6.*released.*2"):
        a_report(released=(1, 2))


def test_pages_are_private_and_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    """The page has mode 0600; an existing one stays unless it is to be overwritten."""
    path = write_html(a_report(), tmp_path / "report.html")
    before = path.read_bytes()
    assert before.startswith(b"<!doctype html>")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(OutputExists):
        write_html(a_report(title="other"), path)
    assert path.read_bytes() == before
    write_html(a_report(title="other"), path, overwrite=True)
    assert b"<h1>other</h1>" in path.read_bytes()


def test_figures_as_files_are_repeatable(tmp_path: Path) -> None:
    """PNG and PDF come out byte for byte the same twice."""
    first = save_figures(a_report(), tmp_path / "a")
    second = save_figures(a_report(), tmp_path / "b")
    assert {p.name for p in first} == {
        f"{name}.{kind}"
        for name in ("map", "leakage-1", "belief-1", "budgets", "distances")
        for kind in ("png", "pdf")
    }
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
    with pytest.raises(InvalidParameter, match="png, pdf, svg"):
        save_figures(a_report(), tmp_path, formats=["bmp"])


@given(st.floats(0, 1000))
def test_odds_never_guarantee_less_than_they_say(leakage: float) -> None:
    """The words for a leakage grow with it and never show nan."""
    assert "nan" not in odds(leakage)
    assert odds(leakage).endswith(("×", "limit"))


@given(st.floats(0, 1))
def test_percent_claims_certainty_only_for_certainty(p: float) -> None:
    """100 % and 0 % are said of 1 and 0 alone."""
    assert (percent(p) == "100 %") == (p == 1)
    assert (percent(p) == "0 %") == (p == 0)
