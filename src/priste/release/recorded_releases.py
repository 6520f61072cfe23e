"""Recorded releases taken into a state again: from a file, from a checkpoint, under other terms.

None of these functions knows where the user is, and none of them draws.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from priste.release.accountant import AccountantState, StateSnapshot
from priste.release.release_tables import Draw
from priste.release.stream_file.journal import Entry, Likelihoods, entry_from_json


def replayed(
    record: Mapping[str, Any], stored: Likelihoods, state: AccountantState
) -> tuple[Entry, AccountantState]:
    """Return the entry of a line, and the state after it, with the numbers measured then.

    ``stored`` holds the likelihoods of earlier lines. Raises KeyError, TypeError or ValueError if
    the line cannot be the next one of this stream.
    """
    entry = _next_entry(record, stored, state.step, state)
    release = entry.release
    after = state.replayed(recorded_draw(entry, stored, state), release.leakage, release.belief)
    return entry, after


def recalled(
    records: Sequence[Mapping[str, Any]],
    stored: Likelihoods,
    snapshot: StateSnapshot,
    state: AccountantState,
) -> tuple[list[Entry], AccountantState]:
    """Return the entries of ``records`` and the state of a snapshot after them, without replaying.

    The lines are checked as :func:`replayed` checks them, as far as nothing is computed anew.
    Raises KeyError, TypeError or ValueError if that is not enough, or the snapshot is of another
    stream.
    """
    entries: list[Entry] = []
    budget: float | None = None
    hints: tuple[int, ...] = ()
    for step, record in enumerate(records):
        entry = _next_entry(record, stored, step, state)
        if recorded_draw(entry, stored, state) is not None:
            budget, hints = entry.release.budget, entry.hints
        entries.append(entry)
    last = entries[-1].release
    after = state.restored(
        snapshot, leakage=last.leakage, belief=last.belief, last_budget=budget, hints=hints
    )
    return entries, after


def recounted(
    entries: Sequence[Entry], stored: Likelihoods, state: AccountantState
) -> tuple[list[Entry], AccountantState, tuple[str, ...]]:
    """Return releases made under other terms, measured anew, and the state after them.

    The names are those of the events whose guarantee these releases do not keep, or may not.
    """
    counted: list[Entry] = []
    broken: tuple[str, ...] = ()
    for entry in entries:
        drawn = recorded_draw(entry, stored, state)
        if drawn is not None and bool((drawn.likelihood != drawn.likelihood[0]).any()):
            broken = over_limit(state, drawn)
        state = state.after(drawn)
        release = dataclasses.replace(
            entry.release,
            leakage=state.leakage,
            belief=state.belief,
            against=state.terms.against,
        )
        counted.append(dataclasses.replace(entry, release=release))
    return counted, state, broken


def over_limit(state: AccountantState, drawn: Draw) -> tuple[str, ...]:
    """Return the names of the events whose guarantee a recorded draw would not keep; doubt counts.

    The verdict is that of the exact check. The reported leakage is an upper bound and may lie
    above a guarantee that is kept.
    """
    verdicts = state.verdicts(drawn.likelihood)
    return tuple(
        name for name, kept in zip(state.terms.event_names, verdicts, strict=True) if not kept
    )


def recorded_draw(entry: Entry, stored: Likelihoods, state: AccountantState) -> Draw | None:
    """Return what a recorded release adds to a state; None for silence.

    Raises ValueError if the mechanism could not have made it, or its likelihood is not stored.
    """
    release, mechanism = entry.release, state.terms.mechanism
    if release.cell is None or entry.digest is None:
        return None
    if not (release.cell < mechanism.outputs and 0.0 <= release.budget <= mechanism.budget):
        raise ValueError("the mechanism has no such output or budget")
    likelihood = stored.array(entry.digest)
    if len(likelihood) != mechanism.grid.size:
        raise ValueError("its likelihood is about another number of cells")
    return Draw(release.cell, release.budget, likelihood, hints=entry.hints)


def _next_entry(
    record: Mapping[str, Any], stored: Likelihoods, step: int, state: AccountantState
) -> Entry:
    """Return the entry of a line, which must be about a step and have a number per event."""
    entry = entry_from_json(record, stored, state.terms.against)
    release, events = entry.release, len(state.terms.events)
    if release.step != step:
        raise ValueError(f"step {release.step} comes where step {step} should")
    if len(release.leakage) != events or len(release.belief) != events:
        raise ValueError("it has another number of events")
    return entry
