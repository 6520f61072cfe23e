"""Get a webhook of Home Assistant for the releases of one person, with a token of its owner."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from priste.errors import InvalidParameter
from priste.live.addresses import is_loopback

TIMEOUT = 15.0
REGISTRATIONS = "/api/mobile_app/registrations"


@dataclass(frozen=True)
class Home:
    """Where Home Assistant says that it stands: its zone *home*."""

    lat: float
    lon: float


class HomeAssistant:
    """One Home Assistant, by its URL and a long-lived access token.

    A token never goes over a network without TLS unless ``plain`` allows it.
    """

    def __init__(self, url: str, token: str, *, plain: bool = False) -> None:
        parts = urlsplit(url.rstrip("/"))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise InvalidParameter(
                "must be written as https://HOST:8123", parameter="URL", owner="Home Assistant"
            )
        if parts.scheme == "http" and not is_loopback(parts.hostname) and not plain:
            raise InvalidParameter(
                "must begin with https:// unless it is on this machine",
                parameter="URL",
                owner="Home Assistant",
                hint="In a network that you trust, allow plain HTTP with --plain-lan.",
            )
        self._host = parts.netloc
        self._scheme = parts.scheme
        self._base = f"{parts.scheme}://{parts.netloc}{parts.path}"
        self._path = parts.path
        self._headers = {"Authorization": f"Bearer {token}"}

    def home(self) -> Home:
        """Return the place of the zone *home*; ConnectionError if it is not answered."""
        found = self._ask("GET", "/api/config")
        return Home(float(found["latitude"]), float(found["longitude"]))

    def webhook(self, person: str) -> str:
        """Register a device for a person's releases and return the address of its output."""
        asked = {
            "device_id": f"priste-{person}",
            "app_id": "priste",
            "app_name": "priste live",
            "app_version": "1",
            "device_name": f"{person} released",
            "manufacturer": "priste",
            "model": "released location",
            "os_name": "priste",
            "os_version": "1",
            "supports_encryption": False,
        }
        made = self._ask("POST", REGISTRATIONS, asked)
        return f"homeassistant+{self._scheme}://{self._host}{self._path}/api/webhook/" + str(
            made["webhook_id"]
        )

    def _ask(self, method: str, path: str, content: object = None) -> dict[str, str]:
        import httpx

        body = None if content is None else json.dumps(content).encode()
        try:
            answer = httpx.request(
                method,
                self._base + path,
                content=body,
                headers={**self._headers, "Content-Type": "application/json"},
                timeout=TIMEOUT,
                trust_env=False,
            )
            if answer.is_success:
                return dict(answer.json())
        except (httpx.HTTPError, ValueError, TypeError) as problem:
            raise ConnectionError(f"Home Assistant: {type(problem).__name__}") from None
        raise ConnectionError(f"Home Assistant answered {answer.status_code} to {path}")
