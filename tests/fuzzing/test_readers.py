"""Every reader ends with a value or an error of ours, whatever it is given: short, and repeatable.

``python -m tests.fuzzing`` runs the same targets for as long as one likes.
"""

import os

import pytest
from tests.fuzzing.run import Tally, run
from tests.fuzzing.targets import TARGETS

from priste.traces import FORMATS

INPUTS = 12
"""Of each target in the suite."""

MOSTLY_READ = ("policies", "events")
"""Made from a grammar, so that what lies behind the parser is reached too."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_lets_no_foreign_error_out(name: str) -> None:
    """The inputs are those of fixed numbers; a free run takes others."""
    first = 0 if "PRISTE_FREE_EXAMPLES" not in os.environ else int.from_bytes(os.urandom(4), "big")
    tally = Tally()
    for number in range(first, first + INPUTS):
        run(name, number, tally)
    assert not tally.findings, "\n".join(tally.findings.values())
    assert tally.read + tally.refused == INPUTS


FOUND = (("traces: geojson", 4702), ("registers", 2251), ("traces: kml", 7515))
"""What long runs found: a name that took a minute to read, a complaint that was no text, a name in
an archive that is none."""


@pytest.mark.parametrize(("name", "number"), FOUND)
def test_what_was_found_once_stays_mended(name: str, number: int) -> None:
    """The very inputs, by their numbers."""
    tally = Tally()
    run(name, number, tally)
    assert not tally.findings, "\n".join(tally.findings.values())


@pytest.mark.parametrize("name", MOSTLY_READ)
def test_most_of_what_a_grammar_makes_can_be_read(name: str) -> None:
    """Otherwise the fuzzing would never get past the parser."""
    tally = Tally()
    for number in range(30):
        run(name, number, tally)
    assert tally.share_read > 0.6


def test_every_format_has_a_target() -> None:
    """A new format of traces cannot be forgotten."""
    assert {f"traces: {kind}" for kind in FORMATS} <= set(TARGETS)


def test_a_foreign_error_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run does notice: a reader that raises KeyError, and one that hangs."""

    def broken(rng: object, folder: object) -> object:
        raise KeyError("x")

    monkeypatch.setitem(TARGETS, "events", broken)
    tally = Tally()
    run("events", 0, tally)
    assert any("KeyError" in kind for kind in tally.findings)
