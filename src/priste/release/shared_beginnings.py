"""The first steps of many streams under the same terms, computed once for all of them.

The public state before a step, and the law that is chosen from it, follow from the terms and the
past releases alone. So streams that have released the same are in the same state: all of them
before their first release, many after a few. Their states are kept in a tree, by what was released,
and a stream goes along the tree for as long as somebody went there before. It makes no difference
to any number: what is kept is what would have been computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from priste.release.public_state import PublicState
    from priste.release.terms import Terms

MEMORY = 2**27
"""How many bytes the states of a tree may take, about: 128 MiB."""

Released = tuple[bytes, float, tuple[int, ...]] | None
"""What a step added to a state: a column, its budget and hints; None for silence."""


class Beginnings:
    """The tree of states of streams under the same terms.

    Every stream adds one state to it at most, where it leaves the tree: so states that many
    come to are there, and the rest of a stream is not. Maps of which not even one state has room
    share their terms alone.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._root: Branch | None = None

    def state(self) -> PublicState:
        """Return a state before the first release, which goes along the tree."""
        from priste.release.public_state import PublicState

        if self._root is None:
            first = PublicState(self.terms)
            room = MEMORY // max(1, first.bytes)
            if not room:
                return first
            self._root = Branch(first, _Room(room))
        return self._root.state.along(self._root)


class _Room:
    """How many more states a tree may take."""

    def __init__(self, states: int) -> None:
        self.left = states - 1


class Branch:
    """A state that streams came to, and the branches that go on from there."""

    def __init__(self, state: PublicState, room: _Room) -> None:
        self.state = state.along(None)
        self._room = room
        self._branches: dict[Released, Branch] = {}

    def after(self, released: Released) -> Branch | None:
        """Return the branch that begins with a release, None if nobody went there before."""
        return self._branches.get(released)

    def grow(self, released: Released, state: PublicState) -> None:
        """Keep the state after a release, if there is room."""
        if self._room.left > 0 and released not in self._branches:
            self._room.left -= 1
            self._branches[released] = Branch(state, self._room)


def released_key(
    column: NDArray[np.float64] | None, budget: float, hints: tuple[int, ...]
) -> Released:
    """Return what a release adds to a state, as a key."""
    return None if column is None else (column.tobytes(), budget, hints)
