"""Ways to make this machine compute like another: kernels, libm and vector code of older ones.

They change last bits of matrix products, exponentials and sums. A setting that this machine does
not take (another processor, numpy or C library) is left out.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys

KERNELS = {name: {"OPENBLAS_CORETYPE": name} for name in ("Prescott", "Nehalem", "Sandybridge")}
NO_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2"}
NO_VECTORS = {"NPY_DISABLE_CPU_FEATURES": "X86_V3"}

FLOAT_SETTINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "old processor": {**KERNELS["Prescott"], **NO_FMA, **NO_VECTORS},
    "Sandybridge kernels": KERNELS["Sandybridge"],
    "Nehalem kernels": KERNELS["Nehalem"],
    "no fused multiply-add": NO_FMA,
    "no vector code": NO_VECTORS,
}

_PROBE = "import numpy as np; a = np.ones((8, 8)); assert (a @ a == 8).all()"


@functools.cache
def usable(name: str) -> bool:
    """Whether Python and numpy start under a setting without a complaint."""
    probe = [sys.executable, "-W", "error", "-c", _PROBE]
    run = subprocess.run(probe, env=environment(name), capture_output=True, check=False)
    return run.returncode == 0


def environment(name: str) -> dict[str, str]:
    """The environment of a process under a setting."""
    return {**os.environ, **FLOAT_SETTINGS[name]}
