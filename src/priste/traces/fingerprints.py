"""Fingerprints of parts of traces: to tell whether a model was fitted on what is protected."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import numpy as np

from priste.traces.fixes import Trace

_PART = 3 * 3_600_000_000
_SECOND = 1_000_000
_DECIMALS = 5  # about a metre: what survives a change of format
_HEX_DIGITS = 16  # enough for 10**9 comparisons with one false match in 10**10


def fingerprints(trace: Trace) -> frozenset[str]:
    """Return one fingerprint for every three hours (UTC), whatever the user is called.

    Two traces share one exactly if they have three hours in which all fixes and stays agree, to
    the second and to five decimals of a degree. The positions cannot be read from it, only
    compared.
    """
    if not len(trace):
        return frozenset()
    trace = trace.every(timedelta(hours=1))
    parts = trace.times // _PART
    places = np.round(np.stack([trace.lat, trace.lon], axis=1) * 10**_DECIMALS).astype("<i8")
    seconds = (trace.times // _SECOND).astype("<i8")
    found = set()
    starts = np.flatnonzero(np.diff(parts, prepend=parts[0] - 1))
    for begin, end in zip(starts, [*starts[1:], len(parts)], strict=True):
        digest = hashlib.sha256(seconds[begin:end].tobytes())
        digest.update(places[begin:end].tobytes())
        found.add(digest.hexdigest()[:_HEX_DIGITS])
    return frozenset(found)
