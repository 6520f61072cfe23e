"""The register for the doors other than ``priste protect``: what live and the studio release."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from priste.atomic_files import private_folder, write_file
from priste.batch.earlier_streams import (
    AnotherStream,
    EarlierStreams,
    ReleasedBefore,
    check_goes_on,
)
from priste.policy import Policy
from priste.register import (
    KeptStream,
    Person,
    Recognition,
    Register,
    Released,
    guarded_by,
)
from priste.register.keyed_digests import RELEASED, state_folder
from priste.register.register import REGISTER
from priste.traces import Trace


class StudioReleases:
    """Exports of the studio; nothing is written before something is exported."""

    def past(self, trace: Trace, read: Callable[[], Policy]) -> bytes | None:
        """Return the stream of a person that a run under a policy can continue, None if none.

        What cannot continue is no error here: the run is an experiment until it is exported.
        """
        if not (state_folder() / RELEASED / REGISTER).is_file():
            return None
        person = _person(Recognition.of_this_user(), trace.user, trace)
        with Register.of_this_user().transaction() as register:
            found = register.earlier(person)
        try:
            kept = _latest(person, found)
            if kept is None:
                return None
            policy = read()
            hours = guarded_by(kept, policy)
            check_goes_on(trace.user, found, kept, policy, policy.stream_cells(trace, hours))
        except (AnotherStream, ReleasedBefore):
            return None
        return kept.to_bytes()

    def claim(self, policy: Policy, trace: Trace, kept: bytes, *, again: bool) -> str | None:
        """Write down and keep what is about to be exported, in one transaction with looking up.

        Returns why ``kept`` does not continue what was released about this person before, and
        then writes nothing unless ``again`` asks for a second stream.
        """
        recognition = Recognition.of_this_user()
        person = _person(recognition, trace.user, trace)
        stream = KeptStream.read(kept, Path("a run of the studio"))
        with Register.of_this_user().transaction() as register:
            if not again and (reason := _beside(stream, person, register.earlier(person))):
                return reason
            binding = {"user": person.digest, "policy": "of the studio"}
            name = stream.stream or secrets.token_hex(16)
            folder = private_folder(state_folder() / RELEASED / "studio")
            place = folder / f"{secrets.token_hex(16)}.stream"
            write_file(place, replace(stream, stream=name, binding=binding).to_bytes())
            register.add(policy.fingerprint(), str(place), [person])
        return None


def _latest(person: Person, found: Sequence[Released]) -> KeptStream | None:
    """Return all that was released about a person so far; see :meth:`EarlierStreams.latest`."""
    named = [each for each in found if each.same_name]
    if found and not named:
        raise ReleasedBefore(person.name, found[-1].place, "another name")
    return EarlierStreams().latest(person.name, named)


def _beside(stream: KeptStream, person: Person, found: Sequence[Released]) -> str | None:
    """Return why a stream does not continue what was released about a person, None if it does."""
    try:
        past = _latest(person, found)
    except (AnotherStream, ReleasedBefore) as problem:
        return problem.reason
    if past is None or past.begins(stream):
        return None
    return f"it was drawn beside another release, see {found[-1].place!r}"


class LiveReleases:
    """The streams of ``priste live``, and what other doors released about the same people."""

    def begin(self, person: str, policy: Policy, folder: Path) -> KeptStream | None:
        """Write down that a person's stream continues in a folder.

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
