"""The tables of ``optimal``: within bounds, never worse than a constant, the same for one past."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.drawn_examples import examples

from priste import (
    AnyPrior,
    BeliefBound,
    EmissionTable,
    Grid,
    Identity,
    InvalidParameter,
    KnownPrior,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    Protector,
    at,
    presence,
)
from priste.mechanisms import Mechanism, Uniform
from priste.mechanisms.mechanism import ROW_SUM_TOLERANCE, exact_row_excess
from priste.quantify import Adversary
from priste.release import Certified, Optimal, StreamNode, StreamTree
from priste.release.accountant import AccountantState
from priste.release.calibrators.best_guess import (
    Costs,
    Cut,
    Groups,
    constant_output,
    labels_of,
    likely_rectangles,
    merged_outputs,
)
from priste.release.calibrators.optimal import (
    ONE_MODEL,
    SEVERAL_MODELS,
    Size,
    _groups,
    _none_passes,
    _unmixed,
    populations,
)
from priste.release.calibrators.programme import PriorBound, Programme
from priste.release.calibrators.spending import (
    FIRST_SHARE,
    LAST_SHARE,
    LEAST_STEP,
    limited,
    scheduled_limits,
    sensitivity,
    share_by,
    shares,
)
from priste.release.release_tables import Draw
from priste.release.terms import make_terms

GRID = Grid(rows=4, columns=4, cell_size=1.0)
WALK = MarkovModel.gaussian(GRID, sigma=0.8)
EVENT = presence([0, 1, 4], [3, 4])
EVERYWHERE = np.full(16, 1 / 16)
ROUNDING = 1e-9
SLACK = 2e-6
"""What rounding may make a half worse off than with a constant, relatively."""
LP_TOLERANCE = 1e-5
"""Between the table and the optimum: its margin inside the bounds and the solver's tolerance."""


def node_of(
    calibrator: Optimal | Certified,
    guarantee: object = 1.0,
    mech: Mechanism | None = None,
    rows: object = EVERYWHERE,
    model: MarkovModel = WALK,
    event: object = EVENT,
) -> StreamNode:
    mech = PlanarLaplace(GRID, alpha=2.0) if mech is None else mech
    terms = make_terms(model, event, mech, guarantee, None, KnownPrior(rows))  # type: ignore[arg-type]
    return StreamTree.of(terms, calibrator).root


@examples(15)
@given(
    seed=st.integers(0, 10**6),
    guarantee=st.sampled_from(
        [0.05, 1.0, OddsBound(0.5, math.inf), OddsBound(2.0, 0.1), BeliefBound(0.6)]
    ),
    exact=st.booleans(),
)
def test_every_table_sums_to_one_passes_and_is_no_worse_than_a_constant(
    seed: int, guarantee: object, exact: bool
) -> None:
    """Along random streams rows sum to 1, every column passes, and a constant is no better.

    Neither for those with the event, nor for those without, nor for both as they are expected.
    """
    mech = Identity(GRID) if exact else PlanarLaplace(GRID, alpha=2.0)
    rows = [EVERYWHERE, np.eye(16)[seed % 16]]
    calibrator = Optimal()
    p = Protector(WALK, EVENT, mech, guarantee, calibrator, rng=seed, adversary=KnownPrior(rows))  # type: ignore[arg-type]
    for cell in WALK.sample(6, rng=seed):
        state = p.state
        table = calibrator.propose(state).table
        assert np.abs(exact_row_excess(table.likelihoods)).max() <= ROW_SUM_TOLERANCE
        assert len(set(table.outputs.tolist())) == len(table.outputs)
        assert table.uninformative or state.passes(table.likelihoods).all()
        distances = Costs("distance", "the test").matrix(mech)
        constant = constant_output(state, Costs("distance", "the test"))
        by_cell = (table.likelihoods * distances[:, table.outputs]).sum(axis=1)
        people = populations(state, list(state.operators()))
        assert table.cost == pytest.approx(people.mixture @ by_cell, abs=ROUNDING)
        for half in [*people.protected, state.predicted()]:
            assert half @ by_cell <= half @ distances[:, constant] * (1 + SLACK) + ROUNDING
        p.release(int(cell))


@pytest.mark.parametrize("pace", [0.1, 1.0])
@pytest.mark.parametrize("adversary", [KnownPrior(EVERYWHERE), AnyPrior()])
def test_certified_is_no_worse_than_a_constant_under_its_own_model(
    adversary: Adversary, pace: float
) -> None:
    """What it is expected to cost is, step by step, at most 5 % above one constant cell."""
    mech = PlanarLaplace(GRID, alpha=2.0)
    distances = Costs("distance", "the test").matrix(mech)
    p = Protector(WALK, EVENT, mech, 0.5, Certified(pace=pace), rng=4, adversary=adversary)
    for cell in WALK.sample(8, rng=4):
        predicted = p.state.predicted()
        by_cell = (p.distribution().outputs() * distances).sum(axis=1)
        assert predicted @ by_cell <= 1.05 * (predicted @ distances).min()
        p.release(int(cell))


def test_one_past_has_one_table_to_the_bit() -> None:
    """Two states with the same releases have equal tables; nothing is kept between them."""
    calibrator = Optimal()
    one, other = node_of(calibrator), node_of(Optimal())
    for _ in range(5):
        here, there = one.rule.table, other.rule.table  # type: ignore[attr-defined]
        assert here.likelihoods.tobytes() == there.likelihoods.tobytes()
        assert here.outputs.tolist() == there.outputs.tolist()
        output = int(here.outputs[0])
        one = one.after(one.rule.outcome(output, here.budget))
        other = other.after(other.rule.outcome(output, here.budget))


@pytest.mark.parametrize("up", [0.5, 1.0, 2.0])
def test_upwards_the_limit_is_met(up: float) -> None:
    """Of those without the event, 1 - e^-up are shown to be without it, and not more."""
    line = Grid(rows=1, columns=2, cell_size=1.0)
    still = MarkovModel(line, np.eye(2))
    calibrator = Optimal(pace=1.0)
    node = node_of(
        calibrator, OddsBound(up, math.inf), Identity(line), [0.75, 0.25], still, at([0], 0)
    )
    table = calibrator.propose(node.state).table
    table = [[Fraction(float(x)) for x in row] for row in table.likelihoods]
    shown = [without for with_event, without in zip(*table, strict=True) if not with_event]
    cleared = sum(shown) / sum(table[1])
    assert cleared <= 1 - math.exp(-up)
    assert float(cleared) == pytest.approx(1 - math.exp(-up), abs=LP_TOLERANCE)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("cells", [3, 4])
def test_with_one_prior_it_is_the_optimum(cells: int, epsilon: float) -> None:
    """Where no later step counts, the cost is that of the linear programme over all remaps.

    Half of those whom it serves have the event, and neither half is worse off than with a constant.
    """
    line = Grid(rows=1, columns=cells, cell_size=1.0)
    walk = MarkovModel.gaussian(line, sigma=1.0)
    prior = np.arange(1, cells + 1) / (cells * (cells + 1) / 2)
    event, mech = at([0], 0), Identity(line)
    calibrator = Optimal(pace=1.0)
    node = node_of(calibrator, epsilon, mech, prior, walk, event)
    table = calibrator.propose(node.state).table
    distances = Costs("distance", "the test").matrix(mech)
    given_event = np.eye(cells)[0]
    given_not = np.where(np.arange(cells) == 0, 0.0, prior) / (1 - prior[0])
    bounds = []
    for target in range(cells):
        for more, less in ((given_event, given_not), (given_not, given_event)):
            row = np.zeros((cells, cells))
            row[:, target] = more - math.exp(epsilon) * less
            bounds.append(row.ravel())
    half_and_half = (given_event + given_not) / 2
    constant = int(np.argmin(prior @ distances))
    caps = [(half[:, None] * distances).ravel() for half in (given_event, given_not)]
    most = [half @ distances[:, constant] for half in (given_event, given_not)]
    best = linprog(
        (half_and_half[:, None] * distances).ravel(),
        A_ub=np.array(bounds + caps),
        b_ub=np.array([0.0] * len(bounds) + most),
        A_eq=np.kron(np.eye(cells), np.ones(cells)),
        b_eq=np.ones(cells),
    )
    assert table.cost >= best.fun - ROUNDING
    assert table.cost == pytest.approx(best.fun, abs=LP_TOLERANCE)


def test_a_guess_is_the_best_public_one() -> None:
    """Each source is the sum of the outputs whose least expected cost is at its target."""
    mech, predicted = PlanarLaplace(GRID, alpha=1.0), np.arange(1, 17) / 136
    sources = merged_outputs(mech, predicted, Costs("distance", "the test"))
    apart = Costs("distance", "the test").matrix(mech)
    joint = mech.emission() * predicted[:, None]
    best = (joint.T @ apart).argmin(axis=1)
    for place, target in enumerate(sources.targets[sources.own]):
        summed = mech.emission()[:, best == target].sum(axis=1)
        assert sources.sources.likelihoods[:, place] == pytest.approx(summed, rel=1e-12)
    assert sources.constant_cost == pytest.approx(float((predicted @ apart).min()))


@pytest.mark.parametrize("spread", [1.0, 6.0, 60.0])
@pytest.mark.parametrize(
    ("side", "alpha", "most"), [(20, 1.0, 1.05), (20, 4.0, 1.05), (30, 1.0, 1.1)]
)
def test_guesses_are_nearly_as_good_as_if_every_cell_were_one(
    side: int, alpha: float, most: float, spread: float
) -> None:
    """Wherever people may be, few guesses or one in each rectangle cost little more than all."""
    grid = Grid(rows=side, columns=side, cell_size=1.0)
    mech, costs = PlanarLaplace(grid, alpha), Costs("distance", "the test")
    apart = costs.matrix(mech)
    people = np.exp(-apart[3 * side + 14] / spread)
    people /= people.sum()
    every_cell = float(((mech.emission() * people[:, None]).T @ apart).min(axis=1).sum())
    sources = merged_outputs(mech, people, costs)
    by_source = Groups(np.eye(len(sources.own)), sources).costs()
    guessed = float(by_source[np.arange(len(sources.own)), sources.own].sum())
    assert len(sources.targets) <= 401
    assert (
        guessed == pytest.approx(every_cell, rel=1e-6) or every_cell < guessed <= most * every_cell
    )


@pytest.mark.parametrize("size", [ONE_MODEL, SEVERAL_MODELS])
@pytest.mark.parametrize("spread", [0.3, 2.0, 60.0])
def test_groups_are_of_all_sources(spread: float, size: Size) -> None:
    """Every source is released exactly or in a group; those of a rectangle have one best guess."""
    grid = Grid(rows=12, columns=12, cell_size=1.0)
    mech, costs = PlanarLaplace(grid, 2.0), Costs("distance", "the test")
    people = np.exp(-costs.matrix(mech)[40] / spread)
    sources = merged_outputs(mech, people / people.sum(), costs)
    passing = np.arange(len(sources.mass)) % 3 == 0
    groups, guesses, exact = _groups(mech, sources, sources.mass, lambda some: passing[some], size)
    assert ((groups.members.sum(axis=1) == 1.0) != np.isin(np.arange(len(passing)), exact)).all()
    assert groups.members.shape[1] == len(guesses) <= size.sources + 1
    assert passing[exact].all()
    groups, _, exact = _groups(mech, sources, sources.mass, _none_passes, size)
    assert len(exact) == 0
    assert (groups.members.sum(axis=1) == 1.0).all()
    if spread == 60.0:
        by_group = groups.costs()
        assert by_group[np.arange(len(by_group)), guesses] == pytest.approx(by_group.min(axis=1))


def test_unmixed_groups_have_a_target_of_their_own() -> None:
    """Only a group whose target stands for no other group may be released exactly."""
    remap = np.array([[1.0, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 1.0, 0, 0], [0, 0, 0, 1.0]])
    assert _unmixed(remap).tolist() == [True, False, False, True]


def test_where_people_may_be_anywhere_a_table_serves_them() -> None:
    """On a wide map with an event to come, a table costs less than half of a constant."""
    grid = Grid(rows=20, columns=20, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=10.0)
    calibrator = Optimal()
    p = Protector(
        model, presence(range(10), range(3, 8)), PlanarLaplace(grid, alpha=1.0), 0.5,
        calibrator, adversary=KnownPrior(np.full(400, 1 / 400)), rng=5,
    )  # fmt: skip
    table = calibrator.propose(p.state).table
    constant = float(np.full(400, 1 / 400) @ grid.distances()[210])
    assert table.cost < 0.5 * constant


def test_rectangles_do_not_hang_on_the_last_bit() -> None:
    """On a regular map many rectangles are equally likely: the same ones are cut everywhere."""
    grid = Grid(rows=12, columns=12, cell_size=1.0)
    even = np.full(144, 1.0 / 144)
    found = Cut.of(grid, even, 50)
    for seed in range(20):
        last_bits = 1.0 + 1e-15 * np.random.default_rng(seed).choice([-1.0, 1.0], 144)
        again = Cut.of(grid, even * last_bits, 50)
        assert again.rectangles == found.rectangles
        assert again.standing.tolist() == found.standing.tolist()


@pytest.mark.parametrize("alpha", [0.3, 2.0, 40.0])
def test_rectangles_are_sums_of_columns(alpha: float) -> None:
    """The merged table of every mechanism on cells is that of its emission table."""
    grid = Grid(rows=5, columns=7, cell_size=0.5)
    laplace = PlanarLaplace(grid, alpha)
    predicted = np.random.default_rng(3).dirichlet(np.ones(35))
    boxes = likely_rectangles(grid, predicted, 11)
    labels = labels_of(grid, boxes)
    assert sorted(set(labels.tolist())) == list(range(11))
    table = EmissionTable(grid, laplace.emission())
    for mech in (laplace, table, Identity(grid), Uniform(grid)):
        merged = mech.rectangles(boxes)
        for place in range(11):
            whole = mech.emission()[:, labels == place].sum(axis=1)
            assert merged[:, place] == pytest.approx(whole, rel=1e-12)


def test_a_large_map_is_released_by_rectangles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit no emission table is made, and the guarantee is checked as ever."""
    from priste.release.calibrators import best_guess as merging

    monkeypatch.setattr(merging, "WHOLE_TABLE", 10)
    monkeypatch.setattr(merging, "MOST_RECTANGLES", 9)
    monkeypatch.setattr(PlanarLaplace, "emission", lambda self: pytest.fail("a table was made"))
    p = Protector(
        WALK, EVENT, PlanarLaplace(GRID, alpha=2.0), 0.5, rng=2, adversary=KnownPrior(EVERYWHERE)
    )
    assert all(p.release(cell).leakage[0] <= 0.5 for cell in (5, 5, 6, 1, 0, 0, 5))


def test_a_step_is_sensitive_until_the_model_has_forgotten() -> None:
    """Total variation is largest in the event and falls after it."""
    found = sensitivity(WALK, EVENT, EVERYWHERE)
    assert found.argmax() in (3, 4)
    assert found[-1] < 0.05 < found[4]
    assert (np.diff(found[5:]) <= ROUNDING).all()


@examples(25)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
)
def test_what_may_be_used_never_falls_and_the_last_is_kept(apart: list[float]) -> None:
    """Shares grow from a part of the guarantee to all but the last, which is for after."""
    found = shares(np.array(apart))
    assert (np.diff(found) >= -ROUNDING).all()
    assert found[0] >= FIRST_SHARE
    assert found[-1] == pytest.approx(1.0 - LAST_SHARE if any(apart) else 1.0)


@pytest.mark.parametrize("last_bits", [1.0 - 1e-15, 1.0, 1.0 + 1e-15])
def test_steps_that_are_equally_telling_are_so_on_every_machine(last_bits: float) -> None:
    """What may be used by a step does not hang on which of two equal numbers was rounded up."""
    found = shares(np.array([0.1, 0.5, 0.5 * last_bits, 0.2]))
    assert found == pytest.approx(shares(np.array([0.1, 0.5, 0.5, 0.2])), rel=1e-9)


@pytest.mark.parametrize(
    "guarantee", [1.0, OddsBound(0.5, math.inf), OddsBound(2.0, 0.1), BeliefBound(0.6)]
)
def test_the_schedule_follows_from_public_things_alone(guarantee: object) -> None:
    """Two people with one past have one limit, below the guarantee at first, and then no less."""
    streams = [
        Protector(
            WALK, EVENT, Identity(GRID), guarantee, rng=seed, adversary=KnownPrior(EVERYWHERE)
        )  # type: ignore[arg-type]
        for seed in (1, 2)
    ]
    for p in streams:
        assert scheduled_limits(p.state) != list(p.guarantees)
    for _ in range(30):
        limits = [scheduled_limits(p.state) for p in streams]
        assert limits[0] == limits[1]
        for p in streams:
            p.release(None)
    terms = streams[0].state.terms
    by_step = [share_by(terms, 0, step) for step in range(60)]
    assert by_step == sorted(by_step)
    assert by_step[-1] == 1.0


@pytest.mark.parametrize("leaked", [-3.0, 0.0, 0.2, 0.7, 0.95, 0.999])
def test_no_step_uses_up_all_that_is_left(leaked: float) -> None:
    """However much was revealed: some is left after a step, and none of it is taken back."""
    for share in (0.4, 0.8, 1.0):
        limit = limited(OddsBound(1.0, 1.0), share, leaked, 0.1, 0.1)
        assert isinstance(limit, OddsBound)
        assert max(leaked, 0.0) <= limit.up < 1.0
        assert limit.up == limit.down
        assert limit.up <= max(leaked + LEAST_STEP * (1.0 - leaked), share)


def test_a_stream_recovers_when_its_event_is_past() -> None:
    """Long after the event releases are far nearer than a constant, whatever happened in it.

    Expected distances under the model given the past, over streams with and without the event.
    """
    event, calibrator = presence([0, 1, 4, 5], [2, 3, 4]), Optimal()
    distances = Costs("distance", "the test").matrix(Identity(GRID))
    during, after, constant = [], [], []
    for seed in range(6):
        p = Protector(WALK, event, Identity(GRID), 1.0, rng=seed, adversary=KnownPrior(EVERYWHERE))
        for step, cell in enumerate(WALK.sample(24, rng=seed)):
            state = p.state
            table = calibrator.propose(state).table
            cost = float(
                state.predicted() @ (table.likelihoods * distances[:, table.outputs]).sum(axis=1)
            )
            if 2 <= step <= 4:
                during.append(cost)
            if step >= 16:
                after.append(cost)
                constant.append(float((EVERYWHERE @ distances).min()))
            p.release(int(cell))
    assert np.mean(after) < 0.5 * np.mean(during)
    assert np.mean(after) < 0.3 * np.mean(constant)


def test_no_calibrator_is_worse_than_a_constant_under_its_own_model() -> None:
    """In expectation over streams that move by the model a constant is better by 5 % at most."""
    event = presence([15], [4, 5])
    distances = Costs("distance", "the test").matrix(Identity(GRID))
    constant = float((EVERYWHERE @ distances).min())
    for calibrator in (Optimal(), Certified(pace=0.1)):
        expected = []
        for seed in range(3):
            mech = PlanarLaplace(GRID, alpha=3.0)
            p = Protector(
                WALK, event, mech, 0.5, calibrator, rng=seed, adversary=KnownPrior(EVERYWHERE)
            )
            for cell in WALK.sample(10, rng=seed):
                state = p.state
                table = p.distribution().outputs()
                expected.append(float(state.predicted() @ (table * distances).sum(axis=1)))
                p.release(int(cell))
        assert np.mean(expected) <= 1.05 * constant


@pytest.mark.parametrize("mech", [Identity(GRID), PlanarLaplace(GRID, alpha=2.0)], ids=repr)
@pytest.mark.parametrize("sigma", [0.8, 0.4, 0.2])
def test_the_last_bit_of_the_model_does_not_change_a_table(mech: Mechanism, sigma: float) -> None:
    """Of equally good tables the same one is found for numbers a little apart.

    Also at short movements, where nearly everybody stays and many tables cost the same.
    """
    walk = MarkovModel.gaussian(GRID, sigma=sigma)
    matrix = walk.transition(0).toarray()
    rng = np.random.default_rng(5)
    for seed in range(3):
        shaken = matrix * (1.0 + 2.0**-50 * rng.integers(-2, 3, matrix.shape))
        shaken /= shaken.sum(axis=1, keepdims=True)
        nodes = [
            node_of(Optimal(), mech=mech, model=MarkovModel(GRID, x)) for x in (matrix, shaken)
        ]
        for cell in walk.sample(6, rng=seed):
            one, other = (node.rule.table for node in nodes)  # type: ignore[attr-defined]
            assert one.outputs.tolist() == other.outputs.tolist()
            assert one.likelihoods == pytest.approx(other.likelihoods, abs=1e-6)
            place = int(np.argmax(one.likelihoods[cell]))
            drawn = int(one.outputs[place])
            nodes = [node.after(node.rule.outcome(drawn, one.budget)) for node in nodes]


def test_a_rare_event_far_away_leaves_the_truth_alone() -> None:
    """Long before an event that the model will have forgotten, releases are as exact as alone."""
    event = presence([0], [200])
    p = Protector(WALK, event, Identity(GRID), 1.0, rng=1, adversary=KnownPrior(EVERYWHERE))
    path = WALK.sample(10, rng=4)
    assert [p.release(int(cell)).cell for cell in path] == [int(cell) for cell in path]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"cost": "worst"}, "'cost' of Optimal"),
        ({"cost": "cheap"}, "'cost' of Optimal"),
        ({"pace": 0.0}, "'pace' of Optimal"),
        ({"pace": math.nan}, "'pace' of Optimal"),
        ({"work": 0}, "'work' of Optimal"),
        ({"work": True}, "'work' of Optimal"),
    ],
)
def test_parameters_out_of_range_are_refused(options: dict[str, object], match: str) -> None:
    """Who complains and about what is said."""
    with pytest.raises(InvalidParameter, match=match):
        Optimal(**options)  # type: ignore[arg-type]


def test_hardly_any_work_is_still_private() -> None:
    """With one pivot a step the proposal is useless; what is released passes all the same."""
    p = Protector(
        WALK, EVENT, Identity(GRID), 0.5, Optimal(work=1), rng=5, adversary=KnownPrior(EVERYWHERE)
    )
    assert all(p.release(cell).leakage[0] <= 0.5 for cell in (5, 4, 0, 0, 1, 5))


def test_certified_releases_the_guess_it_accounts_for() -> None:
    """What is drawn is one of the merged outputs, and its column is stored with it."""
    calibrator = Certified(pace=0.5)
    state = node_of(calibrator, 2.0).state
    table = calibrator.propose(state).table
    assert state.passes(table.likelihoods).all() or table.uninformative
    assert np.abs(exact_row_excess(table.likelihoods)).max() <= ROW_SUM_TOLERANCE
    p = Protector(
        WALK,
        EVENT,
        PlanarLaplace(GRID, 2.0),
        2.0,
        calibrator,
        rng=1,
        adversary=KnownPrior(EVERYWHERE),
    )
    release = p.release(5)
    assert release.cell in table.outputs
    place = table.outputs.tolist().index(release.cell)
    stored = p.ledger.likelihood(0)
    assert stored is not None
    assert stored.tobytes() == np.array(table.likelihoods[:, place]).tobytes()


def test_populations_count_as_much_as_they_make_the_releases_likely() -> None:
    """Weights are Pr(releases | model, answer), compared with sums over all trajectories."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    models = [MarkovModel.gaussian(grid, sigma=sigma) for sigma in (0.6, 1.5)]
    priors = [np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])]
    event, mech = at([0], 1), PlanarLaplace(grid, alpha=1.0)
    terms = make_terms(
        models, event, mech, 1.0, None, [KnownPrior(prior) for prior in priors], "each"
    )
    state, seen = AccountantState.first(terms), [np.array([0.9, 0.5, 0.2]), np.array([0.3, 0.6, 1])]
    for likelihood in seen:
        state = state.after(Draw(0, 1.0, likelihood))
    expected = []
    for model, prior in zip(models, priors, strict=True):
        moves = model.transition(0).toarray()
        sums = np.zeros((2, 2))
        for first, second in product(range(3), repeat=2):
            chance = prior[first] * moves[first, second]
            sums[0 if second == 0 else 1] += (
                chance * seen[0][first] * seen[1][second], chance,
            )  # fmt: skip
        expected += list(sums[:, 0] / sums[:, 1])
    people = populations(state, list(state.operators()))
    assert people.weights == pytest.approx(np.array(expected) / sum(expected))
    assert people.places.sum(axis=1) == pytest.approx(1.0)


def test_a_programme_without_a_solution_returns_none() -> None:
    """One source with R = 1 / 2, whose limits are 0: no remap keeps them, and none is returned."""
    bound = PriorBound(np.array([2.0 / 3.0]), np.array([4.0 / 3.0]), 0.0, 0.0)
    for limit, wanted in ((0.0, None), (1.0, [[1.0]])):
        there = PriorBound(bound.x, bound.y, limit, limit)
        programme = Programme(np.ones((1, 1)), np.ones((1, 1), dtype=bool), [there])
        found = programme.solve(lambda _: [], 4, 100)
        assert found is None if wanted is None else found.tolist() == wanted


def test_calibrators_of_one_stream_have_constants_of_their_own() -> None:
    """What is kept with the terms does not mix up the costs of two calibrators."""
    likely = np.zeros(16)
    likely[[0, 3]] = 0.6, 0.4
    still = MarkovModel(GRID, np.eye(16))
    mech = PlanarLaplace(GRID, alpha=2.0)
    terms = make_terms(still, presence([0], [1]), mech, 1.0, None, KnownPrior(likely))
    state = AccountantState.first(terms)
    apart = GRID.distances()
    for name, costs in (("distance", apart), ("squared", apart**2), ("matrix", 7.0 - apart)):
        given = costs.tolist() if name == "matrix" else name
        found = constant_output(state, Costs(given, "the test"))
        assert found == int(np.argmin(likely @ costs))
    assert len({int(np.argmin(likely @ costs)) for costs in (apart, apart**2, 7.0 - apart)}) == 3
