"""One user's stream: every step released once, and kept in a form that goes on anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priste.batch.draws import StepBits
from priste.errors import StateError
from priste.policy import Policy
from priste.quantify import Guarantee
from priste.release import Ledger
from priste.release.seeded_steps import SeededSteps
from priste.release.stream_file import binding as bindings
from priste.release.stream_file import journal as stream_file
from priste.release.stream_file.entry import Likelihoods, LikelihoodTexts, entry_from_json

OnStep = Callable[[int], None]
Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class ProtectedStream:
    """What was released for one user. Holds no true location.

    ``records`` are what :meth:`priste.Protector.records` gives; ``drawn`` is how many steps were
    drawn now.
    """

    user: str | None
    ledger: Ledger
    drawn: int
    records: Records = ()

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
    earlier: Records = (),
    on_step: OnStep | None = None,
) -> ProtectedStream:
    """Release every step of one user; steps that are among the ``earlier`` ones are not drawn.

    ``cells`` are the true cells, None for a gap. ``bits`` are those of each step (see
    :mod:`priste.batch.draws`); a ``seed``, for experiments, stands for the bits that follow from
    it; without either they are cryptographic. ``on_step`` is told each step when it is done.
    """
    if bits is None and seed is not None:
        bits = SeededSteps(seed)
    with policy.protector(rng=bits) as protector:
        protector.replay(earlier)
        done = protector.next_step
        for step in range(done, len(cells)):
            if bits is not None:
                bits.begin(step)
            protector.release(cells[step], step=step)
            if on_step is not None:
                on_step(step)
        drawn = max(0, len(cells) - done)
        return ProtectedStream(user, protector.ledger, drawn, protector.records())


def journal_bytes(records: Records, belongs_to: Mapping[str, str], stream: str) -> bytes:
    """Return a stream as bytes that are checked when they are read, bound to what it belongs to.

    The format is that of journals, without the terms: these are kept once, with the run.
    """
    header = {"stream": stream, "binding": bindings.checked_binding(belongs_to)}
    return stream_file.encode(header, records)[0]


@dataclass(frozen=True)
class KeptStream:
    """A stream as it was kept: its identity, what it belongs to, and the records of its steps."""

    stream: str
    binding: Mapping[str, str]
    records: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, data: bytes, place: Path) -> KeptStream:
        """Read what :func:`journal_bytes` made, or a whole journal; ``place`` is for messages."""
        contents = stream_file.decode(data, place)
        binding = bindings.check_binding(contents.header, None, place)
        return cls(str(contents.header.get("stream")), binding, contents.records)

    @property
    def cells(self) -> tuple[int | None, ...]:
        """The released cell of each step; None for silence."""
        return tuple(record.get("output") for record in self.records)

    def ledger(self, names: Sequence[str], guarantees: Sequence[Guarantee], against: str) -> Ledger:
        """Return the ledger of the stream under the guarantees it was made with."""
        likelihoods = Likelihoods()
        try:
            entries = [entry_from_json(record, likelihoods, against) for record in self.records]
        except (KeyError, TypeError, ValueError) as problem:
            raise StateError(f"A kept stream cannot be read: {problem}.") from problem
        return Ledger(
            names,
            [entry.release for entry in entries],
            LikelihoodTexts(entries, likelihoods),
            guarantees=guarantees,
            against=against,
        )
