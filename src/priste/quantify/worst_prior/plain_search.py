"""The search of :mod:`kernels` without a compiler, to the bit.

The functions there are run as Python, and here are those that go through all rows, in numpy or
over lists. Each makes the very roundings and comparisons of its namesake in the same order, so
that both searches return the same numbers, whatever they are given. This one takes some twenty
times as long and needs no seconds of compiling before its first answer.
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.quantify.worst_prior import kernels
from priste.quantify.worst_prior.kernels import (
    FLUSH,
    INDEX,
    MARGIN,
    NARROW_JOINT,
    NARROW_PRIOR,
    NEVER,
    PRIOR_A,
    PRIOR_C,
    PRIOR_SHIFT,
    TINIEST,
    A,
    B,
    C,
    D,
    E,
    Flags,
    Floats,
    Found,
    Integers,
)

UP = 1.0 + MARGIN
DOWN = 1.0 - MARGIN


def column_search(*arguments: Any) -> None:
    """Do what ``kernels.column_search`` does, given the same arguments."""
    with np.errstate(all="ignore"):
        _PLAIN["column_search"](*arguments)


def narrow_priors(a: Floats, c: Floats, absolute: float) -> bool:
    prior = np.stack([np.maximum(a - absolute, 0.0), c + absolute])
    return bool(prior.min(where=prior > 0.0, initial=1.0) >= NARROW_PRIOR)


def prepare_narrow(
    b: Floats, d: Floats, a: Floats, c: Floats, scale: Floats, absolute: float, rows: Floats
) -> bool:
    raised = b + absolute
    rows[B] = raised * scale
    rows[D] = np.maximum(d - absolute, 0.0) * scale
    rows[A] = np.maximum(a - absolute, 0.0)
    rows[C] = c + absolute
    rows[E] = 0.0
    rows[INDEX] = np.arange(len(b))
    joint = min(
        rows[B].min(where=raised > 0.0, initial=1.0),
        rows[D].min(where=d > absolute, initial=1.0),
    )
    largest = rows[: C + 1].max(initial=0.0)
    return bool(joint >= NARROW_JOINT and largest <= 2.0)


def prepare_priors(a: Floats, c: Floats, absolute: float, priors: Floats) -> None:
    prior = np.stack([np.maximum(a - absolute, 0.0), c + absolute])
    shift = np.frexp(prior.max(axis=0))[1]
    possible, impossible = np.ldexp(prior, -shift)
    priors[PRIOR_A] = np.where(possible >= FLUSH, possible, 0.0)
    priors[PRIOR_C] = np.where(prior[1] > 0.0, np.maximum(impossible, FLUSH), 0.0)
    priors[PRIOR_SHIFT] = shift


def prepare_wide(
    b: Floats, d: Floats, priors: Floats, exponent: Integers, absolute: float, rows: Floats
) -> None:
    joint = np.stack([b + absolute, np.maximum(d - absolute, 0.0)])
    shift = np.frexp(joint.max(axis=0))[1]
    event, complement = np.ldexp(joint, -shift)
    rows[B] = np.where(joint[0] > 0.0, np.maximum(event, FLUSH), 0.0)
    rows[D] = np.where(complement >= FLUSH, complement, 0.0)
    rows[A], rows[C] = priors[PRIOR_A], priors[PRIOR_C]
    rows[INDEX] = np.arange(len(b))
    alive = (event > 0.0) | (complement > 0.0)
    rows[E] = exponent.astype(np.float64) + shift - priors[PRIOR_SHIFT]
    rows[E, ~alive] = rows[E, alive].max() if alive.any() else 0.0


def scaled_up(x: float, shift: int) -> float:
    return float(_scaled_up(np.array(x), np.array(shift)))


def _scaled_up(x: Floats, shift: NDArray[np.float64 | np.int64]) -> Floats:
    y = np.ldexp(x, shift.astype(np.int32))
    tiny = (y > -1e-300) & (y < 1e-300)
    return np.where(tiny, np.where(x > 0.0, y + TINIEST, 0.0), y)


def _pairs_exceed(ps: Floats, qs: Floats, r: float) -> Flags:
    """Return ``pair_exceeds`` of every row of ``ps`` with every row of ``qs``."""
    p, q = ps[:, :, None], qs[:, None, :]
    x = p[B] * q[C] * UP - r * q[A] * p[D] * DOWN
    y = q[B] * p[C] * UP - r * p[A] * q[D] * DOWN
    apart = np.clip(p[E] - q[E], -8000.0, 8000.0)
    root = np.full(x.shape, 2.0 * DOWN)
    if apart.any():
        half = np.floor(apart / 2.0)
        root[apart - 2.0 * half != 0.0] *= 0.7071067811865475
        together = apart == 0.0
        x = np.where(together, x, _scaled_up(x, half))
        y = np.where(together, y, _scaled_up(y, half - apart))
    cross = x + y
    own_p = (r * ps[A] * ps[D] * DOWN - ps[B] * ps[C] * UP)[:, None]
    own_q = (r * qs[A] * qs[D] * DOWN - qs[B] * qs[C] * UP)[None, :]
    within = cross <= root * np.sqrt(own_p) * np.sqrt(own_q) * DOWN
    return np.asarray(~(cross <= 0.0) & ((own_p <= 0.0) | (own_q <= 0.0) | ~within))


def any_pair(
    ps: Floats, p_count: int, qs: Floats, q_count: int, same: bool, r: float, raising: bool
) -> Found:
    tops, bottoms = ps[:, :p_count], qs[:, :q_count]
    one, other = -1, -1
    left = np.triu(np.ones((p_count, q_count), dtype=np.bool_), 1 if same else -p_count)
    while True:
        found = (left & _pairs_exceed(tops, bottoms, r)).reshape(-1)
        if not found.any():
            return one >= 0, r, one, other
        i, j = divmod(int(found.argmax()), q_count)
        one, other = int(ps[INDEX, i]), int(qs[INDEX, j])
        if not raising:
            return True, r, one, other
        r = _PLAIN["pair_supremum"](ps, i, qs, j, r)
        if r == math.inf:
            return True, r, one, other
        left.reshape(-1)[: i * q_count + j + 1] = False


def any_row(rows: Floats, r: float, raising: bool) -> Found:
    above, below = rows[B] * rows[C] * UP, r * rows[A] * rows[D] * DOWN
    exceeds = above > below
    if not exceeds.any():
        return False, r, -1, -1
    if not raising:
        one = int(exceeds.argmax())
        return True, r, one, one
    one = -1
    own = (rows[A] * rows[D]).tolist()
    plain, As, ds, product = above.tolist(), rows[A].tolist(), rows[D].tolist(), rows[B] * rows[C]
    # r only grows, so that no other row can come to exceed it
    for i in np.flatnonzero(exceeds).tolist():
        if plain[i] > r * As[i] * ds[i] * DOWN:
            one = i
            r = float(product[i]) / own[i] * (1.0 + 8.0 * MARGIN) if own[i] > 0.0 else math.inf
            if r > kernels.LARGEST_RATIO:
                return True, math.inf, one, one
    return one >= 0, r, one, one


def _slopes(x: Floats, y: Floats, e: Floats, wide: bool) -> tuple[Floats, Floats]:
    """Return ``slope`` of each of many; anything where y <= 0."""
    if not wide:
        return x / y, np.zeros(len(x))
    x_mantissa, x_shift = np.frexp(x)
    y_mantissa, y_shift = np.frexp(y)
    quotient, shift = np.frexp(x_mantissa / y_mantissa)
    none = x == 0.0
    return np.where(none, 0.0, quotient), np.where(none, -NEVER, e + (x_shift - y_shift + shift))


def top_slope(rows: Floats, count: int, u: float, r: float, wide: bool) -> tuple[float, float]:
    x = rows[B, :count] - u * rows[D, :count]
    y = r * rows[A, :count] - u * rows[C, :count]
    # The other rows are steps of the loop that change nothing.
    tops = np.flatnonzero(x > 0.0)
    x, y = x[tops], y[tops]
    if wide:
        if not len(tops):
            return 0.0, -NEVER
        if y.min() <= 0.0:
            return 1.0, NEVER
        mantissas, exponents = _slopes(x, y, rows[E, tops], True)
        exponent = float(exponents.max())
        return float(mantissas[exponents == exponent].max()), exponent
    best = 0.0
    for top, right in zip(x.tolist(), y.tolist(), strict=True):
        if top > best * right:
            best = top / right if right > 0.0 else math.inf
    return best, 0.0


def bottom_slope(rows: Floats, count: int, u: float, r: float, wide: bool) -> tuple[float, float]:
    x = u * rows[D, :count] - rows[B, :count]
    y = u * rows[C, :count] - r * rows[A, :count]
    bottoms = np.flatnonzero(y > 0.0)
    x, y = x[bottoms], y[bottoms]
    if wide:
        if not len(bottoms):
            return 1.0, NEVER
        if x.min() <= 0.0:
            return 0.0, -NEVER
        mantissas, exponents = _slopes(x, y, rows[E, bottoms], True)
        exponent = float(exponents.min())
        return float(mantissas[exponents == exponent].min()), exponent
    best = math.inf
    for bottom, right in zip(x.tolist(), y.tolist(), strict=True):
        if bottom < best * right:
            best = bottom / right if bottom > 0.0 else 0.0
    return best, 0.0


def copy_rows(rows: Floats, copy: Floats) -> None:
    copy[:] = rows


def _to_the_front(rows: Floats, kept: Integers) -> int:
    """Exchange the kept rows, in order, with those at the front."""
    order = list(range(rows.shape[1]))
    for place, row in enumerate(kept.tolist()):
        order[place], order[row] = order[row], order[place]
    rows[:] = rows[:, order]
    return len(kept)


def _above(m: Floats, k: Floats, mantissa: float, exponent: float) -> Flags:
    """Return ``greater`` of many slopes with one."""
    return np.asarray(np.where(k == exponent, m > mantissa, k > exponent))


def _below(m: Floats, k: Floats, mantissa: float, exponent: float) -> Flags:
    """Return ``greater`` of one slope with many."""
    return np.asarray(np.where(k == exponent, mantissa > m, exponent > k))


def keep_above(
    rows: Floats, count: int, u: float, r: float, wide: bool, mantissa: float, exponent: float
) -> int:
    x = rows[B, :count] - u * rows[D, :count]
    y = r * rows[A, :count] - u * rows[C, :count]
    m, k = _slopes(x, y, rows[E, :count], wide)
    stays = (x > 0.0) & (~(y > 0.0) | _above(m, k, mantissa, exponent))
    return _to_the_front(rows, np.flatnonzero(stays))


def keep_below(
    rows: Floats, count: int, u: float, r: float, wide: bool, mantissa: float, exponent: float
) -> int:
    x = u * rows[D, :count] - rows[B, :count]
    y = u * rows[C, :count] - r * rows[A, :count]
    m, k = _slopes(x, y, rows[E, :count], wide)
    stays = ~(y <= 0.0) & (~(x > 0.0) | _below(m, k, mantissa, exponent))
    return _to_the_front(rows, np.flatnonzero(stays))


def row_at(rows: Floats, count: int, u: float, r: float, wide: bool, *slope: float) -> int:
    mantissa, exponent, sign = slope
    x = sign * (rows[B, :count] - u * rows[D, :count])
    y = sign * (r * rows[A, :count] - u * rows[C, :count])
    m, k = _slopes(x, y, rows[E, :count], wide)
    both = (x > 0.0) & (y > 0.0)
    there = np.where(both, (m == mantissa) & (k == exponent), x > 0.0 if sign > 0.0 else y > 0.0)
    return int(there.argmax()) if there.any() else 0


def _clearly_safe(rows: Floats, r: float) -> bool:
    """Tell whether no top is above any bottom; the loop below picks one of these quotients each."""
    tops = (rows[B] / (r * rows[A])).max(where=rows[B] > 0.0, initial=0.0)
    return bool(tops <= (rows[D] / rows[C]).min(where=rows[C] > 0.0, initial=math.inf))


def beyond_levels(rows: Floats, r: float, wide: bool) -> tuple[bool, int, int]:
    if not wide and _clearly_safe(rows, r):
        return True, -1, -1
    greater, slope = _PLAIN["greater"], _PLAIN["slope"]
    n = rows.shape[1]
    nothing = NEVER if wide else 0.0
    top, top_e = top_slope(rows, n, 0.0, r, wide)
    bottom, bottom_e, bottom_at = math.inf, nothing, -1
    impossible, impossible_e, impossible_at = math.inf, nothing, -1
    certain, certain_e, certain_at = 0.0, -nothing, -1
    for i, (b, d, a, c, e) in enumerate(zip(*rows[: E + 1].tolist(), strict=True)):
        if c > 0.0:
            if not wide and d >= bottom * c and a > 0.0:
                continue
            m, k = slope(d, c, e, wide)
            if bottom_at < 0 or greater(bottom, bottom_e, m, k):
                bottom, bottom_e, bottom_at = m, k, i
            if a == 0.0 and (impossible_at < 0 or greater(impossible, impossible_e, m, k)):
                impossible, impossible_e, impossible_at = m, k, i
        elif b > 0.0 and d == 0.0:
            m, k = slope(b, r * a, e, wide)
            if certain_at < 0 or greater(m, k, certain, certain_e):
                certain, certain_e, certain_at = m, k, i
    if bottom_at < 0 or not greater(top, top_e, bottom, bottom_e):
        return True, -1, -1
    if impossible_at >= 0 and greater(top, top_e, impossible, impossible_e):
        return False, row_at(rows, n, 0.0, r, wide, top, top_e, 1.0), impossible_at
    if certain_at >= 0 and greater(certain, certain_e, bottom, bottom_e):
        return False, certain_at, bottom_at
    return False, -1, -1


def level_range(rows: Floats, r: float) -> tuple[float, float]:
    low, high = math.inf, 0.0
    weighed = (r * rows[A]).tolist()
    for b, d, a, c, ra in zip(*rows[: C + 1].tolist(), weighed, strict=True):
        if b > high * d and d > 0.0:
            high = b / d
        if ra < low * c and a > 0.0:
            low = ra / c
    return low * DOWN, high * UP


_PLAIN: dict[str, Any] = dict(vars(kernels))
"""Where the functions of the kernels find each other when they run as Python."""

for _name, _function in list(_PLAIN.items()):
    if hasattr(_function, "kernel"):
        _code = getattr(_function, "py_func", _function).__code__
        _PLAIN[_name] = globals().get(_name) or FunctionType(_code, _PLAIN, _name)
_PLAIN["column_search"] = FunctionType(
    getattr(kernels.column_search, "py_func", kernels.column_search).__code__, _PLAIN
)
