"""Earlier releases, of this run or another: they count, and are not drawn again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from priste.batch.earlier_streams import (
    AnotherStream,
    EarlierStreams,
    ReleasedBefore,
    check_goes_on,
)
from priste.batch.engines import Job
from priste.batch.gathering import Chunk, Gathering, place_of
from priste.batch.groups import belongs_to, check_kept, errors_of, true_cells
from priste.batch.parts import has_lost, journals_in
from priste.batch.workspace import Workspace
from priste.errors import PristeError
from priste.policy import Policy
from priste.register import KeptStream, Person, Recognition, Register, RegisterTransaction, Released
from priste.results import RunErrors


class Continuation:
    """What one run finds from earlier runs: finished chunks, and users who have a stream already.

    Ask :meth:`check` first, before anything is drawn.
    """

    def __init__(
        self, policy: Policy, recognition: Recognition, *, seeded: bool, beside_earlier: bool
    ) -> None:
        self._policy = policy
        self._named = policy.fingerprint()
        self._recognition = recognition
        self._register = None if seeded else Register.of_this_user()
        self._beside_earlier = beside_earlier
        self._elsewhere: dict[str | None, list[Released]] = {}
        self._places = EarlierStreams()
        self._done: set[int] = set()
        self.vacant: frozenset[int] = frozenset()  # parts of whose people the input holds nobody
        self.given_again = 0
        self.continued = 0
        self.drawn = 0
        self.errors = RunErrors(policy.grid)

    # Before anything is drawn

    def register(self) -> AbstractContextManager[RegisterTransaction | None]:
        """Return the register, locked: looking up and writing down are one transaction.

        None for runs with a seed, which take no part in it.
        """
        return nullcontext(None) if self._register is None else self._register.transaction()

    def check(
        self,
        workspace: Workspace,
        gathering: Gathering,
        count: int,
        register: RegisterTransaction | None,
    ) -> None:
        """Refuse, with the reason, what would be drawn twice or could not be counted together."""
        self._look_up(workspace, gathering, count, register)
        unseen = set(workspace.known.parts)
        for chunk in gathering.chunks(count):
            unseen.discard(chunk.number)
            self._check_chunk(workspace, chunk)
        for number in sorted(unseen):
            if journals_in(workspace.read_part(number)):
                raise workspace.refusal(_gone(len(journals_in(workspace.read_part(number)))))
        self.vacant = frozenset(unseen)

    def _check_chunk(self, workspace: Workspace, chunk: Chunk) -> None:
        known = workspace.known.parts.get(chunk.number)
        users = chunk.users
        elsewhere = [user for user in users if user in self._elsewhere]
        part = None if known is None else workspace.read_part(chunk.number)
        own = {} if part is None else journals_in(part)
        if gone := set(own) - set(users):
            raise workspace.refusal(_gone(len(gone)))
        same = known is not None and known.fixes == chunk.digest and not elsewhere
        if same and part is not None and not has_lost(part):
            self._done.add(chunk.number)
        traces = chunk.traces() if own or elsewhere else {}
        for user in [user for user in users if user in own or user in self._elsewhere]:
            places = chunk.places.get(user)
            try:
                past = self._past(workspace, user, own.get(user))
                cells = true_cells(self._policy, traces[user], places, past)[1]
                for kept in _read(own.get(user)):
                    check_kept(kept, self._recognition, self._named, user, cells, places)
                if past is not None and user in self._elsewhere:
                    check_kept(past, self._recognition, self._named, user, cells, places)
                    check_goes_on(user, self._elsewhere[user], past, self._policy, cells)
            except (ReleasedBefore, AnotherStream):
                raise
            except PristeError as problem:
                raise workspace.refusal(str(problem).rstrip(".")) from None

    def _people(self, gathering: Gathering) -> Iterator[Person]:
        for user, fixes in gathering.people():
            yield Person(user, self._recognition.user(user), fixes)

    def _look_up(
        self,
        workspace: Workspace,
        gathering: Gathering,
        count: int,
        register: RegisterTransaction | None,
    ) -> None:
        """Find who was released before; refuse locations that were released under another name."""
        if register is None or self._beside_earlier:
            return
        own = str(workspace.folder.resolve())
        for person in self._people(gathering):
            user, found = person.name, register.earlier(person)
            named = [each for each in found if each.same_name]
            if any(each.place == own for each in named):
                if not workspace.was_at_work and (
                    place_of(user) % count not in workspace.known.parts
                ):
                    raise ReleasedBefore(user, own, "the same policy, and what it drew is gone")
            elif found and not named:
                raise ReleasedBefore(user, found[-1].place, "another name")
            if any(each.place != own for each in named):
                self._elsewhere[user] = named

    def _past(self, workspace: Workspace, user: str | None, own: bytes | None) -> KeptStream | None:
        """Return all that was released about a user so far, None if nothing."""
        place = str(workspace.folder.resolve())
        mine = next(iter(_read(own)), None)
        if user not in self._elsewhere:
            return mine
        past = self._places.latest(user, self._elsewhere[user], place, mine)
        if past is None or "user" in past.binding:
            return past
        # Kept by another door: bound to the same person, under another policy.
        return replace(past, binding=belongs_to(self._recognition, "", user, (), None))

    def write_down(
        self, workspace: Workspace, gathering: Gathering, register: RegisterTransaction | None
    ) -> None:
        """Write down in the register what is about to be released."""
        if register is not None:
            register.add(self._named, str(workspace.folder.resolve()), self._people(gathering))

    # What is left to do

    def done_before(self, workspace: Workspace) -> int:
        """Return how many users are in parts that an earlier run has finished."""
        return sum(workspace.known.parts[number].users for number in self._done)

    def jobs(self, workspace: Workspace, gathering: Gathering, count: int) -> Iterator[Job]:
        """Yield a job for every chunk that is not done, with the streams its users have already."""
        for chunk in gathering.chunks(count):
            if chunk.number in self._done:
                self._count_in(workspace, chunk)
            else:
                earlier = self._earlier(workspace, chunk)
                yield Job(chunk.number, chunk.digest, chunk.table, chunk.places, earlier)

    def _earlier(self, workspace: Workspace, chunk: Chunk) -> dict[str | None, bytes]:
        known = workspace.known.parts.get(chunk.number)
        earlier = {} if known is None else journals_in(workspace.read_part(chunk.number))
        for user in [user for user in chunk.users if user in self._elsewhere]:
            past = self._past(workspace, user, earlier.get(user))
            if past is not None:
                if past.binding.get("policy") == self._named:
                    self.given_again += 1
                else:
                    self.continued += 1
                earlier[user] = past.to_bytes()
        return earlier

    def _count_in(self, workspace: Workspace, chunk: Chunk) -> None:
        """Measure the errors of a part that was finished before, because they are not kept with
        it."""
        journals = journals_in(workspace.read_part(chunk.number))
        found = []
        for user, trace in chunk.traces().items():
            for kept in _read(journals.get(user)):
                own, _ = true_cells(self._policy, trace, chunk.places.get(user), kept)
                found.append(errors_of(own, trace, kept.cells))
        self.errors.add(found, chunk.number)


def _read(journal: bytes | None) -> Iterator[KeptStream]:
    if journal is not None:
        yield KeptStream.read(journal, Path("a part"))


def _gone(users: int) -> str:
    return f"it holds the streams of {users} users who are no longer in the input"
