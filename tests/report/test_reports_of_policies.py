"""From a policy and a ledger to a report: the numbers are the ledger's, and privacy is marked."""

from dataclasses import replace

import pytest
from tests.cli.small_world import GRID, PATHS, QUICK, STEPS

from priste import InvalidParameter
from priste.policy import Policy, read_policy
from priste.release import Ledger
from priste.report import render, stream_report, uncalibrated_releases
from priste.report.pictures import event_cards
from priste.results import (
    TrueSteps,
    any_prior_leakage,
    audit_cells,
    audit_releases,
    columns_of_cells,
    other_adversaries,
)

SAME_LEAKAGE = 1e-6


@pytest.fixture(scope="module")
def policy() -> Policy:
    return read_policy(QUICK)


@pytest.fixture(scope="module")
def ledger(policy: Policy) -> Ledger:
    return released(policy)


def released(policy: Policy, *, seed: int = 3) -> Ledger:
    protector = policy.protector(rng=seed)
    for cell in PATHS["ada"]:
        protector.release(cell)
    return protector.ledger


def test_a_report_tells_the_ledger(policy: Policy, ledger: Ledger) -> None:
    """Leakages, budgets and cells are those that were released; nothing needs the truth."""
    report = stream_report(policy, ledger, title="Ada")
    assert report.verdict == "kept"
    assert report.budgets == tuple(r.budget for r in ledger)
    assert report.released == tuple(r.cell for r in ledger)
    assert report.events[0].guarded.leakage == tuple(r.leakage[0] for r in ledger)
    assert report.events[0].steps == (5, 6, 7)
    assert report.times[0] == "Wed 04 Mar 00:00"
    assert "Keep this page to yourself" in render(report)


def test_the_page_tells_how_much_hangs_on_the_model(policy: Policy, ledger: Ledger) -> None:
    """For the event about which most was told: the same releases under other spreads."""
    report = stream_report(policy, ledger, title="Ada")
    told = max(report.events, key=lambda event: event.guarded.max)
    assert [event.label for event in report.events if event.otherwise] == [told.label]
    wide = replace(policy, chosen_models=read_policy(QUICK.replace("sigma = 1.0", "sigma = 2.0"))
                   .chosen_models)  # fmt: skip
    cells = [release.cell for release in uncalibrated_releases(policy, PATHS["ada"], 1)]
    columns = columns_of_cells(policy, cells)
    found = other_adversaries(policy, columns)
    for name, audit in audit_cells(wide, cells).items():
        assert found[name]["who thinks that people move twice as far"] == pytest.approx(
            audit.max, rel=1e-9
        )
    page = " ".join(render(report).split())
    assert "With another model: not guaranteed" in page
    assert "who thinks that people move half as far" in page


def test_whatever_comes_from_true_locations_makes_it_private(
    policy: Policy, ledger: Ledger
) -> None:
    """Distances, the mechanism alone and the path each mark the report; the path needs asking."""
    path = PATHS["ada"]
    truth = TrueSteps.of_cells(GRID, path)
    far = stream_report(policy, ledger, title="", truth=truth)
    assert far.with_truth
    assert far.truth is None
    assert far.usefulness is not None
    expected = [GRID.distances()[a, r.cell] for a, r in zip(path, ledger, strict=True)]
    assert far.usefulness.errors == pytest.approx(expected)
    compared = stream_report(
        policy, ledger, title="", uncalibrated=uncalibrated_releases(policy, path, 1)
    )
    assert compared.with_truth
    shown = stream_report(policy, ledger, title="", truth=truth, show_truth=True)
    assert shown.truth == tuple(path)
    with pytest.raises(InvalidParameter, match="must be given to be shown"):
        stream_report(policy, ledger, title="", show_truth=True)
    with pytest.raises(InvalidParameter, match="3 steps"):
        stream_report(policy, ledger, title="", truth=truth.first(3))


def test_the_uncalibrated_mechanism_uses_its_full_budget(policy: Policy) -> None:
    """What is compared with is the mechanism of the policy and nothing else."""
    uncalibrated = uncalibrated_releases(policy, PATHS["ada"], 1)
    assert {r.budget for r in uncalibrated} == {policy.mechanism.budget}
    found = audit_releases(policy, uncalibrated)
    told = audit_cells(policy, [r.cell for r in uncalibrated])
    for name in policy.events:
        assert found[name].leakage == pytest.approx(told[name].leakage, abs=SAME_LEAKAGE)
        assert found[name].belief == told[name].belief


@pytest.mark.parametrize(
    "mechanism",
    [
        'kind = "planar-laplace"\nalpha = 2.0\ndelta = 0.1',
        'kind = "planar-isotropic"\nalpha = 2.0\ndelta = 0.1',
        'kind = "identity"',
    ],
)
def test_streams_of_other_mechanisms_can_be_told(mechanism: str) -> None:
    """Location sets depend on past releases, exact ones have no finite budget: all are replayed."""
    policy = read_policy(QUICK.replace('kind = "planar-laplace"\nalpha = 1.5', mechanism))
    ledger = released(policy)
    report = stream_report(policy, ledger, title="")
    assert report.events[0].guarded.leakage == tuple(r.leakage[0] for r in ledger)
    assert report.verdict == "kept"
    # One map, and for each of two events its leakage, its belief and who learns most.
    assert render(report).count("<svg") in (7, 8)


def test_foreign_ledgers_are_refused(policy: Policy, ledger: Ledger) -> None:
    """Other events, missing steps, outputs beyond the map, or numbers that do not fit."""
    for changed, complaint in (
        (Ledger(("other", "names"), list(ledger)), "is about other, names"),
        (Ledger(ledger.event_names, ledger[1:]), "Step 0 is missing"),
        (Ledger(ledger.event_names, [replace(ledger[0], cell=99)]), "another policy"),
        (Ledger(ledger.event_names, [replace(ledger[0], leakage=(0.7, 0.7))]), "was changed"),
    ):
        with pytest.raises(InvalidParameter, match=complaint):
            audit_releases(policy, changed)


def test_progress_is_told_event_by_event(policy: Policy, ledger: Ledger) -> None:
    """A caller can show how much is left."""
    seen: list[tuple[int, int]] = []
    stream_report(policy, ledger, title="", on_event=lambda k, n: seen.append((k, n)))
    assert seen == [(1, 2), (2, 2)]
    assert len(ledger) == STEPS


GUARANTEED = {
    "upwards to the population": ("odds_up = 0.6", '[adversary]\nknows = "population"\n'),
    "each way its own, stale": (
        "odds_up = 0.3\nodds_down = 0.9",
        '[adversary]\nknows = "stale"\nhours = 6\n',
    ),
    "belief of the population": ("belief_at_most = 0.9", '[adversary]\nknows = "population"\n'),
    "near": ("epsilon = 0.8", '[adversary]\nknows = "near"\nfactor = 3\n'),
}


@pytest.mark.parametrize("guarantee", GUARANTEED)
def test_ledgers_are_audited_by_their_own_guarantee_and_adversary(guarantee: str) -> None:
    """Whatever is guaranteed to whom, the audit from outside agrees with the ledger and the
    page."""
    written, adversary = GUARANTEED[guarantee]
    text = QUICK.replace("epsilon = 0.8\n", f"{written}\n").replace("epsilon = 1.2\n", "")
    other = read_policy(text + adversary)
    ledger = released(other)
    report = stream_report(other, ledger, title="Ada")
    assert report.verdict == "kept"
    for number, track in enumerate(report.events):
        found = track.guarded
        assert found.kept
        assert found.adversary == other.chosen_adversary.adversary
        assert found.leakage == tuple(r.leakage[number] for r in ledger)
        assert found.highest_belief == pytest.approx(
            [r.belief[number] for r in ledger], abs=SAME_LEAKAGE
        )
        assert found.max_any_prior >= found.max - SAME_LEAKAGE
    learnt = any_prior_leakage([(other, ledger)])
    # Bounds of the same quantity: which step's is kept may differ where two are all but equal.
    assert learnt is None or list(learnt.leakage.values()) == pytest.approx(
        [track.guarded.max_any_prior for track in report.events], abs=SAME_LEAKAGE
    )
    assert "nan" not in render(report)


def test_events_whose_names_look_like_periods_have_cards_of_their_own() -> None:
    """A comma in a name does not make two events the days of one."""
    text = QUICK.replace("[events.visit]", '[events."day, one"]')
    text = text.replace("[events.homecoming]", '[events."day, two"]')
    other = read_policy(text)
    report = stream_report(other, released(other), title="Ada")
    assert [card.name for card in event_cards(report)] == ["day, one", "day, two"]
