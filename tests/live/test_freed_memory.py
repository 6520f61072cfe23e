"""Work in a process that ends: its result and its errors come back, its libraries do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.live.small_town import POLICY

SCRIPT = """
import os, signal, sys
from pathlib import Path
from priste.errors import PolicyError
from priste.live.freed_memory import in_a_child
from priste.policy import load_policy, read_policy

here = os.getpid()
policy = in_a_child(load_policy, Path("policy.toml"))
assert "pyproj" not in sys.modules
assert policy.fingerprint() == load_policy("policy.toml").fingerprint()
assert "pyproj" in sys.modules
try:
    in_a_child(read_policy, Path("policy.toml").read_text().replace("sigma", "sgma"))
except PolicyError as error:
    assert "did you mean" in str(error).lower() or "sgma" in str(error)
else:
    raise AssertionError("the mistake is lost")

def killed():
    if os.getpid() != here:
        os.kill(os.getpid(), signal.SIGKILL)
    return "here"

assert in_a_child(killed) == "here"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_a_policy_read_in_a_child(tmp_path: Path) -> None:
    """The same policy; a mistake in it is raised here; a child that is killed is done without."""
    (tmp_path / "policy.toml").write_text(POLICY)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
