"""A real Home Assistant from PyPI, in an environment of its own (``.ci/run`` makes it)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.live.running import Child, free_port, wait_for

PROGRAM = Path(__file__).parent.parent.parent / ".home-assistant" / "bin" / "hass"
CLIENT = "http://127.0.0.1/"

CONFIGURATION = """\
homeassistant:
  name: town
  latitude: {lat}
  longitude: {lon}
  elevation: 0
  unit_system: metric
  time_zone: UTC
  internal_url: http://127.0.0.1:{port}
http:
  server_host: 127.0.0.1
  server_port: {port}
api:
config:
webhook:
mobile_app:
zone:
  - name: Clinic
    latitude: {clinic_lat}
    longitude: {clinic_lon}
    radius: 100
"""


class RunningHome:
    """A Home Assistant whose owner is signed in."""

    def __init__(self, url: str, client: httpx.Client) -> None:
        self.url = url
        self._client = client
        self.token = self._sign_in()
        client.headers["Authorization"] = f"Bearer {self.token}"

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """Return the JSON answer of a request that must succeed."""
        answer = self._client.request(method, self.url + path, **more)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None

    def _sign_in(self) -> str:
        owner = {"name": "ada", "username": "ada", "password": "a", "language": "en"}
        made = self.ask("POST", "/api/onboarding/users", json={**owner, "client_id": CLIENT})
        form = {"client_id": CLIENT, "grant_type": "authorization_code", "code": made["auth_code"]}
        return str(self.ask("POST", "/auth/token", data=form)["access_token"])

    def add(self, integration: str, **answers: object) -> dict[str, Any]:
        """Set an integration up through the flow that its owner would click through."""
        flow = self.ask("POST", "/api/config/config_entries/flow", json={"handler": integration})
        done = self.ask("POST", f"/api/config/config_entries/flow/{flow['flow_id']}", json=answers)
        assert done["type"] == "create_entry", done
        return dict(done)

    def trackers(self) -> dict[str, dict[str, Any]]:
        """Return every device tracker by its name."""
        return {
            state["entity_id"].removeprefix("device_tracker."): state
            for state in self.ask("GET", "/api/states")
            if state["entity_id"].startswith("device_tracker.")
        }


@contextmanager
def home_assistant(
    folder: Path, home: tuple[float, float], clinic: tuple[float, float]
) -> Iterator[RunningHome]:
    """Run a Home Assistant with its zone *home* and a zone *Clinic* of 100 m."""
    if not PROGRAM.exists():
        reason = "Home Assistant is not installed: .ci/run makes .home-assistant"
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    port = free_port()
    text = CONFIGURATION.format(
        lat=home[0], lon=home[1], clinic_lat=clinic[0], clinic_lon=clinic[1], port=port
    )
    folder.mkdir()
    (folder / "configuration.yaml").write_text(text)
    child = Child(str(PROGRAM), "-c", str(folder), "--skip-pip")
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(trust_env=False, timeout=30) as client:
        try:
            wait_for(lambda: _answers(client, url, child), "Home Assistant answers")
            yield RunningHome(url, client)
        finally:
            child.end(kill=True)


def _answers(client: httpx.Client, url: str, child: Child) -> bool:
    if child.process.poll() is not None:
        pytest.fail(f"Home Assistant ended: {bytes(child.err)[-2000:].decode()}")
    try:
        return json.loads(client.get(f"{url}/api/onboarding").text)[0]["step"] == "user"
    except (httpx.HTTPError, ValueError, LookupError):
        return False
