"""A journal that one machine wrote goes on under another, whatever processor, numpy and BLAS."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.float_settings import FLOAT_SETTINGS, environment, usable
from tests.release.journals_of_a_machine import perform

from priste.float_text import floats_from_text

ROOT = Path(__file__).parents[2]

SAME_DISTRIBUTION = 1e-6
"""Probabilities that differ by less are the same but for rounding."""

"""Journals written once as an old processor computes, and never made anew."""


def run(setting: str, *arguments: str) -> None:
    """Do it in a process that computes so; as it is, in this one."""
    if not FLOAT_SETTINGS[setting]:
        return perform(*arguments)
    command = [sys.executable, "-m", "tests.release.journals_of_a_machine", *arguments]
    ended = subprocess.run(
        command, env=environment(setting), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return None


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One folder of journals per setting."""
    folders = {}
    for name in ("as it is", "old processor", "Sandybridge kernels"):
        if usable(name):
            folders[name] = tmp_path_factory.mktemp("journals")
            run(name, "write", str(folders[name]))
    return folders


@pytest.mark.parametrize("setting", ["as it is", "old processor", "Nehalem kernels"])
def test_journals_of_other_machines_go_on(written: dict[str, Path], setting: str) -> None:
    """Every journal written under any setting loads under this one, releases unchanged."""
    if not usable(setting):
        pytest.skip(f"this machine does not take {FLOAT_SETTINGS[setting]}")
    run(setting, "continue", *(str(folder) for folder in written.values()))


def test_a_seed_releases_the_same_everywhere(written: dict[str, Path]) -> None:
    """Under every setting the seeded streams released the same outputs by the same distributions.

    The map is symmetric, so many tables cost the same but for their last bits. How many releases
    are alike in longer streams ``python -m tests.release.seeds_elsewhere`` counts.
    """
    told = []
    for folder in written.values():
        ledgers = json.loads((folder / "ledgers.json").read_text())
        told.append([json.loads(line) for text in ledgers.values() for line in text.splitlines()])
    for other in told[1:]:
        for ours, theirs in zip(told[0], other, strict=True):
            assert (ours["cell"], ours["budget"]) == (theirs["cell"], theirs["budget"])
            assert ("likelihood" in ours) == ("likelihood" in theirs)
            if "likelihood" in ours:
                one, two = (floats_from_text(line["likelihood"]) for line in (ours, theirs))
                assert np.allclose(one, two, rtol=0.0, atol=SAME_DISTRIBUTION)
