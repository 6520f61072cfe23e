"""The search without a compiler and the compiled one are the same to the bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.quantify.joint_cases import coarse, curved, far_apart, hostile_joint, smooth

from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
from priste.quantify import JointProbabilities
from priste.quantify.worst_prior import kernels, plain_search, searching, verdicts


def searched(
    search, moments: JointProbabilities, bounds: tuple[float, float], *, raising: bool, pairs: bool
):
    """Ratios and rows as a search writes them."""
    events, complements = (verdicts.lines_of(x) for x in (moments.event, moments.complement))
    ratios, rows = np.full((2, len(events)), -1.0), np.full((2, len(events), 2), -7)
    space, waits = np.zeros((3, 6, moments.rows)), np.zeros((kernels.WAITING, 4))
    shared = verdicts._shared(moments)
    found = (
        np.array(bounds),
        raising,
        pairs,
        space,
        np.zeros((2, 3, moments.rows)),
        waits,
        ratios,
        rows,
    )
    search(events, complements, *shared, *found)
    return ratios, rows


def check_equal(moments: JointProbabilities, epsilon: float, *, one_way: bool = False) -> None:
    """Verdicts and suprema agree, by pairs and by levels, also at the very supremum."""
    searching.compile_now()
    for pairs in (False, True):
        least = (kernels.SMALLEST_RATIO, kernels.SMALLEST_RATIO)
        suprema = [
            searched(search, moments, least, raising=True, pairs=pairs)
            for search in (kernels.column_search, plain_search.column_search)
        ]
        for compiled, plain in zip(*suprema, strict=True):
            np.testing.assert_array_equal(compiled, plain)
        up, down = (float(side.min()) for side in suprema[0][0])
        asked = [(np.exp(epsilon), np.inf if one_way else np.exp(epsilon))]
        if max(up, down) < kernels.LARGEST_RATIO:
            asked += [(up, down), (up * (1 - 1e-14), down * (1 + 1e-14))]
        for bounds in asked:
            verdict = [
                searched(search, moments, bounds, raising=False, pairs=pairs)[1]
                for search in (kernels.column_search, plain_search.column_search)
            ]
            np.testing.assert_array_equal(*verdict)


@examples(60)
@given(hostile_joint(most_rows=6), st.floats(0.0, 5.0), st.booleans())
def test_hostile_numbers(moments: JointProbabilities, epsilon: float, one_way: bool) -> None:
    """Zeros, subnormals, exponents far apart, impossible and certain rows."""
    check_equal(moments, epsilon, one_way=one_way)


@pytest.mark.parametrize("rows", [2, 13, 60])
@pytest.mark.parametrize("seed", range(3))
def test_many_rows(rows: int, seed: int) -> None:
    """Numbers as maps give them, where the search by levels has work to do."""
    rng = np.random.default_rng([seed, rows])
    for moments in (
        coarse(rng, rows),
        smooth(rng, rows, 2.0),
        curved(rng, rows, 1.0),
        far_apart(rng, rows),
    ):
        check_equal(moments, float(rng.uniform(0.1, 2.0)))


@pytest.mark.parametrize("calibrator", ["certified", "optimal"])
def test_streams_are_the_same(calibrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file keeps of a stream does not tell which search decided."""
    grid = Grid(rows=4, columns=5, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    event = presence([0, 1], [2, 3])

    def stream(*, compiled: bool) -> list[dict[str, object]]:
        monkeypatch.setattr(searching, "_ready", compiled)
        monkeypatch.setattr(searching, "_work_left", 10**9)
        protector = Protector(
            model,
            event,
            PlanarLaplace(grid, alpha=1.0),
            0.7,
            calibrator,
            rng=3,
            adversary=AnyPrior(),
        )
        for cell in (7, 6, 5, 1, 1, 8):
            protector.release(cell)
        return protector.records()

    searching.compile_now()
    plain = stream(compiled=False)
    assert searching._work_left < 10**9
    assert plain == stream(compiled=True)
    assert any(record["budget"] for record in plain)


def test_the_kernels_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has asked enough is answered by machine code."""
    searching.compile_now()
    monkeypatch.setattr(searching, "_ready", False)
    monkeypatch.setattr(searching, "_work_left", 2 * (20 + searching.COLUMN_WORK))
    asked: list[str] = []
    monkeypatch.setattr(plain_search, "column_search", lambda *_: asked.append("plain"))
    monkeypatch.setattr(kernels, "column_search", lambda *_: asked.append("compiled"))
    for _ in range(3):
        searching.column_search(np.zeros((1, 20)))
    assert asked == ["plain", "compiled", "compiled"]
    assert searching._ready


def test_a_first_release_loads_no_compiler() -> None:
    """Neither numba nor what reads and writes data sets is imported for a release."""
    code = """
import sys
from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
grid = Grid(rows=4, columns=4, cell_size=1.0)
model = MarkovModel.gaussian(grid, sigma=1.0)
noise = PlanarLaplace(grid, alpha=1.0)
Protector(model, presence([0], [1]), noise, 0.5, rng=1, adversary=AnyPrior()).release(5)
heavy = {"numba", "pandas", "duckdb", "pyarrow", "matplotlib", "pydantic", "scipy.optimize"}
print(sorted(heavy & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
