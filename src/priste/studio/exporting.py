"""Exports: the files that the command line would write, handed to the browser."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Protocol
from urllib.parse import quote

from starlette.responses import Response

from priste.policy import Policy
from priste.studio.following import RunMade
from priste.studio.jobs_at_work import archive_of
from priste.studio.opening import Source
from priste.studio.wire import Refused
from priste.traces import Trace, released_suffix

REPORTS = {
    "report": "report.html",
    "report to share": "report-to-share.html",
    "report with the truth": "report-with-the-truth.html",
}
"""The reports and their names: with distances, from releases only, and with the true path."""

Fetch = Callable[[str], Awaitable[bytes]]


class Releases(Protocol):
    """What this user has handed out before, by any command."""

    def past(self, trace: Trace, read: Callable[[], Policy]) -> bytes | None:
        """Return the stream of a person that a run under a policy can continue, None if none."""

    def claim(self, policy: Policy, trace: Trace, kept: bytes, *, again: bool) -> str | None:
        """Write down what is about to be exported, in one transaction with looking up.

        Returns why ``kept`` does not continue what was released about this person before, and
        then writes nothing unless ``again`` asks for a second stream.
        """


class HandedOut:
    """Which run of somebody's days was exported: two of them would reveal more than either
    guaranteed.

    Runs with a seed are experiments and take no part. ``register`` remembers for all commands;
    without one, what was exported is remembered as long as the studio runs.
    """

    def __init__(self, register: Releases | None = None) -> None:
        self._key = secrets.token_bytes(32)
        self._runs: dict[bytes, str] = {}
        self._register = register

    def past(self, trace: Trace, read: Callable[[], Policy]) -> bytes | None:
        """Return the stream that a run of a person continues, None if it begins one."""
        return None if self._register is None else self._register.past(trace, read)

    def claim(self, run: str, made: RunMade, policy: Policy, *, again: bool) -> None:
        """Remember that a run is exported; refuse another run of a person who was released."""
        if made.order.seed is not None or (first := self._runs.get(self._days(made))) == run:
            return
        reason = None if first is None else "another run of these days was exported already"
        if self._register is not None:
            reason = self._register.claim(policy, made.order.trace, made.kept, again=again)
        if reason is not None and not again:
            raise Refused(
                409,
                f"This run does not go on from what was released about this person: {reason}. "
                "Both together reveal more than either guarantees.",
                "Run again: that continues from what was released, if it can. To hand out both "
                "without a guarantee about both together, ask again.",
            )
        self._runs[self._days(made)] = run

    def _days(self, made: RunMade) -> bytes:
        trace = made.order.trace
        digest = hmac.new(self._key, repr(trace.user).encode(), hashlib.sha256)
        for column in (trace.times, trace.lat, trace.lon):
            digest.update(column.tobytes())
        return digest.digest()


async def exported(what: str, made: RunMade, source: Source, report: str, fetch: Fetch) -> Response:
    """Return one file of a run, or all of them as an archive; ``fetch`` makes the long ones.

    ``report`` is one of ``REPORTS``. The archive holds the report to share and the private one.
    """
    policy = made.order.text.encode("utf-8")
    released = f"{source.path.stem}.released{released_suffix(source.traces)}"
    packed = f"{released}.zip" if source.path.is_dir() else released
    if what == "policy.toml":
        return download(policy, what, "text/plain")
    if what == "released":
        return download(await fetch("released"), packed, "application/octet-stream")
    if what == "ledger.csv":
        return download(await fetch("ledger"), f"{released}.ledger.csv", "text/csv")
    if what == "report.html":
        return download(await fetch(report), REPORTS[report], "text/html")
    if what != "all.zip":
        raise Refused(
            404,
            "There is no such export.",
            "There are policy.toml, released, ledger.csv, report.html and all.zip.",
        )
    files = {
        "policy.toml": policy,
        packed: await fetch("released"),
        f"{released}.ledger.csv": await fetch("ledger"),
        **{REPORTS[each]: await fetch(each) for each in ("report", "report to share")},
    }
    if source.kind == "town":  # the policy names them
        for name in ("ada.csv", "residents.csv"):
            files[name] = (source.folder / name).read_bytes()
    return download(archive_of(files), "priste.zip", "application/zip")


def download(data: bytes, name: str, media_type: str) -> Response:
    """Return a file that a browser saves and never shows."""
    disposition = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(data, media_type=media_type, headers={"Content-Disposition": disposition})
