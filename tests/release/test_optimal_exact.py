"""Searched tables on small maps against anybody: within ε in exact arithmetic, and restored."""

from pathlib import Path

import numpy as np
import pytest
from tests.release.exact_stream import below_exp, exact_matrix, exceeds, joint_of
from tests.release.small_streams import EVENTS, LINE, MATRIX, MECHANISMS, WALK, begin, histories

from priste import AnyPrior, Grid, KnownPrior, presence
from priste.errors import InvalidParameter
from priste.mechanisms import EmissionTable, Mechanism, PlanarLaplace
from priste.mobility import MarkovModel
from priste.release import CheckedTable, CheckResult, Optimal, Protector, ReleaseTable
from priste.release.calibrators.optimal import mixed_until_checked


@pytest.mark.parametrize("mech", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("name", EVENTS)
def test_no_history_exceeds_epsilon(name: str, mech: Mechanism) -> None:
    """Whatever is released over three steps, no prior's exact ratio is above e**ε."""
    event, epsilon = EVENTS[name], 2.5
    matrix, bound = exact_matrix(MATRIX), below_exp(epsilon)
    walked = 0
    for state, columns in histories(begin(WALK, event, mech, epsilon, Optimal(pace=0.5)), [], 3):
        assert not exceeds(joint_of(matrix, event, columns), bound)
        assert state.leakage[0] <= epsilon
        walked += 1
    assert walked >= 3


def test_two_events_and_two_models_are_kept() -> None:
    """Each event stays within its own bound under each of two guarded models."""
    other = np.array([[0.125, 0.125, 0.75], [0.5, 0.25, 0.25], [0.75, 0.125, 0.125]])
    events, epsilons = [EVENTS["at once"], EVENTS["twice"]], [0.3, 0.8]
    models = [WALK, MarkovModel(LINE, other)]
    first = begin(models, events, PlanarLaplace(LINE, 2.0), epsilons, Optimal())
    for _, columns in histories(first, [], 2):
        for event, epsilon in zip(events, epsilons, strict=True):
            for matrix in (exact_matrix(MATRIX), exact_matrix(other)):
                assert not exceeds(joint_of(matrix, event, columns), below_exp(epsilon))


def test_outputs_that_are_not_cells_need_a_matrix() -> None:
    """Distances to outputs that mean no cell are refused; a matrix of costs is used."""
    mech = EmissionTable(LINE, [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]])
    with pytest.raises(InvalidParameter, match="output_cells"):
        begin(WALK, EVENTS["at once"], mech, 0.5, Optimal())
    costs = [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    event = EVENTS["at once"]
    for _, columns in histories(
        begin(WALK, event, mech, 0.5, Optimal(cost=costs, pace=0.5)), [], 3
    ):
        assert not exceeds(joint_of(exact_matrix(MATRIX), event, columns), below_exp(0.5))
    with pytest.raises(InvalidParameter, match=r"\(3, 2\)"):
        begin(WALK, event, mech, 0.5, Optimal(cost=[[1.0]]))


@pytest.mark.parametrize("pace", [0.0, -1.0, 1.5, float("nan"), True, "fast"])
def test_a_bad_pace_is_refused(pace: object) -> None:
    """A pace outside (0, 1] is refused by name."""
    with pytest.raises(InvalidParameter, match="'pace' of Optimal"):
        Optimal(pace=pace)  # type: ignore[arg-type]


@pytest.mark.parametrize("cost", ["far", [[float("nan")]], [1.0, 2.0], [["x"]], None])
def test_a_bad_cost_is_refused(cost: object) -> None:
    """A cost that is neither a known name nor a finite matrix is refused by name."""
    with pytest.raises(InvalidParameter, match="'cost'"):
        Optimal(cost=cost)  # type: ignore[arg-type]


@pytest.mark.parametrize("cost", ["squared", [[0.0, 1.0, 2.5], [1.0, 0.0, 1.0], [2.0, 1.0, 0.1]]])
def test_a_stream_is_restored_from_its_journal(tmp_path: Path, cost: object) -> None:
    """After a restart the leakage, the next distribution and the terms are the same to the bit."""
    calibrator = Optimal(pace=0.5, cost=cost)  # type: ignore[arg-type]
    stream = Protector(
        WALK,
        EVENTS["present later"],
        PlanarLaplace(LINE, 2.0),
        guarantee=2.5,
        calibrator=calibrator,
        rng=3,
        journal=tmp_path / "journal",
        adversary=AnyPrior(),
    )
    for cell in (0, 1, 2):
        stream.release(cell)
    distribution, leakage = stream.distribution(), stream.state.leakage
    stream.close()
    again = Protector.resume(tmp_path / "journal")
    assert again.state.leakage == leakage
    assert (again.distribution().joint == distribution.joint).all()
    assert again.release(1, step=1) == stream.ledger[1]
    again.close()


def test_a_check_that_refuses_everything_gives_no_mixture() -> None:
    """Where no constant helps there is no mixture, and the caller must do something else."""

    def refused(places: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        return np.zeros(len(places), dtype=bool)

    def check(columns: np.ndarray) -> CheckResult:
        return CheckResult(np.zeros(columns.shape[1], dtype=bool), None)

    table = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert mixed_until_checked(table, refused, check) is None


def test_as_little_as_needed_is_mixed_in() -> None:
    """A symmetric table is mixed until its larger entry is twice the smaller one, and no more."""
    table = np.array([[0.9, 0.1], [0.1, 0.9]])
    checked = []

    def passes(columns: np.ndarray) -> np.ndarray:
        return columns.max(axis=0) <= 2.0 * columns.min(axis=0)

    def check(columns: np.ndarray) -> CheckResult:
        checked.append(columns)
        kept = ReleaseTable(columns, np.arange(2), 2, 1.0)
        return CheckResult(passes(columns), CheckedTable(kept, None))

    def passes_with_constant(places: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        return passes(table[:, places] + amounts)

    found = mixed_until_checked(table, passes_with_constant, check)
    assert found is not None
    assert found.table.likelihoods is checked[-1]
    assert found.table.likelihoods.round(2).tolist() == [[0.67, 0.33], [0.33, 0.67]]


@pytest.mark.parametrize("adversary", ["any", "known"])
def test_a_constant_added_is_judged_as_the_sum(adversary: str) -> None:
    """Verdicts about columns with a constant are those about the columns that they make."""
    grid = Grid(rows=4, columns=4, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    known = AnyPrior() if adversary == "any" else KnownPrior(model.stationary())
    mechanism = PlanarLaplace(grid, alpha=2.0)
    stream = Protector(model, presence([0], [1, 2]), mechanism, 0.5, rng=1, adversary=known)
    stream.release(4)
    columns = mechanism.emission()
    passes = stream.state.passes_with_constant(columns, stream.guarantees)
    verdicts = set()
    for amount in (0.0, 0.01, 0.1, 1.0):
        amounts = np.full(grid.size, amount)
        found = passes(np.arange(grid.size), amounts)
        assert np.array_equal(found, stream.state.passes(columns + amounts))
        verdicts |= set(found.tolist())
    assert verdicts == {True, False}
