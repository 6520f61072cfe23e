"""How many modules one default release passes through: ``python -m tests.release.test_hops``."""

from __future__ import annotations

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


def modules_of_one_release(journal: Path) -> list[str]:
    """Return the modules of priste with a frame in the third release of a default stream."""
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
    found: dict[str, None] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            found.setdefault(file.relative_to(PACKAGE).as_posix())

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        protector.release(202)
    finally:
        sys.setprofile(before)
    return list(found)


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
