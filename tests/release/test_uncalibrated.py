"""The uncalibrated mechanism as a calibrator: full budget always, measured honestly, never a
guarantee."""

from pathlib import Path

import numpy as np
import pytest

from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, Quantifier, presence
from priste.release import Uncalibrated

GRID = Grid(rows=3, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
EVENT = presence([0, 1], steps=[1, 2])
MECHANISM = PlanarLaplace(GRID, alpha=2.5)
EPSILON = 0.05
SAME_ARITHMETIC = 1e-9
PATH = [0, 0, 1, 4]


def stream(**options: object) -> Protector:
    return Protector(
        MODEL, EVENT, MECHANISM, EPSILON, "uncalibrated", 3, adversary=AnyPrior(), **options
    )  # type: ignore[arg-type]


def test_every_release_uses_the_full_budget() -> None:
    """No check lowers the budget, even far beyond ε."""
    releases = [stream_.release(cell) for stream_ in [stream()] for cell in PATH]
    assert [r.budget for r in releases] == [2.5] * len(PATH)
    assert [r.attempts for r in releases] == [1] * len(PATH)
    assert releases[-1].leakage[0] > EPSILON


def test_its_ledger_tells_what_a_quantifier_tells() -> None:
    """The leakage in the ledger is that of the mechanism's own columns."""
    protector, quantifier = stream(), Quantifier(MODEL, EVENT)
    for cell in PATH:
        release = protector.release(cell)
        quantifier.observe(MECHANISM.likelihood(release.cell))
        assert release.leakage[0] == pytest.approx(quantifier.leakage().value, rel=SAME_ARITHMETIC)


def test_its_distribution_is_the_table() -> None:
    """What is drawn has the distribution of the mechanism, whatever the past."""
    protector = stream()
    protector.release(0)
    np.testing.assert_array_equal(protector.distribution().outputs(), MECHANISM.emission())


def test_it_can_be_resumed(tmp_path: Path) -> None:
    """A journal of an uncalibrated stream is restored under its name, with nothing drawn again."""
    path = tmp_path / "uncalibrated.journal"
    with stream(journal=path) as protector:
        first = [protector.release(cell) for cell in PATH]
    with Protector.resume(path, rng=9) as again:
        assert [again.release(8, step=k) for k in range(len(PATH))] == first
    assert Uncalibrated().describe() == {"kind": "uncalibrated"}
