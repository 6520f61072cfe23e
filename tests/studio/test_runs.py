"""Runs, forecasts and exports: what the page is told is what the command line does."""

from __future__ import annotations

import copy
import io
import os
import signal
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.small_world import PATHS, write_trips
from tests.studio.running_studio import (
    PATIENCE,
    SMALL_SETTING,
    RunningStudio,
    Tab,
    array,
    workers_of,
)
from typer.testing import CliRunner

from priste.cli.application import app
from priste.policy import load_policy
from priste.quantify import KnownPrior, Quantifier
from priste.release import read_ledgers
from priste.results.audits import columns_of_releases
from priste.traces import read_traces

SEED = 7
CLOSE = 1e-6
"""Numbers come as they are in JSON, and as 32-bit floats in arrays."""

LONG = {
    **copy.deepcopy(SMALL_SETTING),
    "map": {**SMALL_SETTING["map"], "cell_size": 0.16},
    "regions": [{"name": "clinic", "cells": [100]}, {"name": "home", "cells": [0]}],
}
"""A map so fine that a run takes long enough to be stopped."""


RECURRING = {
    **copy.deepcopy(SMALL_SETTING),
    "clock": {**SMALL_SETTING["clock"], "start": "2026-03-03T12:00:00", "steps": 24},
    "adversary": {"knows": "population", "also": ["home"]},
    "guarantee": {"belief_at_most": 0.7},
    "regions": [{"name": "clinic", "cells": [9, 10]}, {"name": "home", "cells": [0, 1]}],
    "events": [
        {"name": "visit", "formula": 'presence(clinic, "05:00-08:00")', "every": "day"},
        {
            "name": "away",
            "formula": 'not at_least(2, home, "03:00-15:00")',
            "every": "day",
            "guarantee": {"odds_up": 1.0},
        },
    ],
}
"""Two days that are guarded each, against who may know home: a cap on beliefs, one way of odds."""


TOGETHER = {
    **copy.deepcopy(SMALL_SETTING),
    "regions": [
        {"name": "clinic", "cells": [9, 10]},
        {"name": "lawyer", "cells": [5]},
        {"name": "home", "cells": [0]},
    ],
    "events": [
        {"name": "at clinic", "formula": 'presence(clinic, "05:00-08:00")'},
        {"name": "at lawyer", "formula": 'presence(lawyer, "05:00-08:00")'},
    ],
    "secrets": [
        {"name": "which", "together": ["at clinic", "at lawyer"]},
        {
            "name": "evening",
            "answers": [
                {"name": "home", "formula": "at(home, 10)"},
                {"name": "lawyer", "formula": "at(lawyer, 10)"},
            ],
            "guarantee": {"epsilon": 1.1},
        },
    ],
}
"""Which of two places, at several times; and a secret with an answer for each of two."""


@pytest.fixture(scope="module")
def made(studio: RunningStudio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a tab with a finished run: (tab, run id, messages)."""
    tab = Tab(studio)
    tab.open_small_world(tmp_path_factory.mktemp("made"))
    run, said = tab.run(SMALL_SETTING, seed=SEED)
    assert "failed" not in said, said["failed"]
    yield tab, run, said
    tab.close()


def protect(folder: Path, policy: bytes, *more: str) -> Path:
    """Run the command line on the exported policy and return the folder with what it wrote."""
    (folder / "policy.toml").write_bytes(policy)
    source = folder / "trips.csv"
    if not source.exists():
        write_trips(folder, ("ada",))
    arguments = ["protect", str(source), "-p", str(folder / "policy.toml"), "--seed", str(SEED)]
    result = CliRunner().invoke(app, [*arguments, "--report", str(folder / "report.html"), *more])
    assert result.exit_code == 0, result.output
    return folder


def test_a_run_is_told_step_by_step(made: Any) -> None:
    """One message per step with the truth, the release, and what each event leaks."""
    _, _, said = made
    (start,), steps, (done,) = said["start"], said["step"], said["done"]
    assert [each["true"] for each in steps] == PATHS["ada"]
    assert [each["step"] for each in steps] == list(range(12))
    assert [each["name"] for each in start["events"]] == ["visit", "homecoming"]
    bounds = [each["bound"] for each in start["events"]]
    assert bounds == [0.8, 1.2]
    for each in steps:
        for told, bound in zip(each["events"], bounds, strict=True):
            assert told["leakage"] <= bound
            assert 0.0 <= told["belief"] <= told["surest"] + CLOSE
            assert sum(weight for _, weight in told["worst"]) <= 1 + CLOSE
    assert done["verdict"] == "kept"
    assert set(done["ways"]) == {"with priste", "uncalibrated", "constant point"}
    assert done["strip"][0]["label"] == "Wed 04 Mar"
    assert "Not guaranteed" in done["events"][0]["other_words"]


def test_exports_are_what_the_command_line_writes(made: Any, tmp_path: Path) -> None:
    """Policy, released file, ledger and report are equal to the byte for the same seed."""
    tab, run, _ = made
    folder = protect(tmp_path, tab.export(run, "policy.toml"))
    assert tab.export(run, "released") == (folder / "trips.released.csv").read_bytes()
    ledger = (folder / "trips.released.csv.ledger.csv").read_bytes()
    assert tab.export(run, "ledger.csv") == ledger
    assert tab.export(run, "report.html") == (folder / "report.html").read_bytes()
    with zipfile.ZipFile(io.BytesIO(tab.export(run, "all.zip"))) as archive:
        assert archive.read("trips.released.csv.ledger.csv") == ledger
        assert archive.read("report.html") == (folder / "report.html").read_bytes()
        shared = archive.read("report-to-share.html")
    shown = tab.export(run, "report.html?truth=1")
    assert shown.startswith(b"<!doctype html>")
    assert len(shown) > len(tab.export(run, "report.html"))  # the true path is drawn only on demand
    # The one to share is made from the releases alone, as `priste report` makes it without --input.
    arguments = [str(folder / "trips.released.csv"), "-p", str(folder / "policy.toml")]
    page = folder / "shared.html"
    result = CliRunner().invoke(app, ["report", *arguments, "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert tab.export(run, "report.html?shared=1") == page.read_bytes() == shared
    assert b"keep it to yourself" not in shared


def test_caps_homes_and_every_day_are_as_on_the_command_line(tab: Tab, tmp_path: Path) -> None:
    """Against who may know home too; and what is shown of a step stands in the ledger."""
    tab.open_small_world(tmp_path)
    run, said = tab.run(RECURRING, seed=SEED)
    assert said["done"][0]["verdict"] == "kept", said
    folder = protect(tmp_path, tab.export(run, "policy.toml"))
    assert tab.export(run, "released") == (folder / "trips.released.csv").read_bytes()
    assert tab.export(run, "report.html") == (folder / "report.html").read_bytes()
    ledger = folder / "trips.released.csv.ledger.csv"
    assert tab.export(run, "ledger.csv") == ledger.read_bytes()
    written = read_ledgers(ledger)["ada"]
    assert [each["name"] for each in said["start"][0]["events"]] == list(written.event_names)
    assert len(written.event_names) == 3  # the visit of the second day, both days away
    for step, release in zip(said["step"], written, strict=True):
        assert [each["leakage"] for each in step["events"]] == list(release.leakage)
        assert [each["surest"] for each in step["events"]] == list(release.belief)


def test_secrets_with_several_answers_are_read_run_and_exported(tab: Tab, tmp_path: Path) -> None:
    """No two answers are told apart by more than the guarantee, on the page as in its exports."""
    tab.open_small_world(tmp_path)
    which, evening = tab.post("events", {"setting": TOGETHER})["secrets"]
    assert which["answers"] == [
        "at clinic and at lawyer",
        "at clinic only",
        "at lawyer only",
        "neither",
    ]
    assert array(which["steps"]).tolist() == [5, 6, 7]
    assert evening["answers"] == ["home", "lawyer", "neither"]
    assert "3 answers" in evening["sentence"]
    chances = tab.post("chances", {"setting": TOGETHER})["events"]
    assert [each["event"] for each in chances] == ["which", "evening"]
    run, said = tab.run(TOGETHER, seed=SEED)
    assert said["done"][0]["verdict"] == "kept", said
    assert [each["answers"] for each in said["start"][0]["events"]] == [4, 3]
    folder = protect(tmp_path, tab.export(run, "policy.toml"))
    assert tab.export(run, "released") == (folder / "trips.released.csv").read_bytes()
    assert tab.export(run, "report.html") == (folder / "report.html").read_bytes()
    policy = load_policy(folder / "policy.toml")
    assert list(policy.events) == ["which", "evening"]
    ledger = read_ledgers(folder / "trips.released.csv.ledger.csv")["ada"]
    columns = columns_of_releases(policy, ledger)
    # An independent look: each statement about the two places, as an event of its own.
    clinic, lawyer = policy.events["which"].event.events.values()
    for event in (clinic, lawyer, clinic | lawyer, clinic & lawyer, clinic & ~lawyer):
        asked = Quantifier(policy.models, event, policy.chosen_adversary.adversary)
        for column in columns:
            asked.observe(column)
        assert asked.leakage().value <= 0.8 + CLOSE
    for prior in ("worst", "uniform"):
        told = tab.post(f"runs/{run}/prior", {"prior": prior})["events"]
        assert [each["name"] for each in told] == ["which", "evening"]


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ({"name": "one", "together": ["at clinic"]}, "at least two"),
        ({"name": "both", "answers": [
            {"name": "clinic", "formula": "at(clinic, 6)"},
            {"name": "any", "formula": "presence(clinic, 5..7)"},
        ]}, "exclude each other"),
    ],
)  # fmt: skip
def test_secrets_that_cannot_be_say_why(
    tab: Tab, tmp_path: Path, secret: dict[str, Any], words: str
) -> None:
    """A mistake in a secret is told with it, and the events stay readable."""
    tab.open_small_world(tmp_path)
    found = tab.post("events", {"setting": {**TOGETHER, "secrets": [secret]}})
    assert all(each["ok"] for each in found["events"])
    assert not found["secrets"][0]["ok"]
    assert words in found["secrets"][0]["problem"]["message"]


@pytest.mark.parametrize(
    "prior", ["uniform", "population", {"cells": [0, 5], "weights": [3, 1]}, "worst"]
)
def test_any_prior_can_be_asked_about(made: Any, tmp_path: Path, prior: Any) -> None:
    """Leakage and belief under a prior are those of a quantifier that sees the exported ledger."""
    tab, run, _ = made
    told = tab.post(f"runs/{run}/prior", {"prior": prior})
    (tmp_path / "policy.toml").write_bytes(tab.export(run, "policy.toml"))
    (tmp_path / "ledger.csv").write_bytes(tab.export(run, "ledger.csv"))
    policy = load_policy(tmp_path / "policy.toml")
    columns = columns_of_releases(policy, read_ledgers(tmp_path / "ledger.csv")["ada"])
    weights = np.full(16, 1 / 16)
    if prior == "population":
        weights = policy.population
    elif isinstance(prior, dict):
        weights = np.zeros(16)
        weights[[0, 5]] = 0.75, 0.25
    adversary = policy.chosen_adversary.adversary if prior == "worst" else KnownPrior(weights)
    for event, found in zip(policy.events.values(), told["events"], strict=True):
        asked = Quantifier(policy.models, event.event, adversary)
        leakages, beliefs = [], []
        for column in columns:
            asked.observe(column)
            leakages.append(asked.leakage().value)
            beliefs.append(asked.belief())
        np.testing.assert_allclose(array(found["leakage"]), leakages, rtol=CLOSE, atol=CLOSE)
        np.testing.assert_allclose(array(found["belief"]), beliefs, rtol=CLOSE, atol=CLOSE)
        assert len(array(found["uncalibrated_leakage"])) == 12
    if prior != "worst":
        np.testing.assert_allclose(array(told["cells"]), weights, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("prior", ["mine", {"cells": [99]}, {"cells": [0], "weights": [-1]}, 3])
def test_no_prior_is_told_in_words(made: Any, prior: Any) -> None:
    """What is no prior is refused."""
    tab, run, _ = made
    assert tab.post(f"runs/{run}/prior", {"prior": prior}, 422)["error"]["message"]


def test_two_settings_side_by_side_share_the_seed(made: Any) -> None:
    """Another run of the same seed repeats it; another guarantee gives another run beside it."""
    tab, run, said = made
    again, same = tab.run(SMALL_SETTING, seed=SEED)
    other, weaker = tab.run({**SMALL_SETTING, "guarantee": {"epsilon": 0.01}}, seed=SEED)
    assert len({run, again, other}) == 3
    released = [[each["released"] for each in one["step"]] for one in (said, same, weaker)]
    assert released[0] == released[1] != released[2]
    assert [each["uncalibrated"]["released"] for each in said["step"]] == [
        each["uncalibrated"]["released"] for each in weaker["step"]
    ]
    # The first run is still there, for whoever loads the page again.
    assert [value for event, value in tab.messages(run) if event == "step"] == said["step"]


def test_a_stream_of_messages_goes_on_where_it_was(made: Any) -> None:
    """Who lost the connection is told what came after the last message."""
    tab, run, _ = made
    whole = list(tab.messages(run))
    assert list(tab.messages(run, after=4)) == whole[5:]


def test_without_a_seed_runs_differ(tab: Tab, tmp_path: Path) -> None:
    """Unless a seed is given the draws are real, two runs differ, and one of them is handed out."""
    tab.open_small_world(tmp_path)
    setting = {**SMALL_SETTING, "guarantee": {"epsilon": 50.0}, "calibrator": "certified"}
    runs = [tab.run(setting) for _ in range(3)]
    assert len({tuple(each["released"] for each in one["step"]) for _, one in runs}) > 1
    (first, told), *others = runs
    cells = [each["released"] for each in told["step"]]
    second = next(run for run, one in others if [each["released"] for each in one["step"]] != cells)
    assert tab.export(first, "released") == tab.export(first, "released")
    refused = tab.ask("GET", f"{tab.path}/runs/{second}/export/released", status=409)
    assert "more than either guarantees" in refused["error"]["message"]
    # What may be shared shows the releases: it is handed out as the released trace is.
    tab.ask("GET", f"{tab.path}/runs/{second}/export/report.html?shared=1", status=409)
    assert tab.export(second, "report.html")
    assert tab.export(second, "policy.toml")
    assert tab.export(second, "released?again=1")


def test_what_any_command_released_is_not_released_again_unasked(
    studio: RunningStudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The studio goes on from what `protect` released, and `protect` from its export."""
    monkeypatch.setenv("PRISTE_STATE", studio.state)
    setting = {**SMALL_SETTING, "guarantee": {"epsilon": 50.0}, "calibrator": "certified"}
    tab = Tab(studio)
    source = write_trips(tmp_path, ("cleo",))
    tab.upload(source.read_bytes(), "trips.csv")
    run, _ = tab.run(setting)
    (tmp_path / "policy.toml").write_bytes(tab.export(run, "policy.toml"))
    command = ["protect", str(source), "-p", str(tmp_path / "policy.toml"), "-o"]
    result = CliRunner().invoke(app, [*command, str(tmp_path / "one.csv")])
    assert result.exit_code == 0, result.output
    refused = tab.ask("GET", f"{tab.path}/runs/{run}/export/released", status=409)
    assert "does not go on from what was released" in refused["error"]["message"]
    assert "one.csv" in refused["error"]["message"]
    later, said = tab.run(setting)
    assert "none of them is drawn again" in said["start"][0]["goes_on"]
    assert tab.export(later, "released") == (tmp_path / "one.csv").read_bytes()
    # And the other way round.
    other = write_trips(tmp_path, ("ben",), "others.csv")
    tab.upload(other.read_bytes(), "others.csv")
    run, _ = tab.run(setting)
    assert tab.export(run, "released")
    command[1] = str(other)
    result = CliRunner().invoke(app, [*command, str(tmp_path / "two.csv")])
    assert result.exit_code == 0, result.output
    assert "continue from earlier releases" in " ".join(result.output.split())
    assert "Nothing drawn" in result.output
    tab.close()


def test_forecasts_say_what_it_costs(tab: Tab, tmp_path: Path) -> None:
    """Metres on the opened trace, beside the uncalibrated mechanism and a constant point."""
    tab.open_small_world(tmp_path)
    setting = {**SMALL_SETTING, "guarantee": {"epsilon": 0.8, "guarded_hours": "off"}}
    said = list(tab.messages(tab.post("forecasts", {"setting": setting})["job"]))
    assert [event for event, _ in said][:2] == ["queued", "started"]
    words = [value["words"] for event, value in said if event == "progress"]
    assert any("trying it on your own days" in each for each in words)
    # Soon from two streams, then from more; each says how sure it is.
    streams = [value["runs"] for event, value in said if event == "estimate"]
    assert streams[0] == 2
    assert streams == sorted(set(streams))
    event, done = said[-1]
    assert event == "done"
    assert done["runs"] == streams[-1] > 2
    assert done["everywhere"]["low"] <= done["everywhere"]["metres"] <= done["everywhere"]["high"]
    assert "mean error" in done["sentence"]
    assert done["is_stable"]
    for way in (done, done["uncalibrated"], done["constant"]):
        assert way["everywhere"]["metres"] >= 0
    assert "on the opened trace" in done["basis"]
    # The same setting once more, and the same figures: only settings make a difference.
    again = list(tab.messages(tab.post("forecasts", {"setting": setting})["job"]))
    assert next(value for event, value in again if event == "estimate") == next(
        value for event, value in said if event == "estimate"
    )
    # With guarded hours no position of this short trace is left: people are drawn instead.
    drawn = list(tab.messages(tab.post("forecasts", {"setting": SMALL_SETTING})["job"]))[-1]
    assert drawn[0] == "done"
    assert "of these people" in drawn[1]["basis"]
    refused = tab.post("forecasts", {"setting": SMALL_SETTING, "runs": 1}, 422)
    assert "runs" in refused["error"]["message"]


def test_a_newer_forecast_ends_the_older(tab: Tab, tmp_path: Path) -> None:
    """Moving a slider leaves no forecasts behind."""
    tab.open_small_world(tmp_path)
    older = tab.post("forecasts", {"setting": LONG})["job"]
    stream = tab.messages(older)
    assert next(stream)[0] == "queued"
    newer = tab.post("forecasts", {"setting": SMALL_SETTING})["job"]
    assert [event for event, _ in stream][-1] == "cancelled"
    assert list(tab.messages(newer))[-1][0] == "done"


def test_a_long_run_is_cancelled(tab: Tab, tmp_path: Path) -> None:
    """Cancelling ends the run whatever it is at, and the next one runs."""
    tab.open_small_world(tmp_path)
    run = tab.post("runs", {"setting": LONG})["run"]
    stream = tab.messages(run)
    assert next(stream)[0] == "queued"
    tab.post(f"jobs/{run}/cancel")
    said = [event for event, _ in stream]
    assert said[-1] == "cancelled"
    assert "done" not in said
    assert [event for event, _ in tab.messages(run)][-1] == "cancelled"
    answer = tab.client.get(f"{tab.path}/runs/{run}/export/released")
    assert answer.status_code == 409
    assert tab.run(SMALL_SETTING, seed=1)[1]["done"]


def test_a_studio_that_is_stopped_at_work_ends_without_a_word(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Ctrl-C while a run is made ends the command as at any other time, and leaves nothing."""
    folder = tmp_path_factory.mktemp("studio")  # sockets of workers need a short path
    studio = RunningStudio(folder)
    try:
        tab = Tab(studio)
        tab.open_small_world(tmp_path)
        run = tab.post("runs", {"setting": LONG})["run"]
        assert any(event == "started" for event, _ in tab.messages(run))
    finally:
        code = studio.stop()
    assert code == 0, studio.printed()
    assert "Traceback" not in studio.printed()
    assert [path.name for path in folder.iterdir()] == ["studio.log"]


def test_a_run_whose_process_dies_leaves_the_page_alive(
    studio: RunningStudio, tab: Tab, tmp_path: Path
) -> None:
    """Killed workers fail their runs in words; everything else goes on, and so does the next."""
    tab.open_small_world(tmp_path)
    run = tab.post("runs", {"setting": LONG})["run"]
    stream = tab.messages(run)
    while next(stream)[0] != "started":
        pass
    workers = workers_of(studio)
    assert workers
    for number in workers:
        os.kill(number, signal.SIGKILL)
    event, value = list(stream)[-1]
    assert event == "failed"
    assert "died" in value["message"]
    assert tab.post("chances", {"setting": SMALL_SETTING})["events"]
    assert tab.run(SMALL_SETTING, seed=1)[1]["done"]


def test_a_run_that_cannot_be_made_fails_in_words(tab: Tab, tmp_path: Path) -> None:
    """A guarantee that cannot be kept is told, not traced."""
    tab.open_small_world(tmp_path)
    _, said = tab.run({**SMALL_SETTING, "guarantee": {"belief_at_most": 0.001}})
    (failed,) = said["failed"]
    assert "done" not in said
    assert failed["message"]
    assert "Traceback" not in failed["message"]


def test_two_tabs_do_not_mix(studio: RunningStudio, tab: Tab, tmp_path: Path) -> None:
    """What one tab opened, set and ran is nothing to another."""
    other = Tab(studio)
    tab.open_small_world(tmp_path, ("ada",))
    other.upload(write_trips(tmp_path, ("ben",), "others.csv").read_bytes(), "others.csv")
    run, said = tab.run(SMALL_SETTING, seed=1)
    _, others = other.run(SMALL_SETTING, seed=1)
    assert [each["true"] for each in said["step"]] == PATHS["ada"]
    assert [each["true"] for each in others["step"]] == PATHS["ben"]
    for what in (f"runs/{run}", f"jobs/{run}/events", f"runs/{run}/export/released"):
        other.ask("GET", f"{other.path}/{what}", status=404)
    other.ask("DELETE", other.path)
    other.ask("GET", f"{other.path}/jobs/{run}/events", status=404)
    other.close()
    assert [event for event, _ in tab.messages(run)][-1] == "done"


def test_one_person_of_many_gets_what_the_command_line_gives_them(tab: Tab, tmp_path: Path) -> None:
    """Of a file of several people, the released points of one are those of the whole run."""
    tab.open_small_world(tmp_path, ("ada", "ben"))
    tab.post("person", {"user": "ben"})
    run, _ = tab.run(SMALL_SETTING, seed=SEED)
    (tmp_path / "one.csv").write_bytes(tab.export(run, "released"))
    (tmp_path / "policy.toml").write_bytes(tab.export(run, "policy.toml"))
    source = tmp_path / "trips.csv"
    target = tmp_path / "all.csv"
    arguments = ["-p", str(tmp_path / "policy.toml"), "--seed", str(SEED), "-o", str(target)]
    result = CliRunner().invoke(app, ["protect", str(source), *arguments])
    assert result.exit_code == 0, result.output
    everybody = {trace.user: trace for trace in read_traces(target)}
    (ben,) = read_traces(tmp_path / "one.csv")
    assert ben.user == "ben"
    np.testing.assert_array_equal(ben.lat, everybody["ben"].lat)
    np.testing.assert_array_equal(ben.lon, everybody["ben"].lon)


def test_nothing_true_is_printed_or_kept(studio: RunningStudio, tmp_path: Path) -> None:
    """The log holds no position and no token but the address; a closed tab leaves no file."""
    tab = Tab(studio)
    tab.open_small_world(tmp_path)
    tab.run(SMALL_SETTING, seed=1)
    tab.post("explain", {"setting": {**SMALL_SETTING, "map": {}}}, 422)
    before = set(studio.folder.glob("priste-*/*/*/upload-*"))
    assert before
    tab.close()
    end = time.monotonic() + PATIENCE
    while (set(studio.folder.glob("priste-*/*/*/upload-*")) == before) and (time.monotonic() < end):
        time.sleep(0.05)
    assert set(studio.folder.glob("priste-*/*/*/upload-*")) < before
    printed = studio.printed()
    assert "46.0" not in printed
    assert "7.0" not in printed.replace("127.0.0", "")
    assert printed.count(studio.token) == 1
    assert "Traceback" not in printed
    for folder in studio.folder.glob("priste-*"):
        assert folder.stat().st_mode & 0o077 == 0
