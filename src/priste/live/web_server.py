"""Running the HTTP door: a bounded number of connections, each of which must get to its point."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from priste.live.settings import Settings

MOST_CONNECTIONS = 256
"""When one more comes, the oldest that has not finished a request is closed."""

REQUEST_SECONDS = 10.0
"""How long a connection may take until its first request has arrived."""


class BoundedProtocol(H11Protocol):
    """HTTP that closes who connects and says nothing, or too slowly."""

    _open: dict[BoundedProtocol, None] = {}  # noqa: RUF012  # one list for all connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and make room for it."""
        super().connection_made(transport)
        if len(self._open) >= MOST_CONNECTIONS:
            idle = next((other for other in self._open if other.cycle is None), None)
            evicted = idle or next(iter(self._open))
            del self._open[evicted]  # now, not when its loss is told: others may come before
            evicted.transport.abort()
        self._open[self] = None
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._deadline.cancel()
        self._open.pop(self, None)
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    """A server inside a service: signals are the service's business."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class WebServer:
    """The listening socket and the server on it."""

    def __init__(self, settings: Settings, app: Any) -> None:
        host, port = settings.listen or ("127.0.0.1", 0)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=128)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=1,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.key,
        )
        self._server = _Server(config)

    async def run(self) -> None:
        """Serve until cancelled; then let go of every connection."""
        serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        try:
            await asyncio.shield(serving)
        finally:
            self._server.should_exit = self._server.force_exit = True
            await asyncio.wait({serving})
            self._socket.close()
