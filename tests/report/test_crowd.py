"""A page of a thousand users: small, sortable, true, and as strict as the others."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.report.small_reports import Strict, a_report
from tests.report.small_runs import a_run

from priste.report import choose_ledgers, render
from priste.report.crowd import crowd

SMALL = 1_000_000
"""A page of a thousand users has fewer bytes than this."""


def test_a_page_of_a_thousand_users_is_small_and_well_formed() -> None:
    """Below 1 MB with six users in detail; every element closes; names are escaped."""
    text = render([a_report(title=f"user {k}") for k in range(6)], a_run())
    assert len(text.encode()) < SMALL
    page = Strict()
    page.feed(text)
    assert page.open == []
    assert "<script>alert" not in text
    assert text.count("<script>") == 1
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", text)
    assert "1,000 protected users" in text
    assert "Every release" not in text


def test_a_page_of_one_stream_has_no_script() -> None:
    """Where there is nothing to sort, nothing may run."""
    for text in (render(a_report()), render(a_report(), a_run(1)), render([a_report()] * 2)):
        assert "<script" not in text
        assert "script-src" not in text


def test_the_table_and_the_histograms_tell_the_figures() -> None:
    """Every user is in the table, in order of their leakage; each histogram counts all of them."""
    run = a_run(200)
    shown = crowd(run)
    shares = [max(u.leakage[0] / 0.5, u.leakage[1] / 0.8) for u in run.users]
    assert [row[3].key for row in shown.rows] == [round(s, 4) for s in sorted(shares)[::-1]]
    for picture in shown.histograms:
        assert sum(bar.count for bar in picture.bars) == 200
    tenths = [bar.count for bar in shown.histograms[0].bars]
    assert tenths == np.histogram(shares, np.linspace(0, 1, 11))[0].tolist()


def test_without_the_truth_the_page_says_nothing_of_distances() -> None:
    """A page without the input has no column made from true locations; no such page is shared."""
    text = render([a_report(usefulness=None)], a_run(private=False))
    assert "mean error" not in text
    assert "true locations at hand" not in text
    for each in (text, render([a_report()], a_run())):
        assert "Keep this page to yourself" in each


def test_a_broken_guarantee_is_said_first() -> None:
    """One user of three over the limit: the page says so, and shows that user first."""
    run = a_run(3)
    worst = replace(run.users[2], leakage=(math.inf, 0.1), kept=False)
    broken = replace(run, users=(*run.users[:2], worst))
    text = render([a_report()], broken)
    assert "The guarantee was not kept, of this stream" in text
    assert "Not for 1 of 3 users." in text
    assert crowd(broken).rows[0][2].text == "without limit"
    assert crowd(broken).histograms[0].bars[-1].words == "over"


def test_those_who_matter_are_told_and_paid_most() -> None:
    """Half of them have the largest leakage, half were released farthest off, nobody twice."""
    run = a_run(50)
    chosen = run.who_matters(6)
    assert len(set(chosen)) == 6
    by_leakage = sorted(run.users, key=lambda u: run.used(u)[0])[::-1]
    by_metres = sorted(run.users, key=lambda u: u.worth.everywhere if u.worth else 0.0)[::-1]
    assert {u.user for u in by_metres[:3]} <= set(chosen)
    assert by_leakage[0].user in chosen
    ledgers = {user.user: [] for user in run.users}
    assert list(choose_ledgers(ledgers, summary=run)) == chosen  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_shares_at_the_ends_have_a_bar(share: float) -> None:
    """Nothing told and exactly what is allowed are both counted within."""
    run = a_run(2)
    users = tuple(replace(user, leakage=(0.5 * share, 0.0)) for user in run.users[:1])
    bars = crowd(replace(run, users=(*users, run.users[1]))).histograms[0].bars
    assert len(bars) == 10
    assert sum(bar.count for bar in bars) == 2
