"""The conformance tests of priste.testing pass what is right and name what is broken."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionTable,
    Grid,
    Identity,
    KnownPrior,
    LastSeen,
    LocationSet,
    MarkovModel,
    Mechanism,
    PlanarIsotropic,
    PlanarLaplace,
    PriorsWithin,
    StartsIn,
    Uniform,
)
from priste.errors import PristeError
from priste.quantify import Adversary
from priste.quantify.lifted import GivenPriors
from priste.release import Certified, Optimal, ReleaseTable, Uncalibrated
from priste.release.release_tables import UncheckedTable
from priste.testing import (
    NotConformant,
    check_adversary,
    check_calibrator,
    check_mechanism,
    check_trace_format,
)
from priste.traces import FORMATS

GRID = Grid(rows=2, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=0.8)
LAPLACE = PlanarLaplace(GRID, alpha=1.0)

MECHANISMS = [
    LAPLACE,
    Identity(GRID),
    Uniform(GRID),
    EmissionTable(GRID, LAPLACE.emission()),
    LocationSet(LAPLACE, delta=0.3),
    PlanarIsotropic(GRID, 1.0, delta=0.3),
]
ADVERSARIES = [
    AnyPrior(),
    StartsIn([0, 4]),
    KnownPrior(MODEL.stationary()),
    LastSeen(2),
    PriorsWithin(MODEL.stationary(), 3.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: type(each).__name__)
def test_own_mechanisms_conform(mechanism: Mechanism) -> None:
    """Every mechanism of the package keeps the contract."""
    check_mechanism(mechanism)


@pytest.mark.parametrize(
    "calibrator", [Optimal(), Certified(), Uncalibrated()], ids=lambda each: type(each).__name__
)
def test_own_calibrators_conform(calibrator: Any) -> None:
    """Calibrators of the package keep the contract; the paper's takes long and is left out."""
    check_calibrator(calibrator)


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda each: type(each).__name__)
def test_own_adversaries_conform(adversary: Adversary) -> None:
    """Every adversary of the package keeps the contract."""
    check_adversary(adversary, MODEL)


WRITTEN = [name for name, form in FORMATS.items() if form.write and form.tables is None]


@pytest.mark.parametrize("name", WRITTEN)
def test_own_formats_conform(name: str) -> None:
    """Every format that is written, but for tables, reads what it wrote and survives damage."""
    check_trace_format(FORMATS[name])


# Broken mechanisms: one rule each.


class Changed(Mechanism):
    """A right mechanism, to be broken: the truth or a uniform output."""

    def __init__(self, budget: float = 1.0) -> None:
        super().__init__(GRID, GRID.size, budget)

    @property
    def claimed_alpha(self) -> float:
        return math.inf

    def with_budget(self, budget: float) -> Mechanism:
        return type(self)(self._checked_budget(budget))

    def describe(self) -> dict[str, Any]:
        return {"kind": "changed"}

    def _make_table(self) -> np.ndarray:
        cells = self.grid.size
        return self._budget / 2 * np.eye(cells) + (1 - self._budget / 2) / cells


class BadSums(Changed):
    def _make_table(self) -> np.ndarray:
        return super()._make_table() * 1.001


class BadClaim(Changed):
    @property
    def claimed_alpha(self) -> float:
        return 0.1


class TellsAtZero(Changed):
    def _make_table(self) -> np.ndarray:
        return Changed(1.0)._make_table()


class BadSamples(Changed):
    def sample(self, cell: int, rng: Any = None) -> int:
        return self._checked_cell(cell)


class BadColumn(Changed):
    def likelihood(self, output: int) -> np.ndarray:
        return super().likelihood(output)[::-1]


class AnyBudget(Changed):
    def with_budget(self, budget: float) -> Mechanism:
        return type(self)(max(0.0, min(1.0, budget)) if budget == budget else 0.0)


class TalksOfCells(Changed):
    def _checked_cell(self, cell: int) -> int:
        from priste.errors import InvalidParameter

        if not 0 <= cell < GRID.size:
            raise InvalidParameter(f"cell {cell} is not on the map")
        return cell


class NoJson(Changed):
    def describe(self) -> dict[str, Any]:
        return {"kind": "x", "table": np.eye(2)}


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (BadSums, "must sum to 1"),
        (BadClaim, "claimed_alpha"),
        (TellsAtZero, "must say nothing"),
        (BadSamples, "must follow the probabilities"),
        (BadColumn, "likelihood"),
        (AnyBudget, "must raise InvalidParameter"),
        (TalksOfCells, "true cell"),
        (NoJson, "JSON"),
    ],
)
def test_broken_mechanisms_are_named(broken: type[Changed], rule: str) -> None:
    """The right one passes, and each broken one fails for its own reason."""
    check_mechanism(Changed())
    with pytest.raises(NotConformant, match=rule) as caught:
        check_mechanism(broken())
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, PristeError)


# Broken calibrators.


class Full:
    """The mechanism at its full budget, called guaranteed though nothing was checked."""

    guaranteed = True

    def propose(self, state: Any) -> Any:
        return UncheckedTable.of(state.mechanism)

    def describe(self) -> dict[str, Any]:
        return {"kind": "full"}


class Forgetful(Full):
    """Checks against the first state of the stream, and uses the table for ever."""

    guaranteed = True

    def __init__(self) -> None:
        self.first: Any = None

    def propose(self, state: Any) -> Any:
        if self.first is None or state.step == 0:
            self.first = state.constant(0, math.nan)
        return self.first


class Fickle(Full):
    """Draws its table by chance."""

    guaranteed = False

    def __init__(self) -> None:
        self.turn = 0

    def propose(self, state: Any) -> Any:
        self.turn += 1
        cells, width = state.mechanism.grid.size, state.mechanism.outputs
        table = ReleaseTable.constant(self.turn % 2, cells, width, math.nan)
        return UncheckedTable(table)


class Unnamed(Full):
    guaranteed = False

    def describe(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (Full, "state.check"),
        (Forgetful, "state.check"),
        (Fickle, "function of the state"),
        (Unnamed, "'kind'"),
    ],
)
def test_broken_calibrators_are_named(broken: type, rule: str) -> None:
    """Each fails for its own reason."""
    with pytest.raises(NotConformant, match=rule):
        check_calibrator(broken())


def test_a_check_that_says_yes_to_everything_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumeration finds a guarantee that does not hold, though every table was checked."""
    from priste.release.accountant import AccountantState

    class Bold(Full):
        def propose(self, state: Any) -> Any:
            full = UncheckedTable.of(state.mechanism).table
            return state.check(full).table or state.constant(0, math.nan)

    check_calibrator(Bold())
    monkeypatch.setattr(
        AccountantState,
        "passes",
        lambda self, columns, limits=None: np.ones(columns.shape[1], bool),
    )
    with pytest.raises(NotConformant, match="more about 'event' than is guaranteed"):
        check_calibrator(Bold())


# Broken adversaries.


@dataclass(frozen=True, eq=False)
class Sure(Adversary):
    """A right one: sure of the first cell to a degree."""

    kind: ClassVar[str] = "sure"
    confidence: float = 0.5

    def rows(self, model: MarkovModel) -> GivenPriors:
        cells = model.grid.size
        return GivenPriors(self.confidence * np.eye(cells) + (1 - self.confidence) / cells)

    def words(self) -> str:
        return "somebody who is partly sure"

    def to_dict(self) -> dict[str, object]:
        return {"adversary": self.kind, "confidence": self.confidence}


class SumsToTwo(Sure):
    def rows(self, model: MarkovModel) -> GivenPriors:
        return GivenPriors(2 * super().rows(model).rows)


class Miscounted(Sure):
    def row_count(self, cells: int) -> int:
        return 1


class Forgotten(Sure):
    def to_dict(self) -> dict[str, object]:
        return {"adversary": self.kind, "confidence": 0.9}


class Speechless(Sure):
    def words(self) -> str:
        return ""


class Outsider(Sure):
    """Says that its mean prior is one that is none of its priors, and learns more."""

    @property
    def every_mixture(self) -> bool:
        return False

    def rows(self, model: MarkovModel) -> GivenPriors:
        cells = model.grid.size
        return GivenPriors(np.repeat(np.eye(cells)[-1:], cells, axis=0) * 0.5 + 0.5 / cells)

    def mean_prior(self, cells: int) -> np.ndarray:
        mean = np.zeros(cells)
        mean[[0, -1]] = 0.5
        return mean


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (SumsToTwo, "must sum to 1"),
        (Miscounted, "row_count"),
        (Forgotten, "from_dict"),
        (Speechless, "words"),
        (Outsider, "learns more than the class"),
    ],
)
def test_broken_adversaries_are_named(broken: type[Sure], rule: str) -> None:
    """The right one passes, and each broken one fails for its own reason."""
    check_adversary(Sure(), MODEL)
    with pytest.raises(NotConformant, match=rule):
        check_adversary(broken(), MODEL)


def test_broken_formats_are_named() -> None:
    """A format that loses fixes, takes any file, crashes, or quotes what it read is named."""
    right = FORMATS["cabspotting"]
    check_trace_format(right)

    def one_less(file: Any, options: Any, tally: Any) -> Any:
        yield from list(right.read(file, options, tally))[1:]

    def crashing(file: Any, options: Any, tally: Any) -> Any:
        with file.open() as data:
            for line in data.read().decode().splitlines():
                lat, lon, _, time = line.split(" ")
                yield from right.read(file, options, tally) if not time else []
                del lat, lon
        yield from right.read(file, options, tally)

    def quoting(file: Any, options: Any, tally: Any) -> Any:
        from priste.errors import TraceError

        with file.open() as data:
            text = data.read()
        if b"\xff" in text:
            raise TraceError(f"cannot read {text!r}")
        yield from right.read(file, options, tally)

    for changed, rule in (
        ({"read": one_less}, "Every fix"),
        ({"recognises": lambda head: True}, "not take any file"),
        ({"recognises": lambda head: False}, "own files"),
        ({"read": crashing}, "damaged file"),
        ({"read": quoting}, "quote"),
    ):
        with pytest.raises(NotConformant, match=rule):
            check_trace_format(replace(right, **changed))
