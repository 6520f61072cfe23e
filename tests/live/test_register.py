"""``live`` and the other doors make one stream about a person, whichever comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from tests.live.small_town import HOUR, PATH, POLICY, START, fix_of
from tests.oracles.plain_audit import leakage_about_a_visit

from priste import StateError
from priste.batch import BatchReport, protect_file, read_ledgers
from priste.cli.released_before import LiveReleases, StudioReleases
from priste.live.person_stream import Stream, StreamOptions, Taken
from priste.policy import Policy, read_policy
from priste.register import Person, Recognition, Register
from priste.register.register import SAME_SHARE
from priste.release import Ledger
from priste.studio.following import RunMade, RunOrder, follow
from priste.studio.policies import Policies
from priste.traces import Fix, Trace, read_traces, write_traces

EPSILON = 0.8
ROUNDING = 1e-6
KNOWN = POLICY.replace("[guarantee]", '[adversary]\nknows = "population"\n\n[guarantee]')
"""A policy whose adversary has one prior, so that plain sums tell what is learnt."""

POLICY_OF_ALL = read_policy(KNOWN)


@contextmanager
def live(folder: Path, person: str = "ada", now: int = 0) -> Iterator[Stream]:
    options = StreamOptions(missing="silence")
    begin = START + now * HOUR
    stream = Stream.open(person, POLICY_OF_ALL, folder, options, begin, LiveReleases())
    with closing(stream):
        yield stream


def played(stream: Stream, fixes: Sequence[Fix]) -> None:
    for fix in fixes:
        stream.take(fix, fix.time + HOUR)
        stream.release(stream.step_at(fix.time))


def fixes(steps: range) -> list[Fix]:
    return [fix_of(step) for step in steps]


def protected(
    folder: Path, given: Sequence[Fix], user: str | None = "ada", name: str = "out.csv"
) -> BatchReport:
    source = folder / f"{name}.in.csv"
    named = [Fix(user, fix.time, fix.lat, fix.lon) for fix in given]
    write_traces([Trace.of(named)], source, overwrite=True)
    return protect_file(POLICY_OF_ALL, read_traces(source), folder / name, overwrite=True)


def kept_ledger(stream: Stream) -> Ledger:
    return stream._protector.ledger


def within_the_guarantee(ledger: Ledger) -> bool:
    told = [ledger.likelihood(step) for step in range(len(ledger))]
    found = leakage_about_a_visit(POLICY_OF_ALL.model, told, (4, 5), (4, 5))
    return found[0] <= EPSILON + ROUNDING


def test_live_goes_on_from_what_protect_released(tmp_path: Path) -> None:
    """Steps of the file are not drawn again, and what they told counts."""
    before = protected(tmp_path, fixes(range(3))).cells["ada"]
    with live(tmp_path / "state", now=3) as stream:
        assert stream.next_step == 3
        played(stream, fixes(range(2, 12)))
        assert stream.counts.reasons[str(Taken.LATE)] == 1
        ledger = kept_ledger(stream)
    assert tuple(release.cell for release in ledger[:3]) == before
    assert len(ledger) == 12
    assert within_the_guarantee(ledger)
    with live(tmp_path / "state", now=11) as again:
        assert kept_ledger(again)[:12] == ledger[:12]


def test_protect_goes_on_from_what_live_released_and_live_from_that(tmp_path: Path) -> None:
    """Live, a file of the whole day, and live again are one stream; never two at a time."""
    with live(tmp_path / "state") as stream:
        played(stream, fixes(range(3)))
        first = kept_ledger(stream)
        with pytest.raises(StateError, match=r"in use|another process|writing"):
            protected(tmp_path, fixes(range(8)))
    made = protected(tmp_path, fixes(range(8)))
    assert (made.drawn_now, made.continued) == (5, 1)
    assert made.cells["ada"][:3] == tuple(release.cell for release in first)
    with live(tmp_path / "state", now=8) as stream:
        assert stream.next_step == 8
        played(stream, fixes(range(8, 12)))
        ledger = kept_ledger(stream)
    assert tuple(release.cell for release in ledger[:8]) == made.cells["ada"]
    assert within_the_guarantee(ledger)
    told = read_ledgers(tmp_path / "out.csv.ledger.csv")["ada"]
    assert [told.likelihoods[k] for k in range(8)] == [ledger.likelihoods[k] for k in range(8)]


def test_a_state_folder_that_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    """Another folder, or the same one emptied, cannot draw again what the first released."""
    with live(tmp_path / "state") as stream:
        played(stream, fixes(range(3)))
    with live(tmp_path / "other", now=3) as stream:
        assert stream.next_step == 3
    for path in [*(tmp_path / "other").iterdir(), *(tmp_path / "state").iterdir()]:
        path.unlink()
    with (
        pytest.raises(StateError, match=r"gone.*--beside-earlier-releases"),
        live(tmp_path / "state", now=3),
    ):
        pass


def test_a_trace_without_a_name_is_that_of_me(tmp_path: Path) -> None:
    """The person of live, unless another is named, is the one of unnamed files."""
    protected(tmp_path, fixes(range(3)), None)
    with live(tmp_path / "state", "me", now=3) as stream:
        assert stream.next_step == 3


RENAMED = {
    "all": fixes(range(3)),
    "every other": fixes(range(0, 3, 2)),
}


@pytest.mark.parametrize("given", RENAMED.values(), ids=RENAMED)
def test_fixes_that_were_released_under_another_name_are_found(
    tmp_path: Path, given: list[Fix]
) -> None:
    """Nothing is drawn for them; new fixes are released."""
    protected(tmp_path, fixes(range(3)))
    with live(tmp_path / "state", "zoe") as stream:
        played(stream, given)
        assert stream.counts.reasons[str(Taken.RELEASED)] == len(given)
        assert all(release.silent for release in kept_ledger(stream))
        played(stream, fixes(range(8, 10)))
        assert stream.counts.released == 2


def test_what_live_released_is_found_under_another_name(tmp_path: Path) -> None:
    """A recording of the same fixes is refused by protect, also with half of them left out."""
    with live(tmp_path / "state") as stream:
        played(stream, fixes(range(8)))
    for given in (fixes(range(8)), fixes(range(0, 8, 2))):
        with pytest.raises(StateError, match="released before, under another name"):
            protected(tmp_path, given, "zoe")


@pytest.mark.parametrize(
    ("seconds", "degrees"), [(1, 0.0), (0, 3e-5)], ids=["a second later", "three metres off"]
)
def test_what_is_not_found(tmp_path: Path, seconds: int, degrees: float) -> None:
    """Under another name, fixes that were changed by a second or by metres are other fixes."""
    protected(tmp_path, fixes(range(3)))
    moved = [
        Fix(None, fix.time + timedelta(seconds=seconds), fix.lat + degrees, fix.lon)
        for fix in fixes(range(3))
    ]
    with live(tmp_path / "state", "zoe") as stream:
        played(stream, moved)
        assert stream.counts.released == 3


@pytest.mark.parametrize("common", [9, 10])
def test_half_of_the_fixes_in_common_are_one_person(own_state: Path, common: int) -> None:
    """The share at which two names count as one person: below it they are two."""
    recognition = Recognition.of_this_user()
    ada = [fix_of(step % 12, step // 12) for step in range(20)]
    eve = ada[:common] + [fix_of(step % 12, 40 + step // 12) for step in range(20 - common)]
    people = [
        Person(name, name, recognition.fixes_of(Trace.of(sorted(held, key=lambda f: f.time))))
        for name, held in (("ada", ada), ("eve", eve))
    ]
    with Register.of_this_user().transaction() as register:
        register.add("p", "/x", people[:1])
        assert bool(register.earlier(people[1])) == (common >= SAME_SHARE * len(ada))


def test_guarded_hours_are_released_with_and_without_a_fix(tmp_path: Path) -> None:
    """What apps get, and all that follows, is the same whether there were fixes inside."""
    found = []
    hours = [step for each in read_policy(POLICY).guarded_hours for step in each]
    assert hours
    for number, inside in enumerate((True, False)):
        options = StreamOptions(missing="silence", seed=7, hold=3 * HOUR)
        folder = tmp_path / str(number)
        stream = Stream.open("ada", read_policy(POLICY), folder, options, START)
        with closing(stream):
            points = []
            for step in range(len(PATH)):
                # The first fix after the hours comes two steps later in both worlds.
                if (step in hours and inside) or step < hours[0] or step > hours[-1] + 2:
                    stream.take(fix_of(step), START + (step + 1) * HOUR)
                point = stream.release(step)
                points.append(None if point is None else (point.lat, point.lon))
            found.append((points, kept_ledger(stream).csv()))
    assert found[0] == found[1]
    assert all(found[0][0][step] is not None for step in hours)


def test_fixes_of_guarded_hours_are_not_written_down(tmp_path: Path) -> None:
    """The register learns of the other fixes only; a fix that is skipped is not held either."""
    hours = [step for each in read_policy(POLICY).guarded_hours for step in each]
    steps: set[int] = set()

    class Asked(LiveReleases):
        def released_before(self, person: str, policy: Policy, folder: Path, fixes: Trace) -> bool:
            steps.update(policy.timeline.step_at(fix.time) for fix in fixes)
            return super().released_before(person, policy, folder, fixes)

    options = StreamOptions(missing="silence", hold=9 * HOUR)
    stream = Stream.open("ada", read_policy(POLICY), tmp_path / "state", options, START, Asked())
    with closing(stream):
        played(stream, fixes(range(hours[-1])))
        assert steps == set(range(hours[0]))
        stream.take(fix_of(hours[-1]), fix_of(hours[-1]).time)
        assert stream.release(hours[-1] + 1) is None  # the last guarded step was slept through
        assert stream.counts.kept == hours[0]


def studio_run(named: Trace) -> RunMade:
    """Return a run of the studio under the policy, which goes on from what was released before."""
    past = StudioReleases().past(named, lambda: POLICY_OF_ALL)
    order = RunOrder(Path(), POLICY_OF_ALL.source, named, None, past=past)
    return follow(Policies(Path()), order, lambda event, value: None)[1]


def named_trace(steps: range) -> Trace:
    return Trace.of(Fix("ada", fix.time, fix.lat, fix.lon) for fix in fixes(steps))


def test_protect_goes_on_from_an_export_of_the_studio(tmp_path: Path) -> None:
    """The studio keeps what it exports, so that a later run can count it."""
    named = named_trace(range(3))
    first = studio_run(named)
    others = (studio_run(named) for _ in range(99))
    beside = next(each for each in others if each.ledger.csv() != first.ledger.csv())
    claim = StudioReleases().claim
    assert claim(POLICY_OF_ALL, named, first.kept, again=False) is None
    assert claim(POLICY_OF_ALL, named, first.kept, again=False) is None  # the same stream
    assert "drawn beside another release" in str(
        claim(POLICY_OF_ALL, named, beside.kept, again=False)
    )
    made = protected(tmp_path, fixes(range(8)))
    assert (made.drawn_now, made.given_again + made.continued) == (5, 1)
    assert made.cells["ada"][:3] == tuple(release.cell for release in first.ledger)
    assert within_the_guarantee(made.ledgers["ada"])


def test_the_studio_goes_on_from_what_protect_released(tmp_path: Path) -> None:
    """Its run repeats the steps that were released, draws the others, and counts them all."""
    made = protected(tmp_path, fixes(range(5)))
    named = named_trace(range(9))
    later = studio_run(named)
    then = made.ledgers["ada"]
    assert len(then) >= 3
    assert list(later.ledger)[: len(then)] == list(then)
    assert len(later.ledger) > len(then)
    assert within_the_guarantee(later.ledger)
    assert StudioReleases().claim(POLICY_OF_ALL, named, later.kept, again=False) is None
    again = protected(tmp_path, fixes(range(9)), name="later.csv")
    assert again.drawn_now == 0
    assert again.cells["ada"] == tuple(each.cell for each in later.ledger)


def test_the_studio_refuses_what_cannot_be_counted_together(tmp_path: Path) -> None:
    """Other locations at steps that were released: the run begins anew, and is not exported."""
    made = protected(tmp_path, fixes(range(5)))
    moved = Trace.of(Fix("ada", fix.time, *POLICY_OF_ALL.grid.latlon(0)) for fix in fixes(range(5)))
    runs = (studio_run(moved) for _ in range(99))
    apart = next(each for each in runs if each.ledger.csv() != made.ledgers["ada"].csv())
    assert apart.order.past is None
    claim = StudioReleases().claim
    assert "beside another release" in str(claim(POLICY_OF_ALL, moved, apart.kept, again=False))
    assert claim(POLICY_OF_ALL, moved, apart.kept, again=True) is None
