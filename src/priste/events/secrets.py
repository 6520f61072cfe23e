"""Secrets with several answers: trajectories in classes, no two of which a release may distinguish.

An event and its negation are two answers. A :class:`Secret` has one answer for each of several
events that exclude each other, and :func:`together` one for each combination of events that can
happen. A guarantee about a secret bounds how far any two of its answers can be distinguished. It
covers every statement that is made of its events by "and", "or" and "not" (Theorems 7 and 8 of
docs/explanation/proofs.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from priste.errors import InvalidParameter
from priste.events.automaton import Automaton, Layer
from priste.events.automaton_building import merged_classes
from priste.events.event_words import too_many_together
from priste.events.formula import DEFAULT_MAX_WORLDS, Event
from priste.events.partitions import Partition

MAX_ANSWERS = 16
"""How many answers a secret may have: a check compares each two of them."""

NEITHER = "neither"
"""The answer that none of the named events happened."""

_Truths = tuple[bool, ...]


class Secret:
    """Which of several events happened: one answer for each, and "neither".

    ``answers`` maps the name of each answer to its event. No trajectory may make two of them
    happen; ``e2 & ~e1`` makes two events exclude each other, and :func:`together` guards events
    that do not. The last answer is "neither", left out where one of the events always happens.

    - ``answers``: the names of all answers, in order. At most ``MAX_ANSWERS``.
    - ``has_rest``: whether the last answer says that no named event happened.
    - ``events``: the named events. ``parts`` maps each name to the answers, by number, in which
      the event happens.

    Raises :class:`InvalidParameter` for events that can both happen, for one that always or never
    happens, and for too many answers.

    >>> from priste.events import at
    >>> clinic = Secret({"oncology": at([0], 2), "dentist": at([1], 2)})
    >>> clinic.answers
    ('oncology', 'dentist', 'neither')
    >>> clinic.answer([5, 5, 1])
    'dentist'
    """

    def __init__(self, answers: Mapping[str, Event]) -> None:
        names, events = _checked(answers, "Secret")
        product = _Product(names, events)
        for truths in product.truths:
            both = [name for name, true in zip(names, truths, strict=True) if true]
            if len(both) > 1:
                raise InvalidParameter(
                    f"The answers of a Secret must exclude each other. {both[0]!r} and {both[1]!r} "
                    "can both happen.",
                    hint="Guard them with together(...), or write one as 'e2 & ~e1'.",
                )
        order = [tuple(k == place for k in range(len(names))) for place in range(len(names))]
        nothing = (False,) * len(names)
        self.has_rest = nothing in product.truths
        self._finish(
            "answers",
            dict(zip(names, events, strict=True)),
            product,
            order + [nothing] * self.has_rest,
            names + (NEITHER,) * self.has_rest,
        )

    def _finish(
        self,
        kind: str,
        events: dict[str, Event],
        product: _Product,
        order: Sequence[_Truths],
        answers: tuple[str, ...],
    ) -> None:
        if len(answers) > MAX_ANSWERS:
            raise too_many_answers(kind, tuple(events), product.truths)
        self.kind = kind
        self.events = events
        self.answers = answers
        self.parts = {
            name: frozenset(number for number, truths in enumerate(order) if truths[place])
            for place, name in enumerate(events)
        }
        numbers = {truths: number for number, truths in enumerate(order)}
        self._automaton = product.automaton(numbers)
        steps = [e.first_step for e in events.values() if e.first_step is not None]
        ends = [e.last_step for e in events.values() if e.last_step is not None]
        self.first_step: int | None = min(steps, default=None)
        self.last_step: int | None = max(ends, default=None)

    def automaton(self) -> Automaton:
        """Return the smallest automaton whose last worlds are the answers, the last answer first.

        With one event it is that of the event.
        """
        return self._automaton

    def answer(self, trajectory: Sequence[int]) -> str:
        """Return the answer that a trajectory of true cells gives."""
        return self.answers[len(self.answers) - 1 - self._automaton.last_world(trajectory)]

    def holds(self, trajectory: Sequence[int]) -> bool:
        """Return whether a trajectory gives another answer than the last one."""
        return self._automaton.last_world(trajectory) != 0

    def with_events(self, change: Callable[[Event], Event]) -> Secret:
        """Return the same secret with each of its events changed."""
        changed = {name: change(event) for name, event in self.events.items()}
        return secret_from_dict(self.to_dict(), changed)

    def to_dict(self) -> dict[str, object]:
        """Return what :func:`secret_from_dict` reads, ready for JSON."""
        return {
            "secret": self.kind,
            "events": [[name, str(event)] for name, event in self.events.items()],
        }

    def __str__(self) -> str:
        named = "; ".join(f"{name}: {event}" for name, event in self.events.items())
        return f"{'together' if self.kind == 'together' else 'one of'} ({named})"

    def __repr__(self) -> str:
        return f"<Secret {', '.join(self.answers)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        mine, others = list(self.events.items()), list(other.events.items())
        return self.kind == other.kind and mine == others

    def __hash__(self) -> int:
        return hash((self.kind, tuple(self.events.items())))


Guarded = Event | Secret
"""What a guarantee can be about."""


def together(*events: Event | Mapping[str, Event]) -> Secret:
    """Return the secret of which of several events happened: every combination is an answer.

    Give the events one by one, or one mapping from names to events. Combinations that no
    trajectory makes have no answer. The last answer is that none happened, where that is possible.
    A guarantee about it covers each of the events, "at least one", "all", "exactly one", and
    everything else that is made of them.

    >>> from priste.events import presence
    >>> both = together({"treatment": presence([0], [1, 2]), "group": presence([1], [2, 3])})
    >>> both.answers
    ('treatment and group', 'treatment only', 'group only', 'neither')
    """
    if len(events) == 1 and isinstance(events[0], Mapping):
        named: Mapping[str, object] = events[0]
    else:
        named = {f"event{number}": event for number, event in enumerate(events)}
    names, formulas = _checked(named, "together")
    product = _Product(names, formulas)
    order = sorted(product.truths, reverse=True)
    secret = Secret.__new__(Secret)
    secret.has_rest = not any(order[-1])
    secret._finish(
        "together",
        dict(zip(names, formulas, strict=True)),
        product,
        order,
        tuple(_combination(names, truths) for truths in order),
    )
    return secret


def secret_from_dict(described: Mapping[str, object], events: Mapping[str, Event]) -> Secret:
    """Return the secret of a dictionary of :meth:`Secret.to_dict`, its events read by the caller.

    Raises ValueError for a kind that there is not.
    """
    if described["secret"] == "together":
        return together(events)
    if described["secret"] != "answers":
        raise ValueError(f"a secret is of 'answers' or 'together', not {described['secret']!r}")
    return Secret(events)


def too_many_answers(
    kind: str, names: tuple[str, ...], truths: Sequence[_Truths]
) -> InvalidParameter:
    """Say how many answers are needed, and which events to leave out."""
    if kind == "answers":
        rest = f" and {NEITHER!r}" if (False,) * len(names) in truths else ""
        return InvalidParameter(
            f"A Secret has at most {MAX_ANSWERS} answers. These are {len(names)}{rest}.",
            hint=f"Leave out {len(names) + 1 - MAX_ANSWERS}, or join answers with '|'.",
        )
    kept = list(range(len(names)))
    dropped = []
    while len({tuple(each[k] for k in kept) for each in truths}) > MAX_ANSWERS:
        counts = {
            place: len({tuple(each[k] for k in kept if k != place) for each in truths})
            for place in kept
        }
        least = min(kept, key=lambda place: (counts[place], -place))
        kept.remove(least)
        dropped.append(names[least])
    left = len({tuple(each[k] for k in kept) for each in truths})
    return InvalidParameter(
        f"Guarding {', '.join(map(repr, names))} together needs {len(truths)} answers, one for "
        f"each combination that can happen. At most {MAX_ANSWERS} are possible.",
        hint=f"Without {', '.join(map(repr, dropped))} it needs {left}. Guard what is left out by "
        "itself, or in a second secret.",
    )


def _checked(answers: object, owner: str) -> tuple[tuple[str, ...], tuple[Event, ...]]:
    if not isinstance(answers, Mapping) or not answers:
        raise InvalidParameter(
            "must be a mapping from names to events, one at least",
            parameter="answers" if owner == "Secret" else "events",
            owner=owner,
            value=type(answers).__name__,
        )
    for name, event in answers.items():
        if not isinstance(name, str) or not name or name == NEITHER or not isinstance(event, Event):
            raise InvalidParameter(
                f"must be Events, named by texts other than {NEITHER!r}",
                parameter="answers" if owner == "Secret" else "events",
                owner=owner,
                value=f"{name!r}: {type(event).__name__}",
            )
        constant = event.automaton().constant
        if constant is not None:
            raise InvalidParameter(
                f"The event {name!r} {'always' if constant else 'never'} happens: there is nothing "
                "to guard about it.",
                hint="Leave it out.",
            )
    return tuple(answers), tuple(answers.values())


def _combination(names: Sequence[str], truths: _Truths) -> str:
    happened = [name for name, true in zip(names, truths, strict=True) if true]
    if not happened:
        return NEITHER
    listed = " and ".join(filter(None, [", ".join(happened[:-1]), happened[-1]]))
    return listed if len(happened) == len(names) else f"{listed} only"


class _Product:
    """The automata of several events run side by side."""

    def __init__(self, names: Sequence[str], events: Sequence[Event]) -> None:
        automata = [event.automaton() for event in events]
        layers = [{layer.step: layer for layer in each.layers} for each in automata]
        worlds: list[tuple[int, ...]] = [(0,) * len(automata)]
        self._layers: list[tuple[int, tuple[frozenset[int], ...], list[list[int]]]] = []
        for step in sorted(set().union(*layers)):
            here = [each.get(step) for each in layers]
            classes = Partition([c for each in here if each for c in each.classes]).classes
            reads = [_classes_read(each, classes) for each in here]
            numbers: dict[tuple[int, ...], int] = {}
            moves = []
            for world in worlds:
                row = []
                for number in range(len(classes) + 1):
                    after = tuple(
                        was if each is None else each.moves[was][read[number]]
                        for was, each, read in zip(world, here, reads, strict=True)
                    )
                    row.append(numbers.setdefault(after, len(numbers)))
                moves.append(row)
            worlds = list(numbers)
            if len(worlds) > 16 * DEFAULT_MAX_WORLDS:
                raise too_many_together(names, step, len(worlds))
            self._layers.append((step, classes, moves))
        self._names = names
        self._ends = [tuple(world == 1 for world in each) for each in worlds]
        self.truths: Sequence[_Truths] = sorted(set(self._ends))

    def automaton(self, numbers: Mapping[_Truths, int]) -> Automaton:
        """Return the smallest automaton that distinguishes these answers, the last one first."""
        # From the last layer back: worlds with the same future are one.
        labels = [len(numbers) - 1 - numbers[truths] for truths in self._ends]
        rows_by_layer: list[list[tuple[int, ...]]] = []
        for _, _, moves in reversed(self._layers):
            found: dict[tuple[int, ...], int] = {}
            rows = [tuple(labels[target] for target in row) for row in moves]
            labels = [found.setdefault(row, len(found)) for row in rows]
            rows_by_layer.append(list(found))
        rows_by_layer.reverse()
        made: list[Layer] = []
        worlds = labels[:1]
        last = len(self._layers) - 1
        for place, (step, classes, _) in enumerate(self._layers):
            rows = [rows_by_layer[place][world] for world in worlds]
            merged, columns = merged_classes(classes, rows)
            renumbered = {k: k for k in range(len(numbers))} if place == last else {}
            led = tuple(
                tuple(renumbered.setdefault(row[c], len(renumbered)) for c in columns)
                for row in rows
            )
            made.append(Layer(step, merged, led, len(renumbered)))
            worlds = list(renumbered)
            if len(worlds) > DEFAULT_MAX_WORLDS:
                raise too_many_together(self._names, step, len(worlds))
        # Every layer distinguishes cells: the events are minimal, and answers decide them.
        return Automaton(tuple(made), None)


def _classes_read(layer: Layer | None, classes: Sequence[frozenset[int]]) -> list[int]:
    """Return for class 0 and each of ``classes`` the class of a layer in which it lies."""
    if layer is None:
        return []
    number = {cell: k for k, cells in enumerate(layer.classes, start=1) for cell in cells}
    return [0, *(number.get(min(cells), 0) for cells in classes)]
