"""Running the studio in tests: the real command in a process of its own, asked over loopback."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from tests.cli.small_world import EAST, NORTH, SOUTH, WEST, write_trips

PATIENCE = 120.0
"""Seconds after which a test gives up waiting; nothing is asserted about how long things take."""

SMALL_SETTING: dict[str, Any] = {
    "map": {"south": SOUTH, "west": WEST, "north": NORTH, "east": EAST, "cell_size": 1.0},
    "clock": {"start": "2026-03-04T00:00:00", "zone": "UTC", "step": "1h", "steps": 12},
    "mobility": {"kind": "gaussian", "sigma": 1.0},
    "mechanism": {"kind": "planar-laplace", "alpha": 1.5},
    "adversary": {"knows": "population"},
    "guarantee": {"epsilon": 0.8},
    "calibrator": "optimal",
    "regions": [{"name": "clinic", "cells": [9, 10]}, {"name": "home", "cells": [0]}],
    "events": [
        {"name": "visit", "formula": 'presence(clinic, "05:00-08:00")', "every": None},
        {
            "name": "homecoming",
            "formula": "pattern(home@1, home@11)",
            "guarantee": {"epsilon": 1.2},
        },
    ],
}
"""The policy of the small world, as the page would set it."""


def workers_of(studio: RunningStudio) -> list[int]:
    """Return the processes in which a studio does its work."""
    servers = [each for each in _children(studio.process.pid) if "forkserver" in _command(each)]
    return [worker for server in servers for worker in _children(server)]


def _children(process: int) -> list[int]:
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:  # it ended meanwhile
        return []
    return [int(each) for each in found.split()]


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:  # it ended meanwhile
        return ""


class RunningStudio:
    """A studio that answers, and all that it has printed."""

    def __init__(self, folder: Path, *arguments: str | Path) -> None:
        self.log = folder / "studio.log"
        self._out = self.log.open("wb")
        command = [sys.executable, "-m", "priste", "studio", "--no-open"]
        command += [str(each) for each in arguments]
        self.state = os.environ["PRISTE_STATE"]
        environment = {**os.environ, "TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"}
        self.folder = folder
        self.process = subprocess.Popen(
            command, stdout=self._out, stderr=subprocess.STDOUT, env=environment
        )
        found = None
        end = time.monotonic() + PATIENCE
        while found is None:
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"The studio did not start:\n{self.printed()}")
            found = re.search(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)", self.printed())
            time.sleep(0.05)
        self.port, self.token = int(found[1]), found[2]

    def printed(self) -> str:
        """Return what the command has printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def client(self, **headers: str) -> httpx.Client:
        """Return a client with the token; reading the certificates of the world takes longest."""
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"X-Priste-Token": self.token, **headers},
            timeout=PATIENCE,
            verify=False,
        )

    def stop(self) -> int:
        """Stop the studio as Ctrl-C does, and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=PATIENCE)
        self._out.close()
        return code


class Tab:
    """One tab of the page: a session, and what it asks."""

    def __init__(self, studio: RunningStudio) -> None:
        self.client = studio.client()
        self.id = self.ask("POST", "/api/sessions")["session"]
        self.path = f"/api/sessions/{self.id}"

    def close(self) -> None:
        """Close the tab."""
        self.ask("DELETE", self.path)
        self.client.close()

    def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Send JSON and return the JSON of the answer, which must have this status."""
        answer = self.client.request(method, path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, what: str, body: Any = None, status: int = 200) -> Any:
        """Ask something of this tab's session."""
        return self.ask("POST", f"{self.path}/{what}", body, status)

    def upload(self, content: bytes, name: str, status: int = 200) -> Any:
        """Upload a file."""
        answer = self.client.post(
            f"{self.path}/upload", content=content, headers={"X-Priste-Name": name}
        )
        assert answer.status_code == status, answer.text
        return answer.json()

    def open_small_world(self, folder: Path, users: tuple[str, ...] = ("ada",)) -> Any:
        """Upload the trips of the small world."""
        return self.upload(write_trips(folder, users).read_bytes(), "trips.csv")

    def messages(self, job: str, after: int | None = None) -> Iterator[tuple[str, Any]]:
        """Yield what a job says, to its end."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        path = f"{self.path}/jobs/{job}/events"
        with self.client.stream("GET", path, headers=headers) as answer:
            assert answer.status_code == 200
            event = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield event, json.loads(line.removeprefix("data: "))

    def run(self, setting: Any, **more: Any) -> tuple[str, dict[str, list[Any]]]:
        """Run a setting to its end; return the run's id and its messages by kind."""
        run = self.post("runs", {"setting": setting, **more})["run"]
        said: dict[str, list[Any]] = {}
        for event, value in self.messages(run):
            said.setdefault(event, []).append(value)
        return run, said

    def export(self, run: str, what: str) -> bytes:
        """Return a file of a run."""
        answer = self.client.get(f"{self.path}/runs/{run}/export/{what}")
        assert answer.status_code == 200, answer.text
        return answer.content


def array(sent: dict[str, str]) -> NDArray[Any]:
    """Return an array that came in base64."""
    ((kind, text),) = sent.items()
    return np.frombuffer(base64.b64decode(text), dtype={"i32": "<i4", "f32": "<f4"}[kind])
