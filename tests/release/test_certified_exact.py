"""The certified calibrator on small maps: every history, in exact arithmetic, within ε."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.release.exact_stream import (
    below_exp,
    exact_matrix,
    exact_rows,
    exceeds,
    exceeds_on_a_lattice,
    joint_of,
    leakage,
)
from tests.release.small_streams import EVENTS, LINE, MATRIX, WALK, begin, histories

from priste.errors import InvalidParameter, StateError
from priste.events import Event
from priste.maps import Grid
from priste.mechanisms import EmissionTable, Identity, LocationSet, Mechanism, PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import OddsBound
from priste.release import Calibrator, Certified, ReleaseTable, StreamNode
from priste.release.calibrators import Uncalibrated

LEAKAGE_TOLERANCE = 1e-8
"""Between a reported leakage and the exact one: SLACK of the worst prior, and rounding."""

STEPS = 3


def start(
    events: list[Event],
    mech: Mechanism,
    epsilons: list[float],
    calibrator: Calibrator | None = None,
    model: MarkovModel = WALK,
) -> StreamNode:
    return begin(model, events, mech, epsilons, calibrator or Certified(guess=False))


MECHANISMS = {
    "laplace": PlanarLaplace(LINE, alpha=2.0),
    "identity": Identity(LINE),
    "two outputs": EmissionTable(LINE, [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]),
    "zeros": EmissionTable(LINE, [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.75, 0.0]]),
    "location set": LocationSet(PlanarLaplace(LINE, alpha=2.0), delta=0.2),
}


@pytest.mark.parametrize("mech", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("name", EVENTS)
def test_no_history_exceeds_epsilon(name: str, mech: Mechanism) -> None:
    """Whatever is released over three steps, no prior's exact ratio is above e**ε."""
    event, epsilon = EVENTS[name], 0.6
    bound = below_exp(epsilon)
    matrix = exact_matrix(MATRIX)
    walked = 0
    for state, columns in histories(start([event], mech, [epsilon]), [], STEPS):
        rows = joint_of(matrix, event, columns)
        assert not exceeds(rows, bound)
        assert not exceeds_on_a_lattice(rows, bound)
        assert state.leakage[0] <= epsilon
        exact = leakage(rows)
        assert exact <= state.leakage[0] + 1e-12
        assert state.leakage[0] == pytest.approx(exact, abs=LEAKAGE_TOLERANCE)
        walked += 1
    assert walked >= 2 + 4 + 8


@pytest.mark.parametrize("pace", [1.0, 0.3])
def test_several_events_each_within_their_own_epsilon(pace: float) -> None:
    """Events that precede, overlap and follow each other are all kept, each within its bound."""
    names = ["at once", "present later", "twice"]
    events, epsilons = [EVENTS[name] for name in names], [0.3, 0.8, 0.5]
    matrix = exact_matrix(MATRIX)
    first = start(events, PlanarLaplace(LINE, 2.0), epsilons, Certified(pace=pace, guess=False))
    for state, columns in histories(first, [], STEPS):
        for event, epsilon, reported in zip(events, epsilons, state.leakage, strict=True):
            rows = joint_of(matrix, event, columns)
            assert not exceeds(rows, below_exp(epsilon))
            assert reported == pytest.approx(leakage(rows), abs=LEAKAGE_TOLERANCE)


def test_every_guarded_model_is_kept() -> None:
    """With two models, the exact leakage over all joint priors stays within ε and is reported."""
    other = np.array([[0.125, 0.125, 0.75], [0.5, 0.25, 0.25], [0.75, 0.125, 0.125]])
    event, epsilon = EVENTS["present later"], 0.5
    models = [WALK, MarkovModel(LINE, other)]
    first = begin(models, event, PlanarLaplace(LINE, 2.0), epsilon, "certified")
    matrices = [exact_matrix(MATRIX), exact_matrix(other)]
    for state, columns in histories(first, [], 2):
        alone = [joint_of(matrix, event, columns) for matrix in matrices]
        together = leakage([*alone[0], *alone[1]])
        assert max(leakage(rows) for rows in alone) <= together <= epsilon
        assert state.leakage[0] == pytest.approx(together, abs=LEAKAGE_TOLERANCE)


def test_the_enumeration_finds_a_broken_calibrator() -> None:
    """The same walk does find histories above ε when the calibrator does not care."""
    event, epsilon = EVENTS["present later"], 0.6
    matrix = exact_matrix(MATRIX)
    first = start([event], PlanarLaplace(LINE, 2.0), [epsilon], Uncalibrated())
    found = [
        exceeds(joint_of(matrix, event, columns), below_exp(epsilon))
        for _, columns in histories(first, [], 2)
    ]
    assert any(found)


def test_the_budget_is_the_largest_of_the_ladder() -> None:
    """At the first step, the next rung up has an output whose exact leakage is above ε."""
    calibrator, epsilon = Certified(guess=False), 0.6
    matrix = exact_matrix(MATRIX)
    mech = PlanarLaplace(LINE, alpha=2.0)
    for event in EVENTS.values():
        (budget,) = start([event], mech, [epsilon], calibrator).distribution.budgets
        ladder = calibrator.ladder(mech)
        place = ladder.index(budget)
        assert 0 < place < len(ladder) - 1
        rows = exact_rows(mech.with_budget(ladder[place - 1]).emission())
        assert any(
            exceeds(joint_of(matrix, event, [[row[o] for row in rows]]), below_exp(epsilon))
            for o in range(3)
        )


@pytest.mark.parametrize("telling", range(0, 40, 3))
def test_the_one_telling_output_among_many_is_found(telling: int) -> None:
    """With more outputs than suspects, a single output that leaks is never overlooked."""
    table = np.full((3, 40), 1.0)
    table[:, telling] = [20.0, 1.0, 0.5]
    mech = EmissionTable(LINE, table / table.sum(axis=1, keepdims=True))
    event, epsilon = EVENTS["at once"], 0.3
    distribution = start([event], mech, [epsilon]).distribution
    assert 0 < distribution.budgets[0] < 1
    rows = exact_rows(distribution.joint[0])
    matrix = exact_matrix(MATRIX)
    for output in range(40):
        column = [row[output] for row in rows]
        assert not exceeds(joint_of(matrix, event, [column]), below_exp(epsilon))


def test_a_stream_at_its_bound_goes_on() -> None:
    """With an ε too small for any rung, releases are uninformative, for ever, and leak nothing."""
    node = start([EVENTS["twice"]], PlanarLaplace(LINE, 2.0), [1e-12])
    for _ in range(20):
        distribution = node.distribution
        assert distribution.budgets == (0.0,)
        assert (distribution.joint[0] == distribution.joint[0][0]).all()
        node = node.after(node.rule.outcome(1, 0.0))
    assert node.state.leakage == (0.0,)


@st.composite
def small_problems(draw: st.DrawFn) -> tuple[np.ndarray, list[int], list[int], float, float]:
    sixteenths = st.lists(st.integers(0, 16), min_size=2, max_size=2)
    rows = []
    for _ in range(3):
        low, high = sorted(draw(sixteenths))
        rows.append([low / 16, (high - low) / 16, (16 - high) / 16])
    cells = draw(st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True))
    steps = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True))
    return (
        np.array(rows),
        cells,
        steps,
        draw(st.sampled_from([0.05, 0.5, 2.0])),
        draw(st.sampled_from([0.5, 2.0, 8.0])),
    )


@examples(25)
@given(small_problems())
def test_random_problems_stay_within_epsilon(
    problem: tuple[np.ndarray, list[int], list[int], float, float],
) -> None:
    """Random movement with zeros, random events, any ε and α: two steps, all histories.

    Events about which nothing is open are refused, and no others.
    """
    from priste.events import presence

    matrix, cells, steps, epsilon, alpha = problem
    event = presence(cells, steps)
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    before = joint_of(exact_matrix(matrix), event, [])
    if not (any(a for a, *_ in before) and any(abar for _, abar, *_ in before)):
        with pytest.raises(InvalidParameter, match="nothing to guard"):
            start([event], PlanarLaplace(grid, alpha), [epsilon], model=MarkovModel(grid, matrix))
        return
    first = start([event], PlanarLaplace(grid, alpha), [epsilon], model=MarkovModel(grid, matrix))
    for _, columns in histories(first, [], 2):
        assert not exceeds(joint_of(exact_matrix(matrix), event, columns), below_exp(epsilon))


class Overclaiming(Uncalibrated):
    """A broken calibrator: it says that it is guaranteed, and checks nothing."""

    guaranteed = True


def test_a_guaranteed_calibrator_cannot_release_an_unchecked_table() -> None:
    """Only a table that the very state has checked is drawn from; nothing is released otherwise."""
    node = start([EVENTS["twice"]], PlanarLaplace(LINE, 2.0), [0.5], Overclaiming())
    with pytest.raises(StateError, match="did not return a table"):
        _ = node.rule
    checked = start([EVENTS["twice"]], PlanarLaplace(LINE, 2.0), [0.5])

    class Stale(Overclaiming):
        def propose(self, state):  # a table that another state has checked
            return checked.rule

    with pytest.raises(StateError, match="did not return a table"):
        _ = start([EVENTS["twice"]], PlanarLaplace(LINE, 2.0), [0.5], Stale()).rule


def test_limits_looser_than_the_guarantee_are_refused() -> None:
    """A check cannot be asked for less than is guaranteed."""
    state = start([EVENTS["twice"]], PlanarLaplace(LINE, 2.0), [0.5]).state
    table = ReleaseTable(PlanarLaplace(LINE, 2.0).emission(), np.arange(3), 3, 2.0)
    assert state.check(table).table is None
    with pytest.raises(InvalidParameter, match="at least as strict"):
        state.check(table, [OddsBound(0.6, 0.5)])
