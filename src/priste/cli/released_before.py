"""The register for the doors other than ``priste protect``: what live and the studio release."""

from __future__ import annotations

import secrets
from pathlib import Path

from priste.atomic_files import private_folder, write_file
from priste.batch.earlier_streams import EarlierStreams
from priste.policy import Policy
from priste.register import KeptStream, Person, Recognition, Register
from priste.register.keyed_digests import RELEASED, state_folder
from priste.release import Ledger
from priste.traces import Trace


class StudioReleases:
    """Exports of the studio; nothing is written before something is exported."""

    def claim(self, policy: Policy, trace: Trace, ledger: Ledger, *, again: bool) -> str | None:
        """Write down and keep what is about to be exported, in one transaction with looking up.

        Returns where something about this person was released before, and then writes nothing
        unless ``again`` asks for a second stream.
        """
        recognition = Recognition.of_this_user()
        person = _person(recognition, trace.user, trace)
        with Register.of_this_user().transaction() as register:
            if not again and (found := register.earlier(person)):
                return found[-1].place
            own = policy.for_user(trace)
            binding = {"user": recognition.user(trace.user), "policy": "of the studio"}
            kept = KeptStream.of_ledger(ledger, own, stream=secrets.token_hex(16), binding=binding)
            folder = private_folder(state_folder() / RELEASED / "studio")
            place = folder / f"{kept.stream}.stream"
            write_file(place, kept.to_bytes())
            register.add(policy.fingerprint(), str(place), [person])
        return None


class LiveReleases:
    """The streams of ``priste live``, and what other doors released about the same people."""

    def begin(self, person: str, policy: Policy, folder: Path) -> KeptStream | None:
        """Write down that a person's stream goes on in a folder.

        Returns what another place holds of the stream, None if it is all in the folder.
        """
        recognition = Recognition.of_this_user()
        known, place = _person(recognition, person), str(folder.resolve())
        with Register.of_this_user().transaction() as register:
            found = [each for each in register.earlier(known) if each.same_name]
            streams = EarlierStreams()
            own = streams.at(place, person)
            mine = own if isinstance(own, KeptStream) else None
            past = streams.latest(person, found, place, mine)
            register.add(policy.fingerprint(), place, [known])
        return None if past is mine else past

    def released_before(self, person: str, policy: Policy, folder: Path, fixes: Trace) -> bool:
        """Write down fixes that are about to be released; True if another stream has some."""
        known = _person(Recognition.of_this_user(), person, fixes)
        place = str(folder.resolve())
        with Register.of_this_user().transaction() as register:
            if any(each.same_fixes and each.place != place for each in register.earlier(known)):
                return True
            register.add(policy.fingerprint(), place, [known])
        return False


def _person(recognition: Recognition, name: str | None, trace: Trace | None = None) -> Person:
    fixes = b"" if trace is None else recognition.fixes_of(trace)
    return Person(name, recognition.user(name), fixes)
