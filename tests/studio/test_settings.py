"""What a setting means: drafts, policies, events as text and tree, sentences and probabilities."""

from __future__ import annotations

import copy
import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.small_world import POLICY
from tests.drawn_examples import examples
from tests.studio.running_studio import SMALL_SETTING, Tab, array
from tests.studio.studio_in_browser import write_week
from typer.testing import CliRunner

from priste.cli.application import app
from priste.errors import PolicyError
from priste.events import parse_event
from priste.maps import Grid
from priste.policy import Document, read_policy
from priste.policy.calendar import StepReader
from priste.policy.policy_reader import ringed as ringed_numbers
from priste.quantify import Quantifier
from priste.studio.event_picture import formula_of, structure_of
from priste.studio.event_sentence import sentence
from priste.studio.opened_world import draft_setting
from priste.studio.opening import open_file
from priste.studio.setting import alpha_of, ground_of_setting, policy_text
from priste.studio.size_limits import slow, too_large
from priste.studio.sliders import adversaries
from priste.studio.wire import Refused
from priste.traces import Timeline

CLOSE = 1e-6
"""Numbers come as they are in JSON, and as 32-bit floats in arrays."""

LINE = Timeline(datetime(2026, 3, 2), timedelta(hours=1), "UTC")
STEPS = StepReader(LINE, 336)
REGIONS = ["home", "hospital", "or", "two words"]


def changed(**parts: Any) -> dict[str, Any]:
    """Return the small setting with some parts replaced."""
    return {**copy.deepcopy(SMALL_SETTING), **parts}


def test_a_setting_is_the_policy_it_says() -> None:
    """The text reads as the same map, clock, guarantees and events as the policy written by
    hand."""
    made = read_policy(policy_text(changed(adversary=None, calibrator=None)))
    by_hand = read_policy(POLICY.replace("pace = 0.3\n", ""))
    assert made.grid == by_hand.grid
    assert (made.timeline, made.steps) == (by_hand.timeline, by_hand.steps)
    assert {name: region.cells for name, region in made.regions.items()} == {
        name: region.cells for name, region in by_hand.regions.items()
    }
    assert {n: (e.event, e.guarantee) for n, e in made.events.items()} == {
        n: (e.event, e.guarantee) for n, e in by_hand.events.items()
    }


@examples(50)
@given(st.text(min_size=1, max_size=40), st.text(max_size=60))
def test_names_and_formulas_of_any_characters_are_kept_or_refused(name: str, formula: str) -> None:
    """Whatever stands in a name or a formula comes back from TOML as it was, or is refused."""
    setting = changed(events=[{"name": name, "formula": formula}])
    try:
        text = policy_text(setting)
    except Refused:
        return
    assert tomllib.loads(text)["events"] == {name: {"formula": formula}}


@pytest.mark.parametrize(
    "parts",
    [
        {"mobility": {"kind": "fit", "traces": "/etc/passwd"}},
        {"mobility": {"kind": "fit", "traces": "../other.csv"}},
        {"mobility": {"kind": "saved", "path": "model.npz"}},
        {"adversary": {"knows": "population", "population": "shares.csv"}},
        {"regions": [{"name": "a", "geojson": "x.json"}]},
        {"regions": [{"name": "a", "cells": "all"}]},
        {"regions": [{"name": "a", "cells": [1]}, {"name": "a", "cells": [2]}]},
        {"mechanism": {"kind": "planar-laplace", "metres": 0}},
        {"mechanism": []},
        {"clock": {**SMALL_SETTING["clock"], "start": "tomorrow"}},
        {"clock": {**SMALL_SETTING["clock"], "steps": 10**9}},
        {"guarantee": {"epsilon": float("inf")}},
        {"secret": 1},
        {"events": {}},
        {"events": [1]},
        {"events": [{"name": "", "formula": "true"}]},
    ],
)
def test_what_is_no_setting_is_refused_in_words(parts: dict[str, Any]) -> None:
    """Files, unknown keys and wrong kinds are refused before anything is read."""
    with pytest.raises(Refused) as caught:
        policy_text(changed(**parts), ["trips.csv"])
    assert caught.value.status == 422
    assert caught.value.message


def test_metres_and_alpha_are_one_thing() -> None:
    """Metres are 2/α: the mean of the planar Laplace distribution, a Gamma(2) radius."""
    assert alpha_of(500.0) == 4.0
    assert 2000.0 / alpha_of(730.0) == pytest.approx(730.0, rel=1e-5)  # 2/α km on average
    text = policy_text(changed(mechanism={"kind": "planar-laplace", "metres": 500}))
    assert tomllib.loads(text)["mechanism"]["alpha"] == 4.0


region = st.sampled_from(REGIONS) | st.lists(
    st.integers(0, 50), min_size=1, max_size=3, unique=True
).map(lambda cells: {"cells": sorted(cells)})
when = st.sampled_from(
    ["3", "12..20", "wed 14:00-16:00", "2026-03-04", "2026-03-02..2026-03-06 09:00-17:00", "daily"]
)
moment = st.sampled_from(["3", "2026-03-04T14:00", "wed 2026-03-04 09:00"])
leaf = st.one_of(
    st.builds(lambda r, w: {"kind": "at", "region": r, "when": w}, region, moment),
    st.builds(
        lambda r, w: {"kind": "presence", "region": r, "when": w},
        region,
        st.lists(when, min_size=1, max_size=2, unique=True),
    ),
    st.builds(
        lambda n, r, w: {"kind": "at_least", "times": n, "region": r, "when": [w]},
        st.integers(2, 3),
        region,
        st.sampled_from(["12..20", "daily"]),
    ),
    st.sampled_from([{"kind": "true"}, {"kind": "false"}]),
)


def _not(part: dict[str, Any]) -> dict[str, Any]:
    return part["part"] if part["kind"] == "not" else {"kind": "not", "part": part}


trees = st.recursive(
    leaf,
    lambda parts: st.one_of(
        parts.map(_not),
        st.builds(
            lambda kind, each: {"kind": kind, "parts": each},
            st.sampled_from(["and", "or"]),
            st.lists(parts, min_size=2, max_size=3),
        ),
    ),
    max_leaves=6,
)


@examples(30)
@given(trees)
def test_pictures_and_texts_say_the_same(tree: dict[str, Any]) -> None:
    """A tree's text reads as a tree whose text is the same, and both have a sentence."""
    text = formula_of(tree)
    read = structure_of(text, REGIONS, STEPS)
    assert read is not None
    again = formula_of(read)
    assert structure_of(again, REGIONS, STEPS) == read
    cells = {name: [60 + number] for number, name in enumerate(REGIONS)}
    written, drawn = (parse_event(each, cells, steps=STEPS) for each in (text, again))
    for walk in np.random.default_rng(1).integers(0, 64, size=(20, 336)).tolist():
        assert written.holds(walk) == drawn.holds(walk)
    said = sentence(read, None, LINE)
    assert said.lstrip("(")[0].isupper()
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'presence(hospital, "wed 14:00-16:00")',
            "You are at hospital at some time on Wednesdays from 14:00 to 16:00.",
        ),
        (
            'at_least(3, home, "weekdays 22:00-06:00")',
            "You are at home at 3 or more of the steps on weekdays from 22:00 to 06:00.",
        ),
        (
            'pattern(home@3, hospital@"2026-03-05T10:00")',
            "You are at home at step 3 (Mon 02 Mar 03:00), and at hospital at 10:00 on Thu 5 Mar "
            "2026.",
        ),
        (
            'not presence(home, "2026-03-04") or at({1, 2}, 5)',
            "It is not so that you are at home at some time on Wed 4 Mar 2026, or you are in one "
            "of 2 cells at step 5 (Mon 02 Mar 05:00).",
        ),
        ('presence(home, "daily")', "You are at home at some time on any day."),
    ],
)
def test_events_are_read_back(text: str, said: str) -> None:
    """The sentences, word for word."""
    assert sentence(structure_of(text, REGIONS, STEPS), None, LINE) == said


def test_events_say_what_is_wrong_and_where(tab: Tab, tmp_path: Path) -> None:
    """A mistake in one event has words and a place, and leaves the others readable."""
    tab.open_small_world(tmp_path)
    events = [
        {"name": "good", "structure": {"kind": "presence", "region": "home", "when": ["3..5"]}},
        {"name": "bad", "formula": "presence(hme, 3)"},
        {"name": "late", "formula": "at(home, 99)"},
        {"name": "weekly", "formula": 'presence(home, "wed 05:00-07:00")', "every": "week"},
        {"name": "none"},
    ]
    found = tab.post("events", {"setting": changed(events=events)})["events"]
    good, bad, late, weekly, none = found
    assert good["ok"]
    assert good["formula"] == "presence(home, 3..5)"
    assert array(good["steps"]).tolist() == [3, 4, 5]
    assert not bad["ok"]
    assert bad["problem"]["position"] == 9
    assert "'home'" in bad["problem"]["message"]
    assert "12" in late["problem"]["message"] or "11" in late["problem"]["message"]
    assert array(weekly["steps"]).tolist() == [5, 6]
    assert weekly["unguarded"] == []
    assert weekly["structure"]["when"] == ["wed 05:00-07:00"]
    assert not none["ok"]


@pytest.mark.parametrize(
    "adversary", [{"knows": "anything"}, {"knows": "population"}, {"knows": "stale", "hours": 2.0}]
)
def test_chances_are_the_range_over_the_adversaries_priors(
    tab: Tab, tmp_path: Path, adversary: dict[str, Any]
) -> None:
    """Before any release: the least and largest of Pr(EVENT | row) over the adversary's rows."""
    tab.open_small_world(tmp_path)
    setting = changed(adversary=adversary)
    policy = read_policy(policy_text(setting))
    told = {each["name"]: each for each in tab.post("chances", {"setting": setting})["events"]}
    rows = {
        "anything": np.eye(policy.grid.size),
        "population": policy.population[None, :],
        "stale": np.linalg.matrix_power(policy.model.transition(0).toarray(), 2),
    }[adversary["knows"]]
    for name, event in policy.events.items():
        by_start = Quantifier(policy.model, event.event).prior_by_start()
        assert told[name]["lowest"] == pytest.approx((rows @ by_start).min(), abs=CLOSE)
        assert told[name]["highest"] == pytest.approx((rows @ by_start).max(), abs=CLOSE)
        assert told[name]["population"] == pytest.approx(policy.population @ by_start, abs=CLOSE)


def test_an_upload_becomes_a_draft_that_can_be_used(tab: Tab, tmp_path: Path) -> None:
    """Opening shows map, clock, trace and a setting which is a policy without mistakes."""
    opened = tab.open_small_world(tmp_path, ("ada", "ben"))
    assert opened["source"]["people"] == ["ada", "ben"]
    assert opened["source"]["person"] == "ada"
    rows, columns = opened["map"]["rows"], opened["map"]["columns"]
    assert array(opened["map"]["mesh"]["lat"]).size == (rows + 1) * (columns + 1)
    assert array(opened["map"]["centers"]["lat"]).size == rows * columns
    assert array(opened["population"]).sum() == pytest.approx(1.0, abs=1e-4)
    cells = array(opened["trace"]["cells"])
    assert (cells >= -1).all()
    assert (cells < rows * columns).all()
    explained = tab.post("explain", {"setting": opened["setting"]})
    assert explained["guaranteed"]
    read_policy(explained["policy"])
    other = tab.post("person", {"user": "ben"})
    assert other["source"]["person"] == "ben"
    assert "no person called" in tab.post("person", {"user": "dora"}, 404)["error"]["message"]


def test_a_draft_of_the_studio_is_that_of_init(tab: Tab, tmp_path: Path) -> None:
    """An upload's first policy says what `priste init` writes, shapes and all, but for comments."""
    source = write_week(tmp_path / "week.csv")
    opened = tab.upload(source.read_bytes(), "week.csv")
    target = tmp_path / "policy.toml"
    result = CliRunner().invoke(app, ["init", str(source), "-o", str(target), "--no-forecast"])
    assert result.exit_code == 0, result.output
    text = tab.post("explain", {"setting": opened["setting"]})["policy"]
    assert tomllib.loads(text) == tomllib.loads(target.read_text())
    assert opened["map"]["border"]
    rows, columns = opened["map"]["rows"], opened["map"]["columns"]

    # Painted anew, beside the drafted ones, also in two parts, and with the ring as a place.
    painted = [columns + 1, columns + 2, (rows - 2) * columns + columns - 2]
    setting = copy.deepcopy(opened["setting"])
    setting["regions"].append({"name": "mine", "cells": painted})
    setting["events"] = [
        {"name": "there", "formula": 'presence(mine, "09:00-12:00")'},
        {"name": "away", "formula": 'presence(off-map, "09:00-12:00")'},
    ]
    assert all(each["ok"] for each in tab.post("events", {"setting": setting})["events"])
    policy = read_policy(tab.post("explain", {"setting": setting})["policy"])
    assert list(policy.regions["mine"].cells) == painted
    setting["regions"][-1]["cells"] = [0]
    assert "ring" in tab.post("explain", {"setting": setting}, 422)["error"]["message"]

    # Another size of cells: a shape is laid out anew, what was painted becomes what it touches.
    setting["regions"][-1]["cells"] = painted
    size = 2 * setting["map"]["cell_size"]
    again = tab.post("ground", {"setting": setting, "map": {**setting["map"], "cell_size": size}})
    *drafted, mine = again["setting"]["regions"]
    assert [each["shape"] for each in drafted] == [
        each["shape"] for each in setting["regions"][:-1]
    ]
    assert mine["cells"]


@given(cells=st.sets(st.integers(0, 11), min_size=1))
@examples(30)
def test_painted_cells_come_back_as_they_were(cells: set[int]) -> None:
    """Cells of the ringed map that the page paints are the same cells in the exported policy."""
    off_map = changed(outside="off-map", regions=[], events=[])
    ringed = ground_of_setting(off_map).grid
    inside = sorted(set(range(ringed.size)) - ringed.border)
    painted = [inside[cell] for cell in sorted(cells)]
    regions = [{"name": "mine", "cells": painted}]
    events = [{"name": "there", "formula": "presence(mine, 3..5)"}]
    text = policy_text({**off_map, "regions": regions, "events": events})
    assert "polygon" not in text
    document = Document.from_toml(text)
    assert document.regions["mine"].cells is not None
    assert ringed_numbers(ringed, document.regions["mine"].cells) == painted


def test_hours_that_were_read_are_left_out_of_another_draft(tab: Tab, tmp_path: Path) -> None:
    """A secret in hours that the draft read is told of; drafted again it is not, and stays."""
    source = write_week(tmp_path / "week.csv")
    setting = tab.upload(source.read_bytes(), "week.csv")["setting"]
    assert tab.post("explain", {"setting": setting})["read_when_drafted"] == {}
    taken = {cell for region in setting["regions"] for cell in region["cells"]}
    painted = next(cell for cell in range(18, 30) if cell not in taken)
    mine = {
        **setting,
        "regions": [*setting["regions"], {"name": "my place", "cells": [painted]}],
        "events": [
            {"name": "night", "formula": 'presence("my place", "fri 22:00-06:00")', "every": "week"}
        ],
    }
    told = tab.post("explain", {"setting": mine})
    assert told["read_when_drafted"] == {"night": ["fri 22:00-06:00"]}
    assert any("fri 22:00-06:00" in line for line in told["unguarded"])
    again = tab.post("draft", {"setting": mine})["setting"]
    assert again["events"] == mine["events"]
    assert "my place" in [region["name"] for region in again["regions"]]
    told = tab.post("explain", {"setting": again})
    assert told["read_when_drafted"] == {}
    drafted = tomllib.loads(told["policy"])["drafted"]
    assert drafted["without"] == ["fri 22:00-06:00"]
    # The map, the clock and the model are those of `priste init --guard`.
    target = tmp_path / "policy.toml"
    command = ["init", str(source), "-o", str(target), "--no-forecast"]
    result = CliRunner().invoke(app, [*command, "--guard", "fri 22:00-06:00"])
    assert result.exit_code == 0, result.output
    by_hand = tomllib.loads(target.read_text())
    for part in ("map", "clock", "mobility", "mechanism", "drafted"):
        assert tomllib.loads(told["policy"])[part] == by_hand[part]
    # All hours at once leave nothing to draft from.
    always = {**again, "events": [{**mine["events"][0], "formula": 'presence(home, "daily")'}]}
    refused = tab.post("draft", {"setting": always}, status=422)
    assert "guarded" in refused["error"]["message"]


def test_another_map_takes_painted_regions_along(tab: Tab, tmp_path: Path) -> None:
    """With half the cell size a painted cell becomes all the cells that it touches, or more."""
    tab.open_small_world(tmp_path)
    finer = {**SMALL_SETTING["map"], "cell_size": 0.5}
    moved = tab.post("ground", {"setting": SMALL_SETTING, "map": finer})
    assert moved["map"]["rows"] >= 2 * 3
    before = read_policy(policy_text(SMALL_SETTING))
    after = read_policy(policy_text(moved["setting"]))
    for name, region in before.regions.items():
        for cell in region:
            west, south, east, north = before.grid.bounds_of(cell)
            for x in np.linspace(west + 0.01, east - 0.01, 5):
                for y in np.linspace(south + 0.01, north - 0.01, 5):
                    assert after.grid.cell_at(*before.grid.latlon_at(x, y)) in after.regions[name]


def test_maps_of_too_many_cells_are_refused_at_once(tab: Tab, tmp_path: Path) -> None:
    """Cells of two metres, or of fifteen, are refused in words, wherever they are asked about."""
    tab.open_small_world(tmp_path)
    for size, words in ((0.002, "100,000 cells"), (0.015, "40,000 cells")):
        fine = {**SMALL_SETTING["map"], "cell_size": size}
        for what, body in (
            ("explain", {"setting": changed(map=fine)}),
            ("events", {"setting": changed(map=fine)}),
            ("ground", {"setting": SMALL_SETTING, "map": fine}),
        ):
            error = tab.post(what, body, 422)["error"]
            assert words in error["message"]
            assert error["problems"][0]["path"] == "map.cell_size"


def test_a_map_too_large_for_anybody_is_said_before_any_work(tab: Tab, tmp_path: Path) -> None:
    """The page knows it with the map, and everything that would need a model refuses in words."""
    opened = tab.open_small_world(tmp_path)
    assert opened["against_many"] == {"too_large": "", "slow": ""}
    fine = {**SMALL_SETTING["map"], "cell_size": 0.03}
    grid = Grid.covering(**fine)
    words = too_large(grid)
    assert f"{grid.size:,} cells" in words
    assert "GB of memory" in words
    assert "knows the population" in words
    assert slow(grid)
    # The size that is named would do.
    size, unit = words.partition("cells of ")[2].split()[:2]
    assert unit == "m"
    assert too_large(Grid.covering(**{**fine, "cell_size": float(size) / 1000})) == ""
    anybody = {"adversary": {"knows": "anything"}}
    for what, body in (
        ("explain", {"setting": changed(map=fine, **anybody)}),
        ("ground", {"setting": changed(**anybody), "map": fine}),
    ):
        assert tab.post(what, body, 422)["error"]["message"] == words


def test_who_knows_the_population_knows_a_home_where_one_is_known(tmp_path: Path) -> None:
    """Titles say what the adversary knows, with the home of the draft and without it."""
    source = open_file(write_week(tmp_path / "week.csv"), "upload")
    drafted = draft_setting(source)
    assert drafted["mobility"]["home"] == "home"
    (known, *_), (plain, *_) = (
        adversaries(source.policy({**drafted, "mobility": mobility}))
        for mobility in (drafted["mobility"], {"kind": "gaussian", "sigma": 1.0})
    )
    assert known["title"] == "Knows the population and your home"
    assert "people here with your home" in known["words"]
    assert known["without_home"]["title"] == plain["title"] == "Knows the population"
    assert known["without_home"]["words"] == plain["words"]


def test_mistakes_of_a_setting_are_told_together(tab: Tab, tmp_path: Path) -> None:
    """Each mistake has the place where it stands, in words without line numbers."""
    tab.open_small_world(tmp_path)
    wrong = changed(
        guarantee={"epsilon": -1},
        mechanism={"kind": "planar-laplace"},
        events=[{"name": "e", "formula": "at(nowhere, 1)"}],
    )
    error = tab.post("explain", {"setting": wrong}, 422)["error"]
    assert {each["path"].split(".")[0] for each in error["problems"]} >= {"guarantee", "mechanism"}
    assert "line" not in error["message"]
    assert "Traceback" not in error["message"]


def test_every_position_of_the_sliders_is_a_policy(tab: Tab, tmp_path: Path) -> None:
    """Each adversary, guarantee and noise that the page offers makes a policy without mistakes."""
    opened = tab.open_small_world(tmp_path)
    knows = [each["adversary"]["knows"] for each in opened["adversaries"]]
    assert knows[0] == "population"
    assert knows[-1] == "anything"
    assert knows.index("near") < knows.index("stale")
    for each in opened["adversaries"]:
        policy = read_policy(policy_text(changed(adversary=each["adversary"])))
        assert each["words"] == policy.chosen_adversary.words
    events = [{"name": "visit", "formula": "at(clinic, 5)"}]
    for each in [*opened["guarantees"], *opened["upward"], *opened["beliefs"]]:
        text = policy_text(changed(guarantee=each["guarantee"], events=events))
        if each["guarantee"].get("belief_at_most", 1.0) < 0.15:  # less than is believed beforehand
            with pytest.raises(PolicyError, match="already"):
                read_policy(text)
            continue
        policy = read_policy(text)
        assert {event.guarantee.words() for event in policy.events.values()} == {each["words"]}
    for each in opened["protections"]:
        assert each["alpha"] == alpha_of(each["metres"])


def test_models_are_made_once(tmp_path: Path) -> None:
    """Another guarantee or another place costs no other model; a home painted anew does."""
    source = open_file(write_week(tmp_path / "week.csv"), "upload")
    setting = draft_setting(source)
    model = source.policy(setting).model
    assert source.policy({**setting, "guarantee": {"epsilon": 0.7}}).model is model
    more = [*setting["regions"], {"name": "another", "cells": [20]}]
    assert source.policy({**setting, "regions": more}).model is model
    assert setting["mobility"]["home"] == "home"
    moved = [{"name": "home", "cells": [40]}, *setting["regions"][1:]]
    assert source.policy({**setting, "regions": moved}).model is not model
