"""Where the user was: forward-backward smoothing of the location at each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from priste.arguments import check_int
from priste.errors import InvalidParameter
from priste.quantify.joint_probabilities import Floats
from priste.quantify.lifted import LiftedChain, Record
from priste.quantify.scaling import ScaledRows, to_shared_exponent


def location_posterior(
    chain: LiftedChain, first: Floats, records: Sequence[Record], step: int | None
) -> Floats:
    """Return Pr(cell at ``step`` | records), (cells,), or for all recorded steps when None.

    ``first`` is the distribution of the first cell. See ``Quantifier.location_posterior``.
    """
    if step is None:
        result = np.empty((len(records), chain.size))
        before = list(_filtered(chain, first, records, len(records) - 1))
        for here, later in _later(chain, records, 0) if records else ():
            result[here] = _normalised(chain, before[here], later, here)
        return result
    step = _checked_step(step, len(records))
    *_, at_step = _filtered(chain, first, records, step)
    *_, (_, later) = _later(chain, records, step)
    return _normalised(chain, at_step, later, step)


def _checked_step(step: object, following: int) -> int:
    return check_int(
        step,
        "step",
        "location_posterior",
        most=following,
        why="the observed steps and the next one",
    )


def _filtered(
    chain: LiftedChain, first: Floats, records: Sequence[Record], end: int
) -> Iterator[ScaledRows]:
    """Yield Pr(records up to here, state) for each step up to ``end``."""
    current = ScaledRows.of(first[None, :])
    for step in range(end + 1):
        if step > 0:
            current = chain.pushed(current, step)
        if step < len(records):
            current = _weighed(chain, current, records[step], step)
        yield current


def _later(
    chain: LiftedChain, records: Sequence[Record], end: int
) -> Iterator[tuple[int, ScaledRows]]:
    """Yield each recorded step (or the next) down to ``end`` with Pr(records after it | state)."""
    newest = max(len(records) - 1, end)
    current = ScaledRows.of(np.ones((1, chain.movement.states(newest))))
    yield newest, current
    for step in range(newest, end, -1):
        current = _weighed(chain, current, records[step], step)
        current = chain.pulled(current, step)
        yield step - 1, current


def _weighed(chain: LiftedChain, rows: ScaledRows, record: Record, step: int) -> ScaledRows:
    if record is None:
        return rows
    emission = chain.on_states(record.values, step)
    return rows.through(lambda values: values * emission)


def _normalised(chain: LiftedChain, before: ScaledRows, after: ScaledRows, step: int) -> Floats:
    mantissa, exponent = before.entries()
    later_mantissa, later_exponent = after.entries()
    values, _, _ = to_shared_exponent(mantissa * later_mantissa, exponent + later_exponent)
    if not values.any():
        raise InvalidParameter(
            "The releases are impossible under this prior, so the location has no posterior.",
            hint="Give a prior that allows a first cell from which they could come.",
        )
    by_cell = chain.on_cells(values[0], step)
    return np.asarray(by_cell / by_cell.sum())
