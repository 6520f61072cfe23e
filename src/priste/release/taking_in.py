"""How a release is taken into the public state: as it is drawn, from a file, or counted anew.

Each way returns the entry that is kept of it. None of them knows where the user is.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.float_text import floats_to_text
from priste.mechanisms import Mechanism
from priste.release.calibrator import Draw
from priste.release.ledger import Release
from priste.release.public_state import PublicState, StateSnapshot
from priste.release.stream_file.entry import Entry, column_digest, entry_from_json, pack_column

Floats = NDArray[np.float64]

ANOTHER_MACHINE = 2.0**-33
"""How far, relatively, a column of a mechanism may be from the one another machine computed.

Differences of 2.2e-16 were seen between processors; this is half a million times that.
"""


def taken_in(drawn: Draw | None, packed: dict[str, bytes], state: PublicState) -> Entry:
    """Take a draw, None for silence, into the state.

    ``packed`` holds the columns of mechanisms so far, by digest, so that equal ones are kept once.
    """
    step = state.step
    if drawn is None:
        state.advance(None)
        silence = Release(step, None, 0.0, state.leakage, 0, belief=state.belief)
        return Entry(dataclasses.replace(silence, against=_against(state)))
    if drawn.likelihood is None:
        column = state.column(drawn.output, drawn.budget)
        likelihood = None
    else:
        column = np.array(drawn.likelihood, dtype=np.float64)
        likelihood = floats_to_text(column)
    digest = column_digest(column)
    if likelihood is None and digest not in packed:
        packed[digest] = pack_column(column)
    hints = tuple(int(hint) for hint in drawn.hints)
    state.advance(column, drawn.budget, hints=hints)
    release = Release(
        step=step,
        cell=int(drawn.output),
        budget=float(drawn.budget),
        leakage=state.leakage,
        attempts=int(drawn.attempts),
        undecided=int(drawn.undecided),
        belief=state.belief,
        against=_against(state),
    )
    return Entry(release, digest, likelihood, hints, None if likelihood else packed[digest])


def replayed(record: Mapping[str, Any], packed: dict[str, bytes], state: PublicState) -> Entry:
    """Take a line of a file into the state, with the numbers that were measured when it was made.

    ``packed`` holds the columns of lines before it, by digest. Raises KeyError, TypeError or
    ValueError if the line cannot be the next one of this stream.
    """
    entry = _next_entry(record, packed, state.step, len(state.terms.events))
    release = entry.release
    column, error = recorded_column(entry, state)
    state.advance(
        column,
        release.budget,
        hints=entry.hints,
        leakage=release.leakage,
        belief=release.belief or None,
        column_error=error,
    )
    belief = state.belief if entry.older else release.belief
    said = dataclasses.replace(release, belief=belief, against=_against(state))
    return dataclasses.replace(entry, release=said)


def recalled(
    records: Sequence[Mapping[str, Any]],
    packed: dict[str, bytes],
    snapshot: StateSnapshot,
    state: PublicState,
) -> list[Entry]:
    """Bring the state to a snapshot after ``records``, without replaying them.

    The lines are checked as :func:`replayed` checks them, as far as nothing is computed anew.
    Raises KeyError, TypeError or ValueError if that is not enough, or the snapshot is of
    another stream; then the state is as before.
    """
    entries: list[Entry] = []
    budget: float | None = None
    hints: tuple[int, ...] = ()
    for step, record in enumerate(records):
        entry = _next_entry(record, packed, step, len(state.terms.events))
        if entry.older:
            raise ValueError("the file is from before beliefs were written")
        if entry.release.cell is not None:
            stored_column(entry, state.terms.mechanism)  # one that is not stored is not needed
            budget, hints = entry.release.budget, entry.hints
        said = dataclasses.replace(entry.release, against=_against(state))
        entries.append(dataclasses.replace(entry, release=said))
    last = entries[-1].release
    state.restore(
        snapshot, leakage=last.leakage, belief=last.belief, last_budget=budget, hints=hints
    )
    return entries


def _next_entry(
    record: Mapping[str, Any], packed: dict[str, bytes], step: int, events: int
) -> Entry:
    """Return the entry of a line, which must be about a step and have a number per event."""
    entry = entry_from_json(record, packed)
    release = entry.release
    if release.step != step:
        raise ValueError(f"step {release.step} comes where step {step} should")
    if len(release.leakage) != events:
        raise ValueError(f"it has {len(release.leakage)} leakages")
    if len(release.belief) != (0 if entry.older else events):
        raise ValueError(f"it has {len(release.belief)} beliefs")
    return entry


def recounted(entry: Entry, state: PublicState) -> Entry:
    """Take a release that was made under other terms into the state, and measure it anew."""
    column, error = recorded_column(entry, state)
    state.advance(column, entry.release.budget, hints=entry.hints, column_error=error)
    counted = dataclasses.replace(entry.release, leakage=state.leakage, belief=state.belief)
    counted = dataclasses.replace(counted, against=_against(state))
    return dataclasses.replace(entry, release=counted, older=False)


def _against(state: PublicState) -> str:
    return sys.intern(state.terms.adversary.words())  # one text for all releases


def recorded_column(entry: Entry, state: PublicState) -> tuple[Floats | None, float]:
    """Return the column of a recorded release, and how far it may be from the one drawn from.

    ``state`` is that before the release. Files of the first versions do not hold the columns of
    mechanisms. They are computed anew; where the digest tells that another machine had other last
    bits, that is counted.
    """
    mechanism, release = state.terms.mechanism, entry.release
    if release.cell is None:
        return None, 0.0
    column = stored_column(entry, mechanism)
    if column is not None:
        return column, 0.0
    column = state.column(release.cell, release.budget)
    if column_digest(column) == entry.column:
        return column, 0.0
    if mechanism.uses_belief:
        raise ValueError(
            f"step {release.step} was released with other probabilities than this installation "
            "computes"
        )
    return column, ANOTHER_MACHINE


def stored_column(entry: Entry, mechanism: Mechanism) -> Floats | None:
    """Return the column that is stored with a release, None if none is; ValueError if it is not it.

    The release must be one that the mechanism could have made.
    """
    release = entry.release
    if release.cell is None or (entry.packed is None and entry.likelihood is None):
        return None
    if not (release.cell < mechanism.outputs and 0.0 <= release.budget <= mechanism.budget):
        raise ValueError("the mechanism has no such output or budget")
    column = entry.stored_column(mechanism.grid.size)
    if column is None or column_digest(column) != entry.column:
        raise ValueError(
            f"step {release.step} was released with other probabilities than are stored beside it"
        )
    return column
