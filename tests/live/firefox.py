"""Debian's Firefox, driven through the Marionette protocol that it speaks itself."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live.running import PATIENCE, Child, answers, free_port, program, wait_for

QUIET: dict[str, object] = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.prefs.recommended": False,  # they replace the source of locations
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}
"""So that it asks nobody anything by itself."""


class Firefox:
    """A session; commands are those of WebDriver."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._stream = self._socket.makefile("rb")
        self._number = 0
        self._read()
        self.do("WebDriver:NewSession", strictFileInteractability=True)

    def _read(self) -> Any:
        length = b""
        while (sign := self._stream.read(1)) != b":":
            assert sign, "Firefox ended"
            length += sign
        return json.loads(self._stream.read(int(length)))

    def do(self, command: str, **arguments: object) -> Any:
        """Return what a command answers."""
        self._number += 1
        message = json.dumps([0, self._number, command, arguments]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, result = self._read()
        assert error is None, error
        assert number == self._number
        return result

    def run(self, script: str, *values: object) -> Any:
        """Return what an asynchronous script hands to its last argument."""
        found = self.do(
            "WebDriver:ExecuteAsyncScript", script=script, args=list(values),
            scriptTimeout=int(1000 * PATIENCE), newSandbox=True,
        )  # fmt: skip
        return found["value"]

    def close(self) -> None:
        """Hang up."""
        self._stream.close()
        self._socket.close()


def write_profile(folder: Path, port: int, more: Mapping[str, object]) -> None:
    """Write a profile with preferences."""
    folder.mkdir()
    chosen = {**QUIET, "marionette.port": port, **more}
    lines = [
        f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in chosen.items()
    ]
    (folder / "user.js").write_text("\n".join(lines))


@contextmanager
def firefox(folder: Path, preferences: Mapping[str, object] | None = None) -> Iterator[Firefox]:
    """Run Firefox without a window, in a new profile."""
    port = free_port()
    write_profile(folder, port, preferences or {})
    child = Child(
        program("firefox-esr"), "--headless", "--marionette", "--remote-allow-system-access",
        "--no-remote", "--profile", str(folder), env={"HOME": str(folder)},
    )  # fmt: skip
    try:
        wait_for(lambda: answers(port), "Firefox answers")
        session = Firefox(port)
        try:
            yield session
        finally:
            session.close()
    finally:
        child.end()
