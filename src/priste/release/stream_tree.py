"""The tree of states that streams under the same terms can come to.

The state before a step and the release table chosen from it follow from the terms and the past
releases only, so streams that have released the same are at the same node. Many users share the
nodes they have in common, and the audit walks the same tree. It changes no number: a node holds
what each stream would compute for itself.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from priste.errors import StateError
from priste.release.accountant import AccountantState
from priste.release.calibrators import Calibrator
from priste.release.calibrators.best_guess import best_public_guess
from priste.release.release_tables import CheckedTable, Draw, OutputDistribution, ReleaseRule
from priste.release.terms import Terms

MEMORY = 2**27
"""How many bytes the states that a tree keeps may take, about: 128 MiB."""

Released = tuple[bytes, float, tuple[int, ...]] | None
"""What a step adds to a state: likelihood, budget and hints; None for silence."""


class _Room:
    """How many more nodes a tree may keep, and whether it keeps those that one stream visits."""

    def __init__(self, nodes: int, eager: bool) -> None:
        self._left = nodes
        self.eager = eager
        self._turn = threading.Lock()

    def take(self) -> bool:
        """Take the room of one node; False if there is none."""
        with self._turn:
            if not self._left:
                return False
            self._left -= 1
            return True


class StreamNode:
    """A state, the rule that the calibrator chose for it, and the nodes that follow."""

    def __init__(self, state: AccountantState, calibrator: Calibrator, room: _Room | None) -> None:
        self.state = state
        self.calibrator = calibrator
        self._room = room
        self._rule: ReleaseRule | None = None
        self._after: dict[Released, StreamNode] = {}
        self._visited_again = False

    @property
    def guarded(self) -> bool:
        """Whether this step is in guarded hours: its release says nothing by construction."""
        return self.calibrator.guaranteed and self.state.step in self.state.terms.guarded_hours

    @property
    def rule(self) -> ReleaseRule:
        """How the output of this step is drawn; chosen once.

        In guarded hours it is the best public guess, and the calibrator is not asked. One that
        guarantees nothing is asked at every step.

        Raises StateError if the calibrator guarantees and did not return a table that this very
        state has checked.
        """
        if self._rule is None and self.guarded:
            self._rule = best_public_guess(self.state)
        if self._rule is None:
            rule = self.calibrator.propose(self.state)
            if self.calibrator.guaranteed and not (
                isinstance(rule, CheckedTable) and rule.checked_by is self.state
            ):
                raise StateError(
                    f"The calibrator {type(self.calibrator).__name__} says that it is guaranteed, "
                    "and its propose(state) did not return a table that state.check(...) made. "
                    "Nothing was released.",
                    hint="Return that table, or set guaranteed to False.",
                )
            self._rule = rule
        return self._rule

    @cached_property
    def distribution(self) -> OutputDistribution:
        """The exact distribution of the release of this node; computed once."""
        return self.rule.distribution()

    def after(self, drawn: Draw | None) -> StreamNode:
        """Return the node after a draw, None for silence; kept for others if there is room.

        A node keeps what follows it once a second stream has come to it. So every stream adds one
        node at most, and the nodes that many streams come to are kept.
        """
        released = (
            None
            if drawn is None
            else (drawn.likelihood.tobytes(), float(drawn.budget), drawn.hints)
        )
        known = self._after.get(released)
        if known is not None:
            known._visited_again = True
            return known
        node = StreamNode(self.state.after(drawn), self.calibrator, self._room)
        room = self._room
        if room is not None and (self._visited_again or room.eager) and room.take():
            self._after[released] = node
        return node


@dataclass(frozen=True, eq=False)
class StreamTree:
    """The streams under the same terms with the same calibrator, from their beginning."""

    root: StreamNode

    @classmethod
    def of(
        cls, terms: Terms, calibrator: Calibrator, *, memory: int = MEMORY, eager: bool = False
    ) -> Self:
        """Return the tree of all streams under these terms; its nodes may take this many bytes.

        An ``eager`` tree also keeps what a single stream comes to, as the audit wants it. A map
        of which not even one state has room shares its first node only.
        """
        check_mechanism = getattr(calibrator, "check_mechanism", None)
        if check_mechanism is not None:
            check_mechanism(terms.mechanism)
        first = AccountantState.first(terms)
        nodes = memory // max(1, first.bytes)
        root = StreamNode(first, calibrator, _Room(nodes, eager) if nodes else None)
        root._visited_again = True  # every stream begins here
        return cls(root)
