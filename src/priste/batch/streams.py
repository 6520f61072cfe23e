"""One user's stream under a policy, with a journal that makes every draw final."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from priste.errors import StateError
from priste.policy import Policy
from priste.randomness import BitSource, bit_source
from priste.release import Ledger, Protector

OnStep = Callable[[int], None]


@dataclass(frozen=True)
class ProtectedStream:
    """What was released for one user. Holds no true location."""

    user: str | None
    ledger: Ledger
    drawn: int

    @property
    def cells(self) -> tuple[int | None, ...]:
        """The released cell of each step; None for silence."""
        return tuple(release.cell for release in self.ledger)


class Workspace:
    """The folder where the journals of a run live: private, and bound to one policy and source.

    Running again with the same policy and source finds every release that was made and
    draws only what is missing. Another policy, or another source, is refused: drawing twice
    for the same steps would let both releases be combined.
    """

    def __init__(self, folder: Path, policy: Policy, source_stamp: str) -> None:
        self._folder = folder
        terms = {"policy": policy.fingerprint(), "source": source_stamp}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        marker = folder / "run.json"
        if not marker.exists():
            _create_whole(marker, json.dumps(terms))
        self._check(marker, terms)

    def journal(self, user: str | None) -> Path:
        """Return the path of a user's journal; the name tells nothing about the user."""
        name = hashlib.sha256(repr(user).encode()).hexdigest()[:24]
        return self._folder / f"{name}.journal"

    def _check(self, marker: Path, terms: dict[str, str]) -> None:
        try:
            kept = json.loads(marker.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise StateError(
                f"The folder {str(self._folder)!r} holds no readable run. It is left as it is; "
                "choose another destination, or remove the folder if it is not needed."
            ) from None
        for name, value in terms.items():
            if kept.get(name) != value:
                raise StateError(
                    f"The folder {str(self._folder)!r} belongs to a run with another {name}. "
                    "Drawing again for the same steps would tell more than ε. Finish that run, or "
                    "choose another destination if this is other data."
                )


def _create_whole(path: Path, text: str) -> None:
    """Create a private file with all of its text at once; a file that is there stays."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # somebody else was first: their terms count
            os.link(draft, path)
    finally:
        os.unlink(draft)


class SeededSteps:
    """Repeatable bits in which every step has its own seed; for experiments alone.

    So a stream that was stopped and resumed releases what it would have released anyway, and no
    bits are ever used for two steps.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.begin(0)

    def begin(self, step: int) -> None:
        """Go to the bits of a step."""
        self._bits = bit_source(np.random.default_rng([self._seed, step]))

    def below(self, bound: int) -> int:
        """Return a uniform integer in ``[0, bound)``."""
        return self._bits.below(bound)


def protect_stream(
    policy: Policy,
    user: str | None,
    cells: Sequence[int | None],
    *,
    journal: Path | None = None,
    seed: int | None = None,
    on_step: OnStep | None = None,
) -> ProtectedStream:
    """Release every step of one user; steps that the journal holds are not drawn again.

    ``cells`` are the true cells, None for a gap. Bits are cryptographic unless a ``seed`` is
    given. ``on_step`` is told each step when it is done.
    """
    seeded = None if seed is None else SeededSteps(seed)
    rng: BitSource | None = seeded
    if journal is not None and journal.exists():
        protector = Protector.resume(journal, rng=rng)
    else:
        protector = policy.protector(rng=rng, journal=journal)
    with protector:
        done = protector.next_step
        for step in range(done, len(cells)):
            if seeded is not None:
                seeded.begin(step)
            protector.release(cells[step], step=step)
            if on_step is not None:
                on_step(step)
        return ProtectedStream(user, protector.ledger, len(cells) - done)
