"""Access to the HTTP port: tokens, guesses at tokens, and requests of web pages.

Two kinds of tokens. A person's token lets phones post and apps read that person's releases. The
owner's token, in the file ``owner.token`` of the state folder, opens everything. Only it opens what
distinguishes releases that came from a fix from covers. A request about an unknown person or device
gets the answer of a wrong token.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from starlette.requests import Request

from priste.atomic_files import write_file
from priste.errors import OutputExists
from priste.live.addresses import is_loopback, secret_from
from priste.live.protocols.fields import UNKNOWN_DEVICE

OWNER_FILE = "owner.token"

FREE_GUESSES = 20
"""Wrong tokens from one address that are answered at once."""

SECONDS_PER_GUESS = 3.0
"""After those, one more guess in this many seconds."""

MOST_GUESSERS = 1_000
"""Addresses whose guesses are counted; the one that guessed longest ago is dropped first."""


class Refused(Exception):
    """An answer other than 200; nothing of the request is in it. ``reason`` is for the owner."""

    def __init__(self, status: int, reason: str | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.reason = reason or _REASONS.get(status, "a request is not allowed")


_REASONS = {
    401: "a request has no token that fits",
    403: "a web page made a request",
    413: "a message is too long",
    429: "too many wrong tokens came from one address",
}


def owner_token(state: Path) -> str:
    """Return the owner's token of a state folder; made when first asked for."""
    path = state / OWNER_FILE
    if not path.exists():
        with suppress(OutputExists):
            write_file(path, secrets.token_urlsafe(24) + "\n")
    return secret_from(path)


class Guesses:
    """How often each address has given a wrong token lately.

    >>> said = [0.0]
    >>> guesses = Guesses(lambda: said[0])
    >>> [guesses.wrong("a") for _ in range(FREE_GUESSES)] and guesses.too_many("a")
    True
    >>> guesses.too_many("b")
    False
    >>> said[0] += SECONDS_PER_GUESS; guesses.too_many("a")
    False
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: dict[str, float] = {}

    def too_many(self, peer: str) -> bool:
        """Return whether an address must wait before its next token is checked."""
        return self._free_at.get(peer, 0.0) > self._clock()

    def wrong(self, peer: str) -> None:
        """Count a wrong token."""
        now = self._clock()
        full = now - (FREE_GUESSES - 1) * SECONDS_PER_GUESS
        used = max(self._free_at.pop(peer, full), full) + SECONDS_PER_GUESS
        self._free_at[peer] = used
        if len(self._free_at) > MOST_GUESSERS:
            del self._free_at[next(iter(self._free_at))]


class Access:
    """The checks of one service."""

    def __init__(
        self, owner: str, people: Iterable[str | None], listens: str | None, expose: bool
    ) -> None:
        self._owner = owner
        self._all = [owner, *(token for token in people if token is not None)]
        self._listens = listens
        self._expose = expose
        self._guesses = Guesses()

    def allow(self, request: Request, token: str | None) -> None:
        """Raise Refused unless a request carries a person's token, or the owner's.

        ``token`` None is of a person who has none: all of this machine may ask.
        """
        if token is not None:
            self._check(request, token, self._owner)

    def allow_owner(self, request: Request) -> None:
        """Raise Refused unless a request carries the owner's token."""
        self._check(request, self._owner)

    def refuse_unknown(self, request: Request) -> NoReturn:
        """Raise for a person or device that is not known what a wrong token would raise."""
        try:
            self._check(request)
        except Refused as refusal:
            raise Refused(refusal.status, UNKNOWN_DEVICE) from None
        raise Refused(401)

    def _check(self, request: Request, *tokens: str) -> None:
        given = given_token(request).encode()
        if not given:
            raise Refused(401)  # no guess: a phone that was not set up yet
        peer = _peer(request)
        if self._guesses.too_many(peer):
            raise Refused(429)
        if any(hmac.compare_digest(given, token.encode()) for token in tokens):
            return
        if not any(hmac.compare_digest(given, token.encode()) for token in self._all):
            self._guesses.wrong(peer)  # a token of somebody else is no guess
        raise Refused(401)

    def refuse_other_hosts(self, request: Request) -> None:
        """Refuse a page that reached this machine by another host name (DNS rebinding)."""
        host = (request.url.hostname or "").strip("[]")
        if not (is_loopback(host) or host == self._listens or self._expose):
            raise Refused(403)


def refuse_pages(request: Request) -> None:
    """Refuse a request that states an origin: a browser sends it for a page, a phone never does."""
    if "origin" in request.headers or request.headers.get("sec-fetch-site", "none") != "none":
        raise Refused(403)


def given_token(request: Request) -> str:
    """Return the token of a request, wherever apps put it; empty without one."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    for found in (
        request.headers.get("x-api-token"),
        request.query_params.get("token"),
        request.query_params.get("api_key"),
        request.path_params.get("token"),
    ):
        if found:
            return str(found)
    return basic(request)[1]


def basic(request: Request) -> tuple[str, str]:
    """Return the user and password of basic authentication, empty without it."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return "", ""
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password


def _peer(request: Request) -> str:
    """Return the address of the client: behind a proxy of this machine, the last one it names."""
    peer = "" if request.client is None else request.client.host
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return forwarded[:64] if is_loopback(peer) and forwarded else peer
