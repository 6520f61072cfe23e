"""What others can read is the same whether a step had a fix or was covered, but for the point."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.live.running import InThread, serving
from tests.live.small_town import DAILY, HOUR, START, fix_of, write_policy

from priste.live import access
from priste.live.access import FREE_GUESSES
from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings

ROOT = Path(__file__).parents[2]
TOKEN = "a token for apps, long enough"
STEPS = 30
COVERED = (3, 4, 5, 8, 9, 15, 28, 29)
"""Steps in which the phone is silent in the second world: in and out of guarded hours."""


def settings(folder: Path) -> Settings:
    folder.mkdir(exist_ok=True)
    person = PersonSettings(
        "ada",
        write_policy(folder, DAILY),
        devices=frozenset({"ada/phone"}),
        token=TOKEN,
        options=StreamOptions(seed=5),
        clock="fixes",
    )
    return Settings(folder / "state", (person,), listen=("127.0.0.1", 0))


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    """A client without proxies."""
    with httpx.Client(trust_env=False, timeout=30) as made:
        yield made


def ask(client: httpx.Client, live: InThread, path: str, token: str = TOKEN) -> httpx.Response:
    return client.get(f"{live.url}{path}", headers={"Authorization": f"Bearer {token}"})


def without_the_point(found: dict[str, Any]) -> dict[str, Any]:
    """Return a released feature without where it is: that is what differs."""
    return {**found, "geometry": None}


def world(
    folder: Path, covered: tuple[int, ...], client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> tuple[list[Any], list[Any]]:
    """Return what an app can read after each step, and the log, of one world."""
    seen = []
    caplog.clear()
    with caplog.at_level(logging.INFO, "priste.live"), serving(settings(folder)) as live:
        for step in range(STEPS):
            if step not in covered:
                live.do(live.person.take(fix_of(step)))
            live.do(live.person._release(step))
            latest = ask(client, live, "/people/ada/latest")
            guarantee = ask(client, live, "/people/ada/guarantee")
            seen.append(
                (
                    without_the_point(latest.json()),
                    dict(latest.headers).keys(),
                    (guarantee.status_code, guarantee.text, dict(guarantee.headers).keys()),
                    [ask(client, live, path).status_code for path in OWNERS],
                )
            )
        counts, guards = live.person.stream.counts, live.person.stream.guards
        assert counts.covered == sum(not guards(step) for step in covered)
        assert counts.guarded == sum(map(guards, range(STEPS))) > 0
    log = [json.loads(record.message) for record in caplog.records]
    return seen, [{key: said[key] for key in said if key not in ("time", "port")} for said in log]


OWNERS = ("/people/ada/leakage", "/status", "/")


def test_apps_cannot_tell_a_cover_from_a_release(
    tmp_path: Path, client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """With a person's token, and in the log, nothing but the points differs between the worlds."""
    one = world(tmp_path / "a", (), client, caplog)
    other = world(tmp_path / "b", COVERED, client, caplog)
    assert one == other
    assert one[0][0][3] == [401, 401, 401]


def test_the_page_lists_what_is_served() -> None:
    """Its table names what these tests read with a person's token, and what only the owner may."""
    text = (ROOT / "docs" / "explanation" / "handed-out.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith("| `live` |")]
    public, private = (set(re.findall("`(.*?)`", part)) for part in row.split("|")[2:4])
    assert public == {"/people/NAME/latest", "/people/NAME/guarantee", "log"}
    assert private == {path.replace("ada", "NAME") for path in OWNERS} | {"state folder"}


def test_the_owner_can(tmp_path: Path, client: httpx.Client) -> None:
    """The leakage moves with releases and not with covers: so it is the owner's alone."""
    with serving(settings(tmp_path)) as live:
        owner = live.service.owner_token

        def leakage() -> object:
            return ask(client, live, "/people/ada/leakage", owner).json()["events"]

        for step in range(7, 10):
            live.do(live.person.take(fix_of(step)))
        before = leakage()
        live.do(live.person._release(9))
        after = leakage()
        assert after != before
        live.do(live.person._release(10))  # nothing came in it
        assert leakage() == after
        page = ask(client, live, "/", owner)
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        for words in ("covers only since", "last fix", "guarantee", "<svg", "visit"):
            assert words in page.text
        assert ask(client, live, "/status", owner).json()["people"]["ada"]["steps"]["covered"] == 1
        assert (tmp_path / "state" / "owner.token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("token", ["", "wrong"])
def test_whether_a_person_or_device_exists_is_not_told(
    tmp_path: Path, client: httpx.Client, token: str
) -> None:
    """Known and unknown names are answered alike, to the last of many guesses."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    said = {"_type": "location", "lat": 46.01, "lon": 7.01, "tst": 0}
    answers: list[list[tuple[int, object, bytes]]] = []
    for name in ("ada", "eve"):
        with serving(settings(tmp_path / name)) as live:
            found = []
            for _ in range(FREE_GUESSES + 3):
                for answer in (
                    client.get(f"{live.url}/people/{name}/latest", headers=headers),
                    client.post(
                        f"{live.url}/owntracks",
                        json=said,
                        headers={**headers, "X-Limit-U": name, "X-Limit-D": "phone"},
                    ),
                ):
                    found.append((answer.status_code, answer.headers.keys(), answer.content))
            answers.append(found)
    assert answers[0] == answers[1]
    assert {status for status, _, _ in answers[0]} == ({401, 429} if token else {401})


def test_guesses_are_slowed_down_and_forgotten(
    tmp_path: Path, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so many wrong tokens an address must wait; others, and those who waited, need not."""
    said = [1_000.0]
    monkeypatch.setattr(access.time, "monotonic", lambda: said[0])
    guesses = access.Guesses(lambda: said[0])
    with serving(settings(tmp_path)) as live:
        for _ in range(FREE_GUESSES):
            assert ask(client, live, "/people/ada/latest", "wrong").status_code == 401
        assert ask(client, live, "/people/ada/latest", "wrong").status_code == 429
        assert ask(client, live, "/people/ada/latest").status_code == 429
        elsewhere = {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-For": "203.0.113.9"}
        assert client.get(f"{live.url}/people/ada/latest", headers=elsewhere).status_code == 204
    for _ in range(FREE_GUESSES):
        guesses.wrong("a")
    assert guesses.too_many("a")
    said[0] += access.SECONDS_PER_GUESS
    assert not guesses.too_many("a")
    for number in range(2 * access.MOST_GUESSERS):
        guesses.wrong(str(number))
    assert len(guesses._free_at) == access.MOST_GUESSERS


def test_a_fix_of_another_hour_changes_nothing_that_is_served(
    tmp_path: Path, client: httpx.Client
) -> None:
    """The guarantee in words follows from the policy: neither from the past nor from the clock."""
    with serving(settings(tmp_path)) as live:
        first = ask(client, live, "/people/ada/guarantee").text
        for step in range(STEPS):
            live.do(live.person.take(dataclasses.replace(fix_of(step), time=START + step * HOUR)))
        assert ask(client, live, "/people/ada/guarantee").text == first
