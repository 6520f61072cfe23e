"""The release loop: one stream of locations in, one stream of private outputs out."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from numpy.typing import ArrayLike

from priste.arguments import check_int
from priste.errors import InvalidParameter, PristeError, ReleaseRefused, StateError
from priste.mechanisms import Mechanism
from priste.quantify import Adversary, Family, Guarantee, Leakage, Quantifier
from priste.randomness import BitSource, Seed, bit_source
from priste.release.calibrator import Calibrator, Draw, Law
from priste.release.calibrators import DEFAULT_CALIBRATOR
from priste.release.ledger import Ledger, Release
from priste.release.public_state import PublicState
from priste.release.shared_beginnings import Beginnings
from priste.release.stream_file import checkpoint
from priste.release.stream_file import journal as files
from priste.release.stream_file.binding import check_binding, checked_binding
from priste.release.stream_file.entry import Entry, entry_to_json
from priste.release.stream_file.header import terms_from_json, terms_to_json
from priste.release.taking_in import recalled, recorded_column, recounted, replayed, taken_in
from priste.release.terms import Events, Guarantees, Models, Terms, make_terms

MAX_SKIPPED_STEPS = 100_000
"""How far ahead a release may jump: every skipped step is a silent one and takes time."""

_log = logging.getLogger("priste.release")


class Protector:
    """Release locations one by one so that every guarded event stays deniable.

    ``model`` is how people move, or a sequence of models: with ``family="each"`` the adversary
    holds one of them, with ``"joint"`` (the default, and stronger) is unsure which. ``events`` is
    an event, a sequence, or a mapping from names to events; ``guarantee`` one guarantee or one per
    event: a number (both directions), an ``OddsBound`` or a ``BeliefBound``. ``adversary`` is whom
    they are kept against, ``AnyPrior()``
    by default: every prior over the first cell (and the model); a sequence has one for each model.
    ``calibrator`` is ``"optimal"``
    (the default), ``"certified"``, ``"paper"``, ``"uncalibrated"``, or an object with the methods
    of :class:`~priste.release.Calibrator`; the last two guarantee nothing against those who know
    the code. ``rng`` None draws from the
    system's cryptographic generator; a seed repeats its draws and is for experiments alone.
    ``public_prior`` (m,) feeds the prediction that location sets use; uniform by default.
    ``journal`` is the path of a new file: every release is on the disk before it is returned.
    ``binding`` are names and texts that say what the stream belongs to (a user, a policy, a data
    set); they are kept in its files, and :meth:`resume` and :meth:`load` can insist on them.

    Guarantee of the first three: after every release, for every event and every prior of the
    adversary, what was guaranteed holds for an adversary who knows the code and sees all releases
    (and budgets). For a number ε: the likelihoods given the event and given its negation differ by
    at most a factor e**ε, in both directions. It assumes that whether a step is silent does not
    depend on where the user is.

    Raises InvalidParameter for an event that cannot happen, or happens for certain, whatever the
    prior: nothing is open about it, and a leakage of 0 would only mislead. Likewise for a
    ``BeliefBound`` that some prior of the adversary exceeds before any release.

    >>> from priste import Grid, MarkovModel, PlanarLaplace, presence
    >>> grid = Grid(rows=4, columns=4, cell_size=1.0)
    >>> model = MarkovModel.gaussian(grid, sigma=1.0)
    >>> clinic = presence([0, 1], steps=[1, 2])
    >>> p = Protector(model, clinic, PlanarLaplace(grid, alpha=1.0), guarantee=0.5, rng=7)
    >>> r = p.release(5)
    >>> r.step, r.leakage[0] <= 0.5
    (0, True)
    >>> p.release(11, step=0) == r  # asking again draws nothing
    True
    >>> p.release(None).cell is None  # a missing fix
    True
    """

    def __init__(
        self,
        model: Models,
        events: Events,
        mechanism: Mechanism,
        guarantee: Guarantees,
        calibrator: str | Calibrator = DEFAULT_CALIBRATOR,
        rng: Seed | BitSource = None,
        *,
        adversary: Adversary | Sequence[Adversary] | None = None,
        family: Family = "joint",
        public_prior: ArrayLike | None = None,
        journal: str | Path | None = None,
        binding: Mapping[str, str] | None = None,
    ) -> None:
        terms = make_terms(
            model, events, mechanism, guarantee, calibrator, public_prior, adversary, family
        )
        self._begin(PublicState(terms), rng, journal, binding)

    def _begin(
        self,
        state: PublicState,
        rng: Seed | BitSource,
        journal: str | Path | None,
        binding: Mapping[str, str] | None,
    ) -> None:
        self._terms = state.terms
        self._stream = secrets.token_hex(16)
        self._bits = bit_source(rng)
        self._state = state
        self._entries: list[Entry] = []
        self._journal: files.Journal | None = None
        self._binding = checked_binding(binding)
        self._stored: set[str] = set()  # digests of the columns that the journal holds
        self._packed: dict[str, bytes] = {}  # columns by their digests
        self._checkpointed = 0  # how many steps the checkpoint beside the journal covers
        self._torn_bytes = 0
        self._stopped: str | None = None
        self._over_limit: tuple[str, ...] = ()
        self._turn = threading.RLock()
        if journal is not None:
            self._start_journal(Path(journal))

    @classmethod
    def sharing(
        cls,
        beginnings: Beginnings,
        rng: Seed | BitSource = None,
        *,
        journal: str | Path | None = None,
    ) -> Self:
        """Return a Protector under the terms of others, which shares with them what is the same.

        Its releases are those that it would make on its own.
        """
        self = cls.__new__(cls)
        self._begin(beginnings.state(), rng, journal, None)
        return self

    @classmethod
    def _under(cls, terms: Terms, rng: Seed | BitSource) -> Self:
        """Return a Protector at the beginning of a stream under these terms."""
        return cls(
            terms.models,
            dict(zip(terms.event_names, terms.events, strict=True)),
            terms.mechanism,
            terms.guarantees,
            terms.calibrator,
            rng,
            adversary=terms.adversary,
            family=terms.family,
            public_prior=terms.public_prior,
        )

    # ------------------------------------------------------------------ looking

    @property
    def next_step(self) -> int:
        """The step that the next call of :meth:`release` is about; steps count from 0."""
        return self._state.step

    @property
    def leakage(self) -> tuple[float, ...]:
        """The leakage so far, one entry per event in order."""
        return self._state.leakage

    @property
    def belief(self) -> tuple[float, ...]:
        """How sure the surest prior of the adversary is by now, one entry per event in order."""
        return self._state.belief

    @property
    def event_names(self) -> tuple[str, ...]:
        """The names of the events in order; "event", "event0", "event1", … unless named."""
        return self._terms.event_names

    @property
    def epsilons(self) -> tuple[float, ...]:
        """What no leakage exceeds while its guarantee is kept; inf for a cap on beliefs."""
        return self._terms.epsilons

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is guaranteed about each event, in order."""
        return self._terms.guarantees

    @property
    def adversary(self) -> Adversary:
        """Whom the guarantees are against."""
        return self._terms.adversary

    @property
    def over_limit(self) -> tuple[str, ...]:
        """The events whose guarantee past releases broke before a change of policy made it.

        While there are any, nothing but silence is released.
        """
        return self._over_limit

    @property
    def binding(self) -> dict[str, str]:
        """What the stream belongs to, as it was given when the stream began."""
        return dict(self._binding)

    @property
    def ledger(self) -> Ledger:
        """All releases so far."""
        return Ledger(
            self._terms.event_names,
            [entry.release for entry in self._entries],
            [entry.likelihood for entry in self._entries],
            guarantees=self._terms.guarantees,
            against=self._terms.adversary.words(),
        )

    @property
    def torn_bytes(self) -> int:
        """How many bytes of an unfinished last line were left out when the state was read."""
        return self._torn_bytes

    def law(self) -> Law:
        """Return the exact law of the next release, for an adversary who knows the past ones."""
        with self._turn:
            return self._state.law()

    def leakage_against(self, adversary: Adversary) -> tuple[Leakage, ...]:
        """Return what the releases so far tell another adversary, one entry per event in order.

        A guarantee to a narrow adversary says nothing about others; ``AnyPrior()`` here tells what
        anybody could have learnt, whatever they believed. All releases are gone through again.
        """
        with self._turn:
            terms, walked = self._terms, PublicState(self._terms)
            quantifiers = [
                Quantifier(terms.models, event, adversary, family=terms.family)
                for event in terms.events
            ]
            for entry in self._entries:
                column, error = recorded_column(entry, walked)
                for quantifier in quantifiers:
                    quantifier.observe(column, error)
                told = entry.release
                walked.advance(column, told.budget, leakage=told.leakage, belief=told.belief)
            return tuple(quantifier.leakage() for quantifier in quantifiers)

    def told(self) -> tuple[Leakage, ...]:
        """Return what the releases so far tell about each event, with a prior that learns most."""
        with self._turn:
            return self._state.told()

    def public_state(self) -> PublicState:
        """Return a copy of the public side of the stream, to follow what might come."""
        with self._turn:
            return self._state.copy()

    # ------------------------------------------------------------------ releasing

    def release(self, cell: int | None, step: int | None = None) -> Release:
        """Release one step and return what was released.

        ``cell`` is the true cell, or None for a missing fix: then nothing is released, nothing is
        spent, and the step is over. ``step`` None means the next one. A step that was released
        before returns the same release without a new draw, whatever the cell; steps that
        are skipped become silent. With a journal, the release is on the disk when this
        returns.

        Raises :class:`~priste.errors.ReleaseRefused` if the leakage already exceeds an ε, which
        only a change of policy can bring about; ``release(None)`` is still possible then.
        """
        with self._turn:
            wanted = self._checked_step(step)
            if wanted < self._state.step:
                return self._entries[wanted].release
            true_cell = self._checked_cell(cell)
            self._refuse_when_stopped()
            self._state.check_horizon(wanted)
            if true_cell is not None and self._over_limit:
                raise ReleaseRefused(
                    f"The releases before the change of policy already tell more than allowed "
                    f"about {list(self._over_limit)}. No further release can undo that, so nothing "
                    "is released. Silent steps are possible; otherwise relax ε or begin anew."
                )
            silent = range(self._state.step, wanted if true_cell is not None else wanted + 1)
            if silent:
                self._commit([None] * len(silent))
            if true_cell is not None:
                drawn = self._terms.calibrator.draw(self._state, true_cell, self._bits)
                self._commit([drawn])
            return self._entries[wanted].release

    def _commit(self, draws: Sequence[Draw | None]) -> None:
        """Take draws (None for silence) into the state, the journal and the ledger.

        The journal comes before the ledger and the caller, so a release that anybody has seen is on
        the disk. Whatever interrupts this stops the Protector: only the file can tell then
        how far the stream came.
        """
        self._stopped = "a release was interrupted"
        entries = [taken_in(drawn, self._packed, self._state) for drawn in draws]
        if self._journal is not None:
            self._journal.append(entry_to_json(entry, self._stored) for entry in entries)
        self._entries.extend(entries)
        self._stopped = None
        self._keep_checkpoint()

    def _checked_step(self, step: int | None) -> int:
        if step is None:
            return self._state.step
        wanted = check_int(step, "step", "a release", hint="None is the next step.")
        if wanted - self._state.step > MAX_SKIPPED_STEPS:
            raise InvalidParameter(
                f"A release may skip at most {MAX_SKIPPED_STEPS} steps; the next step is "
                f"{self._state.step}. Got {wanted}. Check the clock, or begin a new stream."
            )
        return wanted

    def _checked_cell(self, cell: int | None) -> int | None:
        if cell is None:
            return None
        return check_int(
            cell,
            "cell",
            "a release",
            most=self._terms.mechanism.grid.size - 1,
            hint="None is a missing fix; cell_at() of the grid finds cells.",
            secret=True,
        )

    def _refuse_when_stopped(self) -> None:
        if self._stopped is not None:
            raise StateError(
                f"This Protector has stopped: {self._stopped}. Continue the stream with "
                "Protector.resume(journal) or from its last saved state."
            )

    # ------------------------------------------------------------------ keeping

    def save(self, path: str | Path) -> None:
        """Write the whole state to a private file, at once or not at all.

        An earlier state of this stream at the path is replaced; any other file there raises
        :class:`~priste.errors.StateError` and stays as it is. The file holds the terms, the
        models and the releases; no true location, and no state of a random generator (from
        which the noise could be undone).
        """
        with self._turn:
            self._refuse_when_stopped()
            path = Path(path)
            if self._journal is not None and self._journal.is_at(path):
                return  # every release is there already
            chain = files.replace(path, self._header(), self._records())
            if self._state.step >= checkpoint.EVERY:
                checkpoint.keep(path, chain, self._state.snapshot())

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        rng: Seed | BitSource = None,
        mechanism: Mechanism | None = None,
        calibrator: Calibrator | None = None,
        binding: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the Protector whose state is in a file, without writing to the file.

        ``mechanism`` and ``calibrator`` are needed only for classes of one's own, which a file
        cannot hold. With ``binding``, a stream that belongs to anything else is refused. To go on
        writing to a journal use :meth:`resume`; a journal that another Protector is writing to
        cannot be loaded.
        """
        path = Path(path)
        files.refuse_if_locked(path)
        return cls._restore(path, files.read(path), rng, mechanism, calibrator, binding)

    @classmethod
    def resume(
        cls,
        path: str | Path,
        *,
        rng: Seed | BitSource = None,
        mechanism: Mechanism | None = None,
        calibrator: Calibrator | None = None,
        binding: Mapping[str, str] | None = None,
    ) -> Self:
        """Continue the stream of a journal (or saved state), writing every release to it.

        A last line that a crash left unfinished belongs to a release that nobody has seen: it is
        cut off, logged, and counted in :attr:`torn_bytes`. Ask for the step you were at with
        ``release(cell, step=k)``: if it had been released, the same release comes back. With
        ``binding``, a stream that belongs to anything else is refused.
        """
        path = Path(path)
        journal, contents = files.Journal.open(path)
        try:
            protector = cls._restore(path, contents, rng, mechanism, calibrator, binding)
        except BaseException:
            journal.close()
            raise
        protector._journal = journal
        return protector

    @classmethod
    def _restore(
        cls,
        path: Path,
        contents: files.Contents,
        rng: Seed | BitSource,
        mechanism: Mechanism | None,
        calibrator: Calibrator | None,
        binding: Mapping[str, str] | None,
    ) -> Self:
        belongs_to = check_binding(contents.header, binding, path)
        terms = terms_from_json(contents.header, path, mechanism=mechanism, calibrator=calibrator)
        stream, over_limit = contents.header.get("stream"), contents.header.get("over_limit")
        known = set(terms.event_names)
        if not isinstance(stream, str) or not (
            isinstance(over_limit, list) and all(name in known for name in over_limit)
        ):
            raise StateError(f"The stream in {str(path)!r} has no name. It was left as it is.")
        self = cls._under(terms, rng)
        self._stream, self._binding = stream, belongs_to
        self._over_limit = tuple(over_limit)
        self._torn_bytes = contents.torn
        if contents.torn:
            _log.warning(
                "The last line of %s was unfinished (%d bytes): a crash came before its release "
                "was returned. It does not count.", path, contents.torn
            )  # fmt: skip
        self._recall(path, contents)
        for record in contents.records[len(self._entries) :]:
            try:
                self._entries.append(replayed(record, self._packed, self._state))
            except (KeyError, TypeError, ValueError) as problem:
                raise StateError(
                    f"A line of {str(path)!r} cannot be replayed: {problem}. It was left as it is."
                ) from problem
        self._stored = set(self._packed)
        return self

    def _recall(self, path: Path, contents: files.Contents) -> None:
        """Take up the steps of a file that its checkpoint covers, if it has one that fits."""
        kept = checkpoint.found(path, contents.chains)
        if kept is None:
            return
        covered = contents.records[: kept.state.step]
        packed: dict[str, bytes] = {}
        try:
            self._entries = recalled(covered, packed, kept.state, self._state)
        except (KeyError, TypeError, ValueError) as problem:
            checkpoint.ignored(path, str(problem))
            return
        self._packed, self._checkpointed = packed, kept.state.step

    def _keep_checkpoint(self) -> None:
        """Spare the next one who opens the journal the replay of a long stream."""
        journal, step = self._journal, self._state.step
        if journal is not None and step - self._checkpointed >= checkpoint.EVERY:
            self._checkpointed = step
            checkpoint.keep(journal.path, journal.chain, self._state.snapshot())

    def records(self) -> list[dict[str, Any]]:
        """Return what a file of this stream holds of its steps: plain values, one record a step."""
        with self._turn:
            return self._records()

    def replay(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Take in what :meth:`records` gave of this stream before; nothing is drawn.

        For doors that keep many streams in one place and their terms once. The Protector must be
        at its beginning, without a journal, and under the terms of that stream. Raises StateError
        for records that cannot be of it; then the Protector is of no further use.
        """
        with self._turn:
            if self._entries or self._journal is not None:
                raise InvalidParameter(
                    "A stream is replayed into a new Protector without a journal. This one has "
                    "begun, or writes to a file: make another."
                )
            self._stopped = "a replay was interrupted"
            for record in records:
                try:
                    self._entries.append(replayed(record, self._packed, self._state))
                except (KeyError, TypeError, ValueError) as problem:
                    raise StateError(f"A record cannot be replayed: {problem}.") from problem
            self._stored = set(self._packed)
            self._stopped = None

    def _header(self) -> dict[str, Any]:
        return {
            "stream": self._stream,
            "over_limit": list(self._over_limit),
            "binding": self._binding,
            **terms_to_json(self._terms),
        }

    def _records(self) -> list[dict[str, Any]]:
        stored: set[str] = set()
        return [entry_to_json(entry, stored) for entry in self._entries]

    def _start_journal(self, path: Path) -> None:
        files.create(path, self._header(), self._records())
        self._stored = {entry.column for entry in self._entries if entry.packed and entry.column}
        self._journal, _ = files.Journal.open(path)

    def with_policy(
        self,
        events: Events,
        guarantee: Guarantees,
        *,
        adversary: Adversary | Sequence[Adversary] | None = None,
        journal: str | Path | None = None,
        binding: Mapping[str, str] | None = None,
    ) -> Self:
        """Continue this stream under other events or guarantees, from the same past releases.

        ``adversary`` None keeps the one it has. The releases so far are counted against the new
        events. If they already tell more than is guaranteed now, no release can undo that: the new
        Protector refuses all but silence.
        This Protector stops; the new one begins a file of its own if ``journal`` is given, and
        belongs to the same as this one unless ``binding`` says otherwise.
        """
        with self._turn:
            self._refuse_when_stopped()
            old = self._terms
            terms = make_terms(
                old.models,
                events,
                old.mechanism,
                guarantee,
                old.calibrator,
                # The prediction goes on as it began, whoever is guarded against now.
                old.public_prior if adversary is None else old.expected_start(),
                old.adversary if adversary is None else adversary,
                old.family,
            )
            new = self._under(terms, self._bits)
            new._binding = self._binding if binding is None else checked_binding(binding)
            try:
                new._entries = [recounted(entry, new._state) for entry in self._entries]
            except PristeError:
                raise
            except ValueError as problem:
                raise StateError(
                    f"The releases so far cannot be counted under another policy: {problem}."
                ) from problem
            new._over_limit = new._state.over_limit()
            if journal is not None:
                new._start_journal(Path(journal))
            self._stopped = "its stream goes on under another policy"
            self.close()
            return new

    def close(self) -> None:
        """Give up the journal and its lock; without a journal this does nothing."""
        with self._turn:
            if self._journal is not None:
                self._journal.close()
                self._stopped = self._stopped or "its journal was closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"Protector({', '.join(self._terms.event_names)}; next step {self.next_step}, "
            f"{type(self._terms.calibrator).__name__.lower()})"
        )
