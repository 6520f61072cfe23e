"""Two worlds that differ in guarded time only: what is made of them is the same, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.cli.small_world import PATHS, POLICY, trace_of
from typer.testing import CliRunner

from priste import PolicyError
from priste.cli.application import app
from priste.cli.init import only_person
from priste.errors import PristeError
from priste.policy import Document, drafted, gaps_in_the_guard, read_policy
from priste.policy.lattice import box_of, lattice_grid, zone_origin
from priste.policy.windows import Windows
from priste.studio.opened_world import opened
from priste.studio.opening import open_file
from priste.traces import Trace, write_traces
from priste.traces.town import ada, residents
from priste.traces.zones import zone_of

FIT = 'kind = "fit"\ntraces = "trips.csv"'
WEEKLY = (
    POLICY[: POLICY.index("[events.visit]")]
    .replace('kind = "gaussian"\nsigma = 1.0', f'{FIT}\nmemory = "auto"\nhome = "home"')
    .replace("2026-03-04", "2026-03-02")
    .replace("steps = 12", "steps = 168")
    + '[events.visit]\nformula = \'presence(clinic, "wed 14:00-16:00")\'\nevery = "week"\n'
)


def another_world(trace: Trace, windows: Windows, seed: int) -> Trace:
    """Return a trace that is elsewhere in guarded time, with other fixes and another number."""
    rng = np.random.default_rng(seed)
    inside = windows.hold(trace.times)
    kept = ~inside | (rng.random(len(trace)) < 0.5)
    moved = inside.astype(float) * rng.uniform(-0.3, 0.3, len(trace))
    lat, lon = trace.lat + moved, trace.lon - moved
    more = trace.times[inside] + 1_234_567
    more = more[windows.hold(more) & ~np.isin(more, trace.times)]
    times = np.concatenate([trace.times[kept], more])
    order = np.argsort(times)
    return Trace(
        trace.user,
        times[order],
        np.concatenate([lat[kept], np.full(more.size, 45.9)])[order],
        np.concatenate([lon[kept], np.full(more.size, 7.4)])[order],
    )


def test_another_world_differs() -> None:
    """The worlds of these tests are not the same one: fixes in guarded time are others."""
    windows = read_policy(WEEKLY.replace(f"{FIT}\nmemory", f"{FIT}\npublic = true\nmemory"),
                          folder=_folder_with(residents(2, days=7))).windows  # fmt: skip
    ada = residents(1, days=7)[0]
    other = another_world(ada, windows, 1)
    assert len(other) != len(ada)
    rest, others_rest = windows.outside(ada), windows.outside(other)
    assert rest is not None
    assert others_rest is not None
    np.testing.assert_array_equal(rest.times, others_rest.times)
    assert windows.hold(ada.times).sum() > 3


WEEK = Windows.of_texts(["wed 14:00-16:00"], timedelta(hours=2)).in_zone(zone_of("Europe/Zurich"))
"""The hours of the template of drafts, with the longest step on each side."""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_draft_does_not_depend_on_what_it_guards(seed: int) -> None:
    """Of one person: the text, the notes, and with them map, step, places, habits and noise."""
    first = drafted([ada()])
    second = drafted([another_world(ada(), WEEK, seed)])
    assert first == second
    policy = read_policy(first.text)
    assert not (~WEEK.hold(ada().times) & policy.windows.hold(ada().times)).any()


def test_a_draft_of_a_crowd_does_not_depend_on_what_it_guards() -> None:
    """Homes, places and counts of people are the same; one who is only there then is nobody."""
    crowd = residents(6, days=10)
    others = [another_world(each, WEEK, number) for number, each in enumerate(crowd)]
    stranger = another_world(residents(7, days=10)[6], WEEK, 9)
    inside = WEEK.hold(stranger.times)
    part = (stranger.times[inside], stranger.lat[inside], stranger.lon[inside])
    visitor = Trace("visitor", *part)
    for homes in (None, "policy.homes.csv"):
        first = drafted(crowd, source="trips.csv", homes=homes)
        assert first == drafted([*others, visitor], source="trips.csv", homes=homes)


def test_asked_hours_are_not_looked_at() -> None:
    """The hours of --guard, of a kind of place, and of days without the template's afternoon."""
    zone = zone_of("Europe/Zurich")
    for options in (
        {"guard": ["fri 08:00-12:00", "sun"]},
        {"kind": "clinics.geojson"},
        {"since": datetime(2026, 3, 6), "until": datetime(2026, 3, 9)},
        {"since": datetime(2026, 3, 6, 8), "until": datetime(2026, 3, 6, 20)},
    ):
        first = drafted([ada()], **options)
        formulas = [each.formula for each in Document.from_toml(first.text).events.values()]
        policy_hours = [formula.partition(", ")[2].strip('")') for formula in formulas]
        if ".." in policy_hours[0]:
            begin, end = (
                datetime.fromisoformat(each).replace(tzinfo=zone)
                for each in policy_hours[0].split("..")
            )
            span = round(begin.timestamp()) * 1_000_000, round(end.timestamp()) * 1_000_000
            hours = Windows((), (span,), zone)
        else:
            hours = Windows.of_texts(policy_hours, timedelta(0)).in_zone(zone)
        assert hours.hold(ada().times).any()
        for seed in (1, 2):
            assert drafted([another_world(ada(), hours, seed)], **options) == first


def test_hours_of_every_day_in_several_zones_need_a_zone() -> None:
    """A guarded afternoon in another zone is refused and chooses none; --zone gives one draft."""
    here = ada()
    daily = Windows.of_texts(["10:00-16:00"], timedelta(0)).in_zone(zone_of("Europe/Zurich"))
    inside = daily.hold(here.times)
    away = Trace(
        here.user, here.times, np.where(inside, 40.7, here.lat), np.where(inside, -74.0, here.lon)
    )
    first = drafted([here], kind="clinics.geojson")
    assert 'zone = "Europe/Zurich"' in first.text
    with pytest.raises(PristeError, match="--zone"):
        drafted([away], kind="clinics.geojson")
    stated = drafted([away], kind="clinics.geojson", zone="Europe/Zurich")
    assert stated == first


def test_the_zone_of_asked_days_does_not_depend_on_their_guarded_hours() -> None:
    """As many fixes in each of two zones: guarded ones do not decide."""
    times = _micro(datetime(2026, 3, 6, 8, tzinfo=UTC)) + np.arange(48) * 1_800_000_000
    asked = {"since": datetime(2026, 3, 6, 8), "until": datetime(2026, 3, 6, 20)}
    places = np.array([[46.01, 7.01], [45.9, 6.0]])  # of Zurich and of Paris
    for here in range(20, 32):
        at = places[(np.arange(48) >= here).astype(int)]
        drafts = {drafted([Trace("x", times, *at.T)], **asked).text}
        document = Document.from_toml(*drafts)
        begin, end = (
            _micro(datetime.fromisoformat(each).replace(tzinfo=zone_of(document.clock.zone)))
            for each in document.events["example"].formula.partition(", ")[2][:-1].split("..")
        )
        inside = (times >= begin) & (times < end)
        assert inside.any()
        for place in places:
            moved = np.where(inside[:, None], place, at)
            drafts.add(drafted([Trace("x", times, *moved.T)], **asked).text)
        assert len(drafts) == 1


def _micro(time: datetime) -> int:
    return round(time.timestamp()) * 1_000_000


def test_a_short_outing_does_not_end_in_its_guarded_minutes() -> None:
    """A quarter of an hour: fixes in the guarded minutes, or none, also where they are the last."""
    minute = 60_000_000
    begin = _micro(datetime(2026, 3, 6, 8, 3, tzinfo=UTC))
    before = np.array([0, 2, 4, 6])
    drafts = set()
    for inside in ([], [8, 11], [7.5], [9, 10, 11.9]):
        minutes = np.concatenate([before, inside])
        away = np.concatenate([np.zeros(4), np.full(len(inside), 0.5)])
        times = begin + (minutes * minute).astype(np.int64)
        drafts.add(drafted([Trace("x", times, 46.01 + away, 7.01 - away)]).text)
    (text,) = drafts
    assert "2026-03-06T09:10..2026-03-06T09:15" in text


@pytest.mark.parametrize("seed", range(8))
def test_random_worlds_have_one_draft(seed: int) -> None:
    """Some days of somebody at six places, here or there in guarded hours, seldom or often."""
    rng = np.random.default_rng(seed)
    hour = 3_600_000_000
    places = np.array([[46.01, 7.01], [46.02, 7.05], [46.05, 7.07], [46.0, 7.0], [46.4, 7.3]])
    far = np.array([[46.03, 7.02], [45.5, 6.1], [52.5, 13.4]])
    begin = _micro(datetime(2026, 3, 1 + 2 * seed, tzinfo=UTC))
    days = rng.choice([0.02, 0.4, 3, 12] if seed % 3 != 1 else [8, 12])
    times = np.unique(begin + (rng.random(120) * days * 24 * hour).astype(np.int64))
    at = places[np.repeat(rng.integers(0, 5, times.size), 6)[: times.size]]
    at = at + rng.normal(0, 5e-4, at.shape)
    options = ({}, {"guard": ["thu 08:00-12:00", "sun"]}, {"kind": "clinics.geojson"})[seed % 3]
    here = Trace("x", times, *at.T)
    first = drafted([here], zone="Europe/Zurich", **options)
    windows = replace(read_policy(_any_place(first.text)).windows, margin=timedelta(0))
    for _ in range(4):
        rest = windows.outside(here)
        assert rest is not None
        held = windows.instants(int(times[0]), int(times[-1]))
        more = np.array([rng.integers(*held[k]) for k in rng.integers(0, len(held), 20)])
        more = np.unique(more[windows.hold(np.sort(more))[np.argsort(np.argsort(more))]])
        away = far[rng.integers(0, 3, more.size)]
        order = np.argsort(np.concatenate([rest.times, more]))
        other = Trace(
            "x",
            np.concatenate([rest.times, more])[order],
            np.concatenate([rest.lat, away[:, 0]])[order],
            np.concatenate([rest.lon, away[:, 1]])[order],
        )
        assert drafted([other], zone="Europe/Zurich", **options) == first


def _any_place(text: str) -> str:
    """Return a draft about a kind of place with a circle instead of the file of the kind."""
    return text.replace(
        'geojson = "clinics.geojson"', "circle = {lat = 46.02, lon = 7.04, radius_km = 0.1}"
    )


def test_a_visitor_of_guarded_hours_is_nobody_to_a_forecast() -> None:
    """A draft of one person is tried on their trace, whoever else was there in guarded hours."""
    policy = read_policy(drafted([ada()]).text)
    inside = policy.windows.hold(ada().times)
    visitor = Trace("v", ada().times[inside], ada().lat[inside], ada().lon[inside])
    one = ada()
    assert only_person(policy, [one, visitor]) is only_person(policy, [one]) is one
    assert only_person(policy, [one, replace(one, user="b")]) is None


def test_whose_the_files_are_does_not_depend_on_guarded_hours() -> None:
    """Files of one person, of which one was far away, or two at a time, in guarded hours only."""
    week = [part for part in _days_of(ada()) if len(part) > 1]
    hours = Windows.of_texts(["wed 14:00-16:00"], timedelta(0)).in_zone(zone_of("Europe/Zurich"))
    seen = []
    for world in range(3):
        folder = Path(f"world{world}/ada")
        folder.mkdir(parents=True)
        for number, part in enumerate(week):
            other = part if not world else _moved_then(part, hours, world == 2, number)
            write_traces([replace(other, user=None)], folder / f"{number}.gpx")
        made = CliRunner().invoke(
            app, ["init", str(folder), "-o", f"world{world}/policy.toml", "--no-forecast"]
        )
        assert made.exit_code == 0, made.output
        said = made.output.replace(f"world{world}", "world")
        seen.append((Path(f"world{world}/policy.toml").read_bytes(), said))
    assert "taken for one person's" in " ".join(seen[0][1].split())
    assert seen[0] == seen[1] == seen[2]


def _days_of(trace: Trace) -> list[Trace]:
    day = trace.times // 86_400_000_000
    return [
        Trace(trace.user, trace.times[day == d], trace.lat[day == d], trace.lon[day == d])
        for d in np.unique(day)
    ]


def _moved_then(part: Trace, hours: Windows, added: bool, number: int) -> Trace:
    """Return a part that is far away in guarded hours; ``added`` puts the next part's there too."""
    inside = hours.hold(part.times)
    lat = np.where(inside, part.lat + 3, part.lat)
    times, lon = part.times, part.lon
    if added:
        wednesday = datetime(2026, 3, 4, 14, tzinfo=UTC)
        more = round(wednesday.timestamp()) * 1_000_000 + 60_000_000 * np.arange(1, 4)
        times = np.concatenate([times, more + number])
        lat, lon = np.concatenate([lat, [48.0] * 3]), np.concatenate([lon, [9.0] * 3])
    order = np.argsort(times)
    return Trace(part.user, times[order], lat[order], lon[order])


def test_hours_guarded_by_hand_after_a_draft_are_noticed() -> None:
    """The draft differs between worlds of such hours, and says so; one made without them is one."""
    by_hand = Windows.of_texts(["fri 17:00-20:00"], timedelta(0)).in_zone(zone_of("Europe/Zurich"))
    event = '[events.friday]\nformula = \'presence(place2, "fri 17:00-20:00")\'\nevery = "week"\n'
    worlds = [ada(), another_world(ada(), by_hand, 1)]
    drafts = [drafted([world]).text for world in worlds]
    assert drafts[0] != drafts[1]  # the leak that is noticed
    said = [gaps_in_the_guard(read_policy(text + event)) for text in drafts]
    assert said[0] == said[1]
    assert "friday: what was done in its hours" in said[0][-1]
    assert "--guard 'fri 17:00-20:00'" in said[0][-1]
    assert not gaps_in_the_guard(read_policy(drafts[0]))
    hours = ["wed 14:00-16:00", "fri 17:00-20:00"]
    again = [drafted([world], guard=hours).text for world in worlds]
    assert again[0] == again[1]
    assert not gaps_in_the_guard(read_policy(again[0]))
    outing = drafted([ada()], since=datetime(2026, 3, 6, 8), until=datetime(2026, 3, 6, 20)).text
    assert Document.from_toml(outing).drafted is not None
    assert not gaps_in_the_guard(read_policy(outing))


def test_the_studio_drafts_what_it_does_not_look_at() -> None:
    """A file that is opened in the studio: map, setting and suggested places are the same."""
    seen = []
    hours = Windows.of_texts(["wed 14:00-16:00"], timedelta(0)).in_zone(zone_of("Europe/Zurich"))
    for trace in (ada(), another_world(ada(), hours, 4)):
        write_traces([trace], Path("ada.csv"), overwrite=True)
        shown = opened(open_file(Path("ada.csv"), "file"))
        seen.append({name: shown[name] for name in ("setting", "map", "suggestions", "population")})
    assert seen[0] == seen[1]


def test_maps_of_one_city_share_their_cells() -> None:
    """Two people of one zone with cells of one size have the same cells where both have a map."""
    here = lattice_grid((46.0, 8.0), (46.00, 7.00, 46.06, 7.08), 0.5)
    there = lattice_grid((46.0, 8.0), (46.031, 7.043, 46.11, 7.17), 0.5)
    shared = 0
    for cell in range(here.size):
        lat, lon = here.latlon(cell)
        x, y = there.xy(lat, lon)
        if 0 <= x <= there.width and 0 <= y <= there.height:
            again = there.latlon(there.cell_at(lat, lon))
            assert again == pytest.approx((lat, lon), abs=1e-9)
            shared += 1
    assert shared > 10


@pytest.mark.parametrize("lat", [-79.1, -41.3, 0.02, 37.7, 59.9, 64.1, 78.2])
@pytest.mark.parametrize("lon", [-179.97, -0.1, 7.1, 179.96])
@pytest.mark.parametrize(("size", "reach"), [(0.1, 0.004), (1.5, 0.1)])
def test_a_map_of_the_lattice_is_written_as_a_box(
    lat: float, lon: float, size: float, reach: float
) -> None:
    """The box that a draft writes down is read as the same map, wherever on earth it lies."""
    wide = reach / max(np.cos(np.radians(lat)), 0.02)
    box = (lat - reach, (lon - wide + 180) % 360 - 180, lat + reach, (lon + wide + 180) % 360 - 180)
    origin = zone_origin(lat, lon)
    grid = lattice_grid(origin, box, size)
    assert lattice_grid(origin, box_of(grid), size) == grid
    assert grid.cell_at(lat, lon) >= 0


@pytest.fixture(autouse=True)
def _a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _folder_with(people: list[Trace]) -> Path:
    write_traces(people, Path("trips.csv"), overwrite=True)
    return Path.cwd()


def test_a_model_fitted_on_a_crowd_knows_nobodys_guarded_hours() -> None:
    """The model, each person's own model and the file of `fit` are the same in both worlds."""
    crowd = residents(4, days=14)
    first = read_policy(WEEKLY, folder=_folder_with(crowd))
    others = [another_world(each, first.windows, number) for number, each in enumerate(crowd)]
    second = read_policy(WEEKLY, folder=_folder_with(others))
    assert first.fingerprint() == second.fingerprint()
    homes = [policy.chosen_models[0].home for policy in (first, second)]
    assert homes[0] is not None
    assert homes[1] is not None
    assert homes[0].habits == homes[1].habits
    for here, there in zip(crowd, others, strict=True):
        mine, theirs = first.for_user(here), second.for_user(there)
        assert mine.fingerprint() == theirs.fingerprint() != first.fingerprint()
    saved = []
    for people in (crowd, others):
        _folder_with(people)
        Path("policy.toml").write_text(WEEKLY)
        made = CliRunner().invoke(
            app, ["fit", "trips.csv", "-p", "policy.toml", "-o", "m.npz", "--overwrite"]
        )
        assert made.exit_code == 0, made.output
        saved.append(Path("m.npz").read_bytes())
    assert saved[0] == saved[1]
    public = WEEKLY.replace(FIT, f"{FIT}\npublic = true")
    known = [
        read_policy(public, folder=_folder_with(each)).fingerprint() for each in (crowd, others)
    ]
    assert known[0] != known[1]  # the worlds do differ


def test_too_little_outside_guarded_hours_is_refused_with_the_ways_out() -> None:
    """An event of the whole time leaves nothing to fit a model on; the words say what to do."""
    text = POLICY.replace('kind = "gaussian"\nsigma = 1.0', FIT)
    folder = _folder_with([trace_of(name, path) for name, path in PATHS.items()])
    with pytest.raises(PolicyError) as caught:
        read_policy(text.replace('"05:00-08:00"', '"daily"'), folder=folder)
    for way in ("other days", "other people", "public = true", "by formula"):
        assert way in str(caught.value)
    assert read_policy(text.replace(FIT, f"{FIT}\npublic = true"), folder=folder).models


def test_public_people_cannot_be_protected() -> None:
    """Who is said never to be released is refused when they are to be."""
    text = POLICY.replace('kind = "gaussian"\nsigma = 1.0', f"{FIT}\npublic = true")
    people = [trace_of(name, path) for name, path in PATHS.items()]
    policy = read_policy(text, folder=_folder_with(people))
    with pytest.raises(PolicyError, match="are public"):
        policy.for_user(people[0])


def test_stays_are_cut_at_windows() -> None:
    """Of a stay over a window both ends are left; of one inside it nothing is."""
    hour = 3_600_000_000
    windows = Windows.of_texts(["14:00-16:00"], timedelta(0)).in_zone(UTC)
    stays = Trace("x", [10 * hour, 38 * hour + 5], [46.0, 46.1], [7.0, 7.0], [20 * hour, 39 * hour])
    rest = windows.outside(stays)
    assert rest is not None
    assert list(zip(rest.times.tolist(), rest.until.tolist(), rest.lat.tolist(), strict=True)) == [
        (10 * hour, 14 * hour - 1, 46.0),
        (16 * hour, 20 * hour, 46.0),
    ]
    assert windows.outside(Trace("x", [15 * hour], [46.0], [7.0])) is None


def test_windows_are_whole_steps_on_every_day() -> None:
    """A window holds the steps that share an instant with it, across a change of clocks too."""
    zone = zone_of("Europe/Zurich")
    windows = Windows.of_texts(["sun 14:00-16:00"], timedelta(hours=1)).in_zone(zone)
    for day, offset in ((datetime(2026, 3, 22), 1), (datetime(2026, 3, 29), 2)):
        begin = (day + timedelta(hours=13 - offset)).replace(tzinfo=UTC)
        instants = [begin + timedelta(minutes=minutes) for minutes in (-1, 0, 239, 240)]
        times = np.array([round(each.timestamp()) * 1_000_000 for each in instants])
        assert windows.hold(times).tolist() == [False, True, True, False]
