"""A policy file becomes objects, and every mistake in it is told with its line."""

import json
import pickle
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.small_world import GRID, PATHS, POLICY, STEPS, write_policy, write_trips

from priste import PolicyError
from priste.policy import explain_policy, load_ground, load_policy, read_policy

TEN_MISTAKES = """\
[map]
south = 46.0
west = 7.0
north = 46.0355
east = 7.0515
cellsize = 1.0
[clock]
start = 2026-03-04T00:00:00
step = "1 fortnight"
steps = 12
zone = "Europe/Atlantis"
[mobility]
kind = "gaussian"
[mechanism]
kind = "planar-laplace"
alpha = -1.0
[guarantee]
epsilon = "one"

[release]
calibrator = "magic"
[regions.clinic]
circle = { lat = 46.01, lon = 7.02, radius = 0.5 }
[regions.home]
[events.visit]
formula = 'presence(clinic, 1..2)'
evry = "week"
"""

MISTAKES = [
    (1, "map.cell_size", "missing"),
    (6, "map.cellsize", "did you mean 'cell_size'"),
    (9, "clock.step", "30min"),
    (11, "clock.zone", "IANA"),
    (12, "mobility", "needs 'sigma'"),
    (16, "mechanism.alpha", "greater than 0"),
    (18, "guarantee.epsilon", "valid number"),
    (21, "release.calibrator", "certified"),
    (23, "regions.clinic.circle.radius_km", "missing"),
    (23, "regions.clinic.circle.radius", "did you mean 'radius_km'"),
    (24, "regions.home", "exactly one of"),
    (27, "events.visit.evry", "did you mean 'every'"),
]


def test_all_mistakes_are_told_at_once_with_their_lines() -> None:
    """A file with twelve mistakes reports twelve, in the order of the file."""
    with pytest.raises(PolicyError) as caught:
        read_policy(TEN_MISTAKES)
    told = caught.value.problems
    assert len(told) == len(MISTAKES), "\n".join(told)
    for line, place, rule in MISTAKES:
        assert any(m.startswith(f"line {line}: {place}:") and rule in m for m in told), (
            place,
            told,
        )
    lines = [int(message.split()[1].rstrip(":")) for message in told]
    assert lines == sorted(lines)
    assert "12 mistakes" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("steps = 12", "end = 2026-03-03", "end"),
        (f'step = "1h"\nsteps = {STEPS}', 'step = "1s"\nend = 9000-03-03', "at most"),
        ("[release]", "[relaese]", "did you mean 'release'"),
        ("epsilon = 0.8", "epsilon = inf", "finite"),
        ("steps = 12", "", "either 'steps'"),
        ("steps = 12", "steps = 12\nend = 2026-03-05", "either 'steps'"),
        ("cells = [9, 10]", "cells = [9, 100]", "100"),
        ("presence(clinic,", "presence(klinic,", "klinic"),
        ('"05:00-08:00"', '"sun"', "names no step"),
        ("home@1, home@11", "home@1, home@12", "not on the timeline"),
        ("presence(clinic", "not presence(clinic", None),
        ("presence(clinic,", "presence(clinic, 1) or not presence(clinic,", None),
        ("[events.visit]", "events = 3\n[event.visit]", "unknown key"),
        ("sigma = 1.0", 'sigma = 1.0\npath = "x"', "does not take 'path'"),
        ("alpha = 1.5", "", "needs 'alpha'"),
        ("cell_size = 1.0", "cell_size = 1.0\nnorht = 3", "did you mean 'north'"),
        (
            "pace = 0.3",
            'pace = 0.3\ncalibrator = "paper"\nno_guarantee = true',
            "release.pace: unknown",
        ),
        ("pace = 0.3", "paec = 0.3", "release.paec: unknown key; did you mean 'pace'"),
        ("pace = 0.3", "pace = 0.0", "release: The 'pace' must"),
    ],
)
def test_one_mistake_at_a_time(old: str, new: str, complaint: str | None) -> None:
    """Each rule has its sentence; what is no mistake is read."""
    assert old in POLICY
    text = POLICY.replace(old, new)
    if complaint is None:
        assert read_policy(text).events
    else:
        with pytest.raises(PolicyError, match=complaint):
            read_policy(text)


def test_an_event_that_cannot_fail_is_told() -> None:
    """An event that is always true, whatever the user does, is a mistake of the file."""
    text = POLICY.replace('presence(clinic, "05:00-08:00")', "at(home, 1) or not at(home, 1)")
    with pytest.raises(PolicyError, match="always happens"):
        read_policy(text)


def test_what_a_policy_holds(tmp_path: Path) -> None:
    """Map, clock, events and their ε are those of the file, in its order."""
    policy = load_policy(write_policy(tmp_path))
    assert policy.grid == GRID
    assert policy.steps == STEPS
    assert policy.timeline.step == timedelta(hours=1)
    assert {n: e.epsilon for n, e in policy.events.items()} == {"visit": 0.8, "homecoming": 1.2}
    assert policy.events["visit"].event.holds(PATHS["ada"])
    assert not policy.events["visit"].event.holds([0] * STEPS)
    assert policy.regions["clinic"].cells == (9, 10)
    assert policy.mechanism.budget == 1.5


def test_end_is_as_good_as_steps() -> None:
    """A clock may state its end instead of its number of steps; a part of a step counts."""
    until = POLICY.replace("steps = 12", "end = 2026-03-04T12:00:00")
    assert read_policy(until).steps == STEPS
    assert read_policy(until.replace("12:00:00", "11:01:00")).steps == STEPS


@pytest.mark.parametrize(
    "shape",
    [
        "circle = { lat = 46.0135, lon = 7.0194, radius_km = 0.1 }",
        "box = { south = 46.010, west = 7.014, north = 46.017, east = 7.025 }",
        "polygon = [[46.010, 7.014], [46.010, 7.025], [46.017, 7.025]]",
        'geojson = "clinic.geojson"',
        "cells = [5]",
    ],
)
def test_every_way_to_name_a_place(tmp_path: Path, shape: str) -> None:
    """A region may be a circle, a box, a polygon, a file or cells: here always the same cell."""
    ring = [[7.014, 46.010], [7.025, 46.010], [7.025, 46.017], [7.014, 46.010]]
    (tmp_path / "clinic.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    path = write_policy(tmp_path, POLICY.replace("cells = [9, 10]", shape))
    assert load_policy(path).regions["clinic"].cells == (5,)


@pytest.mark.parametrize(
    "mechanism",
    [
        'kind = "identity"',
        'kind = "uniform"',
        'kind = "planar-laplace"\nalpha = 2.0\ndelta = 0.1',
        'kind = "planar-isotropic"\nalpha = 2.0\ndelta = 0.1',
    ],
)
def test_every_mechanism_can_be_named(mechanism: str) -> None:
    """Each kind makes a protector that releases."""
    text = POLICY.replace('kind = "planar-laplace"\nalpha = 1.5', mechanism)
    assert read_policy(text).protector(rng=1).release(0).step == 0


def test_recurring_events_stand_once_per_period() -> None:
    """`every = "day"` makes one event for each day that holds the time."""
    text = POLICY.replace("steps = 12", "steps = 60").replace(
        "formula = 'presence(clinic, \"05:00-08:00\")'",
        'formula = \'presence(clinic, "12:00-14:00")\'\nevery = "day"',
    )
    names = [name for name in read_policy(text).events if name.startswith("visit")]
    assert names == ["visit, 2026-03-04", "visit, 2026-03-05"]


def test_mobility_fitted_and_saved(tmp_path: Path) -> None:
    """A model may be learnt from traces or loaded; one for another map is refused."""
    write_trips(tmp_path)
    fit = POLICY.replace(
        'kind = "gaussian"\nsigma = 1.0',
        'kind = "fit"\ntraces = "trips.csv"\npublic = true\nmemory = "hours"',
    )
    fitted = load_policy(write_policy(tmp_path, fit))
    assert fitted.model.period == 24
    fitted.model.save(tmp_path / "model.npz")
    saved = POLICY.replace('kind = "gaussian"\nsigma = 1.0', 'kind = "saved"\npath = "model.npz"')
    assert (
        load_policy(write_policy(tmp_path, saved)).model.fingerprint() == fitted.model.fingerprint()
    )
    with pytest.raises(PolicyError, match="another map"):
        read_policy(saved.replace("cell_size = 1.0", "cell_size = 0.5"), folder=tmp_path)
    with pytest.raises(PolicyError, match="line 13: mobility"):
        read_policy(fit.replace("trips.csv", "nobody.csv"), folder=tmp_path)


def test_the_fingerprint_follows_text_and_model() -> None:
    """Two readings agree; another ε or another model does not."""
    one, same = read_policy(POLICY), read_policy(POLICY)
    assert one.fingerprint() == same.fingerprint()
    assert one.fingerprint() != read_policy(POLICY.replace("0.8", "0.7")).fingerprint()
    assert (
        one.fingerprint() != read_policy(POLICY.replace("sigma = 1.0", "sigma = 2.0")).fingerprint()
    )
    assert pickle.loads(pickle.dumps(one)).fingerprint() == one.fingerprint()


def test_files_that_are_no_policies(tmp_path: Path) -> None:
    """Missing, binary and half-written files are one clean error each; a BOM is no mistake."""
    with pytest.raises(PolicyError, match="priste init"):
        load_policy(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="cannot be read"):
        load_policy(tmp_path / "bad.toml")
    with pytest.raises(PolicyError, match=r"not TOML.*table declaration"):
        read_policy("[map")
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + POLICY.encode())
    assert load_policy(tmp_path / "bom.toml").steps == STEPS
    with pytest.raises(PolicyError, match="must be a table"):
        read_policy("map = 3")


def test_the_ground_needs_no_model(tmp_path: Path) -> None:
    """Map and clock can be read before the model they are for exists."""
    text = POLICY.replace('kind = "gaussian"\nsigma = 1.0', 'kind = "saved"\npath = "later.npz"')
    ground = load_ground(write_policy(tmp_path, text))
    assert ground.grid == GRID
    with pytest.raises(PolicyError, match="clock"):
        load_ground(write_policy(tmp_path, POLICY.replace("[clock]", "[watch]")))


def test_the_explanation_says_what_the_numbers_say() -> None:
    """Words, probabilities and worlds agree with the objects; the paper's loop guarantees
    nothing."""
    policy = read_policy(POLICY)
    explained = explain_policy(policy)
    visit = explained.events[0]
    assert (visit.name, visit.steps, visit.worlds) == ("visit", 3, 2)
    assert 0 < visit.lowest < visit.highest < 1
    assert any("factor 2.23" in line for line in explained.guaranteed)
    assert "4 by 4 cells of 1 km" in explained.summary[0]
    assert json.loads(json.dumps(explained.to_dict()))["events"][0]["name"] == "visit"
    loop = POLICY.replace("pace = 0.3", 'calibrator = "paper"\nno_guarantee = true')
    assert explain_policy(read_policy(loop)).guaranteed == ()


@pytest.mark.parametrize(
    ("section", "described"),
    [
        ('calibrator = "optimal"', {"kind": "optimal", "pace": None}),
        ('calibrator = "optimal"\npace = 0.5', {"kind": "optimal", "pace": 0.5}),
    ],
)
def test_laws_that_are_searched_for(section: str, described: dict[str, object]) -> None:
    """They are made with the parameters of the file, and they are guaranteed for."""
    policy = read_policy(POLICY.replace("pace = 0.3", section))
    assert described.items() <= policy.calibrator.describe().items()
    explained = explain_policy(policy)
    assert explained.guaranteed
    assert any("full budget" in line for line in explained.summary)
    assert "own days" in explained.summary[-1]
