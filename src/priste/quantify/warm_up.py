"""Compile the kernels now and not with the first verdict: ``python -m priste.quantify.warm_up``.

The machine code is kept beside the kernels, so this pays once per installation. Nothing is
printed and nothing depends on it: without it some verdict of the first day takes seconds longer.
"""

from __future__ import annotations


def warm_up() -> None:
    """Compile or load every kernel of the package."""
    from priste.quantify.near_prior import level_kernels  # noqa: F401
    from priste.quantify.worst_prior import kernels  # noqa: F401


if __name__ == "__main__":
    warm_up()
