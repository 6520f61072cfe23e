"""The automaton of worlds: what must be remembered of a trajectory to decide an event.

A world is what is still to be decided. Before the first layer there is one world;
each layer reads the cell at its step and moves between worlds; after the last layer
there are two, "did not happen" and "happened", or one for each answer of a secret. Steps without a
layer change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from priste.errors import InvalidParameter
from priste.events.trajectories import trajectory_cells


@dataclass(frozen=True)
class Layer:
    """The moves at one step.

    - ``classes``: sets of cells that behave alike here. Class ``k + 1`` is
      ``classes[k]``; class 0 is every other cell. Disjoint, none empty.
    - ``moves[world][class]`` is the world after this step.
    - ``worlds_after``: the number of worlds after this step.
    """

    step: int
    classes: tuple[frozenset[int], ...]
    moves: tuple[tuple[int, ...], ...]
    worlds_after: int

    def __post_init__(self) -> None:
        if self.step < 0:
            raise InvalidParameter(
                "must be >= 0", parameter="step", owner="a Layer", value=self.step
            )
        _check_classes(self.classes)
        _check_moves(self.moves, len(self.classes) + 1, self.worlds_after)

    def class_of(self, cell: int) -> int:
        """Return the class of a cell; 0 for a cell in none of ``classes``."""
        for number, cells in enumerate(self.classes, start=1):
            if cell in cells:
                return number
        return 0


@dataclass(frozen=True)
class Automaton:
    """A layered deterministic automaton, made by :meth:`Event.automaton`.

    - ``layers``: in strictly increasing steps; only steps that matter have one.
    - ``constant``: ``True`` or ``False`` for an event that always or never happens on
      cells 0, 1, 2, … without end (then there are no layers), else ``None``. Events
      know no map: "in any of all the map's cells" is not constant here.
    - The first world is 0. After the last layer the worlds are 0 (did not happen)
      and 1 (happened); for a secret the answers, the last one being world 0.

    Made by :meth:`Event.automaton` it is the smallest one, its worlds numbered in the
    order in which they are first reached and its classes ordered by their smallest
    cell: two events are equivalent exactly when their automata are equal.

    >>> from priste.events import presence
    >>> automaton = presence([0, 1], [3, 4]).automaton()
    >>> automaton.width, automaton.worlds, automaton.constant
    (2, (2, 2), None)
    >>> automaton.run([5, 5, 5, 5, 1])
    True
    """

    layers: tuple[Layer, ...]
    constant: bool | None

    def __post_init__(self) -> None:
        if (self.constant is None) != bool(self.layers):
            raise InvalidParameter(
                "must be either layers or a 'constant' of True or False",
                parameter="layers",
                owner="an Automaton",
                got=f"{len(self.layers)} layers and constant={self.constant!r}",
            )
        if not self.layers:
            return
        if len(self.layers[0].moves) != 1 or self.layers[-1].worlds_after < 2:
            raise InvalidParameter(
                "must start in one world and end in two or more",
                parameter="layers",
                owner="an Automaton",
                got=f"{len(self.layers[0].moves)} and {self.layers[-1].worlds_after}",
            )
        for before, after in pairwise(self.layers):
            if after.step <= before.step or len(after.moves) != before.worlds_after:
                raise InvalidParameter(
                    "must have increasing steps and agree on the worlds between them",
                    parameter="layers",
                    owner="an Automaton",
                    got=f"steps {before.step} and {after.step}",
                )

    @cached_property
    def worlds(self) -> tuple[int, ...]:
        """The number of worlds after each layer."""
        return tuple(layer.worlds_after for layer in self.layers)

    @property
    def answers(self) -> int:
        """The number of answers: worlds after the last layer, 2 for an event."""
        return self.layers[-1].worlds_after if self.layers else 2

    @property
    def width(self) -> int:
        """The largest number of worlds after any layer; 1 for a constant event."""
        return max(self.worlds, default=1)

    def run(self, trajectory: Sequence[int]) -> bool:
        """Return whether the event happens on a trajectory; equals ``event.holds``.

        The trajectory must reach the last layer's step (an event may name later steps
        that turned out not to matter). Errors as in ``event.holds``.
        """
        if self.constant is not None:
            trajectory_cells(trajectory, None)
            return self.constant
        return self.last_world(trajectory) == 1

    def last_world(self, trajectory: Sequence[int]) -> int:
        """Return the world after the last layer; there must be one. Errors as in :meth:`run`."""
        cells = trajectory_cells(trajectory, self.layers[-1].step)
        world = 0
        for layer in self.layers:
            world = layer.moves[world][layer.class_of(cells[layer.step])]
        return world

    def drawing(self, max_layers: int = 50) -> str:
        """Draw the automaton as text, one paragraph per layer; see :mod:`drawing`."""
        from priste.events.automaton_drawing import text_drawing

        return text_drawing(self, max_layers)

    def dot(self, max_layers: int = 50) -> str:
        """Draw the automaton in Graphviz's DOT language."""
        from priste.events.automaton_drawing import dot_drawing

        return dot_drawing(self, max_layers)


# A long event repeats a handful of layers, and layers share these tuples: checking each
# distinct one once keeps a million layers cheap.
@lru_cache(maxsize=64)
def _check_classes(classes: tuple[frozenset[int], ...]) -> None:
    if not all(classes):
        raise InvalidParameter("must not be empty sets", parameter="classes", owner="a Layer")
    if len(frozenset().union(*classes)) != sum(len(cells) for cells in classes):
        raise InvalidParameter("must be disjoint", parameter="classes", owner="a Layer")


@lru_cache(maxsize=64)
def _check_moves(moves: tuple[tuple[int, ...], ...], classes: int, worlds_after: int) -> None:
    if any(len(row) != classes for row in moves):
        raise InvalidParameter(
            f"must have one entry per class and world ({classes})",
            parameter="moves",
            owner="a Layer",
        )
    if not all(0 <= world < worlds_after for row in moves for world in row):
        raise InvalidParameter(
            f"must lead to worlds 0 to {worlds_after - 1}", parameter="moves", owner="a Layer"
        )
