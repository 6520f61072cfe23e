"""Self-hosted location servers get every release, by the recipes that docs/how-to/live.md gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from tests.live.location_servers import (
    PASSWORD,
    TOKEN,
    Dawarich,
    GeoPulse,
    LocationServer,
    PhoneTrack,
    Reitti,
)
from tests.live.running import InThread, serving, wait_for
from tests.live.small_town import assert_no_truth, fix_of, true_position, write_policy

from priste.errors import InvalidParameter
from priste.live.addresses import read_output
from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "live.md"
SERVERS: dict[str, type[LocationServer]] = {
    "Dawarich": Dawarich,
    "Reitti": Reitti,
    "GeoPulse": GeoPulse,
    "PhoneTrack": PhoneTrack,
}
STEPS = 4


def recipes() -> list[tuple[str, str]]:
    """Return the servers and addresses of the table in docs/how-to/live.md."""
    found = re.findall(r"^\| (\w+) \| `(\w+\+https://[^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    return [(name, address) for name, address in found if name in SERVERS]


def settings(folder: Path, *outputs: str) -> Settings:
    person = PersonSettings(
        "ada",
        write_policy(folder),
        outputs=tuple(read_output(text, folder=folder) for text in outputs),
        options=StreamOptions(seed=5),
        clock="fixes",
    )
    return Settings(folder / "state", (person,), listen=("127.0.0.1", 0))


def here(address: str, port: int) -> str:
    """Return a documented address for a server on this machine."""
    return re.sub(r"HOST(:\d+)?", f"127.0.0.1:{port}", address.replace("https://", "http://"))


def test_every_server_has_a_recipe() -> None:
    """Those that can be fed are written down."""
    assert {name for name, _ in recipes()} == set(SERVERS)
    assert len(recipes()) >= 8


@pytest.mark.parametrize(("name", "address"), recipes())
def test_a_recipe_feeds_its_server(tmp_path: Path, name: str, address: str) -> None:
    """With the token in a file every release arrives once, in order, at its step's time."""
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "password").write_text(PASSWORD)
    with SERVERS[name]().up() as server:
        text = here(address, server.port).replace("TOKEN", TOKEN)
        with serving(settings(tmp_path, text)) as live:
            released = []
            for step in range(STEPS):
                live.do(live.person.take(fix_of(step)))
                if live.person.latest is not None:
                    released.append(live.person.latest)
            line = live.person.outlets[0].line
            wait_for(lambda: line.messages == len(released), "every release arrives")
            assert line.last == released[-1].clock
            assert TOKEN not in line.address + repr(live.person.settings)
    assert server.points == [(point.seconds, point.lat, point.lon) for point in released]
    assert server.refused == []
    assert_no_truth(json.dumps(server.points).encode())


def test_a_wrong_token_is_told_to_the_owner(tmp_path: Path) -> None:
    """The line of the status says what the server answered, and points wait."""
    (tmp_path / "token").write_text("another")
    with Dawarich().up() as server:
        address = f"owntracks+http://127.0.0.1:{server.port}/api/v1/owntracks/points"
        with serving(settings(tmp_path, f"{address}?api_key_file=token")) as live:
            for step in range(2):
                live.do(live.person.take(fix_of(step)))
            line = live.person.outlets[0].line
            wait_for(lambda: "answered 401" in line.state, "the refusal is told")
            assert line.waiting == 1
    assert server.points == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("api_key=abc", "api_key_file=PATH"),
        ("token=abc", "is a secret"),
        ("a b=c", "takes no 'a b'"),
        ("speed&x=1", "must be written as"),
    ],
)
def test_secrets_and_odd_names_in_an_address_are_refused(query: str, words: str) -> None:
    """A token in a command line is seen by everybody; other parameters go to the server."""
    with pytest.raises(InvalidParameter, match=words):
        read_output(f"owntracks+https://127.0.0.1/x?{query}")
    passed = read_output("owntracks+https://127.0.0.1/x?source=priste&device=phone")
    assert (passed.secret_query(), passed.options) == ({"source": "priste"}, {"device": "phone"})


# ------------------------------------------------------------------ what phones post


def taken(live: InThread) -> int:
    return live.person.stream.counts.kept


@pytest.mark.parametrize("way", ["overland", "gpslogger", "gpslogger json", "phonetrack"])
def test_phones_post_in_the_forms_of_other_apps(tmp_path: Path, way: str) -> None:
    """Overland's batches, GPSLogger's custom URL and PhoneTrack's path are taken as fixes."""
    lat, lon = true_position(0)
    when = fix_of(0).time
    with serving(settings(tmp_path)) as live, httpx.Client(trust_env=False, timeout=30) as client:
        if way == "overland":
            features = [
                {
                    "type": "Feature",
                    "geometry": {"type": "Point", "coordinates": [lon, lat]},
                    "properties": {
                        "timestamp": f"{when:%Y-%m-%dT%H:%M:%S}Z",
                        "motion": ["walking"],
                    },
                },
                {"type": "Feature", "geometry": None},
            ]
            answer = client.post(f"{live.url}/overland", json={"locations": features})
            assert answer.json() == {"result": "ok"}
        elif way == "gpslogger":
            query = f"lat={lat}&lon={lon}&time={when:%Y-%m-%dT%H:%M:%S}Z&s=3&batt=40"
            answer = client.get(f"{live.url}/gpslogger/phone?{query}")
        elif way == "gpslogger json":
            said = {"_type": "location", "lat": lat, "lon": lon, "tst": int(when.timestamp())}
            answer = client.post(f"{live.url}/owntracks", json=said)
        else:
            form = {"lat": lat, "lon": lon, "timestamp": int(when.timestamp()), "acc": 4, "bat": 3}
            answer = client.post(f"{live.url}/log/gpslogger/a-token/phone", data=form)
        assert answer.status_code == 200
        assert taken(live) == 1
        if way == "overland":
            assert live.service.doors["/overland"].reasons == {
                "an Overland location is not a feature": 1
            }
