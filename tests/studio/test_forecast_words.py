"""What is said of a forecast: when figures are stable, and whether a constant point would do."""

from __future__ import annotations

import pytest

from priste.audit.estimates import Estimate
from priste.forecast import Cost, Metres
from priste.studio.jobs_at_work import foretold_words, is_stable


def metres(value: float, half: float, near: float | None = None) -> Metres:
    """Return mean errors with an interval for one more stream of so many metres either way."""
    found = Estimate(value, value - half, value + half)
    close = None if near is None else Estimate(near, near - half, near + half)
    return Metres(found, close, found, Estimate(0.25, 0.2, 0.3))


def cost(runs: int, value: float, half: float, near: float | None = None) -> Cost:
    """Return what so many streams cost beside a constant point that is 400 m off everywhere."""
    constant = metres(400.0, 5.0, 400.0)
    beyond = Estimate(0.0, -1.0, 1.0)
    found = metres(value, half, near)
    return Cost(runs, 13, 13, found, metres(150.0, 10.0), constant, beyond, {})


@pytest.mark.parametrize(
    ("now", "near", "stable"),
    [(100.0, None, True), (105.0, None, True), (120.0, None, False), (101.0, 300.0, False)],
)
def test_figures_are_shown_when_they_are_stable(
    now: float, near: float | None, stable: bool
) -> None:
    """Two more streams changed every figure by a tenth at most, near the secret too."""
    before = cost(4, 100.0, 30.0, None if near is None else 200.0)
    assert is_stable(cost(6, now, 30.0, near), before) is stable
    assert not is_stable(before, None)  # two streams that agree by chance


def test_a_constant_point_that_does_as_well_is_named() -> None:
    """Near the secret, where guarded hours release one public point, or everywhere."""
    plain = "Near the secret this is no better than a constant point."
    assert plain in foretold_words(cost(8, 100.0, 10.0, 390.0))
    assert plain not in foretold_words(cost(8, 100.0, 10.0, 300.0))
    said = foretold_words(cost(8, 320.0, 40.0))
    assert said == "Expect a mean error of 320 m, in 80 of 100 cases between 280 m and 360 m."
    assert foretold_words(cost(8, 520.0, 40.0)).endswith(
        "560 m. This is no better than a constant point."
    )
