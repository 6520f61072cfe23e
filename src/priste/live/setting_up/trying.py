"""Try an output without sending a location: is it reachable, and are the credentials right?"""

from __future__ import annotations

import asyncio
import json
import socket

from priste.live.addresses import Address

TIMEOUT = 10.0


async def try_output(address: Address) -> str | None:
    """Return what is wrong with an output, in words without secrets; None if it answers."""
    try:
        async with asyncio.timeout(TIMEOUT):
            if "+http" in address.kind:
                return await _try_http(address)
            if "+mqtt" in address.kind:
                return await _try_mqtt(address)
            return _try_port(address)
    except TimeoutError:
        return "it does not answer"
    except OSError as problem:
        return problem.strerror or type(problem).__name__


async def _try_http(address: Address) -> str | None:
    """Ask without a location. Home Assistant answers an unknown webhook with nothing at all."""
    import httpx

    auth = None if address.user is None else (address.user, address.password or "")
    webhook = address.home_assistant
    body = json.dumps({"type": "get_config"}).encode() if webhook else b""
    async with httpx.AsyncClient(timeout=TIMEOUT, auth=auth, trust_env=False) as client:
        try:
            answer = await client.request(
                "POST" if webhook else "OPTIONS",
                address.url,
                content=body,
                params=address.secret_query(),
                headers={"Content-Type": "application/json", **address.secret_headers()},
            )
        except httpx.HTTPError as problem:
            return f"it cannot be reached ({type(problem).__name__})"
    if answer.status_code in (401, 403):
        return f"it refuses the credentials ({answer.status_code})"
    if answer.status_code == 404 or answer.status_code >= 500:
        return f"it answers {answer.status_code}"
    if webhook and address.kind.startswith("homeassistant+") and not answer.content:
        return "Home Assistant does not know this webhook"
    return None


async def _try_mqtt(address: Address) -> str | None:
    import aiomqtt

    try:
        async with aiomqtt.Client(**address.broker()):
            return None
    except aiomqtt.MqttError as problem:
        refused = isinstance(problem, aiomqtt.MqttCodeError)
        return "it refuses the connection" if refused else "it cannot be reached"


def _try_port(address: Address) -> str | None:
    """A server of ours needs its port to be free, a path its folder."""
    if address.host:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        socket.create_server((address.host, address.port or 0), family=family).close()
    return None
