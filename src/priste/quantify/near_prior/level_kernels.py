"""The compiled search over priors near a given one: is any above a ratio r, and which is highest?

A prior has weights p_i w_i with 1 <= w_i <= ``factor``. Everything here works on *weighed rows*, a
(4, n) array whose lines are p times

    B  upper bounds of b     D  lower bounds of d     A  lower bounds of a     C  upper bounds of ā

each line divided by a power of two of its own, so that its largest entry is in [1/4, 1).
With the sums over a prior written B, D, A, C, its ratio is B C / (A D) and its *level* B / D.

A line ``B + c C <= u D + k A`` that holds for every w bounds the ratio at level u by u k / c. It
is verified by one sum at the w that is worst for it, rounded against us, so the search
that found it need not be trusted. By duality the best line at a level is as good as any bound
there. Two lines, at levels u1 < u2, bound the ratio at every level between by the larger of
their bounds times a loss of second order (:func:`between`).
``docs/explanation/soundness-near.md`` derives both.

A *vertex* is an array of 8: the four sums at the w that makes b B + c C - d D - a A largest, and
those b, d, a, c, from which w can be had again.

One module, because numba's cache of machine code watches a single file.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from priste.quantify.worst_prior.compilation import compile_kernels, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDING = 2.0**-53

BEYOND = 600
"""No ratio of sums of weighed rows has an exponent of two beyond this (n <= 2**31)."""

NOTHING = -(2**62)
"""The power of two of a line of zeros."""

MOST_LEVELS = 2000
"""Levels after which a verdict is doubt; within 1e-9 of the bound about 40 are looked at."""

MOST_CUTS = 100
"""Steps after which the search for the line of a level, or for the k of a line, is given up."""

NEAR_ENOUGH = 2.0**-38
"""How far above the least possible bound of a level, relatively, the bound of a line may stay."""

LOOSE = 2.0**-5
"""What share of its distance from r the bound of a level may be too high."""

MOST_IDLE = 8
"""Lines in a row that do not lower the bound of a level, after which rounding is the limit."""

MOST_WAITING = 256

NARROWEST = 1.0 + 2.0**-40
"""Intervals of levels are not halved below this quotient of their ends."""

ASCENTS = 6
"""Looks for a vertex above r before the levels are searched."""

PRECISION = 2.0**-33
"""A supremum is bounded to about this much above the best prior found."""

B, D, A, C = 0, 1, 2, 3


@kernel("i8(f8[::1], f8[::1], i8[::1], f8, f8[::1])", inner=True)
def weigh(values: Floats, weights: Floats, exponent: Integers, error: float, line: Floats) -> int:
    """Fill ``line`` with weights * max(values + error, 0) * 2**(exponent - top); return top."""
    top = NOTHING
    for i in range(values.shape[0]):
        value = values[i] + error
        if value > 0.0:
            _, shift = math.frexp(value)
            _, weight_shift = math.frexp(weights[i])
            top = max(top, exponent[i] + shift + weight_shift)
    for i in range(values.shape[0]):
        value = values[i] + error
        line[i] = 0.0
        if value > 0.0:
            mantissa, shift = math.frexp(value)
            weight, weight_shift = math.frexp(weights[i])
            down = exponent[i] + shift + weight_shift - top
            if down > -1100:
                line[i] = math.ldexp(mantissa * weight, int(down))
    return top


@kernel("void(f8[:, ::1], f8, f8, f8, f8, f8, f8[::1])", inner=True)
def highest(
    rows: Floats, b: float, d: float, a: float, c: float, factor: float, vertex: Floats
) -> None:
    """Write the vertex at which b B + c C - d D - a A is largest."""
    bs, ds, As, cs = rows[B], rows[D], rows[A], rows[C]
    sum_b = 0.0
    sum_d = 0.0
    sum_a = 0.0
    sum_c = 0.0
    for i in range(bs.shape[0]):
        w = factor if b * bs[i] + c * cs[i] > d * ds[i] + a * As[i] else 1.0
        sum_b += w * bs[i]
        sum_d += w * ds[i]
        sum_a += w * As[i]
        sum_c += w * cs[i]
    vertex[B] = sum_b
    vertex[D] = sum_d
    vertex[A] = sum_a
    vertex[C] = sum_c
    vertex[4 + B] = b
    vertex[4 + D] = d
    vertex[4 + A] = a
    vertex[4 + C] = c


@kernel("void(f8[::1], f8[::1])", inner=True)
def put(source: Floats, target: Floats) -> None:
    """Copy one array into another of the same length; a slice would take seconds to compile."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel("f8(f8[::1])", inner=True)
def ratio_at(vertex: Floats) -> float:
    """Return the ratio at a vertex, plainly rounded."""
    return float((vertex[B] / vertex[D]) * (vertex[C] / vertex[A]))


@kernel("void(f8[:, ::1], f8[::1], f8[::1], f8, f8, f8[::1])", inner=True)
def fill(
    rows: Floats, one: Floats, other: Floats, place: float, factor: float, prior: Floats
) -> None:
    """Write the w at ``place`` in [0, 1] between those of two vertices."""
    for i in range(rows.shape[1]):
        w = 0.0
        for side in range(2):
            at = one if side == 0 else other
            gain = at[4 + B] * rows[B, i] + at[4 + C] * rows[C, i]
            cost = at[4 + D] * rows[D, i] + at[4 + A] * rows[A, i]
            w += (1.0 - place if side == 0 else place) * (factor if gain > cost else 1.0)
        prior[i] = w


@kernel("UniTuple(f8, 2)(f8[::1], f8[::1])", inner=True)
def best_mixture(one: Floats, other: Floats) -> tuple[float, float]:
    """Return the largest ratio on the segment between two vertices, and its place in [0, 1]."""
    best = -1.0
    place = 0.0
    low = 0.0
    high = 1.0
    for _ in range(10):
        width = (high - low) / 8.0
        for k in range(9):
            t = low + k * width
            b = (1.0 - t) * one[B] + t * other[B]
            d = (1.0 - t) * one[D] + t * other[D]
            a = (1.0 - t) * one[A] + t * other[A]
            c = (1.0 - t) * one[C] + t * other[C]
            ratio = (b / d) * (c / a)
            if ratio > best:
                best = ratio
                place = t
        low = max(0.0, place - width)
        high = min(1.0, place + width)
    return best, place


@kernel("f8(f8[:, ::1], f8, f8, f8[::1], f8[::1])", inner=True)
def climb(rows: Floats, r: float, factor: float, vertex: Floats, next_one: Floats) -> float:
    """Look for a vertex above r, following the gradient of the log ratio from the given prior.

    Returns the largest ratio seen, and its vertex.
    """
    highest(rows, 0.0, 0.0, 0.0, 0.0, factor, vertex)
    best = ratio_at(vertex)
    for _ in range(ASCENTS):
        if best > r:
            break
        b, d, a, c = 1.0 / vertex[B], 1.0 / vertex[D], 1.0 / vertex[A], 1.0 / vertex[C]
        highest(rows, b, d, a, c, factor, next_one)
        ratio = ratio_at(next_one)
        if not ratio > best:
            break
        best = ratio
        put(next_one, vertex)
    return best


@kernel("f8(f8[:, ::1], i8, i8, f8, f8, f8[::1], f8[::1])", inner=True)
def largest_quotient(
    rows: Floats, above: int, below: int, factor: float, slack: float, vertex: Floats, trial: Floats
) -> float:
    """Return an upper bound of the largest B or C over D or A, and the vertex that about has it.

    Each vertex that is highest at a level gives the next level; verified at the last one.
    """
    b, c = (1.0, 0.0) if above == B else (0.0, 1.0)
    highest(rows, 0.0, 0.0, 0.0, 0.0, factor, vertex)
    level = vertex[above] / vertex[below]
    for _ in range(MOST_CUTS):
        if below == D:
            highest(rows, b, level, 0.0, c, factor, trial)
        else:
            highest(rows, b, 0.0, level, c, factor, trial)
        if trial[above] * (1.0 + slack) <= level * trial[below] * (1.0 - slack):
            return float(level)
        if trial[above] / trial[below] > vertex[above] / vertex[below]:
            put(trial, vertex)
        level = max(level, trial[above] / trial[below]) * (1.0 + 4.0 * slack)
    return math.inf


@kernel("b1(f8[::1], f8, f8, f8, f8)", inner=True)
def holds(vertex: Floats, u: float, k: float, c: float, slack: float) -> bool:
    """Return whether a line surely holds for every w, from the vertex that is worst for it."""
    left = (vertex[B] + c * vertex[C]) * (1.0 + slack)
    right = (u * vertex[D] + k * vertex[A]) * (1.0 - slack)
    return bool(left <= right)


@kernel("UniTuple(f8, 2)(f8[:, ::1], f8, f8, f8, f8, f8[::1], f8[::1], f8[::1])", inner=True)
def level_line(
    rows: Floats,
    u: float,
    r: float,
    factor: float,
    slack: float,
    above: Floats,
    below: Floats,
    vertex: Floats,
) -> tuple[float, float]:
    """Return the c and the bound u k / c of about the best line at a level; inf is doubt.

    ``above`` and ``below`` are vertices above and below the level. Each asks a least k for every
    c, and where both ask the same the bound cannot be lower. There k is raised until the line
    holds; the vertex that asked the most takes the place of one of the two. At the end
    a mixture of them about reaches the bound. Far below ``r`` the bound may be loose.
    """
    best_c, best_bound = 0.0, math.inf
    least_c, most_c = 0.0, math.inf
    side = 0
    idle = 0
    for _ in range(MOST_CUTS):
        rise = above[B] - u * above[D]
        fall = u * below[D] - below[B]
        turn = below[C] / below[A] - above[C] / above[A]
        if not (rise > 0.0 and fall >= 0.0 and turn > 0.0):
            break
        c = (rise / above[A] + fall / below[A]) / turn
        k = (rise + c * above[C]) / above[A]
        least = u * k / c
        if best_bound <= least * (1.0 + NEAR_ENOUGH + 16.0 * slack) or idle == MOST_IDLE:
            break
        if best_bound - least <= LOOSE * (r - least):
            break
        if abs(side) >= 2:  # one of the two stays: look nearer to it
            if side > 0 and most_c < math.inf:
                c = math.sqrt(c) * math.sqrt(most_c)
            elif side < 0 and least_c > 0.0:
                c = math.sqrt(c) * math.sqrt(least_c)
            k = max((rise + c * above[C]) / above[A], (c * below[C] - fall) / below[A])
        k *= 1.0 + 4.0 * slack
        asked = 0.0
        for _ in range(MOST_CUTS):
            highest(rows, 1.0, u, k, c, factor, vertex)
            asked = vertex[B] - u * vertex[D]
            if holds(vertex, u, k, c, slack):
                break
            gain = (vertex[B] + c * vertex[C]) * (1.0 + 3.0 * slack)
            k = max(k * (1.0 + slack), (gain - u * vertex[D]) / vertex[A])
        else:
            break
        bound = u * k / c * (1.0 + 8.0 * ROUNDING)
        idle += 1
        if bound < best_bound:
            if bound < best_bound * (1.0 - NEAR_ENOUGH):
                idle = 0
            best_c, best_bound = c, bound
        if asked > 0.0:
            put(vertex, above)
            least_c = c
            side = max(side, 0) + 1
        else:
            put(vertex, below)
            most_c = c
            side = min(side, 0) - 1
    return best_c, best_bound


@kernel("f8(f8, f8, f8, f8, f8, f8)", inner=True)
def between(u1: float, c1: float, bound1: float, u2: float, c2: float, bound2: float) -> float:
    """Bound the ratio at all levels from u1 to u2; c2 = 0 stands for B <= u2 D."""
    larger = max(bound1, bound2) * (1.0 + 16.0 * ROUNDING)
    if c2 == 0.0:
        return larger * (u2 / u1)
    turn = (c1 / u1) / (c2 / u2)
    if turn <= 1.0:
        return larger
    root = 1.0 + math.sqrt(c1 / c2)
    return larger * (1.0 + (turn - 1.0) * ((u2 - u1) / u2) / (root * root) * (1.0 + 2.0**-40))


@kernel("f8(f8[:, ::1], f8, b1, f8, f8, f8[::1])", inner=True)
def search(
    rows: Floats, r: float, raising: bool, factor: float, slack: float, prior: Floats
) -> float:
    """Return an upper bound of the ratio over all w: r, or more where that cannot be shown.

    Without ``raising`` the first doubt ends the search with inf. With it, r is raised to the
    bound of each level that is above, so that nothing is above the r returned, and ``prior``
    gets the w of the highest ratio that was found. D and A are not zeros.
    """
    lower = np.empty((MOST_WAITING, 8))
    upper = np.empty((MOST_WAITING, 8))
    ends = np.empty((MOST_WAITING, 6))
    vertex = np.empty(8)
    above, below = upper[0], lower[0]
    best = climb(rows, math.inf if raising else r, factor, above, vertex)
    if raising:
        fill(rows, above, above, 0.0, factor, prior)
    top = largest_quotient(rows, B, D, factor, slack, above, vertex)
    steepest = largest_quotient(rows, C, A, factor, slack, below, vertex)
    ratio, place = best_mixture(above, below)
    if ratio > best:
        best = ratio
        if raising:
            fill(rows, above, below, place, factor, prior)
    if raising:
        r = best * (1.0 + PRECISION)
    elif best > r:
        return math.inf
    if top == math.inf or steepest == math.inf:
        return math.inf
    while True:
        low = r / steepest * (1.0 - slack)
        if low >= top:
            return r
        put(upper[0], upper[1])
        c, bound = level_line(rows, low, r, factor, slack, upper[1], lower[0], vertex)
        if bound <= r:
            break
        ratio, place = best_mixture(upper[1], lower[0])
        if raising and ratio > best:
            best = ratio
            fill(rows, upper[1], lower[0], place, factor, prior)
        higher = (best if bound == math.inf else bound) * (1.0 + PRECISION)
        if not raising or not higher > r:
            return math.inf
        r = higher
    ends[0, 0], ends[0, 1], ends[0, 2] = low, c, bound
    ends[0, 3], ends[0, 4], ends[0, 5] = top, 0.0, 0.0
    waiting = 1
    levels = 0
    while waiting > 0:
        here = waiting - 1
        low, c, bound = ends[here, 0], ends[here, 1], ends[here, 2]
        high, high_c, high_bound = ends[here, 3], ends[here, 4], ends[here, 5]
        whole = between(low, c, bound, high, high_c, high_bound)
        if whole <= r:
            waiting -= 1
            continue
        levels += 1
        middle = math.sqrt(low) * math.sqrt(high)
        middle_c, middle_bound = 0.0, math.inf
        above, below = upper[waiting], lower[waiting]
        put(upper[here], above)
        put(lower[here], below)
        if high > low * NARROWEST and levels < MOST_LEVELS and waiting < MOST_WAITING - 1:
            middle_c, middle_bound = level_line(
                rows, middle, r, factor, slack, above, below, vertex
            )
        if middle_bound > r and not raising:
            return math.inf
        if raising:
            ratio, place = best_mixture(above, below)
            if ratio > best:
                best = ratio
                fill(rows, above, below, place, factor, prior)
        if middle_bound == math.inf:
            r = best * (1.0 + PRECISION) if best > r else whole
            continue
        r = max(r, middle_bound)
        # The lower half comes on top, the upper half stays below it and waits.
        put(below, vertex)
        put(lower[here], lower[waiting])
        put(vertex, lower[here])
        ends[waiting, 0], ends[waiting, 1], ends[waiting, 2] = low, c, bound
        ends[waiting, 3], ends[waiting, 4], ends[waiting, 5] = middle, middle_c, middle_bound
        ends[here, 0], ends[here, 1], ends[here, 2] = middle, middle_c, middle_bound
        waiting += 1
    return r


@kernel(
    "Tuple((b1, b1, i8))(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], i8[::1], f8, f8[:, ::1])",
    inner=True,
)
def weigh_all(
    b: Floats,
    d: Floats,
    a: Floats,
    c: Floats,
    weights: Floats,
    exponent: Integers,
    absolute: float,
    rows: Floats,
) -> tuple[bool, bool, int]:
    """Weigh a column: whether B C is not 0, whether A D is not 0, and the power of two of their
    quotient that the lines leave out."""
    none = np.zeros(a.shape[0], np.int64)
    top_b = weigh(b, weights, exponent, absolute, rows[B])
    top_d = weigh(d, weights, exponent, -absolute, rows[D])
    top_a = weigh(a, weights, none, -absolute, rows[A])
    top_c = weigh(c, weights, none, absolute, rows[C])
    numerator = top_b != NOTHING and top_c != NOTHING
    denominator = top_d != NOTHING and top_a != NOTHING
    power = 0
    if numerator and denominator:
        power = (top_b + top_c) - (top_d + top_a)
    return numerator, denominator, power


@kernel(
    "b1(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], i8[::1], f8, f8, f8, f8[:, ::1])", inner=True
)
def within(
    b: Floats,
    d: Floats,
    a: Floats,
    c: Floats,
    weights: Floats,
    exponent: Integers,
    absolute: float,
    factor: float,
    r: float,
    rows: Floats,
) -> bool:
    """Return whether every prior is surely within r, in one direction of one column."""
    numerator, denominator, power = weigh_all(b, d, a, c, weights, exponent, absolute, rows)
    if not numerator:
        return True
    if not denominator:
        return False
    mantissa, shift = math.frexp(r)
    place = shift - power
    if place > BEYOND:
        return True
    if place < -BEYOND:
        return False
    bound = math.ldexp(mantissa, int(place))
    slack = (rows.shape[1] + 32) * ROUNDING
    return search(rows, bound, False, factor, slack, rows[B]) <= bound


@kernel("void(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], i8[::1], f8, f8, f8, f8, b1[::1])")
def column_verdicts(
    events: Floats,
    complements: Floats,
    a: Floats,
    c: Floats,
    weights: Floats,
    exponent: Integers,
    absolute: float,
    factor: float,
    up: float,
    down: float,
    passed: Flags,
) -> None:
    """Say for each line of ``events`` and ``complements`` whether R is surely within ``up`` for all
    priors, and 1 / R within ``down``. An infinite bound is not tested."""
    rows = np.empty((4, a.shape[0]))
    for k in range(events.shape[0]):
        b = events[k]
        d = complements[k]
        safe = True
        if up < math.inf:
            safe = within(b, d, a, c, weights, exponent, absolute, factor, up, rows)
        if safe and down < math.inf:
            safe = within(d, b, c, a, weights, exponent, absolute, factor, down, rows)
        passed[k] = safe


@kernel(
    "void(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], i8[::1], f8, f8, f8[:, ::1], "
    "i8[:, ::1], f8[:, ::1])"
)
def column_suprema(
    events: Floats,
    complements: Floats,
    a: Floats,
    c: Floats,
    weights: Floats,
    exponent: Integers,
    absolute: float,
    factor: float,
    ratios: Floats,
    powers: Integers,
    priors: Floats,
) -> None:
    """Bound sup R and sup 1 / R of each line from above, as ratios (2, k) times 2**powers.

    A ratio is 0 where no prior has B C > 0, and inf where A D is 0 for all. ``priors`` (2, n) gets
    w of the last line.
    """
    rows = np.empty((4, a.shape[0]))
    slack = (a.shape[0] + 32) * ROUNDING
    for k in range(events.shape[0]):
        for side in range(2):
            b = events[k] if side == 0 else complements[k]
            d = complements[k] if side == 0 else events[k]
            e = a if side == 0 else c
            f = c if side == 0 else a
            numerator, denominator, power = weigh_all(b, d, e, f, weights, exponent, absolute, rows)
            powers[side, k] = power
            for i in range(a.shape[0]):
                priors[side, i] = 1.0
            ratios[side, k] = 0.0 if not numerator else math.inf
            if numerator and denominator:
                ratios[side, k] = search(rows, 0.0, True, factor, slack, priors[side])


@kernel("void(f8[:, ::1], f8[:, ::1], f8[::1], i8[::1], f8, f8, f8[::1], i8[::1])")
def column_quotients(
    events: Floats,
    complements: Floats,
    weights: Floats,
    exponent: Integers,
    absolute: float,
    factor: float,
    quotients: Floats,
    powers: Integers,
) -> None:
    """Bound the largest B / D of each line over all priors, from above, times 2**powers.

    0 where B is 0 for all priors, and inf where D is.
    """
    rows = np.zeros((4, weights.shape[0]))
    vertex = np.empty(8)
    trial = np.empty(8)
    slack = (weights.shape[0] + 32) * ROUNDING
    for k in range(events.shape[0]):
        top_b = weigh(events[k], weights, exponent, absolute, rows[B])
        top_d = weigh(complements[k], weights, exponent, -absolute, rows[D])
        powers[k] = 0
        quotients[k] = 0.0 if top_b == NOTHING else math.inf
        if top_b != NOTHING and top_d != NOTHING:
            powers[k] = top_b - top_d
            quotients[k] = largest_quotient(rows, B, D, factor, slack, vertex, trial)


compile_kernels(globals())
