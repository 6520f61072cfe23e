"""Serving the studio: on loopback, at a port of this machine, until it is stopped."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import uvicorn

from priste.errors import InvalidParameter
from priste.studio.guard import Guard
from priste.studio.routes import Studio
from priste.studio.worker import bound_memory

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 200
STOPS = (signal.SIGINT, signal.SIGTERM)


class _Server(uvicorn.Server):
    """A server that Ctrl-C ends normally: the signal is not raised again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        usual = {each: signal.signal(each, self.handle_exit) for each in STOPS}
        try:
            yield
        finally:
            for each, handler in usual.items():
                signal.signal(each, handler)


class Server:
    """A socket that listens, and the address with which it can be asked."""

    def __init__(self, studio: Studio, port: int = 0, token: str | None = None) -> None:
        try:
            self._socket = socket.create_server((LOOPBACK, port), backlog=64)
        except OSError as problem:
            raise InvalidParameter(
                f"The studio cannot listen on port {port}: {problem.strerror}",
                hint="Choose another with --port, or leave it out.",
            ) from None
        self._studio = studio
        self.port: int = self._socket.getsockname()[1]
        self.token = token or secrets.token_urlsafe(24)

    @property
    def address(self) -> str:
        """The address to open. What follows the # stays in the browser and is sent nowhere."""
        return f"http://{LOOPBACK}:{self.port}/#token={self.token}"

    def run(self, when_ready: Callable[[], None]) -> None:
        """Serve until the process is asked to stop; then remove all temporary files."""
        guard = Guard(self._studio.application(), self.port, self.token, self._studio.tile_host)
        config = uvicorn.Config(
            guard,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=1,
        )
        bound_memory()
        with closing(self._socket):
            self._socket.listen()
            self._studio.prepare()
            when_ready()
            try:
                _Server(config).run(sockets=[self._socket])
            finally:
                self._studio.close()
