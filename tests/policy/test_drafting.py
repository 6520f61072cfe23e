"""`priste init` drafts policies that can be used as they stand."""

import csv
import io
import re
import tomllib
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste import InvalidParameter
from priste.maps import Region
from priste.policy import draft_policy, drafted, read_policy, with_regions
from priste.policy.draft.places import frequent_places
from priste.policy.draft.stretch import busiest_stretch
from priste.traces import Trace, write_traces
from priste.traces.town import ada, residents, town_places

NEAR_DEGREES = 0.002


@examples(12)
@given(
    st.floats(-85, 85),
    st.floats(-180, 180),
    st.floats(0, 0.5),
    st.integers(1, 60),
    st.integers(60, 40_000),
    st.sampled_from(["UTC", "Europe/Paris", "America/Sao_Paulo"]),
    st.integers(0, 2**31),
)
def test_a_draft_from_any_trace_is_a_policy(
    lat: float, lon: float, spread: float, fixes: int, seconds: int, zone: str, seed: int
) -> None:
    """Wherever and however long a trace is, its draft reads and its map holds the trace."""
    rng = np.random.default_rng(seed)
    times = 1_770_000_000_000_000 + np.arange(fixes) * seconds * 1_000_000
    lats = np.clip(lat + rng.uniform(-spread, spread, fixes), -89, 89)
    lons = (lon + rng.uniform(-spread, spread, fixes) + 180) % 360 - 180
    trace = Trace("x", times, lats, lons)
    policy = read_policy(draft_policy([trace], zone=zone))
    policy.cells(trace)
    assert policy.grid.size <= 20 * 20
    assert policy.events


def test_a_draft_without_traces_is_an_example() -> None:
    """It reads as it stands, from the given day."""
    policy = read_policy(draft_policy(day=date(2026, 3, 2)))
    assert policy.timeline.start == datetime(2026, 3, 2, tzinfo=UTC)
    assert list(policy.events) == ["example, week of 2026-03-02"]


def test_hours_that_a_recording_does_not_hold_are_refused_as_a_wish() -> None:
    """An outing on a Wednesday has no Thursday: what was asked for is at fault, not the draft."""
    day = ada().at(np.zeros(0, dtype=np.int64))
    begin = int(day.times[0]) + 2 * 86_400_000_000
    kept = (day.times >= begin + 8 * 3_600_000_000) & (day.times < begin + 18 * 3_600_000_000)
    outing = Trace("ada", day.times[kept], day.lat[kept], day.lon[kept])
    with pytest.raises(
        InvalidParameter, match="must be a time that the recording holds"
    ) as refused:
        drafted([outing], guard=["thu 18:00-20:00"])
    assert (refused.value.parameter, refused.value.value) == ("guard", "thu 18:00-20:00")
    assert read_policy(drafted([outing], guard=["wed 12:00-13:00"]).text).events


def test_a_map_of_an_outing_holds_all_of_its_path() -> None:
    """Of a detour of three minutes too, of which a fix every five minutes shows nothing."""
    minute = 60 * 1_000_000
    times = 1_770_100_000_000_000 // (5 * minute) * 5 * minute + np.arange(60) * minute
    lats = np.full(60, 46.0)
    lats[[11, 12, 13]] = 46.02
    trace = Trace("ada", times, lats, 7.0 + 0.0005 * np.arange(60))
    found = drafted([trace], guard=[])
    policy = read_policy(found.text)
    assert "All of that time is on it." in " ".join(found.notes)
    assert policy.grid.cell_at(46.02, 7.006) not in policy.grid.border


def test_no_fix_in_the_time_asked_for_is_said() -> None:
    """With hours to guard too: it is not the guarded hours that leave too little."""
    week = week_of(1, list(range(7)))
    late = datetime(2040, 1, 1)
    for guard in ((), ("fri 18:00-20:00",)):
        with pytest.raises(InvalidParameter, match="no fix in the time that was asked for"):
            drafted([week], zone="UTC", since=late, guard=guard)


def test_two_short_recordings_weeks_apart_hold_the_hours_of_the_template() -> None:
    """The busiest stretch is an outing then, but its clock still holds what the template guards."""
    hour = 3_600_000_000
    monday = int(ada().at(np.zeros(0, dtype=np.int64)).times[0]) // (24 * hour) * 24 * hour
    starts = [monday + 8 * hour, monday + 60 * 24 * hour]
    times = np.concatenate([start + np.arange(0, 5 * hour, hour // 12) for start in starts])
    lat = 52.5 + 0.001 * np.sin(np.arange(times.size))
    trace = Trace("x", times, lat, np.full(times.size, 13.4))
    assert read_policy(draft_policy([trace], zone="Europe/Berlin")).events


def test_the_places_of_ada() -> None:
    """Home and office are proposed, home first, where they are."""
    known = town_places()
    found = frequent_places([ada()])
    for place, name in zip(found, ("home", "office"), strict=False):
        assert place.lat == pytest.approx(known[name][0], abs=NEAR_DEGREES)
        assert place.lon == pytest.approx(known[name][1], abs=NEAR_DEGREES)
    assert found[0].share > 0.5 > found[1].share > 0
    assert sum(place.share for place in found) <= 1


def test_passing_by_is_no_place() -> None:
    """Somebody who never stops has no places; long silence is no stay."""
    times = np.arange(50) * 60_000_000
    moving = Trace(None, times, 46 + np.arange(50) * 0.01, np.full(50, 7.0))
    assert frequent_places([moving]) == []
    silent = Trace(None, np.array([0, timedelta(hours=9) // timedelta(microseconds=1)]),
                   np.array([46.0, 46.0]), np.array([7.0, 7.0]))  # fmt: skip
    assert frequent_places([silent]) == []


def test_nothing_gives_no_draft() -> None:
    """An empty collection of traces is refused, not drafted as an example."""
    with pytest.raises(InvalidParameter, match="must be at least one"):
        draft_policy([])


def test_one_trip_does_not_make_the_map() -> None:
    """A day far away is left outside, which is said; cells stay those of everyday life."""
    rng = np.random.default_rng(1)
    count = 7 * 96
    lat, lon = 46.0 + rng.uniform(0, 0.05, count), 7.0 + rng.uniform(0, 0.05, count)
    lat[300:304] += 3.0
    times = 1_770_000_000_000_000 + np.arange(count) * 900_000_000
    text = draft_policy([Trace(None, times, lat, lon)])
    policy = read_policy(text)
    assert policy.grid.cell_size <= 1.0
    assert policy.outside == "off-map"
    assert "(0.6 % of the recorded time)" in text
    cells = policy.cells(Trace(None, times, lat, lon)).cells
    assert sum(cell in policy.grid.border for cell in cells) == 4


def test_the_zone_follows_the_place() -> None:
    """A trace in Switzerland is drafted on Swiss clocks, unless another zone is said."""
    assert str(read_policy(draft_policy([ada()])).timeline.zone) == "Europe/Zurich"
    assert str(read_policy(draft_policy([ada()], zone="UTC")).timeline.zone) == "UTC"


def test_places_lie_in_different_cells() -> None:
    """No two regions share a cell, so that one can be told from the other."""
    policy = read_policy(draft_policy([ada()]))
    cells = [cell for name in policy.regions for cell in policy.regions[name]]
    assert len(set(cells)) == len(cells) >= len(policy.regions) > 1
    assert next(iter(policy.regions)) == "home"
    assert middle_of(policy, "home")[0] == pytest.approx(town_places()["home"][0], abs=NEAR_DEGREES)


def middle_of(policy, name: str) -> tuple[float, float]:
    circle = tomllib.loads(policy.source)["regions"][name]["circle"]
    return circle["lat"], circle["lon"]


def test_the_draft_is_against_those_who_know_the_population() -> None:
    """The section stands there, with its reasons, and home among what may be known."""
    text = draft_policy([ada()])
    policy = read_policy(text)
    assert "perhaps knows that you began at home" in policy.chosen_adversary.words
    assert "# The adversary. Against one with any prior" in text


def test_many_people_are_their_own_model(tmp_path) -> None:
    """From five people on the model is fitted on them, and each is left out of their own."""
    people = residents(6, days=3)
    write_traces(people, tmp_path / "town.csv")
    text = draft_policy(people, source="town.csv")
    policy = read_policy(text, folder=tmp_path)
    assert 'kind = "fit"' in text
    assert "home" not in policy.regions  # a crowd has none
    assert "by 6 of 6 people" in text or "people, mostly" in text
    own = policy.for_user(people[0])
    assert own.model.fingerprint() != policy.model.fingerprint()
    assert own.cells(people[0]).cells


def test_a_table_of_homes_is_drafted_for_a_crowd(tmp_path) -> None:
    """Who sleeps at one place is listed with the cell of it; who is known by day only is not."""
    sleepers = residents(5, days=3)
    by_day = days_at(lambda hour, _: float(sleepers[0].lat[0]) if 10 <= hour < 16 else None)
    worker = Trace("worker", by_day.times, by_day.lat, np.full(len(by_day), sleepers[0].lon[0]))
    people = [*sleepers, worker]
    write_traces(people, tmp_path / "town.csv")
    draft = drafted(people, source="town.csv", homes="town.homes.csv")
    assert "town.homes.csv" in draft.text
    assert draft.homes is not None
    listed = list(csv.DictReader(io.StringIO(draft.homes)))
    assert {row["user"] for row in listed} <= {each.user for each in sleepers}
    assert f"the homes of {len(listed)} of 6 people" in " ".join(draft.notes)
    policy = read_policy(draft.text, folder=tmp_path)
    assert policy.own_regions == ("home",)
    assert policy.model is policy.chosen_models[0].home.roaming
    for row in listed:
        disc = (float(row[name]) for name in ("lat", "lon", "radius_km"))
        region = Region.circle_latlon(policy.grid, *disc)
        assert len(region) == 1
        own = with_regions(policy, {"home": region})
        assert own.homes == ("home",)
        slept = next(each for each in sleepers if each.user == row["user"])
        cells = own.true_cells(slept).cells
        asleep = [
            cell
            for step, cell in enumerate(cells)
            if cell is not None and own.timeline.time_of(step).hour < 6
        ]
        assert asleep.count(region.cells[0]) >= len(asleep) / 2
    assert listed
    assert drafted(people, source="town.csv").homes is None


def week_of(seed: int, days: list[int], per_day: int = 20) -> Trace:
    """Somebody with fixes on some days after 2026-03-02, near one place, every twenty minutes."""
    rng = np.random.default_rng(seed)
    begin = 1_772_409_600_000_000  # 2026-03-02T00:00Z
    times = np.concatenate(
        [begin + day * DAY + 8 * HOUR + np.arange(per_day) * HOUR // 3 for day in sorted(days)]
    )
    lat, lon = (46.0 + rng.uniform(0, 0.02, times.size), 7.0 + rng.uniform(0, 0.02, times.size))
    return Trace(f"p{seed}", times, lat, lon)


HOUR = timedelta(hours=1) // timedelta(microseconds=1)
DAY = 24 * HOUR
day_lists = st.lists(st.integers(0, 60), min_size=1, max_size=12, unique=True)


@examples(40)
@given(st.lists(day_lists, min_size=1, max_size=3))
def test_the_clock_holds_the_busiest_fortnight(people: list[list[int]]) -> None:
    """No other fortnight from a Monday holds more of the time; all of it if it is no longer."""
    traces = [week_of(seed, days) for seed, days in enumerate(people)]
    stretch = busiest_stretch(traces, "UTC", None, None)
    begin = (stretch.begin - datetime(2026, 3, 2, tzinfo=UTC)).days
    end = (stretch.end - datetime(2026, 3, 2, tzinfo=UTC)).days
    every = [day for days in people for day in days]
    held = [sum(first <= day < first + 14 for day in every) for first in range(-14, 61, 7)]
    assert begin % 7 == 0  # 2 March 2026 is a Monday
    assert end - begin in (7, 14)
    assert sum(begin <= day < end for day in every) == max(held)
    assert stretch.share == pytest.approx(max(held) / len(every))


def test_another_stretch_can_be_asked_for() -> None:
    """What is asked for is taken whole; a time without data is refused with what there is."""
    trace = week_of(1, [0, 1, 2, 30, 31])
    asked = drafted([trace], zone="UTC", since=datetime(2026, 4, 1), until=datetime(2026, 4, 2))
    clock = tomllib.loads(asked.text)["clock"]
    assert (clock["start"], clock["steps"]) == (datetime(2026, 4, 1, 8), 77)
    assert any("% of the recorded time; --from" in note for note in asked.notes)
    whole = drafted([trace], zone="UTC", since=datetime(2026, 3, 1))
    assert tomllib.loads(whole.text)["clock"]["start"] == datetime(2026, 3, 2)
    assert any("all of the recorded time" in note for note in whole.notes)
    with pytest.raises(InvalidParameter, match="from 2026-03-02 to 2026-04-02"):
        drafted([trace], zone="UTC", since=datetime(2027, 1, 1))


def test_home_is_where_the_nights_are() -> None:
    """Not the place of most time, but that of the nights; usual hours are told."""
    times = 1_772_409_600_000_000 + np.arange(3 * 144) * (HOUR // 6)
    hours = (times // HOUR) % 24
    asleep = (hours >= 23) | (hours < 6)
    lat = np.where(asleep, 46.0, 46.03)
    text = draft_policy([Trace(None, times, lat, np.full(times.size, 7.0))], zone="UTC")
    regions = tomllib.loads(text)["regions"]
    assert list(regions) == ["home", "place2"]
    assert regions["home"]["circle"]["lat"] == 46.0
    assert re.search(r"\[regions.home\] +# \d+ % of the recorded time, mostly 23:00-05:00", text)
    assert 'also = ["home"]' in text


def days_at(place_of_hour, days: int = 3) -> Trace:
    """Somebody with a fix every ten minutes, at the latitude of the hour of the day (UTC)."""
    times = 1_772_409_600_000_000 + np.arange(days * 144) * (HOUR // 6)
    kept = [(t, place_of_hour(t // HOUR % 24, t)) for t in times.tolist()]
    held = [(t, lat) for t, lat in kept if lat is not None]
    times, lat = np.array([t for t, _ in held]), np.array([lat for _, lat in held])
    return Trace(None, times, lat, np.full(times.size, 7.0))


def test_an_office_where_it_gets_late_is_no_home() -> None:
    """An hour of night beside ten of day does not make a home."""
    text = draft_policy([days_at(lambda hour, _: 46.0 if 10 <= hour < 23 else None)], zone="UTC")
    assert list(tomllib.loads(text)["regions"]) == ["place1"]


def test_places_are_not_told_apart_by_a_border_alone() -> None:
    """Two places less than half a cell apart are one region, whichever cells they are in."""
    home, work, nearby = 46.0, 46.155, 46.15
    latitudes = dict.fromkeys(range(8, 18), work) | dict.fromkeys((18, 19), nearby)
    policy = read_policy(draft_policy([days_at(lambda h, _: latitudes.get(h, home))], zone="UTC"))
    assert [middle_of(policy, name)[0] for name in policy.regions] == [home, work]


def test_a_journey_is_not_the_fortnight_of_a_draft() -> None:
    """Days away are not chosen though more was recorded on them than at home."""
    home = days_at(lambda hour, _: 46.0 if hour < 12 else 46.05 if hour < 15 else None, days=40)
    times = home.times + (home.times >= home.times[0] + 20 * 24 * HOUR) * 30 * 24 * HOUR
    away = days_at(lambda hour, when: 30.0 + (when // HOUR % 97) / 4, days=14)
    journey = Trace(None, away.times + 25 * 24 * HOUR, away.lat, away.lon)
    order = np.argsort(np.concatenate([times, journey.times]))
    whole = Trace(
        None,
        np.concatenate([times, journey.times])[order],
        np.concatenate([home.lat, journey.lat])[order],
        np.full(order.size, 7.0),
    )
    draft = drafted([whole], zone="UTC")
    assert any("All of that time is on it." in note for note in draft.notes)


def test_the_example_follows_a_template_whoever_was_where() -> None:
    """The event is of the template's hours, of those that were asked for, or of a kind of place."""
    always = days_at(lambda _hour, _when: 46.0, days=9)
    visits = days_at(lambda hour, _: 46.1 if hour == 9 else 46.0, days=9)
    for trace in (always, visits):
        draft = tomllib.loads(draft_policy([trace], zone="UTC"))
        assert draft["events"]["example"]["formula"].endswith('"wed 14:00-16:00")')
        assert draft["events"]["example"]["every"] == "week"
    asked = drafted([visits], zone="UTC", guard=["fri 18:00-20:00", "22:00-23:00"])
    events = tomllib.loads(asked.text)["events"]
    assert [each["every"] for each in events.values()] == ["week", "day"]
    assert '"22:00-23:00"' in events["example2"]["formula"]
    of_kind = drafted([visits], zone="UTC", kind="../All Clinics.geojson")
    draft = tomllib.loads(of_kind.text)
    assert draft["regions"]["all_clinics"] == {"geojson": "../All Clinics.geojson"}
    assert draft["events"]["example"] == {
        "formula": 'presence(all_clinics, "10:00-16:00")',
        "every": "day",
    }
    with pytest.raises(InvalidParameter, match="'guard' must be a time of the day"):
        drafted([visits], zone="UTC", guard=["teatime"])


def test_too_little_outside_the_guarded_hours_is_refused_with_the_ways_out() -> None:
    """A draft is not made from the hours it guards; the words name what else there is."""
    for guard in (["daily"], ["00:00-12:00", "11:00-23:59"]):
        with pytest.raises(InvalidParameter) as caught:
            drafted([ada()], guard=guard)
        for way in ("longer recording", "other people", "--guard", "without traces"):
            assert way in str(caught.value)


def test_drafts_say_no_place() -> None:
    """What is printed about a draft holds no coordinate of it."""
    draft = drafted([ada()])
    circles = [each["circle"] for each in tomllib.loads(draft.text)["regions"].values()]
    told = " ".join(draft.notes)
    assert all(f"{circle[k]:.2f}" not in told for circle in circles for k in ("lat", "lon"))


def test_several_files_are_one_crowd(tmp_path) -> None:
    """The model is fitted on all files that were given, each person left out of their own."""
    people = residents(6, days=2)
    for name, half in (("a.csv", people[:3]), ("b.csv", people[3:])):
        write_traces(half, tmp_path / name)
    policy = read_policy(draft_policy(people, source=["a.csv", "b.csv"]), folder=tmp_path)
    assert len(policy.chosen_models[0].fitting.people) == 6
