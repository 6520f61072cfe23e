"""Push over HTTP: one request for each point, until the server has taken it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from priste.live.addresses import Address
from priste.live.point import Point
from priste.live.protocol import Outlet, Sink
from priste.live.retrying import Line
from priste.live.sinks.pushing import Pushing

TIMEOUT = 15.0
"""Seconds for one delivery."""

Request = Callable[[Point, str, str], Mapping[str, Any]]
"""Returns httpx's arguments for a point, given the names of the device and of the person."""

_OPTIONS = frozenset(
    {
        "password_file",
        "device",
        "accuracy",
        "bearer_file",
        "x_api_token_file",
        "api_key_file",
        "token_file",
    }
)


def http_sinks(name: str, request: Request) -> dict[str, Sink]:
    """Return the sinks NAME+http and NAME+https."""

    def outlet(address: Address, person: str) -> Outlet:
        return http_outlet(address, person, request)

    return {
        f"{name}+http": Sink(outlet, 80, _OPTIONS, queries=True),
        f"{name}+https": Sink(outlet, 443, _OPTIONS, queries=True),
    }


def http_outlet(address: Address, person: str, request: Request) -> Pushing:
    """Return the outlet of an address; ``person`` is the device unless the address names one."""
    device = address.options.get("device", person)
    query, headers = address.secret_query(), address.secret_headers()

    async def session(outlet: Pushing) -> None:
        import httpx

        auth = None if address.user is None else (address.user, address.password or "")
        # No proxies or credentials from the environment: a point goes where the settings say.
        async with httpx.AsyncClient(timeout=TIMEOUT, auth=auth, trust_env=False) as client:
            while True:
                point = await outlet.next()
                made = request(address.shown_here(point), device, person)
                asked = {**made, "params": {**query, **made.get("params", {})}}
                asked["headers"] = {**made.get("headers", {}), **headers}
                # The answer's body is not read: servers send commands and other people in it.
                async with client.stream("POST", address.url, **asked) as answer:
                    if not answer.is_success:
                        raise ConnectionError(f"the server answered {answer.status_code}")
                outlet.delivered(point)

    return Pushing(Line(address.shown), session)
