"""What was released before, by this run or another: kept, compared with the input, not redrawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from priste.batch.engines import ENDED, Job
from priste.batch.gathering import Chunk, Gathering, place_of
from priste.batch.groups import check_kept, errors_of, true_cells
from priste.batch.keyed_digests import RELEASED, Recognition, state_folder
from priste.batch.parts import checked_bytes, journals_in, problems_in
from priste.batch.register import Person, Register, RegisterTransaction
from priste.batch.streams import KeptStream
from priste.batch.workspace import MANIFEST, Manifest, Workspace, part_name, read_manifest
from priste.errors import PristeError, StateError
from priste.policy import Policy
from priste.results import RunErrors


class Continuation:
    """One run's look back: which chunks are done, and which users have a stream already.

    Ask :meth:`check` first, before anything is drawn.
    """

    def __init__(
        self, policy: Policy, recognition: Recognition, *, seeded: bool, beside_earlier: bool
    ) -> None:
        self._policy = policy
        self._named = policy.fingerprint()
        self._recognition = recognition
        self._register = None if seeded else Register(state_folder() / RELEASED)
        self._beside_earlier = beside_earlier
        self._elsewhere: dict[str | None, list[str]] = {}
        self._done: set[int] = set()
        self.vacant: frozenset[int] = frozenset()  # parts of whose people the input holds nobody
        self._others: tuple[str, int, dict[str | None, bytes]] = ("", -1, {})
        self.given_again = 0
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
        """Refuse, with the reason, to draw again what was released from these or other rows."""
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
        told = workspace.known.parts.get(chunk.number)
        users = chunk.users
        elsewhere = [user for user in users if user in self._elsewhere]
        part = None if told is None else workspace.read_part(chunk.number)
        own = {} if part is None else journals_in(part)
        if gone := set(own) - set(users):
            raise workspace.refusal(_gone(len(gone)))
        same = told is not None and told.fixes == chunk.digest and not elsewhere
        if same and part is not None and not _ended_a_process(part):
            self._done.add(chunk.number)
        traces = chunk.traces() if own or elsewhere else {}
        for user in [user for user in users if user in own or user in self._elsewhere]:
            try:
                cells = true_cells(self._policy, traces[user], chunk.places.get(user))[1]
                if user in own:
                    self._check_kept(own[user], user, cells, chunk)
                if user in self._elsewhere:
                    self._from_elsewhere(user, cells, chunk, user in own)
            except PristeError as problem:
                if isinstance(problem, _ReleasedBefore | _AnotherStream):
                    raise
                raise workspace.refusal(str(problem).rstrip(".")) from None

    def _check_kept(
        self, journal: bytes, user: str | None, cells: Sequence[int | None], chunk: Chunk
    ) -> None:
        kept = KeptStream.read(journal, Path("a part"))
        places = chunk.places.get(user)
        check_kept(kept, self._recognition, self._named, user, cells, places)

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
        """Find who was released before, and refuse what would be a second stream about them."""
        if register is None or self._beside_earlier:
            return
        own = str(workspace.folder.resolve())
        for person in self._people(gathering):
            user, found = person.name, register.earlier(person)
            if any(each.place == own and each.same_name for each in found):
                # This run goes on; whoever has the same fixes was told about when it began.
                if not workspace.was_at_work and (
                    place_of(user) % count not in workspace.known.parts
                ):
                    raise _ReleasedBefore(user, own, "the same policy, and what it drew is gone")
                found = [each for each in found if each.same_name]
            again = [each for each in found if each.same_name and each.same_fixes]
            for each in again or found:
                if each.place == own:
                    continue
                if not each.same_fixes:
                    raise _AnotherStream(user, each.place)
                if not each.same_name:
                    raise _ReleasedBefore(user, each.place, "another name")
                if each.policy != self._named:
                    raise _ReleasedBefore(user, each.place, "another policy")
                self._elsewhere.setdefault(user, []).append(each.place)

    def _from_elsewhere(
        self, user: str | None, cells: Sequence[int | None], chunk: Chunk, is_own: bool
    ) -> bytes | None:
        """Return the longest journal that another run under the same policy has of these steps."""
        longest: bytes | None = None
        for place in dict.fromkeys(self._elsewhere[user]):
            journal = self._journal_at(place, user)
            if journal is not None:
                self._check_kept(journal, user, cells, chunk)
                if longest is None or len(journal) > len(longest):
                    longest = journal
        if longest is None and not is_own:
            place = self._elsewhere[user][-1]
            raise _ReleasedBefore(user, place, "the same policy, its journal is gone")
        return longest

    def _journal_at(self, place: str, user: str | None) -> bytes | None:
        folder = Path(place)
        manifest = read_manifest(folder / MANIFEST)
        if manifest.head is None:
            return None
        number = place_of(user) % int(manifest.head["chunks"])
        if self._others[:2] != (place, number):
            self._others = (place, number, _journals_of(folder, manifest, number))
        return self._others[2].get(user)

    def write_down(
        self, workspace: Workspace, gathering: Gathering, register: RegisterTransaction | None
    ) -> None:
        """Put what is about to be released into the register."""
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
        told = workspace.known.parts.get(chunk.number)
        earlier = {} if told is None else journals_in(workspace.read_part(chunk.number))
        elsewhere = [user for user in chunk.users if user in self._elsewhere]
        traces = chunk.traces() if elsewhere else {}
        for user in elsewhere:
            cells = true_cells(self._policy, traces[user], chunk.places.get(user))[1]
            given, own = (
                self._from_elsewhere(user, cells, chunk, user in earlier),
                earlier.get(user),
            )
            if given is not None:
                self.given_again += 1
                # Own draws that are not the beginning of the other's, or go on longer, stay.
                if own is None or _begins(given, own):
                    earlier[user] = given
        return earlier

    def _count_in(self, workspace: Workspace, chunk: Chunk) -> None:
        """Measure what a part that was done before is worth: that is not kept with it."""
        journals = journals_in(workspace.read_part(chunk.number))
        found = []
        for user, trace in chunk.traces().items():
            if user in journals:
                own, _ = true_cells(self._policy, trace, chunk.places.get(user))
                outputs = KeptStream.read(journals[user], Path("a part")).cells
                found.append(errors_of(own, trace, outputs))
        self.errors.add(found, chunk.number)


class _ReleasedBefore(StateError):
    """Fixes were released before, and drawing again would tell more than the guarantee allows."""

    def __init__(self, user: str | None, place: str, under: str) -> None:
        super().__init__(
            f"{_whose(user)} were released before, under {under}: see {place!r}. Both releases "
            "together may tell more than is guaranteed, so nothing was drawn. Hand out the first "
            "release. If nothing of it was or will be handed out, remove it and use "
            "--beside-earlier-releases."
        )


class _AnotherStream(StateError):
    """Other fixes of the same person were released before, as a stream of their own."""

    def __init__(self, user: str | None, place: str) -> None:
        name = "" if user is not None else " If this is another person, name them (--as-user)."
        super().__init__(
            f"Other locations of the same person as {_whose(user, 'those').lower()} were released "
            f"before: see {place!r}. The guarantee is about one stream per person: two streams "
            "together may tell more. Release all days as one stream: a policy whose clock covers "
            f"them, the same destination, and the input with the new rows added.{name} To release "
            "them as a second stream, without a guarantee about both together, use "
            "--beside-earlier-releases."
        )


def _whose(user: str | None, these: str = "Some of these locations") -> str:
    return these if user is None else f"Locations of {user}"


def _ended_a_process(part: bytes) -> bool:
    """Tell whether a part lacks users at whom processes died: that is no fault of their data."""
    return any(problem.startswith(ENDED) for problem in problems_in(part))


def _gone(users: int) -> str:
    return f"it holds the streams of {users} users whom the input does not hold any more"


def _journals_of(folder: Path, manifest: Manifest, number: int) -> dict[str | None, bytes]:
    told = manifest.parts.get(number)
    if told is None:
        return {}
    return journals_in(checked_bytes(folder / part_name(number, told.generation), told.checksum))


def _begins(longer: bytes, shorter: bytes) -> bool:
    """Tell whether a stream begins as another does."""
    one, other = (KeptStream.read(data, Path("a part")).records for data in (longer, shorter))
    return one[: len(other)] == other
