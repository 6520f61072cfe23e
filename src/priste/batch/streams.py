"""One user's stream: every step released once, and kept in a form that continues anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from priste.batch.draws import StepBits
from priste.policy import Policy
from priste.register import ContinuedStreams, KeptStream
from priste.release import Ledger
from priste.release.seeded_steps import SeededSteps


@dataclass(frozen=True)
class ProtectedStream:
    """What was released for one user. Holds no true location.

    ``ledger`` is about the steps and events of the policy; ``drawn`` is how many steps were drawn
    now; ``kept`` is the stream with all that was released before, None where nothing is.
    """

    user: str | None
    ledger: Ledger
    drawn: int
    kept: KeptStream | None = None

    @property
    def cells(self) -> tuple[int | None, ...]:
        """The released cell of each step; None for silence."""
        return tuple(release.cell for release in self.ledger)


def protect_stream(
    policy: Policy,
    user: str | None,
    cells: Sequence[int | None],
    *,
    bits: StepBits | None = None,
    seed: int | None = None,
    past: KeptStream | None = None,
    continued: ContinuedStreams | None = None,
    name: str = "",
    binding: Mapping[str, str] | None = None,
) -> ProtectedStream:
    """Release every step of one user that was not released in the ``past``.

    ``cells`` are the true cells, None for a gap. ``bits`` are those of each step (see
    :mod:`priste.batch.draws`); a ``seed``, for experiments, stands for the bits that follow from
    it; without either they are cryptographic. ``continued`` holds what the streams of several
    users share that continue. ``name`` and ``binding`` are kept with the stream.
    """
    if bits is None and seed is not None:
        bits = SeededSteps(seed)
    if past is None:
        protector, before = policy.protector(rng=bits), 0
    else:
        protector, before = (continued or ContinuedStreams()).protector(policy, past, bits)
        name = past.stream
    with protector:
        done = max(0, protector.next_step - before)
        for step in range(done, len(cells)):
            if step + before < 0:
                continue  # before the stream began
            if bits is not None:
                bits.begin(step)
            protector.release(cells[step], step=step + before)
        kept = KeptStream.of(
            protector, policy, before, len(cells), stream=name, binding=binding or {}, past=past
        )
        ledger = protector.ledger
        if past is not None:
            guarantees = [event.guarantee for event in policy.events.values()]
            ledger = kept.ledger(tuple(policy.events), guarantees, ledger.against)
        return ProtectedStream(user, ledger, max(0, len(cells) - done), kept)
