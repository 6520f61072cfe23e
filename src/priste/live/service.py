"""The service: people, their sources and sinks, and the clock that closes steps."""

from __future__ import annotations

import asyncio
import math
import os
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from priste.atomic_files import private_folder
from priste.errors import OutputError, StateError
from priste.live.access import owner_token
from priste.live.clock import SteadyClock
from priste.live.freed_memory import give_memory_back
from priste.live.logs import quiet_libraries, tell
from priste.live.person_stream import Releases, Stream, Taken
from priste.live.point import Point
from priste.live.protocol_table import sinks, sources
from priste.live.retrying import Line
from priste.live.settings import PersonSettings, Settings
from priste.live.sinks.serving import Serving
from priste.live.status import lock_state, write_status
from priste.policy import Policy, load_policy
from priste.policy.adversary_choice import ASSUMED
from priste.traces import Fix

if TYPE_CHECKING:
    from priste.live.web_server import WebServer

GRACE = timedelta(seconds=0.5)
"""How long after its end a step waits for late fixes (a tenth of a step at most)."""

GIVEN_OUT = timedelta(seconds=0.8)
"""How long after its end a step is given out (a fifth of a step at most).

Always at that moment: how long a release took would reveal whether fixes came in its step.
"""

MOST_RECENT = 100
"""Releases that the owner's page shows on its map."""

MOST_COVERED = 100
"""Steps after a recorded fix that are covered when none follows; later ones are silent."""

LONGEST_LEAP = 50_000
"""How many steps may lie between two recorded fixes: each of them takes time."""

NOTHING_OUT = "nothing is released until its files can be written"
"""How the state of a person begins whose journal or latest point cannot be written."""

_TICK = 5.0
"""Seconds after which the clock is read again, whatever the length of a step."""

_LEAD = 10.0
"""Seconds before the end of the first step in which its table is chosen.

Not at once: the clock of a machine that has just started may still be set.
"""

_STATUS_EVERY = 5.0


class Person:
    """One person of a service: the stream, and everything that waits for its releases."""

    def __init__(self, settings: PersonSettings, stream: Stream, clock: SteadyClock) -> None:
        self.name = settings.name
        self.token = settings.token
        self.settings = settings
        self.stream = stream
        self.inputs = [Line(address.shown) for address in settings.inputs]
        self.outlets = [
            sinks()[address.kind].outlet(address, settings.name) for address in settings.outputs
        ]
        self.recent: deque[Point] = deque(maxlen=MOST_RECENT)
        self.latest: Point | None = None
        """The latest release that was given out."""
        self.state = "waiting for the first step to end"
        self._clock = clock
        self._by_fixes = settings.clock == "fixes"
        self._broken = False
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()
        self._seen: datetime | None = None
        step = stream.policy.timeline.step
        self._grace, self._given_out = min(GRACE, step / 10), min(GIVEN_OUT, step / 5)
        self._first = self._counted = max(stream.step_at(clock.now()), 0)
        if stream.latest is not None:
            self._offer(stream.latest)

    @property
    def key(self) -> bytes | None:
        """The key of encrypted messages."""
        return self.settings.owntracks_key

    def guarantee(self) -> dict[str, Any]:
        """Return what is guaranteed and against which adversary, as the policy says."""
        policy = self.stream.policy
        events = {each.name: each.guaranteed for each in policy.events.values()}
        return {
            "person": self.name,
            "adversary": policy.chosen_adversary.words,
            "events": {name: {"guarantee": words} for name, words in events.items()},
            "assumes": ASSUMED,
        }

    def leakage(self) -> dict[str, Any]:
        """Return how much the releases have revealed about each event, for the owner only."""
        found = self.guarantee()
        words = self.stream.guaranteed()
        found["events"] = {
            name: {"guarantee": words[name], "leakage": leakage, "belief": belief}
            for name, (_, leakage, belief) in self.stream.told().items()
        }
        return {**found, "step": None if self.latest is None else self.latest.step}

    @property
    def in_guarded_hours(self) -> bool:
        """Whether the running step is guarded: no fix is looked at."""
        step = self.stream.step_at(self.now())
        return step >= self.stream.origin and self.stream.guards(step)

    def owns(self, *names: str) -> bool:
        """Return whether a device is this person's; without 'devices' every device is."""
        devices = self.settings.devices
        return not devices or not devices.isdisjoint(names)

    def now(self) -> datetime:
        """The time by which fixes are judged."""
        return (self._seen or self._clock.now()) if self._by_fixes else self._clock.now()

    async def changed(self, point: Point | None) -> None:
        """Wait until the latest release is another than ``point``."""
        while self.latest == point:
            await self._news.wait()

    async def take(self, fix: Fix) -> bool:
        """Keep a fix for its step; recorded fixes first bring their clock to it.

        False for a fix of guarded hours: nothing that is kept or shown depends on it.
        """
        if not self._by_fixes:
            return self.stream.take(fix, self._clock.now()) is not Taken.GUARDED
        async with self._turn:
            await self._catch_up_with(fix)
            return self.stream.take(fix, self.now()) is not Taken.GUARDED

    async def _catch_up_with(self, fix: Fix) -> None:
        """Release the steps before a recorded fix.

        Which of them are covered follows from the fixes outside guarded hours.
        """
        stream, step = self.stream, self.stream.step_at(fix.time)
        if step - stream.next_step > LONGEST_LEAP:
            return  # taken for a wrong clock: the fix is then ahead of ours
        if self._seen is None:
            self._first = self._counted = step  # nobody waits for what was before
        self._seen = max(fix.time, self._seen or fix.time)
        for over in range(max(stream.next_step, self._first), step):
            if over <= self._counted + MOST_COVERED or stream.guards(over):
                await self._release(over)
        if not stream.guards(step):
            self._counted = max(step, self._counted)

    async def finish(self) -> None:
        """Release the step that the last recorded fix is in."""
        async with self._turn:
            if self._seen is not None:
                await self._release(self.stream.step_at(self._seen))

    async def run(self) -> None:
        """Close steps as the time of day passes; recorded fixes close theirs themselves."""
        while not self._by_fixes:
            await asyncio.sleep(min(self._until_end(), _TICK))
            if not self._clock.believed():
                self.state = "the clock jumped by more than a day: nothing is released"
                tell("clock not believed", person=self.name)
                continue
            over = self.stream.step_at(self._clock.now() - self._grace) - 1
            if over < self.stream.next_step or over < self._first:
                if self.stream.next_step > over + 2:
                    self.state = "the clock is behind the last release: waiting for it"
                elif over + 1 == self._first and self._until_end() < _LEAD:
                    await self._prepare(self._first)
                continue
            end = self.stream.policy.timeline.time_of(over + 1)
            async with self._turn:
                await self._release(over, end + self._given_out)
                await self._prepare()

    async def _prepare(self, step: int | None = None) -> None:
        with suppress(OSError, OutputError, StateError):  # the next release says so
            await asyncio.to_thread(self.stream.prepare, step)
        give_memory_back()

    def _until_end(self) -> float:
        """Return in how many seconds the running step is to be released."""
        timeline, now = self.stream.policy.timeline, self._clock.now()
        step = self.stream.step_at(now - self._grace)
        if step < 0:
            return math.inf
        return max((timeline.time_of(step + 1) + self._grace - now).total_seconds(), 0)

    async def _release(self, step: int, moment: datetime | None = None) -> None:
        """Release a step in a thread, then give it to all outputs at a fixed moment.

        Where the journal or the point cannot be written nothing goes out, and the next call tries
        again from what is on the disk. Nothing is asked of the service but to wait for room.
        """
        try:
            point = await asyncio.to_thread(self._released, step)
        except (OSError, OutputError, StateError) as problem:
            self._broken = True
            if not self.state.startswith(NOTHING_OUT):
                tell("nothing is released", person=self.name, why=type(problem).__name__)
            self.state = f"{NOTHING_OUT}: {problem}"
            return
        if point is None:
            return
        self.state = "releasing"
        if self.stream.trouble is not None:
            self.state = f"only covers go out: {self.stream.trouble}"
        if moment is not None:
            wait = min(moment - self._clock.now(), self._given_out)  # a clock may be set back
            await asyncio.sleep(max(wait.total_seconds(), 0))
        tell("release", person=self.name, step=point.step, step_time=point.clock)
        self._offer(point)

    def _released(self, step: int) -> Point | None:
        if self._broken:
            self.stream.recover()
            self._broken = False
            tell("journal opened again", person=self.name)
        return self.stream.release(step)

    def _offer(self, point: Point) -> None:
        self.latest = point
        self.recent.append(point)
        for outlet in self.outlets:
            outlet.offer(point)
        self._news.set()
        self._news = asyncio.Event()


class Service:
    """Everything that runs; ``seed`` in people's options makes it repeatable.

    ``releases`` says what was released about people before, by any door.
    """

    def __init__(
        self,
        settings: Settings,
        clock: SteadyClock | None = None,
        releases: Releases | None = None,
    ) -> None:
        self._releases = releases
        self.settings = settings
        self.clock = clock or SteadyClock()
        self.people: dict[str, Person] = {}
        self.port: int | None = None
        self.web: WebServer | None = None
        self.started = datetime.now(UTC)
        self.doors: dict[str, Line] = {}
        self.owner_token = ""
        self._lock = -1
        self._stop = asyncio.Event()
        self._status_trouble = ""

    def open(self) -> None:
        """Read every policy and continue every stream; PristeError if one cannot be."""
        for person in self.settings.people:
            for address in person.inputs:
                sources()[address.kind].check(address, person)
        # The streams try the events themselves, from where they begin: twice takes seconds.
        policies = [load_policy(person.policy, try_events=False) for person in self.settings.people]
        private_folder(self.settings.state)
        self._lock = lock_state(self.settings.state)
        try:
            self.owner_token = owner_token(self.settings.state)
            for person, policy in zip(self.settings.people, policies, strict=True):
                self.people[person.name] = self._open_person(person, policy)
        except BaseException:
            self.close()
            raise
        give_memory_back()

    def _open_person(self, person: PersonSettings, policy: Policy) -> Person:
        begin = policy.timeline.start if person.clock == "fixes" else self.clock.now()
        stream = Stream.open(
            person.name,
            policy,
            self.settings.state / person.name,
            person.options,
            begin,
            self._releases,
            person.history,
        )
        stream.prepare()
        return Person(person, stream, self.clock)

    @property
    def url(self) -> str | None:
        """Where the HTTP door is; None without one."""
        if self.settings.listen is None or self.port is None:
            return None
        host = self.settings.listen[0]
        scheme = "https" if self.settings.certificate else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def by_device(self, *names: str) -> Person | None:
        """Return the person who has a device; the only person of a service may have every
        device."""
        people = self.people.values()
        return next((each for name in names for each in people if each.owns(name)), None)

    def recent(self) -> dict[str, tuple[Point, ...]]:
        """Return the last releases of each person."""
        return {name: tuple(person.recent) for name, person in self.people.items()}

    def stop(self) -> None:
        """Ask the service to end."""
        self._stop.set()

    async def run(self, ready: Callable[[Service], None] | None = None) -> None:
        """Run until :meth:`stop`, SIGTERM, SIGINT or SIGHUP, or until all recordings are over.

        :meth:`open` comes first. ``ready`` is called when every server listens.
        """
        quiet_libraries()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(
            lambda _, context: tell("failed", why=type(context.get("exception")).__name__)
        )
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            with suppress(AttributeError, NotImplementedError, ValueError, RuntimeError):
                number = getattr(signal, name)
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
                    loop.add_signal_handler(number, self.stop)
        tasks: list[asyncio.Task[None]] = []
        recordings: list[asyncio.Task[None]] = []
        try:
            self._listen()
            tasks += [asyncio.create_task(job) for job in self._jobs()]
            recordings += [asyncio.create_task(job) for job in self._inputs(recorded=True)]
            for person in self.people.values():
                for outlet in person.outlets:
                    if isinstance(outlet, Serving):
                        await _until(outlet.ready.wait(), tasks)
            tell("started", people=len(self.people), port=self.port)
            if ready is not None:
                ready(self)
            await self._wait(tasks, recordings)
        finally:
            await self._end([*tasks, *recordings])

    async def _wait(
        self, tasks: list[asyncio.Task[None]], recordings: list[asyncio.Task[None]]
    ) -> None:
        stopped = asyncio.create_task(self._stop.wait())
        working, playing = set(tasks), set(recordings)
        while not stopped.done():
            done, _ = await asyncio.wait(
                {stopped, *working, *playing}, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done - {stopped}:
                task.result()  # nothing but a mistake of ours makes one fail: say so
            working -= done
            playing -= done
            if recordings and not playing and self._only_recordings():
                for person in self.people.values():
                    await person.finish()
                await self._drain()
                break
        stopped.cancel()

    def _only_recordings(self) -> bool:
        return self.settings.listen is None and all(
            person.settings.clock == "fixes" for person in self.people.values()
        )

    async def _drain(self) -> None:
        """Wait a little for the points that have not been delivered."""
        for _ in range(50):
            if not any(o.line.waiting for p in self.people.values() for o in p.outlets):
                return
            await asyncio.sleep(0.1)

    def _listen(self) -> None:
        """Open the HTTP port; InvalidParameter if somebody else has it."""
        if self.settings.listen is not None:
            from priste.live.web import application
            from priste.live.web_server import WebServer

            self.web = WebServer(self.settings, application(self))
            self.port = self.web.port

    def _jobs(self) -> list[Coroutine[Any, Any, None]]:
        jobs: list[Coroutine[Any, Any, None]] = [self._keep_status()]
        if self.web is not None:
            jobs.append(self.web.run())
        for person in self.people.values():
            if person.settings.clock == "wall":
                jobs.append(person.run())
            jobs += [outlet.run() for outlet in person.outlets]
        return [*jobs, *self._inputs(recorded=False)]

    def _inputs(self, *, recorded: bool) -> list[Coroutine[Any, Any, None]]:
        return [
            _as_coroutine(sources()[address.kind].run(address, person, line))
            for person in self.people.values()
            for address, line in zip(person.settings.inputs, person.inputs, strict=True)
            if address.recorded is recorded
        ]

    async def _keep_status(self) -> None:
        while True:
            await asyncio.to_thread(self._write_status)
            await asyncio.sleep(_STATUS_EVERY)

    def _write_status(self, *, running: bool = True) -> None:
        """Write the status; a full disk or a lack of descriptors does not end the service."""
        why = ""
        try:
            write_status(self, running=running)
        except (OSError, OutputError) as problem:
            why = type(problem).__name__
        if why != self._status_trouble:
            tell("status cannot be written" if why else "status is written again", why=why)
        self._status_trouble = why

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for person in self.people.values():
            person.state = "stopped"
        self._write_status(running=False)
        self.close()
        tell("stopped")

    def close(self) -> None:
        """Give up the journals and the state folder; closing twice is fine."""
        for person in self.people.values():
            person.stream.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


async def _as_coroutine(job: Awaitable[None]) -> None:
    await job


async def _until(wanted: Awaitable[Any], tasks: list[asyncio.Task[None]]) -> None:
    """Wait for something, or raise what a task ended with meanwhile."""
    waiting = asyncio.ensure_future(wanted)
    try:
        await asyncio.wait({waiting, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        waiting.cancel()
