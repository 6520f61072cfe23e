"""Where the search for a budget begins changes how long it takes, not what it finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
from priste.release import AccountantState, Certified
from priste.release.calibrators.spending import paced_limits

GRID = Grid(rows=5, columns=5, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)


def stream(**options: object) -> Protector:
    """A stream at an ε so small that the best public guess is nearly always one cell."""
    given = {"calibrator": Certified(pace=0.1), "rng": 4, "adversary": AnyPrior(), **options}
    mechanism = PlanarLaplace(GRID, alpha=0.5)
    return Protector(MODEL, presence([0, 1], [2, 3]), mechanism, 0.2, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("begin", [(), (-1,), (-40,), (-161,), (-162,), (-(10**9),), (3, -80, 7)])
def test_every_beginning_finds_the_same_budget(begin: tuple[int, ...]) -> None:
    """Hints of any kind, forged ones too, lead to the budget that is found from the top."""
    protector = stream()
    for cell in (12, 11, 6):
        protector.release(cell)
    state, search = protector.state, Certified(pace=0.1).search
    limits = paced_limits(state, 0.1)
    from_the_top = search(state, None, (), limits)[0]
    assert from_the_top > 0.0
    assert search(state, 0.0, begin, limits)[0] == from_the_top
    assert search(state, from_the_top, begin, limits)[0] == from_the_top


def test_a_search_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a release that said nothing the next search asks a few times, also after a restart."""
    journal = tmp_path / "journal"
    with stream(journal=journal) as protector:
        released = [protector.release(cell) for cell in (12, 11, 6, 7)]
    assert any(release.budget == 0.0 for release in released)
    resumed = Protector.load(journal, rng=5)
    state = resumed.state
    assert state.last_budget == 0.0
    assert min(state.hints) < 0
    limits, asked = paced_limits(state, 0.1), []
    passes = AccountantState.passes
    monkeypatch.setattr(
        AccountantState, "passes", lambda *given: (asked.append(1), passes(*given))[1]
    )
    found = Certified(pace=0.1).search(state, state.last_budget, state.hints, limits)[0]
    few = len(asked)
    asked.clear()
    assert Certified(pace=0.1).search(state, 0.0, (), limits)[0] == found
    assert few < len(asked)
