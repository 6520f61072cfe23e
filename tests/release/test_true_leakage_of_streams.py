"""Random default streams: the exact leakage of what was released, by walking every trajectory.

Nothing of the quantifiers is used here. The probability of a release at a cell is the fraction
that is drawn with: a float of the checked table over the exact sum of its row.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.release.exact_stream import (
    JointProbabilities,
    below_exp,
    exact_matrix,
    exact_rows,
    leakage,
    mixed,
    speaks_for,
)

from priste import (
    AnyPrior,
    Grid,
    Identity,
    KnownPrior,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    Protector,
    StartsIn,
    presence,
)
from priste.events import Event
from priste.quantify import Adversary
from priste.release import AccountantState

LINE = Grid(rows=1, columns=3, cell_size=1.0)
STEPS = 4
SLACK = 1e-8
"""How far a reported leakage may lie above the exact one: that of the worst prior, and rounding."""

ADVERSARIES = {
    "known prior": (KnownPrior([0.25, 0.25, 0.5]), [[0.25, 0.25, 0.5]]),
    "two priors": (
        KnownPrior([[0.5, 0.5, 0.0], [0.125, 0.125, 0.75]]),
        [[0.5, 0.5, 0.0], [0.125, 0.125, 0.75]],
    ),
    "starts": (StartsIn([0, 2]), [[1, 0, 0], [0, 0, 1]]),
    "any prior": (AnyPrior(), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
}


def joint(matrix: np.ndarray, event: Event, columns: list[list[Fraction]]) -> JointProbabilities:
    """(a, ā, b, d) for each first cell, over all trajectories of the event and the releases."""
    moves = exact_matrix(matrix)
    length = max(len(columns), 1 + (event.last_step or 0))
    found = []
    for start in range(3):
        a = abar = b = d = Fraction(0)
        for rest in itertools.product(range(3), repeat=length - 1):
            path = (start, *rest)
            chance = math.prod(
                (moves[i][j] for i, j in itertools.pairwise(path)), start=Fraction(1)
            )
            if not chance:
                continue
            seen = chance * math.prod(
                (column[cell] for column, cell in zip(columns, path, strict=False)),
                start=Fraction(1),
            )
            if event.holds(path):
                a, b = a + chance, b + seen
            else:
                abar, d = abar + chance, d + seen
        found.append((a, abar, b, d))
    return found


def stream(
    matrix: np.ndarray,
    event: Event,
    noise: float,
    bound: object,
    adversary: Adversary,
    seed: int,
    calibrator: str = "optimal",
) -> list[tuple[float, list[list[Fraction]]]]:
    """Run a default stream; return the reported leakage and the exact columns after each step."""
    mechanism = Identity(LINE) if math.isinf(noise) else PlanarLaplace(LINE, noise)
    model = MarkovModel(LINE, matrix)
    protector = Protector(model, event, mechanism, bound, calibrator, seed, adversary=adversary)  # type: ignore[arg-type]
    columns: list[list[Fraction]] = []
    found = []
    for cell in model.sample(STEPS, rng=seed):
        rows = exact_rows(protector.distribution().joint[0])
        release = protector.release(int(cell))
        columns.append([row[release.cell] for row in rows])
        found.append((release.leakage[0], list(columns)))
    return found


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, Event, float, float, str, int]:
    """Movement in sixteenths, never with certainty, an event, noise, ε, an adversary and a seed."""
    rows = []
    for _ in range(3):
        low, high = sorted(draw(st.lists(st.integers(1, 15), min_size=2, max_size=2, unique=True)))
        rows.append([low / 16, (high - low) / 16, (16 - high) / 16])
    steps = draw(st.lists(st.integers(1, STEPS), min_size=1, max_size=2, unique=True))
    return (
        np.array(rows),
        presence([draw(st.integers(0, 2))], steps),
        draw(st.sampled_from([1.0, 4.0, math.inf])),
        draw(st.sampled_from([0.2, 1.0, 2.0])),
        draw(st.sampled_from(list(ADVERSARIES))),
        draw(st.integers(0, 10**6)),
    )


@pytest.mark.parametrize("calibrator", ["optimal", "certified"])
@examples(40)
@given(problem=problems())
def test_the_reported_leakage_is_the_true_one(
    calibrator: str, problem: tuple[np.ndarray, Event, float, float, str, int]
) -> None:
    """After every release the exact leakage is within ε, and what is reported lies just above.

    Certified goes up to the bound where it can, so a verdict that is wrongly True is noticed.
    """
    matrix, event, noise, epsilon, name, seed = problem
    adversary, priors = ADVERSARIES[name]
    distributions = [[Fraction(x) for x in prior] for prior in priors]
    for reported, columns in stream(matrix, event, noise, epsilon, adversary, seed, calibrator):
        true = leakage(mixed(joint(matrix, event, columns), distributions))
        assert true <= epsilon + 1e-12
        assert true - 1e-12 <= reported <= true + SLACK


@examples(15)
@given(problems())
def test_one_direction_is_bounded_and_the_other_is_free(
    problem: tuple[np.ndarray, Event, float, float, str, int],
) -> None:
    """Upwards only: no release speaks for the event by more than e^ε."""
    matrix, event, noise, epsilon, name, seed = problem
    adversary, priors = ADVERSARIES[name]
    distributions = [[Fraction(x) for x in prior] for prior in priors]
    bound = OddsBound(epsilon, math.inf)
    for _, columns in stream(matrix, event, noise, bound, adversary, seed):
        rows = mixed(joint(matrix, event, columns), distributions)
        assert not speaks_for(rows, below_exp(epsilon) + Fraction(1, 10**12))


MATRIX = np.array([[0.75, 0.125, 0.125], [0.125, 0.75, 0.125], [0.125, 0.125, 0.75]])


def test_the_walk_notices_a_check_that_accepts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """If verdicts were wrongly True, the exact leakage would be above ε, and reported above it."""

    def accept(state: AccountantState, columns: np.ndarray, limits: object = None) -> np.ndarray:
        return np.ones(columns.shape[1], dtype=bool)

    monkeypatch.setattr(AccountantState, "passes", accept)
    (adversary, priors), event = ADVERSARIES["any prior"], presence([0], [2])
    distributions = [[Fraction(x) for x in prior] for prior in priors]
    found = []
    for seed in range(4):
        for reported, columns in stream(MATRIX, event, 2.0, 0.2, adversary, seed, "certified"):
            true = leakage(mixed(joint(MATRIX, event, columns), distributions))
            assert reported == pytest.approx(true, abs=SLACK)
            found.append(reported)
    assert max(found) > 0.2


def test_against_a_known_prior_the_default_does_not_release_a_constant() -> None:
    """The released cells differ, and are on average much nearer than the best constant point."""
    grid = Grid(rows=10, columns=10, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    start, apart = model.stationary(), grid.distances()
    event, noise = presence([22, 23], range(6, 9)), PlanarLaplace(grid, alpha=2.0)
    ours, constant = [], []
    for seed in range(4):
        protector = Protector(model, event, noise, 1.0, rng=seed, adversary=KnownPrior(start))
        path = model.sample(20, rng=seed, start=start)
        released = [protector.release(int(cell)).cell for cell in path]
        assert len(set(released)) > 5
        ours += [apart[cell, other] for cell, other in zip(path, released, strict=True)]
        constant += [apart[cell, 44] for cell in path]  # one of the four middle cells
    assert np.mean(ours) < 0.8 * np.mean(constant)
