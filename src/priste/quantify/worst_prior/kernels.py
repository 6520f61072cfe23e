"""The compiled search for the worst prior: is any prior above a ratio r, and which r is the last?

Everything here works on *prepared rows*, a (6, n) array with one column per row of
the Moments and these lines::

    B  upper bound of b     D  lower bound of d     A  lower bound of a     C  upper bound of ā
    E  exponent of B and D  I  the number of the row

so that the exact problem is never worse than the one solved. ``docs/soundness.md``
derives why the roundings made here are covered by MARGIN and by the factor that
``verdicts`` takes off r; each function below says which direction it errs in.

One module, because numba's cache of machine code watches a single file: a kernel that
calls another module would go on using its old code after that module changed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from priste.quantify.worst_prior.compilation import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Found = tuple[bool, float, int, int]

MARGIN = 2.0**-50
"""Bounds the relative error of any product of three numbers, and of their sums, 8 half-ulps."""

FLUSH = 2.0**-970
"""Within a row, entries this much below the larger one are rounded in the unsafe direction."""

SMALLEST_RATIO = 2.0**-50
LARGEST_RATIO = 2.0**900
"""The ratios r that can be tested; a supremum above the largest is reported as infinite."""

NARROW = 2.0**-200
NARROW_RATIO = 2.0**420
"""Rows within NARROW of each other need no exponents: slopes are plain doubles up to this r."""

RAISE_PRECISION = 2.0**-40
"""A pair's own supremum is bracketed to this relative width."""

NEVER = 1e300
TINIEST = 5e-324
B, D, A, C, E, INDEX = 0, 1, 2, 3, 4, 5


@compiled
def prepare_rows(
    b: Floats, d: Floats, a: Floats, c: Floats, exponent: Integers, absolute: float, rows: Floats
) -> bool:
    """Fill ``rows``; return whether they span so much that slopes need exponents.

    Each row's (b, d) and (a, ā) are brought to [1/2, 1) by powers of two, which changes
    no ratio because a prior's weights can absorb them.
    """
    n = b.shape[0]
    smallest = 1.0
    lowest = NEVER
    highest = -NEVER
    for i in range(n):
        bi = b[i]
        di = d[i]
        ai = a[i]
        ci = c[i]
        if absolute > 0.0:
            bi += absolute
            ci += absolute
            di = max(di - absolute, 0.0)
            ai = max(ai - absolute, 0.0)
        _, shift = math.frexp(max(bi, di))
        _, prior_shift = math.frexp(max(ai, ci))
        if -1000 < shift < 1000:
            scale = math.ldexp(1.0, -shift)
            bi *= scale
            di *= scale
        else:
            bi = math.ldexp(bi, -shift)
            di = math.ldexp(di, -shift)
        ai = math.ldexp(ai, -prior_shift)
        ci = math.ldexp(ci, -prior_shift)
        if di < FLUSH:
            di = 0.0
        if ai < FLUSH:
            ai = 0.0
        if 0.0 < bi < FLUSH:
            bi = FLUSH
        if 0.0 < ci < FLUSH:
            ci = FLUSH
        rows[B, i] = bi
        rows[D, i] = di
        rows[A, i] = ai
        rows[C, i] = ci
        rows[INDEX, i] = i
        if bi > 0.0:
            smallest = min(smallest, bi)
        if di > 0.0:
            smallest = min(smallest, di)
        if ai > 0.0:
            smallest = min(smallest, ai)
        if ci > 0.0:
            smallest = min(smallest, ci)
        if bi > 0.0 or di > 0.0:
            e = float(exponent[i]) + shift - prior_shift
            rows[E, i] = e
            lowest = min(lowest, e)
            highest = max(highest, e)
        else:
            rows[E, i] = NEVER
    if highest < lowest:  # every row is excluded
        rows[E, :] = 0.0
        return False
    wide = bool(smallest < NARROW or highest - lowest > 200.0)
    for i in range(n):
        if rows[E, i] == NEVER:  # an excluded row has no scale of its own
            rows[E, i] = highest
        if not wide:
            scale = math.ldexp(1.0, int(rows[E, i] - highest))
            rows[B, i] *= scale
            rows[D, i] *= scale
            rows[E, i] = 0.0
    return wide


@compiled
def row_exceeds(row: Floats, r: float) -> bool:
    """Whether F_ii > 0 cannot be ruled out."""
    return bool(row[B] * row[C] * (1.0 + MARGIN) > r * row[A] * row[D] * (1.0 - MARGIN))


@compiled
def scaled_up(x: float, shift: int) -> float:
    """x * 2**shift, never below the exact value however far it underflows."""
    y = math.ldexp(x, shift)
    if -1e-300 < y < 1e-300:
        return y + TINIEST if x > 0.0 else 0.0
    return y


@compiled
def pair_exceeds(p: Floats, q: Floats, r: float) -> bool:
    """Whether some mixture of two rows may have F > 0, each row alone having F <= 0.

    True whenever F_pq > 2 sqrt(F_pp F_qq) in exact arithmetic; true at most for pairs
    whose supremum is above r (1 - 100 MARGIN).
    """
    up = 1.0 + MARGIN
    down = 1.0 - MARGIN
    x = p[B] * q[C] * up - r * q[A] * p[D] * down
    y = q[B] * p[C] * up - r * p[A] * q[D] * down
    root = 2.0 * down
    apart = p[E] - q[E]
    if apart != 0.0:
        # Work in units of the geometric mean of the two scales.
        apart = min(max(apart, -8000.0), 8000.0)
        half = math.floor(apart / 2.0)
        if apart - 2.0 * half != 0.0:
            root *= 0.7071067811865475
        x = scaled_up(x, int(half))
        y = scaled_up(y, int(half - apart))
    cross = x + y
    if not cross > 0.0:
        return math.isnan(cross)  # inf - inf: in doubt
    own_p = r * p[A] * p[D] * down - p[B] * p[C] * up
    own_q = r * q[A] * q[D] * down - q[B] * q[C] * up
    if own_p <= 0.0 or own_q <= 0.0:
        return True
    return bool(cross > root * math.sqrt(own_p) * math.sqrt(own_q) * down)


@compiled
def pair_supremum(p: Floats, q: Floats, r: float) -> float:
    """The ratio at which a pair that exceeds r stops exceeding, from above; inf beyond the largest.

    The result is > r and no mixture of the pair is above it.
    """
    low = r
    high = LARGEST_RATIO
    if pair_exceeds(p, q, high):
        return math.inf
    # Doubling first: most pairs are found close to where they stop.
    step = RAISE_PRECISION
    while low * (1.0 + step) < high:
        middle = low * (1.0 + step)
        if pair_exceeds(p, q, middle):
            low = middle
            step *= 16.0
        else:
            high = middle
            break
    while high > low * (1.0 + RAISE_PRECISION):
        middle = math.sqrt(low) * math.sqrt(high)
        if middle > 0.999 * high:
            middle = low + 0.5 * (high - low)
        if pair_exceeds(p, q, middle):
            low = middle
        else:
            high = middle
    return high


@compiled
def greater(mantissa: float, exponent: float, other_mantissa: float, other_exponent: float) -> bool:
    """Compare two slopes given as mantissa in [1/2, 1) (or plain, exponent 0) and exponent."""
    if exponent == other_exponent:
        return mantissa > other_mantissa
    return exponent > other_exponent


@compiled
def slope(x: float, y: float, e: float) -> tuple[float, float]:
    """x / y * 2**e for x >= 0, y > 0 as mantissa and exponent, with one rounding."""
    if x == 0.0:
        return 0.0, -NEVER
    x_mantissa, x_shift = math.frexp(x)
    y_mantissa, y_shift = math.frexp(y)
    quotient, shift = math.frexp(x_mantissa / y_mantissa)
    return quotient, e + float(x_shift - y_shift + shift)


@compiled
def top_slope(rows: Floats, count: int, u: float, r: float, wide: bool) -> tuple[float, float]:
    """The largest (b - u d) / (r a - u ā) over the first ``count`` rows with b > u d."""
    bs = rows[B, :count]
    ds = rows[D, :count]
    As = rows[A, :count]
    cs = rows[C, :count]
    if wide:
        es = rows[E, :count]
        mantissa, exponent = 0.0, -NEVER
        for i in range(count):
            x = bs[i] - u * ds[i]
            if x > 0.0:
                y = r * As[i] - u * cs[i]
                if y <= 0.0:
                    return 1.0, NEVER
                m, k = slope(x, y, es[i])
                if greater(m, k, mantissa, exponent):
                    mantissa, exponent = m, k
        return mantissa, exponent
    best = 0.0
    for i in range(count):
        x = bs[i] - u * ds[i]
        y = r * As[i] - u * cs[i]
        if x > best * y:
            best = x / y if y > 0.0 else (math.inf if x > 0.0 else best)
    return best, 0.0


@compiled
def bottom_slope(rows: Floats, count: int, u: float, r: float, wide: bool) -> tuple[float, float]:
    """The smallest (u d - b) / (u ā - r a) over the first ``count`` rows with u ā > r a."""
    bs = rows[B, :count]
    ds = rows[D, :count]
    As = rows[A, :count]
    cs = rows[C, :count]
    if wide:
        es = rows[E, :count]
        mantissa, exponent = 1.0, NEVER
        for i in range(count):
            y = u * cs[i] - r * As[i]
            if y > 0.0:
                x = u * ds[i] - bs[i]
                if x <= 0.0:
                    return 0.0, -NEVER
                m, k = slope(x, y, es[i])
                if greater(mantissa, exponent, m, k):
                    mantissa, exponent = m, k
        return mantissa, exponent
    best = math.inf
    for i in range(count):
        x = u * ds[i] - bs[i]
        y = u * cs[i] - r * As[i]
        if y > 0.0 and x < best * y:
            best = x / y if x > 0.0 else 0.0
    return best, 0.0


@compiled
def exchange(rows: Floats, i: int, j: int) -> None:
    """Swap two prepared rows in place."""
    for line in range(6):
        kept = rows[line, i]
        rows[line, i] = rows[line, j]
        rows[line, j] = kept


@compiled
def keep_above(
    rows: Floats, count: int, u: float, r: float, wide: bool, mantissa: float, exponent: float
) -> int:
    """Move the rows whose top slope at u is above the given one to the front; count them."""
    kept = 0
    for i in range(count):
        x = rows[B, i] - u * rows[D, i]
        if x <= 0.0:
            continue
        y = r * rows[A, i] - u * rows[C, i]
        if y > 0.0:
            if wide:
                m, k = slope(x, y, rows[E, i])
                if not greater(m, k, mantissa, exponent):
                    continue
            elif not x / y > mantissa:
                continue
        exchange(rows, i, kept)
        kept += 1
    return kept


@compiled
def keep_below(
    rows: Floats, count: int, u: float, r: float, wide: bool, mantissa: float, exponent: float
) -> int:
    """Move the rows whose bottom slope at u is below the given one to the front; count them."""
    kept = 0
    for i in range(count):
        y = u * rows[C, i] - r * rows[A, i]
        if y <= 0.0:
            continue
        x = u * rows[D, i] - rows[B, i]
        if x > 0.0:
            if wide:
                m, k = slope(x, y, rows[E, i])
                if not greater(mantissa, exponent, m, k):
                    continue
            elif not x / y < mantissa:
                continue
        exchange(rows, i, kept)
        kept += 1
    return kept


@compiled
def row_at(
    rows: Floats,
    count: int,
    u: float,
    r: float,
    wide: bool,
    mantissa: float,
    exponent: float,
    top: bool,
) -> int:
    """The position of a row that has the given top (or bottom) slope at u."""
    for i in range(count):
        x = rows[B, i] - u * rows[D, i]
        y = r * rows[A, i] - u * rows[C, i]
        if top:
            if x <= 0.0:
                continue
            if y <= 0.0:
                return i
        else:
            if y >= 0.0:
                continue
            if x >= 0.0:
                return i
            x = -x
            y = -y
        if wide:
            m, k = slope(x, y, rows[E, i])
            if m == mantissa and k == exponent:
                return i
        elif x / y == mantissa:
            return i
    return 0


@compiled
def any_pair(rows: Floats, r: float, raising: bool) -> Found:
    """Test every pair: (whether one exceeds r or the ratio was raised, ratio, row, row).

    Without ``raising`` the first pair in doubt ends the test. With it, r is raised to
    the supremum of each pair that exceeds it, so the result bounds all pairs.
    """
    n = rows.shape[1]
    exceeded = False
    one = -1
    other = -1
    for i in range(n):
        p = rows[:, i]
        for j in range(i + 1, n):
            q = rows[:, j]
            if pair_exceeds(p, q, r):
                exceeded = True
                one = i
                other = j
                if not raising:
                    return exceeded, r, one, other
                r = pair_supremum(p, q, r)
                if r == math.inf:
                    return exceeded, r, one, other
    return exceeded, r, one, other


@compiled
def any_row(rows: Floats, r: float, raising: bool) -> Found:
    """Test every row alone, as :func:`any_pair` does for pairs."""
    one = -1
    for i in range(rows.shape[1]):
        p = rows[:, i]
        if row_exceeds(p, r):
            one = i
            if not raising:
                return True, r, one, one
            own = p[A] * p[D]
            r = p[B] * p[C] / own * (1.0 + 8.0 * MARGIN) if own > 0.0 else math.inf
            if r > LARGEST_RATIO:
                return True, math.inf, one, one
    return one >= 0, r, one, one


@compiled
def raised(p: Floats, q: Floats, r: float) -> float:
    """A ratio above r that the pair does not exceed; rounding may have made it seem to exceed r."""
    if pair_exceeds(p, q, r):
        return pair_supremum(p, q, r)
    return r * (1.0 + RAISE_PRECISION)


@compiled
def search(
    rows: Floats, r: float, raising: bool, wide: bool, tops: Floats, bottoms: Floats
) -> Found:
    """Test all priors by levels u of w·b / w·d; the answer has the form of :func:`any_pair`.

    ``tops`` and ``bottoms`` are scratch space, (6, n) each. No row alone may exceed r.
    A level u is exceeded iff the steepest row with b > u d ("top") is steeper than the
    flattest row with u ā > r a ("bottom"); both slopes fall with u, so an interval of
    levels is safe when the top slope at its lower end is not above the bottom slope at
    its upper end. Intervals that are not safe are halved after dropping the rows that
    cannot matter in them, and end with the pairs of the few rows left.
    """
    n = rows.shape[1]
    one = -1
    other = -1

    # Rows that no level separates are compared once: where the event is impossible
    # (a = 0, slope d / ā at every level) and where it alone explains the releases (d = 0).
    while True:
        top, top_e = top_slope(rows, n, 0.0, r, wide)
        bottom, bottom_e = 1.0 if wide else math.inf, NEVER if wide else 0.0
        certain, certain_e = 0.0, -NEVER if wide else 0.0
        impossible, impossible_e = bottom, bottom_e
        top_at = -1
        bottom_at = -1
        certain_at = -1
        impossible_at = -1
        for i in range(n):
            if rows[C, i] > 0.0:
                if wide:
                    m, k = slope(rows[D, i], rows[C, i], rows[E, i])
                else:
                    m, k = rows[D, i] / rows[C, i], 0.0
                if bottom_at < 0 or greater(bottom, bottom_e, m, k):
                    bottom, bottom_e = m, k
                    bottom_at = i
                if rows[A, i] == 0.0 and (
                    impossible_at < 0 or greater(impossible, impossible_e, m, k)
                ):
                    impossible, impossible_e = m, k
                    impossible_at = i
            if rows[B, i] > 0.0 and rows[D, i] == 0.0:
                if wide:
                    m, k = slope(rows[B, i], r * rows[A, i], rows[E, i])
                else:
                    m, k = rows[B, i] / (r * rows[A, i]), 0.0
                if certain_at < 0 or greater(m, k, certain, certain_e):
                    certain, certain_e = m, k
                    certain_at = i
        if bottom_at < 0 or not greater(top, top_e, bottom, bottom_e):
            return one >= 0, r, one, other
        if impossible_at >= 0 and greater(top, top_e, impossible, impossible_e):
            top_at = row_at(rows, n, 0.0, r, wide, top, top_e, True)
            bottom_at = impossible_at
        elif certain_at >= 0 and greater(certain, certain_e, bottom, bottom_e):
            top_at = certain_at
        else:
            break
        one = top_at
        other = bottom_at
        if not raising:
            return True, r, one, other
        r = raised(rows[:, one], rows[:, other], r)
        if r == math.inf:
            return True, r, one, other

    top_count = 0
    bottom_count = 0
    highest = 0.0
    lowest = math.inf
    for i in range(n):
        if rows[B, i] > 0.0 and rows[D, i] > 0.0:
            tops[:, top_count] = rows[:, i]
            top_count += 1
            highest = max(highest, rows[B, i] / rows[D, i])
        if rows[C, i] > 0.0 and rows[A, i] > 0.0:
            bottoms[:, bottom_count] = rows[:, i]
            bottom_count += 1
            lowest = min(lowest, r * rows[A, i] / rows[C, i])
    if lowest >= highest:
        return one >= 0, r, one, other

    lows = np.empty(256)
    highs = np.empty(256)
    top_counts = np.empty(256, np.int64)
    bottom_counts = np.empty(256, np.int64)
    lows[0] = lowest
    highs[0] = highest
    top_counts[0] = top_count
    bottom_counts[0] = bottom_count
    waiting = 1
    while waiting > 0:
        waiting -= 1
        low = lows[waiting]
        high = highs[waiting]
        top_count = top_counts[waiting]
        bottom_count = bottom_counts[waiting]
        top, top_e = top_slope(tops, top_count, low, r, wide)
        bottom, bottom_e = bottom_slope(bottoms, bottom_count, high, r, wide)
        if not greater(top, top_e, bottom, bottom_e):
            continue
        top_count = keep_above(tops, top_count, low, r, wide, bottom, bottom_e)
        bottom_count = keep_below(bottoms, bottom_count, high, r, wide, top, top_e)
        few = top_count * bottom_count <= 8 * (top_count + bottom_count)
        if few or waiting > 250 or high <= low * (1.0 + RAISE_PRECISION):
            for i in range(top_count):
                p = tops[:, i]
                for j in range(bottom_count):
                    q = bottoms[:, j]
                    if pair_exceeds(p, q, r):
                        one = int(p[INDEX])
                        other = int(q[INDEX])
                        if not raising:
                            return True, r, one, other
                        r = pair_supremum(p, q, r)
                        if r == math.inf:
                            return True, r, one, other
            continue
        middle = math.sqrt(low) * math.sqrt(high)
        while True:
            middle_top, middle_top_e = top_slope(tops, top_count, middle, r, wide)
            middle_bottom, middle_bottom_e = bottom_slope(bottoms, bottom_count, middle, r, wide)
            if not greater(middle_top, middle_top_e, middle_bottom, middle_bottom_e):
                break
            i = row_at(tops, top_count, middle, r, wide, middle_top, middle_top_e, True)
            j = row_at(
                bottoms, bottom_count, middle, r, wide, middle_bottom, middle_bottom_e, False
            )
            one = int(tops[INDEX, i])
            other = int(bottoms[INDEX, j])
            if not raising:
                return True, r, one, other
            r = raised(tops[:, i], bottoms[:, j], r)
            if r == math.inf:
                return True, r, one, other
        if greater(middle_top, middle_top_e, bottom, bottom_e):
            lows[waiting] = middle
            highs[waiting] = high
            top_counts[waiting] = top_count
            bottom_counts[waiting] = bottom_count
            waiting += 1
        if greater(top, top_e, middle_bottom, middle_bottom_e):
            lows[waiting] = low
            highs[waiting] = middle
            top_counts[waiting] = top_count
            bottom_counts[waiting] = bottom_count
            waiting += 1
    return one >= 0, r, one, other


@compiled
def column_verdicts(
    events: Floats,
    complements: Floats,
    a: Floats,
    c: Floats,
    exponent: Integers,
    absolute: float,
    r: float,
    pairs_only: bool,
    passed: Flags,
) -> None:
    """For each line of ``events`` and ``complements``: are all priors surely within r?"""
    n = a.shape[0]
    rows = np.empty((6, n))
    tops = np.empty((6, n))
    bottoms = np.empty((6, n))
    for column in range(events.shape[0]):
        passed[column] = True
        for reverse in range(2):
            if reverse == 0:
                wide = prepare_rows(
                    events[column], complements[column], a, c, exponent, absolute, rows
                )
            else:
                wide = prepare_rows(
                    complements[column], events[column], c, a, exponent, absolute, rows
                )
            level = r if wide else min(r, NARROW_RATIO)
            exceeded, _, _, _ = any_row(rows, level, False)
            if not exceeded:
                if pairs_only:
                    exceeded, _, _, _ = any_pair(rows, level, False)
                else:
                    exceeded, _, _, _ = search(rows, level, False, wide, tops, bottoms)
            if exceeded:
                passed[column] = False
                break


@compiled
def column_suprema(
    b: Floats,
    d: Floats,
    a: Floats,
    c: Floats,
    exponent: Integers,
    absolute: float,
    pairs_only: bool,
    ratios: Floats,
    first: Integers,
    second: Integers,
) -> None:
    """For each line of ``b`` and ``d``: an upper bound of sup R in one direction, and its rows.

    ``ratios`` gets the bounds, at least SMALLEST_RATIO; ``first`` and ``second`` the one or
    two rows that reach it (equal for one, -1 if nothing exceeds SMALLEST_RATIO).
    """
    n = a.shape[0]
    rows = np.empty((6, n))
    tops = np.empty((6, n))
    bottoms = np.empty((6, n))
    for column in range(b.shape[0]):
        wide = prepare_rows(b[column], d[column], a, c, exponent, absolute, rows)
        exceeded, r, one, other = any_row(rows, SMALLEST_RATIO, True)
        if r < math.inf:
            if pairs_only:
                exceeded, r, i, j = any_pair(rows, r, True)
            else:
                exceeded, r, i, j = search(rows, r, True, wide, tops, bottoms)
            if exceeded:
                one = i
                other = j
        ratios[column] = r
        first[column] = one
        second[column] = other
