"""The Protector's behaviour: steps, retries, silence, many events, refusals, the ledger."""

import csv
import io
import itertools
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from priste import (
    AnyPrior,
    Grid,
    InvalidParameter,
    KnownPrior,
    LastSeen,
    LocationSet,
    MarkovModel,
    PlanarLaplace,
    PriorsWithin,
    Protector,
    Quantifier,
    ReleaseRefused,
    StartsIn,
    StateError,
    at,
    presence,
)
from priste.errors import OutputExists, PristeError
from priste.quantify import Adversary
from priste.randomness import BitSource, bit_source
from priste.release import CALIBRATORS, Certified, Paper, Release

GRID = Grid(rows=3, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
MECH = PlanarLaplace(GRID, alpha=1.5)
CLINIC = presence([0, 1], [1, 2])
EPSILON = 0.5

SAME_ARITHMETIC = 1e-9
"""Between a reported leakage and one recomputed from the ledger: SLACK of the worst prior."""


def stream(**options: object) -> Protector:
    arguments: dict[str, object] = {
        "rng": 3,
        "calibrator": Certified(guess=False),
        "adversary": AnyPrior(),
        **options,
    }
    return Protector(MODEL, CLINIC, MECH, EPSILON, **arguments)  # type: ignore[arg-type]


class CountingBits(BitSource):
    """A source of bits that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self._bits = bit_source(3)

    def number(self) -> Iterator[int]:
        self.asked += 1
        return self._bits.number()


# ---------------------------------------------------------------------- steps


def test_asking_again_returns_the_same_release_without_a_draw() -> None:
    """A released step comes back as it was, whatever cell is given, and no bits are used."""
    bits = CountingBits()
    p = stream(rng=bits)
    first, second = p.release(4), p.release(5)
    asked = bits.asked
    for cell in (4, 0, 8, None):
        assert p.release(cell, step=0) is first
        assert p.release(cell, step=1) is second
    assert bits.asked == asked
    assert p.next_step == 2


def test_a_silent_step_stays_silent() -> None:
    """A step that was silent cannot be released afterwards: silence was what others saw."""
    p = stream()
    gap = p.release(None)
    (prior,) = p.state.belief
    assert gap == Release(0, None, 0.0, (0.0,), 0, belief=(prior,))
    assert gap.silent
    assert p.release(3, step=0) is gap


def test_silence_costs_nothing_and_lets_time_pass() -> None:
    """A missing fix leaves the leakage as it was, and later releases know that a step went by."""
    p, q = stream(), Quantifier(MODEL, CLINIC)
    first = p.release(1)
    q.observe(MECH.with_budget(first.budget).likelihood(first.cell))
    silent = p.release(None)
    q.observe(None)
    assert silent.leakage == first.leakage
    third = p.release(4)
    q.observe(MECH.with_budget(third.budget).likelihood(third.cell))
    assert third.step == 2
    assert third.leakage[0] == pytest.approx(q.leakage().value, abs=SAME_ARITHMETIC)


def test_skipping_ahead_fills_silent_steps() -> None:
    """Steps that are jumped over are recorded as silent; the release has the step asked for."""
    p = stream()
    r = p.release(4, step=3)
    assert r.step == 3
    assert [x.cell for x in p.ledger][:3] == [None, None, None]
    assert p.release(None, step=5).silent
    assert p.next_step == 6
    same = stream()
    for _ in range(3):
        same.release(None)
    assert same.release(4) == r


def test_a_model_with_an_end_refuses_later_steps_before_drawing() -> None:
    """Beyond the last matrix nothing is drawn and nothing recorded; the stream stays usable."""
    bits = CountingBits()
    model = MarkovModel(GRID, [MODEL.transition(0).toarray()] * 2)
    p = Protector(model, at([0], 1), MECH, EPSILON, rng=bits, adversary=AnyPrior())
    for _ in range(3):
        p.release(4)
    asked = bits.asked
    for cell in (4, None):
        with pytest.raises(InvalidParameter, match="must be at most 2"):
            p.release(cell)
    assert bits.asked == asked
    assert p.release(0, step=2) is p.ledger[2]


# ---------------------------------------------------------------------- events


EVENTS = {
    "before": at([8], 0),
    "clinic": CLINIC,
    "overlap": presence([1, 2], [2, 3]),
    "after": at([4], 5),
}


@pytest.mark.parametrize("calibrator", ["certified", "paper", Certified(pace=0.4)])
def test_every_leakage_equals_a_recomputation_from_the_ledger(calibrator: str | Certified) -> None:
    """Budgets and outputs in the ledger suffice to compute each event's leakage again."""
    bounds = {"before": 0.3, "clinic": 0.5, "overlap": 0.4, "after": 1.0}
    p = Protector(MODEL, EVENTS, MECH, bounds, calibrator, rng=8, adversary=AnyPrior())
    for cell in [8, 1, None, 2, 4, 4, None, 0]:
        p.release(cell)
    assert p.event_names == tuple(EVENTS)
    quantifiers = [Quantifier(MODEL, event) for event in EVENTS.values()]
    for r in p.ledger:
        column = None if r.silent else MECH.with_budget(r.budget).likelihood(r.cell)
        for q, reported, bound in zip(quantifiers, r.leakage, p.epsilons, strict=True):
            q.observe(column)
            assert reported == pytest.approx(q.leakage().value, abs=SAME_ARITHMETIC)
            assert reported <= bound
    assert p.leakage == p.ledger[-1].leakage


def test_events_come_alone_in_order_or_by_name() -> None:
    """The three ways to give events, and one or several ε, mean the same."""
    by_name = Protector(
        MODEL,
        {"a": CLINIC, "b": at([4], 3)},
        MECH,
        {"b": 0.7, "a": 0.5},
        rng=1,
        adversary=AnyPrior(),
    )
    in_order = Protector(MODEL, [CLINIC, at([4], 3)], MECH, [0.5, 0.7], rng=1, adversary=AnyPrior())
    assert by_name.epsilons == in_order.epsilons == (0.5, 0.7)
    assert in_order.event_names == ("event0", "event1")
    assert Protector(MODEL, CLINIC, MECH, 0.5, adversary=AnyPrior()).event_names == ("event",)
    for cell in [1, 4, 7]:
        assert by_name.release(cell) == in_order.release(cell)


def test_a_location_set_keeps_every_event() -> None:
    """With the certified calibrator, a δ-location set's releases stay within ε and in the set."""
    mech = LocationSet(PlanarLaplace(GRID, alpha=1.5), delta=0.1)
    p = Protector(MODEL, EVENTS, mech, EPSILON, rng=4, adversary=AnyPrior())
    for cell in [4, 1, 0, 1, 4, 7]:
        possible = np.flatnonzero(p.state.mechanism.emission().any(axis=0))
        r = p.release(cell)
        assert r.cell in possible
        assert max(r.leakage) <= EPSILON


def test_a_second_order_model_is_guarded_too() -> None:
    """A model whose states are pairs of cells works through the same loop."""
    walks = [MODEL.sample(60, rng=seed) for seed in range(4)]
    model = MarkovModel.fit(GRID, walks, order=2, smoothing=0.5)
    p = Protector(
        model, CLINIC, LocationSet(MECH, delta=0.05), EPSILON, rng=2, adversary=AnyPrior()
    )
    for cell in [4, 1, 1, None, 4]:
        assert p.release(cell).leakage[0] <= EPSILON
    assert p.state.predicted().sum() == pytest.approx(1.0, abs=1e-12)


# ---------------------------------------------------------------------- independence


def test_two_protectors_do_not_disturb_each_other() -> None:
    """Interleaved streams, even with one calibrator object, equal the same streams run alone."""
    shared = Certified()
    alone = []
    for seed in (1, 2):
        p = stream(rng=seed, calibrator=shared)
        alone.append([p.release(cell) for cell in (4, 1, 0)])
    pair = [stream(rng=seed, calibrator=shared) for seed in (1, 2)]
    mixed = [[p.release(cell) for p in pair] for cell in (4, 1, 0)]
    assert [list(column) for column in zip(*mixed, strict=True)] == alone


def test_threads_that_ask_for_one_step_get_one_release() -> None:
    """Concurrent retries of a step lead to a single draw."""
    p = stream()
    got: list[Release] = []
    threads = [threading.Thread(target=lambda: got.append(p.release(4, step=0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(r) for r in got}) == 1


def test_seeds_repeat_and_the_default_does_not() -> None:
    """The same seed gives the same stream; without one, streams differ."""
    same = [[p.release(4).cell for _ in range(12)] for p in (stream(rng=5), stream(rng=5))]
    assert same[0] == same[1]
    free = [[p.release(4).cell for _ in range(40)] for p in (stream(rng=None), stream(rng=None))]
    assert free[0] != free[1]  # equal by chance: below 1e-20


def test_the_budget_does_not_depend_on_the_true_cell() -> None:
    """Certified budgets of two users with the same releases so far are the same."""
    p, q = stream(), stream(rng=77)
    assert p.release(0).budget == q.release(8).budget
    budgets = {
        (a.release(0).cell, a.release(0).budget) for a in (stream(rng=seed) for seed in range(30))
    }
    by_first: dict[int | None, set[float]] = {}
    for first, budget in budgets:
        by_first.setdefault(first, set()).add(budget)
    assert all(len(found) == 1 for found in by_first.values())


# ---------------------------------------------------------------------- refusals


def test_a_stricter_policy_may_refuse_loudly() -> None:
    """If past releases already exceed a new ε, only silence is possible, and the error says so."""
    p = stream()
    for cell in (1, 1, 1):
        p.release(cell)
    assert p.leakage[0] > 1e-4
    strict = p.with_policy(CLINIC, 1e-4)
    before = strict.ledger
    with pytest.raises(ReleaseRefused, match="already reveal more"):
        strict.release(4)
    assert list(strict.ledger) == list(before)
    assert strict.release(None).silent
    with pytest.raises(StateError, match="another policy"):
        p.release(4)


def test_a_new_policy_counts_the_past() -> None:
    """New events are measured against all past releases, as if they had been there all along."""
    p = stream()
    for cell in (1, 4, None, 7):
        p.release(cell)
    old = p.ledger
    new = p.with_policy({"late": at([4], 6), "clinic": CLINIC}, [0.9, 0.8])
    assert [(r.step, r.cell, r.budget) for r in new.ledger] == [
        (r.step, r.cell, r.budget) for r in old
    ]
    assert [r.leakage[1] for r in new.ledger] == pytest.approx([r.leakage[0] for r in old])
    r = new.release(4)
    assert r.step == 4
    assert r.leakage[0] <= 0.9
    assert r.leakage[1] <= 0.8


@pytest.mark.parametrize("cell", [-1, 9, 4.0, True, "4", np.float64(4), [4]])
def test_bad_cells_are_refused_without_being_told(cell: object) -> None:
    """A cell off the map or of another type is refused; the message holds no location."""
    p = stream()
    with pytest.raises(InvalidParameter, match="'cell' of a release") as problem:
        p.release(cell)  # type: ignore[arg-type]
    assert "Got something else" in str(problem.value)
    assert p.next_step == 0
    assert p.release(np.int64(4)).step == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [-1, 1.5, True, "0", 10**7])
def test_bad_steps_are_refused(step: object) -> None:
    """A step must be a whole number, and not a hundred thousand steps ahead."""
    with pytest.raises(InvalidParameter, match="step"):
        stream().release(4, step=step)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": []}, "'model'"),
        ({"model": [None]}, "'model'"),
        ({"events": []}, "at least one event"),
        ({"events": "presence"}, "'events'"),
        ({"events": [CLINIC, 3]}, "'events'"),
        ({"events": {1: CLINIC}}, "'events'"),
        ({"mechanism": MECH.emission()}, "'mechanism'"),
        (
            {"mechanism": PlanarLaplace(Grid(rows=2, columns=2, cell_size=1.0), 1.0)},
            "grid of the models",
        ),
        ({"guarantee": 0.0}, "'guarantee'"),
        ({"guarantee": -1}, "'guarantee'"),
        ({"guarantee": float("inf")}, "'guarantee'"),
        ({"guarantee": float("nan")}, "'guarantee'"),
        ({"guarantee": True}, "'guarantee'"),
        ({"guarantee": "0.5"}, "'guarantee'"),
        ({"guarantee": [0.5, 0.5]}, "'guarantee'"),
        ({"guarantee": {"other": 0.5}}, "'guarantee'"),
        ({"calibrator": "best"}, "'calibrator'"),
        ({"calibrator": Certified}, "'calibrator'"),
        ({"public_prior": [1.0]}, "'public_prior'"),
        ({"public_prior": [0.2] * 9}, "'public_prior'"),
        ({"public_prior": [np.nan] * 9}, "'public_prior'"),
        ({"events": at([99], 0)}, "99"),
        ({"rng": "seed"}, "'rng'"),
    ],
)
def test_bad_terms_are_refused(changes: dict[str, object], message: str) -> None:
    """Everything a Protector is given is checked when it is made, by name."""
    given: dict[str, object] = {
        "model": MODEL, "events": CLINIC, "mechanism": MECH, "guarantee": 0.5, "adversary":
        AnyPrior(), **changes, }  # fmt: skip
    with pytest.raises(PristeError, match=message):
        Protector(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("pace", [0, -0.5, 1.5, True, "slow", float("nan")])
def test_bad_pace_is_refused(pace: object) -> None:
    """The pace is a share in (0, 1]."""
    with pytest.raises(InvalidParameter, match="'pace'"):
        Certified(pace=pace)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- ledger, distribution


def test_the_ledger_can_be_exported(tmp_path: Path) -> None:
    """CSV and JSON lines give back every number exactly, and never overwrite a file."""
    p = Protector(
        MODEL, {"a": CLINIC, "b": at([4], 3)}, MECH, 0.5, Paper(), rng=1, adversary=AnyPrior()
    )
    for cell in (1, None, 4):
        p.release(cell)
    p.ledger.export(tmp_path / "l.csv")
    p.ledger.export(tmp_path / "l.jsonl")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "l.csv").read_text())))
    lines = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().splitlines()]
    for r, row, line in zip(p.ledger, rows, lines, strict=True):
        assert int(row["step"]) == line["step"] == r.step
        assert row["cell"] == ("" if r.cell is None else str(r.cell))
        assert line["cell"] == r.cell
        assert float(row["budget"]) == line["budget"] == r.budget
        leaked = (float(row["leakage:a"]), float(row["leakage:b"]))
        assert leaked == tuple(line["leakage"].values()) == r.leakage
    with pytest.raises(OutputExists, match="already a file"):
        p.ledger.export(tmp_path / "l.csv")
    with pytest.raises(InvalidParameter, match="suffix"):
        p.ledger.export(tmp_path / "l.xlsx")


def test_infinite_numbers_can_be_exported() -> None:
    """An exact release that gives everything away is written as inf in both forms."""
    from priste import Identity
    from priste.release import Uncalibrated

    p = Protector(MODEL, at([4], 0), Identity(GRID), 0.5, Uncalibrated(), adversary=AnyPrior())
    r = p.release(4)
    assert r.leakage[0] == r.budget == float("inf")
    assert ",inf" in p.ledger.csv()
    assert json.loads(p.ledger.json_lines())["budget"] == "inf"


def test_the_distribution_is_that_of_the_next_release() -> None:
    """Draws at one past fall on the outputs as the Protector's table says (chi-square, 1e-6)."""
    from scipy.stats import chi2

    distribution = stream().distribution()
    counts = np.zeros(GRID.size)
    draws = 200
    for seed in range(draws):
        counts[stream(rng=seed).release(4).cell] += 1
    expected = distribution.outputs()[4] * draws
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-6, GRID.size - 1)


def test_the_ledger_grows_by_one_per_step() -> None:
    """Steps in the ledger are 0, 1, 2, … without gaps."""
    p = stream()
    for cell in (4, None, 4):
        p.release(cell)
    p.release(4, step=6)
    assert [r.step for r in p.ledger] == list(range(7))
    assert all(b.step == a.step + 1 for a, b in itertools.pairwise(p.ledger))


def test_the_docstring_guarantees_what_calibrators_guarantee() -> None:
    """It names those with a guarantee beside what is guaranteed, and the others beside "no"."""
    text = " ".join((Protector.__doc__ or "").split())
    promised = re.search(r"Guarantee of (.*?): after every release", text)
    denied = re.search(r"where the user is\. (.*?) give no guarantee", text)
    assert promised is not None
    assert denied is not None
    for found, guaranteed in ((promised, True), (denied, False)):
        named = set(re.findall(r'``"(\w+)"``', found[1]))
        assert named == {
            name for name, each in CALIBRATORS.items() if each.guaranteed is guaranteed
        }


FRONT, BACK = np.array([0.5, 0.5, *[0.0] * 7]), np.array([*[0.0] * 7, 0.25, 0.75])


@pytest.mark.parametrize(
    ("adversary", "mean"),
    [
        (AnyPrior(), np.full(9, 1 / 9)),
        (StartsIn([2, 7]), np.array([0, 0, 0.5, 0, 0, 0, 0, 0.5, 0])),
        (KnownPrior(FRONT), FRONT),
        (KnownPrior([FRONT, BACK]), (FRONT + BACK) / 2),
        (PriorsWithin(BACK, 3.0), BACK),
        (LastSeen(2), np.full(9, 1 / 9)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_predictions_begin_with_the_mean_of_the_priors(
    adversary: Adversary, mean: np.ndarray
) -> None:
    """Without a public prior a stream begins where the adversary expects it on average."""
    assert stream(adversary=adversary).state.predicted() == pytest.approx(mean, abs=1e-15)
    given = np.arange(9) / 36
    asked = stream(adversary=adversary, public_prior=given)
    assert asked.state.predicted() == pytest.approx(given, abs=1e-15)
