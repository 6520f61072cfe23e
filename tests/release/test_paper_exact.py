"""The paper's loop: its true distribution, by enumerating calibration paths, and what it leaks."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.release import exact_stream as exact
from tests.release.small_streams import EVENTS, LINE, MATRIX, WALK, begin

from priste import AnyPrior
from priste.errors import InvalidParameter
from priste.events import Event, at
from priste.maps import Grid
from priste.mechanisms import LocationSet, PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import JointProbabilities
from priste.randomness import bit_source
from priste.release import Paper, Protector
from priste.release.calibrators.paper import RejectionLoop

DISTRIBUTION_TOLERANCE = 1e-13
LEAKAGE_TOLERANCE = 1e-8


def independent_distribution(
    matrix: list[list[Fraction]],
    event: Event,
    past: list[list[Fraction]],
    tables: list[list[list[Fraction]]],
    epsilon: float,
) -> list[list[list[Fraction]]]:
    """The table by the words of Algorithm 2: [attempt][cell][output]; the last is unchecked."""
    cells, outputs = len(matrix), len(tables[0][0])
    reached = [Fraction(1)] * cells
    layers = []
    for attempt, table in enumerate(tables):
        last = attempt == len(tables) - 1
        accepted = [
            last
            or not exact.exceeds(
                exact.joint_of(matrix, event, [*past, [row[o] for row in table]]),
                exact.below_exp(epsilon),
            )
            for o in range(outputs)
        ]
        layers.append(
            [
                [r * p * ok for p, ok in zip(row, accepted, strict=True)]
                for r, row in zip(reached, table, strict=True)
            ]
        )
        reached = [
            r * sum(p for p, ok in zip(row, accepted, strict=True) if not ok)
            for r, row in zip(reached, table, strict=True)
        ]
    return layers


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_the_distribution_is_that_of_the_algorithm(name: str, epsilon: float) -> None:
    """At the first and second step, the stated table equals an enumeration of all rejections."""
    paper, mech = Paper(max_attempts=6), PlanarLaplace(LINE, alpha=2.0)
    matrix = exact.exact_matrix(MATRIX)
    budgets = paper.budgets(mech)
    assert budgets == (2.0, 1.0, 0.5, 0.25, 0.125, 0.0)
    tables = [exact.exact_rows(mech.with_budget(b).emission()) for b in budgets]
    node = begin(WALK, EVENTS[name], mech, epsilon, paper)
    past: list[list[Fraction]] = []
    for _ in range(2):
        distribution = node.distribution
        expected = independent_distribution(matrix, EVENTS[name], past, tables, epsilon)
        assert (
            np.abs(distribution.joint - np.array(expected, dtype=float)).max()
            < DISTRIBUTION_TOLERANCE
        )
        assert np.abs(distribution.outputs().sum(axis=1) - 1).max() < DISTRIBUTION_TOLERANCE
        assert np.abs(distribution.pairs().sum(axis=1) - 1).max() < DISTRIBUTION_TOLERANCE
        layer = int(np.argmax(distribution.joint[:, 0, 1]))
        node = node.after(node.rule.outcome(1, budgets[layer]))
        past.append([row[1] for row in tables[layer]])


# (ε, α, true leakage) on a line of six cells: found with RejectionLoop.distribution, and printed in
# docs/reference/release.md; `line_case` recomputes them in exact arithmetic, without that table.
CASES = [(0.1, 1.6, 0.1491839), (0.5, 1.75, 0.7393623), (1.0, 1.75, 1.5824926)]


def line_case(epsilon: float, alpha: float) -> tuple[float, float, float]:
    """(largest nominal, true, true with the budget seen) of the first step, event "in cell 3"."""
    cells = range(6)
    grid = Grid(rows=1, columns=6, cell_size=1.0)
    matrix = exact.exact_matrix(MarkovModel.gaussian(grid, sigma=1.0).transition(0).toarray())
    event = at([3], 0)
    mech, paper = PlanarLaplace(grid, alpha), Paper(max_attempts=8)
    tables = [exact.exact_rows(mech.with_budget(b).emission()) for b in paper.budgets(mech)]
    layers = independent_distribution(matrix, event, [], tables, epsilon)

    def leak(column: list[Fraction]) -> float:
        return exact.leakage(exact.joint_of(matrix, event, [column])) if any(column) else 0.0

    pairs = [
        (k, o, column)
        for k, o in itertools.product(range(len(tables)), cells)
        if any(column := [layers[k][cell][o] for cell in cells])
    ]
    nominal = max(leak([row[o] for row in tables[k]]) for k, o, _ in pairs)
    true = max(leak([sum(layer[cell][o] for layer in layers) for cell in cells]) for o in cells)
    seen = max(leak(column) for _, _, column in pairs)
    return nominal, true, seen


@pytest.mark.parametrize(("epsilon", "alpha", "expected"), CASES)
def test_the_true_leakage_exceeds_epsilon(epsilon: float, alpha: float, expected: float) -> None:
    """Every accepted output passes the nominal check, yet the true table leaks more than ε."""
    nominal, true, seen = line_case(epsilon, alpha)
    assert nominal <= epsilon
    assert true > 1.4 * epsilon
    assert true == pytest.approx(expected, abs=1e-7)
    assert seen >= true - LEAKAGE_TOLERANCE


def test_over_two_steps_the_excess_stays() -> None:
    """Summed over all calibration paths of two steps, an output sequence leaks more than ε."""
    epsilon, event = 0.5, EVENTS["twice"]
    paper, mech = Paper(max_attempts=5), PlanarLaplace(LINE, alpha=2.0)
    matrix = exact.exact_matrix(MATRIX)
    node = begin(WALK, event, mech, epsilon, paper)
    first = node.distribution
    worst_paper = 0.0
    by_output: dict[tuple[int, int], list[exact.JointProbabilities]] = {}
    for k, o in itertools.product(range(len(first.budgets)), range(3)):
        if not first.joint[k, :, o].any():
            continue
        second = node.after(node.rule.outcome(o, first.budgets[k])).distribution.outputs()
        head = [Fraction(float(x)) for x in first.joint[k, :, o]]
        for o2 in range(3):
            tail = [Fraction(float(x)) for x in second[:, o2]]
            by_output.setdefault((o, o2), []).append(exact.joint_of(matrix, event, [head, tail]))
    for parts in by_output.values():
        worst_paper = max(worst_paper, exact.leakage(exact.summed(parts)))
    assert worst_paper > epsilon * 1.05


@pytest.mark.parametrize("cell", [0, 2])
def test_draws_follow_the_stated_distribution(cell: int) -> None:
    """800 draws fall on (budget, output) as the table says (chi-square, false alarm 1e-6)."""
    from scipy.stats import chi2

    paper, mech = Paper(max_attempts=5), PlanarLaplace(LINE, alpha=2.0)
    node = begin(WALK, EVENTS["twice"], mech, 0.3, paper)
    distribution, bits, draws = node.distribution, bit_source(11), 800
    counts = np.zeros((len(distribution.budgets), 3))
    for _ in range(draws):
        drawn = node.rule.draw(cell, bits)
        place = distribution.budgets.index(drawn.budget)
        assert drawn.attempts == place + 1
        counts[place, drawn.output] += 1
    expected = distribution.joint[:, cell, :] * draws
    assert counts[expected == 0].sum() == 0
    used = expected > 5
    statistic = ((counts[used] - expected[used]) ** 2 / expected[used]).sum()
    assert statistic < chi2.isf(1e-6, int(used.sum()))


def test_the_budget_starts_anew_at_every_step() -> None:
    """A step that had to come down does not lower the budget that the next one begins with."""
    p = Protector(
        WALK,
        EVENTS["present later"],
        PlanarLaplace(LINE, 2.0),
        0.4,
        "paper",
        rng=5,
        adversary=AnyPrior(),
    )
    releases = [p.release(0) for _ in range(40)]
    for r in releases:
        assert r.budget in (0.0, 2.0 * 0.5 ** (r.attempts - 1))
        assert r.leakage[0] <= 0.4  # by the nominal distribution
    assert any(b.budget > a.budget for a, b in itertools.pairwise(releases))


def test_algorithm_three_uses_the_posterior() -> None:
    """With a location set, the mechanism of a step is made for the filtered prediction."""
    mech = LocationSet(PlanarLaplace(LINE, alpha=2.0), delta=0.3)
    prior = np.array([0.5, 0.25, 0.25])
    p = Protector(
        WALK,
        EVENTS["present later"],
        mech,
        0.5,
        "paper",
        rng=3,
        public_prior=prior,
        adversary=AnyPrior(),
    )
    belief = prior
    for _ in range(6):
        state = p.state
        assert state.predicted() == pytest.approx(belief, abs=1e-12)
        expected = mech.at_belief(belief).emission()
        assert state.mechanism.emission() == pytest.approx(expected, abs=1e-12)
        r = p.release(0)
        column = mech.at_belief(belief).with_budget(r.budget).likelihood(r.cell)
        belief = (belief * column) / (belief @ column) @ MATRIX


def test_a_checker_decides_instead_and_may_be_undecided() -> None:
    """Undecided checks count as failed and are counted; the last draw is uninformative."""
    asked: list[tuple[float, float | None]] = []

    def slow(joint: JointProbabilities, epsilon: float, seconds: float | None) -> bool | None:
        asked.append((epsilon, seconds))
        return None

    paper = Paper(max_attempts=4, check_seconds=0.25, checker=slow)
    p = Protector(
        WALK, EVENTS["twice"], PlanarLaplace(LINE, 2.0), 0.5, paper, rng=1, adversary=AnyPrior()
    )
    r = p.release(1)
    assert (r.budget, r.attempts, r.undecided) == (0.0, 4, 3)
    assert asked == [(0.5, 0.25)] * 3
    assert r.leakage == (0.0,)


def test_a_checker_equal_to_the_exact_one_changes_nothing() -> None:
    """The plugged check, given the same four quantities, leads to the same releases and table."""
    from priste.quantify import passes

    def exact_check(joint: JointProbabilities, epsilon: float, seconds: float | None) -> bool:
        return bool(passes(joint, epsilon)[0])

    streams = [
        Protector(
            WALK,
            EVENTS["twice"],
            PlanarLaplace(LINE, 2.0),
            0.4,
            calibrator,
            rng=9,
            adversary=AnyPrior(),
        )
        for calibrator in (Paper(), Paper(checker=exact_check))
    ]
    for cell in [0, 1, 2, 2, 1]:
        assert np.array_equal(streams[0].distribution().joint, streams[1].distribution().joint)
        assert streams[0].release(cell) == streams[1].release(cell)


def test_a_careless_checker_shows_in_the_reported_leakage() -> None:
    """A checker that accepts everything does not hide it: the leakage reported is the exact one."""
    paper = Paper(checker=lambda joint, epsilon, seconds: True)
    p = Protector(
        WALK, EVENTS["twice"], PlanarLaplace(LINE, 8.0), 0.1, paper, rng=1, adversary=AnyPrior()
    )
    assert p.release(0).leakage[0] > 0.1


@pytest.mark.parametrize(
    "parameters",
    [
        {"decay": 0.0}, {"decay": 1.0}, {"decay": True}, {"decay": "half"}, {"max_attempts": 0},
        {"max_attempts": 2.0}, {"check_seconds": 0.0}, {"check_seconds": float("inf")},
        {"check_seconds": True},
    ],
)  # fmt: skip
def test_refused_parameters(parameters: dict[str, object]) -> None:
    """Parameters outside their range are refused by name."""
    with pytest.raises(InvalidParameter, match=next(iter(parameters))):
        Paper(**parameters)  # type: ignore[arg-type]


def test_the_likelihood_of_one_draw_is_a_column_of_the_distribution() -> None:
    """What is worked out for one draw alone is what the whole table says, at every budget."""
    paper, mech = Paper(max_attempts=6), PlanarLaplace(LINE, alpha=2.0)
    rule = begin(WALK, EVENTS["present later"], mech, 0.5, paper).rule
    assert isinstance(rule, RejectionLoop)
    distribution = rule.distribution()
    for layer, budget in enumerate(distribution.budgets):
        for output in range(LINE.size):
            found = rule.likelihood(output, budget)
            np.testing.assert_array_equal(found, distribution.joint[layer, :, output])
    with pytest.raises(InvalidParameter, match="at which this loop draws"):
        rule.likelihood(0, 0.123)
