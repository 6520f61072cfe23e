"""Planar Laplace integrals over rectangles with mpmath, in polar coordinates: slow, another way."""

from __future__ import annotations

import itertools

import mpmath as mp

DIGITS = 24


def rectangle_mass(alpha, x_range, y_range):
    """Return the mass of noise of rate alpha around 0 in a rectangle; bounds may be infinite.

    Along a ray the mass between radii r1 and r2 is g(r1) - g(r2) with g(r) = (1 + alpha r)
    exp(-alpha r); what is left is one integral over the angle, cut at the corners.
    """
    with mp.workdps(DIGITS):
        alpha = mp.mpf(alpha)
        x_range = [mp.mpf(v) for v in x_range]
        y_range = [mp.mpf(v) for v in y_range]
        nearest = mp.hypot(_nearest(x_range), _nearest(y_range))
        angles = {-mp.pi, mp.pi, mp.mpf(0), mp.pi / 2, -mp.pi / 2}
        for x in x_range:
            for y in y_range:
                if mp.isinf(x) and mp.isinf(y):
                    continue
                angles.add(mp.atan2(_finite(y, y_range, x), _finite(x, x_range, y)))
        cuts = sorted(angles)

        def along(angle):
            cos, sin = mp.cos(angle), mp.sin(angle)
            low, high = mp.mpf(0), mp.inf
            for (lower, upper), slope in ((x_range, cos), (y_range, sin)):
                if slope == 0:
                    if not lower <= 0 <= upper:
                        return mp.mpf(0)
                    continue
                ends = sorted([lower / slope, upper / slope])
                low, high = max(low, ends[0]), min(high, ends[1])
            if low >= high:
                return mp.mpf(0)
            # Scaled by the largest value, so that the quadrature's tolerance is relative.
            beyond = mp.mpf(0)
            if not mp.isinf(high):
                beyond = (1 + alpha * high) * mp.exp(-alpha * (high - nearest))
            return (1 + alpha * low) * mp.exp(-alpha * (low - nearest)) - beyond

        total = mp.mpf(0)
        for start, end in itertools.pairwise(cuts):
            if end - start > mp.mpf(10) ** (-DIGITS // 2):
                # The integrand may change within a tiny angle of a cut: tanh-sinh is made for it.
                total += mp.quad(along, [start, (start + end) / 2, end], method="tanh-sinh")
        return total * mp.exp(-alpha * nearest) / (2 * mp.pi)


def _nearest(bounds):
    return mp.mpf(0) if bounds[0] <= 0 <= bounds[1] else min(abs(bounds[0]), abs(bounds[1]))


def _finite(value, bounds, other):
    """Replace an infinite coordinate of a corner by its direction; the other then counts as 0."""
    if mp.isinf(value):
        return mp.sign(value)
    return mp.mpf(0) if mp.isinf(other) else value


def cell_distribution(rows, columns, cell_size, alpha, true_cell, target):
    """Return Pr(released = target | true cell) of the planar Laplace mechanism, by definition."""
    row, column = divmod(true_cell, columns)
    target_row, target_column = divmod(target, columns)
    return rectangle_mass(
        alpha,
        _bounds(target_column, column, columns, cell_size),
        _bounds(target_row, row, rows, cell_size),
    )


def _bounds(target, true, count, cell_size):
    size = mp.mpf(cell_size)
    low = (target - true - mp.mpf(1) / 2) * size if target > 0 else -mp.inf
    high = (target - true + mp.mpf(1) / 2) * size if target < count - 1 else mp.inf
    return low, high
