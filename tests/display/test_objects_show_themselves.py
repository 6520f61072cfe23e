"""Objects in a REPL and a notebook: short texts, sound HTML, pictures, frames, GeoJSON."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import geopandas as gpd
import numpy as np
import pytest
import shapely.geometry
from tests.cli.small_world import GRID as EARTH
from tests.cli.small_world import PATHS, policy_of

import priste
from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, Quantifier, Region
from priste.errors import InvalidParameter
from priste.results import audit_traces
from priste.traces import Fix, Trace

PLANE = Grid(rows=4, columns=5, cell_size=0.5)
WORDY = '<b>"clinic" & co</b>'


def protector() -> Protector:
    model = MarkovModel.gaussian(PLANE, sigma=0.5)
    made = Protector(
        model,
        {WORDY: priste.presence([0, 1], [1, 2]), "home": priste.at([7], 3)},
        PlanarLaplace(PLANE, alpha=2.0),
        0.9,
        "certified",
        rng=1,
        adversary=KnownPrior(model.stationary()),
    )
    for cell in (3, 4, None, 9):
        made.release(cell)
    return made


def quantifier() -> Quantifier:
    made = Quantifier(MarkovModel.gaussian(PLANE, sigma=0.5), priste.presence([0, 1], [1, 2]))
    made.observe(PlanarLaplace(PLANE, alpha=1.0).emission()[:, 3])
    return made


def audit() -> object:
    from dataclasses import replace
    from datetime import timedelta

    from priste.mechanisms import Identity

    policy = replace(policy_of(), mechanism=Identity(EARTH))
    times = [policy.timeline.middle_of(step) for step in range(12)]
    cells = zip(times, PATHS["ada"], strict=True)
    trace = Trace.of(Fix("ada", t + timedelta(0), *EARTH.latlon(c)) for t, c in cells)
    return audit_traces(policy, [trace], "the test", sure=True)


@pytest.fixture(scope="module")
def shown() -> dict[str, object]:
    stream, asked = protector(), quantifier()
    return {
        "a plane": PLANE,
        "the earth": EARTH,
        "region": Region(EARTH, [5, 6, 9]),
        "empty region": Region(PLANE, []),
        "model": MarkovModel.gaussian(PLANE, sigma=0.5),
        "finite model": MarkovModel(PLANE, [np.eye(20)] * 3),
        "event": priste.presence([0, 1], [1, 2]) & ~priste.at([3], 4),
        "release": stream.ledger[0],
        "silence": stream.ledger[2],
        "ledger": stream.ledger,
        "empty ledger": stream.ledger.__class__(["a"], []),
        "protector": stream,
        "quantifier": asked,
        "leakage": asked.leakage(),
        "evaluation": priste.evaluate([0, 1, 2], [0, 2, 2], grid=PLANE),
        "audit": audit(),
    }


NAMES = [
    "a plane", "the earth", "region", "empty region", "model", "finite model", "event", "release",
    "silence", "ledger", "empty ledger", "protector", "quantifier", "leakage", "evaluation",
    "audit",
]  # fmt: skip


class Balanced(HTMLParser):
    """Checks that every element ends where it should."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", NAMES)
def test_html_is_sound_and_self_contained(name: str, shown: dict[str, object]) -> None:
    """Elements are balanced, SVG is XML, names are escaped, nothing is loaded or run."""
    text = shown[name]._repr_html_()  # type: ignore[attr-defined]
    parser = Balanced()
    parser.feed(text)
    assert not parser.open
    assert not parser.tags & {"script", "img", "link", "iframe", "style"}
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {"http://www.w3.org/2000/svg"}
    for drawing in re.findall(r"<svg.*?</svg>", text, re.S):
        ET.fromstring(drawing)
    assert WORDY not in text
    assert not re.search(r"\bnan\b", text)


@pytest.mark.parametrize("name", NAMES)
def test_text_is_short(name: str, shown: dict[str, object]) -> None:
    """A repr is one line that a person reads."""
    assert_short(repr(shown[name]))


def test_the_text_of_a_policy_names_events_and_no_place() -> None:
    """A policy shown in a notebook is one line, without the cells of its regions."""
    policy = policy_of()
    assert_short(repr(policy))
    assert all(name in repr(policy) for name in policy.events)
    assert not any(repr(region) in repr(policy) for region in policy.regions.values())


def assert_short(text: str) -> None:
    assert "\n" not in text
    assert 5 < len(text) < 260
    assert "object at 0x" not in text


def test_a_ledger_draws_its_leakage(shown: dict[str, object]) -> None:
    """One line per event through the leakages of the steps, and the bound as a level."""
    from priste.display import picture

    ledger = shown["ledger"]
    chart = picture(ledger)
    assert [line.label for line in chart.lines] == sorted(
        ledger.event_names, key=lambda n: -max(rows_of(ledger, n))
    )
    heights = {line.label: line.points for line in chart.lines}
    top = 1.15 * 0.9
    for name in ledger.event_names:
        expected = [value / top for value in rows_of(ledger, name)]
        for step, point in enumerate(heights[name]):
            if step == 2:  # silence
                assert point is None
            else:
                assert point[1] == pytest.approx(expected[step], abs=1e-9)
    assert [mark.text for mark in chart.levels] == ["ε = 0.9"]


def rows_of(ledger: object, name: str) -> list[float]:
    return ledger.to_frame("pyarrow")[f"leakage_{name}"].to_pylist()  # type: ignore[attr-defined]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_rows_are_frames_of_any_library(backend: str, shown: dict[str, object]) -> None:
    """A ledger, a grid, a region, an evaluation and an audit have the same rows everywhere."""
    for name, rows, column in (
        ("ledger", 4, "budget"),
        ("the earth", 16, "lat"),
        ("region", 3, "cell"),
        ("evaluation", 2, "distance_mean"),
        ("audit", 24, "leakage"),
    ):
        frame = shown[name].to_frame(backend)  # type: ignore[attr-defined]
        assert type(frame).__module__.partition(".")[0] == backend
        assert len(frame) == rows
        assert len(frame[column]) == rows
    lat, lon = EARTH.latlon(7)
    frame = EARTH.to_frame("pyarrow")
    assert (frame["lat"][7].as_py(), frame["lon"][7].as_py()) == (lat, lon)
    with pytest.raises(InvalidParameter, match="'backend' of to_frame must be one of"):
        EARTH.to_frame("spreadsheet")


def test_pictures_are_figures(shown: dict[str, object]) -> None:
    """What has a picture draws it with matplotlib; what has none yet says so."""
    for name in ("a plane", "region", "model", "ledger", "protector", "audit"):
        figure = shown[name].plot()  # type: ignore[attr-defined]
        assert figure.axes
    with pytest.raises(TypeError, match="no picture yet"):
        shown["empty ledger"].plot()  # type: ignore[attr-defined]


def test_cells_are_geojson_that_others_read() -> None:
    """Each centre lies in its cell, areas are those of the map, and geopandas reads both."""
    read = gpd.GeoDataFrame.from_features(EARTH, crs="EPSG:4326")
    assert read["cell"].tolist() == list(range(EARTH.size))
    for cell, shape in enumerate(read.geometry):
        lat, lon = EARTH.latlon(cell)
        assert shape.contains(shapely.geometry.Point(lon, lat))
        assert shape.exterior.is_ccw
    area = read.to_crs(read.estimate_utm_crs()).area
    assert area.to_numpy() == pytest.approx(1e6, rel=2e-3)
    region = shapely.geometry.shape(Region(EARTH, [5, 6, 9]))
    parts = shapely.union_all(read.geometry.iloc[[5, 6, 9]].to_numpy())
    assert region.equals_exact(parts.normalize(), 1e-7) or region.equals(parts)
    assert not hasattr(PLANE, "__geo_interface__")
    with pytest.raises(InvalidParameter, match=r"Grid\.covering"):
        Region(PLANE, [1]).to_geojson()


def test_a_map_across_180_degrees_has_small_cells() -> None:
    """Longitudes go on beyond 180 instead of around the earth."""
    grid = Grid.covering(-17.0, 179.9, -16.8, -179.9, cell_size=5.0)
    widths = gpd.GeoDataFrame.from_features(grid).bounds
    assert (widths.maxx - widths.minx).max() < 0.06


def test_html_needs_no_extra() -> None:
    """A light installation shows its objects in a notebook."""
    code = (
        "import sys\n"
        "for name in ('numba', 'matplotlib', 'jinja2', 'duckdb', 'pyarrow', 'narwhals', 'rich'):\n"
        "    sys.modules[name] = None\n"
        "import priste\n"
        "g = priste.Grid(rows=2, columns=2, cell_size=1.0)\n"
        "print('<svg' in g._repr_html_())\n"
        "try: g.plot()\n"
        "except priste.MissingExtra as error: print(error.extra)\n"
        "try: g.to_frame()\n"
        "except priste.MissingExtra as error: print(error.extra)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "plots", "traces"]
