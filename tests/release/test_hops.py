"""How many modules one default release passes through: ``python -m tests.release.test_hops``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import priste
from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence

PACKAGE = Path(priste.__file__).parent
MOST = 25
"""ARCHITECTURE.md names this number, and says which modules they are.

A release that crosses more modules is harder to follow."""


WALK = {
    "StreamNode.rule": ("3", "`stream_tree.py`"),
    "Optimal.propose": ("5", "`calibrators/optimal.py`"),
    "AccountantState.check": ("6", "`AccountantState.check`"),
    "_TableRule.draw": ("7", "`release_tables.py` draws"),
    "AccountantState.after": ("8", "`AccountantState.after`"),
    "StreamRecord.append": ("9", "`stream_record.py` appends"),
    "Journal.append": ("9", "`stream_file/journal.py`"),
}
"""What a release calls, in order, with the step of ARCHITECTURE.md that names it."""


def calls_of_one_release(journal: Path) -> list[tuple[str, str]]:
    """Return module and function of each first call in the third release of a default stream."""
    grid = Grid(rows=20, columns=20, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    protector = Protector(
        model,
        presence(cells=range(10), steps=range(3, 8)),
        PlanarLaplace(grid, alpha=1.0),
        guarantee=0.5,
        adversary=KnownPrior(model.stationary()),
        rng=1,
        journal=journal,
    )
    protector.release(200)
    protector.release(201)
    found: dict[tuple[str, str], None] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            found.setdefault((file.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        protector.release(202)
    finally:
        sys.setprofile(before)
    return list(found)


def modules_of_one_release(journal: Path) -> list[str]:
    """Return the modules of priste with a frame in the third release of a default stream."""
    return list(dict.fromkeys(module for module, _ in calls_of_one_release(journal)))


def test_the_walk_is_in_the_order_of_the_code(tmp_path: Path) -> None:
    """A release is proposed, checked, drawn, counted and written in the order that is described."""
    called = [name for _, name in calls_of_one_release(tmp_path / "journal") if name in WALK]
    assert called == list(WALK)
    text = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text("utf-8")
    life = text.partition("## The life of a release")[2].partition("\n## ")[0]
    steps = dict(re.findall(r"^(\d)\. (.*?)(?=^\d\. |\Z)", life, re.DOTALL | re.MULTILINE))
    for step, named in WALK.values():
        assert named in " ".join(steps[step].split())


def test_a_release_crosses_no_more_modules_than_architecture_says(tmp_path: Path) -> None:
    """The walk of ARCHITECTURE.md has the real count, and no change lengthens it unseen."""
    found = modules_of_one_release(tmp_path / "journal")
    assert "release/protector.py" in found
    assert "release/stream_file/journal.py" in found
    assert len(found) <= MOST
    architecture = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text("utf-8")
    assert f"at most {MOST} modules" in architecture


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        print(*modules_of_one_release(Path(folder) / "journal"), sep="\n")
