"""One user's stream under a policy, with a journal that makes every draw final."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from priste.batch.workspace import append
from priste.policy import Policy
from priste.randomness import BitSource
from priste.release import Ledger, Protector
from priste.release.seeded_steps import SeededSteps
from priste.release.stream_file import journal as stream_file

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


def protect_stream(
    policy: Policy,
    user: str | None,
    cells: Sequence[int | None],
    *,
    journal: Path | None = None,
    manifest: Path | None = None,
    seed: int | None = None,
    on_step: OnStep | None = None,
) -> ProtectedStream:
    """Release every step of one user; steps that the journal holds are not drawn again.

    ``cells`` are the true cells, None for a gap. Bits are cryptographic unless a ``seed`` is
    given. A new journal is written down in ``manifest`` before anything is drawn. ``on_step`` is
    told each step when it is done.
    """
    seeded = None if seed is None else SeededSteps(seed)
    rng: BitSource | None = seeded
    if journal is not None and journal.exists():
        protector = Protector.resume(journal, rng=rng)
    else:
        protector = policy.protector(rng=rng, journal=journal)
        if journal is not None and manifest is not None:
            stream = stream_file.read(journal).header["stream"]
            append(manifest, [{"journal": journal.name, "stream": stream}])
    with protector:
        done = protector.next_step
        for step in range(done, len(cells)):
            if seeded is not None:
                seeded.begin(step)
            protector.release(cells[step], step=step)
            if on_step is not None:
                on_step(step)
        return ProtectedStream(user, protector.ledger, max(0, len(cells) - done))
