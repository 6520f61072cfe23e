"""Running the service and the programs around it in tests: real ones, on loopback, cleaned up."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

import pytest

from priste.live.clock import SteadyClock
from priste.live.service import Person, Service
from priste.live.settings import Settings

PATIENCE = 60.0
"""Seconds after which a test gives up waiting; nothing is asserted about how long things take."""

GEOCLUE_DEMOS = "/usr/libexec/geoclue-2.0/demos"

DEBIAN = {
    "mosquitto": "mosquitto",
    "mosquitto_pub": "mosquitto-clients",
    "mosquitto_sub": "mosquitto-clients",
    "gpsd": "gpsd",
    "gpsfake": "gpsd-clients",
    "gpspipe": "gpsd-clients",
    "curl": "curl",
    "chromium": "chromium",
    "dbus-daemon": "dbus",
    "where-am-i": "geoclue-2-demo",
}
"""The packages that hold the programs; .ci/run installs them."""


def program(name: str) -> str:
    """Return the path of a program; where it is missing fail in CI and skip elsewhere."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:{GEOCLUE_DEMOS}")
    if found is None:
        reason = f"{name} is not installed (Debian package {DEBIAN.get(name, name)})"
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def free_port() -> int:
    """Return a port of loopback that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def wait_for(what: Callable[[], object], why: str) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > deadline:
            pytest.fail(f"waited in vain: {why}")
        time.sleep(0.02)


def answers(port: int) -> bool:
    """Tell whether something listens on a port of loopback."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class Child:
    """A program that runs beside a test; what it writes is collected."""

    def __init__(self, *command: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else {**os.environ, **env},
        )
        self.out, self.err = bytearray(), bytearray()
        self._readers = [
            threading.Thread(target=self._collect, args=pair, daemon=True)
            for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _collect(stream: IO[bytes], into: bytearray) -> None:
        while data := os.read(stream.fileno(), 65_536):
            into += data

    def lines(self) -> list[bytes]:
        """Return the whole lines of the output so far."""
        return bytes(self.out).split(b"\n")[:-1]

    def end(self, *, kill: bool = False) -> None:
        """End the program and read the rest of what it wrote."""
        if self.process.poll() is None:
            (self.process.kill if kill else self.process.terminate)()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self._readers:
            reader.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def running(*command: str, env: dict[str, str] | None = None) -> Iterator[Child]:
    """Run a program beside a test."""
    child = Child(*command, env=env)
    try:
        yield child
    finally:
        child.end()


class InThread:
    """A service in a thread of the test."""

    def __init__(self, settings: Settings, clock: SteadyClock | None = None) -> None:
        self.service = Service(settings, clock)
        self.service.open()
        self._ready = threading.Event()
        self.problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        wait_for(lambda: self._ready.is_set() or self.problem, "the service starts")
        if self.problem is not None:
            raise self.problem

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:
            self.problem = problem

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.service.run(lambda _: self._ready.set())

    @property
    def person(self) -> Person:
        """The one person, or the first."""
        return next(iter(self.service.people.values()))

    @property
    def url(self) -> str:
        """Where its HTTP door is."""
        return f"http://127.0.0.1:{self.service.port}"

    def port_of(self, number: int) -> int:
        """Return the port of a serving outlet."""
        return int(self.person.outlets[number].port)  # type: ignore[attr-defined]

    def do(self, job: object) -> object:
        """Run a coroutine in the service's loop."""
        return asyncio.run_coroutine_threadsafe(job, self._loop).result(PATIENCE)  # type: ignore[arg-type]

    def stop(self) -> None:
        """Stop the service."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self.service.stop)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def serving(settings: Settings, clock: SteadyClock | None = None) -> Iterator[InThread]:
    """Run a service in a thread."""
    made = InThread(settings, clock)
    try:
        yield made
    finally:
        made.stop()
    if made.problem is not None:
        raise made.problem


class Recorder:
    """A server that keeps what it is sent, can be told to fail, and can die and return."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.received: list[tuple[str, bytes]] = []
        self.status = 200

    @contextmanager
    def up(self) -> Iterator[None]:
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if recorder.status == 200:
                    recorder.received.append((self.path, body))
                self.send_response(recorder.status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b'[{"_type":"cmd","action":"dump"}]'[:2])

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def mosquitto(folder: Path, port: int) -> Child:
    """Start a broker on a port of loopback and wait until it answers."""
    path = folder / "mosquitto.conf"
    path.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n")
    child = Child(program("mosquitto"), "-c", str(path))
    wait_for(lambda: answers(port), "mosquitto answers")
    return child
