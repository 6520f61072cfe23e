"""With a real Home Assistant: at home it says *home*, and it never says the guarded place."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from tests.live.home_assistant import RunningHome, home_assistant
from tests.live.running import InThread, free_port, mosquitto, serving, wait_for
from tests.live.small_town import GRID, POLICY, assert_no_truth, fix_of, write_policy
from typer.testing import CliRunner

from priste.cli.application import app
from priste.live.addresses import read_output
from priste.live.output_points import NamedPoint
from priste.live.person_stream import StreamOptions
from priste.live.setting_up.trying import try_output
from priste.live.setting_up.webhook_registration import HomeAssistant
from priste.live.settings import PersonSettings, Settings, load_settings

CLINIC = GRID.latlon(5)
"""At the very centre of its cell, so that the centre of that cell lies in its zone."""

HOME = (GRID.latlon(0)[0] + 0.0021, GRID.latlon(0)[1] - 0.0033)
"""About 350 m from the centre of its cell: the centre is in no zone of 100 m."""

PATH = [0, 0, 1, 4, 5, 5, 5, 4, 1, 0, 0, 0, 5, 5, 0, 0]
LOOSE = POLICY.replace("epsilon = 0.8", "epsilon = 6.0").replace("alpha = 1.5", "alpha = 9.0")
"""Hardly guarded, so that releases are where the person is, at the clinic too: zones are tested."""


def policy_text() -> str:
    place = f"circle = {{ lat = {CLINIC[0]}, lon = {CLINIC[1]}, radius_km = 0.05 }}"
    return LOOSE.replace("cells = [4, 5]", place).replace("steps = 12", f"steps = {len(PATH)}")


def test_presence(tmp_path: Path) -> None:
    """Four ways into Home Assistant: *home* for the home's cell and only for it, never *Clinic*."""
    port = free_port()
    broker = mosquitto(tmp_path, port)
    try:
        with home_assistant(tmp_path / "ha", HOME, CLINIC) as home:
            _check_presence(tmp_path, home, port)
            _check_that_zones_answer(home)
            _check_set_up(tmp_path, home)
    finally:
        broker.end()


def _check_presence(folder: Path, home: RunningHome, port: int) -> None:
    home.add("mqtt", broker="127.0.0.1", port=port)
    hook = urlsplit(home.add("owntracks")["description_placeholders"]["webhook_url"]).path
    known = HomeAssistant(home.url, home.token)
    assert (known.home().lat, known.home().lon) == HOME
    outputs = (
        known.webhook("ada"),
        f"homeassistant+mqtt://127.0.0.1:{port}/",
        f"owntracks+http://{urlsplit(home.url).netloc}{hook}?device=phone",
        f"owntracks+mqtt://127.0.0.1:{port}/owntracks/ada/broker",
    )
    addresses = tuple(map(read_output, outputs))
    options = StreamOptions(seed=5, points=(NamedPoint("home", *HOME),), avoid_guarded=True)
    person = PersonSettings(
        "ada", write_policy(folder, policy_text()), outputs=addresses, options=options,
        clock="fixes",
    )  # fmt: skip
    with serving(Settings(folder / "state", (person,), listen=None)) as live:
        live.do(live.person.take(fix_of(0, path=PATH)))
        said = [_after(live, home, step) for step in range(1, len(PATH))]
    drawn = {release.step: release.cell for release in live.person.stream._protector.ledger}
    assert {0, 5} <= set(drawn.values())  # both were released, so the zones were at stake
    for step, states in enumerate(said):
        assert states == {"home" if drawn[step] == 0 else "not_home"}, (step, drawn[step])


def _after(live: InThread, home: RunningHome, step: int) -> set[str]:
    """Release the step before this one and return what the four trackers say then."""
    live.do(live.person.take(fix_of(step, path=PATH)))
    point = live.person.latest
    assert point is not None

    def known() -> bool:
        found = [state["attributes"] for state in home.trackers().values()]
        places = {(each.get("latitude"), each.get("longitude")) for each in found}
        return len(found) == 4 and places == {(point.lat, point.lon)}

    wait_for(known, "every tracker has the release")
    trackers = home.trackers()
    assert {state["attributes"]["gps_accuracy"] for state in trackers.values()} == {1}
    assert_no_truth(repr(trackers).encode(), path=PATH)
    return {state["state"] for state in trackers.values()}


def _check_that_zones_answer(home: RunningHome) -> None:
    """The centre of the clinic's cell says *Clinic*, and so does a wide accuracy 700 m away."""
    hook = urlsplit(HomeAssistant(home.url, home.token).webhook("control")).path
    for lat, accuracy in ((CLINIC[0], 1), (CLINIC[0] + 0.0063, 1061)):
        data = {"gps": [lat, CLINIC[1]], "gps_accuracy": accuracy}
        httpx.post(
            home.url + hook, json={"type": "update_location", "data": data}, trust_env=False
        ).raise_for_status()
        wait_for(lambda: "Clinic" in _states(home), "the zone is said where nothing avoids it")


def _states(home: RunningHome) -> set[str]:
    return {state["state"] for state in home.trackers().values()}


def _check_set_up(folder: Path, home: RunningHome) -> None:
    """With its token ``priste live setup`` gets a webhook and the home, and tries the webhook."""
    (folder / "token").write_text(home.token)
    made = folder / "set-up"
    place = f"clinic={CLINIC[0]},{CLINIC[1]}"
    done = CliRunner().invoke(
        app,
        ["live", "setup", str(made), "--person", "eve", "--guard", place, "--yes",
         "--home-assistant", home.url, "--home-assistant-token-file", str(folder / "token")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "answers" in done.output
    (person,) = load_settings(made / "live.toml").people
    assert person.options.avoid_guarded
    assert person.options.points == (NamedPoint("home", *HOME),)
    wrong = dataclasses.replace(person.outputs[0], path="/api/webhook/unknown")
    assert asyncio.run(try_output(wrong)) == "Home Assistant does not know this webhook"
