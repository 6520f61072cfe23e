"""The table of claimed against true, as people and machines read it."""

import json

import pytest

from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
from priste.audit import audit_procedure, true_leakage
from priste.release import Certified

GRID = Grid(rows=1, columns=6, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=0.7)
EVENTS = {"ends": presence([0, 1, 5], steps=[2, 3])}
MECH = PlanarLaplace(GRID, alpha=1.0)


def test_table_shows_the_excess_of_paper_and_none_of_certified() -> None:
    """Small maps are enumerated: paper breaks its claim, certified keeps it, in both sights."""
    rows = audit_procedure(MODEL, EVENTS, MECH, 0.5, 1)
    assert [(r.calibrator, r.sees, r.kept) for r in rows] == [
        ("paper", "outputs", False),
        ("paper", "budgets", False),
        ("certified", "outputs", True),
        ("certified", "budgets", True),
    ]
    assert {r.method for r in rows} == {"all sequences"}
    exact = true_leakage(
        Protector(MODEL, EVENTS, MECH, 0.5, calibrator="paper", adversary=AnyPrior()), 1
    )["ends"]
    assert rows[0].true == exact.value
    assert rows[0].exceeding == rows[0].exceeding_high == exact.exceeding
    assert json.loads(json.dumps([r.to_dict() for r in rows]))[0]["claimed"] == 0.5


@pytest.mark.parametrize("limit", [5, 20])
def test_large_procedures_are_sampled(limit) -> None:
    """Above the limit of histories runs are sampled, for calibrators given as objects too."""
    rows = audit_procedure(
        MODEL,
        EVENTS,
        MECH,
        {"ends": 0.5},
        2,
        calibrators={"gentle": Certified(pace=0.5)},
        runs=5,
        rng=1,
        max_histories=limit,
    )
    (row,) = rows
    assert (row.method, row.sees, row.kept) == ("sampled runs", "budgets", True)
    assert row.exceeding == 0.0 < row.exceeding_high < 1.0
    assert rows == audit_procedure(
        MODEL,
        EVENTS,
        MECH,
        {"ends": 0.5},
        2,
        calibrators={"gentle": Certified(pace=0.5)},
        runs=5,
        rng=1,
        max_histories=limit,
    )


def test_an_unbounded_leakage_fits_into_json() -> None:
    """Infinity is written as text, as JSON has no such number."""
    from priste import Identity

    rows = audit_procedure(MODEL, EVENTS, Identity(GRID), 0.5, 4, calibrators=["uncalibrated"],
                           runs=3,
                           rng=0, max_histories=10)  # fmt: skip
    assert rows[0].to_dict()["true"] == "inf"
    assert not rows[0].kept
