"""Guarantees and adversaries in streams: long ones, files, ledgers, and changes of policy."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from priste import (
    AnyPrior,
    BeliefBound,
    Grid,
    InvalidParameter,
    KnownPrior,
    LastSeen,
    LocationSet,
    MarkovModel,
    Mechanism,
    OddsBound,
    PlanarLaplace,
    PriorsWithin,
    Protector,
    Quantifier,
    ReleaseRefused,
    StartsIn,
    StateError,
    at_least,
    presence,
)
from priste.quantify import Adversary, Guarantee
from priste.release import Certified, Paper, Release, read_ledgers, write_ledgers
from priste.release.calibrators.spending import paced_limits
from priste.release.stream_file import journal as files

GRID = Grid(rows=3, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
MECH = PlanarLaplace(GRID, alpha=2.0)
EVENTS = {"clinic": presence([0, 1], range(3, 30)), "often": at_least(3, [8], range(40))}
UNIFORM = KnownPrior(np.full(9, 1 / 9))
ROUNDING = 1e-9

ADVERSARIES: dict[str, Adversary] = {
    "starts": StartsIn([3, 4, 8]),
    "priors": KnownPrior([np.full(9, 1 / 9), [0.5, 0, 0, 0, 0.5, 0, 0, 0, 0]]),
    "stale": LastSeen(4),
    "near": PriorsWithin(np.full(9, 1 / 9), factor=2.0),
}


def stream(epsilon: object, adversary: Adversary | None = UNIFORM, **terms: object) -> Protector:
    chosen: dict[str, object] = {"calibrator": Certified(guess=False), "rng": 1, **terms}
    return Protector(MODEL, EVENTS, MECH, epsilon, adversary=adversary, **chosen)  # type: ignore[arg-type]


def released(p: Protector, steps: int, seed: int = 5) -> list[Release]:
    return [p.release(int(cell)) for cell in MODEL.sample(steps, rng=seed)]


@pytest.mark.parametrize("calibrator", ["certified", "optimal"])
def test_caps_hold_in_a_long_stream(calibrator: str) -> None:
    """After every one of 60 releases the belief is within its cap, as a second reckoning finds."""
    quantifiers = {name: Quantifier(MODEL, event, UNIFORM) for name, event in EVENTS.items()}
    caps = {name: 0.5 + 0.5 * q.prior_belief() for name, q in quantifiers.items()}
    p = stream({name: BeliefBound(cap) for name, cap in caps.items()}, calibrator=calibrator)
    for release in released(p, 60):
        column = p.ledger.likelihood(release.step)
        if column is None:
            column = MECH.with_budget(release.budget).likelihood(int(release.cell or 0))
        for (name, cap), sure in zip(caps.items(), release.belief, strict=True):
            quantifiers[name].observe(column if len(set(column)) > 1 else None)
            posterior = quantifiers[name].posterior()
            assert posterior <= cap + ROUNDING
            assert sure == pytest.approx(posterior, abs=ROUNDING)
            assert sure <= cap
    assert any(r.budget > 0 for r in p.ledger)


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("guarantee", [OddsBound(0.7, math.inf), OddsBound(0.3, 0.9), 0.5])
def test_bounds_hold_in_a_long_stream(guarantee: float | Guarantee, adversary: str) -> None:
    """After each of 20 releases the odds have moved within the bounds, for the whole class."""
    who = ADVERSARIES[adversary]
    p = stream(guarantee, who)
    quantifiers = [Quantifier(MODEL, event, who) for event in EVENTS.values()]
    bounds = p.guarantees[0]
    assert isinstance(bounds, OddsBound)
    for release in released(p, 20):
        column = MECH.with_budget(release.budget).likelihood(int(release.cell or 0))
        for quantifier, told in zip(quantifiers, release.leakage, strict=True):
            quantifier.observe(column if release.budget else None)
            found = quantifier.leakage()
            assert found.for_event <= bounds.up + ROUNDING
            assert found.against_event <= bounds.down + ROUNDING
            assert told == pytest.approx(found.over(bounds), abs=ROUNDING)


def test_equal_odds_are_the_plain_number_to_the_last_bit() -> None:
    """A number and the Odds of that number both ways give the same stream, bit for bit."""
    for calibrator in ("certified", "optimal", "paper"):
        streams = [
            stream(epsilon, AnyPrior(), calibrator=calibrator, rng=3)
            for epsilon in (0.4, OddsBound(0.4, 0.4), {"clinic": 0.4, "often": OddsBound(0.4, 0.4)})
        ]
        told = [released(p, 4) for p in streams]
        assert told[0] == told[1] == told[2]
        assert [list(p.ledger.likelihoods) for p in streams[1:]] == [
            list(streams[0].ledger.likelihoods)
        ] * 2
        assert streams[0].guarantees == streams[1].guarantees == streams[2].guarantees


@pytest.mark.parametrize("adversary", [AnyPrior(), *ADVERSARIES.values()], ids=repr)
@pytest.mark.parametrize(
    "epsilon",
    [
        0.5,
        OddsBound(0.5, math.inf),
        {"clinic": OddsBound(math.inf, 0.5), "often": 1.0},
        BeliefBound(0.9999),
    ],
    ids=repr,
)
def test_terms_survive_a_file(tmp_path: Path, epsilon: object, adversary: Adversary) -> None:
    """Adversary, guarantees, beliefs and the table that comes next are the same after a restart."""
    p = stream(epsilon, adversary, journal=tmp_path / "j")
    first = released(p, 5)
    distribution = p.distribution()
    p.close()
    with Protector.resume(tmp_path / "j") as q:
        assert q.guarantees == p.guarantees
        assert q.adversary == (AnyPrior() if adversary is None else adversary)
        assert list(q.ledger) == first
        assert q.belief == p.belief
        again = q.distribution()
        assert again.budgets == distribution.budgets
        assert np.array_equal(again.joint, distribution.joint)


@pytest.mark.parametrize(
    "change",
    [{"adversary": None}, {"adversary": {"adversary": "nobody"}}, {"adversary": []}, {"events": 3}],
)
def test_a_header_with_a_strange_adversary_is_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    """Only a header without any adversary means everybody; what cannot be read is an error."""
    p = stream(0.5)
    p.save(tmp_path / "s")
    header = files.read(tmp_path / "s").header
    files.create(tmp_path / "bad", {**header, **change})
    with pytest.raises(StateError):
        Protector.load(tmp_path / "bad")


def test_a_header_with_a_strange_guarantee_is_refused(tmp_path: Path) -> None:
    """A guarantee that cannot be read is an error, never another guarantee."""
    stream(0.5).save(tmp_path / "s")
    header = files.read(tmp_path / "s").header
    for number, guarantee in enumerate((None, 0.5, {}, {"guarantee": "odds", "up": None})):
        events = [{**each, "guarantee": guarantee} for each in header["events"]]
        files.create(tmp_path / f"bad{number}", {**header, "events": events})
        with pytest.raises(StateError):
            Protector.load(tmp_path / f"bad{number}")


@pytest.mark.parametrize("belief", [[], [0.5], [0.5] * 3, ["x", 0.5], None, 0.5])
def test_a_record_with_strange_beliefs_is_refused(tmp_path: Path, belief: object) -> None:
    """Beliefs are one number per event, or absent as in older files."""
    p = stream(0.5)
    p.release(4)
    p.save(tmp_path / "s")
    contents = files.read(tmp_path / "s")
    record = {**contents.records[0], "belief": belief}
    files.create(tmp_path / "bad", contents.header, [record])
    with pytest.raises(StateError, match="bad"):
        Protector.load(tmp_path / "bad")


def test_a_policy_may_change_its_adversary_and_guarantees() -> None:
    """Past releases count against the new class; with_policy keeps the adversary unless told."""
    p = stream(0.5)
    released(p, 8)
    same = p.with_policy(EVENTS, OddsBound(0.5, math.inf))
    assert same.adversary == UNIFORM
    assert same.guarantees == (OddsBound(0.5, math.inf),) * 2
    for old, new in zip(p.ledger, same.ledger, strict=True):
        assert (old.cell, old.budget, old.belief) == (new.cell, new.budget, new.belief)
    same.release(4)
    anybody = same.with_policy(EVENTS, OddsBound(1e-3, 1e-3), adversary=AnyPrior())
    assert anybody.adversary == AnyPrior()
    assert anybody.over_limit == ("clinic", "often")
    assert same.over_limit == ()
    with pytest.raises(ReleaseRefused):
        anybody.release(4)
    assert anybody.release(None).leakage == anybody.leakage
    sure = stream(0.5)
    released(sure, 8)
    assert max(sure.belief) > 1e-9
    with pytest.raises(InvalidParameter, match="before any release"):
        sure.with_policy(EVENTS, BeliefBound(1e-9))


@pytest.mark.parametrize("mech", [MECH, LocationSet(MECH, delta=0.1)], ids=["laplace", "set"])
@pytest.mark.parametrize("calibrator", ["certified", "optimal"])
def test_other_adversaries_can_be_asked_about(mech: Mechanism, calibrator: str) -> None:
    """What anybody learns is what a stream under that adversary reports for the same releases."""
    p = Protector(MODEL, EVENTS, mech, 0.5, calibrator, rng=2, adversary=UNIFORM)
    released(p, 6)
    p.release(None)
    own, anybody = p.leakage_against(UNIFORM), p.leakage_against(AnyPrior())
    for found, told, wider in zip(own, p.leakage, anybody, strict=True):
        assert found.value == pytest.approx(told, abs=ROUNDING)
        assert wider.value > found.value
    counted = p.with_policy(EVENTS, 9.0, adversary=AnyPrior())
    assert counted.leakage == pytest.approx([each.value for each in anybody], abs=ROUNDING)


def test_pacing_takes_its_share_of_every_guarantee() -> None:
    """Half of what is left, in each bounded direction and of a cap; free directions stay free."""
    p = stream({"clinic": OddsBound(0.8, math.inf), "often": BeliefBound(0.9)})
    state = p.state
    before = paced_limits(state, 0.5)
    assert before[0] == OddsBound(0.4, math.inf)
    assert before[1] == BeliefBound(state.belief[1] + 0.5 * (0.9 - state.belief[1]))
    p.release(0)
    after, leaked = paced_limits(p.state, 0.25), p.leakage[0]
    assert after[0] == OddsBound(max(0.0, leaked + 0.25 * (0.8 - leaked)), math.inf)


def test_a_solver_decides_about_plain_numbers_only() -> None:
    """A checker of the paper's loop is never asked about a guarantee it does not know."""
    loop = Paper(checker=lambda joint, epsilon, seconds: True)
    assert stream(0.5, calibrator=loop).release(4).attempts == 1
    for guarantee in (OddsBound(0.5, 1.0), BeliefBound(0.9999)):
        with pytest.raises(InvalidParameter, match="checker"):
            stream(guarantee, calibrator=loop).release(4)


def test_ledgers_say_what_was_guaranteed_and_to_whom(tmp_path: Path) -> None:
    """Guarantees, adversary and beliefs go into the ledger's files and come back from them."""
    p = stream({"clinic": OddsBound(0.5, math.inf), "often": BeliefBound(0.9)})
    released(p, 3)
    q = stream(0.5, AnyPrior())
    released(q, 2)
    assert p.ledger.guarantees == p.guarantees
    assert p.ledger.against == UNIFORM.words()
    write_ledgers(tmp_path / "l.csv", list(EVENTS), {"ada": p.ledger, "ben": q.ledger})
    found = read_ledgers(tmp_path / "l.csv")
    for user, one in (("ada", p), ("ben", q)):
        assert list(found[user]) == list(one.ledger)
        assert found[user].guarantees == one.guarantees
        assert found[user].against == one.adversary.words()
    first, second, _ = (json.loads(line) for line in p.ledger.json_lines().splitlines())
    assert first["against"] == UNIFORM.words()
    assert first["guarantee"]["often"] == {"guarantee": "belief", "at_most": 0.9}
    assert "guarantee" not in second
    assert tuple(second["belief"].values()) == p.ledger[1].belief


def test_every_release_says_against_whom(tmp_path: Path) -> None:
    """In words: drawn or silent, after a file, under another adversary, and in a ledger's file."""
    p = stream(1.0)
    made = [*released(p, 3), p.release(None)]
    assert {release.against for release in made} == {UNIFORM.words()}
    p.save(tmp_path / "state")
    again = Protector.load(tmp_path / "state")
    assert {release.against for release in again.ledger} == {UNIFORM.words()}
    other = p.with_policy(p.state.terms.events, 3.0, adversary=LastSeen(2))
    assert {release.against for release in other.ledger} == {LastSeen(2).words()}
    write_ledgers(tmp_path / "ledger.csv", list(EVENTS), {"ada": p.ledger})
    (read,) = read_ledgers(tmp_path / "ledger.csv").values()
    assert {release.against for release in read} == {UNIFORM.words()}
