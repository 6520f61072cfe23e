"""After the warm-up no kernel is left to compile."""

from __future__ import annotations

from types import ModuleType

import pytest

from priste.quantify.near_prior import level_kernels
from priste.quantify.warm_up import warm_up
from priste.quantify.worst_prior import kernels


@pytest.mark.parametrize("module", [kernels, level_kernels], ids=["any start", "near a prior"])
def test_every_kernel_is_compiled_by_the_warm_up(module: ModuleType) -> None:
    """Each function has machine code for one signature, and asking again adds none."""

    def counts() -> dict[str, int]:
        return {
            name: len(function.signatures)
            for name, function in vars(module).items()
            if hasattr(function, "signatures")
        }

    warm_up()
    before = counts()
    assert set(before.values()) == {1}
    warm_up()
    assert counts() == before
