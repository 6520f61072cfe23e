"""Dense, sparse, separable and blended transitions against exact arithmetic on their floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.drawn_examples import examples
from tests.mobility.transition_strategies import Case, cases
from tests.oracles.written_numbers import WrittenNumbers

from priste import Grid, MarkovModel
from priste.errors import InvalidParameter
from priste.mobility import (
    BlendedTransition,
    DenseTransition,
    SeparableTransition,
    SparseTransition,
    Transition,
)
from priste.mobility.gaussian import Form
from priste.mobility.validation import GIVEN_ROW_SUM_TOLERANCE

UNIT = Fraction(1, 2**53)

# Tiny enough to lose everything but relative accuracy, large enough not to underflow when
# multiplied with the smallest entries of the strategies (1e-200 twice in separable forms).
values = st.sampled_from([0.0, 1.0, 0.1, 3.7, 1e-5, 1e-50, 1e90])
UNDERFLOW = Fraction(1, 2**1022)


def within_bound(computed: float, wanted: Fraction, roundings: int) -> bool:
    """The stated bound: relative, in units of rounding, with underflow aside."""
    share = roundings * UNIT / (1 - roundings * UNIT)
    return abs(Fraction(float(computed)) - wanted) <= share * wanted + roundings * UNDERFLOW


@examples(120)
@given(cases(), st.data())
def test_push_is_exact_up_to_the_stated_roundings(case: Case, data: st.DataObject) -> None:
    """``push`` of one row and of many keeps the relative accuracy that its docstring states."""
    n_from, n_to = case.transition.shape
    rows = np.array([[data.draw(values) for _ in range(n_from)] for _ in range(2)])
    many, one = case.transition.push(rows), case.transition.push(rows[0])
    assert many.shape == (2, n_to)
    assert one.shape == (n_to,)
    n = case.transition.nonzeros_per_row
    for k, row in enumerate(rows):
        for j in range(n_to):
            wanted = sum((Fraction(row[i]) * case.matrix[i][j] for i in range(n_from)), Fraction(0))
            assert within_bound(many[k, j], wanted, n)
            assert k or within_bound(one[j], wanted, n)


@examples(120)
@given(cases(), st.data())
def test_pull_is_exact_up_to_the_stated_roundings(case: Case, data: st.DataObject) -> None:
    """``pull`` of one column and of many keeps the relative accuracy that its docstring states."""
    n_from, n_to = case.transition.shape
    columns = np.array([[data.draw(values) for _ in range(2)] for _ in range(n_to)])
    many, one = case.transition.pull(columns), case.transition.pull(columns[:, 0])
    assert many.shape == (n_from, 2)
    assert one.shape == (n_from,)
    n = case.transition.nonzeros_per_row
    for k in range(2):
        for i in range(n_from):
            terms = (case.matrix[i][j] * Fraction(columns[j, k]) for j in range(n_to))
            wanted = sum(terms, Fraction(0))
            assert within_bound(many[i, k], wanted, n)
            assert k or within_bound(one[i], wanted, n)


@examples(100)
@given(cases())
def test_the_matrix_and_its_entries_are_those_of_the_form(case: Case) -> None:
    """``toarray`` and ``entries`` agree with each other and with the exact matrix."""
    n_from, n_to = case.transition.shape
    whole = case.transition.toarray()
    sources, targets = np.divmod(np.arange(n_from * n_to), n_to)
    found = case.transition.entries(sources, targets).reshape(n_from, n_to)
    assert np.array_equal(found, whole)
    for i in range(n_from):
        for j in range(n_to):
            assert within_bound(whole[i, j], case.matrix[i][j], 3)


@examples(150)
@given(cases())
def test_row_sum_error_bounds_the_exact_row_sums(case: Case) -> None:
    """``row_sum_error`` is never below the distance of an exact row sum from 1, and small."""
    worst = max(abs(sum(row, Fraction(0)) - 1) for row in case.matrix)
    assert worst <= Fraction(case.transition.row_sum_error)
    assert case.transition.row_sum_error <= 1e-13


@examples(60)
@given(cases())
def test_the_protocol_is_met_and_the_numbers_are_fixed(case: Case) -> None:
    """Every form is a ``Transition`` and its measured numbers cannot be assigned."""
    assert isinstance(case.transition, Transition)
    assert case.transition.cost > 0
    for name in ("shape", "nonzeros_per_row", "row_sum_error", "cost"):
        with pytest.raises(AttributeError):
            setattr(case.transition, name, 1)


def test_roundings_are_counted_through_every_stage() -> None:
    """A product of factors adds their roundings; a blend adds the weighting and the sum."""
    dense = DenseTransition(GOOD)
    factors = SeparableTransition(GOOD, np.full((3, 3), 1 / 3))
    assert dense.nonzeros_per_row == 2
    assert factors.nonzeros_per_row == 2 + 3
    thin = BlendedTransition(np.ones(6), factors, sparse.csr_array((6, 6)))
    assert thin.nonzeros_per_row == 2 + 3 + 2
    full = BlendedTransition(np.zeros(6), factors, sparse.csr_array(np.full((6, 6), 1 / 6)))
    assert full.nonzeros_per_row == max(2 + 3 + 2, 6 + 1)


def test_separable_draws_have_the_exact_products_as_probabilities() -> None:
    """One number in sixteenths walks through every row, which holds multiples of a sixteenth."""
    step = SeparableTransition([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.0, 1.0]])
    distribution = np.zeros((4, 4))
    for state in range(4):
        for part in range(16):
            distribution[state, step.draw(state, WrittenNumbers(part / 16))] += 1 / 16
    assert np.array_equal(distribution, step.toarray())


def test_blended_draws_choose_the_part_in_exact_proportion() -> None:
    """The blended draw picks prior or data with their exact masses, then draws within it."""
    uniform = SeparableTransition([[1.0]], np.full((2, 2), 0.5))
    step = BlendedTransition([0.25, 1.0], uniform, sparse.csr_array([[0.0, 0.75], [0.0, 0.0]]))
    distribution = np.zeros(2)
    for part in range(4):
        for answer in range(2):
            source = WrittenNumbers(part / 4, answer / 2)
            distribution[step.draw(0, source)] += 1 / 8
            assert source.begun == 2
    assert np.array_equal(distribution, step.toarray()[0])


# Hostile input

GOOD = [[0.5, 0.5], [0.25, 0.75]]


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], r"'matrix' .* row 1 does not\. Got 0\.9"),
        ([[0.5, 0.5], [0.0, 0.0]], r"row 1 does not\. Got 0\.0"),
        ([[0.5, np.nan], [0.5, 0.5]], "nan at"),
        ([[0.5, 0.5], [np.inf, 0.5]], "inf at"),
        ([[0.5, 0.5], [1.5, -0.5]], r"-0\.5 at"),
        ([[0.5, 0.5], [0.5, 0.5 + 3e-9]], r"within 1e-09; row 1"),
    ],
)
def test_matrices_that_are_no_transitions_are_refused(form, matrix, message: str) -> None:
    """What is not finite, nonnegative and row-stochastic is refused, naming place and value."""
    kind = DenseTransition if form is np.array else SparseTransition
    with pytest.raises(InvalidParameter, match=message):
        kind(form(matrix))


@pytest.mark.parametrize(
    "matrix",
    [[], [[]], 1.0, [1.0], np.ones((1, 1, 1)), [[1], [1, 2]], "ab", [[1j]], [[True]], None],
)
def test_what_is_no_matrix_of_numbers_is_refused(matrix: object) -> None:
    """Wrong numbers of axes, empty, ragged, text, complex and Boolean input is refused."""
    with pytest.raises(InvalidParameter, match=r"matrix|real numbers|rectangular"):
        DenseTransition(matrix)


def test_a_sparse_matrix_with_wild_indices_is_refused() -> None:
    """Indices beyond the shape never reach compiled code."""
    matrix = sparse.csr_array(np.eye(2))
    matrix.indices = np.array([0, 7], dtype=np.int32)
    with pytest.raises(InvalidParameter, match="not a valid sparse matrix"):
        SparseTransition(matrix)
    with pytest.raises(InvalidParameter, match=r"scipy\.sparse"):
        SparseTransition(np.eye(2))


def test_rows_within_tolerance_are_used_as_they_are() -> None:
    """A row that misses 1 by less than the tolerance is neither refused nor rescaled."""
    off = 0.9 * GIVEN_ROW_SUM_TOLERANCE
    matrix = np.array([[0.5, 0.5 + off], [0.5, 0.5]])
    for step in (DenseTransition(matrix), SparseTransition(sparse.csr_array(matrix))):
        assert np.array_equal(step.toarray(), matrix)
        assert off * 0.999 < step.row_sum_error < off * 1.001


def test_inputs_are_copied_and_stored_read_only() -> None:
    """Changing the input later changes nothing, and the stored arrays refuse writing."""
    matrix = np.array(GOOD)
    step = DenseTransition(matrix)
    compressed = sparse.csr_array(matrix)
    thin = SparseTransition(compressed)
    matrix[0] = [1.0, 0.0]
    compressed.data[:] = 0.0
    assert np.array_equal(step.toarray(), GOOD)
    assert np.array_equal(thin.toarray(), GOOD)
    with pytest.raises(ValueError, match="read-only"):
        step.matrix[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        thin.matrix.data[0] = 1.0
    step.toarray()[0, 0] = 7.0
    assert np.array_equal(step.toarray(), GOOD)


def test_duplicate_and_stored_zero_entries_are_added_up() -> None:
    """A coordinate matrix that names an entry twice means the sum; zeros are not nonzeros."""
    matrix = sparse.coo_array(([0.5, 0.5, 0.0, 1.0], ([0, 0, 0, 1], [1, 1, 0, 1])), shape=(2, 2))
    step = SparseTransition(matrix)
    assert np.array_equal(step.toarray(), [[0.0, 1.0], [0.0, 1.0]])
    assert step.cost == 2.0
    assert step.nonzeros_per_row == 2  # column 1


@pytest.mark.parametrize(
    "step",
    [
        DenseTransition(GOOD),
        SparseTransition(sparse.csr_array(GOOD)),
        SeparableTransition([[1.0]], GOOD),
        BlendedTransition([1.0, 1.0], SeparableTransition([[1.0]], GOOD), sparse.csr_array((2, 2))),
    ],
    ids=lambda step: type(step).__name__,
)
def test_wrong_shapes_never_broadcast(step: Transition) -> None:
    """``push`` and ``pull`` refuse what does not fit instead of broadcasting it."""
    for shape in [(3,), (1,), (2, 3), (2, 2, 2), ()]:
        with pytest.raises(InvalidParameter, match="'rows' of push"):
            step.push(np.ones(shape))
    for shape in [(3,), (1,), (3, 2), (2, 2, 2), ()]:
        with pytest.raises(InvalidParameter, match="'columns' of pull"):
            step.pull(np.ones(shape))


def test_structured_parts_must_fit() -> None:
    """Factors must be square and the parts of a blend must belong together."""
    with pytest.raises(InvalidParameter, match="must be square"):
        SeparableTransition([[0.5, 0.5]], [[1.0]])
    prior = SeparableTransition([[1.0]], GOOD)
    with pytest.raises(InvalidParameter, match="must fit"):
        BlendedTransition([1.0], prior, sparse.csr_array((2, 2)))
    with pytest.raises(InvalidParameter, match="must fit"):
        BlendedTransition([1.0, 1.0], prior, sparse.csr_array((3, 3)))
    with pytest.raises(InvalidParameter, match=r"'parts' .* row 0"):
        BlendedTransition([0.5, 1.0], prior, sparse.csr_array((2, 2)))
    with pytest.raises(InvalidParameter, match="finite and >= 0"):
        BlendedTransition([-1.0, 1.0], prior, sparse.csr_array((2, 2)))


FORMS: tuple[Form, ...] = ("dense", "separable")


def test_a_seed_draws_the_same_walk_from_a_product_and_from_its_full_matrix() -> None:
    """The form of a Gaussian is a matter of speed: samples do not depend on it."""
    grid = Grid(5, 7, 1.0)
    walks = [
        MarkovModel.gaussian(grid, 1.3, form=form).sample(400, rng=11, start=17) for form in FORMS
    ]
    assert np.array_equal(*walks)
