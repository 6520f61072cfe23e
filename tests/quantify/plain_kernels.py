"""What the kernels find on fixed numbers, as digests that two processes can compare."""

from __future__ import annotations

import hashlib
from dataclasses import astuple

import numpy as np
from tests.quantify.joint_cases import coarse, curved, far_apart, smooth

from priste.quantify.near_prior import near_leakage, near_passes
from priste.quantify.worst_prior import passes, worst_prior_leakage

KINDS = {
    "coarse": coarse,
    "smooth": lambda rng, rows: smooth(rng, rows, 0.3),
    "curved": lambda rng, rows: curved(rng, rows, 0.5),
    "far apart": far_apart,
}
"""Ties, zeros, many rows that nearly matter, and numbers far beyond the range of a double."""

CASES = 12
ROWS = 14


def digests() -> dict[str, str]:
    """Return a digest of everything that the kernels find, for each kind of numbers."""
    return {kind: _digest(kind) for kind in KINDS}


def _digest(kind: str) -> str:
    found = []
    rng = np.random.default_rng(38)
    for _ in range(CASES):
        joint = KINDS[kind](rng, ROWS)
        leakage = worst_prior_leakage(joint)
        found.append(repr(astuple(leakage)))
        bounds = [0.1, 1.0]
        if np.isfinite(leakage.value):
            bounds += [leakage.value * (1 + off) for off in (-1e-9, 1e-9)]
        found += [repr(passes(joint, bound)) for bound in bounds if bound > 0]
        if kind != "far apart":
            weights = rng.random(ROWS) + 0.1
            found.append(repr(astuple(near_leakage(joint, weights, 3.0))))
            found.append(repr(near_passes(joint, weights, 3.0, 0.5)))
    return hashlib.sha256("".join(found).encode()).hexdigest()
