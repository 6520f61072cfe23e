"""Watching a running service through the studio: its releases, its token, its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.live.one_person import one_person
from tests.live.running import InThread, free_port, serving
from tests.live.small_town import fix_of
from tests.studio.running_studio import Tab

TOKEN = "a token for one person"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[InThread]:
    """Return a service for one person with a token."""
    with serving(one_person(tmp_path, token=TOKEN)) as running:
        yield running


def watched(tab: Tab, **asked: Any) -> Iterator[tuple[str, Any]]:
    """Yield what the studio tells of a service."""
    number = tab.post("live", asked)["watch"]
    with tab.client.stream("GET", f"{tab.path}/live/{number}/events") as answer:
        event = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield event, json.loads(line.removeprefix("data: "))


def test_releases_of_a_service_are_shown(tab: Tab, service: InThread) -> None:
    """The points that the service serves are the points that the page gets."""
    stream = watched(tab, url=service.url, person="ada", token=TOKEN)
    assert next(stream) == ("connected", {"person": "ada"})
    for step in range(3):
        service.do(service.person.take(fix_of(step)))
    event, point = next(stream)
    assert event == "point"
    latest = httpx.get(
        f"{service.url}/people/ada/latest", headers={"Authorization": f"Bearer {TOKEN}"}
    ).json()
    points = [point]
    while points[-1]["step"] < latest["properties"]["step"]:
        event, value = next(stream)
        if event == "point":
            points.append(value)
    event, said = next(stream)
    assert event == "guarantee"
    ((name, (guarantee, _, _)),) = service.person.stream.told().items()
    assert said["events"] == [{"name": name, "guarantee": guarantee.words()}]
    assert [points[-1]["lon"], points[-1]["lat"]] == latest["geometry"]["coordinates"]
    assert points[-1]["accuracy_m"] == latest["properties"]["accuracy"]
    stream.close()  # type: ignore[attr-defined]


def test_the_owner_sees_the_leakage(tab: Tab, service: InThread) -> None:
    """With the owner's token the page also gets what has leaked so far."""
    stream = watched(tab, url=service.url, person="ada", token=service.service.owner_token)
    assert next(stream) == ("connected", {"person": "ada"})
    for step in range(2):
        service.do(service.person.take(fix_of(step)))
    _, said = next(each for each in stream if each[0] == "guarantee")
    ((name, (guarantee, leakage, belief)),) = service.person.stream.told().items()
    assert said["events"] == [
        {"name": name, "guarantee": guarantee.words(), "leakage": leakage, "belief": belief}
    ]
    stream.close()  # type: ignore[attr-defined]


def test_a_wrong_token_or_person_is_told(tab: Tab, service: InThread) -> None:
    """The service decides; the page hears it in words, and the stream ends."""
    ((event, value),) = watched(tab, url=service.url, person="ada", token="wrong")
    assert event == "failed"
    assert "token" in value["message"]
    ((event, value),) = watched(tab, url=service.url, person="bob", token=TOKEN)
    assert "person" in value["message"]


def test_a_service_that_is_not_there_is_told(tab: Tab) -> None:
    """Nobody listens: that is told, and tried again."""
    stream = watched(tab, url=f"http://127.0.0.1:{free_port()}", person="ada")
    event, value = next(stream)
    assert event == "lost"
    assert "answer" in value["message"]
    stream.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "asked",
    [
        {"url": "http://example.org:80"},
        {"url": "http://169.254.169.254/"},
        {"url": "http://127.0.0.1.evil.example/"},
        {"url": "http://evil.example@10.0.0.1/"},
        {"url": "https://127.0.0.1:8787"},
        {"url": "file:///etc/passwd"},
        {"url": "http://127.0.0.1:99999"},
        {"url": ""},
        {"url": "http://127.0.0.1:80", "token": "a\r\nX: y"},
        {"url": "http://127.0.0.1:80", "person": 3},
    ],
)
def test_only_this_machine_is_asked(tab: Tab, asked: dict[str, Any]) -> None:
    """Other machines, other schemes and broken headers are refused before anything is sent."""
    assert tab.post("live", asked, 422)["error"]["message"]
