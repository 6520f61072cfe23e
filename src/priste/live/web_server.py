"""Run the HTTP server: a bounded number of connections, each of which must keep sending requests.

uvicorn speaks HTTP. Accepting is done here, because a connection has to be counted before its TLS
handshake: a client that connects and says nothing holds a descriptor already.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from priste.errors import InvalidParameter
from priste.live.logs import tell
from priste.live.settings import Settings

MOST_CONNECTIONS = 256
"""Connections at the same time; when one more comes, an idle one is closed."""

RESERVED_DESCRIPTORS = 128
"""Descriptors that connections must leave to journals, status, sources and sinks."""

REQUEST_SECONDS = 10.0
"""How long a connection may take until its next request has arrived, its handshake included."""

KEEP_ALIVE = 10
"""Seconds that a connection without a request stays open."""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def most_connections() -> int:
    """Return how many connections may be open: fewer where the system allows few descriptors.

    Raises the limit of this process first, as far as the system lets it.
    """
    try:
        import resource
    except ImportError:  # not on Windows, which has no such limit
        return MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS + RESERVED_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(min(MOST_CONNECTIONS, soft - RESERVED_DESCRIPTORS, soft // 2), 1)


class _Connection(H11Protocol):
    """One accepted connection, which says whether it is idle and when it is lost."""

    def __init__(self, config: uvicorn.Config, state: ServerState, peer: str) -> None:
        super().__init__(config, state, app_state={})
        self.peer = peer
        self.lost = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether no request is under way: the handshake, the first request or the next is due."""
        return self.cycle is None or self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end of the connection."""
        super().connection_lost(exc)
        self.lost.set()


class WebServer:
    """The listening socket and the server on it."""

    def __init__(self, settings: Settings, app: Any) -> None:
        host, port = settings.listen or ("127.0.0.1", 0)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=128)
        except OSError as problem:
            raise InvalidParameter(
                f"priste live cannot listen on {host}:{port}: {problem.strerror}",
                hint="Stop the program that uses it, or choose another address with --listen.",
            ) from None
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self.connections: dict[_Connection, None] = {}
        self._most = most_connections()
        self._config = uvicorn.Config(
            app,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=1,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.key,
        )
        self._config.load()
        self._state = ServerState()

    async def run(self) -> None:
        """Serve until cancelled; then close every connection."""
        try:
            await self._accept()
        finally:
            self._socket.close()
            held = {each.task for each in self.connections if each.task is not None}
            tasks = held | self._state.tasks
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                taken, peer = await loop.sock_accept(self._socket)
            except OSError as problem:
                if problem.errno in _EXHAUSTED:
                    tell("no descriptors left", connections=len(self.connections))
                    self._make_room()
                await asyncio.sleep(0.05)
                continue
            if len(self.connections) >= self._most:
                self._make_room()
            connection = _Connection(self._config, self._state, str(peer[0]) if peer else "")
            self.connections[connection] = None
            connection.task = asyncio.create_task(self._hold(connection, taken))

    def _make_room(self) -> None:
        """Close the oldest idle connection of the client that has most of them, else the oldest."""
        if not self.connections:
            return
        idle = [each for each in self.connections if each.idle]
        if idle:
            ((crowd, _),) = Counter(each.peer for each in idle).most_common(1)
            chosen = next(each for each in idle if each.peer == crowd)
        else:
            chosen = next(iter(self.connections))
        del self.connections[chosen]
        if chosen.task is not None:
            chosen.task.cancel()

    async def _hold(self, connection: _Connection, taken: socket.socket) -> None:
        """Serve one connection, and close it when its next request does not come."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                taken,
                ssl=self._config.ssl,
                ssl_handshake_timeout=REQUEST_SECONDS if self._config.ssl else None,
            )
            answered = None
            while not connection.lost.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(connection.lost.wait(), REQUEST_SECONDS)
                if connection.idle and connection.cycle is answered:
                    break  # also where bytes dribble in: none of them has ended a request
                answered = connection.cycle
        except OSError:  # of the handshake, or of a socket that is gone
            taken.close()
        finally:
            self.connections.pop(connection, None)
            if connection.transport is not None:
                connection.transport.abort()
