"""What is said of a forecast: how sure it is, and whether one constant cell would do as well."""

from __future__ import annotations

import pytest

from priste.audit.estimates import Estimate
from priste.forecast import Cost, Metres
from priste.studio.jobs_at_work import foretold_words


def metres(value: float, half: float) -> Metres:
    """Return distances of which only the mean matters here."""
    found = Estimate(value, value - half, value + half)
    return Metres(found, None, None, Estimate(0.25, 0.2, 0.3))


def cost(runs: int, value: float, half: float, beyond: tuple[float, float]) -> Cost:
    """Return what so many streams cost beside a constant cell at 393 m."""
    between = Estimate(sum(beyond) / 2, *beyond)
    alone = metres(150.0, 10.0)
    return Cost(runs, 13, 13, metres(value, half), alone, metres(393.0, 5.0), between, {})


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (cost(2, 522.0, 900.0, (-700.0, 958.0)), ["very roughly", "2 streams", "told apart"]),
        (cost(2, 143.0, 20.0, (3.0, 5.0)), ["between 120 m and 160 m", "cannot be told apart"]),
        (cost(16, 380.0, 60.0, (-80.0, 54.0)), ["between 320 m and 440 m", "16 streams", "told"]),
        (cost(16, 250.0, 30.0, (-180.0, -90.0)), ["so this is nearer than telling nothing"]),
        (cost(16, 522.0, 40.0, (90.0, 168.0)), ["390 m off: nearer than this"]),
    ],
)
def test_a_forecast_says_how_sure_it_is(found: Cost, words: list[str]) -> None:
    """Two streams never claim to beat a constant cell, nor to lose to one."""
    said = foretold_words(found)
    assert said.startswith("Expect releases about ")
    for each in words:
        assert each in said
