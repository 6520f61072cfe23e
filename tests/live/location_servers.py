"""Servers of other people, reduced to how their sources check and read a request.

Each class follows the handlers that are named in it, at the versions of November 2026: which path,
which token, which fields, which answer. What they take is kept.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

TOKEN = "2fa91c3e-token-of-a-server"
USER, PASSWORD = "ada", "her password at GeoPulse"


@dataclass
class Asked:
    """A request: its path, query, headers and body."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, object]:
        """Return the JSON object of the body."""
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


@dataclass
class LocationServer:
    """A server that keeps the points it accepts as (seconds, lat, lon)."""

    points: list[tuple[float, float, float]] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    port: int = 0

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        """Return status and body, and keep the points."""
        raise NotImplementedError

    @contextmanager
    def up(self) -> Iterator[LocationServer]:
        """Run the server on a free port of loopback."""
        server_of = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers.get("content-length", 0)))
                status, said = server_of.answer(Asked(parts.path, query, headers, body))
                if status >= 300:
                    server_of.refused.append(status)
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def owntracks(self, said: dict[str, object]) -> None:
        """Keep an OwnTracks location."""
        self.points.append((float(said["tst"]), float(said["lat"]), float(said["lon"])))  # type: ignore[arg-type]

    def overland(self, said: dict[str, object]) -> None:
        """Keep an Overland batch; each feature needs a position, a time and an accuracy."""
        for feature in said["locations"]:  # type: ignore[attr-defined]
            lon, lat = feature["geometry"]["coordinates"][:2]
            properties = feature["properties"]
            assert properties["horizontal_accuracy"] is not None
            when = datetime.fromisoformat(properties["timestamp"]).timestamp()
            self.points.append((when, lat, lon))


class Dawarich(LocationServer):
    """Freika/dawarich: api_controller.rb, owntracks/points and overland/batches controllers.

    The key is the parameter ``api_key``, or the last word of the Authorization header.
    """

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        """Answer as its controllers do."""
        words = asked.headers.get("authorization", "").split()
        key = asked.query.get("api_key") or (words[-1] if words else None)
        if key != TOKEN:
            return 401, b""
        if asked.path == "/api/v1/owntracks/points":
            self.owntracks(asked.json())
            return 200, b"[]"
        if asked.path == "/api/v1/overland/batches":
            self.overland(asked.json())
            return 201, b'{"result":"ok"}'
        return 404, b""


class Reitti(LocationServer):
    """dedicatedcode/reitti: TokenAuthenticationFilter, UrlTokenAuthenticationFilter, ingestion.

    The token is ``X-API-Token``, else ``Authorization: Bearer``, or the parameter ``token``.
    """

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        """Answer as its filters and controllers do."""
        given = asked.headers.get("x-api-token")
        if given is None:
            given = asked.headers.get("authorization", "").removeprefix("Bearer ") or None
        given = asked.query.get("token") or given
        if given != TOKEN:
            return 401, b""
        if not asked.headers.get("content-type", "").startswith("application/json"):
            return 415, b""
        if asked.path in ("/api/v1/ingest/owntracks", "/api/v1/ingest/gpslogger"):
            said = asked.json()
            if said["_type"] == "location":
                assert said.get("t") != "p"  # it would take the time of arrival instead
                self.owntracks(said)
            return 200, b"[]"
        if asked.path == "/api/v1/ingest/overland":
            self.overland(asked.json())
            return 200, b'{"result":"ok"}'
        return 404, b""


class GeoPulse(LocationServer):
    """tess1o/geopulse: OwnTracksResource (basic authentication), OverlandResource (a bearer)."""

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        """Answer as its resources do."""
        given = asked.headers.get("authorization", "")
        if asked.path == "/api/owntracks":
            basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            if given != f"Basic {basic}":
                return 401, b""
            self.owntracks(asked.json())
            return 200, b"[]"
        if asked.path == "/api/overland":
            if given != f"Bearer {TOKEN}":
                return 401, b""
            self.overland(asked.json())
            return 200, b'{"result":"ok"}'
        return 404, b""


class PhoneTrack(LocationServer):
    """julien-nc/phonetrack: LogController.logGpsloggerPost; the token of the session is a path."""

    PATH: ClassVar[str] = f"/apps/phonetrack/log/gpslogger/{TOKEN}/phone"

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        """Answer as its controller does."""
        if asked.path != self.PATH:
            return 404, b""
        form = {name: values[-1] for name, values in parse_qs(asked.body.decode()).items()}
        float(form["acc"])
        self.points.append((int(form["timestamp"]), float(form["lat"]), float(form["lon"])))
        return 200, b""
