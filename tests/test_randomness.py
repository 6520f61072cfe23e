"""Random integers are exactly uniform, repeatable when seeded, and cryptographic by default."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from priste import InvalidParameter
from priste.randomness import SeededBits, SystemBits, bit_source

FALSE_ALARM = 1e-6


class ScriptedGenerator(np.random.Generator):
    """A generator whose bytes are written down beforehand."""

    def __init__(self, script: list[bytes]) -> None:
        super().__init__(np.random.PCG64(0))
        self._script = list(script)

    def bytes(self, length: int) -> bytes:
        return self._script.pop(0)


def test_none_is_the_cryptographic_generator() -> None:
    """Nobody gets a predictable stream without asking for one."""
    assert isinstance(bit_source(None), SystemBits)
    assert 0 <= bit_source(None).below(10) < 10


@given(st.integers(1, 2**200), st.integers(0, 2**32))
def test_draws_stay_below_their_bound_and_repeat(bound: int, seed: int) -> None:
    """A seeded draw is in range, and the same seed draws the same numbers."""
    draws = [bit_source(seed).below(bound) for _ in range(2)]
    assert draws[0] == draws[1]
    assert 0 <= draws[0] < bound


def test_every_byte_is_used_once_and_rejects_are_drawn_again() -> None:
    """With bound 5 each of the 256 bytes gives its top three bits; 5, 6 and 7 are redrawn."""
    counts = np.zeros(5, int)
    for value in range(256):
        source = SeededBits(ScriptedGenerator([bytes([value]), bytes([0])]))
        counts[source.below(5)] += 1
    assert list(counts) == [32 + 96, 32, 32, 32, 32]  # 96 rejected bytes took the scripted 0


@pytest.mark.parametrize("bound", [3, 7, 257])
def test_long_run_frequencies_are_uniform(bound: int) -> None:
    """A chi-square test that cries wolf once in a million seeds does not reject."""
    source = bit_source(20)
    counts = np.bincount([source.below(bound) for _ in range(20_000)], minlength=bound)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_a_generator_is_used_as_it_is() -> None:
    """A numpy generator is advanced, so two draws differ from a restart."""
    generator = np.random.default_rng(1)
    source = bit_source(generator)
    first = [source.below(2**64) for _ in range(3)]
    fresh = bit_source(np.random.default_rng(1))
    assert first == [fresh.below(2**64) for _ in range(3)]
    assert len(set(first)) == 3


@pytest.mark.parametrize("bad", [-1, True, "seed", 1.5])
def test_other_seeds_are_refused(bad: object) -> None:
    """What is not a seed is an error that names the rule."""
    with pytest.raises(InvalidParameter, match="'rng'"):
        bit_source(bad)  # type: ignore[arg-type]


def test_an_empty_range_is_refused() -> None:
    """There is no integer in [0, 0)."""
    with pytest.raises(InvalidParameter, match="must be > 0"):
        bit_source(1).below(0)
