"""The contract that every mechanism keeps, as tests to inherit.

A subclass gives ``mechanisms()``: small examples of one family, at budgets above 0.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.written_numbers import WrittenNumbers

from priste.errors import InvalidParameter
from priste.mechanisms import ROW_SUM_TOLERANCE, Mechanism, mechanism_from_dict

# smallest_alpha() is itself computed in floating point, from logs of up to about 355.
MEASURING_TOLERANCE = 1e-9

FINEST = 2**1200
"""Numbers are tried to 1200 binary digits: finer than any difference of two floats above 1e-150."""

BUDGET_SHARES = (0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-9)


class MechanismContract:
    """Inherit, and give ``mechanisms()``."""

    def mechanisms(self) -> list[Mechanism]:
        raise NotImplementedError

    def test_rows_are_distributions(self):
        """Entries are finite and nonnegative, and rows sum to 1 within the stated tolerance."""
        for mechanism in self.mechanisms():
            table = mechanism.emission()
            assert table.shape == (mechanism.grid.size, mechanism.outputs)
            assert table.dtype == np.float64
            assert np.isfinite(table).all()
            assert (table >= 0).all()
            for row in table.tolist():
                assert abs(sum(map(Fraction, row)) - 1) <= ROW_SUM_TOLERANCE

    def test_rows_and_columns_are_those_of_the_table(self):
        """row() and likelihood() agree with emission() to the bit."""
        for mechanism in self.mechanisms():
            table = mechanism.emission()
            for cell in range(mechanism.grid.size):
                assert np.array_equal(mechanism.row(cell), table[cell])
            for output in range(mechanism.outputs):
                assert np.array_equal(mechanism.likelihood(output), table[:, output])
            chosen = range(0, mechanism.outputs, 3)
            assert np.array_equal(mechanism.likelihoods(chosen), table[:, ::3])

    def test_sampled_law_is_the_law_of_the_table_to_the_bit(self):
        """Of all numbers in [0, 1), each output owns an interval of exactly its share."""
        for mechanism in self.mechanisms():
            for cell in {0, mechanism.grid.size // 2, mechanism.grid.size - 1}:
                row = [Fraction(value) for value in mechanism.row(cell).tolist()]
                total, passed = sum(row), Fraction(0)
                for output, weight in enumerate(row):
                    if weight:
                        first = Fraction(math.ceil(passed / total * FINEST), FINEST)
                        last = Fraction(math.ceil((passed + weight) / total * FINEST) - 1, FINEST)
                        assert mechanism.sample(cell, WrittenNumbers(first)) == output
                        assert mechanism.sample(cell, WrittenNumbers(last)) == output
                    passed += weight

    def test_seeded_draws_repeat(self):
        """The same seed gives the same draws, from an integer and from a generator."""
        for mechanism in self.mechanisms():
            assert mechanism.sample(0, 5) == mechanism.sample(0, 5)
            runs = []
            for _ in range(2):
                generator = np.random.default_rng(11)
                runs.append([mechanism.sample(0, generator) for _ in range(20)])
            assert runs[0] == runs[1]
            assert all(mechanism.row(0)[output] > 0 for output in runs[0])

    def test_default_draws_come_from_the_cryptographic_generator(self, monkeypatch):
        """Without an rng the bits are those of the secrets module."""
        asked = []

        def randbits(count):
            asked.append(count)
            return 2**count - 1

        monkeypatch.setattr("secrets.randbits", randbits)
        for mechanism in self.mechanisms():
            asked.clear()
            output = mechanism.sample(0)
            assert asked
            assert output == np.flatnonzero(mechanism.row(0))[-1]

    def test_claim_is_never_below_the_level_measured(self):
        """claimed_alpha holds at full budget and at smaller ones."""
        for mechanism in self.mechanisms():
            for level in [mechanism, *self.weaker(mechanism)]:
                assert level.smallest_alpha() <= level.claimed_alpha * (1 + MEASURING_TOLERANCE)

    def test_zero_budget_says_nothing(self):
        """At budget 0 all rows are identical to the bit, and alpha is 0."""
        for mechanism in self.mechanisms():
            silent = mechanism.with_budget(0.0)
            table = silent.emission()
            assert (table == table[0]).all()
            assert silent.smallest_alpha() == 0.0
            assert silent.budget == 0.0
            assert silent.outputs == mechanism.outputs

    def test_less_budget_says_less(self):
        """The measured alpha never grows as the budget falls, and vanishes with it."""
        for mechanism in self.mechanisms():
            levels = [mechanism.smallest_alpha()]
            levels += [weaker.smallest_alpha() for weaker in self.weaker(mechanism)]
            for more, less in itertools.pairwise(levels):
                assert less <= more + MEASURING_TOLERANCE
            assert levels[-1] <= 1e-3

    def weaker(self, mechanism: Mechanism) -> list[Mechanism]:
        full = min(mechanism.budget, 3.0)
        return [mechanism.with_budget(full * share) for share in BUDGET_SHARES]

    def test_full_budget_is_the_mechanism_itself(self):
        """with_budget at its own budget changes nothing."""
        for mechanism in self.mechanisms():
            same = mechanism.with_budget(mechanism.budget)
            assert same.budget == mechanism.budget
            assert np.array_equal(same.emission(), mechanism.emission())

    def test_another_budget_is_another_mechanism(self):
        """with_budget leaves the mechanism as it was, table and all."""
        for mechanism in self.mechanisms():
            budget, table = mechanism.budget, mechanism.emission().copy()
            assert mechanism.with_budget(0.0).budget == 0.0
            assert mechanism.budget == budget
            assert np.array_equal(mechanism.emission(), table)

    def test_budgets_out_of_range_are_refused(self):
        """A budget below 0, above its own, or no number raises InvalidParameter."""
        for mechanism in self.mechanisms():
            above = [] if math.isinf(mechanism.budget) else [mechanism.budget + 0.01, math.inf]
            for budget in [-1e-9, math.nan, "1", None, True, 1j, *above]:
                with pytest.raises(InvalidParameter, match="budget"):
                    mechanism.with_budget(budget)

    def test_bad_cells_are_refused_without_being_shown(self):
        """A wrong true cell raises InvalidParameter, and the message does not hold it."""
        for mechanism in self.mechanisms():
            for cell in (-1, 987654, 0.5, "31337", None, True):
                with pytest.raises(InvalidParameter) as caught:
                    mechanism.sample(cell)
                assert "987654" not in str(caught.value)
                assert "31337" not in str(caught.value)
            for output in (-1, mechanism.outputs, 0.0, None):
                with pytest.raises(InvalidParameter, match="output"):
                    mechanism.likelihood(output)

    def test_description_restores_it_to_the_bit(self):
        """describe() survives JSON, and the restored mechanism has the very same table."""
        for mechanism in self.mechanisms():
            for level in [mechanism, mechanism.with_budget(0.0)]:
                saved = json.loads(json.dumps(level.describe(), allow_nan=False))
                restored = mechanism_from_dict(level.grid, saved)
                assert type(restored) is type(level)
                assert restored.budget == level.budget
                assert restored.describe() == level.describe()
                assert np.array_equal(restored.emission(), level.emission())

    def test_values_are_frozen(self):
        """Nothing that a mechanism hands out can be changed, nor its attributes."""
        for original in self.mechanisms():
            for mechanism in (original, pickle.loads(pickle.dumps(original))):
                arrays = [mechanism.emission(), mechanism.row(0), mechanism.likelihood(0)]
                if mechanism.output_cells() is not None:
                    arrays.append(mechanism.output_cells())
                for array in arrays:
                    with pytest.raises(ValueError, match="read-only"):
                        array[...] = 0
                with pytest.raises(AttributeError):
                    mechanism.budget = 1.0

    def test_copies_and_pickles_are_equal(self):
        """A pickled mechanism makes the same table anew; a copy is the mechanism itself."""
        for mechanism in self.mechanisms():
            mechanism.emission()
            assert mechanism.__getstate__()["_table"] is None
            twin = pickle.loads(pickle.dumps(mechanism))
            assert np.array_equal(twin.emission(), mechanism.emission())
            assert copy.copy(mechanism) is mechanism

    def test_outputs_mean_cells_of_the_map(self):
        """output_cells() names a cell of the map for each output, or is None."""
        for mechanism in self.mechanisms():
            cells = mechanism.output_cells()
            if cells is not None:
                assert cells.shape == (mechanism.outputs,)
                assert ((cells >= 0) & (cells < mechanism.grid.size)).all()

    def test_belief_changes_only_what_uses_it(self):
        """at_belief returns the mechanism itself unless it uses a belief."""
        for mechanism in self.mechanisms():
            belief = np.zeros(mechanism.grid.size)
            belief[:2] = 1.0 / min(2, belief.size)
            at_belief = mechanism.at_belief(belief)
            assert (at_belief is mechanism) == (not mechanism.uses_belief)
            assert at_belief.outputs == mechanism.outputs
