"""Reading a trajectory: true cells in, and never out again in a message."""

from __future__ import annotations

from collections.abc import Sequence

from priste.arguments import is_int
from priste.errors import InvalidParameter


def trajectory_cells(trajectory: Sequence[int], last_step: int | None) -> list[int]:
    """Return the cells of a trajectory as plain integers, checked.

    ``last_step`` is the last step that is needed; ``None`` needs none.
    Raises :class:`InvalidParameter` for an entry that is not a cell number (whole,
    >= 0, not a bool) and for a trajectory that ends too early. True locations are
    secret: messages name positions in the trajectory and never the cells there.
    """
    try:
        entries = list(trajectory)
    except TypeError:
        raise InvalidParameter(
            "must be a sequence of cell numbers, one per step from step 0",
            parameter="trajectory",
            got=f"a value of type {type(trajectory).__name__}",
        ) from None
    cells = []
    for step, entry in enumerate(entries):
        if not is_int(entry):
            raise InvalidParameter(
                "must hold whole cell numbers",
                parameter="trajectory",
                got=f"type {type(entry).__name__} at step {step}",
            )
        if entry < 0:
            raise InvalidParameter(
                "must hold cell numbers >= 0 (cells count from 0)",
                parameter="trajectory",
                got=f"a negative number at step {step}",
            )
        cells.append(int(entry))
    if last_step is not None and len(cells) <= last_step:
        raise InvalidParameter(
            f"must have {last_step + 1} entries, as the event looks at step {last_step} (steps "
            "count from 0)",
            parameter="trajectory",
            got=f"{len(cells)}",
        )
    return cells
