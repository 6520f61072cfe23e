"""What an adversary believes, against enumeration of all paths in fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.path_enumeration import PathEnumeration

from priste import Grid, InvalidParameter, MarkovModel, PlanarLaplace, at, presence
from priste.audit import (
    audit_stream,
    event_belief,
    location_belief,
    most_likely_trajectory,
    prior_in_words,
)

TOLERANCE = 1e-12
GRID = Grid(rows=1, columns=3, cell_size=1.0)
MODEL = MarkovModel(GRID, [[0.1, 0.2, 0.7], [0.4, 0.1, 0.5], [0.0, 0.1, 0.9]])
EVENT = presence([0, 1], [1, 2])
TABLE = PlanarLaplace(GRID, alpha=1.0).emission()

releases = st.lists(st.none() | st.integers(0, 2), min_size=1, max_size=3)
priors = (
    st.lists(st.integers(0, 5), min_size=3, max_size=3)
    .filter(any)
    .map(lambda w: np.array(w) / sum(w))
)


def columns(outputs):
    return [None if o is None else TABLE[:, o] for o in outputs]


def exact_posterior(prior, seen):
    rows = PathEnumeration(MODEL, 3).joint(EVENT, seen)
    b = sum(w * float(row[2]) for w, row in zip(prior, rows, strict=True))
    d = sum(w * float(row[3]) for w, row in zip(prior, rows, strict=True))
    return b / (b + d)


@given(releases, priors)
@examples(25)
def test_belief_follows_every_path(outputs, prior) -> None:
    """The belief after each release is that of enumeration, and lies in the range of all priors."""
    found = event_belief(MODEL, EVENT, columns(outputs), prior=prior)
    for step in range(len(outputs) + 1):
        wanted = exact_posterior(prior, columns(outputs[:step]))
        assert found.given[step] == pytest.approx(wanted, abs=TOLERANCE)
        assert found.lowest[step] - TOLERANCE <= wanted <= found.highest[step] + TOLERANCE
        ends = [exact_posterior(row, columns(outputs[:step])) for row in np.eye(3)]
        assert (found.lowest[step], found.highest[step]) == pytest.approx(
            (min(ends), max(ends)), abs=TOLERANCE
        )


def test_range_of_given_priors() -> None:
    """With given priors the range is spanned by them, and one prior makes a range of one point."""
    two = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    found = event_belief(MODEL, EVENT, columns([0, 2]), priors=two)
    ends = [exact_posterior(row, columns([0, 2])) for row in two]
    assert (found.lowest[-1], found.highest[-1]) == pytest.approx((min(ends), max(ends)))
    one = event_belief(MODEL, EVENT, columns([0, 2]), priors=two[:1])
    assert one.lowest == one.highest


def test_worst_prior_moves_the_odds_by_the_leakage() -> None:
    """The odds of the event for the worst prior change by e**leakage at the worst step."""
    seen = columns([0])
    found = event_belief(MODEL, EVENT, seen)
    audit = audit_stream(MODEL, {"e": EVENT}, seen)["e"]
    before, after = (math.log(p / (1 - p)) for p in found.worst)
    assert abs(after - before) == pytest.approx(audit.max, abs=1e-6)
    assert found.worst_prior == audit.worst_prior


def test_silence_changes_no_belief() -> None:
    """A stream of silence leaves the belief where it was."""
    found = event_belief(MODEL, EVENT, [None, None])
    assert len(set(found.given)) == 1
    assert len(found.worst) == 3


def test_starts_that_releases_exclude_drop_out() -> None:
    """A prior under which the releases are impossible takes no part in the range."""
    found = event_belief(MODEL, at([0], 0), [[0.0, 0.5, 0.5]])
    assert (found.lowest, found.highest) == ((0.0, 0.0), (1.0, 0.0))
    nobody = event_belief(MODEL, at([0], 0), [[0.0, 0.5, 0.5]], priors=[[1.0, 0.0, 0.0]])
    assert math.isnan(nobody.lowest[1])


@given(releases, priors)
@examples(30)
def test_location_belief_is_that_of_enumeration(outputs, prior) -> None:
    """Location beliefs with and without hindsight are those of all paths."""
    seen = columns(outputs)
    paths = PathEnumeration(MODEL, len(outputs))
    late = location_belief(MODEL, seen, prior=prior)
    early = location_belief(MODEL, seen, prior=prior, hindsight=False)
    assert late.shape == early.shape == (len(outputs), 3)
    weights = [Fraction(float(p)) for p in prior]
    for step in range(len(outputs)):
        exact = paths.location(weights, seen, step)
        assert late[step] == pytest.approx([float(x / sum(exact)) for x in exact], abs=TOLERANCE)
        known = PathEnumeration(MODEL, step + 1).location(weights, seen[: step + 1], step)
        assert early[step] == pytest.approx([float(x / sum(known)) for x in known], abs=TOLERANCE)


@given(releases, priors)
@examples(25)
def test_viterbi_finds_the_best_of_all_trajectories(outputs, prior) -> None:
    """No trajectory has a larger probability together with the releases."""
    seen = columns(outputs)
    matrix = MODEL.transition(0).toarray()

    def chance(path):
        value = prior[path[0]]
        for here, there in itertools.pairwise(path):
            value *= matrix[here, there]
        for cell, column in zip(path, seen, strict=True):
            value *= 1.0 if column is None else column[cell]
        return value

    path, log_chance = most_likely_trajectory(MODEL, seen, prior=prior)
    best = max(chance(p) for p in itertools.product(range(3), repeat=len(seen)))
    assert chance(path) == pytest.approx(best, rel=1e-12)
    assert log_chance == pytest.approx(math.log(best), abs=1e-9)


def test_viterbi_reads_second_order_models() -> None:
    """In a second-order model the trajectory follows pairs: here it must go on as it began."""
    table = np.zeros((3, 3, 3))
    for i, j in itertools.product(range(3), repeat=2):
        table[i, j, (2 * j - i) % 3] = 1.0
    model = MarkovModel.second_order(GRID, np.full((3, 3), 1 / 3), table)
    seen = [np.eye(3)[0] * 0.9 + 0.05, np.eye(3)[1] * 0.9 + 0.05, None, None]
    assert most_likely_trajectory(model, seen)[0] == (0, 1, 2, 0)


def test_words_name_places() -> None:
    """A prior is said in words, with the larger weight first and honest rounding."""
    assert prior_in_words({4: 0.999, 2: 0.001}).endswith("cell 4 (> 99 %) or cell 2 (< 1 %)")
    assert prior_in_words({1: 1.0}, lambda cell: "home").endswith("started at home")


def test_impossible_releases_are_refused() -> None:
    """Viterbi refuses no steps, a prior of the wrong size, and releases that cannot be."""
    with pytest.raises(InvalidParameter, match="at least one step"):
        most_likely_trajectory(MODEL, [])
    with pytest.raises(InvalidParameter, match="shape"):
        most_likely_trajectory(MODEL, columns([0]), prior=[1.0])
    with pytest.raises(InvalidParameter, match="impossible"):
        most_likely_trajectory(MODEL, [[0.0, 1.0, 0.0]], prior=[1.0, 0.0, 0.0])
