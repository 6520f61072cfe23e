"""Stays with a beginning and an end fill the steps that they cover, whatever the format."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.traces.stay_files import FORMS, HOME, MONDAY, WORK, csv, week

from priste.batch import groups
from priste.batch.gathering import Gathering
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.policy import draft_policy, read_policy
from priste.policy.draft.places import frequent_places
from priste.register.keyed_digests import FIX_BYTES, Recognition
from priste.traces import Fix, Problem, Timeline, Trace, read_traces, write_traces
from priste.traces.cleaning import LONGEST_STAY, RawFix, RawFixes, clean
from priste.traces.fingerprints import fingerprints
from priste.traces.fixes import microseconds
from priste.traces.record_problems import Tally

GRID = Grid.covering(46.0, 7.0, 46.05, 7.08, cell_size=0.5)
HOUR = 3_600_000_000


def hours_by_place(trace: Trace) -> dict[tuple[float, float], float]:
    found: dict[tuple[float, float], float] = {}
    for fix in trace:
        lasting = (fix.until or fix.time) - fix.time
        place = round(fix.lat, 4), round(fix.lon, 4)
        found[place] = found.get(place, 0.0) + lasting / timedelta(hours=1)
    return found


@pytest.mark.parametrize("name", FORMS)
def test_hours_at_home_and_work_are_found(name: str, tmp_path: Path) -> None:
    """Every form tells the hours that were put in: as stays, as steps, and as places."""
    trace = read_traces(FORMS[name](tmp_path / name)).one()
    expected = {HOME: 14 * 14.0, WORK: 10 * 8.0}
    assert hours_by_place(trace) == pytest.approx(expected)
    line = Timeline(MONDAY, timedelta(hours=1))
    cells = line.cells(trace, GRID, steps=15 * 24).cells
    for place, hours in expected.items():
        # Ends fall on the hour, so each stay shares an instant with one more step.
        stays = sum(each[2] == place for each in week())
        assert cells.count(GRID.cell_at(*place)) == hours + stays
    places = frequent_places([trace])
    found = [(round(place.lat, 4), round(place.lon, 4)) for place in places]
    assert found == [HOME, WORK]
    on_the_way = 19  # hours without a stay, an hour at a time; longer silences do not count
    assert places[0].share == pytest.approx(expected[HOME] / (276 + on_the_way))


@pytest.mark.parametrize("name", ["Timeline.json", "stays.csv"])
def test_a_draft_knows_home_and_protects_every_step_of_it(name: str, tmp_path: Path) -> None:
    """From a file of stays alone, home is drafted, and steps within stays are released."""
    source = FORMS[name](tmp_path / name)
    text = draft_policy(read_traces(source), source=name)
    tables = tomllib.loads(text)
    home = tables["regions"]["home"]["circle"]
    assert (home["lat"], home["lon"]) == pytest.approx(HOME, abs=0.002)
    policy = read_policy(text, folder=tmp_path)
    known = sum(cell is not None for cell in policy.cells(read_traces(source).one()).cells)
    covered = sum((end - begin) / policy.timeline.step for begin, end, _ in week())
    assert known >= 0.95 * min(covered, policy.steps * 276 / 336)


def test_stays_reach_the_streams_of_many_users(tmp_path: Path) -> None:
    """What protect gathers on the disk and what its workers read of it have the ends of stays."""
    trace = read_traces(csv(tmp_path / "stays.csv"), user="ada").one()
    recognition = Recognition.of_this_user()
    with Gathering(tmp_path, recognition) as gathering:
        gathering.add(trace, recognition.fixes_of(trace))
        gathering.settle()
        (chunk,) = gathering.chunks(1)
    read = dict(groups._traces(chunk.table))
    for found in (chunk.traces()["ada"], read["ada"]):
        assert found is not None
        assert (found.times.tolist(), found.until.tolist()) == (
            trace.times.tolist(),
            trace.until.tolist(),
        )


@examples(80)
@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(-3, 15), st.sampled_from([1.0, 2.0, 3.0])),
        min_size=1,
        max_size=12,
    )
)
def test_at_any_instant_the_stay_that_began_last_holds(
    stays: list[tuple[int, int, float]],
) -> None:
    """Cut stays against the plain rule, instant by instant; none overlaps another."""
    base, tally = microseconds(MONDAY), Tally()
    raw = RawFixes.of(RawFix(base + b, lat, 7.0, base + b + n) for b, n, lat in stays)
    trace = clean(None, raw, tally)
    assert trace is not None
    first: dict[int, tuple[int, float]] = {}
    for begin, length, lat in stays:
        end, place = begin + max(length, 0), lat
        if begin in first:
            held, place = first[begin]
            end = max(end, held) if place == lat else held
        first[begin] = end, place
    for instant in range(-1, 50):
        holding = [b for b, (end, _) in first.items() if b <= instant <= end]
        expected = first[max(holding)][1] if holding else None
        inside = (trace.times - base <= instant) & (instant <= trace.until - base)
        found = trace.lat[inside].tolist()
        assert found == ([] if expected is None else [expected])
    report = tally.report("", "")
    assert report.records == report.fixes + report.set_aside
    assert report.count(Problem.ODD_STAY) == sum(length < 0 for _, length, _ in stays)


@pytest.mark.parametrize("rule", ["nearest", "interpolated"])
def test_every_rule_sees_stays(rule: str) -> None:
    """A stay of three hours fills its steps under every rule but where a fix is within it."""
    stay = Fix("ada", MONDAY, *HOME, MONDAY + timedelta(minutes=89))
    fix = Fix("ada", MONDAY + timedelta(minutes=90), *WORK)
    rest = Fix("ada", MONDAY + timedelta(minutes=91), *HOME, MONDAY + timedelta(minutes=179))
    line = Timeline(MONDAY, timedelta(minutes=30))
    found = line.cells(Trace.of([stay, fix, rest]), GRID, rule)  # type: ignore[arg-type]
    assert set(found.cells) <= {GRID.cell_at(*HOME), GRID.cell_at(*WORK)}
    assert found.cells.count(GRID.cell_at(*HOME)) >= 5
    assert (found.early, found.late) == (0, 0)


def test_nearest_and_every_know_stays() -> None:
    """A stay is nearest to every instant within it, and counts as fixes at a pace."""
    trace = Trace(None, [0, 10 * HOUR], [46.0, 47.0], [7.0, 8.0], [8 * HOUR, 10 * HOUR])
    instants = np.array([4, 8, 9, 9.5, 12]) * HOUR
    assert trace.nearest(instants.astype(np.int64)).tolist() == [0, 0, 0, 1, 1]
    counted = trace.every(timedelta(hours=1))
    assert (counted.times // HOUR).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert not counted.has_stays


@pytest.mark.parametrize("until", [[-1, 10], [10, 10], [2, 9]])
def test_stays_that_overlap_or_end_before_they_begin_are_no_trace(until: list[int]) -> None:
    """A Trace is made of stays that are apart."""
    with pytest.raises(InvalidParameter, match="must end each stay"):
        Trace(None, [0, 10], [46.0, 46.0], [7.0, 7.0], until)


def test_a_stay_of_years_is_a_wrong_clock() -> None:
    """It is kept at its beginning, and counted."""
    base, tally = microseconds(MONDAY), Tally()
    raw = RawFixes.of([RawFix(base, 46.0, 7.0, base + LONGEST_STAY + 1)])
    trace = clean(None, raw, tally)
    assert trace is not None
    assert not trace.has_stays
    assert tally.report("", "").count(Problem.ODD_STAY) == 1


def test_stays_are_written_at_their_ends(tmp_path: Path) -> None:
    """A format without stays has a fix at the beginning and one at the end."""
    trace = Trace.of([Fix("ada", MONDAY, *HOME, MONDAY + timedelta(hours=2))])
    write_traces([trace], tmp_path / "a.csv")
    again = read_traces(tmp_path / "a.csv").one()
    assert [fix.time - MONDAY for fix in again] == [timedelta(0), timedelta(hours=2)]


def test_hours_and_days_within_a_stay_are_recognised() -> None:
    """Whoever is released again with a stay cut in two is found by the hours and days within it."""
    long = Trace.of([Fix("ada", MONDAY, *HOME, MONDAY + timedelta(hours=80))])
    late = Trace.of(
        [Fix("eve", MONDAY + timedelta(hours=30, minutes=7), *HOME, MONDAY + timedelta(hours=80))]
    )
    recognition = Recognition.of_this_user()
    found = [
        {digests[at : at + FIX_BYTES] for at in range(0, len(digests), FIX_BYTES)}
        for digests in (recognition.fixes_of(long), recognition.fixes_of(late))
    ]
    assert len(found[0]) >= 81
    assert len(found[0] & found[1]) >= 50
    assert len(fingerprints(long) & fingerprints(late)) == 16  # of three hours each
