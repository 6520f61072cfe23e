"""Policies with secrets and recurring events through the commands: what each says about them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command_line import priste
from tests.live.small_town import DAILY, TOGETHER, fix_of

from priste.traces import Fix, Trace, write_traces

KNOWN = ("[guarantee]", '[adversary]\nknows = "population"\n\n[guarantee]')


def said(*words: object) -> str:
    return " ".join(priste(*words).output.split())


@pytest.fixture(autouse=True)
def _a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _files(text: str, steps: int) -> None:
    Path("policy.toml").write_text(text.replace(*KNOWN).replace("steps = 12", f"steps = {steps}"))
    fixes = (Fix("ada", fix.time, fix.lat, fix.lon) for fix in map(fix_of, range(steps)))
    write_traces([Trace.of(fixes)], Path("ada.csv"))


def test_a_secret_in_words() -> None:
    """Bounds are between answers, a belief is in one of them, and combinations are said."""
    _files(TOGETHER, 12)
    made = said("protect", "ada.csv", "-p", "policy.toml", "-o", "out.csv", "--seed", 1)
    assert "Guarded together: health: every combination of visit and group." in made
    assert "the odds between any two of its 4 answers" in made
    audited = said("audit", "out.csv", "-p", "policy.toml")
    assert "sure of one of its answers" in audited
    assert "believes that the answer is not “neither”:" in audited
    assert "sure that it happened" not in audited
    explained = said("explain", "policy.toml", "--no-forecast")
    assert "the probability that the answer is not “neither” is" in explained
    priste("report", "out.csv", "-p", "policy.toml", "--private", "-o", "private.html")
    page = " ".join(Path("private.html").read_text().split())
    assert "believes that the answer is not “neither” with" in page
    assert "every combination of visit and group" in page
    priste("report", "out.csv", "-p", "policy.toml", "-o", "shared.html")
    shared = Path("shared.html").read_text()
    assert "between any two of their combinations" in " ".join(shared.split())
    assert "health" not in shared


def test_a_recurring_event_has_its_line_everywhere() -> None:
    """How far "at least once" and "every time" moved: in the audit and the private report."""
    _files(DAILY, 48)
    said("protect", "ada.csv", "-p", "policy.toml", "-o", "out.csv", "--seed", 1)
    audited = said("audit", "out.csv", "-p", "policy.toml")
    assert 'visit, over its 2 periods: the odds of "at least once" moved' in audited
    assert 'and of "every time" moved' in audited
    priste("report", "out.csv", "-p", "policy.toml", "--private", "-o", "private.html")
    page = " ".join(Path("private.html").read_text().replace("&#34;", '"').split())
    assert 'visit, over its 2 periods: the odds of "at least once" moved' in page
    priste("report", "out.csv", "-p", "policy.toml", "-o", "shared.html")
    shared = " ".join(Path("shared.html").read_text().split())
    assert "No bound holds for “at least once” and “every time”" in shared
