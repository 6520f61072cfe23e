"""A cheap answer, as sound as the exact one, for most of many candidates.

The columns of a mechanism resemble each other: a few of them span all, nearly. With a basis
Q (cells x r) and coefficients C, a column x is Q c up to a residual, and b and d of all
candidates come from two thin products, (H Q) C, in the place of the large one, H X.

How far that can be off. H and x are >= 0, so for b = H x, row by row,

    |H x - H Q c|  <=  H |x - Q c|  <=  max over cells of |x - Q c| / x   times  H x,

and with r + cells roundings at most g = N u / (1 - N u), N counting them,

    |fl(fl(H Q) c) - H Q c|  <=  g H |Q| |c|  <=  g max over cells of |Q| |c| / x   times  H x.

The same roundings are made when the residual is computed. So each candidate has an ``error`` δ,
far above rounding and well below 1, with |b̂ - b| <= δ b, and the same for d. The ratios of b̂ and d̂
are then within a factor (1+δ)/(1-δ) of those of b and d, for every prior at once: a
candidate that passes at ε - ln((1+δ)/(1-δ)) passes at ε, and one that fails at
ε + ln((1+δ)/(1-δ)) fails at ε. What lies between is left to the exact check.

Where H has one band, underflow plays no part. Stored numbers of H are at least 2**53, and their sum
over a row is below 2**920 (see :mod:`priste.quantify.scaling`), so H Q loses nothing. A column
that spans more than ``LEAST_SHARE`` is in doubt from the start. So where rows are brought below 1,
which costs at most 2**941, a positive b is above 2**-910, and what the products there may lose
is below 2**-1050: nothing beside the rounding above.

Where H has several bands they are added up in one (``ScaledRows.joined``), and small numbers may be
lost: less than 2**-1070 of an entry with up to 32 bands, and less than 2**-1075 in each product
with Q. The columns of Q have length 1, so no coefficient of a column with entries up to 1
exceeds twice the root of the cells. With up to 2**14 cells and a rank up to 2**7, b and d so lose
less than 2**-1040 in all, the last products below 1 included. That is their
``absolute_error``, which the verdict takes at its worst; so True is a guarantee here too, and all
else is left to the exact check.

The same is done where underflow took up to η from Pr(EVENT | world, state), and so from a and ā. b
and d are masses times such numbers, and the masses of a row add up to less than 1 in the units of
the screen, so they are off by less than 4 η.
"""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.quantify.guarantees import Limits
from priste.quantify.joint_probabilities import Floats, JointProbabilities
from priste.quantify.joint_sums import candidates_of
from priste.quantify.rounding import UNIT_ROUNDOFF
from priste.quantify.scaling import BLOCK_ENTRIES, ScaledRows

RANKS = (64, 16)
"""Columns in the basis. On 2,500 cells half as many left twice the columns in doubt, and twice
as many saved less than they cost. The fewer are for maps on which the more are not worth it."""

LEAST_SHARE_OF_CELLS = 0.5
"""Fewer columns than this, relative to the cells, are some law's and not a mechanism's table."""

LARGEST_ERROR = 0.25
"""Above this a resemblance is not worth a look."""

LEAST_SHARE = 2.0**-20
"""Least entry of a column that can be screened, relative to its largest one."""

LOST = 2.0**-1040
"""What b and d may lose to underflow where H has several bands."""

MOST_CELLS = 2**14
MOST_BANDS = 32
"""What ``LOST`` was derived for, with a rank up to 2**7."""

LEAST_PEAK = 2.0**-100
"""Least largest entry of a column that can be screened; more than 1 none may have."""

RECENT = 8
"""Of how many tables the resemblance is kept: at 2,500 cells 3 MB each."""

CHUNK = 64
"""Candidates whose b and d are looked at together, at least; more of them on small maps ..."""

CHUNK_ENTRIES = 2**16
"""... where so many numbers do. Fewer are decided the more have to share the largest error."""

GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0

_EVALUATION = 1.0 + 2.0**-40
"""Covers the roundings of evaluating an error."""


@dataclass(frozen=True, eq=False)
class Resemblance:
    """Columns (cells, k) as ``basis @ coefficients``, up to powers of two and an error.

    ``error`` (k,) is δ of the module, inf for columns that cannot be screened. ``least`` (k,) is
    the least entry of a column, whose largest one is brought to [0.5, 1).
    """

    basis: Floats
    coefficients: Floats
    error: Floats
    least: Floats

    @classmethod
    def of(cls, columns: Floats, rank: int) -> Resemblance | None:
        """Write columns (cells, k), finite and >= 0, in a basis of ``rank`` of them.

        The columns of the basis are spread over all by multiples of the golden ratio, which
        stay apart in both directions when the columns are cells of a map. None when
        no column can be screened.
        """
        cells, count = columns.shape
        largest, least = columns.max(axis=0), columns.min(axis=0)
        possible = (least >= largest * LEAST_SHARE) & (largest >= LEAST_PEAK) & (largest <= 1.0)
        candidates = np.flatnonzero(possible)
        if not len(candidates):
            return None
        spread = (np.arange(rank) + 0.5) * GOLDEN_RATIO % 1.0
        chosen = candidates[np.unique((len(candidates) * spread).astype(np.int64))]
        basis = np.linalg.qr(columns[:, chosen] / largest[chosen])[0]
        coefficients = basis.T @ columns
        residual = _largest_shares(columns, basis, coefficients)
        roundings = (cells + 3 * len(chosen) + 16) * UNIT_ROUNDOFF
        error = np.full(count, np.inf)
        # |Q| |c| is at most this at every cell
        size = np.abs(basis).max() * np.abs(coefficients[:, possible]).sum(axis=0)
        rounding = roundings / (1.0 - roundings) * size / least[possible]
        error[possible] = (residual[possible] + rounding) * _EVALUATION
        power = np.ldexp(1.0, np.where(possible, -np.frexp(largest)[1], 0))
        return cls(basis, coefficients * power, error, least * power)


_recent: dict[tuple[bytes, tuple[int, ...], int], Resemblance] = {}
_digests: dict[int, tuple[weakref.ref[Floats], bytes]] = {}


def _digest(columns: Floats) -> bytes:
    """Return what identifies the numbers of a table; those that cannot change are read once."""
    lasting = _cannot_change(columns)
    known, digest = _digests.get(id(columns), (None, b""))
    if lasting and known is not None and known() is columns:
        return digest
    digest = hashlib.blake2b(np.ascontiguousarray(columns).data, digest_size=32).digest()
    if lasting:
        if len(_digests) >= RECENT:
            _digests.clear()
        _digests[id(columns)] = weakref.ref(columns), digest
    return digest


def _cannot_change(array: Floats) -> bool:
    """Tell whether an array, and what it is a view of, is read-only."""
    below = array.base
    return not array.flags.writeable and (
        below is None or (isinstance(below, np.ndarray) and _cannot_change(below))
    )


def _resemblance(columns: Floats, rank: int) -> Resemblance | None:
    """Return ``Resemblance.of``, looked up where the very same numbers were asked about lately.

    Streams ask about the table of one budget again and again, and all users of a mechanism about
    the same tables. Reading the numbers once takes a fraction of writing them in a basis.
    """
    key = (_digest(columns), columns.shape, rank)
    found = _recent.get(key)
    if found is None:
        found = Resemblance.of(columns, rank)
        if found is not None:
            if len(_recent) >= RECENT:
                _recent.clear()
            _recent[key] = found
    return found


def _largest_shares(columns: Floats, basis: Floats, coefficients: Floats) -> Floats:
    """Return (k,) the largest |x - Q c| / x of each column; anything where x has a zero."""
    largest = np.zeros(columns.shape[1])
    height = max(1, BLOCK_ENTRIES // columns.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, len(columns), height):
            part = columns[start : start + height]
            shares = basis[start : start + height] @ coefficients
            shares -= part
            shares /= part
            np.abs(shares, out=shares)
            np.maximum(largest, shares.max(axis=0), out=largest)
    return largest


def worthwhile_rank(rows: int, cells: int, count: int) -> int | None:
    """Return the rank with which thin products take less than a quarter of the large one's work.

    None if there is none.
    """
    if count < LEAST_SHARE_OF_CELLS * cells:
        return None
    for rank in RANKS:
        thin = 2 * rows * rank * (cells + count) + 3 * cells * rank * count
        if 4 * thin < 2 * rows * cells * count:
            return rank
    return None


def screened(
    operators: Sequence[ScaledRows],
    prior_rows: Floats,
    columns: Floats,
    limits: Limits,
    relative_error: float,
    passes: Callable[[JointProbabilities, Limits], NDArray[np.bool_]],
    *,
    absolute_error: float = 0.0,
    rank: int = RANKS[0],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell (k,) which candidates stay within ``limits``, and (k,) for which that is decided.

    A verdict True is always decided, and a guarantee; False that is not decided is doubt.

    ``operators`` are H (rows, 2, cells), one per model, ``prior_rows`` (2, all rows) holds a and ā,
    ``columns`` (cells, k) the likelihoods, ``relative_error`` what separates a, ā and the exact
    H x from what is meant, ``absolute_error`` what underflow may have taken from Pr(EVENT | world,
    state), and ``passes`` decides about joint. Where that is not 0, or some H has several bands,
    only True is ever decided.
    """
    verdict = np.zeros(columns.shape[1], dtype=np.bool_)
    decided = verdict.copy()
    bands = max(len(operator.bands) for operator in operators)
    if bands > 1 and (len(columns) > MOST_CELLS or bands > MOST_BANDS):
        return verdict, decided
    likeness = _resemblance(columns, rank)
    if likeness is None:
        return verdict, decided
    order = np.argsort(likeness.error)  # like errors together, as each chunk counts its largest
    order = order[likeness.error[order] < LARGEST_ERROR]
    if not len(order):
        return verdict, decided
    thin = np.concatenate([_product(operator, likeness.basis) for operator in operators])
    exponent = np.concatenate([operator.bands[0].exponent for operator in operators])
    # A row's power of two makes its largest possible b + d, that of a certain release, less than
    # 1: at most twice that of this candidate divided by its least entry.
    flattest = order[np.argmax(likeness.least[order])]
    seen = (thin @ likeness.coefficients[:, flattest]).sum(axis=1) / likeness.least[flattest]
    shift = np.frexp(2.0 * seen)[1]
    lost = LOST * 2.0 ** -min(0.0, float(shift.min())) if bands > 1 else 0.0
    lost += 4.0 * absolute_error
    event, complement = (thin[:, side] * np.ldexp(1.0, -shift)[:, None] for side in range(2))
    largest = max((x for x in (limits.up, limits.down) if x < math.inf), default=0.0)
    together = max(CHUNK, CHUNK_ENTRIES // len(thin))
    for start in range(0, len(order), together):
        chosen = order[start : start + together]
        error = float(likeness.error[chosen[-1]]) + (bands - 1) * 2.0 * UNIT_ROUNDOFF
        allowance = (math.log1p(error) - math.log1p(-error)) * _EVALUATION + 2.0**-50 * (
            1 + largest
        )
        coefficients = likeness.coefficients[:, chosen].T
        joint = JointProbabilities.of_checked(  # off by less than themselves, so not negative
            prior_rows[0],
            prior_rows[1],
            _not_negative((coefficients @ event.T).T, lost),
            _not_negative((coefficients @ complement.T).T, lost),
            exponent + shift,
            relative_error,
            lost,
        )
        tighter, wider = limits.moved(-allowance), limits.moved(allowance)
        if tighter is not None:
            verdict[chosen] = passes(joint, tighter)
        decided[chosen] = verdict[chosen] | (lost == 0.0)
        open_ones = np.flatnonzero(~verdict[chosen])
        if lost == 0.0 and len(open_ones) and wider is not None:
            few = candidates_of(joint, open_ones)
            decided[chosen[open_ones]] = ~passes(few, wider)
    return verdict, decided


def _not_negative(values: Floats, lost: float) -> Floats:
    """What may be off by ``lost`` may be below 0; 0 is nearer to the truth then."""
    return np.maximum(values, 0.0) if lost else values


def _product(operator: ScaledRows, basis: Floats) -> Floats:
    """Return H Q (rows, 2, rank), in the units of the first band."""
    rows, sides, cells = operator.bands[0].values.shape
    thin = np.empty((rows, sides, basis.shape[1]))
    parts = operator.blocks() if len(operator.bands) > 1 else [(slice(None), operator)]
    for chosen, part in parts:
        thin[chosen] = (part.joined().values.reshape(-1, cells) @ basis).reshape(
            -1, sides, basis.shape[1]
        )
    return thin
