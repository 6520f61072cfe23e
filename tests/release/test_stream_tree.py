"""Streams that share their first steps release what they would release on their own."""

from collections.abc import Sequence

import pytest

from priste import AnyPrior, Grid, LocationSet, MarkovModel, PlanarLaplace, Protector, presence
from priste.mechanisms import Mechanism
from priste.release import (
    AccountantState,
    Certified,
    CheckedTable,
    Optimal,
    StreamTree,
    make_terms,
)

GRID = Grid(rows=3, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
EVENTS = {"there": presence([0, 1], steps=[1, 2]), "late": presence([8], steps=[3])}
PATHS: list[list[int | None]] = [
    [0, 1, 4, 8, 8],
    [4, None, 4, 5, 8],
    [None, 3, 0, 1, 2],
    [8, 7, 6, 3, 0],
]
STREAMS = [(path, seed) for seed in range(6) for path in PATHS]


class Counted(Optimal):
    """Counts how often a table is proposed at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def propose(self, state: AccountantState) -> CheckedTable:
        """Count, and propose."""
        self.asked.append(state.step)
        return super().propose(state)


def records(protector: Protector, path: Sequence[int | None]) -> list[object]:
    with protector:
        for cell in path:
            protector.release(cell)
        return [*protector.ledger, *protector.records()]


@pytest.mark.parametrize("calibrator", [Optimal(), Certified()], ids=["optimal", "certified"])
@pytest.mark.parametrize(
    "mechanism",
    [PlanarLaplace(GRID, alpha=1.0), LocationSet(PlanarLaplace(GRID, alpha=1.0), delta=0.2)],
    ids=["laplace", "location set"],
)
@pytest.mark.parametrize("memory", [2000, 10**8])
def test_sharing_changes_no_bit(
    calibrator: Optimal | Certified,
    mechanism: Mechanism,
    memory: int,
) -> None:
    """With room for the states of everybody or of a few: the records are the same."""
    terms = make_terms(MODEL, EVENTS, mechanism, 0.5, None, AnyPrior())
    tree = StreamTree.of(terms, calibrator, memory=memory)
    for path, seed in STREAMS[:6]:
        alone = Protector(MODEL, EVENTS, mechanism, 0.5, calibrator, seed, adversary=AnyPrior())
        assert records(Protector.sharing(tree, seed), path) == records(alone, path)


def test_first_distributions_are_chosen_once() -> None:
    """Of many streams one alone looks for the table of the first step, and few for the second."""
    calibrator = Counted()
    terms = make_terms(MODEL, EVENTS, PlanarLaplace(GRID, alpha=1.0), 0.5, None, AnyPrior())
    tree = StreamTree.of(terms, calibrator)
    for path, seed in STREAMS:
        records(Protector.sharing(tree, seed), path)
    count = [calibrator.asked.count(step) for step in range(5)]
    assert count[0] == 1
    assert count[1] < len(STREAMS) / 2
    assert sum(count) < 4 * len(STREAMS)


def test_a_stream_does_not_touch_the_others() -> None:
    """Two that go on in turns from one beginning, one of them replayed: each has its own past."""
    mechanism = PlanarLaplace(GRID, alpha=1.0)
    terms = make_terms(MODEL, EVENTS, mechanism, 0.5, None, AnyPrior())
    tree = StreamTree.of(terms, Optimal())
    expected = [
        records(Protector(MODEL, EVENTS, mechanism, 0.5, rng=seed, adversary=AnyPrior()), path)
        for path, seed in STREAMS[:2]
    ]
    one, other = (Protector.sharing(tree, seed) for _, seed in STREAMS[:2])
    for first, second in zip(*(path for path, _ in STREAMS[:2]), strict=True):
        one.release(first)
        other.release(second)
    assert [[*each.ledger, *each.records()] for each in (one, other)] == expected
    again = Protector.sharing(tree, 1)
    again.replay(one.records())
    assert [*again.ledger, *again.records()] == expected[0]
    assert records(Protector.sharing(tree, STREAMS[0][1]), STREAMS[0][0]) == expected[0]
