"""Where the search for a budget begins changes how long it takes, not what it finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from priste import Grid, MarkovModel, PlanarLaplace, Protector, Quantifier, presence
from priste.release import Certified, public_state
from priste.release.public_state import PublicState

GRID = Grid(rows=5, columns=5, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)


def stream(**options: object) -> Protector:
    """A stream at an ε so small that the best public guess is nearly always one cell."""
    given = {"calibrator": Certified(pace=0.1), "rng": 4, **options}
    mechanism = PlanarLaplace(GRID, alpha=0.5)
    return Protector(MODEL, presence([0, 1], [2, 3]), mechanism, 0.2, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("begin", [(), (-1,), (-40,), (-161,), (-162,), (-(10**9),), (3, -80, 7)])
def test_every_beginning_finds_the_same_budget(begin: tuple[int, ...]) -> None:
    """Hints of any kind, forged ones too, lead to the budget that is found from the top."""
    protector = stream()
    for cell in (12, 11, 6):
        protector.release(cell)
    state, search = protector.public_state(), Certified(pace=0.1).search
    from_the_top = search(state, None, ())[0]
    assert from_the_top > 0.0
    assert search(state, 0.0, begin)[0] == from_the_top
    assert search(state, from_the_top, begin)[0] == from_the_top


def test_a_search_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a release that said nothing the next search asks a few times, also after a restart."""
    journal = tmp_path / "journal"
    with stream(journal=journal) as protector:
        released = [protector.release(cell) for cell in (12, 11, 6, 7)]
    assert any(release.budget == 0.0 for release in released)
    resumed = Protector.load(journal, rng=5)
    state = resumed.public_state()
    assert state.last_budget == 0.0
    assert min(state.hints) < 0
    asked = []
    passes = PublicState.passes
    monkeypatch.setattr(PublicState, "passes", lambda *given: (asked.append(1), passes(*given))[1])
    found = Certified(pace=0.1).search(state, state.last_budget, state.hints)[0]
    few = len(asked)
    asked.clear()
    assert Certified(pace=0.1).search(state, 0.0, ())[0] == found
    assert few < len(asked)


def test_a_column_that_passed_is_not_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of a law spares a question about its columns and changes no number."""
    asked = []
    passes = Quantifier.passes

    def counted(quantifier: Quantifier, *given: Any) -> Any:
        asked.append(1)
        return passes(quantifier, *given)

    monkeypatch.setattr(Quantifier, "passes", counted)
    found, questions = [], []
    for entries in (public_state.KEPT_ENTRIES, 0):
        monkeypatch.setattr(public_state, "KEPT_ENTRIES", entries)
        asked.clear()
        protector = Protector(
            MODEL, presence([0, 1], [2, 3]), PlanarLaplace(GRID, alpha=2.0), 1.5, "certified", rng=3
        )
        found.append([protector.release(cell) for cell in (12, 11, 6, 7)])
        questions.append(len(asked))
    assert found[0] == found[1]
    assert any(release.budget > 0.0 for release in found[0])
    assert questions[0] < questions[1]


def test_a_remembered_column_must_be_the_very_one() -> None:
    """A column nearby is measured by itself, and so is one whose law was checked a step before."""
    protector = stream()
    protector.release(12)
    state = protector.public_state()
    column = PlanarLaplace(GRID, alpha=0.01).column(12)
    loud = PlanarLaplace(GRID, alpha=4.0).column(0)
    assert state.passes(column[:, None]).all()
    for _ in range(4):
        state.advance(loud, 4.0)
    assert state.over_limit() == ("event",)
