"""Without numba the kernels run as plain Python and give the same bits."""

import json
import subprocess
import sys

import numpy as np
import pytest
from tests.quantify import plain_kernels


def test_plain_kernels_give_the_bits_of_the_compiled_ones() -> None:
    """Verdicts, suprema and worst pairs of ordinary, tied and hostile numbers are equal."""
    code = (
        "import sys, json, warnings; sys.modules['numba'] = None; "
        "warnings.simplefilter('ignore', RuntimeWarning); "
        "from tests.quantify import plain_kernels; print(json.dumps(plain_kernels.digests()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    plain = json.loads(done.stdout)
    assert plain == plain_kernels.digests()
    assert len(set(plain.values())) == len(plain) > 3  # they do see what they are given


def test_a_process_is_warned_once() -> None:
    """The warning names the extra, and comes once for all kernels."""
    code = (
        "import sys, warnings; sys.modules['numba'] = None; "
        "warnings.simplefilter('always'); "
        "caught = warnings.catch_warnings(record=True); found = caught.__enter__(); "
        "from priste.quantify.warm_up import warm_up; warm_up(); warm_up(); "
        "print(len(found), found[0].message)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 numba is not installed")
    assert "pip install 'priste[fast]'" in done.stdout


@pytest.mark.parametrize("shift", [5000, -5000, 3])
def test_powers_of_two_overflow_as_machine_code_does(shift: int) -> None:
    """ldexp gives infinities where Python's own raises."""
    from priste.quantify.worst_prior.compilation import _AS_COMPILED

    with np.errstate(all="ignore"):
        assert _AS_COMPILED.ldexp(-1.5, shift) == np.ldexp(-1.5, shift)
