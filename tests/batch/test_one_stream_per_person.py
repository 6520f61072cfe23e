"""All releases about a person are one stream: later runs go on from what was released before."""

import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cli.small_world import EPSILON, GRID, POLICY, START
from tests.oracles.plain_audit import leakage_about_a_visit, likelihoods_of

from priste import MarkovModel, StateError
from priste.batch import BatchReport, protect_file, protect_group, read_ledgers, workspace_of
from priste.batch.workspace import MANIFEST
from priste.policy import Policy, read_policy
from priste.release import Ledger, Release
from priste.results import audit_releases
from priste.traces import Fix, Trace, read_traces, write_traces

HALF_DAY = 12
CLINIC = (9, 10)
LIMIT = 1.0
ROUNDING = 1e-6
"""How far the plain sums of the audit may lie above the exact leakage."""

TEXT = (
    POLICY[: POLICY.index("[events.visit]")]
    .replace(
        "[guarantee]", '[adversary]\nknows = "population"\n\n[guarantee]\nguarded_hours = "off"'
    )
    .replace("sigma = 1.0", "sigma = 0.4")
    .replace("alpha = 1.5", "alpha = 8.0")
    .replace(f"epsilon = {EPSILON}", f"epsilon = {LIMIT}")
)
"""People who stay where they are most of the time: what they do next tells what they did before."""

WHEN = ("10:00-12:00", "20:00-22:00", "2026-03-05 08:00-10:00")
PATH = [0, 0, 1, 5, 5, 5, 9, 9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 5, 1, 0, 0, 0, 0]
STEPS_OF_VISITS = ({10, 11}, {20, 21}, {32, 33})


def policy_of(half: int, text: str = TEXT, when: str | None = None) -> Policy:
    """Return the policy of a half day, which guards a visit of its last hours."""
    begin = START + HALF_DAY * half * timedelta(hours=1)
    text = text.replace("2026-03-04T00:00:00", f"{begin:%Y-%m-%dT%H:%M:%S}")
    return read_policy(
        f"{text}[events.visit]\nformula = 'presence(clinic, \"{when or WHEN[half]}\")'\n"
    )


def fixes_of(path: Sequence[int], first: int = 0, user: str = "ada") -> list[Fix]:
    """Return a fix in the middle of each hour from the ``first`` on."""
    times = [START + timedelta(hours=first + k, minutes=30) for k in range(len(path))]
    return [Fix(user, t, *GRID.latlon(c)) for t, c in zip(times, path, strict=True)]


def table_of(fixes: Sequence[Fix]) -> pa.Table:
    return pa.table(
        {
            "user": [fix.user for fix in fixes],
            "time": pa.array([fix.time for fix in fixes], pa.timestamp("us", "UTC")),
            "lat": [fix.lat for fix in fixes],
            "lon": [fix.lon for fix in fixes],
        }
    )


def audit(
    model: MarkovModel, ledgers: Sequence[Ledger], steps: set[int]
) -> tuple[float, float, float]:
    return leakage_about_a_visit(model, likelihoods_of(ledgers), CLINIC, steps)


def test_two_runs_that_told_too_much_together_stay_within_the_guarantee() -> None:
    """Apart some reveal more than e**2 (up to e**4.9), as one stream none more than e**1.

    Where the first run alone reveals too much about the second visit, nothing more is released.
    """
    one, two = policy_of(0), policy_of(1)
    fixes = fixes_of(PATH)
    later = table_of(fixes[HALF_DAY:])
    revealed, gone_on = [], 0
    for number in (1, 6, 10, 18, 26, 34, 42, 44):
        key = bytes([number]) * 32
        first = protect_group(table_of(fixes[:HALF_DAY]), one, key)
        begun = first.ledgers["ada"]
        apart = protect_group(later, two, key).ledgers["ada"]
        for ledger in (begun, apart):
            assert max(release.leakage[0] for release in ledger) <= LIMIT + ROUNDING
        revealed.append(audit(one.model, [begun, apart], STEPS_OF_VISITS[0])[0])
        together = protect_group(later, two, key, earlier={"ada": first.outcomes[0].journal})
        before = audit(one.model, [begun, _silence(HALF_DAY)], STEPS_OF_VISITS[1])[0]
        if before > LIMIT + ROUNDING:
            assert "No further release can undo that" in together.problems["ada"]
            continue
        gone_on += 1
        whole = [begun, together.ledgers["ada"]]
        for steps in STEPS_OF_VISITS[:2]:
            assert audit(one.model, whole, steps)[0] <= LIMIT + ROUNDING
        last = whole[1][-1].leakage[0]  # what the ledger says counts the first half day as well
        second = audit(one.model, whole, STEPS_OF_VISITS[1])[0]
        assert last == pytest.approx(second, abs=ROUNDING)
    assert max(revealed) > 2.0
    assert gone_on >= 1


def _silence(steps: int) -> Ledger:
    return Ledger(("visit",), [Release(step, None, 0.0, (0.0,), 0) for step in range(steps)])


GUARDED = TEXT.replace("sigma = 0.4", "sigma = 1.0").replace('\nguarded_hours = "off"', "")
"""With guarded hours: an hour before a visit and after it."""


@pytest.mark.parametrize("rule", ["nearest", "any"])
def test_hours_of_an_earlier_policy_are_not_read_by_a_later_one(rule: str) -> None:
    """An earlier visit in the new clock: fixes moved, missing or added then change no release."""
    key = bytes([7]) * 32
    text = GUARDED.replace("steps = 12", f'steps = 12\nrule = "{rule}"')
    one = policy_of(0, text.replace("steps = 12", "steps = 24"), "14:00-16:00")
    two = policy_of(1, text, "20:00-21:00")
    fixes = fixes_of(PATH)
    first = protect_group(table_of(fixes[:HALF_DAY]), one, key).outcomes[0].journal
    inside = range(13, 17)  # the visit of the earlier policy, and an hour before and after it
    assert not any(step + HALF_DAY in inside for hours in two.guarded_hours for step in hours)
    later = {fix.time: fix for fix in fixes[HALF_DAY:]}
    hours = [START + timedelta(hours=hour, minutes=30) for hour in inside]
    there = later | {when: Fix("ada", when, *GRID.latlon(9)) for when in hours}
    missing = {when: fix for when, fix in later.items() if when not in hours}
    more = later | {
        when + timedelta(minutes=20): Fix("ada", when + timedelta(minutes=20), *GRID.latlon(3))
        for when in hours
    }
    told = []
    for world in (later, there, missing, more):
        table = table_of([world[when] for when in sorted(world)])
        made = protect_group(table, two, key, earlier={"ada": first})
        assert not made.problems
        again = protect_group(table, two, key, earlier={"ada": made.outcomes[0].journal})
        assert again.outcomes[0].stream.drawn == 0
        assert again.rows == made.rows
        told.append((made.rows.to_pylist(), made.outcomes[0].stream.cells))
    assert told[0] == told[1] == told[2] == told[3]
    released = {row["step"] for row in told[0][0]}
    assert {hour - HALF_DAY for hour in inside} <= released


# Through files, the register and workspaces


def run(
    folder: Path, fixes: Sequence[Fix], policy: Policy, name: str, **more: object
) -> BatchReport:
    source = folder / f"{name}.in.csv"
    write_traces([Trace.of(fixes)], source, overwrite=True)
    options = {"overwrite": True, **more}
    return protect_file(policy, read_traces(source), folder / name, **options)  # type: ignore[arg-type]


def ledger_of(folder: Path, name: str) -> Ledger:
    return read_ledgers(folder / f"{name}.ledger.csv")["ada"]


QUIET = TEXT.replace("sigma = 0.4", "sigma = 1.0")
"""People who move about: half a day later nothing that was told about the visit is too much."""


def test_files_of_three_days_are_one_stream(tmp_path: Path) -> None:
    """Each run takes in the one before, also when its folder is gone by the third."""
    days = [[0] * 3 + [5] * 6 + [9] * 3, [9] * 6 + [1] * 6, [0] * 12]
    policies = [policy_of(half, QUIET) for half in range(3)]
    for half, (path, policy) in enumerate(zip(days, policies, strict=True)):
        made = run(tmp_path, fixes_of(path, HALF_DAY * half), policy, f"{half}.csv")
        assert (made.continued, made.drawn_now) == (min(half, 1), HALF_DAY)
        if half == 1:
            shutil.rmtree(workspace_of(tmp_path / "0.csv"))
    ledgers = [ledger_of(tmp_path, f"{half}.csv") for half in range(3)]
    for steps in STEPS_OF_VISITS:
        assert audit(policies[0].model, ledgers, steps)[0] <= LIMIT + ROUNDING
    assert [len(ledger.past) for ledger in ledgers] == [0, HALF_DAY, 2 * HALF_DAY]
    for policy, ledger, steps in zip(policies, ledgers, STEPS_OF_VISITS, strict=True):
        audited = audit_releases(policy, ledger)["visit"]  # raises if the ledger does not fit
        held = ledgers[: ledgers.index(ledger) + 1]
        plain = audit(policies[0].model, held, steps)
        assert max(audited.for_event[-1], audited.against_event[-1]) == pytest.approx(
            plain[0], abs=ROUNDING
        )
        assert audited.belief[-1] == pytest.approx(plain[2], abs=ROUNDING)


def test_a_ledger_is_about_the_events_of_its_own_run() -> None:
    """A later policy that names the second of two events: its ledger shows that one."""
    key = bytes([3]) * 32
    events = [
        f"[events.{name}]\nformula = 'presence({place}, \"{hours}\")'\n"
        for name, place, hours in (("a", "home", "02:00-03:00"), ("b", "clinic", "10:00-11:00"))
    ]
    both, one = read_policy(TEXT + "".join(events)), read_policy(TEXT + events[1])
    first = protect_group(table_of(fixes_of(PATH[:8])), both, key)
    earlier = {each.user: each.journal for each in first.outcomes}
    second = protect_group(table_of(fixes_of(PATH[:12])), one, key, earlier=earlier)
    ledger = second.ledgers["ada"]
    assert ledger.event_names == ("b",)
    then = [(release.leakage[1], release.belief[1]) for release in first.ledgers["ada"]]
    assert [(each.leakage[0], each.belief[0]) for each in ledger][: len(then)] == then
    assert then[-1][0] != first.ledgers["ada"][-1].leakage[0]
    assert audit_releases(one, ledger, beside=False)  # raises where leakages are not those of b


def test_the_first_run_cannot_go_on_beside_the_second(tmp_path: Path) -> None:
    """Run again with rows added, it gets what the second run drew for the same hours."""
    long = QUIET.replace("steps = 12", "steps = 24")
    one, two = policy_of(0, long, WHEN[0]), policy_of(1, QUIET, WHEN[1])
    path = [0] * 3 + [5] * 6 + [9] * 3 + [9] * 6 + [1] * 6
    run(tmp_path, fixes_of(path[:12]), one, "a.csv")
    second = run(tmp_path, fixes_of(path[12:], 12), two, "b.csv").cells["ada"]
    again = run(tmp_path, fixes_of(path), one, "a.csv")
    assert again.drawn_now == 0
    assert again.cells["ada"][12:] == second


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the first half day released, and the state of its user."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRISTE_STATE", str(folder / "state"))
        run(folder, fixes_of([0] * 6 + [5] * 6), policy_of(0, QUIET), "first.csv")
    return folder


@pytest.fixture
def after_the_first(begun: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRISTE_STATE", str(begun / "state"))
    return begun


@pytest.mark.parametrize(
    ("change", "first", "reason"),
    [
        (("cell_size = 1.0", "cell_size = 0.5"), 12, "another map"),
        (('step = "1h"\nsteps = 12', 'step = "30min"\nsteps = 24'), 12, "another length"),
        (("T12:00:00", "T12:20:00"), 12, "begin at another minute"),
        (("2026-03-04", "2026-03-03"), -22, "before its first step"),
        (("", ""), 0, "released steps of the same time, from other locations"),
    ],
    ids=["map", "step", "minute", "earlier", "same hours"],
)
def test_what_cannot_be_counted_together_is_refused(
    after_the_first: Path, change: tuple[str, str], first: int, reason: str
) -> None:
    """The reason is said, nothing is drawn, and the option's name says what is given up."""
    half = 1 if first > 0 else 0
    begin = START + HALF_DAY * half * timedelta(hours=1)
    text = QUIET.replace("2026-03-04T00:00:00", f"{begin:%Y-%m-%dT%H:%M:%S}").replace(*change)
    when = "15:00-17:00" if half else "03:00-05:00"
    text += f"[events.visit]\nformula = 'presence(clinic, \"{when}\")'\n"
    policy = read_policy(text)
    fixes = fixes_of([1, 1, 2, 2], first or 2)
    with pytest.raises(StateError, match=rf"{reason}.*--beside-earlier-releases"):
        run(after_the_first, fixes, policy, "second.csv")
    assert not workspace_of(after_the_first / "second.csv").exists()


def test_a_smaller_guarantee_counts_the_past(after_the_first: Path, tmp_path: Path) -> None:
    """Where more was told already than is guaranteed now, nothing is released, and that is said."""
    strict = QUIET.replace(f"epsilon = {LIMIT}", "epsilon = 0.000001")
    event = "[events.visit]\nformula = 'presence(clinic, \"10:00-13:00\")'\n"
    policy = read_policy(strict.replace("T00:00:00", "T10:00:00") + event)
    fixes = fixes_of([5] * 6 + [1], 6)
    with pytest.raises(Exception, match="reveals more than this policy guarantees about 'visit'"):
        run(tmp_path, fixes, policy, "second.csv")


def test_an_unfinished_run_is_finished_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it will release for the person is not known yet: another run waits for it."""
    monkeypatch.setenv("PRISTE_STATE", str(tmp_path / "state"))
    run(tmp_path, fixes_of([0] * 12), policy_of(0, QUIET), "first.csv")
    place = workspace_of(tmp_path / "first.csv")
    lines = (place / MANIFEST).read_text().splitlines(keepends=True)
    (place / MANIFEST).write_text(lines[0])
    with pytest.raises(StateError, match="that run was stopped"):
        run(tmp_path, fixes_of([0] * 12, 12), policy_of(1, QUIET), "second.csv")


def test_streams_released_side_by_side_are_not_joined(tmp_path: Path) -> None:
    """After a second stream was asked for by name, a third run must say so again."""
    run(tmp_path, fixes_of([0] * 12), policy_of(0, QUIET), "a.csv")
    run(tmp_path, fixes_of([0] * 12, 12), policy_of(1, QUIET), "b.csv", beside_earlier=True)
    with pytest.raises(StateError, match="was released beside it"):
        run(tmp_path, fixes_of([0] * 12, 24), policy_of(2, QUIET), "c.csv")
