"""Access to the studio: only its own page, with the token that the command line printed.

Three things are checked before anything is done. The name by which the server was called (``Host``)
must be a name of this machine: another host name that points here would let a foreign page read the
answers (DNS rebinding). The page that asks (``Origin``, ``Sec-Fetch-Site``) must be this one. And a
request for anything but the page's own files must know the token. It travels in a header and never
in a cookie, which a browser would send to every port of this machine.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders

from priste.studio.wire import Refused

TOKEN_HEADER = "x-priste-token"

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def security_headers(tile_host: str | None = None) -> dict[str, str]:
    """Return the headers of every answer; ``tile_host`` is the one other place images come from."""
    images = "'self' data: blob:" + ("" if tile_host is None else f" {tile_host}")
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": images,
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{key} {value}" for key, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "geolocation=(), camera=(), microphone=()",
        "Cache-Control": "no-store",
    }


class Guard:
    """The checks and the headers, around an application that listens on ``port``."""

    def __init__(self, app: App, port: int, token: str, tile_host: str | None = None) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        if port == 80:
            self._hosts |= {"127.0.0.1", "localhost"}
        self._token = token.encode()
        self._headers = security_headers(tile_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in self._headers.items():
                    headers[name] = value
            await send(message)

        try:
            self._check(Headers(scope=scope), str(scope["method"]), str(scope["path"]))
        except Refused as refusal:
            await refusal.response()(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _check(self, headers: Headers, method: str, path: str) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise Refused(403, "The studio answers only to its own address on this machine.")
        origins = headers.getlist("origin")
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            raise Refused(403, "Another page must not ask the studio for anything.")
        sites = {"same-origin", "none"} if method in ("GET", "HEAD") else {"same-origin"}
        if headers.get("sec-fetch-site", "same-origin") not in sites:
            raise Refused(403, "Another page must not ask the studio for anything.")
        if path.startswith("/api/"):
            given = headers.get(TOKEN_HEADER, "").encode("latin-1", "replace")
            if not hmac.compare_digest(given, self._token):
                raise Refused(
                    401,
                    "This page does not have the token of the running studio.",
                    "Open the address that priste studio printed, with everything after the #.",
                )
