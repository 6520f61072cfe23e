"""The programme for larger maps: private by an oracle, no dearer than its sibling, never stuck."""

import math
from pathlib import Path

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.release.remap_streams import start

from priste.events import presence
from priste.maps import Grid
from priste.mechanisms import EmissionTable, PlanarLaplace
from priste.mobility import MarkovModel
from priste.release import Choice, Optimal, Protector, PublicState, Remap
from priste.release.calibrators.optimal.columns import ColumnProgramme
from priste.release.calibrators.optimal.programme import Deadline
from priste.release.calibrators.pacing import paced_limits
from priste.release.calibrators.remap.cost import Costs
from priste.release.calibrators.remap.grouping import OutputPlaces
from priste.release.calibrators.remap.search import QuickCheck

SIDE = 8
PACE = 0.5
GUARDED = [0, 1, 2, 8, 9]
STEPS = [1, 2]
ROUNDING = 1e-9
"""How far rounding may move a ratio of sums of some dozens of products."""

GAP = 1e-3
"""Without a time limit the programme ends, and its columns are private to a few thousandths."""

GRID = Grid(rows=SIDE, columns=SIDE, cell_size=1.0)
WALK = MarkovModel.gaussian(GRID, sigma=1.0)
MECH = PlanarLaplace(GRID, 1.5)
EVENT = presence(GUARDED, STEPS)


def town(calibrator: Optimal, epsilon: float = 1.5) -> PublicState:
    return start(EVENT, MECH, epsilon, calibrator, WALK)


def largest_ratio(columns: list[np.ndarray]) -> float:
    """The largest likelihood ratio over all priors on two cells, in either direction.

    Written apart from the product: the walk goes step by step with plain matrices, and each pair
    of first cells is tried at many weights.
    """
    matrix = WALK.transition(0).toarray()
    inside = np.zeros(GRID.size)
    inside[GUARDED] = 1.0
    never, ever = np.eye(GRID.size), np.zeros((GRID.size, GRID.size))
    silent_never, silent_ever = np.array(never), np.array(ever)
    for step in range(max(STEPS) + 1):
        if step:
            never, ever = never @ matrix, ever @ matrix
            silent_never, silent_ever = silent_never @ matrix, silent_ever @ matrix
        if step in STEPS:
            ever, never = ever + never * inside, never * (1 - inside)
            silent_ever = silent_ever + silent_never * inside
            silent_never = silent_never * (1 - inside)
        if step < len(columns):
            never, ever = never * columns[step], ever * columns[step]
    a, c = silent_ever.sum(axis=1), silent_never.sum(axis=1)
    b, d = ever.sum(axis=1), never.sum(axis=1)
    worst = 1.0
    for weight in np.concatenate([[1.0], np.logspace(-8, 8, 65)]):

        def pairs(x: np.ndarray, w: float = weight) -> np.ndarray:
            return np.asarray(x[:, None] + w * x[None, :])

        ratio = pairs(b) * pairs(c) / (pairs(a) * pairs(d))
        worst = max(worst, float(ratio.max()), float(1 / ratio.min()))
    return worst


def certified(state: PublicState, choice: Choice) -> bool:
    if (choice.table == choice.table[0]).all():
        return True  # says nothing
    used = choice.table.any(axis=0)
    return bool(state.passes(choice.table[:, used], paced_limits(state, PACE)).all())


def test_every_output_is_within_the_limit() -> None:
    """Of every output of the first step, and after one of them of the second, by the oracle."""
    calibrator = Optimal(pace=PACE)
    state = town(calibrator)
    past: list[np.ndarray] = []
    for _ in range(2):
        choice = calibrator.choose(state)
        assert choice.source == "optimal"
        limit = paced_limits(state, PACE)[0].up
        used = np.flatnonzero(choice.table.any(axis=0))
        ratios = [largest_ratio([*past, choice.table[:, output]]) for output in used]
        assert max(ratios) <= math.exp(limit) * (1 + ROUNDING)
        assert max(ratios) > 0.98 * math.exp(limit)  # and what may be told is told
        past.append(np.array(choice.table[:, used[0]]))
        state.advance(past[-1], choice.budget, hints=choice.hints)


@pytest.mark.parametrize("cost", ["distance", "squared", "worst"])
def test_it_is_cheaper_than_its_sibling(cost: str) -> None:
    """Each cost is below the best public output's and remap's, and close to the bound."""
    calibrator = Optimal(pace=PACE, cost=cost)  # type: ignore[arg-type]
    state = town(calibrator)
    choice = calibrator.choose(state)
    sibling = Remap(pace=PACE, cost=cost).choose(state)  # type: ignore[arg-type]
    costs = Costs(cost, "the test")  # type: ignore[arg-type]
    matrix = costs.matrix(MECH)
    public = np.zeros_like(choice.table)
    public[:, costs.best_public_output(matrix, state.predicted())] = 1.0
    assert choice.cost < 0.999 * costs.of(public, matrix, state.predicted())
    assert choice.cost <= sibling.cost
    assert (choice.gap is None) == (cost == "worst")
    assert (choice.gap or 0.0) <= GAP * choice.cost
    assert certified(state, choice)


def test_the_law_is_a_function_of_the_situation() -> None:
    """Without a time limit two calibrators choose the same table, float by float."""
    state = town(Optimal(pace=PACE))
    one, other = (Optimal(pace=PACE).choose(state) for _ in range(2))
    assert one.table.tobytes() == other.table.tobytes()


@pytest.mark.parametrize("asked", [0, 1, 2, 3, 5, 9])
def test_time_may_run_out_anywhere(monkeypatch: pytest.MonkeyPatch, asked: int) -> None:
    """When the deadline passes after any number of looks at the clock, the law is certified."""
    looks = iter([math.inf] * asked)
    monkeypatch.setattr(Deadline, "left", lambda self: next(looks, 0.0))
    calibrator = Optimal(seconds=1.0, pace=PACE)
    state = town(calibrator)
    choice = calibrator.choose(state)
    assert certified(state, choice)
    assert choice.cost <= Remap(pace=PACE).choose(state).cost


class Garbage:
    """A solution of wrong numbers, or of the wrong number of them."""

    def __init__(self, value: float, count: int) -> None:
        self.col_value = [value] * count
        self.row_dual = [value] * count


def broken_run(self: highspy.Highs) -> None:
    raise RuntimeError("the solver broke")


BROKEN = {
    "does nothing": ("run", lambda self: None),
    "raises": ("run", broken_run),
    "too short": ("getSolution", lambda self: Garbage(1.0, 1)),
    "not a number": ("getSolution", lambda self: Garbage(math.nan, self.getNumCol())),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_solver_falls_back(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Whatever the solver does, the cheap sibling's certified law is used."""
    monkeypatch.setattr(highspy.Highs, *BROKEN[how])
    state = town(Optimal())
    choice = Optimal(pace=PACE).choose(state)
    assert choice.source != "optimal"
    assert choice.cost == Remap(pace=PACE).choose(state).cost
    assert certified(state, choice)


def test_a_stream_goes_on_after_a_restart_with_the_same_law(tmp_path: Path) -> None:
    """The journal brings back the columns and hints: the next law is the same to the bit."""
    stream = Protector(
        WALK, EVENT, MECH, 1.5, Optimal(pace=PACE), rng=3, journal=tmp_path / "journal"
    )
    for cell in (0, 9):
        stream.release(cell)
    state = stream.public_state()
    law, hints = state.law(), state.hints
    stream.close()
    again = Protector.resume(tmp_path / "journal")
    assert hints
    assert again.public_state().hints == hints
    assert (again.public_state().law().joint == law.joint).all()
    again.close()


def test_it_works_where_outputs_are_no_cells() -> None:
    """Sixty outputs that mean no cell, with a matrix of costs, are grouped all the same."""
    line = Grid(rows=1, columns=3, cell_size=1.0)
    rows = np.random.default_rng(5).random((3, 60)) + np.repeat(3 * np.eye(3), 20, axis=1)
    mech = EmissionTable(line, rows / rows.sum(axis=1, keepdims=True))
    costs = np.abs(np.arange(3.0)[:, None] - np.linspace(0, 2, 60))
    walk = MarkovModel(line, np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]))
    calibrator = Optimal(cost=costs, pace=PACE)
    state = start(presence([0], [1]), mech, 0.5, calibrator, walk)
    choice = calibrator.choose(state)
    assert certified(state, choice)
    assert choice.cost <= Remap(cost=costs, pace=PACE).choose(state).cost


# ---------------------------------------------------------------------- the parts of it


def programme(limit: float, groups: int) -> tuple[PublicState, ColumnProgramme]:
    state = town(Optimal())
    matrix = Costs("distance", "the test").matrix(MECH)
    operators = list(state.operators())
    made = ColumnProgramme(MECH, matrix, state.predicted(), operators, [limit], groups=groups)
    return state, made


@pytest.mark.parametrize("groups", [2, 7, 24])
def test_a_proposal_is_a_remap_of_groups(groups: int) -> None:
    """Rows sum to 1, at most so many rows differ, and the law is private nearly as it stands."""
    state, made = programme(0.8, groups)
    proposal = made.solve(60, Deadline(None))
    assert proposal.remap is not None
    assert np.allclose(proposal.remap.sum(axis=1), 1.0, atol=1e-12)
    assert len(np.unique(proposal.remap, axis=0)) <= groups
    table = MECH.emission() @ proposal.remap
    assert state.passes(table[:, table.any(axis=0)], [0.8 + 1e-6]).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), limit=st.sampled_from([0.05, 0.5, 2.0]))
def test_constants_are_enough_and_hardly_more(seed: int, limit: float) -> None:
    """What is added makes the exact check pass; 2 % less, or what is enough at once, tells why."""
    state = town(Optimal())
    emission = MECH.emission()
    check = QuickCheck(list(state.operators()), emission, [limit])
    sets = (np.random.default_rng(seed).random((MECH.outputs, 5)) < 0.3).astype(np.float64)
    sets = sets[:, sets.any(axis=0)]
    needed = check.additions(sets, 1.01)
    columns = emission @ sets
    scale = 1.0 / (columns.max(axis=0) + needed)
    assert state.passes((columns + needed * (1 + 1e-6)) * scale, [limit]).all()
    short = needed > 0
    assert not state.passes(((columns + 0.98 * needed) * scale)[:, short], [limit]).any()
    assert (check.enough(sets) >= needed / 1.01 * (1 - 1e-6)).all()


@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 40),
    same=st.booleans(),
)
def test_groups_are_parts_of_the_map(seed: int, count: int, same: bool) -> None:
    """At most so many groups, numbered without holes, none across the first cut."""
    rng = np.random.default_rng(seed)
    places = np.zeros((30, 2)) if same else rng.integers(0, 4, (30, 2)).astype(np.float64)
    found = OutputPlaces(places, rng.random(30) * (rng.random(30) < 0.8))
    side = rng.random(30) < 0.5
    labels = found.groups(count, side)
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))
    assert labels.max() < max(count, 2)
    for label in range(labels.max() + 1):
        assert len(set(side[labels == label].tolist())) == 1
    halves = found.halves()
    assert halves.shape[1] % 2 == 0
    assert (halves[:, ::2] ^ halves[:, 1::2]).all()
