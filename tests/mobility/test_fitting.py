"""Fitting: counts with gaps, smoothing that keeps rows distributions, cycles, hostile data."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import (
    AddEverywhere,
    AddNearby,
    BlendedTransition,
    DenseTransition,
    GaussianPrior,
    MarkovModel,
    MaximumLikelihood,
    Smoothing,
    SparseTransition,
)
from priste.mobility.smoothed_counts import typical_sigma
from priste.mobility.transitions import DENSE_LIMIT

FIT_ERROR = 1e-13
"""A handful of roundings per entry."""

GRID = Grid(2, 3, 1.0)
cells = st.one_of(st.none(), st.integers(0, GRID.size - 1))
sequence_lists = st.lists(st.lists(cells, max_size=12), min_size=1, max_size=5)


def counted(sequences: list[list[int | None]], size: int) -> list[list[int]]:
    """Count moves the slow way."""
    counts = [[0] * size for _ in range(size)]
    for sequence in sequences:
        for here, there in pairwise(sequence):
            if here is not None and there is not None:
                counts[here][there] += 1
    return counts


def by_formula(counts: list[list[int]], prior: list[list[Fraction]], strength: list[Fraction]):
    """The stated formula in fractions."""
    rows = []
    for count, row, weight in zip(counts, prior, strength, strict=True):
        total = sum(count) + weight
        rows.append([(n + weight * p) / total for n, p in zip(count, row, strict=True)])
    return np.array([[float(entry) for entry in row] for row in rows])


def nearby(reach: float) -> list[list[Fraction]]:
    rows = []
    for cell in range(GRID.size):
        near = [d <= reach for d in GRID.distances_from(cell).tolist()]
        rows.append([Fraction(int(flag), sum(near)) for flag in near])
    return rows


@examples(80)
@given(sequence_lists, st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from(["all", "near", "far"]))
def test_additive_fits_are_shares_of_counts(
    sequences: list[list[int | None]], weight: float, choice: str
) -> None:
    """Adding a weight everywhere or nearby gives the textbook fractions, gaps left out."""
    counts = counted(sequences, GRID.size)
    if not any(map(any, counts)):
        return
    if choice == "all":
        smoothing: Smoothing = AddEverywhere(weight)
        prior = [[Fraction(1, GRID.size)] * GRID.size] * GRID.size
        kind: type = DenseTransition
    else:
        reach = 1.5 if choice == "near" else 2.0
        smoothing = AddNearby(weight, reach=None if choice == "near" else reach)
        prior, kind = nearby(reach), SparseTransition
    sizes = [sum(p > 0 for p in row) for row in prior]
    wanted = by_formula(counts, prior, [Fraction(weight) * size for size in sizes])
    step = MarkovModel.fit(GRID, sequences, smoothing).transition(0)
    assert isinstance(step, kind)
    assert np.allclose(step.toarray(), wanted, rtol=FIT_ERROR, atol=0)


@examples(60)
@given(
    sequence_lists,
    st.sampled_from([0.25, 1.0, 10.0]),
    st.sampled_from([None, 0.7, 2.0]),
    st.sampled_from([None, 1.0]),
)
def test_gaussian_prior_fits_lean_on_the_gaussian(
    sequences: list[list[int | None]], strength: float, sigma: float | None, reach: float | None
) -> None:
    """A cell left n times gets n shares of data and ``strength`` shares of the Gaussian."""
    counts = counted(sequences, GRID.size)
    if not any(map(any, counts)):
        return
    scale = (
        typical_sigma(GRID, sparse.csr_array(np.array(counts, float))) if sigma is None else sigma
    )
    gaussian = MarkovModel.gaussian(GRID, scale, reach=reach).transition(0).toarray()
    prior = [[Fraction(float(p)) for p in row] for row in gaussian]
    wanted = by_formula(counts, prior, [Fraction(strength)] * GRID.size)
    choice = GaussianPrior(strength, sigma=sigma, reach=reach)
    step = MarkovModel.fit(GRID, sequences, choice).transition(0)
    assert isinstance(step, DenseTransition if reach is None else SparseTransition)
    assert np.allclose(step.toarray(), wanted, rtol=FIT_ERROR, atol=0)


@examples(60)
@given(sequence_lists, st.sampled_from(["error", "stay", "uniform"]))
def test_maximum_likelihood_is_shares_and_a_stated_answer_elsewhere(
    sequences: list[list[int | None]], unvisited: str
) -> None:
    """Visited rows are plain shares; unvisited ones are refused, stay, or go anywhere."""
    counts = counted(sequences, GRID.size)
    if not any(map(any, counts)):
        return
    choice = MaximumLikelihood(unvisited)
    if unvisited == "error" and not all(map(any, counts)):
        empty = sum(not any(row) for row in counts)
        with pytest.raises(InvalidParameter, match=f"{empty} of its 6 cells are never left"):
            MarkovModel.fit(GRID, sequences, choice)
        return
    matrix = MarkovModel.fit(GRID, sequences, choice).transition(0).toarray()
    for cell, row in enumerate(counts):
        if any(row):
            assert np.allclose(matrix[cell], np.array(row) / sum(row), rtol=FIT_ERROR, atol=0)
        elif unvisited == "stay":
            assert matrix[cell].tolist() == np.eye(6)[cell].tolist()
        else:
            assert np.allclose(matrix[cell], 1 / 6, rtol=FIT_ERROR, atol=0)


@examples(40)
@given(sequence_lists)
def test_maximum_likelihood_is_never_beaten(sequences: list[list[int | None]]) -> None:
    """On its own training data no smoothed model is likelier than the plain shares."""
    if not any(map(any, counted(sequences, GRID.size))):
        return
    best = MarkovModel.fit(GRID, sequences, MaximumLikelihood("stay")).log_likelihood(sequences)
    for smoothing in (None, AddNearby(reach=9.0), AddEverywhere(0.5)):
        other = MarkovModel.fit(GRID, sequences, smoothing).log_likelihood(sequences)
        assert other <= best + 1e-9


def test_numbers_stand_for_adding_everywhere() -> None:
    """``smoothing=1`` is Laplace's rule; 0 is the plain shares; nothing is the Gaussian prior."""
    walk = [[0, 1, 2, 5, 4, 3, 0]]
    one = MarkovModel.fit(GRID, walk, smoothing=1)
    assert one.fingerprint() == MarkovModel.fit(GRID, walk, AddEverywhere(1.0)).fingerprint()
    none = MarkovModel.fit(GRID, walk, smoothing=0)
    assert none.fingerprint() == MarkovModel.fit(GRID, walk, MaximumLikelihood()).fingerprint()
    default = MarkovModel.fit(GRID, walk)
    assert default.fingerprint() == MarkovModel.fit(GRID, walk, GaussianPrior()).fingerprint()


def test_the_scale_of_the_data_is_its_root_mean_square() -> None:
    """Moves of 0 and 4 km along a line have σ = sqrt(8 / 2) = 2 km; short ones a cell at least."""
    line = Grid(1, 9, 1.0)
    moves = sparse.csr_array(([1.0, 1.0], ([0, 4], [4, 4])), shape=(9, 9))
    assert typical_sigma(line, moves) == 2.0
    still = sparse.csr_array(([5.0], ([3], [3])), shape=(9, 9))
    assert typical_sigma(line, still) == 1.0
    assert typical_sigma(line, sparse.csr_array((9, 9))) == 1.0
    upright = sparse.csr_array(([1.0], ([0], [6])), shape=(9, 9))
    assert typical_sigma(Grid(3, 3, 2.0), upright) == pytest.approx(4 / math.sqrt(2))


def test_large_maps_blend_without_square_memory() -> None:
    """Above the dense limit a full prior gives the blended form, equal to the dense formula."""
    side = math.isqrt(DENSE_LIMIT) + 1
    grid = Grid(side, side, 1.0)
    walk = MarkovModel.gaussian(grid, 1.0).sample(300, rng=4)
    for smoothing in (GaussianPrior(sigma=1.5), AddEverywhere(0.1), MaximumLikelihood("uniform")):
        step = MarkovModel.fit(grid, [walk], smoothing).transition(0)
        assert isinstance(step, BlendedTransition)
        counts = np.zeros((grid.size, grid.size))
        np.add.at(counts, (walk[:-1], walk[1:]), 1)
        prior, strength = smoothing.prior(grid, sparse.csr_array(counts))
        added = strength[:, None] * prior.toarray()
        wanted = (counts + added) / (counts.sum(axis=1) + strength)[:, None]
        assert np.allclose(step.toarray(), wanted, rtol=FIT_ERROR, atol=0)


def test_forty_thousand_cells_can_be_fitted() -> None:
    """The default smoothing fits a map of 40,000 cells, and every move it makes is possible."""
    grid = Grid(200, 200, 0.5)
    walk = MarkovModel.gaussian(grid, 1.0).sample(200, rng=8)
    model = MarkovModel.fit(grid, [walk])
    assert isinstance(model.transition(0), BlendedTransition)
    assert math.isfinite(model.log_likelihood([model.sample(50, rng=1)]))
    local = MarkovModel.fit(grid, [walk], AddNearby())
    assert isinstance(local.transition(0), SparseTransition)
    assert local.transition(0).cost < 9.1 * grid.size


# Cycles


@examples(60)
@given(sequence_lists, st.integers(1, 4), st.integers(1, 3), st.data())
def test_each_phase_is_fitted_on_its_own_moves(
    sequences: list[list[int | None]], cycle: int, per_phase: int, data: st.DataObject
) -> None:
    """The matrix of a phase is the fit of the moves that start in it, whatever the offsets."""
    if not any(map(any, counted(sequences, GRID.size))):
        return
    offsets = [data.draw(st.integers(0, 20)) for _ in sequences]
    model = MarkovModel.fit(
        GRID, sequences, 1, cycle=cycle, steps_per_phase=per_phase, offsets=offsets
    )
    assert model.period == (1 if cycle == 1 else cycle * per_phase)
    for phase in range(cycle):
        moves = [
            [here, there]
            for cells_of, offset in zip(sequences, offsets, strict=True)
            for step, (here, there) in enumerate(pairwise(cells_of))
            if (offset + step) // per_phase % cycle == phase
        ]
        counts = counted(moves, GRID.size)
        wanted = [[(n + 1) / (sum(row) + 6) for n in row] for row in counts]
        for step in range(phase * per_phase, (phase + 1) * per_phase):
            found = model.transition(step).toarray()
            assert np.allclose(found, wanted, rtol=FIT_ERROR, atol=0)


def test_one_scale_serves_all_phases() -> None:
    """The Gaussian prior of each phase has the scale of all moves, also where there are none."""
    line = Grid(1, 9, 1.0)
    model = MarkovModel.fit(line, [[0, 4, None, None, 4, 4]], cycle=4)
    prior = MarkovModel.gaussian(line, 2.0).transition(0).toarray()
    assert np.allclose(model.transition(2).toarray(), prior, rtol=FIT_ERROR, atol=0)
    assert np.allclose(model.transition(0).toarray()[5:], prior[5:], rtol=FIT_ERROR, atol=0)


def test_a_cycle_that_pays_off_is_likelier() -> None:
    """People who go right at even steps and left at odd ones are fitted better with a cycle."""
    line = Grid(1, 2, 1.0)
    days = [[0, 1, 0, 1, 0, 1, 0, 1]] * 3
    still = [[0, 0, 1, 1, 0, 0, 1, 1, 0]] * 3
    plain = MarkovModel.fit(line, still, 0.1)
    cyclic = MarkovModel.fit(line, still, 0.1, cycle=2)
    assert cyclic.log_likelihood(still) > plain.log_likelihood(still) + 5
    assert MarkovModel.fit(line, days, 0.1).log_likelihood(days) > -1


# Hostile data


@pytest.mark.parametrize(
    "sequences",
    [
        [[0, 6]],
        [[0, -1]],
        [np.array([0, 6])],
        [np.array([0, -1])],
        [np.array([0, 2**63 + 1], dtype=np.uint64)],
        [[0, 10**30]],
        [[0, -(10**30)]],
    ],
)
def test_cells_outside_the_map_are_refused_without_being_shown(sequences: list[object]) -> None:
    """The message names sequence and position, never the value: it may be a true location."""
    with pytest.raises(InvalidParameter) as caught:
        MarkovModel.fit(GRID, [[1, 1], *sequences])
    assert "another number at position 1 of sequence 1" in str(caught.value)


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ([[0, 1.0]], "float at position 1"),
        ([[0, math.nan]], "float at position 1"),
        ([[True, 1]], "bool at position 0"),
        ([["0", "1"]], "str at position 0"),
        ([np.array([0.0, 1.0])], "float64 at position 0"),
        ([np.array([[0, 1]])], "ndarray at position 0"),
        ([0, 1, 2], r"write \[cells\]"),
        (np.array([0, 1, 2]), r"write \[cells\]"),
        ([None], r"write \[cells\]"),
        ([1.5], "must be sequences of cells; sequence 0 is not"),
        (5, "list of sequences"),
        ("01", "list of sequences"),
        (None, "list of sequences"),
        ([], "hold no move"),
        ([[]], "hold no move"),
        ([[3]], "hold no move"),
        ([[0, None, 1, None]], "hold no move"),
    ],
)
def test_what_is_no_list_of_sequences_is_refused(sequences: object, message: str) -> None:
    """Wrong types, an uncalibrated sequence and data without a single move are refused."""
    with pytest.raises(InvalidParameter, match=message):
        MarkovModel.fit(GRID, sequences)


def test_every_kind_of_sequence_counts_alike() -> None:
    """Lists, tuples, integer arrays of any width and generators are one data set."""
    walk = [0, 1, 2, 5]
    forms = [walk, tuple(walk), np.array(walk), np.array(walk, np.uint8), np.array(walk, np.int32)]
    prints = {MarkovModel.fit(GRID, [form]).fingerprint() for form in forms}
    prints.add(MarkovModel.fit(GRID, (list(part) for part in [walk])).fingerprint())
    prints.add(MarkovModel.fit(GRID, [[np.int64(cell) for cell in walk]]).fingerprint())
    assert len(prints) == 1


def test_training_data_are_not_changed() -> None:
    """An integer array is read, not kept and not written."""
    walk = np.array([0, 1, 2])
    MarkovModel.fit(GRID, [walk])
    assert walk.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "keywords",
    [
        {"cycle": 0},
        {"cycle": 2.0},
        {"cycle": True},
        {"steps_per_phase": 0},
        {"offsets": [1, 2]},
        {"offsets": [-1]},
        {"offsets": [10**30]},
        {"offsets": 3},
        {"offsets": [0.5]},
        {"order": 0},
        {"order": 3},
        {"order": 2, "cycle": 24},
        {"backoff": 0.0},
        {"backoff": math.nan},
        {"smoothing": -1},
        {"smoothing": math.nan},
        {"smoothing": math.inf},
        {"smoothing": "laplace"},
        {"smoothing": True},
    ],
)
def test_wrong_options_are_refused(keywords: dict[str, object]) -> None:
    """Each option of ``fit`` names itself when it is wrong."""
    with pytest.raises(InvalidParameter, match=next(iter(keywords))):
        MarkovModel.fit(GRID, [[0, 1]], **keywords)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AddEverywhere(0.0),
        lambda: AddEverywhere(math.inf),
        lambda: AddNearby(-1.0),
        lambda: AddNearby(1.0, reach=-1.0),
        lambda: GaussianPrior(0.0),
        lambda: GaussianPrior(sigma=0.0),
        lambda: GaussianPrior(reach=math.nan),
        lambda: GaussianPrior(strength=1e300),
        lambda: MaximumLikelihood("anything"),
    ],
)
def test_wrong_smoothing_choices_are_refused_when_made(make) -> None:
    """A smoothing choice checks itself, before any data is seen."""
    with pytest.raises(InvalidParameter, match=r"of (AddE|AddN|Gauss|Maximum)"):
        make()
