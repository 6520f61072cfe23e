"""True leakage along sampled runs, for maps and streams too large to enumerate.

For a given sequence of outputs and budgets the exact probability at every true cell is known
step by step, whatever the size of the map. So each sampled run is judged exactly; only which
runs are looked at is left to chance. The largest value found is a lower bound of what
:func:`~priste.audit.true_leakage` would find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.audit.estimates import Estimate, proportion
from priste.audit.procedure import Procedure
from priste.audit.true_leakage import TOLERANCE
from priste.errors import InvalidParameter
from priste.events import Event
from priste.mobility import MarkovModel
from priste.quantify import Quantifier
from priste.randomness import BitSource, Seed, bit_source
from priste.release import Protector

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SampledLeakage:
    """What sampled runs told about one event to an adversary who sees outputs and budgets.

    ``true[k][t]`` is the exact leakage of run k after step t, by the law of the procedure, and
    ``nominal[k][t]`` that by the law which the procedure believes in. ``exceeding`` estimates the
    probability of a run whose true leakage goes beyond ``epsilon`` at some step.
    """

    epsilon: float
    true: tuple[tuple[float, ...], ...]
    nominal: tuple[tuple[float, ...], ...]
    exceeding: Estimate

    @property
    def value(self) -> float:
        """The largest true leakage that was found."""
        return max(max(run) for run in self.true)

    @property
    def nominal_value(self) -> float:
        """The largest leakage by the law that the procedure believes in."""
        return max(max(run) for run in self.nominal)


def sampled_leakage(
    protector: Protector,
    steps: int,
    *,
    runs: int = 100,
    rng: Seed | BitSource = None,
    truth: MarkovModel | None = None,
    start: int | Sequence[float] | None = None,
) -> dict[str, SampledLeakage]:
    """Return for each event the exact leakage along ``runs`` sampled streams of ``steps`` steps.

    True trajectories come from ``truth`` (the first guarded model unless given), starting at
    ``start`` as in ``MarkovModel.sample``. ``protector`` must not have released anything, and
    nothing is drawn from it.
    """
    procedure = Procedure(protector)
    terms = procedure.terms
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise InvalidParameter(f"The 'runs' of an audit must be an integer >= 1. Got {runs!r}.")
    bits = bit_source(rng)
    moving = terms.models[0] if truth is None else truth
    drawn = [procedure.run(moving.sample(steps, bits, start), bits) for _ in range(runs)]
    found = {}
    for name, event, epsilon in zip(terms.event_names, terms.events, terms.epsilons, strict=True):
        true = tuple(leakage_path(terms.models, event, run.likelihoods) for run in drawn)
        nominal = tuple(leakage_path(terms.models, event, run.nominal) for run in drawn)
        over = sum(max(path) > epsilon + TOLERANCE for path in true)
        found[name] = SampledLeakage(epsilon, true, nominal, proportion(over, runs))
    return found


def leakage_path(
    models: Sequence[MarkovModel], event: Event, likelihoods: Sequence[Floats | None]
) -> tuple[float, ...]:
    """Return the leakage after each step, the worst over the models."""
    paths = []
    for model in models:
        quantifier = Quantifier(model, event)
        path = []
        for likelihood in likelihoods:
            quantifier.observe(likelihood)
            path.append(quantifier.leakage().value)
        paths.append(path)
    return tuple(max(values) for values in zip(*paths, strict=True))
