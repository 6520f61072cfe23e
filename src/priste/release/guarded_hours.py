"""Guarded hours: steps at which the release does not depend on where the user is.

For an event with a pad, the guarded hours are the steps at which its formula distinguishes cells,
and ``pad`` steps before and after each of them. There the best public guess is released, whatever
the user does: an uninformative release (Theorem 3 of docs/explanation/proofs.md). So two
trajectories that differ only in guarded hours give releases of one and the same distribution, for
every mobility model and every prior (Theorem 9). What the hours around them reveal through
correlation is left to the check of the release tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from priste.arguments import check_int
from priste.errors import InvalidParameter
from priste.events import Guarded

Pads = int | Mapping[str, int | None] | None
"""How many steps before and after an event are guarded hours too; None for no guarded hours."""

MOST_PAD = 1_000_000
"""A longer pad is taken for a wrong unit."""


def event_steps(event: Guarded) -> tuple[int, ...]:
    """Return the steps at which the event distinguishes cells.

    >>> from priste.events import at
    >>> event_steps(at([0], 2) | at([1], 5))
    (2, 5)
    """
    return tuple(layer.step for layer in event.automaton().layers if layer.classes)


def guarded_hours_of(event: Guarded, pad: int) -> frozenset[int]:
    """Return the steps of an event and those up to ``pad`` before or after one of them.

    >>> from priste.events import at
    >>> sorted(guarded_hours_of(at([0], 1) | at([1], 5), 1))
    [0, 1, 2, 4, 5, 6]
    """
    return frozenset(
        step
        for middle in event_steps(event)
        for step in range(max(0, middle - pad), middle + pad + 1)
    )


def fitting_pads(
    events: Sequence[Guarded], pads: Sequence[int | None], steps: int
) -> tuple[int | None, ...]:
    """Return the pads with which at most half of a stream of ``steps`` steps is guarded hours.

    Where all events together would take more than half, those that take most have none; events
    of one length keep theirs or lose them together. A function of its arguments only.

    >>> from priste.events import presence
    >>> fitting_pads([presence([0], [8, 9]), presence([0], range(20))], [1, 1], 24)
    (1, None)
    """
    hours = [
        frozenset() if pad is None else guarded_hours_of(event, pad)
        for event, pad in zip(events, pads, strict=True)
    ]
    kept = list(pads)
    while 2 * len(frozenset[int]().union(*hours) & frozenset(range(steps))) > steps:
        longest = max(len(each) for each in hours)
        for place, each in enumerate(hours):
            if len(each) == longest:
                hours[place], kept[place] = frozenset(), None
    return tuple(kept)


def checked_pads(pads: Pads, names: Iterable[str]) -> tuple[int | None, ...]:
    """Return one pad per event from what a Protector is given."""
    known = tuple(names)
    if isinstance(pads, Mapping):
        if not set(pads) <= set(known):
            raise InvalidParameter(
                f"must name events, {sorted(known)}",
                parameter="guarded_hours",
                owner="a Protector",
                value=tuple(sorted(pads)),
                hint="Give the pad of an event by its name.",
            )
        found = [pads.get(name) for name in known]
    else:
        found = [pads] * len(known)
    return tuple(
        None
        if pad is None
        else check_int(
            pad,
            "guarded_hours",
            "a Protector",
            least=0,
            most=MOST_PAD,
            hint="It is the pad around an event, in steps; None is no guarded hours.",
        )
        for pad in found
    )


def stretches(steps: Iterable[int]) -> list[range]:
    """Return steps as ranges without a gap, in order.

    >>> stretches([1, 2, 3, 7])
    [range(1, 4), range(7, 8)]
    """
    listed = np.array(sorted(steps), dtype=np.int64)
    if not listed.size:
        return []
    parts = np.split(listed, np.flatnonzero(np.diff(listed) > 1) + 1)
    return [range(int(part[0]), int(part[-1]) + 1) for part in parts]
