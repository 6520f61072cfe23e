"""The contract of a calibrator, tested on small maps where every sequence can be enumerated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from priste.audit import true_leakage
from priste.events import presence
from priste.maps import Grid
from priste.mechanisms import Mechanism, PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import AnyPrior, KnownPrior
from priste.randomness import bit_source
from priste.release import Calibrator, CheckedTable, Protector
from priste.testing.required import require, require_distribution, require_draws, require_json

EPSILON = 0.5
STEPS = 2
TOLERANCE = 1e-6
"""How far the enumerated leakage may lie above ε: rounding of sums over all sequences."""

ROW_TOLERANCE = 1e-9


def check_calibrator(calibrator: Calibrator) -> None:
    """Raise NotConformant if a calibrator breaks a rule of its contract.

    ``propose`` is a function of the state only and leaves it as it was; draws follow the
    distribution that is stated; ``describe`` has values of JSON. One that is ``guaranteed``
    returns checked tables of the given state. Then all sequences of outputs of two steps are
    enumerated on two small maps, against any prior and a known one: what the procedure reveals to
    an adversary who knows it must stay within ε.

    >>> from priste.release import Certified
    >>> check_calibrator(Certified())
    """
    for name in ("guaranteed", "propose", "describe"):
        require(hasattr(calibrator, name), f"A calibrator must have {name!r}.")
    require(isinstance(calibrator.guaranteed, bool), "'guaranteed' must be True or False.")
    described = calibrator.describe()
    require_json(described, "describe() must hold values of JSON.")
    require(isinstance(described.get("kind"), str), "describe() must have a text under 'kind'.")
    for protector in _streams(calibrator):
        _check_step(calibrator, protector)
    if calibrator.guaranteed:
        for protector in _streams(calibrator):
            for name, found in true_leakage(protector, STEPS).items():
                require(
                    max(found.leakage) <= EPSILON + TOLERANCE,
                    f"A sequence of outputs reveals more about {name!r} than is guaranteed: "
                    f"{max(found.leakage):.4g} > {EPSILON:g}.",
                )


def _streams(calibrator: Calibrator) -> Iterator[Protector]:
    """Yield streams on small maps, against any prior and against a known one."""
    for rows, columns, sigma, alpha in ((1, 4, 0.7, 1.0), (2, 2, 1.0, 3.0)):
        grid = Grid(rows=rows, columns=columns, cell_size=1.0)
        model = MarkovModel.gaussian(grid, sigma=sigma)
        mechanism: Mechanism = PlanarLaplace(grid, alpha=alpha)
        for adversary in (AnyPrior(), KnownPrior(model.stationary())):
            yield Protector(
                model,
                presence([0], [1, 2]),
                mechanism,
                EPSILON,
                calibrator,
                rng=38,
                adversary=adversary,
            )


def _check_step(calibrator: Calibrator, protector: Protector) -> None:
    """Look at the rules of two steps, with a release and a silence in between."""
    for cell in (0, None, 1):
        state = protector.state
        rule, again = calibrator.propose(state), calibrator.propose(state)
        if calibrator.guaranteed:
            checked = isinstance(rule, CheckedTable) and rule.checked_by is state
            require(checked, "propose() of a guaranteed one must return state.check(...).checked.")
        stated, twice = rule.distribution(), again.distribution()
        same = np.array_equal(stated.joint, twice.joint) and stated.budgets == twice.budgets
        require(same, "propose() must be a function of the state: asked twice, it differs.")
        for row in stated.outputs():
            require_distribution(row, ROW_TOLERANCE, "Each row of a release table")
        for true_cell in (0, len(stated.outputs()) - 1):
            row = stated.outputs()[true_cell]
            require_draws(
                lambda bits, c=true_cell, rule=rule: rule.draw(c, bits).output,  # type: ignore[misc]
                row,
                "draw() of a rule",
            )
        drawn = rule.draw(0, bit_source(1))
        likelihood = stated.outputs()[:, drawn.output]
        if len(stated.budgets) == 1:
            same = np.allclose(drawn.likelihood, likelihood, rtol=1e-12, atol=0)
            require(same, "The likelihood of a draw must be the column of its table.")
        require(protector.state is state, "propose() must not change the state.")
        protector.release(cell)
