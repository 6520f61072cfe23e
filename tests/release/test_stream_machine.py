"""Any order of releases, retries, gaps, saves, crashes and restarts keeps one history."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, at, presence
from priste.release import Release
from priste.release.stream_file import checkpoint

GRID = Grid(rows=2, columns=2, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
EVENTS = [presence([0], [1, 3]), at([3], 2)]
EPSILONS = [0.4, 0.9]
MOST_STEPS = 40

cells = st.one_of(st.none(), st.integers(0, 3))


class Stream(RuleBasedStateMachine):
    """A journaled stream, and a plain dictionary of what was ever returned."""

    def __init__(self) -> None:
        super().__init__()
        self.every, checkpoint.EVERY = checkpoint.EVERY, 4  # most restarts go on from one
        self.folder = Path(tempfile.mkdtemp())
        self.journal = self.folder / "journal"
        self.p = Protector(
            MODEL,
            EVENTS,
            PlanarLaplace(GRID, 2.0),
            EPSILONS,
            rng=1,
            journal=self.journal,
            adversary=AnyPrior(),
        )
        self.returned: dict[int, Release] = {}
        self.restarts = 1

    def note(self, release: Release) -> None:
        assert self.returned.setdefault(release.step, release) == release

    @rule(cell=cells)
    @precondition(lambda self: self.p.next_step < MOST_STEPS)
    def next(self, cell: int | None) -> None:
        expected = self.p.next_step
        release = self.p.release(cell)
        assert release.step == expected
        assert release.silent == (cell is None)
        self.note(release)

    @rule(cell=cells, ahead=st.integers(1, 3))
    @precondition(lambda self: self.p.next_step < MOST_STEPS)
    def skip(self, cell: int | None, ahead: int) -> None:
        start = self.p.next_step
        self.note(self.p.release(cell, step=start + ahead))
        for step in range(start, start + ahead):
            release = self.p.release(0, step=step)
            assert release.silent
            self.note(release)

    @rule(cell=cells, data=st.data())
    @precondition(lambda self: self.returned)
    def retry(self, cell: int | None, data: st.DataObject) -> None:
        step = data.draw(st.sampled_from(sorted(self.returned)))
        self.note(self.p.release(cell, step=step))

    @rule()
    def restart(self) -> None:
        self.p.close()
        self.restarts += 1
        self.p = Protector.resume(self.journal, rng=self.restarts)

    @rule(share=st.floats(0.05, 0.95))
    def crash_while_writing(self, share: float) -> None:
        """A record that was being written when the process died, and was returned to nobody."""
        self.p.close()
        before = self.journal.read_bytes()
        copy = self.folder / "copy"
        shutil.copy(self.journal, copy)
        with Protector.resume(copy, rng=self.restarts) as lost:
            lost.release(None)
        added = copy.read_bytes()[len(before) :]
        self.journal.write_bytes(before + added[: max(1, int(share * len(added)))])
        copy.unlink()
        self.p = Protector.resume(self.journal, rng=self.restarts)
        assert self.p.torn_bytes > 0
        assert self.journal.read_bytes() == before

    @rule()
    def save_and_load(self) -> None:
        self.p.save(self.folder / "saved")
        loaded = Protector.load(self.folder / "saved")
        assert list(loaded.ledger) == list(self.p.ledger)
        assert loaded.distribution().budgets == self.p.distribution().budgets

    @invariant()
    def history_is_one(self) -> None:
        ledger = self.p.ledger
        assert [r.step for r in ledger] == list(range(len(ledger)))
        for step, release in self.returned.items():
            assert ledger[step] == release

    @invariant()
    def guarantee_is_kept(self) -> None:
        for release in self.p.ledger:
            assert all(x <= e for x, e in zip(release.leakage, EPSILONS, strict=True))

    def teardown(self) -> None:
        checkpoint.EVERY = self.every
        self.p.close()
        shutil.rmtree(self.folder)


TestStream = Stream.TestCase
TestStream.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
