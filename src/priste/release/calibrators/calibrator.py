"""What a calibrator is: a way to choose the release table of each step from public things."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from priste.release.accountant import AccountantState
from priste.release.release_tables import ReleaseRule


@runtime_checkable
class Calibrator(Protocol):
    """A way to choose how each output is drawn.

    A calibrator holds parameters and no state: one object may serve many streams. It sees an
    :class:`~priste.release.AccountantState`, which follows from the terms and past releases. One
    that does not fit every mechanism may also have ``check_mechanism(mechanism)``, which raises
    InvalidParameter when a stream is begun with a mechanism that does not fit.
    """

    @property
    def guaranteed(self) -> bool:
        """Whether every release keeps the guarantees against an adversary who knows the code.

        True obliges :meth:`propose` to return a :class:`~priste.release.CheckedTable` of the
        given state; a Protector refuses to draw from anything else. False means that leakage is
        measured and may be anything.
        """
        ...

    def propose(self, state: AccountantState) -> ReleaseRule:
        """Return how the output of this step is drawn; a function of the state only."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return the parameters for the state file, with the calibrator's name under "kind"."""
        ...
