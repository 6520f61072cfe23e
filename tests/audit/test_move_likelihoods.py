"""Releases whose distribution depends on a move, against sums over all trajectories."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from priste import AnyPrior, Grid, KnownPrior, MarkovModel, Quantifier, at, presence
from priste.audit.move_likelihoods import MoveQuantifier
from priste.errors import InvalidParameter
from priste.quantify import StartsIn

GRID = Grid(rows=1, columns=3, cell_size=1.0)
EVENT = presence([0], [1, 2])
CLOSE = 1e-9
"""Leakages are upper bounds, above the exact ones by less than this."""


def random_stream(seed: int) -> tuple[MarkovModel, list[np.ndarray | None]]:
    """Return a model and four releases: of a cell, of a move, silent, of a move."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(3), size=3)
    return MarkovModel(GRID, matrix), [
        rng.uniform(0.05, 1, 3), rng.uniform(0.05, 1, (3, 3)), None, rng.uniform(0.05, 1, (3, 3)),
    ]  # fmt: skip


def exact_rows(model: MarkovModel, seen: list[np.ndarray | None]) -> list[list[Fraction]]:
    """Return [a, ā, b, d] of every first cell, summed over all trajectories."""
    matrix = [[Fraction(p) for p in row] for row in model.transition(0).toarray().tolist()]
    rows = []
    for start in range(3):
        sums = [Fraction(0)] * 4
        for later in itertools.product(range(3), repeat=3):
            path = (start, *later)
            weight = math.prod(matrix[i][j] for i, j in itertools.pairwise(path))
            told = Fraction(1)
            for step, likelihood in enumerate(seen):
                if likelihood is not None:
                    place = path[step] if likelihood.ndim == 1 else (path[step - 1], path[step])
                    told *= Fraction(float(likelihood[place]))
            holds = 0 if EVENT.holds(list(path)) else 1
            sums[holds] += weight
            sums[2 + holds] += weight * told
        rows.append(sums)
    return rows


def exact_leakage(rows: list[list[Fraction]], prior: list[Fraction]) -> float:
    a, none, b, d = (sum(w * row[k] for w, row in zip(prior, rows, strict=True)) for k in range(4))
    return abs(math.log(b * none / (a * d)))


@pytest.mark.parametrize("seed", range(4))
def test_known_priors_and_beliefs_are_those_of_all_trajectories(seed: int) -> None:
    """For a given prior the leakage and the belief are sums over every trajectory."""
    model, seen = random_stream(seed)
    prior = [Fraction(1, 2), Fraction(1, 8), Fraction(3, 8)]
    asked = MoveQuantifier(model, EVENT, KnownPrior([float(w) for w in prior]))
    for likelihood in seen:
        asked.observe(likelihood)
    rows = exact_rows(model, seen)
    assert abs(asked.leakage().value - exact_leakage(rows, prior)) < CLOSE
    b, d = (sum(w * row[k] for w, row in zip(prior, rows, strict=True)) for k in (2, 3))
    assert abs(asked.belief() - float(b / (b + d))) < CLOSE


@pytest.mark.parametrize("seed", range(2))
def test_no_prior_on_a_fine_lattice_exceeds_the_worst_one(seed: int) -> None:
    """The leakage against any prior bounds a lattice of priors, and one of them comes near."""
    model, seen = random_stream(seed)
    rows = exact_rows(model, seen)
    for adversary, allowed in ((AnyPrior(), (0, 1, 2)), (StartsIn([0, 2]), (0, 2))):
        asked = MoveQuantifier(model, EVENT, adversary)
        for likelihood in seen:
            asked.observe(likelihood)
        found = 0.0
        for parts in itertools.product(range(13), repeat=3):
            weights = [Fraction(part if cell in allowed else 0) for cell, part in enumerate(parts)]
            if sum(weights):
                found = max(found, exact_leakage(rows, weights))
        assert found <= asked.leakage().value + CLOSE
        assert found > asked.leakage().value - 0.04  # how far apart the lattice's priors are


def test_likelihoods_of_cells_give_what_the_quantifier_gives() -> None:
    """Without moves, and with moves that depend on the cell now, both agree at every step."""
    model, _ = random_stream(9)
    asked, plain = MoveQuantifier(model, EVENT, AnyPrior()), Quantifier(model, EVENT)
    assert asked.leakage().value < CLOSE
    for step in range(4):
        column = np.random.default_rng(step).uniform(0.1, 1, 3)
        asked.observe(np.tile(column, (3, 1)) if step % 2 else column)
        plain.observe(column)
        assert abs(asked.leakage().value - plain.leakage().value) < CLOSE
        assert abs(asked.directions()[0] - plain.directions()[0]) < CLOSE


def test_two_models_are_judged_jointly_or_each() -> None:
    """Rows of two models are stacked as a Quantifier stacks them."""
    models = [random_stream(1)[0], random_stream(2)[0]]
    columns = [np.random.default_rng(step).uniform(0.1, 1, 3) for step in range(3)]
    for family in ("joint", "each"):
        asked = MoveQuantifier(models, EVENT, AnyPrior(), family)
        plain = Quantifier(models, EVENT, family=family)
        for step, column in enumerate(columns):
            asked.observe(np.tile(column, (3, 1)) if step else column)
            plain.observe(column)
        assert abs(asked.leakage().value - plain.leakage().value) < CLOSE


def test_impossible_moves_and_first_steps() -> None:
    """A likelihood of 0 for every move from a cell excludes it; the first step has no move."""
    model, _ = random_stream(5)
    asked = MoveQuantifier(model, at([0], 0), KnownPrior([0.5, 0.25, 0.25]))
    asked.observe(None)
    likelihood = np.full((3, 3), 0.5)
    likelihood[0] = 0.0
    asked.observe(likelihood)
    assert asked.leakage().against_event == math.inf
    assert asked.belief() < CLOSE
    with pytest.raises(InvalidParameter, match="first step"):
        MoveQuantifier(model, EVENT, AnyPrior()).observe(likelihood)
