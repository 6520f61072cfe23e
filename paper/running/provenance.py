"""What a result was computed by: the source, the machine and the libraries."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

import priste
from paper.running.jobs import PERFORMERS

LIBRARIES = ("numpy", "scipy", "numba", "highspy")
"""What computes the numbers besides Python."""

_ROOT = Path(__file__).parents[2]
"""The source tree: results are computed in a checkout, never from an installed wheel."""


@cache
def source_digest() -> str:
    """Return a digest of all our source that jobs are done by.

    These are the modules that do jobs and all that they import of this tree, at their top or inside
    functions. So results of other code are told apart, whatever the version says; a change of what
    asks for jobs, or shows their results, does not count.
    """
    digest = hashlib.sha256()
    for path in computing_sources(_ROOT, PERFORMERS.values()):
        digest.update(
            path.relative_to(_ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    return digest.hexdigest()[:24]


def computing_sources(root: Path, modules: Iterable[str]) -> list[Path]:
    """Return the files below a root of these modules and of all that they import from there."""
    finder = ModuleFinder([str(root), str(root / "src")])
    for module in modules:
        finder.import_hook(module)
    files = (vars(each).get("__file__") for each in finder.modules.values())
    return sorted({Path(file) for file in files if file})


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
    """Return the commit of the source tree, with a mark where it has changes since."""
    if not (_ROOT / ".git").exists():
        return None
    try:
        told = subprocess.run(
            ["git", "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() or None


def _lock() -> str | None:
    """Return a digest of the pinned versions of the source tree."""
    path = _ROOT / "requirements.lock"
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
