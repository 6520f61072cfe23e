"""Streams under models other than the assumed one, and what guarding several costs."""

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionTable,
    Grid,
    InvalidParameter,
    MarkovModel,
    PlanarLaplace,
    Protector,
    Quantifier,
    presence,
)
from priste.audit import audit_under_models, columns_of, compare_guards
from priste.release import Certified

EXACT = 1e-12
WITHIN = 1e-8
GRID = Grid(rows=1, columns=5, cell_size=1.0)
SIGMAS = (0.4, 0.8, 1.6)
FAMILY = {f"sigma {sigma}": MarkovModel.gaussian(GRID, sigma) for sigma in SIGMAS}
EVENTS = {"west": presence([0, 1], steps=[1, 2])}
MECH = PlanarLaplace(GRID, alpha=2.0)


def test_sweep_is_one_audit_per_model() -> None:
    """Under each model of a family the leakage is that of a Quantifier with that model."""
    columns = columns_of(MECH, [0, 1, None, 4])
    found = audit_under_models(FAMILY, EVENTS, iter(columns))
    assert list(found) == list(FAMILY)
    for name, model in FAMILY.items():
        quantifier = Quantifier(model, EVENTS["west"])
        for step, column in enumerate(columns):
            quantifier.observe(column)
            assert found[name]["west"].leakage[step] == pytest.approx(
                quantifier.leakage().value, abs=EXACT
            )


def test_a_guard_keeps_its_models_and_not_others() -> None:
    """Guarded models stay within ε; an unguarded one does not; guarding all costs budget."""
    epsilon = 0.5
    every = list(FAMILY)
    one, both = compare_guards(
        [every[2:], every], FAMILY, EVENTS, MECH, epsilon, 3, truth=every[0], runs=8, rng=1
    )
    assert one.leakage[every[2]] <= epsilon + WITHIN
    assert one.leakage[every[0]] > epsilon + WITHIN
    assert max(both.leakage.values()) <= epsilon + WITHIN
    assert both.mean_budget < one.mean_budget
    assert both.guarded == tuple(every)


def test_comparison_repeats_with_its_seed() -> None:
    """The same seed gives the same comparison; outputs that are no cells have no distance."""
    table = EmissionTable(GRID, np.full((5, 2), 0.5))
    arguments = ([["sigma 0.4"]], FAMILY, EVENTS, table, 0.5, 2)
    first = compare_guards(*arguments, truth="sigma 0.8", runs=3, rng=4)
    assert first == compare_guards(*arguments, truth="sigma 0.8", runs=3, rng=4)
    assert first[0].distance is None
    assert first[0].leakage["sigma 0.4"] <= WITHIN


def test_hostile_names() -> None:
    """Unknown models and too few runs are refused."""
    with pytest.raises(InvalidParameter, match="among"):
        compare_guards([["nobody"]], FAMILY, EVENTS, MECH, 0.5, 2, truth="sigma 0.8")
    with pytest.raises(InvalidParameter, match="runs"):
        compare_guards([["sigma 0.8"]], FAMILY, EVENTS, MECH, 0.5, 2, truth="sigma 0.8", runs=1)


def test_protector_guards_a_set_in_its_ledger() -> None:
    """The leakage in the ledger of a Protector with several models is the worst of them."""
    p = Protector(
        list(FAMILY.values()),
        EVENTS,
        MECH,
        0.5,
        Certified(guess=False),
        rng=2,
        adversary=AnyPrior(),
    )
    table = p.state
    release = p.release(2)
    column = table.mechanism_at(release.budget).likelihood(release.cell)
    worst = max(
        found["west"].leakage[0] for found in audit_under_models(FAMILY, EVENTS, [column]).values()
    )
    assert release.leakage[0] == pytest.approx(worst, abs=WITHIN)
