"""Pages of evidence are made by a command from kept figures, and hold no others."""

import pytest
from benchmarks.pages.__main__ import EVIDENCE, PAGES, digits, made, results, seconds

MADE_ELSEWHERE = {"red-team"}
"""Held against the command that makes it by tests/test_benchmarks.py."""


def test_every_page_of_evidence_is_made_by_a_command() -> None:
    """No page of docs/evidence is written by hand."""
    assert {path.stem for path in EVIDENCE.glob("*.md")} == {*PAGES, *MADE_ELSEWHERE}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_the_command_makes(page: str) -> None:
    """Nobody wrote into the page, and its figures are those of benchmarks/results."""
    assert (EVIDENCE / f"{page}.md").read_text() == made(page, results())


def test_another_figure_makes_another_page() -> None:
    """A page follows its figures; a figure that is missing is an error."""
    figures = results()
    before = made("speed", figures)
    figures["waiting"]["demo"]["now"] = 123.0
    assert "| 120 s |" in made("speed", figures)
    assert "| 120 s |" not in before
    del figures["waiting"]["demo"]
    with pytest.raises(Exception, match="demo"):
        made("speed", figures)


def test_numbers_are_rounded_and_not_invented() -> None:
    """Rounding keeps the size of a number, also where it passes a power of ten."""
    for value in (0.0999, 0.0095, 9.96, 99.6, 1234567.0, 1e-7):
        assert float(digits(value).replace(",", "")) == pytest.approx(value, rel=0.051)
    assert digits(9.96) == "10"
    assert seconds(0.9996) == "1.0 s"
