"""What is said of a forecast: when figures are stable, and whether a constant point would do."""

from __future__ import annotations

import pytest

from priste.audit.estimates import Estimate
from priste.forecast import Cost, Metres
from priste.studio.jobs_at_work import STEADY, foretold_words, is_stable


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
    ("runs", "half", "near", "stable"),
    [
        (2, 1.0, None, False),  # two streams that agree by chance
        (8, 100.0 * STEADY * 3.0, None, True),  # the mean of eight: a third of the interval
        (8, 100.0 * STEADY * 3.1, None, False),
        (8, 100.0 * STEADY * 2.0, 20.0, False),  # the figure near the secret still moves
        (15, 100.0 * STEADY * 4.0, None, True),
    ],
)
def test_figures_are_shown_when_they_are_stable(
    runs: int, half: float, near: float | None, stable: bool
) -> None:
    """The mean of n streams is known better than one more stream, by the root of n + 1."""
    assert is_stable(cost(runs, 100.0, half, near)) is stable


def test_a_constant_point_that_does_as_well_is_named() -> None:
    """Near the secret, and only there, is where guarded hours release one public point."""
    plain = "Near the secret this is no better than a constant point."
    assert plain in foretold_words(cost(8, 100.0, 10.0, 390.0))
    assert plain not in foretold_words(cost(8, 100.0, 10.0, 300.0))
    said = foretold_words(cost(8, 520.0, 40.0))
    assert said == "Expect a mean error of 520 m, in 80 of 100 cases between 480 m and 560 m."
