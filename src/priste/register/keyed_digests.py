"""Recognise what was released before, without keeping where a person was.

Digests of true locations could be guessed by trying places, so they are keyed: the key lies in the
user's state folder (``PRISTE_STATE``, else ``XDG_STATE_HOME``/priste, else ~/.local/state/priste),
never next to a result. An attacker with a workspace or the register but without the key learns
nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from priste.atomic_files import private_folder, write_file
from priste.errors import OutputExists, StateError
from priste.traces import Trace

RELEASED = "released"
"""The folder of the register in that of the user's state."""

ME = "me"
"""The person of a trace without a name, and of ``priste live`` unless another is named."""

_SECOND = 1_000_000
_METRE = 10**5
"""Fixes are equal within the same second and about a metre, which a change of format preserves."""

_HEX_DIGITS = 32

FIX_BYTES = 8
"""How much of the digest of a fix is kept. The last byte is its level: the fix belongs to the
sample of one fix in 2**level, and to the samples of all lower levels."""

HIGHEST_LEVEL = 20
"""Samples beyond one fix in a million are of no use."""

MOST_FIXES = 4096
"""A trace with more fixes is remembered by a sample: the lowest level with at most this many."""


def state_folder() -> Path:
    """Return the folder in which priste remembers, across runs, what this user released."""
    if given := os.environ.get("PRISTE_STATE"):
        return Path(given)
    usual = os.environ.get("XDG_STATE_HOME")
    return (Path(usual) if usual else Path.home() / ".local" / "state") / "priste"


class Recognition:
    """Keyed digests; equal ones mean equal content, and nothing else can be read from them."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of_this_user(cls) -> Recognition:
        """Return the recognition with this user's key, which is made when first asked for."""
        folder = private_folder(state_folder())
        path = folder / "recognition.key"
        if not path.exists():
            register = folder / RELEASED / "register.sqlite"
            if register.exists():
                raise StateError(
                    f"{str(path)!r} is missing, and {str(register)!r} was written with it",
                    hint="A new key would recognise nothing that was released before, and draw "
                    "again. Restore the key from a copy. If nothing of those releases was or "
                    "will be handed out, remove the register as well.",
                )
            with suppress(OutputExists):  # another process was first: its key counts
                write_file(path, secrets.token_bytes(32))
        try:
            key = path.read_bytes()
        except OSError as problem:
            raise StateError(
                f"{str(path)!r} cannot be read: {problem.strerror}.",
                hint="Make it readable for this user.",
            ) from None
        if len(key) != 32:
            raise StateError(
                f"{str(path)!r} is not a key of priste",
                hint="Restore it from a copy; without it, what was released before cannot be "
                "recognised.",
            )
        return cls(key)

    @property
    def name(self) -> str:
        """A name of the key that does not tell it."""
        return self._digest(b"name")[:16]

    def user(self, user: str | None) -> str:
        """Return the digest of a user's name; a trace without one is that of ``ME``."""
        return self._digest(b"user", repr(ME if user is None else user).encode())[:24]

    def steps(self, user: str | None, cells: Sequence[int | None]) -> str:
        """Return the digest of a user's true cells from the first step on."""
        return self._digest(b"steps", repr(user).encode(), json.dumps(list(cells)).encode())

    def places(self, places: Mapping[str, Sequence[tuple[float, ...]]] | None) -> str:
        """Return the digest of a user's own places; that of none where there are none."""
        named = sorted((name, sorted(discs)) for name, discs in (places or {}).items())
        return self._digest(b"places", json.dumps(named).encode())

    def fixes(self, parts: Iterable[bytes]) -> str:
        """Return the digest of the fixes of some users."""
        return self._digest(b"fixes", *parts)

    def fixes_of(self, trace: Trace) -> bytes:
        """Return the digests of fixes of a trace, ``FIX_BYTES`` each, whatever its user.

        Which fixes are taken depends on the fixes themselves, so that other names, other formats
        and parts of a trace have digests in common with it. A stay counts as a fix every hour.
        """
        if not len(trace):
            return b""
        trace = trace.every(timedelta(hours=1))
        seconds = (trace.times // _SECOND).astype("<i8")
        places = np.round(np.stack([trace.lat, trace.lon], axis=1) * _METRE).astype("<i8")
        fixes = np.unique(np.column_stack([seconds, places]), axis=0)
        levels = self._levels(fixes)
        lowest = 0
        while lowest < HIGHEST_LEVEL and np.count_nonzero(levels >= lowest) > MOST_FIXES:
            lowest += 1
        kept = levels >= lowest
        return b"".join(
            bytes.fromhex(self._digest(b"fix", fix.tobytes()))[: FIX_BYTES - 1] + bytes([level])
            for fix, level in zip(fixes[kept], levels[kept].tolist(), strict=True)
        )

    def _levels(self, fixes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the level of each fix: how many times a keyed hash of it can be halved."""
        odd = np.frombuffer(hashlib.sha256(b"levels" + self._key).digest()[:24], "<u8") | 1
        mixed = (fixes.astype(np.uint64) * odd).sum(axis=1, dtype=np.uint64)
        for shift in (29, 32):
            mixed ^= mixed >> np.uint64(shift)
            mixed *= odd[1]
        bits = (mixed >> np.uint64(64 - HIGHEST_LEVEL)).astype(np.int64)
        halved = bits[:, None] & (1 << np.arange(HIGHEST_LEVEL)) == 0
        return np.asarray(np.cumprod(halved, axis=1).sum(axis=1))

    def _digest(self, *parts: bytes) -> str:
        made = hmac.new(self._key, digestmod=hashlib.sha256)
        for part in parts:
            made.update(len(part).to_bytes(8, "big"))
            made.update(part)
        return made.hexdigest()[:_HEX_DIGITS]
