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

from priste.arguments import check_int
from priste.audit.estimates import Estimate, proportion
from priste.audit.procedure import Procedure
from priste.audit.true_leakage import is_broken
from priste.events import Guarded
from priste.mobility import MarkovModel
from priste.quantify import Adversary, AnyPrior, Family, Guarantee, Leakage, Quantifier
from priste.randomness import BitSource, Seed, bit_source
from priste.release import Protector

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SampledLeakage:
    """What sampled runs revealed about one event to an adversary who sees outputs and budgets.

    ``true[k][t]`` is the exact leakage of run k after step t, by the distribution of the procedure,
    against the ``adversary`` and over the directions that ``guarantee`` bounds; ``nominal[k][t]``
    is that by the distribution which the procedure believes in. ``belief`` is how sure any run made
    an adversary of the class at most, ``any_prior`` the largest true leakage to an adversary with
    any prior, in both directions. ``exceeding`` estimates the probability of a run that breaks the
    guarantee at some step.
    """

    guarantee: Guarantee
    adversary: Adversary
    true: tuple[tuple[float, ...], ...]
    nominal: tuple[tuple[float, ...], ...]
    belief: float
    any_prior: float
    exceeding: Estimate

    @property
    def epsilon(self) -> float:
        """The largest ln ratio that is guaranteed; ``inf`` where none is (a bound on beliefs)."""
        return self.guarantee.largest_leakage

    @property
    def kept(self) -> bool:
        """Whether no run broke the guarantee, up to rounding."""
        return self.exceeding.value == 0.0

    @property
    def value(self) -> float:
        """The largest true leakage that was found."""
        return max(max(run) for run in self.true)

    @property
    def nominal_value(self) -> float:
        """The largest leakage by the distribution that the procedure believes in."""
        return max(max(run) for run in self.nominal)


def sampled_leakage(
    protector: Protector,
    steps: int,
    *,
    runs: int = 100,
    rng: Seed | BitSource = None,
    truth: MarkovModel | None = None,
    start: int | Sequence[float] | None = None,
    adversary: Adversary | None = None,
) -> dict[str, SampledLeakage]:
    """Return for each event the exact leakage along ``runs`` sampled streams of ``steps`` steps.

    True trajectories come from ``truth`` (the first guarded model unless given), starting at
    ``start`` as in ``MarkovModel.sample``. Leakages are against ``adversary``, the Protector's own
    unless given, and jointly over its models. ``protector`` must not have released anything, and
    nothing is drawn from it.
    """
    procedure = Procedure(protector)
    terms = procedure.terms
    check_int(runs, "runs", "an audit", least=1)
    against = procedure.adversary(adversary)
    bits = bit_source(rng)
    moving = terms.models[0] if truth is None else truth
    drawn = [procedure.run(moving.sample(steps, bits, start), bits) for _ in range(runs)]
    found = {}
    for name, event, guarantee in zip(
        terms.event_names, terms.events, procedure.guarantees, strict=True
    ):
        true = [
            stream_path(terms.models, event, run.likelihoods, against, terms.family)
            for run in drawn
        ]
        nominal = [
            stream_path(terms.models, event, run.nominal, against, terms.family) for run in drawn
        ]
        any_prior = true
        if against != AnyPrior():
            any_prior = [
                stream_path(terms.models, event, run.likelihoods, None, terms.family)
                for run in drawn
            ]
        over = sum(any(step.breaks(guarantee) for step in path) for path in true)
        found[name] = SampledLeakage(
            guarantee,
            against,
            tuple(tuple(step.leakage.over(guarantee) for step in path) for path in true),
            tuple(tuple(step.leakage.over(guarantee) for step in path) for path in nominal),
            max(step.belief for path in true for step in path),
            max(step.leakage.value for path in any_prior for step in path),
            proportion(over, runs),
        )
    return found


@dataclass(frozen=True)
class PathStep:
    """What the releases up to one step reveal an adversary: the leakage, and the largest belief."""

    leakage: Leakage
    belief: float

    def breaks(self, guarantee: Guarantee) -> bool:
        """Return whether a guarantee is broken here, by more than rounding."""
        return is_broken(guarantee, self.leakage.for_event, self.leakage.against_event, self.belief)


def stream_path(
    models: Sequence[MarkovModel],
    event: Guarded,
    likelihoods: Sequence[Floats | None],
    adversary: Adversary | None = None,
    family: Family = "joint",
) -> tuple[PathStep, ...]:
    """Return what is revealed after each step to an adversary of the models."""
    quantifier = Quantifier(models, event, adversary, family=family)
    path = []
    for likelihood in likelihoods:
        quantifier.observe(likelihood)
        path.append(PathStep(quantifier.leakage(), quantifier.belief()))
    return tuple(path)
