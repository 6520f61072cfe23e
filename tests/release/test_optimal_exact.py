"""The optimal remap on small maps: within ε exactly, optimal by another programme, never stuck."""

import itertools
import math
from pathlib import Path
from typing import Literal

import highspy
import numpy as np
import pytest
from scipy.optimize import linprog
from tests.release.exact_stream import below_exp, exact_matrix, exceeds, moments
from tests.release.remap_streams import MECHANISMS, histories, start
from tests.release.small_streams import EVENTS, LINE, MATRIX, WALK

from priste.audit import true_leakage
from priste.errors import InvalidParameter
from priste.events import Event, pattern, presence
from priste.maps import Grid
from priste.mechanisms import Mechanism, PlanarLaplace
from priste.mechanisms.mechanism import measured_alpha
from priste.mobility import MarkovModel
from priste.quantify import Quantifier
from priste.release import (
    Choice,
    Optimal,
    Protector,
    PublicState,
    Remap,
    calibrator_from_description,
)
from priste.release.calibrators.optimal.programme import Deadline, Programme
from priste.release.calibrators.pacing import paced_limits

OPTIMUM_TOLERANCE = 1e-6
"""Between two programmes that are both solved to about 1e-9."""

ALPHA_TOLERANCE = 1e-9
"""What the rounding of a matrix product may add to a log ratio."""

SMALL_MAPS = {
    "3 x 3 presence": (3, presence([0, 1], [1, 2]), 2.0, 1.0),
    "3 x 3 pattern": (3, pattern([[0, 1], [4, 5]], [0, 2]), 2.0, 2.0),
    "4 x 4 presence": (4, presence([0, 1, 4], [2]), 1.5, 1.0),
}


def town(side: int) -> MarkovModel:
    return MarkovModel.gaussian(Grid(rows=side, columns=side, cell_size=1.0), sigma=1.0)


def certified(state: PublicState, choice: Choice, pace: float = 1.0) -> bool:
    """Whether every output that can be released passes at the limits of the step."""
    if (choice.table == choice.table[0]).all():
        return True  # says nothing
    used = choice.table.any(axis=0)
    return bool(state.passes(choice.table[:, used], paced_limits(state, pace)).all())


@pytest.mark.parametrize("mech", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("name", EVENTS)
def test_no_history_exceeds_epsilon(name: str, mech: Mechanism) -> None:
    """Whatever is released over two steps, no prior's exact ratio is above e**ε."""
    event, epsilon = EVENTS[name], 2.5
    matrix, bound = exact_matrix(MATRIX), below_exp(epsilon)
    for state, columns in histories(start(event, mech, epsilon, Optimal(pace=0.5)), [], 2):
        assert not exceeds(moments(matrix, event, columns), bound)
        assert state.leakage[0] <= epsilon


def test_two_events_and_two_models_are_kept() -> None:
    """Each event stays within its own bound under each of two guarded models."""
    other = np.array([[0.125, 0.125, 0.75], [0.5, 0.25, 0.25], [0.75, 0.125, 0.125]])
    events, epsilons = [EVENTS["present later"], EVENTS["twice"]], [1.5, 2.0]
    models = [WALK, MarkovModel(LINE, other)]
    first = start(events, PlanarLaplace(LINE, 2.0), epsilons, Optimal(), models)
    assert Optimal().choose(first).source == "optimal"
    for _, columns in histories(first, [], 2):
        for event, epsilon in zip(events, epsilons, strict=True):
            for matrix in (exact_matrix(MATRIX), exact_matrix(other)):
                assert not exceeds(moments(matrix, event, columns), below_exp(epsilon))


def shares_to_try(first: float, second: float, cross: float) -> list[float]:
    """Where ``first x² + cross x (1 - x) + second (1 - x)²`` may be positive, if it is at all.

    One place is its largest value on [0, 1]; another, better scaled when one of two negative own
    terms is tiny, balances them. On an active constraint an own term is 0 up to a rounding of
    either sign, so no sign of it may leave the pair out.
    """
    bend = cross - first - second
    shares = [min(max((cross - 2.0 * second) / (2.0 * bend), 0.0), 1.0)] if bend > 0.0 else []
    if first < 0.0 and second < 0.0:
        t = math.sqrt(second / first)
        shares.append(t / (1.0 + t))
    return shares if cross > 0.0 else []


def full_programme(
    quantifier: Quantifier, emission: np.ndarray, weights: np.ndarray, epsilon: float
) -> float:
    """The least cost of a private remap, by scipy, with every violated pair of every column.

    Written apart from the product: it solves from scratch, tries all pairs of first cells in
    both directions, and takes the weights at which a pair's quadratic is largest. Where a first
    cell excludes the event, the limit of priors that lean to it asks for the cross term alone.
    """
    outputs = emission.shape[1]
    found = quantifier.candidate_moments(emission)
    scale = np.ldexp(1.0, (found.exponent - found.exponent.max()).astype(int))[:, None]
    a, abar = found.prior_event, found.prior_complement
    b, d = found.event * scale, found.complement * scale
    r = math.exp(epsilon)
    sides = ((a, abar, b, d), (abar, a, d, b))
    cells = len(a)
    rows: list[np.ndarray] = []

    def add(row: np.ndarray) -> None:
        if row.any():
            rows.append(row / np.abs(row).max())

    def condition(side: int, w: np.ndarray) -> np.ndarray:
        p, q, up, down = sides[side]
        return np.asarray((w @ q) * (w @ up) - r * (w @ p) * (w @ down))

    for side, cell in itertools.product(range(2), range(cells)):
        add(condition(side, np.eye(cells)[cell]))
        p, q, up, down = sides[side]
        for other in range(cells) if a[cell] == 0 or abar[cell] == 0 else ():
            add(
                up[cell] * q[other]
                + up[other] * q[cell]
                - r * (p[cell] * down[other] + p[other] * down[cell])
            )
    equal = np.kron(np.eye(outputs), np.ones(outputs))
    while True:
        cuts = np.vstack([np.kron(row, np.eye(outputs)) for row in rows])
        solved = linprog(
            weights.ravel(),
            A_ub=cuts,
            b_ub=np.zeros(len(cuts)),
            A_eq=equal,
            b_eq=np.ones(outputs),
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert solved.status == 0
        remap = solved.x.reshape(outputs, outputs)
        before = len(rows)
        for side, k in itertools.product(range(2), range(outputs)):
            p, q, up, down = (v if v.ndim == 1 else v @ remap[:, k] for v in sides[side])
            size = max(up.max(), down.max())
            if size <= 1e-9:
                continue
            own = up * q - r * p * down
            worst, prior = 1e-9 * size, None
            for i, j in itertools.combinations(range(cells), 2):
                cross = up[i] * q[j] + up[j] * q[i] - r * (p[i] * down[j] + p[j] * down[i])
                for share in shares_to_try(own[i], own[j], cross):
                    w = np.zeros(cells)
                    w[i], w[j] = share, 1.0 - share
                    value = (w @ q) * (w @ up) - r * (w @ p) * (w @ down)
                    if value > worst:
                        worst, prior = value, w
            if prior is not None:
                add(condition(side, prior))
        if len(rows) == before:
            return float(solved.fun)


@pytest.mark.parametrize(("first", "second"), [(0.0, -1.0), (-1.0, 0.0), (0.0, 0.0), (1e-17, -1.0)])
def test_the_oracle_sees_violations_at_active_constraints(first: float, second: float) -> None:
    """A positive cross term beside an own term of 0 is a violation, and the weights show it."""
    cross = 2.5e-3
    values = [
        first * x * x + cross * x * (1.0 - x) + second * (1.0 - x) ** 2
        for x in shares_to_try(first, second, cross)
    ]
    assert max(values) > 1e-7


@pytest.mark.parametrize("name", SMALL_MAPS)
def test_the_optimum_is_that_of_the_full_programme(name: str) -> None:
    """Before the first release and after one, the chosen law costs what the optimum costs."""
    side, event, alpha, epsilon = SMALL_MAPS[name]
    model, pace = town(side), 0.5
    mech = PlanarLaplace(model.grid, alpha)
    calibrator = Optimal(pace=pace)
    state = start(event, mech, epsilon, calibrator, model)
    quantifier = Quantifier(model, event)
    for _ in range(2):
        choice = calibrator.choose(state)
        weights = (mech.emission() * state.predicted()[:, None]).T @ model.grid.distances()
        limit = paced_limits(state, pace)[0].up
        exact = full_programme(quantifier, mech.emission(), weights, limit)
        assert choice.source == "optimal"
        assert choice.cost == pytest.approx(exact, abs=OPTIMUM_TOLERANCE)
        assert choice.lower_bound == pytest.approx(exact, abs=OPTIMUM_TOLERANCE)
        assert choice.gap is not None
        assert choice.gap <= OPTIMUM_TOLERANCE
        assert certified(state, choice, pace)
        column = np.array(choice.table[:, choice.table[0].argmax()])
        state.advance(column, choice.budget, hints=choice.hints)
        quantifier.observe(column)


@pytest.mark.parametrize("cost", ["distance", "squared", "worst"])
def test_each_cost_is_minimised_and_geo_indistinguishability_stays(cost: str) -> None:
    """No cost is above the cheap sibling's, and E·K is as indistinguishable as E."""
    model = town(3)
    mech = PlanarLaplace(model.grid, 1.5)
    calibrator = Optimal(cost=cost, pace=0.5)  # type: ignore[arg-type]
    state = start(presence([0, 3], [1, 2]), mech, 1.0, calibrator, model)
    choice = calibrator.choose(state)
    sibling = Remap(cost=cost, pace=0.5).choose(state)  # type: ignore[arg-type]
    assert choice.source == "optimal"
    assert choice.cost < sibling.cost
    assert choice.gap is not None
    assert choice.gap <= OPTIMUM_TOLERANCE
    assert certified(state, choice, 0.5)
    assert measured_alpha(choice.table, model.grid.centers) <= mech.smallest_alpha() + (
        ALPHA_TOLERANCE
    )


def guarded_corner(calibrator: Optimal, side: int = 3) -> tuple[PublicState, Event]:
    model, event = town(side), presence([0, 1], [1, 2])
    return start(event, PlanarLaplace(model.grid, 1.5), 1.0, calibrator, model), event


@pytest.mark.parametrize("asked", range(9))
def test_time_may_run_out_anywhere(monkeypatch: pytest.MonkeyPatch, asked: int) -> None:
    """When the deadline passes after any number of looks at the clock, the law is certified."""
    looks = iter([math.inf] * asked)
    monkeypatch.setattr(Deadline, "left", lambda self: next(looks, 0.0))
    calibrator = Optimal(seconds=1.0)
    state, _ = guarded_corner(calibrator)
    choice = calibrator.choose(state)
    assert certified(state, choice)
    assert choice.cost <= Remap().choose(state).cost


def test_a_tiny_time_budget_still_releases_within_epsilon() -> None:
    """A nanosecond a step gives releases within ε, without a bound to compare with."""
    calibrator = Optimal(seconds=1e-9, pace=0.5)
    model = town(3)
    stream = Protector(
        model,
        presence([0, 1], [1, 2]),
        PlanarLaplace(model.grid, 1.5),
        epsilon=0.7,
        calibrator=calibrator,
        rng=1,
    )
    for cell in (0, 1, 4):
        assert stream.release(cell).leakage[0] <= 0.7
    assert calibrator.choose(stream.public_state()).gap is None


@pytest.mark.parametrize("calibrator", ["optimal", "remap"])
@pytest.mark.parametrize("sees", ["outputs", "budgets"])
def test_the_audit_finds_no_excess(calibrator: str, sees: Literal["outputs", "budgets"]) -> None:
    """The audit, which writes out the law of all sequences, finds the claim kept and used up."""
    stream = Protector(
        WALK, EVENTS["present later"], PlanarLaplace(LINE, 2.0), epsilon=2.5, calibrator=calibrator
    )
    found = true_leakage(stream, 2, sees=sees)["event"]
    assert found.kept
    assert found.value > 2.4


class Garbage:
    """A solution whose values are no remap."""

    def __init__(self, values: list[float]) -> None:
        self.col_value = values


def broken_run(self: highspy.Highs) -> None:
    raise RuntimeError("the solver broke")


BROKEN = {
    "does nothing": ("run", lambda self: None),
    "raises": ("run", broken_run),
    "not a number": ("getSolution", lambda self: Garbage([math.nan] * 81)),
    "too short": ("getSolution", lambda self: Garbage([1.0])),
    "zeros": ("getSolution", lambda self: Garbage([0.0] * 81)),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_solver_falls_back(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Whatever the solver does, the cheap sibling's certified law is used."""
    monkeypatch.setattr(highspy.Highs, *BROKEN[how])
    state, _ = guarded_corner(Optimal())
    choice = Optimal().choose(state)
    assert choice.source != "optimal"
    assert choice.gap is None
    assert choice.cost == Remap().choose(state).cost
    assert certified(state, choice)


def test_a_lying_solver_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that calls an unsafe remap optimal gets it mixed until it is safe."""
    remap = np.eye(9)
    remap[2:] = np.eye(9)[4]  # outputs of the guarded cells are kept, all others merged
    monkeypatch.setattr(Programme, "_run", lambda self, deadline: (remap, 0.0))
    calibrator = Optimal(rounds=1)
    state, _ = guarded_corner(calibrator)
    emission = state.mechanism.emission()
    assert not state.passes(emission @ remap).all()
    assert certified(state, calibrator.choose(state))


def test_targets_are_limited_on_larger_maps() -> None:
    """With 64 outputs the programme has few targets; its law is certified and not dearer."""
    calibrator = Optimal(pace=0.5, rounds=40)
    state, _ = guarded_corner(calibrator, side=8)
    choice = calibrator.choose(state)
    assert certified(state, choice, 0.5)
    assert choice.source == "optimal"
    assert choice.cost < Remap(pace=0.5).choose(state).cost
    assert choice.lower_bound is not None
    assert choice.lower_bound <= choice.cost
    assert np.count_nonzero(choice.table.any(axis=0)) < 64


@pytest.mark.parametrize("seconds", [None, 5.0])
def test_a_stream_is_restored_from_its_journal(tmp_path: Path, seconds: float | None) -> None:
    """After a restart the leakage and the releases are the same, and the stream goes on."""
    stream = Protector(
        WALK,
        EVENTS["present later"],
        PlanarLaplace(LINE, 2.0),
        epsilon=2.5,
        calibrator=Optimal(pace=0.5, seconds=seconds),
        rng=3,
        journal=tmp_path / "journal",
    )
    for cell in (0, 1):
        stream.release(cell)
    leakage, ledger = stream.public_state().leakage, list(stream.ledger)
    stream.close()
    again = Protector.resume(tmp_path / "journal", rng=4)
    assert again.public_state().leakage == leakage
    assert leakage[0] > 0.0
    assert list(again.ledger) == ledger
    assert again.release(2).leakage[0] <= 2.5
    again.close()


def test_it_is_described_by_its_parameters() -> None:
    """A description makes the same calibrator again."""
    described = Optimal(pace=0.25, cost="squared", seconds=2.0, rounds=7).describe()
    assert calibrator_from_description(described).describe() == described


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("pace", bad) for bad in (0.0, 2.0, True, "slow")),
        *(("seconds", bad) for bad in (0.0, -1.0, math.inf, math.nan, True, "long")),
        *(("rounds", bad) for bad in (0, 1.5, True, 10**6)),
        *(("cost", bad) for bad in ("near", [1.0])),
    ],
)
def test_bad_parameters_are_refused(name: str, value: object) -> None:
    """Each parameter outside its range is refused by name."""
    with pytest.raises(InvalidParameter, match=f"'{name}"):
        Optimal(**{name: value})  # type: ignore[arg-type]
