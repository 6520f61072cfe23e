"""What the studio exports, in the register that every run of ``priste protect`` looks into."""

from __future__ import annotations

from priste.policy import Policy
from priste.register.keyed_digests import RELEASED, Recognition, state_folder
from priste.register.register import Person, Register
from priste.traces import Trace

PLACE = "an export of priste studio"
"""Where the register says that such a release is: the studio itself keeps nothing."""


class ReleasesOfThisUser:
    """The register of this user; nothing of it is made before something is asked."""

    def earlier(self, trace: Trace) -> str | None:
        """Return where something about this person was released before, None if nowhere."""
        person = _person(trace)
        with _register().transaction() as register:
            found = register.earlier(person)
        return found[0].place if found else None

    def write_down(self, policy: Policy, trace: Trace) -> None:
        """Remember that the days of a trace are released under a policy."""
        person = _person(trace)
        with _register().transaction() as register:
            register.add(policy.fingerprint(), PLACE, [person])


def _register() -> Register:
    return Register(state_folder() / RELEASED)


def _person(trace: Trace) -> Person:
    recognition = Recognition.of_this_user()
    return Person(trace.user, recognition.user(trace.user), recognition.fixes_of(trace))
