"""Work in a process that ends: its result and its errors come back, its libraries do not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.live.small_town import POLICY

from priste.errors import PolicyError
from priste.live.freed_memory import in_a_child
from priste.policy import read_policy

SCRIPT = """
import sys
from priste.live.freed_memory import in_a_child
from priste.policy import load_policy

policy = in_a_child(load_policy, "policy.toml")
assert "pyproj" not in sys.modules
assert policy.fingerprint() == load_policy("policy.toml").fingerprint()
assert "pyproj" in sys.modules
"""


def test_libraries_of_the_work_are_not_loaded_here(tmp_path: Path) -> None:
    """The same policy comes back, and what reading it needed does not."""
    (tmp_path / "policy.toml").write_text(POLICY)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_mistakes_come_back() -> None:
    """With all that they say."""
    with pytest.raises(PolicyError, match="did you mean 'sigma'"):
        in_a_child(read_policy, POLICY.replace("sigma", "sgma"))


def killed(here: int) -> str:
    if os.getpid() != here:
        os.kill(os.getpid(), signal.SIGTERM)
    return "here"


def test_a_child_that_is_killed_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the work is done here."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert in_a_child(killed, os.getpid()) == "here"
