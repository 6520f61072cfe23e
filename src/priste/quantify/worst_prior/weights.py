"""The weights of the worst prior on the one or two rows that the search names."""

from __future__ import annotations

import math

from priste.quantify.joint_probabilities import JointProbabilities

CLOSE_ENOUGH = 1e-9
SMALLEST_WEIGHT = 5e-324


def _log2(x: float) -> float:
    return math.log2(x) if x > 0 else -math.inf


def _log2_sum(x: float, y: float) -> float:
    """log2(2**x + 2**y)."""
    if x < y:
        x, y = y, x
    return x if y == -math.inf else x + math.log1p(2.0 ** (y - x)) / math.log(2)


def _log2_difference(x: float, y: float) -> float:
    """log2(2**x - 2**y); -inf unless x > y."""
    if not x > y:
        return -math.inf
    return x if y == -math.inf else x + math.log2(-math.expm1((y - x) * math.log(2)))


def pair_weights(
    joint: JointProbabilities, first: int, second: int, ratio: float, *, reverse: bool
) -> dict[int, float]:
    """A prior on two rows whose likelihood ratio comes close to ``ratio``.

    Where the supremum is a limit that no prior attains, or needs weights that doubles
    cannot hold, this is a prior on the way there; no weight is below ``SMALLEST_WEIGHT``.
    """
    if first < 0:
        return {}
    if first == second:
        return {first: 1.0}
    logs = []
    for row in (first, second):
        scale = int(joint.exponent[row])
        b = _log2(float(joint.event[row])) + scale
        d = _log2(float(joint.complement[row])) + scale
        a = _log2(float(joint.prior_event[row]))
        c = _log2(float(joint.prior_complement[row]))
        logs.append((d, b, c, a) if reverse else (b, d, a, c))
    (b1, d1, a1, c1), (b2, d2, a2, c2) = logs

    def log2_ratio(t: float) -> float:
        """log2 R when the first row has 2**t times the weight of the second."""
        above = _log2_sum(t + b1, b2) + _log2_sum(t + c1, c2)
        below = _log2_sum(t + a1, a2) + _log2_sum(t + d1, d2)
        if above == -math.inf:
            return -math.inf
        return above - below if below > -math.inf else math.inf

    # At the supremum F is a square: the weights balance the two rows' own terms.
    level = math.log2(ratio) if ratio < math.inf else math.inf
    if ratio < math.inf:
        balance = _log2_difference(level + a2 + d2, b2 + c2)
        balance = (balance - _log2_difference(level + a1 + d1, b1 + c1)) / 2.0
        if math.isfinite(balance) and log2_ratio(balance) >= level - CLOSE_ENOUGH:
            return _weights(first, second, balance)
    # A limit, or a balance lost to rounding: look around the corners of the four sums,
    # between which log R is straight and beyond which it levels out.
    corners = [
        q - p
        for p, q in ((b1, b2), (d1, d2), (a1, a2), (c1, c2))
        if p > -math.inf and q > -math.inf
    ]
    tries = [corner + offset for corner in corners or [0.0] for offset in _OFFSETS]
    return _weights(first, second, max(tries, key=log2_ratio))


_OFFSETS = (0.0, *(sign * 2.0**k for k in range(7) for sign in (-1.0, 1.0)))


def _weights(first: int, second: int, log2_share: float) -> dict[int, float]:
    """Weights that sum to 1, the first row having 2**log2_share times that of the second."""
    share = 2.0 ** max(-abs(log2_share), -1074.0)
    small, large = max(share / (1.0 + share), SMALLEST_WEIGHT), 1.0 / (1.0 + share)
    return {first: small, second: large} if log2_share < 0 else {first: large, second: small}
