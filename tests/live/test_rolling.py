"""Events for ever: which are guarded when, and that leaving one behind is safe."""

from __future__ import annotations

import dataclasses
import math
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
import tomlkit
from tests.live.joint_sums import largest_ratio
from tests.live.small_town import DAILY, GRID, HOUR, POLICY, START, fix_of

from priste import (
    AnyPrior,
    BeliefBound,
    Identity,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    Protector,
    Quantifier,
    at,
)
from priste.errors import PolicyError
from priste.live.person_stream import Stream, StreamOptions
from priste.live.rolling import RollingEvents, first_step
from priste.live.setting_up.answers import Answers, GuardedPlace
from priste.policy import Policy, read_policy
from priste.register import settled
from priste.release import Certified
from priste.traces import Fix

WEEKLY = POLICY.replace('"04:00-06:00"', '"wed 04:00-06:00"') + 'every = "week"\n'
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)


def test_a_day_enters_one_day_ahead() -> None:
    """At any step today's event and tomorrow's are asked for, in steps of the stream."""
    policy = read_policy(DAILY)
    events = RollingEvents(policy, 0)
    for day in range(3):
        due = events.due(24 * day + 7)
        assert list(due) == [f"visit, 2026-03-0{4 + day}", f"visit, 2026-03-0{5 + day}"]
        first = due[f"visit, 2026-03-0{4 + day}"]
        assert (first.event.first_step, first.event.last_step) == (24 * day + 4, 24 * day + 5)
        assert first.guarantee == OddsBound(0.8, 0.8)
    assert events.due(0)["visit, 2026-03-04"].event == policy.events["visit, 2026-03-04"].event


def test_a_stream_begins_with_its_period() -> None:
    """Begun on a Friday, a weekly stream counts from its Monday, a daily one from midnight."""
    weekly = read_policy(WEEKLY.replace("2026-03-04T", "2026-03-02T").replace("= 12", "= 84"))
    assert first_step(weekly, 24 * 4 + 9) == 0
    assert first_step(weekly, 24 * 11 + 9) == 24 * 7
    assert first_step(read_policy(DAILY), 24 * 11 + 9) == 24 * 11
    assert first_step(read_policy(POLICY), 2) == 2
    assert first_step(read_policy(POLICY), 5) == 4  # in the midst of an event that comes once
    shifted = RollingEvents(weekly, 24 * 7).due(24 * 7)
    assert shifted["visit, week of 2026-03-09"].event.first_step == 24 * 2 + 4


def test_a_night_that_is_under_way_is_guarded() -> None:
    """Begun at one in the morning, a stream counts from the evening on which the night began."""
    nightly = DAILY.replace('"04:00-06:00"', '"22:00-02:00"').replace("steps = 12", "steps = 48")
    policy = read_policy(nightly)
    assert first_step(policy, 25) == 22
    assert first_step(policy, 26) == 24
    due = RollingEvents(policy, 22).due(22)
    assert list(due) == ["visit, 2026-03-04", "visit, 2026-03-05"]
    night = due["visit, 2026-03-04"].event
    assert (night.first_step, night.last_step) == (0, 3)


def test_an_event_that_began_before_the_stream_is_refused(tmp_path: Path) -> None:
    """It could be guarded in part only; over before the stream began, it is left alone."""
    later = POLICY + "\n[events.later]\nformula = 'at(clinic, 11)'\n"
    stream = Stream.open("ada", read_policy(later), tmp_path, StreamOptions(), START + 10 * HOUR)
    assert (stream.origin, list(stream.leakage)) == (10, ["later"])
    stream.close()
    early = later + "\n[events.early]\nformula = 'at(clinic, 9) or at(clinic, 11)'\n"
    with pytest.raises(PolicyError, match="begins before the stream"):
        Stream.open("ada", read_policy(early), tmp_path, StreamOptions(), START + 10 * HOUR)


def test_earlier_periods_are_found_by_their_label() -> None:
    """What is not settled is compiled again from the policy; what the policy lost is not."""
    events = RollingEvents(read_policy(DAILY), 0)
    old = events.labelled("visit, 2026-03-05", 80)
    assert old is not None
    assert old.event.first_step == 28
    assert events.labelled("visit, someday", 80) is None
    assert events.labelled("other, 2026-03-05", 80) is None


@pytest.mark.parametrize("mechanism", [PlanarLaplace(GRID, alpha=2.0), Identity(GRID)])
def test_nothing_can_be_told_any_more_of_a_settled_event(mechanism: object) -> None:
    """From then on the exact cells of all later steps keep it within ε, and before they would not.

    Checked by disclosure: the quantifier is told the exact cells of the next two steps, every pair
    of them, on top of what was released.
    """
    event, epsilon = at([4, 5], 1), 1.0
    calibrator = Certified(pace=0.2)  # one that uses up all of ε leaves no room to settle
    protector = Protector(MODEL, event, mechanism, epsilon, calibrator, rng=3, adversary=AnyPrior())  # type: ignore[arg-type]
    quantifier = Quantifier(MODEL, event)
    verdicts = []
    for _ in range(14):
        distribution = protector.distribution().outputs()
        release = protector.release(0)
        assert release.cell is not None
        quantifier.observe(distribution[:, release.cell])
        exact = max(_after_disclosure(quantifier))
        now = settled(protector) == {"event"}
        assert not now or exact <= epsilon
        verdicts.append(now)
        if protector.next_step <= 2:
            assert not now  # not over, or its very cell would be told
            assert exact > epsilon
    assert verdicts[-1]


def _after_disclosure(quantifier: Quantifier) -> list[float]:
    found = []
    for cell in range(GRID.size):
        once = quantifier.copy()
        once.observe(np.eye(GRID.size)[:, cell])
        found.append(once.leakage().value)
        found.append(float(once.leakage_if(np.eye(GRID.size)).max()))
    return found


def test_a_stream_rolls_on_beyond_its_policy(tmp_path: Path) -> None:
    """Days after the policy ends each day still enters a day ahead and leaves when settled."""
    policy = read_policy(DAILY.replace('"1h"', '"4h"').replace("steps = 12", "steps = 6"))
    stream = Stream.open("ada", policy, tmp_path, StreamOptions(seed=2), START)
    guarded = []
    for step in range(14):
        fix = fix_of(4 * step)
        stream.take(fix, fix.time)
        assert stream.release(step) is not None
        guarded.append(list(stream.leakage))
        assert stream.trouble is None
        if step == 7:  # a restart in the midst of it changes nothing
            stream.close()
            stream = Stream.open("ada", policy, tmp_path, StreamOptions(seed=2), START)
            assert list(stream.leakage) == guarded[-1]
    days = [f"visit, 2026-03-0{day}" for day in range(4, 9)]
    assert guarded[0] == days[:2]
    assert set(guarded[6]) >= set(days[1:3])
    assert set(guarded[13]) >= set(days[2:4])
    assert days[0] not in guarded[13]
    assert len(list(tmp_path.glob("*.journal"))) == 1


def test_weeks_later_the_stream_is_where_it_would_be(tmp_path: Path) -> None:
    """After a pause of days the events of that day are guarded; the steps between are silent."""
    stream = Stream.open("ada", read_policy(DAILY), tmp_path, StreamOptions(seed=2), START)
    stream.release(0)
    later = START + timedelta(days=20)
    step = 20 * 24
    fix = fix_of(step)
    stream.take(fix, later + HOUR)
    point = stream.release(step)
    assert point is not None
    assert point.time == later
    assert {"visit, 2026-03-24", "visit, 2026-03-25"} <= set(stream.leakage)


@pytest.mark.parametrize(
    ("guarantee", "expected"),
    [
        ("odds_up = 0.8", OddsBound(0.8, math.inf)),
        ("belief_at_most = 0.9", BeliefBound(at_most=0.9)),
    ],
)
def test_guarantees_stay_what_they_are_when_days_roll_on(
    tmp_path: Path, guarantee: str, expected: object
) -> None:
    """One direction, or a cap on beliefs: later days have it as well, also after a restart."""
    text = DAILY.replace('"1h"', '"4h"').replace("steps = 12", "steps = 6")
    text = text.replace("epsilon = 0.8", guarantee)
    text += '\n[adversary]\nknows = "population"\n'
    policy = read_policy(text)
    options = StreamOptions(seed=2)
    stream = Stream.open("ada", policy, tmp_path, options, START)
    for step in range(8):
        fix = fix_of(4 * step)
        stream.take(fix, fix.time)
        assert stream.release(step) is not None
        assert stream.trouble is None
        if step == 6:
            journal = stream._state.journal()
            stream.close()
            stream = Stream.open("ada", policy, tmp_path, options, START)
    assert stream._state.journal() == journal  # resumed as it was: nothing had to change
    assert "visit, 2026-03-06" in stream.told()
    for given, leakage, belief in stream.told().values():
        assert given == expected
        assert leakage <= 0.8 or isinstance(expected, BeliefBound)
        assert belief <= 0.9 or isinstance(expected, OddsBound)


def test_a_cap_that_a_day_is_above_stops_the_truth(tmp_path: Path) -> None:
    """A guarantee that cannot be given at all is not given: covers go out, and it is said why."""
    text = DAILY.replace('"1h"', '"4h"').replace("steps = 12", "steps = 6")
    text = text.replace("epsilon = 0.8", "belief_at_most = 0.9")
    text += '\n[adversary]\nknows = "population"\n'
    stream = Stream.open("ada", read_policy(text), tmp_path, StreamOptions(seed=2), START)
    stream.release(0)
    stream.close()
    policy = read_policy(text)
    low = {
        name: dataclasses.replace(each, guarantee=BeliefBound(at_most=1e-6))
        for name, each in policy.events.items()
    }
    stream = Stream.open(
        "ada", dataclasses.replace(policy, events=low), tmp_path, StreamOptions(seed=2), START
    )
    fix = fix_of(4)
    stream.take(fix, fix.time)
    assert stream.release(1) is not None
    assert (stream.counts.released, stream.counts.covered) == (0, 1)
    assert stream.trouble is not None
    assert stream._protector.guarantees == (BeliefBound(at_most=0.9),) * 2


WEEKS = 5
A_DAY = 4
A_WEEK = 7 * A_DAY


def of_setup() -> Policy:
    """Return the policy that ``live setup`` writes, with longer steps and fewer cells."""
    home, clinic = (46.0131, 7.0192), GuardedPlace("clinic", 46.03, 7.05, 0.3)
    answers = Answers("ada", home, (clinic,), ("wed 14:00-16:00",))
    document = tomlkit.parse(answers.policy(date(2026, 3, 4)))
    document["clock"]["step"], document["clock"]["steps"] = "6h", 2 * A_WEEK  # type: ignore[index]
    document["map"]["cell_size"] = 3.4  # type: ignore[index]
    return read_policy(tomlkit.dumps(document))


def test_every_week_stays_deniable_whatever_the_policy_covers(tmp_path: Path) -> None:
    """Over one stream of five weeks, under a policy of two, with a visit in each of them.

    By plain sums over cells, after each day and for every model and prior of the adversary:
    about the weeks before, also when they are settled, and about those after the policy's end.
    The exact cell at the time of the last event would be beyond ε: the sums can show that.
    """
    policy = of_setup()
    stream = Stream.open("ada", policy, tmp_path, StreamOptions(seed=2), policy.timeline.start)
    weeks = {}
    for step in range(WEEKS * A_WEEK):
        middle = policy.timeline.middle_of(step)
        at_clinic = middle.weekday() == 2 and 12 <= middle.hour < 18
        where = (46.0302, 7.0498) if at_clinic else (46.0131, 7.0192)
        stream.take(Fix(None, middle, *where), middle)
        stream.release(step)
        assert stream.trouble is None
        weeks.update({label: each.event for label, each in stream._guarded.items()})
        if step == 3 * A_WEEK:  # the policy is over, and the process ends
            stream.close()
            stream = Stream.open("ada", policy, tmp_path, StreamOptions(seed=2), middle)
    assert list(weeks)[:WEEKS] == [f"clinic, week of 2026-{day}" for day in
                                   ("03-02", "03-09", "03-16", "03-23", "03-30")]  # fmt: skip
    protector = stream._protector
    told = [protector.ledger.likelihood(step) for step in range(WEEKS * A_WEEK)]
    terms = protector.state.terms
    assert sum(np.ptp(each) > 0.1 for each in told if each is not None) > A_WEEK  # much is told
    ends = range(A_DAY, len(told) + 1, A_DAY)
    for number, (label, event) in enumerate(list(weeks.items())[:WEEKS]):
        steps = range(event.first_step or 0, (event.last_step or 0) + 1)
        visit = [(policy.guarded_cells, steps)]
        for model in terms.models:
            for prior in terms.adversary.rows(model).rows:
                assert largest_ratio(model, prior, told, visit, ends) <= 1.0 + 1e-9, label
        if number == WEEKS - 1:
            exact = np.isin(np.arange(policy.grid.size), list(policy.guarded_cells)).astype(float)
            instead = [*told[: steps[0]], exact + 1e-6]
            assert largest_ratio(model, prior, instead, visit, [len(instead)]) > 1.0
    assert len(protector.event_names) < WEEKS + 1  # some weeks were settled and left


def test_secrets_of_several_answers_roll_on(tmp_path: Path) -> None:
    """Two daily events together and one of two answers: no two answers are told apart by more.

    By plain sums over cells about the first and the second day, each of four answers and three.
    """
    text = DAILY.replace('"1h"', '"2h"').replace("pace = 0.3", "pace = 0.5")
    text += """
[regions.park]
cells = [0, 1]
[events.walk]
formula = 'presence(park, "10:00-14:00")'
every = "day"
[secrets.health]
together = ["visit", "walk"]
[secrets.evening]
answers = { clinic = 'presence(clinic, "20:00-22:00")', park = 'presence(park, "20:00-22:00")' }
every = "day"
[adversary]
knows = "population"
"""
    policy = read_policy(text.replace("steps = 12", "steps = 24"))
    stream = Stream.open("ada", policy, tmp_path, StreamOptions(seed=3), START)
    for step in range(30):
        fix = fix_of(2 * step)
        stream.take(fix, fix.time)
        assert stream.release(step) is not None
        assert stream.trouble is None
        if step == 13:
            stream.close()
            stream = Stream.open("ada", policy, tmp_path, StreamOptions(seed=3), START)
    assert {"health, 2026-03-06", "evening, 2026-03-06"} <= set(stream.told())
    told = [stream._protector.ledger.likelihood(step) for step in range(30)]
    clinic, park = {4, 5}, {0, 1}
    for model in policy.models:
        for prior in policy.chosen_adversary.adversary.rows(model).rows:
            for day in (0, 12, 24):
                health = [(clinic, {day + 2}), (park, {day + 5, day + 6})]
                evening = [(clinic, {day + 10}), (park, {day + 10})]
                for events in (health, evening):
                    found = largest_ratio(model, prior, told, events, range(31))
                    assert found <= 0.8 + 1e-9
