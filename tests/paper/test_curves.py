"""What is said about the curves of a figure, on curves made by hand."""

import math
from typing import Any

import pytest
from paper.experiments.curves import Curve, leakage_and_distance
from paper.experiments.release_runs import Case
from paper.experiments.utility_against_epsilon import ALPHAS, EPSILONS, _alpha_findings


def curve(calibrator: str, distance: float, truth: list[float] | None, epsilon: float) -> Curve:
    """Two runs of two steps, the second at twice the distance; the first run followed if asked."""
    case = Case((), (), epsilon, 1.0, calibrator=calibrator)
    runs: list[dict[str, Any]] = [
        {
            "distances": [distance, 2 * distance],
            "constant": [4.0, 2.0],
            "leakage": [[0.1, 0.2], [stated, 0.1]],
            "true_leakage": followed,
        }
        for stated, followed in ((0.3, truth), (math.inf, None))
    ]
    return Curve(case, "a curve", runs)


def test_leakage_and_distance_are_said_of_each_calibrator() -> None:
    """Curves above ε are counted, the worst is told, and distances are shares of the constant."""
    distance, leakage = leakage_and_distance(
        [
            curve("paper", 1.0, [0.2, 1.5], 0.5),
            curve("paper", 2.0, [0.2, 0.4], 0.5),
            curve("certified", 0.5, [0.5 + 1e-12], 0.5),
            curve("paper-normalised", 4.0, None, 0.5),
        ]
    )
    assert "paper 0.50 to 1.00, certified 0.25 to 0.25, paper-normalised 2.00 to 2.00." in distance
    assert "paper above ε in 1 of 2 curves, 3 times it at most" in leakage
    assert "certified above ε in 0 of 1 curves, 1 times it at most" in leakage
    assert "normalised" not in leakage


def test_where_nobody_followed_nothing_is_said_of_the_truth() -> None:
    """One remark, on distances."""
    assert len(leakage_and_distance([curve("paper", 1.0, None, 0.5)])) == 1


def test_stated_leakages_are_per_run() -> None:
    """The largest over steps and events of each run, also where the check knew no end."""
    assert curve("paper", 1.0, None, 0.5).stated_leakages.tolist() == [0.3, math.inf]


@pytest.mark.parametrize(
    ("budget_of", "verdict"),
    [
        (lambda alpha: 0.01, "not decidable"),
        (lambda alpha: 0.01 * alpha**0.01, "not decidable"),  # surely more, by hardly anything
        (lambda alpha: 0.01 * alpha**0.5, "reproduced"),
        (lambda alpha: 0.01 * alpha, "not decidable"),  # all keep the same share
    ],
)
def test_shares_that_fall_by_arithmetic_decide_nothing(budget_of: Any, verdict: str) -> None:
    """Where budgets hardly depend on α, a larger α keeps a smaller share whatever is done."""
    lines = []
    for alpha in ALPHAS:
        line = []
        for epsilon in EPSILONS:
            budgets = [budget_of(alpha) * (1.0 + run / 1e6) for run in range(3)]
            runs: list[dict[str, Any]] = [
                {"budgets": [each], "distances": [1.0 + run]} for run, each in enumerate(budgets)
            ]
            line.append(Curve(Case(("",), (), epsilon, alpha), f"{alpha:g}-PLM", runs))
        lines.append(line)
    found = _alpha_findings(lines)[0]
    assert "calibrated more heavily" in found.claim
    assert found.verdict == verdict
