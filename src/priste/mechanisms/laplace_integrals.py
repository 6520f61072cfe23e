"""Integrals of the planar Laplace density over the cells of a grid, good far into the tails.

The density is ``exp(-r) / (2 pi)`` at distance r from the true position, all lengths times alpha.
A cell of the map stands for a rectangle around it: its own square, and for cells of the border
everything off the map whose nearest point lies in them (half-infinite strips, quadrants at the
corners). What matters about a rectangle is only how many cells it is away, per axis.

Every number is a sum of positive terms (Gauss-Legendre nodes and weights, never a difference), so
the *relative* error is small however small the number is: below ``RELATIVE_ERROR`` for every
integral down to exp(-``DEEPEST_EXPONENT``). Rectangles farther than that count as 0 here; the
mechanism puts its floor under them.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from priste.mechanisms.mechanism import two_sum

RELATIVE_ERROR = 1e-12
"""Every integral of at least exp(-DEEPEST_EXPONENT) is this accurate, relative to itself."""

DEEPEST_EXPONENT = 420.0
"""Rectangles whose nearest point is farther than this (times 1/alpha) are given 0."""

_NODES = 16
# Over 8 units of length exp(-x) keeps 16 nodes within 1e-25; see also _panel_edges.
_FIRST_PANEL = 8.0
# exp(-50) of a tail is 2e-22 of it, times a polynomial that stays below 1e4.
_FORGOTTEN_EXPONENT = 50.0
_BLOCK_ENTRIES = 2**19

MOST_TABLES = 64
"""How many alphas of one family are kept: a search for a budget returns to few."""

MOST_TABLE_BYTES = 2**26
"""How much memory the kept tables of one family may take, 64 MiB; two are always kept."""


class LaplaceTable:
    """The probability of every rectangle that a rows x columns grid needs, at one alpha.

    ``probability[i, j]`` belongs to ``row_slots`` and ``column_slots``: along one axis of n cells,
    slot k < n is the cell k away, slot n + k the border cell k away with everything beyond it,
    slot 2 n the whole axis (for n = 1). ``row_slots[r, r']`` is the slot of target row r' seen
    from true row r. Every entry is rounded once from a sum in twice the working precision, and
    the entries that a true cell sees sum to 1 within 2**-52.
    """

    def __init__(self, rows: int, columns: int, cell_alpha: float) -> None:
        self.row_slots = _slots(rows)
        self.column_slots = _slots(columns)
        high = _quadrant_masses(rows, columns, cell_alpha)
        low = np.zeros_like(high)
        high, low = _with_borders(high, low)
        high, low = (part.T for part in _with_borders(high.T, low.T))
        whole_high, whole_low = high[-1, -1], low[-1, -1]
        # The integrals add to 1 up to their error; dividing by their sum adds to 1 exactly.
        quotient = high / whole_high
        correction = (
            low - quotient * whole_low + _remainder(high, quotient, whole_high)
        ) / whole_high
        self.probability: NDArray[np.float64] = quotient + correction
        for array in (self.row_slots, self.column_slots, self.probability):
            array.flags.writeable = False


class LaplaceTables:
    """The tables of one grid at several alphas; the mechanisms of one family share them.

    The last that were asked for are kept, up to ``MOST_TABLES`` and ``MOST_TABLE_BYTES``. Safe
    across threads. A copy in another process begins without tables.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._rows, self._columns = rows, columns
        self._room = min(MOST_TABLES, MOST_TABLE_BYTES // (8 * (2 * rows + 1) * (2 * columns + 1)))
        self._turn = threading.Lock()
        self._kept: OrderedDict[float, LaplaceTable] = OrderedDict()

    def __reduce__(self) -> tuple[type[LaplaceTables], tuple[int, int]]:
        return LaplaceTables, (self._rows, self._columns)

    def at(self, cell_alpha: float) -> LaplaceTable:
        """Return the table for cells of side ``cell_alpha`` (alpha times the side)."""
        with self._turn:
            table = self._kept.get(cell_alpha)
            if table is None:
                table = self._kept[cell_alpha] = LaplaceTable(self._rows, self._columns, cell_alpha)
                if len(self._kept) > max(2, self._room):
                    self._kept.popitem(last=False)
            self._kept.move_to_end(cell_alpha)
            return table


def _slots(count: int) -> NDArray[np.intp]:
    away = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    if count == 1:
        return np.full((1, 1), 2, dtype=np.intp)
    away[:, 0] += count
    away[:, -1] += count
    return away


def _with_borders(
    high: NDArray[np.float64], low: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Turn masses at 0, 1, ..., n-1, beyond (axis 0) into slots: cells, half axes, the whole axis.

    Sums run from the far end, all terms positive, in pairs of floats (high + low).
    """
    count = high.shape[0] - 1
    half_high, half_low = np.empty_like(high), np.empty_like(low)
    half_high[count], half_low[count] = high[count], low[count]
    for k in range(count - 1, -1, -1):
        half_high[k], half_low[k] = _add(half_high[k + 1], half_low[k + 1], high[k], low[k])
    whole = _add(half_high[0], half_low[0], half_high[1], half_low[1])
    return (
        np.concatenate([high[:count], half_high[:count], whole[0][None]]),
        np.concatenate([low[:count], half_low[:count], whole[1][None]]),
    )


def _add(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    more_high: NDArray[np.float64],
    more_low: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    total, lost = two_sum(high, more_high)
    return two_sum(total, lost + low + more_low)


def _remainder(
    dividend: NDArray[np.float64], quotient: NDArray[np.float64], divisor: np.float64
) -> NDArray[np.float64]:
    """Return dividend - quotient * divisor, exact to twice the working precision."""
    factor = 2.0**27 + 1.0  # Dekker's split: halves of 26 bits multiply without rounding
    product = quotient * divisor
    scaled = quotient * factor
    top = scaled - (scaled - quotient)
    rest = quotient - top
    divisor_top = factor * divisor - (factor * divisor - divisor)
    divisor_rest = divisor - divisor_top
    lost = (
        ((top * divisor_top - product) + top * divisor_rest) + rest * divisor_top
    ) + rest * divisor_rest
    result: NDArray[np.float64] = (dividend - product) - lost
    return result


def _quadrant_masses(rows: int, columns: int, cell_alpha: float) -> NDArray[np.float64]:
    """Return the masses of the rectangles (k away or beyond) x (k away or beyond), seen from 0.

    Entry [i, j] for i < rows and j < columns is the mass of one cell; the last row and column hold
    what lies beyond on one side. Row and column 0 stand for the whole middle cell, both halves.
    """
    row_nodes = _AxisNodes(rows, cell_alpha, across=(columns - 0.5) * cell_alpha)
    column_nodes = (
        row_nodes
        if rows == columns
        else _AxisNodes(columns, cell_alpha, across=(rows - 0.5) * cell_alpha)
    )
    by_column = np.empty((row_nodes.positions.size, column_nodes.slots.size))
    squares = column_nodes.positions**2
    step = max(1, _BLOCK_ENTRIES // squares.size)
    for start in range(0, row_nodes.positions.size, step):
        part = slice(start, start + step)
        density = np.exp(-np.sqrt(row_nodes.positions[part, None] ** 2 + squares))
        density *= column_nodes.weights
        by_column[part] = np.add.reduceat(density, column_nodes.starts, axis=1)
    by_column *= row_nodes.weights[:, None]
    masses = np.zeros((rows + 1, columns + 1))
    masses[np.ix_(row_nodes.slots, column_nodes.slots)] = np.add.reduceat(
        by_column, row_nodes.starts, axis=0
    )
    masses /= 2.0 * math.pi
    masses[0, 0] = _middle_mass(cell_alpha)
    return masses


class _AxisNodes:
    """Nodes and weights along one axis, slot after slot: cell 0 (doubled), cells 1 .. n-1, beyond.

    ``starts[k]`` is the first node of ``slots[k]``; slots too far away have no nodes.
    ``across`` is how far the other axis reaches before its own "beyond" begins.
    """

    def __init__(self, count: int, cell_alpha: float, across: float) -> None:
        edges = [_panel_edges(0.0, 0.5 * cell_alpha, _FIRST_PANEL)]
        doubled = [2.0]
        for k in range(1, count):
            lower = (k - 0.5) * cell_alpha
            if lower > DEEPEST_EXPONENT:
                break
            edges.append(_panel_edges(lower, (k + 0.5) * cell_alpha, _FIRST_PANEL))
            doubled.append(1.0)
        slots = list(range(len(edges)))
        beyond = (count - 0.5) * cell_alpha
        if beyond <= DEEPEST_EXPONENT:
            # Where sqrt(x^2 + across^2) has grown by the exponent that may be forgotten; from
            # nearer or farther across it has grown by more.
            reach = math.sqrt(
                beyond**2
                + _FORGOTTEN_EXPONENT**2
                + 2.0 * _FORGOTTEN_EXPONENT * math.hypot(beyond, min(across, DEEPEST_EXPONENT))
            )
            # The density has a kink at distance 0, so panels start no longer than the distance to
            # it; below 1e-18 it is flat in floating point.
            edges.append(_panel_edges(beyond, reach, min(_FIRST_PANEL, max(beyond, 1e-18))))
            doubled.append(1.0)
            slots.append(count)
        nodes, weights = _unit_nodes()
        panels = [len(each) - 1 for each in edges]
        lower_ends = np.concatenate([each[:-1] for each in edges])
        lengths = np.concatenate([each[1:] for each in edges]) - lower_ends
        masses = np.repeat(doubled, panels) * lengths
        self.positions: NDArray[np.float64] = (
            lower_ends[:, None] + lengths[:, None] * nodes
        ).ravel()
        self.weights: NDArray[np.float64] = (masses[:, None] * weights).ravel()
        self.slots = np.array(slots, dtype=np.intp)
        self.starts = np.concatenate([[0], np.cumsum(panels)[:-1] * len(nodes)]).astype(np.intp)


def _panel_edges(lower: float, upper: float, first: float) -> NDArray[np.float64]:
    """Cut [lower, upper] into panels of lengths first, first, 2 first, 4 first, ...

    The integrand falls at most like exp(-x): where a panel is too long for its nodes, what it adds
    is too small to matter. Beyond the deepest exponent nothing matters.
    """
    upper = min(upper, lower + 2.0 * DEEPEST_EXPONENT)
    edges = [lower]
    length = first
    while edges[-1] + 1.25 * length < upper:
        edges.append(lower + length)
        length = 2.0 * (edges[-1] - lower)
    edges.append(upper)
    return np.array(edges)


def _middle_mass(cell_alpha: float) -> float:
    """Return the mass of the square around the true position: eight triangles, corner at 0."""
    nodes, weights = _unit_nodes()
    edges = _panel_edges(0.0, 0.5 * cell_alpha, _FIRST_PANEL)
    lengths = np.diff(edges)
    along = (edges[:-1, None] + lengths[:, None] * nodes).ravel()
    along_weights = (lengths[:, None] * weights).ravel()
    density = along[:, None] * np.exp(-along[:, None] * np.sqrt(1.0 + nodes**2))
    return float(along_weights @ density @ weights) * 4.0 / math.pi


@lru_cache(maxsize=1)
def _unit_nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the nodes and weights of Gauss and Legendre on [0, 1]; read-only."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
