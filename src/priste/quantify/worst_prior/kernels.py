"""The compiled search for the worst prior: is any prior above a ratio r, and what is the largest?

Everything here works on *prepared rows*, a (6, n) array with one column per row of
the JointProbabilities and these lines::

    B  upper bound of b     D  lower bound of d     A  lower bound of a     C  upper bound of ā
    E  exponent of B and D  I  the number of the row

so that the exact problem is never worse than the one solved. MARGIN, and the factor that
``verdicts`` takes off r, cover the roundings made here (``docs/explanation/soundness-pairs.md``).
Each function below says in which direction it errs.

One module, because numba's cache of machine code watches a single file: a kernel that
calls another module would go on using its old code after that module changed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from priste.quantify.worst_prior.compilation import compile_kernels, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Found = tuple[bool, float, int, int]

MARGIN = 2.0**-50
"""Bounds the relative error of a product of four factors and of what is added to it: 8 u."""

FLUSH = 2.0**-970
"""Within a row, entries this much below the larger one are rounded in the unsafe direction."""

SMALLEST_RATIO = 2.0**-50
LARGEST_RATIO = 2.0**900
"""The ratios r that can be tested; a supremum above the largest is reported as infinite."""

NARROW_JOINT = 2.0**-300
NARROW_PRIOR = 2.0**-220
NARROW_RATIO = 2.0**530
"""When no positive b, d and no positive a, ā is below these, no product or quotient of the
search underflows up to this r, and slopes are plain doubles. No supremum is above it then."""

LARGEST_NARROW = 2.0
"""Scaled by the largest exponent, nothing is above this unless likelihoods are densities."""

RAISE_PRECISION = 2.0**-40
"""A pair's own supremum is bracketed to this relative width."""

FEW_PAIRS = 4
"""Pairs per remaining row at which testing them is cheaper than another level."""

WAITING = 256
"""How many intervals of levels may wait: one for each halving of the range, which is far less."""

ORDINARY = 2.0**-1000, 2.0**1000
"""Quotients between these have all their digits, and so have their mantissas."""

NEVER = 1e300
TINIEST = 5e-324
B, D, A, C, E, INDEX = 0, 1, 2, 3, 4, 5
LOW, HIGH, TOPS, BOTTOMS = 0, 1, 2, 3
PRIOR_A, PRIOR_C, PRIOR_SHIFT = 0, 1, 2

POWERS = np.ldexp(1.0, np.arange(1001))
"""2**0 to 2**1000."""


@kernel("i8(f8)", inner=True)
def binary(x: float) -> int:
    """Return the bits of the exponent of x >= 0, in [2**(k-1023), 2**(k-1022)); 0 below 2**-1022.

    Taken from the float itself, as ``frexp`` is a call.
    """
    return int(np.float64(x).view(np.int64) >> 52)


@kernel("f8(i8)", inner=True)
def power_of_two(shift: int) -> float:
    """Return 2**shift for a shift from -1022 to 1023."""
    return float(np.int64((shift + 1023) << 52).view(np.float64))


@kernel("b1(f8[::1], f8[::1], f8)", inner=True)
def narrow_priors(a: Floats, c: Floats, absolute: float) -> bool:
    """Return whether a and ā, which all columns share, are in the narrow range."""
    least = 1.0
    for i in range(a.shape[0]):
        ai = max(a[i] - absolute, 0.0)
        ci = c[i] + absolute
        if ai > 0.0 and ai < least:
            least = ai
        if ci > 0.0 and ci < least:
            least = ci
    return least >= NARROW_PRIOR


@kernel("b1(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8, f8[:, ::1])", inner=True)
def prepare_narrow(
    b: Floats, d: Floats, a: Floats, c: Floats, scale: Floats, absolute: float, rows: Floats
) -> bool:
    """Fill ``rows`` with plain numbers; return whether all of them are in the narrow range.

    Those of a and ā are known to be. ``scale`` holds 2**exponent relative to the largest exponent
    (0 where that underflows).
    """
    n = b.shape[0]
    least_joint = 1.0
    largest = 0.0
    for i in range(n):
        bi = (b[i] + absolute) * scale[i]
        di = max(d[i] - absolute, 0.0) * scale[i]
        ai = max(a[i] - absolute, 0.0)
        ci = c[i] + absolute
        rows[B, i] = bi
        rows[D, i] = di
        rows[A, i] = ai
        rows[C, i] = ci
        rows[E, i] = 0.0
        rows[INDEX, i] = i
        if b[i] + absolute > 0.0 and bi < least_joint:
            least_joint = bi
        if d[i] > absolute and di < least_joint:
            least_joint = di
        largest = max(largest, max(max(bi, di), max(ai, ci)))
    return least_joint >= NARROW_JOINT and largest <= LARGEST_NARROW


@kernel("void(f8[::1], f8[::1], f8, f8[:, ::1])", inner=True)
def prepare_priors(a: Floats, c: Floats, absolute: float, priors: Floats) -> None:
    """Fill ``priors`` (3, n) with what :func:`prepare_wide` needs of a and ā, for all columns.

    Its lines are a and ā, brought to [1/2, 1) by one power of two per row, and its exponent.
    """
    for i in range(a.shape[0]):
        ci = c[i] + absolute
        ai = max(a[i] - absolute, 0.0)
        _, shift = math.frexp(max(ai, ci))
        ai = math.ldexp(ai, -shift)
        ci = math.ldexp(ci, -shift)
        priors[PRIOR_A, i] = ai if ai >= FLUSH else 0.0
        priors[PRIOR_C, i] = max(ci, FLUSH) if c[i] + absolute > 0.0 else 0.0
        priors[PRIOR_SHIFT, i] = shift


@kernel("void(f8[::1], f8[::1], f8[:, ::1], i8[::1], f8, f8[:, ::1])", inner=True)
def prepare_wide(
    b: Floats, d: Floats, priors: Floats, exponent: Integers, absolute: float, rows: Floats
) -> None:
    """Fill ``rows`` with numbers of any size.

    Each row's (b, d) and (a, ā) are brought to [1/2, 1) by powers of two, which changes
    no ratio because a prior's weights can absorb them. Then in b ā and a d of two rows an
    underflow is always beside a product that dwarfs it.
    """
    highest = -NEVER
    for i in range(b.shape[0]):
        bi = b[i] + absolute
        di = max(d[i] - absolute, 0.0)
        shift = binary(max(bi, di)) - 1022
        if shift == -1022:  # 0, or too small for its bits to say
            _, shift = math.frexp(max(bi, di))
        if -1000 <= shift <= 0:
            power = POWERS[-shift]  # an exact product, as ldexp, and quicker
            bi *= power
            di *= power
        else:
            bi = math.ldexp(bi, -shift)
            di = math.ldexp(di, -shift)
        rows[B, i] = max(bi, FLUSH) if b[i] + absolute > 0.0 else 0.0
        rows[D, i] = di if di >= FLUSH else 0.0
        rows[A, i] = priors[PRIOR_A, i]
        rows[C, i] = priors[PRIOR_C, i]
        rows[INDEX, i] = i
        rows[E, i] = NEVER
        if bi > 0.0 or di > 0.0:
            rows[E, i] = float(exponent[i]) + shift - priors[PRIOR_SHIFT, i]
            highest = max(highest, rows[E, i])
    for i in range(b.shape[0]):
        if rows[E, i] == NEVER:  # an excluded row has no scale of its own
            rows[E, i] = highest if highest > -NEVER else 0.0


@kernel("f8(f8, i8)", inner=True)
def scaled_up(x: float, shift: int) -> float:
    """Return x * 2**shift, never below the exact value however far it underflows."""
    y = math.ldexp(x, shift)
    if -1e-300 < y < 1e-300:
        return y + TINIEST if x > 0.0 else 0.0
    return y


@kernel("b1(f8[:, ::1], i8, f8[:, ::1], i8, f8)", inner=True)
def pair_exceeds(ps: Floats, p: int, qs: Floats, q: int, r: float) -> bool:
    """Return whether some mixture of two rows may have F > 0, each row alone having F <= 0.

    True whenever F_pq > 2 sqrt(F_pp F_qq) in exact arithmetic; true at most for pairs
    whose supremum is above r (1 - 100 MARGIN).
    """
    up = 1.0 + MARGIN
    down = 1.0 - MARGIN
    x = ps[B, p] * qs[C, q] * up - r * qs[A, q] * ps[D, p] * down
    y = qs[B, q] * ps[C, p] * up - r * ps[A, p] * qs[D, q] * down
    root = 2.0 * down
    apart = ps[E, p] - qs[E, q]
    if apart != 0.0:
        # Work in units of the geometric mean of the two scales.
        apart = min(max(apart, -8000.0), 8000.0)
        half = math.floor(apart / 2.0)
        if apart - 2.0 * half != 0.0:
            root *= 0.7071067811865475
        x = scaled_up(x, int(half))
        y = scaled_up(y, int(half - apart))
    cross = x + y
    if cross <= 0.0:
        return False
    own_p = r * ps[A, p] * ps[D, p] * down - ps[B, p] * ps[C, p] * up
    own_q = r * qs[A, q] * qs[D, q] * down - qs[B, q] * qs[C, q] * up
    if own_p <= 0.0 or own_q <= 0.0:
        return True
    return not cross <= root * math.sqrt(own_p) * math.sqrt(own_q) * down


@kernel("f8(f8[:, ::1], i8, f8[:, ::1], i8, f8)", inner=True)
def pair_supremum(ps: Floats, p: int, qs: Floats, q: int, r: float) -> float:
    """Return a ratio above r, close to the pair's supremum, that the pair does not exceed.

    ``inf`` when it exceeds the largest ratio. A pair that does not exceed r, though other roundings
    made it seem so, raises r by the least step.
    """
    low = r
    high = LARGEST_RATIO
    if pair_exceeds(ps, p, qs, q, high):
        return math.inf
    # Growing steps first: most pairs stop exceeding close to where they were found.
    step = RAISE_PRECISION
    while low * (1.0 + step) < high:
        middle = low * (1.0 + step)
        if not pair_exceeds(ps, p, qs, q, middle):
            high = middle
            break
        low = middle
        step *= 32.0
    while high > low * (1.0 + RAISE_PRECISION):
        middle = math.sqrt(low) * math.sqrt(high) if high > 1.5 * low else 0.5 * (low + high)
        if pair_exceeds(ps, p, qs, q, middle):
            low = middle
        else:
            high = middle
    return high


@kernel("Tuple((b1, f8, i8, i8))(f8[:, ::1], i8, f8[:, ::1], i8, b1, f8, b1)", inner=True)
def any_pair(
    ps: Floats, p_count: int, qs: Floats, q_count: int, same: bool, r: float, raising: bool
) -> Found:
    """Test pairs of the first rows of ``ps`` and ``qs``: (whether one exceeds r, r, row, row).

    ``same`` says that ``ps`` is ``qs``, so that each pair need be tested only once. Without
    ``raising`` the first pair in doubt ends the test. With it, r is raised to the supremum
    of each pair that exceeds it, so that none is above the r returned.
    """
    one = -1
    other = -1
    for i in range(p_count):
        for j in range(i + 1 if same else 0, q_count):
            if pair_exceeds(ps, i, qs, j, r):
                one = int(ps[INDEX, i])
                other = int(qs[INDEX, j])
                if not raising:
                    return True, r, one, other
                r = pair_supremum(ps, i, qs, j, r)
                if r == math.inf:
                    return True, r, one, other
    return one >= 0, r, one, other


@kernel("Tuple((b1, f8, i8, i8))(f8[:, ::1], f8, b1)", inner=True)
def any_row(rows: Floats, r: float, raising: bool) -> Found:
    """Test every row alone (F_ii > 0), as :func:`any_pair` does for pairs."""
    bs, ds, As, cs = rows[B], rows[D], rows[A], rows[C]
    up = 1.0 + MARGIN
    one = -1
    for i in range(rows.shape[1]):
        if bs[i] * cs[i] * up > r * As[i] * ds[i] * (1.0 - MARGIN):
            one = i
            if not raising:
                return True, r, one, one
            own = As[i] * ds[i]
            r = bs[i] * cs[i] / own * (1.0 + 8.0 * MARGIN) if own > 0.0 else math.inf
            if r > LARGEST_RATIO:
                return True, math.inf, one, one
    return one >= 0, r, one, one


@kernel("b1(f8, f8, f8, f8)", inner=True)
def greater(mantissa: float, exponent: float, other_mantissa: float, other_exponent: float) -> bool:
    """Compare two slopes given as mantissa in [1/2, 1) (or plain, exponent 0) and exponent."""
    if exponent == other_exponent:
        return mantissa > other_mantissa
    return exponent > other_exponent


@kernel("UniTuple(f8, 2)(f8, f8, f8, b1)", inner=True)
def slope(x: float, y: float, e: float, wide: bool) -> tuple[float, float]:
    """Return x / y * 2**e for x >= 0, y > 0 as mantissa and exponent, with one rounding."""
    if not wide:
        return x / y, 0.0
    quotient = x / y
    if ORDINARY[0] <= quotient <= ORDINARY[1]:
        shift = binary(quotient) - 1022
        return quotient * power_of_two(-shift), e + float(shift)
    if x == 0.0:
        return 0.0, -NEVER
    x_mantissa, x_shift = math.frexp(x)
    y_mantissa, y_shift = math.frexp(y)
    quotient, shift = x_mantissa / y_mantissa, x_shift - y_shift  # in [1/2, 2)
    if quotient >= 1.0:
        quotient, shift = 0.5 * quotient, shift + 1
    return quotient, e + float(shift)


@kernel("UniTuple(f8, 2)(f8[:, ::1], i8, f8, f8, b1)", inner=True)
def top_slope(rows: Floats, count: int, u: float, r: float, wide: bool) -> tuple[float, float]:
    """Return the largest (b - u d) / (r a - u ā) over the first ``count`` rows with b > u d."""
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
                m, k = slope(x, y, es[i], True)
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


@kernel("UniTuple(f8, 2)(f8[:, ::1], i8, f8, f8, b1)", inner=True)
def bottom_slope(rows: Floats, count: int, u: float, r: float, wide: bool) -> tuple[float, float]:
    """Return the smallest (u d - b) / (u ā - r a) over the first ``count`` rows with u ā > r a."""
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
                m, k = slope(x, y, es[i], True)
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


@kernel("void(f8[:, ::1], f8[:, ::1])", inner=True)
def copy_rows(rows: Floats, copy: Floats) -> None:
    """Copy entry by entry: an assignment of slices takes seconds to compile."""
    for line in range(6):
        for i in range(rows.shape[1]):
            copy[line, i] = rows[line, i]


@kernel("void(f8[:, ::1], i8, i8)", inner=True)
def exchange(rows: Floats, i: int, j: int) -> None:
    """Swap two prepared rows in place."""
    if i != j:
        for line in range(6):
            kept = rows[line, i]
            rows[line, i] = rows[line, j]
            rows[line, j] = kept


@kernel("i8(f8[:, ::1], i8, f8, f8, b1, f8, f8)", inner=True)
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
            m, k = slope(x, y, rows[E, i], wide)
            if not greater(m, k, mantissa, exponent):
                continue
        exchange(rows, i, kept)
        kept += 1
    return kept


@kernel("i8(f8[:, ::1], i8, f8, f8, b1, f8, f8)", inner=True)
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
            m, k = slope(x, y, rows[E, i], wide)
            if not greater(mantissa, exponent, m, k):
                continue
        exchange(rows, i, kept)
        kept += 1
    return kept


@kernel("i8(f8[:, ::1], i8, f8, f8, b1, f8, f8, f8)", inner=True)
def row_at(
    rows: Floats,
    count: int,
    u: float,
    r: float,
    wide: bool,
    mantissa: float,
    exponent: float,
    sign: float,
) -> int:
    """Return the position of a row with a slope at u: a top one (sign 1) or a bottom one (-1)."""
    for i in range(count):
        x = sign * (rows[B, i] - u * rows[D, i])
        y = sign * (r * rows[A, i] - u * rows[C, i])
        if x > 0.0 and y > 0.0:
            m, k = slope(x, y, rows[E, i], wide)
            if m == mantissa and k == exponent:
                return i
        elif (sign > 0.0 and x > 0.0) or (sign < 0.0 and y > 0.0):
            return i
    return 0


@kernel("Tuple((b1, i8, i8))(f8[:, ::1], f8, b1)", inner=True)
def beyond_levels(rows: Floats, r: float, wide: bool) -> tuple[bool, int, int]:
    """Compare the rows that no level u separates: (whether nothing can exceed r, row, row).

    Where the event is impossible (a = 0) the bottom slope is d / ā at every level, and
    where it alone explains the releases (d = 0) the top slope is b / (r a); against
    those, the steepest top (at u = 0) and the flattest bottom (at u = inf) decide. The
    two rows are a pair in doubt, or -1. If no top at all is above a bottom, all is safe.
    """
    n = rows.shape[1]
    nothing = NEVER if wide else 0.0
    top, top_e = top_slope(rows, n, 0.0, r, wide)
    bottom, bottom_e, bottom_at = math.inf, nothing, -1
    impossible, impossible_e, impossible_at = math.inf, nothing, -1
    certain, certain_e, certain_at = 0.0, -nothing, -1
    for i in range(n):
        if rows[C, i] > 0.0:
            if not wide and rows[D, i] >= bottom * rows[C, i] and rows[A, i] > 0.0:
                continue
            m, k = slope(rows[D, i], rows[C, i], rows[E, i], wide)
            if bottom_at < 0 or greater(bottom, bottom_e, m, k):
                bottom, bottom_e, bottom_at = m, k, i
            if rows[A, i] == 0.0 and (impossible_at < 0 or greater(impossible, impossible_e, m, k)):
                impossible, impossible_e, impossible_at = m, k, i
        elif rows[B, i] > 0.0 and rows[D, i] == 0.0:
            m, k = slope(rows[B, i], r * rows[A, i], rows[E, i], wide)
            if certain_at < 0 or greater(m, k, certain, certain_e):
                certain, certain_e, certain_at = m, k, i
    if bottom_at < 0 or not greater(top, top_e, bottom, bottom_e):
        return True, -1, -1
    if impossible_at >= 0 and greater(top, top_e, impossible, impossible_e):
        return False, row_at(rows, n, 0.0, r, wide, top, top_e, 1.0), impossible_at
    if certain_at >= 0 and greater(certain, certain_e, bottom, bottom_e):
        return False, certain_at, bottom_at
    return False, -1, -1


@kernel("UniTuple(f8, 2)(f8[:, ::1], f8)", inner=True)
def level_range(rows: Floats, r: float) -> tuple[float, float]:
    """Return the levels u between which a top and a bottom row exist: min r a / ā, max b / d."""
    bs, ds, As, cs = rows[B], rows[D], rows[A], rows[C]
    low = math.inf
    high = 0.0
    for i in range(rows.shape[1]):
        if bs[i] > high * ds[i] and ds[i] > 0.0:
            high = bs[i] / ds[i]
        if r * As[i] < low * cs[i] and As[i] > 0.0:
            low = r * As[i] / cs[i]
    return low * (1.0 - MARGIN), high * (1.0 + MARGIN)


@kernel(
    "Tuple((b1, f8, i8, i8))(f8[:, ::1], f8, b1, b1, f8[:, ::1], f8[:, ::1], f8[:, ::1])",
    inner=True,
)
def search(
    rows: Floats,
    r: float,
    raising: bool,
    wide: bool,
    tops: Floats,
    bottoms: Floats,
    waits: Floats,
) -> Found:
    """Test all priors by levels u of w·b / w·d; the answer has the form of :func:`any_pair`.

    ``tops`` and ``bottoms`` (6, n) and ``waits`` (WAITING, 4) are scratch space. No row alone may
    exceed r.
    A level u is exceeded iff the steepest row with b > u d ("top") is steeper than the
    flattest row with u ā > r a ("bottom"); both slopes fall with u, so an interval of
    levels is safe when the top slope at its lower end is not above the bottom slope at
    its upper end. Intervals that are not safe are halved after dropping the rows that
    cannot matter in them, and end with the pairs of the few rows left. Work beyond that
    of testing every pair is never done: then every pair is tested.
    """
    n = rows.shape[1]
    one = -1
    other = -1
    while True:
        safe, i, j = beyond_levels(rows, r, wide)
        if safe:
            return one >= 0, r, one, other
        if i < 0:
            break
        one, other = i, j
        if not raising:
            return True, r, one, other
        r = pair_supremum(rows, i, rows, j, r)
        if r == math.inf:
            return True, r, one, other

    low, high = level_range(rows, r)
    if low >= high:
        return one >= 0, r, one, other
    copy_rows(rows, tops)
    copy_rows(rows, bottoms)
    waits[0, LOW] = low
    waits[0, HIGH] = high
    waits[0, TOPS] = n
    waits[0, BOTTOMS] = n
    waiting = 1
    work = 0
    while waiting > 0:
        waiting -= 1
        low = waits[waiting, LOW]
        high = waits[waiting, HIGH]
        t = int(waits[waiting, TOPS])
        b = int(waits[waiting, BOTTOMS])
        work += t + b
        top, top_e = top_slope(tops, t, low, r, wide)
        bottom, bottom_e = bottom_slope(bottoms, b, high, r, wide)
        if not greater(top, top_e, bottom, bottom_e):
            continue
        t = keep_above(tops, t, low, r, wide, bottom, bottom_e)
        b = keep_below(bottoms, b, high, r, wide, top, top_e)
        everything = work > n * n
        if everything or t * b <= FEW_PAIRS * (t + b) or high <= low * (1.0 + RAISE_PRECISION):
            if everything:
                found, r, i, j = any_pair(rows, n, rows, n, True, r, raising)
                waiting = 0
            else:
                found, r, i, j = any_pair(tops, t, bottoms, b, False, r, raising)
                work += t * b
            if found:
                one, other = i, j
                if not raising or r == math.inf:
                    return True, r, one, other
            continue
        middle = math.sqrt(low) * math.sqrt(high)
        while True:
            middle_top, middle_top_e = top_slope(tops, t, middle, r, wide)
            middle_bottom, middle_bottom_e = bottom_slope(bottoms, b, middle, r, wide)
            if not greater(middle_top, middle_top_e, middle_bottom, middle_bottom_e):
                break
            i = row_at(tops, t, middle, r, wide, middle_top, middle_top_e, 1.0)
            j = row_at(bottoms, b, middle, r, wide, middle_bottom, middle_bottom_e, -1.0)
            one, other = int(tops[INDEX, i]), int(bottoms[INDEX, j])
            if not raising:
                return True, r, one, other
            r = pair_supremum(tops, i, bottoms, j, r)
            if r == math.inf:
                return True, r, one, other
        if greater(middle_top, middle_top_e, bottom, bottom_e):
            waits[waiting, LOW] = middle
            waits[waiting, HIGH] = high
            waits[waiting, TOPS] = t
            waits[waiting, BOTTOMS] = b
            waiting += 1
        if greater(top, top_e, middle_bottom, middle_bottom_e):
            waits[waiting, LOW] = low
            waits[waiting, HIGH] = middle
            waits[waiting, TOPS] = t
            waits[waiting, BOTTOMS] = b
            waiting += 1
    return one >= 0, r, one, other


@kernel(
    "void(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], i8[::1], f8[::1], f8, f8[::1], b1, "
    "f8[:, :, ::1], f8[:, :, ::1], f8[:, ::1], f8[:, ::1], i8[:, :, ::1])"
)
def column_search(
    events: Floats,
    complements: Floats,
    a: Floats,
    c: Floats,
    exponent: Integers,
    scale: Floats,
    absolute: float,
    bounds: Floats,
    raising: bool,
    space: Floats,
    priors: Floats,
    waits: Floats,
    ratios: Floats,
    pairs: Integers,
) -> None:
    """Say for each line of ``events`` and ``complements`` whether sup R exceeds the first of
    ``bounds``, and sup 1 / R the second.

    ``pairs`` (2, k, 2) gets rows that exceed: the same twice for one row, -1 if nothing does.
    With ``raising`` they reach the supremum, of which ``ratios`` (2, k) gets an upper bound, at
    least the bound given. Without it a direction whose bound is infinite is not tested, nor is the
    second one where the first is exceeded. ``space`` (3, 6, rows), ``priors`` (2, 3, rows) and
    ``waits`` (WAITING, 4) are scratch space.
    """
    rows = space[0]
    prepared = -1  # for which sides priors are there: none, the first, or both
    narrow_a, narrow_c = narrow_priors(a, c, absolute), narrow_priors(c, a, absolute)
    for k in range(events.shape[0]):
        exceeded = False
        for side in range(2):
            one = -1
            other = -1
            if raising or (not exceeded and bounds[side] < math.inf):
                # one direction of one column: prepare the rows, test each by itself, then mixtures
                b = complements[k] if side else events[k]
                d = events[k] if side else complements[k]
                e = c if side else a
                f = a if side else c
                r = bounds[side]
                wide = not (narrow_c if side else narrow_a) or not prepare_narrow(
                    b, d, e, f, scale, absolute, rows
                )
                if wide:
                    while prepared < side:
                        prepared += 1
                        first, second = (c, a) if prepared else (a, c)
                        prepare_priors(first, second, absolute, priors[prepared])
                    prepare_wide(b, d, priors[side], exponent, absolute, rows)
                else:
                    r = min(r, NARROW_RATIO)
                exceeded, r, one, other = any_row(rows, r, raising)
                if r < math.inf and (raising or not exceeded):
                    mixed, r, i, j = search(rows, r, raising, wide, space[1], space[2], waits)
                    if mixed:
                        exceeded, one, other = True, i, j
                ratios[side, k] = r
            pairs[side, k, 0] = one
            pairs[side, k, 1] = other


compile_kernels(globals())
