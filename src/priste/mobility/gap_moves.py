"""Expected moves across gaps: what was probably done between two known cells some steps apart.

A gap is missing, not a stay. Given a model and the known cells at both ends of a gap, the expected
number of moves from each cell to each other follows exactly (forward and backward probabilities):
the E step of the EM algorithm. Fitting on those counts gives the M step. Gaps of more than
``LONGEST_GAP`` are left out. ``benchmarks/fitting --gaps`` compares this with other treatments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from priste.mobility.sequences import GAP
from priste.mobility.validation import FloatArray, IntArray

LONGEST_GAP = 4
"""Steps from one known cell to the next, at most.

``benchmarks/fitting --gaps`` favours 16, without a home; with a home known, 16 was worse than known
moves only and 4 was not (docs/evidence/models.md).
"""

ROUNDS = 2
"""Rounds of EM. At 4 steps, models of one, two and four rounds scored within 0.006 nats."""

_DIGITS = 6
"""Counts are rounded to so many digits: last bits of sums differ between processors."""

_BATCH = 256
"""Gaps that are followed at once."""


def expected_moves(
    sequences: Iterable[IntArray],
    phase_of_step: IntArray,
    matrices: Sequence[FloatArray],
    longest: int = LONGEST_GAP,
) -> FloatArray:
    """Return (phases, m, m): moves by the phase of the step they leave, known and expected ones.

    Sequences are checked, with ``GAP`` where a cell is missing, and begin at step 0 of the cycle of
    ``phase_of_step``. ``matrices`` has the transition of each phase; every pair of known cells must
    be possible under it. A move between consecutive known cells counts 1.

    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> expected_moves([np.array([0, GAP, 0])], np.array([0]), [swap])
    array([[[0., 1.],
            [1., 0.]]])
    """
    found = np.zeros((len(matrices), *matrices[0].shape))
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    for cells in sequences:
        known = np.flatnonzero(cells != GAP)
        steps = np.diff(known)
        for place in np.flatnonzero(steps <= longest).tolist():
            first = int(known[place])
            between = np.arange(first, first + int(steps[place])) % len(phase_of_step)
            ends = int(cells[first]), int(cells[known[place + 1]])
            groups[tuple(phase_of_step[between].tolist())].append(ends)
    for phases, pairs in groups.items():
        if len(phases) == 1:
            np.add.at(found[phases[0]], tuple(np.array(pairs).T), 1.0)
            continue
        for begin in range(0, len(pairs), _BATCH):
            sources, targets = np.array(pairs[begin : begin + _BATCH]).T
            _add_expected(found, sources, targets, phases, matrices)
    return found.round(_DIGITS)


def _add_expected(
    found: FloatArray,
    sources: IntArray,
    targets: IntArray,
    phases: tuple[int, ...],
    matrices: Sequence[FloatArray],
) -> None:
    """Add the expected moves of gaps with the same phases, given the cells at both ends."""
    size = len(matrices[0])
    rows = np.arange(len(sources))
    ahead = [np.zeros((len(sources), size))]
    ahead[0][rows, sources] = 1.0
    for phase in phases:
        ahead.append(ahead[-1] @ matrices[phase])
    back = np.zeros((len(targets), size))
    back[rows, targets] = 1.0 / ahead[-1][rows, targets]
    for step in range(len(phases) - 1, -1, -1):
        matrix = matrices[phases[step]]
        found[phases[step]] += (ahead[step].T @ back) * matrix
        back = back @ matrix.T
