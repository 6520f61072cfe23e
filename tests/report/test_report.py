"""The report says what the numbers say, shows the truth only when asked, and needs no network."""

import math
import re
import stat
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste import Grid, InvalidParameter, OutputExists
from priste.audit import EventAudit
from priste.report import EventTrack, StreamReport, render, save_figures, write_html
from priste.results import CONSTANT, PRISTE, UNCALIBRATED, Usefulness, Worth, odds, percent
from priste.results.usefulness import CURVE_KM

STEPS = 6
GRID = Grid(rows=3, columns=4, cell_size=0.5)


def a_worth() -> Usefulness:
    """Return made-up errors: a third of the releases within 25 m, two within 500 m, all at 1 km."""
    known = Worth(500.0, 900.0, 300.0, 0.66, 0.33, 450.0)
    told = np.select([CURVE_KM < 0.5, CURVE_KM < 1.0], [1 / 3, 2 / 3], 1.0)
    return Usefulness(
        errors=(0.0, 0.5, None, 1.0, None, None),
        ways={PRISTE: known, UNCALIBRATED: known, CONSTANT: known},
        shares={PRISTE: tuple(told.tolist()), UNCALIBRATED: tuple(told.tolist())},
        median=500.0,
        cell_size=0.5,
    )


def a_report(**changes: object) -> StreamReport:
    """Return a small stream that keeps its guarantee for one of two events."""
    kept = EventTrack(
        name="clinic <b>&",
        period=None,
        text="presence(clinic, 2..3)",
        epsilon=0.5,
        steps=(2, 3),
        guarded=EventAudit(
            (0.1, 0.2, 0.5, 0.4, 0.3, 0.3), (0.2,) * STEPS, 0.18, {3: 0.25, 7: 0.75}
        ),
        uncalibrated=EventAudit(
            (0.3, 1.0, 2.0, math.inf, math.inf, 3.0), (0.9,) * STEPS, 0.18, {3: 1.0}
        ),
    )
    known = {
        "title": "Ada's week",
        "grid": GRID,
        "times": tuple(f"Mon {h:02d}:00" for h in range(STEPS)),
        "guarantee": ("Nobody can tell.",),
        "regions": {"clinic": (5, 6)},
        "events": (kept,),
        "released": (0, 1, None, 5, 11, 11),
        "budgets": (1.0, 1.0, 0.0, 0.25, 0.5, 1.0),
        "full_budget": 1.0,
        "usefulness": a_worth(),
    }
    return StreamReport(**{**known, **changes})  # type: ignore[arg-type]


class Strict(HTMLParser):
    """Collects what a browser would fetch, and checks that elements close in order."""

    VOID = frozenset({"meta", "br", "path", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action", "data") and value:
                self.fetched.append(value)


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
    assert "The guarantee was kept." in render(a_report())
    event = a_report().events[0]
    broken = replace(event, epsilon=0.4)
    page = render(a_report(events=(broken,)))
    assert "The guarantee was not kept." in page
    assert "The guarantee was kept." not in page


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
    with pytest.raises(InvalidParameter, match=r"one entry per step, 6.*released.*2"):
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
