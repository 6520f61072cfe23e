"""What a result was computed by: the source, the machine and the libraries."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import priste

LIBRARIES = ("numpy", "scipy", "numba", "highspy")
"""What computes the numbers besides Python."""

SHOWING = ("batch", "cli", "forecast", "live", "policy", "report", "studio")
"""Packages that show results or serve others, and compute none."""

SHOWING_FILES = (
    "reproduce/catalogue.py",
    "reproduce/page.py",
    "reproduce/reproduction.py",
    "reproduce/experiments/budget_per_step.py",
    "reproduce/experiments/claims.py",
    "reproduce/experiments/clock_sweep.py",
    "reproduce/experiments/curve_pictures.py",
    "reproduce/experiments/curves.py",
    "reproduce/experiments/experiment.py",
    "reproduce/experiments/unstated_settings.py",
    "reproduce/experiments/utility_against_epsilon.py",
    "reproduce/running/expectation.py",
    "reproduce/running/provenance.py",
    "reproduce/running/store.py",
)
"""The same of this package: what asks for jobs, keeps, judges and draws their results. A result
follows from the parameters of its job, whoever asked for it, and from the source that does it."""

_ROOT = Path(priste.__file__).parent


@cache
def source_digest() -> str:
    """Return a digest of all the source that results are computed by.

    It changes with every change of that source, whatever the version says, so that results of
    other code are told apart; changes of what merely shows results do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(_ROOT.rglob("*.py")):
        place = path.relative_to(_ROOT)
        if place.parts[0] not in SHOWING and place.as_posix() not in SHOWING_FILES:
            digest.update(place.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


def account_of_machine() -> dict[str, Any]:
    """Return what numbers may depend on: source, commit, lock, libraries, processor, libm.

    Nothing here names the machine, its user or a folder. None where something is not known.
    """
    return {
        "priste": priste.__version__,
        "source": source_digest(),
        "commit": _commit(),
        "lock": _lock(),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "processor": _processor(),
        "libm": " ".join(platform.libc_ver()).strip() or None,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of a source tree, with a mark where it has changes since."""
    tree = _ROOT.parent.parent
    if not (tree / ".git").exists():
        return None
    try:
        told = subprocess.run(
            ["git", "-C", str(tree), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() or None


def _lock() -> str | None:
    """Return a digest of the pinned versions beside a source tree."""
    path = _ROOT.parent.parent / "requirements.lock"
    if not path.is_file():
        return None
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or None)
