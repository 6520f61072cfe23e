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


def test_the_first_verdicts_wait_for_no_compiler() -> None:
    """Verdicts against few priors load no numba; many suprema do, with the same answers."""
    code = """
import sys
import numpy as np
from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.quantify.worst_prior import leakages, passes
from priste.quantify.worst_prior import verdicts
grid = Grid(rows=6, columns=6, cell_size=1.0)
model = MarkovModel.gaussian(grid, sigma=1.0)
known = KnownPrior(model.stationary())
mechanism = PlanarLaplace(grid, alpha=1.0)
protector = Protector(model, presence([0, 1], [2, 3]), mechanism, 0.5, adversary=known, rng=1)
protector.release(7)
print('numba' in sys.modules)
from priste import Quantifier
two = KnownPrior([model.stationary(), [1 / 36] * 36])
joint = Quantifier(model, presence([0, 1], [2, 3]), two).candidate_joint(mechanism.emission())
before = leakages(joint)
verdicts.PLAIN_WORK = 0
passes(joint, 0.1)
print('numba' in sys.modules)
print(np.array_equal(leakages(joint), before), 'numba' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True", "True"]
