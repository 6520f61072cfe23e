"""The policy document: the same thing as TOML, as JSON and as a value."""

import json
from typing import Any

import pytest
from tests.cli.small_world import POLICY

from priste import PolicyError
from priste.policy import Document, draft_policy, read_policy
from priste.policy.policy_reader import ringed, unringed
from priste.policy.town_policy import town_policy

SEVERAL = POLICY.replace(
    '[mobility]\nkind = "gaussian"\nsigma = 1.0',
    '[[mobility]]\nkind = "gaussian"\nsigma = 1.0\n\n[[mobility]]\nkind = "gaussian"\nsigma = 2.0',
)
TEXTS = {"small": POLICY, "town": town_policy(), "draft": draft_policy(), "several": SEVERAL}


@pytest.mark.parametrize("name", TEXTS)
def test_toml_and_json_and_objects_are_one_document(name: str) -> None:
    """Whichever way a document goes, it comes back equal, and no default is written into it."""
    document = Document.from_toml(TEXTS[name])
    assert Document.from_toml(document.to_toml()) == document
    assert Document.from_json(document.to_json()) == document
    assert Document.from_json(json.dumps(document.to_json())) == document
    assert Document.from_json(Document.from_toml(document.to_toml()).to_json()) == document
    assert "points" not in document.to_toml()


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_person_wrote_stays_as_it_stands(name: str) -> None:
    """Writing a document onto its own text gives that text back, byte for byte."""
    assert Document.from_toml(TEXTS[name]).to_toml(onto=TEXTS[name]) == TEXTS[name]


def test_comments_stay_where_something_else_changes() -> None:
    """Only the lines that say something else are written anew."""
    text = town_policy()
    wanted = Document.from_toml(text).to_json()
    wanted["guarantee"] = {"epsilon": 0.5}
    wanted["regions"]["clinic"] = {"cells": [3, 4]}
    del wanted["regions"]["office"]
    wanted["mobility"]["memory"] = "hours"
    written = Document.from_json(wanted).to_toml(onto=text)
    assert Document.from_toml(written).to_json() == wanted
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    kept = [comment for comment in comments if comment in written]
    assert len(kept) >= len(comments) - 2


def test_cells_count_on_the_map_as_it_is_written() -> None:
    """The same numbers mean the same cells with a place around the map and without it."""
    plain = read_policy(POLICY)
    around = read_policy(POLICY.replace("pace = 0.3", 'pace = 0.3\noutside = "off-map"'))
    for name, region in plain.regions.items():
        found = around.regions[name].cells
        assert list(found) == ringed(around.grid, region.cells)
        assert unringed(around.grid, found) == list(region.cells)
        for here, there in zip(region.cells, found, strict=True):
            assert around.grid.latlon(there) == pytest.approx(plain.grid.latlon(here), abs=1e-9)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"clock": {"start": "tomorrow", "step": "1h", "steps": 3}}, "clock.start"),
        ({"guarantee": {"epsilon": -1.0}}, "guarantee.epsilon"),
        ({"release": {"epsilon": 1.0}}, "release.epsilon"),
        ({"watch": {}}, "watch"),
        ({"events": {}}, "events"),
        ({"regions": {"clinic": 3}}, "regions.clinic"),
    ],
)
def test_mistakes_in_json_have_a_place(change: dict[str, Any], place: str) -> None:
    """A front end finds the key that is wrong without reading the message."""
    with pytest.raises(PolicyError) as caught:
        Document.from_json(Document.from_toml(POLICY).to_json() | change)
    assert any(path.startswith(place) for path, _ in caught.value.faults), caught.value.faults
