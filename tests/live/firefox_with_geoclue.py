"""Run inside the namespaces of ``test_geoclue``: a page in Firefox asks where it is.

``python -m tests.live.firefox_with_geoclue FOLDER PROVIDER`` asks until the page is given a
position, and prints a JSON object each time: what the page was given, and what Firefox asked of a
proxy, which is all that it could reach.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from tests.live.firefox import firefox

SETTLED = 12_000
"""Milliseconds that a page waits for a position. Firefox turns to its provider before."""

ASK = f"""const done = arguments[arguments.length - 1];
const given = (p) => done([p.coords.latitude, p.coords.longitude]);
navigator.geolocation.getCurrentPosition(given, (e) => done([e.code]), {{timeout: {SETTLED}}});"""


def raise_loopback() -> None:
    """Bring up the loopback of a new network namespace (what ``ip link set lo up`` does)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        asked = struct.pack("16sh14s", b"lo", 0x1 | 0x40, b"")  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(made, 0x8914, asked)  # SIOCSIFFLAGS


class _Site(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        if not self.path.startswith("/"):
            self.asked.append(f"{self.command} {self.path}")
        body = b"<!doctype html><title>a site</title>"
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_CONNECT = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


def main(folder: Path, provider: str) -> None:
    """Print what a page is given and what was asked of others."""
    raise_loopback()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        preferences: dict[str, object] = {
            "geo.provider.network.url": provider,
            "browser.region.network.url": provider,
            "geo.prompt.testing": True,
            "geo.prompt.testing.allow": True,
            "network.proxy.type": 1,
            "network.proxy.http": "127.0.0.1",
            "network.proxy.http_port": port,
            "network.proxy.ssl": "127.0.0.1",
            "network.proxy.ssl_port": port,
        }
        with firefox(folder, preferences) as browser:
            browser.do("WebDriver:Navigate", url=f"http://127.0.0.1:{port}/")
            given: list[float] = []
            while len(given) < 2:
                given = browser.run(ASK)
                print(json.dumps({"given": given, "asked": _Site.asked}), flush=True)
        server.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
