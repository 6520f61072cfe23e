"""All sequences of releases of a procedure, enumerated on a line of cells."""

from __future__ import annotations

from typing import Any

from paper.running.jobs import Result
from priste.audit import audit_procedure
from priste.events import presence
from priste.maps import Grid
from priste.mechanisms import PlanarLaplace
from priste.mobility import MarkovModel

CELLS = 6
REGION = (0, 1, 5)
STEPS_OF_EVENT = (2, 3)
SIGMA, ALPHA = 0.7, 1.0
CALIBRATORS = ("paper", "certified")


def perform(parameters: dict[str, Any]) -> Result:
    """Enumerate all sequences of releases on the line of cells at one ε."""
    grid = Grid(rows=1, columns=CELLS, cell_size=1.0)
    rows = audit_procedure(
        MarkovModel.gaussian(grid, SIGMA),
        {"event": presence(REGION, STEPS_OF_EVENT)},
        PlanarLaplace(grid, ALPHA),
        parameters["epsilon"],
        parameters["steps"],
        calibrators=CALIBRATORS,
    )
    return {
        "rows": [[row.calibrator, row.sees, row.true, row.exceeding, row.method] for row in rows]
    }
