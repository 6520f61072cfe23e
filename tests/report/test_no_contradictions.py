"""Reports that do not contradict themselves: each case that was found, as a test."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.small_world import GRID, PATHS, QUICK, policy_of
from tests.report.small_reports import a_report

from priste.audit import EventAudit
from priste.quantify import KnownPrior
from priste.report import render, stream_report
from priste.results import any_prior_leakage, length, moved, odds
from priste.results.wording import from_to, who_learns_most, worst_prior

ADVERSARY = '\n[adversary]\nknows = "population"\n'


@given(st.floats(0, 1e5))
def test_odds_are_never_written_with_exponents(leakage: float) -> None:
    """No 10^2234: beyond a million the number says nothing more."""
    assert "^" not in odds(leakage)
    assert "e" not in odds(leakage).replace("more than a million", "").replace("without", "")


@given(st.floats(0, 1e5))
def test_at_most_is_not_said_of_more_than_a_million(leakage: float) -> None:
    """No "by at most more than a million×"."""
    assert ("at most" in moved(leakage)) == ("more than" not in odds(leakage))
    assert moved(leakage).startswith("by ")
    assert moved(leakage).endswith(odds(leakage))


def test_any_prior_never_learns_less_than_the_adversary_of_the_policy() -> None:
    """Both are the largest of the whole stream, not one of them the value at its end."""
    policy = policy_of(QUICK + ADVERSARY)
    protector = policy.protector(rng=4)
    for cell in PATHS["ada"]:
        protector.release(cell)
    learnt = any_prior_leakage([(policy, protector.ledger)])
    report = stream_report(policy, protector.ledger, title="Ada")
    assert learnt is not None
    for (name, most), track in zip(learnt.leakage.items(), report.events, strict=True):
        largest = max(r.leakage[list(policy.events).index(name)] for r in protector.ledger)
        assert most >= largest - 1e-6
        assert track.guarded.max_any_prior >= track.guarded.max - 1e-6


def test_what_other_models_learn_stands_next_to_a_sentence() -> None:
    """More than a million beside "kept" is explained: the guarantee rests on the models."""
    (event,) = a_report().events
    doubtful = replace(event.guarded, any_movement=(20.0,) * 6)
    page = " ".join(render(a_report(events=(replace(event, guarded=doubtful),))).split())
    assert "more than a million" in page
    assert "The guarantee rests on the models of the policy" in page
    assert "not guaranteed" in page


def test_earlier_runs_are_spoken_of_where_there_are_some() -> None:
    """A page of a first run does not say what its tables leave out of runs before it."""
    (event,) = a_report().events
    doubtful = replace(event.guarded, any_movement=(20.0,) * 6)
    first = a_report(events=(replace(event, guarded=doubtful),))
    pages = [" ".join(render(replace(first, continued=each)).split()) for each in (False, True)]
    assert ["earlier runs of the same stream" in page for page in pages] == [False, True]
    assert all("With another model: not guaranteed" in page for page in pages)


@pytest.mark.parametrize(("before", "after"), [(0.036, 0.0362), (0.5, 0.5), (1e-6, 1e-7)])
def test_a_belief_that_stays_is_said_once(before: float, after: float) -> None:
    """No "3.6 % to 3.6 %"."""
    said = from_to(before, after)
    assert said.count("%") == 1
    assert "before and after" in said


@given(st.floats(0, 2e6))
def test_lengths_have_two_figures(metres: float) -> None:
    """500 m and 502 m are one length wherever they are shown."""
    said = length(metres)
    digits = re.sub(r"[^1-9]", "", said.replace("0", ""))
    assert len(digits) <= 2 or metres >= 100_000
    assert length(500.0) == length(502.0)


def test_an_event_without_a_release_in_its_hours_says_so() -> None:
    """It is not told as 1.00×, within the bound, and nothing else."""
    policy = policy_of(QUICK)
    protector = policy.protector(rng=4)
    for step, cell in enumerate(PATHS["ada"]):
        protector.release(None if step in (5, 6, 7) else cell)
    report = stream_report(policy, protector.ledger, title="Ada")
    visit, homecoming = report.events
    assert visit.releases == 0
    assert homecoming.silent == ""
    page = " ".join(render(report).split())
    assert "no release speaks of it, because nothing was released in its hours" in page


def test_who_learns_most_is_told_in_cells_never_in_rows_of_priors() -> None:
    """The second given prior is about cell 15: row 1 of the table is no cell."""
    rows = [[1 / 16] * 16, [0.0] * 15 + [1.0]]
    audit = EventAudit(
        (0.4,), (0.1,), 0.1, {}, adversary=KnownPrior(rows), worst_given={(0, 1): 1.0}
    )
    assert worst_prior(audit) == {15: 1.0}
    said = who_learns_most(audit, GRID, {"work": [15]})
    assert said == "Those who learn most think that the user began in work (100 %)."
    spread = replace(audit, worst_given={(0, 0): 1.0})
    assert math.isclose(sum(worst_prior(spread).values()), 1.0)
    assert len(worst_prior(spread)) == 16
