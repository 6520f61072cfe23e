"""The true distribution of release procedures, and what it tells."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.audit.exact_procedures import paper_histories
from tests.release.exact_stream import (
    below_exp,
    exact_matrix,
    exact_rows,
    exceeds,
    joint_of,
    leakage,
)

from priste import (
    AnyPrior,
    EmissionTable,
    Grid,
    InvalidParameter,
    MarkovModel,
    PlanarLaplace,
    Protector,
    Quantifier,
    at,
    presence,
)
from priste.audit import TooManyHistories, output_histories, sampled_leakage, true_leakage
from priste.release import Certified, Paper, ReleaseTable
from priste.release.release_tables import UncheckedTable

SUM_TOLERANCE = 1e-12
LEAKAGE_TOLERANCE = 2e-9  # SLACK of the worst prior, and rounding
SMALLEST_P_VALUE = 1e-3

LINE3 = Grid(rows=1, columns=3, cell_size=1.0)
MODEL3 = MarkovModel.gaussian(LINE3, sigma=0.7)
EVENT3 = presence([1, 2], steps=[1])
MECH3 = PlanarLaplace(LINE3, alpha=3.0)

LINE6 = Grid(rows=1, columns=6, cell_size=1.0)
MODEL6 = MarkovModel.gaussian(LINE6, sigma=0.7)
EVENT6 = presence([0, 1, 5], steps=[2, 3])
MECH6 = PlanarLaplace(LINE6, alpha=1.0)


def protector3(calibrator, epsilon=1.0, rng=None):
    return Protector(
        MODEL3, EVENT3, MECH3, epsilon, calibrator=calibrator, rng=rng, adversary=AnyPrior()
    )


def protector6(calibrator, epsilon):
    return Protector(MODEL6, EVENT6, MECH6, epsilon, calibrator=calibrator, adversary=AnyPrior())


@pytest.mark.parametrize("sees", ["outputs", "budgets"])
@pytest.mark.parametrize("calibrator", ["paper", "certified", "uncalibrated", Certified(pace=0.5)])
def test_distributions_sum_to_one(calibrator, sees) -> None:
    """At every length the probabilities of all sequences sum to 1, for any prior."""
    prior = np.array([0.2, 0.5, 0.3])
    totals = [0.0, 0.0]
    for history in output_histories(protector3(calibrator), 2, sees=sees, prior=prior):
        totals[len(history.outputs) - 1] += history.probability
    assert totals == pytest.approx([1.0, 1.0], abs=SUM_TOLERANCE)


def test_probability_of_the_event_is_shared_out() -> None:
    """The joint probabilities with the event sum to the probability of the event."""
    joint = sum(
        h.with_event[0] for h in output_histories(protector3("paper"), 2) if len(h.outputs) == 2
    )
    expected = Quantifier(MODEL3, EVENT3).prior_by_start().mean()
    assert joint == pytest.approx(expected, abs=SUM_TOLERANCE)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_paper_equals_the_loop_written_out_in_fractions(epsilon) -> None:
    """Probabilities and leakages of all sequences are those of Algorithm 2, walked exactly."""
    exact = paper_histories(MODEL3, EVENT3, MECH3, epsilon, attempts=4, steps=2)
    found = {
        h.outputs: h
        for h in output_histories(protector3(Paper(max_attempts=4), epsilon), 2)
        if len(h.outputs) == 2
    }
    assert set(found) == set(exact)
    for outputs, rows in exact.items():
        chance = float(sum(b + d for _, _, b, d in rows) / 3)
        assert found[outputs].probability == pytest.approx(chance, rel=1e-12)
        wanted = leakage(rows)
        assert wanted - 1e-12 <= found[outputs].leakage[0] <= wanted + LEAKAGE_TOLERANCE


@pytest.mark.parametrize("calibrator", ["paper", "certified"])
def test_distributions_equal_long_run_frequencies(calibrator) -> None:
    """Real Protectors, run 200 times, release sequences as often as the enumerated table says."""
    runs = 200
    expected = {
        (h.outputs, h.budgets): h.probability
        for h in output_histories(protector3(calibrator), 2, sees="budgets")
        if len(h.outputs) == 2
    }
    rng = np.random.default_rng(11)
    counts = dict.fromkeys(expected, 0)
    for _ in range(runs):
        p = protector3(calibrator, rng=rng)
        releases = [p.release(int(cell)) for cell in MODEL3.sample(2, rng)]
        counts[tuple(r.cell for r in releases), tuple(r.budget for r in releases)] += 1
    common = [key for key in expected if expected[key] * runs >= 5]
    seen = [counts[key] for key in common] + [runs - sum(counts[key] for key in common)]
    wanted = [expected[key] * runs for key in common]
    wanted.append(runs - sum(wanted))
    if wanted[-1] < 1:
        seen, wanted = seen[:-1], [w * sum(seen[:-1]) / sum(wanted[:-1]) for w in wanted[:-1]]
    assert stats.chisquare(seen, wanted).pvalue > SMALLEST_P_VALUE


@pytest.mark.parametrize(
    ("epsilon", "one_step", "two_steps"),
    [(0.5, 0.735711504, 1.313839638), (1.0, 1.493354859, 2.362495678)],
)
def test_paper_tells_more_than_it_checks(epsilon, one_step, two_steps) -> None:
    """On a line of six cells the paper's loop exceeds its ε, seen from its outputs alone.

    The numbers are those of ``exact_procedures.paper_histories`` with 30 attempts, which takes a
    minute; a smaller case is compared with it above.
    """
    found = true_leakage(protector6("paper", epsilon), 2)["event"]
    assert found.leakage == pytest.approx((one_step, two_steps), abs=LEAKAGE_TOLERANCE)
    assert not found.kept
    assert found.exceeding > 0.1


def test_paper_exceeds_a_small_epsilon_too() -> None:
    """With ε = 0.1 the first release of the paper's loop tells 0.125 on a line of seven cells."""
    grid = Grid(rows=1, columns=7, cell_size=1.0)
    p = Protector(
        MarkovModel.gaussian(grid, sigma=2.0),
        at([1, 6], 2),
        PlanarLaplace(grid, alpha=2.0),
        guarantee=0.1,
        calibrator="paper",
        adversary=AnyPrior(),
    )
    assert true_leakage(p, 1)["event"].value == pytest.approx(0.1252, abs=1e-4)


@pytest.mark.parametrize("sees", ["outputs", "budgets"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_certified_never_exceeds(epsilon, sees) -> None:
    """The true leakage of the certified calibrator is within ε for every sequence."""
    found = true_leakage(protector6("certified", epsilon), 2, sees=sees)["event"]
    assert found.kept
    assert found.exceeding == 0.0
    assert found.value > 0.5 * epsilon  # it does use what it may


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("event", [EVENT3, at([0], 0), presence([0], [0, 1])])
def test_certified_is_within_epsilon_in_fractions(event, epsilon) -> None:
    """No prior and no sequence of two releases exceed e**ε, decided without floating point."""
    bound = below_exp(epsilon)
    matrix = exact_matrix(MODEL3.transition(0).toarray())
    p = Protector(MODEL3, event, MECH3, epsilon, Certified(guess=False), adversary=AnyPrior())
    histories = [h for h in output_histories(p, 2, sees="budgets") if len(h.outputs) == 2]
    tables = {
        budget: exact_rows(MECH3.with_budget(budget).emission())
        for h in histories
        for budget in h.budgets
    }
    for h in histories:
        columns = [
            [row[output] for row in tables[budget]]
            for output, budget in zip(h.outputs, h.budgets, strict=True)
        ]
        assert not exceeds(joint_of(matrix, event, columns), bound)


def test_more_to_see_and_more_steps_tell_more() -> None:
    """Leakage never falls with the steps, nor when budgets are seen too."""
    outputs = true_leakage(protector6("paper", 0.5), 2)["event"]
    budgets = true_leakage(protector6("paper", 0.5), 2, sees="budgets")["event"]
    assert outputs.leakage[0] <= outputs.leakage[1] + LEAKAGE_TOLERANCE
    for less, more in zip(outputs.leakage, budgets.leakage, strict=True):
        assert less <= more + LEAKAGE_TOLERANCE


def test_worst_prior_reaches_the_value() -> None:
    """The reported prior has the reported leakage, recomputed from the worst sequence."""
    p = protector6("paper", 1.0)
    found = true_leakage(p, 1)["event"]
    prior = np.zeros(6)
    for cell, weight in found.worst_prior.items():
        prior[cell] = weight
    prior /= prior.sum()
    h = next(h for h in output_histories(p, 1, prior=prior) if h.outputs == found.worst.outputs)
    share = Quantifier(MODEL6, EVENT6).posterior(prior)
    ratio = (h.with_event[0] / share) / ((h.probability - h.with_event[0]) / (1 - share))
    assert abs(math.log(ratio)) == pytest.approx(found.value, abs=1e-6)


def test_several_models_and_events_are_each_the_worst() -> None:
    """The leakage of a procedure that guards several models is the largest over them."""
    slow, fast = MarkovModel.gaussian(LINE3, 0.5), MarkovModel.gaussian(LINE3, 2.0)
    events = {"one": EVENT3, "two": at([0], 0)}
    both = true_leakage(
        Protector([slow, fast], events, MECH3, 0.5, Certified(guess=False), adversary=AnyPrior()), 1
    )
    assert set(both) == {"one", "two"}
    budget = (
        Protector([slow, fast], events, MECH3, 0.5, Certified(guess=False), adversary=AnyPrior())
        .distribution()
        .budgets[0]
    )
    table = MECH3.with_budget(budget).emission()
    for name, event in events.items():
        largest = max(Quantifier(m, event).leakage_if(table).max() for m in (slow, fast))
        assert both[name].value == pytest.approx(largest, abs=LEAKAGE_TOLERANCE)
        assert both[name].kept


def test_sampled_runs_lie_on_the_enumerated_distribution() -> None:
    """Every sampled run has exactly the leakage of its sequence; certified runs stay within ε."""
    exact = {
        (h.outputs, h.budgets): h.leakage[0]
        for h in output_histories(protector6("paper", 0.5), 2, sees="budgets")
    }
    found = sampled_leakage(protector6("paper", 0.5), 2, runs=60, rng=3)["event"]
    largest = max(exact.values())
    assert found.nominal_value <= 0.5 + LEAKAGE_TOLERANCE < found.value
    assert found.value <= largest + LEAKAGE_TOLERANCE
    values = np.array(list(exact.values()))
    for run in found.true:
        assert np.abs(values - run[-1]).min() < LEAKAGE_TOLERANCE
    enumerated = true_leakage(protector6("paper", 0.5), 2, sees="budgets")["event"]
    assert found.exceeding.low <= enumerated.exceeding <= found.exceeding.high
    sound = sampled_leakage(protector6("certified", 0.5), 3, runs=10, rng=3)["event"]
    assert sound.value <= 0.5 + LEAKAGE_TOLERANCE
    assert sound.true == sound.nominal


def test_a_calibrator_with_columns_of_its_own_is_followed() -> None:
    """A calibrator that states its own likelihoods is enumerated with the columns it states."""
    coin = np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])

    class Remapped:
        guaranteed = False

        def propose(self, state):
            return UncheckedTable(ReleaseTable(coin, np.arange(2), 2, state.mechanism.budget))

        def describe(self):
            return {"kind": "remapped"}

    mech = EmissionTable(LINE3, [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    remapped = Protector(MODEL3, EVENT3, mech, 1.0, calibrator=Remapped(), adversary=AnyPrior())
    uncalibrated = Protector(
        MODEL3,
        EVENT3,
        EmissionTable(LINE3, coin),
        1.0,
        calibrator="uncalibrated",
        adversary=AnyPrior(),
    )
    for one, other in zip(
        output_histories(remapped, 2), output_histories(uncalibrated, 2), strict=True
    ):
        assert one.outputs == other.outputs
        assert one.leakage == pytest.approx(other.leakage, abs=LEAKAGE_TOLERANCE)


def test_hostile_arguments() -> None:
    """Wrong steps, sights and used Protectors are refused; too many histories are too many."""
    for steps in (0, -1, True, 1.5):
        with pytest.raises(InvalidParameter, match="steps"):
            true_leakage(protector3("paper"), steps)
    with pytest.raises(InvalidParameter, match="sees"):
        true_leakage(protector3("paper"), 1, sees="everything")
    used = protector3("paper", rng=1)
    used.release(0)
    with pytest.raises(InvalidParameter, match="before its first release"):
        true_leakage(used, 1)
    with pytest.raises(TooManyHistories, match="sampled_leakage"):
        true_leakage(protector3("paper"), 3, max_histories=20)
    with pytest.raises(InvalidParameter, match="runs"):
        sampled_leakage(protector3("paper"), 1, runs=0)
