"""What the studio exports, in the register that every run of ``priste protect`` looks into."""

from __future__ import annotations

from priste.batch.keyed_digests import Recognition, state_folder
from priste.batch.register import Register, hours_to_bytes
from priste.policy import Policy
from priste.traces import Trace

PLACE = "an export of priste studio"
"""Where the register says that such a release is: the studio itself keeps nothing."""


class ReleasesOfThisUser:
    """The register of this user; nothing of it is made before something is asked."""

    def earlier(self, trace: Trace) -> str | None:
        """Return where hours of a trace were released before, None if nowhere."""
        person = (trace.user, *_recognised(trace))
        found = next(_register().earlier([person]), None)
        return None if found is None else found[1].place

    def write_down(self, policy: Policy, trace: Trace) -> None:
        """Remember that the hours of a trace are released under a policy."""
        _register().add(policy.fingerprint(), PLACE, [_recognised(trace)])


def _register() -> Register:
    return Register(state_folder() / "released")


def _recognised(trace: Trace) -> tuple[str, bytes]:
    recognition = Recognition.of_this_user()
    return recognition.user(trace.user), hours_to_bytes(recognition.hours(trace))
