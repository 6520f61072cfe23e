"""Worlds that differ in guarded hours only: what the threat model calls public is the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from tests.cli.command_line import priste
from tests.cli.guarded_worlds import HOURS, PATHS, WORLDS, listed, person
from tests.cli.small_world import POLICY, START, STEPS

from priste import protect as protect_frame
from priste.cli.application import app
from priste.traces import write_traces

EVENT = "[events.visit]\nformula = 'presence(clinic, \"06:00-07:00\")'\n"
TEXT = POLICY[: POLICY.index("[events.visit]")].replace(
    "pace = 0.3", 'calibrator = "certified"\npace = 0.3'
)
FIT = TEXT.replace('kind = "gaussian"\nsigma = 1.0', 'kind = "fit"\ntraces = "others.csv"')


def files(world: str) -> None:
    """Write the input and the policies of a world into the present folder."""
    write_traces([person(user, world) for user in PATHS], Path("trips.csv"))
    write_traces([person("ada", world)], Path("ada.csv"))
    week = [person(user, world, timedelta(days=-1)) for user in PATHS]
    write_traces(week, Path("others.csv"))
    Path("policy.toml").write_text(TEXT + EVENT)
    Path("fitted.toml").write_text(FIT + EVENT)


def _said(*words: object, code: int = 0) -> dict[str, object]:
    made = priste(*words, code=code)
    return {"stdout": made.stdout, "progress": made.stderr, "exit code": made.exit_code}


def init() -> dict[str, object]:
    said = _said("init", "trips.csv", "--guard", "05:00-08:00", "--zone", "UTC", "-o",
                 "drafted.toml", "--no-forecast")  # fmt: skip
    homes = Path("drafted.homes.csv")
    return {
        "policy.toml": Path("drafted.toml").read_bytes(),
        "policy.homes.csv": homes.read_bytes() if homes.exists() else b"",
        "stdout": said["stdout"],
    }


def fit() -> dict[str, object]:
    said = _said("fit", "others.csv", "-p", "policy.toml", "-o", "model.npz")
    return {"model.npz": Path("model.npz").read_bytes(), "stdout": said["stdout"]}


def explain() -> dict[str, object]:
    return {"stdout": _said("explain", "fitted.toml", "--no-forecast")["stdout"]}


def forecast() -> dict[str, object]:
    words = ("forecast", "fitted.toml", "--runs", 2, "--steps", 4, "--no-neighbours", "--json")
    tried = _said(*words, "--trace", "ada.csv", "--plot", "page.html")["stdout"]
    return {
        "stdout": _said(*words)["stdout"],
        "stdout with --trace": tried,
        "page": Path("page.html").read_bytes(),
    }


def compare() -> dict[str, object]:
    words = ("--streams", 1, "--json")
    tried = _said("compare", "fitted.toml", "ada.csv", "--plot", "page.html", *words)["stdout"]
    return {
        "stdout": _said("compare", "fitted.toml", *words)["stdout"],
        "stdout with a trace": tried,
        "page": Path("page.html").read_bytes(),
    }


def protect() -> dict[str, object]:
    said = _said("protect", "trips.csv", "-p", "fitted.toml", "--seed", 3, "--compare", 0,
                 "-o", "released.csv")  # fmt: skip
    return {
        "released.csv": Path("released.csv").read_bytes(),
        "ledger.csv": Path("released.csv.ledger.csv").read_bytes(),
        "exit code": said["exit code"],
        "progress": said["progress"],
    }


def frames() -> dict[str, object]:
    """`priste.protect` of a frame."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        frame = protect_frame(pyarrow.csv.read_csv("trips.csv"), "fitted.toml", seed=3)
    return {"frame": frame.to_pylist(), "warnings": [str(each.message) for each in said]}


def audit() -> dict[str, object]:
    protect()
    return {"stdout": _said("audit", "released.csv", "-p", "fitted.toml", "--json")["stdout"]}


def report() -> dict[str, object]:
    protect()
    said = _said("report", "released.csv", "-p", "fitted.toml", "-o", "shared.html")
    return {"shared page": Path("shared.html").read_bytes(), "stdout": said["stdout"]}


COMMANDS: dict[str, Callable[[], dict[str, object]]] = {
    each.__name__: each
    for each in (init, fit, explain, forecast, compare, protect, frames, audit, report)
}
ELSEWHERE = {"live", "studio"}
PRIVATE = {"evaluate", "journal", "register"}
"""What has nothing public."""


def test_the_list_is_about_every_command() -> None:
    """Each has a line; those with a public part are run here, `live` and the studio elsewhere."""
    found = listed()
    assert set(found) == {*COMMANDS, *ELSEWHERE, *PRIVATE}
    assert all(not found[name][0] for name in PRIVATE)
    shown = [each for each in app.registered_commands if not each.hidden]
    commands = {each.name or each.callback.__name__ for each in shown if each.callback}
    assert commands | {"live", "journal"} <= set(found) | {"demo"}  # the town is nobody's


def test_the_worlds_differ_inside_guarded_hours_only() -> None:
    """Each world has other fixes in the guarded hours, and the same ones outside them."""
    worlds = [person("ada", world) for world in WORLDS]
    hour = 3_600_000_000
    begin = round(START.timestamp()) * 1_000_000
    rest = []
    for trace in worlds:
        step = (trace.times - begin) // hour
        outside = ~np.isin(step, HOURS)
        rest.append([tuple(column[outside]) for column in (trace.times, trace.lat, trace.lon)])
    assert all(each == rest[0] for each in rest)
    assert len({(trace.times.tobytes(), trace.lat.tobytes()) for trace in worlds}) == len(WORLDS)
    assert len(PATHS["ada"]) == STEPS


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_public_is_the_same_in_every_world(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same bits and the same fixes outside, byte for byte."""
    seen = {}
    for number, world in enumerate(WORLDS):
        folder = tmp_path / str(number) / "run"
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PRISTE_STATE", str(folder / "state"))
        files(world)
        seen[world] = COMMANDS[command]()
    first = seen[WORLDS[0]]
    assert set(first) == listed()[command][0]
    for world in WORLDS[1:]:
        assert seen[world] == first, world
