"""The release loop: one stream of locations in, one stream of private outputs out."""

from __future__ import annotations

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
from priste.release.accountant import AccountantState
from priste.release.calibrators import DEFAULT_CALIBRATOR, Calibrator, as_calibrator
from priste.release.guarded_hours import Pads
from priste.release.ledger import Ledger, Release
from priste.release.release_tables import Draw, OutputDistribution
from priste.release.stream_record import StreamRecord, recounted
from priste.release.stream_tree import StreamNode, StreamTree
from priste.release.terms import Events, Guarantees, Models, make_terms
from priste.showable import Plottable

MAX_SKIPPED_STEPS = 100_000
"""How far ahead a release may jump: every skipped step is a silent one and takes time."""


class Protector(Plottable):
    """Release locations one by one so that every guarded event stays deniable.

    ``model`` is a mobility model, or a sequence of models: with ``family="each"`` the adversary
    holds one of them, with ``"joint"`` (the default, and stronger) is unsure which. ``events`` is
    an event, a sequence, or a mapping from names to events. ``guarantee`` is one guarantee or one
    per event: a number ε (both directions), an ``OddsBound`` or a ``BeliefBound``. ``adversary``
    is the class of priors that it holds against, or one class per model. It has no default:
    ``AnyPrior()`` is the paper's and the strongest, and on most maps leaves little to release;
    ``KnownPrior(model.stationary())`` knows the mobility model and nothing else.

    ``guarded_hours`` is a number of steps, the pad, or one per event by its name: from ``pad``
    steps before the steps of the event to ``pad`` steps after them the best public guess is
    released, whatever the user does. Two trajectories that differ only there give releases of the
    same distribution, for every model and prior. None, the default, is no guarded hours.
    Calibrators without a guarantee ignore it.

    ``calibrator`` is ``"optimal"`` (the default), ``"certified"``, ``"paper"``,
    ``"uncalibrated"``, or an object with the methods of :class:`~priste.release.Calibrator`.
    ``rng`` None draws from the system's cryptographic generator; a seed repeats its draws and is
    only for experiments. ``public_prior`` (m,) is where the prediction begins, for location sets
    and for the cost of tables; by default it is the mean of the adversary's priors. ``journal`` is
    the path of a new file: every release is on the disk before it is returned. ``binding`` are
    names and texts that say what the stream belongs to (a user, a policy, a data set); they are
    kept in its files, and :meth:`resume` and :meth:`load` can insist on them.

    Guarantee of ``"optimal"`` and ``"certified"``: after every release, for every event and every
    prior of the adversary, the guarantee of the event holds against an adversary who knows the
    code, the terms and all releases with their budgets. For a number ε: the likelihoods of the
    releases given the event and given its negation differ by at most a factor e**ε, in both
    directions. It assumes that the mobility model holds, and that whether a step is silent does
    not depend on where the user is. ``"paper"`` and ``"uncalibrated"`` give no guarantee: their
    leakage is measured, and in the paper's loop it is not the true one
    (:mod:`priste.release.calibrators.paper`).

    The reported leakage is an upper bound of the exact one. It may lie above ε by the slack of
    :func:`priste.quantify.worst_prior_leakage`, never below the exact value.

    Raises InvalidParameter for an event that cannot happen, or happens for certain, under every
    prior of the adversary: nothing is open about it, and a leakage of 0 would mislead. Likewise
    for a ``BeliefBound`` that some prior of the adversary exceeds before any release.

    >>> from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, presence
    >>> grid = Grid(rows=4, columns=4, cell_size=1.0)
    >>> model = MarkovModel.gaussian(grid, sigma=1.0)
    >>> clinic = presence([0, 1], steps=[1, 2])
    >>> p = Protector(model, clinic, PlanarLaplace(grid, alpha=1.0), guarantee=0.5,
    ...               adversary=KnownPrior(model.stationary()), rng=7)
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
        adversary: Adversary | Sequence[Adversary],
        family: Family = "joint",
        guarded_hours: Pads = None,
        public_prior: ArrayLike | None = None,
        journal: str | Path | None = None,
        binding: Mapping[str, str] | None = None,
    ) -> None:
        terms = make_terms(
            model,
            events,
            mechanism,
            guarantee,
            public_prior,
            adversary,
            family,
            guarded_hours,
        )
        tree = StreamTree.of(terms, as_calibrator(calibrator), memory=0)
        self._begin(tree.root, rng, journal, binding)

    def _begin(
        self,
        node: StreamNode,
        rng: Seed | BitSource,
        journal: str | Path | None,
        binding: Mapping[str, str] | None,
    ) -> None:
        self._node = node
        self._record = StreamRecord(node.state.terms, node.calibrator, binding)
        self._bits = bit_source(rng)
        self._stopped: str | None = None
        self._turn = threading.RLock()
        if journal is not None:
            self._record.start_journal(Path(journal))

    @classmethod
    def sharing(
        cls,
        tree: StreamTree,
        rng: Seed | BitSource = None,
        *,
        journal: str | Path | None = None,
    ) -> Self:
        """Return a Protector that shares with others what they have in common.

        Its releases are those that it would make on its own.
        """
        self = cls.__new__(cls)
        self._begin(tree.root, rng, journal, None)
        return self

    # ------------------------------------------------------------------ looking

    @property
    def state(self) -> AccountantState:
        """The accountant's state before the next step: all that an adversary can know."""
        return self._node.state

    @property
    def node(self) -> StreamNode:
        """The state with the rule that the calibrator chose for it, and the states that follow."""
        return self._node

    @property
    def calibrator(self) -> Calibrator:
        """What chooses the release table of each step."""
        return self._record.calibrator

    @property
    def next_step(self) -> int:
        """The step that the next call of :meth:`release` is about; steps count from 0."""
        return self.state.step

    @property
    def leakage(self) -> tuple[float, ...]:
        """The leakage so far, one entry per event in order."""
        return self.state.leakage

    @property
    def belief(self) -> tuple[float, ...]:
        """How sure the surest prior of the adversary is by now, one entry per event in order."""
        return self.state.belief

    @property
    def event_names(self) -> tuple[str, ...]:
        """The names of the events in order; "event", "event0", "event1", … unless named."""
        return self._record.terms.event_names

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The largest exact leakage under each guarantee; inf where it bounds a belief."""
        return self._record.terms.epsilons

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantee of each event, in order."""
        return self._record.terms.guarantees

    @property
    def adversary(self) -> Adversary:
        """The adversary that the guarantee is against."""
        return self._record.terms.adversary

    @property
    def guarded_hours(self) -> frozenset[int]:
        """The steps of the stream at which the release says nothing, whatever the true cell."""
        return self.state.terms.guarded_hours if self.calibrator.guaranteed else frozenset()

    @property
    def over_limit(self) -> tuple[str, ...]:
        """The events whose guarantee earlier releases broke before a change of policy made it.

        While there are any, nothing but silence is released.
        """
        return self._record.over_limit

    @property
    def binding(self) -> dict[str, str]:
        """What the stream belongs to, as it was given when the stream began."""
        return dict(self._record.binding)

    @property
    def ledger(self) -> Ledger:
        """All releases so far."""
        with self._turn:
            return self._record.ledger

    @property
    def torn_bytes(self) -> int:
        """How many bytes of an unfinished last line were left out when the state was read."""
        return self._record.torn_bytes

    def distribution(self) -> OutputDistribution:
        """Return the exact distribution of the next release at every true cell."""
        with self._turn:
            return self._node.rule.distribution()

    def leakages(self) -> tuple[Leakage, ...]:
        """Return the leakage of each event in both directions, with a prior that learns most."""
        with self._turn:
            return self.state.leakages()

    def leakage_against(self, adversary: Adversary) -> tuple[Leakage, ...]:
        """Return what another adversary learns from the releases so far, one entry per event.

        A guarantee against a narrow adversary says nothing about others. ``AnyPrior()`` here says
        what an adversary with any prior and the same mobility model learns. All releases are
        gone through again.
        """
        with self._turn:
            terms, record = self._record.terms, self._record
            quantifiers = [
                Quantifier(terms.models, event, adversary, family=terms.family)
                for event in terms.events
            ]
            for entry in record.entries:
                digest = entry.digest
                likelihood = None if digest is None else record.likelihoods.array(digest)
                for quantifier in quantifiers:
                    quantifier.observe(likelihood)
            return tuple(quantifier.leakage() for quantifier in quantifiers)

    # ------------------------------------------------------------------ releasing

    def release(self, cell: int | None, step: int | None = None) -> Release:
        """Release one step and return what was released.

        ``cell`` is the true cell, or None for a missing fix: then nothing is released, nothing is
        spent, and the step is over. ``step`` None means the next one. A step that was released
        before returns the same release without a new draw, whatever the cell; steps that
        are skipped become silent. With a journal, the release is on the disk when this
        returns.

        Raises :class:`~priste.errors.ReleaseRefused` if earlier releases break a guarantee, which
        only a change of policy can bring about; ``release(None)`` is still possible then.
        """
        with self._turn:
            wanted = self._checked_step(step)
            if wanted < self.next_step:
                return self._record.entries[wanted].release
            true_cell = self._checked_cell(cell)
            self._refuse_when_stopped()
            self.state.check_horizon(wanted)
            if true_cell is not None and self.over_limit:
                raise ReleaseRefused(
                    "The releases before the change of policy already reveal more than is "
                    f"guaranteed about {list(self.over_limit)}. No further release can undo that, "
                    "so nothing is released.",
                    hint="Silent steps are possible; otherwise relax the guarantee or begin a new "
                    "stream.",
                )
            silent = range(self.next_step, wanted if true_cell is not None else wanted + 1)
            if silent:
                self._commit([None] * len(silent))
            if true_cell is not None:
                self._commit([self._node.rule.draw(true_cell, self._bits)])
            return self._record.entries[wanted].release

    def _commit(self, draws: Sequence[Draw | None]) -> None:
        """Write draws (None for silence) to the journal, then make them part of the stream.

        The journal comes first, so a release that was returned is on the disk. Whatever
        interrupts this stops the Protector: only the file then shows how far the stream came.
        """
        self._stopped = "a release was interrupted"
        node, entries = self._node, []
        for drawn in draws:
            node = node.after(drawn)
            entries.append(self._record.entry(drawn, node.state))
        self._record.append(entries, node.state)
        self._node = node
        self._stopped = None

    def _checked_step(self, step: int | None) -> int:
        if step is None:
            return self.next_step
        wanted = check_int(step, "step", "a release", hint="None is the next step.")
        if wanted - self.next_step > MAX_SKIPPED_STEPS:
            raise InvalidParameter(
                f"must skip at most {MAX_SKIPPED_STEPS} steps; the next step is {self.next_step}",
                parameter="step",
                owner="a release",
                value=wanted,
                hint="Check the clock, or begin a new stream.",
            )
        return wanted

    def _checked_cell(self, cell: int | None) -> int | None:
        if cell is None:
            return None
        return check_int(
            cell,
            "cell",
            "a release",
            most=self._record.terms.mechanism.grid.size - 1,
            hint="None is a missing fix; cell_at() of the grid finds cells.",
            secret=True,
        )

    def _refuse_when_stopped(self) -> None:
        if self._stopped is not None:
            raise StateError(
                f"This Protector has stopped: {self._stopped}.",
                hint="Continue the stream with Protector.resume(journal) or from its last saved "
                "state.",
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
            self._record.save(Path(path), self.state)

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

        ``mechanism`` and ``calibrator`` are needed only for classes of your own, which a file
        cannot hold. With ``binding``, a stream that belongs to anything else is refused. To go on
        writing to a journal use :meth:`resume`; a journal that another Protector is writing to
        cannot be loaded.
        """
        return cls._from_file(path, False, rng, mechanism, calibrator, binding)

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

        A last line that a crash left unfinished belongs to a release that was never returned: it is
        cut off, logged, and counted in :attr:`torn_bytes`. Ask for the step you were at with
        ``release(cell, step=k)``: if it had been released, the same release comes back. With
        ``binding``, a stream that belongs to anything else is refused.
        """
        return cls._from_file(path, True, rng, mechanism, calibrator, binding)

    @classmethod
    def _from_file(
        cls,
        path: str | Path,
        writing: bool,
        rng: Seed | BitSource,
        mechanism: Mechanism | None,
        calibrator: Calibrator | None,
        binding: Mapping[str, str] | None,
    ) -> Self:
        record, state = StreamRecord.read(
            Path(path),
            writing=writing,
            mechanism=mechanism,
            calibrator=calibrator,
            binding=binding,
        )
        return cls._resumed(record, state, rng)

    @classmethod
    def _resumed(cls, record: StreamRecord, state: AccountantState, rng: Seed | BitSource) -> Self:
        self = cls.__new__(cls)
        self._begin(StreamNode(state, record.calibrator, None), rng, None, None)
        self._record = record
        return self

    def records(self) -> list[dict[str, Any]]:
        """Return what a file of this stream holds of its steps: plain values, one record a step."""
        with self._turn:
            return self._record.records()

    def replay(self, records: Iterable[Mapping[str, Any]], *, anew: bool = False) -> None:
        """Take in what :meth:`records` gave of this stream before; nothing is drawn.

        For doors that keep many streams in one place and their terms once. The Protector must be
        at its beginning, without a journal, and under the terms of that stream. With ``anew`` the
        terms may be others on the same map: every release is counted again, and
        :attr:`over_limit` names the events about which they reveal too much. Raises StateError
        for records that cannot be of it; then the Protector is of no further use.
        """
        with self._turn:
            if self._record.entries or self._record.journal_path is not None:
                raise InvalidParameter(
                    "A stream is replayed into a new Protector without a journal. This one has "
                    "begun, or writes to a file.",
                    hint="Make another.",
                )
            self._stopped = "a replay was interrupted"
            listed = list(records)
            if listed:
                try:
                    replay = self._record.recount if anew else self._record.replay
                    state = replay(listed, self.state)
                except (KeyError, TypeError, ValueError) as problem:
                    raise StateError(
                        f"A record cannot be replayed: {problem}.",
                        hint="Give the records of this stream, as records() returned them.",
                    ) from problem
                self._node = StreamNode(state, self._record.calibrator, None)
            self._stopped = None

    def with_policy(
        self,
        events: Events,
        guarantee: Guarantees,
        *,
        adversary: Adversary | Sequence[Adversary] | None = None,
        guarded_hours: Pads = None,
        journal: str | Path | None = None,
        binding: Mapping[str, str] | None = None,
    ) -> Self:
        """Continue this stream under other events or guarantees, from the same past releases.

        ``adversary`` None keeps the one it has. ``guarded_hours`` are those of the new events, as
        when a stream begins; steps that were released before stay as they are. The releases so far
        are counted against the new events. If they already reveal more than is guaranteed now, no
        release can undo that: the new Protector refuses all but silence.
        This Protector stops; the new one begins a file of its own if ``journal`` is given, and
        belongs to the same as this one unless ``binding`` says otherwise.
        """
        with self._turn:
            self._refuse_when_stopped()
            old = self._record.terms
            terms = make_terms(
                old.models,
                events,
                old.mechanism,
                guarantee,
                # The prediction goes on as it began, whichever adversary is guarded against now.
                old.public_prior if adversary is None else old.expected_start(),
                old.adversary if adversary is None else adversary,
                old.family,
                guarded_hours,
            )
            belongs_to = self._record.binding if binding is None else binding
            record = StreamRecord(terms, self._record.calibrator, belongs_to)
            record.likelihoods = self._record.likelihoods
            try:
                record.entries, state, record.over_limit = recounted(
                    self._record.entries, record.likelihoods, AccountantState.first(terms)
                )
            except PristeError:
                raise
            except ValueError as problem:
                raise StateError(
                    f"The releases so far cannot be counted under another policy: {problem}.",
                    hint="Begin a new stream under it.",
                ) from problem
            if journal is not None:
                record.start_journal(Path(journal))
            self._stopped = "its stream goes on under another policy"
            self.close()
            return self._resumed(record, state, self._bits)

    def close(self) -> None:
        """Give up the journal and its lock; without a journal this does nothing."""
        with self._turn:
            if self._record.close():
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
            f"Protector({', '.join(self.event_names)}; next step {self.next_step}, "
            f"{type(self.calibrator).__name__.lower()})"
        )
