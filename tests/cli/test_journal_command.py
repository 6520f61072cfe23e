"""``priste journal``: what it says about whole, torn and damaged journals, and what it changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.cli.application import app

STEPS = 4


def journal(*arguments: object) -> Result:
    words = ["journal", *map(str, arguments)]
    return CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, words)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A journal of four releases."""
    grid = Grid(rows=2, columns=3, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    path = tmp_path / "j"
    with Protector(
        model,
        presence([0], [1]),
        PlanarLaplace(grid, alpha=1.0),
        0.5,
        adversary=KnownPrior(model.stationary()),
        rng=1,
        journal=path,
        binding={"person": "ada"},
    ) as protector:
        for step in range(STEPS):
            protector.release(step % 3)
    return path


def test_a_whole_journal_is_said_to_be_whole(made: Path) -> None:
    """Steps and whose it is; nothing is written, by check or by repair."""
    before = made.read_bytes()
    checked = journal("check", made)
    assert checked.exit_code == 0
    assert "4 steps, every line matches" in checked.output
    assert "person: ada" in checked.output
    assert "nothing to cut off" in journal("repair", made).output
    assert made.read_bytes() == before


@pytest.mark.parametrize("tail", [b"R 0000", b"\0" * 700])
def test_a_torn_tail_is_told_and_cut_off(made: Path, tail: bytes) -> None:
    """Check tells of it and leaves it; repair cuts it off and nothing else."""
    before = made.read_bytes()
    made.write_bytes(before + tail)
    checked = journal("check", made)
    assert checked.exit_code == 0
    assert f"{len(tail)} bytes" in checked.output
    assert made.read_bytes() == before + tail
    assert f"{len(tail)} bytes cut off" in journal("repair", made).output
    assert made.read_bytes() == before


def test_damage_is_cut_only_on_an_explicit_wish(made: Path) -> None:
    """Without it the file stays; with it a copy stays, and the price is said."""
    before = made.read_bytes()
    lines = before.splitlines(keepends=True)
    damaged = b"".join([*lines[:4], lines[4].replace(b"step", b"stop"), *lines[5:]])
    made.write_bytes(damaged)
    for words in (("check", made), ("repair", made)):
        refused = journal(*words)
        assert refused.exit_code == 2
        assert "corrupt" in refused.output
        assert made.read_bytes() == damaged
    cut = journal("repair", made, "--forget-releases")
    assert cut.exit_code == 0
    assert "cut after 2 steps" in cut.output
    assert "do not release their steps again" in cut.output
    assert made.read_bytes() == b"".join(lines[:4])
    assert made.with_name("j.damaged").read_bytes() == damaged
    assert journal("check", made).exit_code == 0
