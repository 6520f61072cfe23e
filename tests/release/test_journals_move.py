"""A journal that one machine wrote goes on under another, whatever processor, numpy and BLAS."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.float_settings import FLOAT_SETTINGS, environment, usable
from tests.release.journals_of_a_machine import go_on

ROOT = Path(__file__).parents[2]

GOLDEN = Path(__file__).parent / "golden_of_another_machine"
"""Journals written once as an old processor computes, and never made anew."""


def run(setting: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "tests.release.journals_of_a_machine", *arguments]
    ended = subprocess.run(
        command, env=environment(setting), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One folder of journals per setting."""
    folders = {}
    for name in ("as it is", "old processor", "Sandybridge kernels"):
        if usable(name):
            folders[name] = tmp_path_factory.mktemp("journals")
            run(name, "write", str(folders[name]))
    return folders


@pytest.mark.xdist_group("journals that move")
@pytest.mark.parametrize("setting", ["as it is", "old processor", "Nehalem kernels"])
def test_journals_of_other_machines_go_on(written: dict[str, Path], setting: str) -> None:
    """Every journal written under any setting loads under this one, releases unchanged."""
    if not usable(setting):
        pytest.skip(f"this machine does not take {FLOAT_SETTINGS[setting]}")
    run(setting, "continue", *(str(folder) for folder in written.values()))


def test_journals_written_elsewhere_long_ago_go_on(tmp_path: Path) -> None:
    """Files with the columns of another machine load for ever, with the same releases."""
    go_on(Path(shutil.copytree(GOLDEN, tmp_path / "golden")))


@pytest.mark.xdist_group("journals that move")
def test_a_seed_releases_the_same_everywhere(written: dict[str, Path]) -> None:
    """Under every setting the seeded streams released the same outputs at the same budgets.

    Laws that are searched for are left out: on a symmetric map several cost the same, and last bits
    choose (docs/reliability.md says how often).
    """
    outputs = []
    for folder in written.values():
        ledgers = json.loads((folder / "ledgers.json").read_text())
        outputs.append(
            {
                name: [
                    (line["cell"], line["budget"]) for line in map(json.loads, text.splitlines())
                ]
                for name, text in ledgers.items()
                if name != "optimal"
            }
        )
    assert all(one == outputs[0] for one in outputs)
