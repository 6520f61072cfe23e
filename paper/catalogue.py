"""All experiments, by name and in the paper's order.

Another package adds one with an entry point of the group ``priste.experiments`` that names an
:class:`~paper.experiments.experiment.Experiment`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paper.experiments import (
    budget_per_step,
    clock_sweep,
    runtime,
    solver_limits,
    true_leakage_table,
    unstated_settings,
    utility_against_epsilon,
)
from paper.experiments.experiment import Experiment
from priste.errors import InvalidParameter
from priste.registered import Registered

_OF_THE_PAPER = (
    *budget_per_step.EXPERIMENTS,
    *utility_against_epsilon.EXPERIMENTS,
    runtime.EXPERIMENT,
    solver_limits.EXPERIMENT,
    true_leakage_table.EXPERIMENT,
    unstated_settings.EXPERIMENT,
    clock_sweep.EXPERIMENT,
)

CATALOGUE: Mapping[str, Experiment] = Registered(
    "priste.experiments", Experiment, {each.name: each for each in _OF_THE_PAPER}
)

ALL = "all"


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments of these names in the paper's order; "all" means every one."""
    unknown = sorted(set(names) - set(CATALOGUE) - {ALL})
    if unknown or not names:
        got = f"Got {unknown[0]!r}." if unknown else "None was named."
        raise InvalidParameter(
            f"An experiment must be one of those that `python -m paper --list` shows, or {ALL!r}. "
            f"{got}"
        )
    if ALL in names:
        return list(CATALOGUE.values())
    return [experiment for name, experiment in CATALOGUE.items() if name in names]
