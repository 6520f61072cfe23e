"""A page that may be shared: nothing in it depends on what is not released or public."""

import pytest
from tests.cli.small_world import PATHS, QUICK, policy_of

from priste.policy import Policy, read_policy
from priste.report.shared import PublicPart, shared_page

ELSEWHERE = (
    QUICK.replace("cells = [9, 10]", "cells = [2]")
    .replace("cells = [0]", "cells = [15]")
    .replace('presence(clinic, "05:00-08:00")', 'presence(clinic, "01:00-02:00")')
    .replace("[regions.clinic]", "[regions.cellar]")
    .replace("presence(clinic", "presence(cellar")
    .replace("[events.visit]", "[events.outing]")
    .replace("sigma = 1.0", "sigma = 1.3")
)
"""Another world: other places, another event at another time, people who move otherwise."""

RELEASED = {"ada": (0, 1, None, 5, 6, 10, None, 9, 5, 1, 0, 0)}


@pytest.fixture(scope="module")
def other() -> Policy:
    return read_policy(ELSEWHERE)


def test_two_worlds_with_the_same_releases_give_the_same_page(other: Policy) -> None:
    """Places, events, their hours, homes, models and truths differ; not a byte of the page does."""
    here = policy_of(QUICK)
    assert here.regions != other.regions
    pages = [shared_page(PublicPart.of(policy), RELEASED) for policy in (here, other)]
    assert pages[0] == pages[1]
    for secret in ("clinic", "cellar", "home", "visit", "outing"):
        assert secret not in pages[0]


def test_the_page_follows_the_releases_and_the_public_part() -> None:
    """It is no constant: other releases, and another guarantee, show."""
    here = policy_of(QUICK)
    page = shared_page(PublicPart.of(here), RELEASED)
    assert page != shared_page(PublicPart.of(here), {"ada": tuple(PATHS["ada"])})
    weaker = policy_of(QUICK.replace("epsilon = 0.8", "epsilon = 0.9"))
    assert page != shared_page(PublicPart.of(weaker), RELEASED)
    assert "10</b><span>releases" in page.replace("\n", "")
    assert "docs/explanation/threat-model.md" in page


TOGETHER = '[secrets.both]\ntogether = ["visit", "homecoming"]\n'
DAILY = '[events.daily]\nformula = \'presence(home, "02:00-03:00")\'\nevery = "day"\n'


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "Each event is guarded by itself"),
        (TOGETHER, "between any two of their"),
        (DAILY, "“at least once”"),
    ],
    ids=["apart", "together", "recurring"],
)
def test_the_page_says_which_combinations_are_covered(more: str, said: str) -> None:
    """Without a name of an event or a place, and the same for other places and hours."""
    pages = []
    other = ELSEWHERE.replace("[events.outing]", "[events.visit]").replace("01:00-02", "03:00-04")
    for world in (QUICK, other):
        text = world.replace("epsilon = 1.2\n", "") if more == TOGETHER else world
        if more == DAILY:
            text = text.replace("steps = 12", "steps = 48")
        pages.append(shared_page(PublicPart.of(read_policy(text + more)), RELEASED))
    assert pages[0] == pages[1]
    assert said in pages[0]
    for secret in ("visit", "homecoming", "clinic", "daily"):
        assert secret not in pages[0]


def test_what_keeps_no_guarantee_says_so() -> None:
    """A calibrator that guarantees nothing is named as such."""
    plain = 'calibrator = "uncalibrated"\nno_guarantee = true'
    paper = policy_of(QUICK.replace('calibrator = "certified"\npace = 0.3', plain))
    page = shared_page(PublicPart.of(paper), RELEASED)
    assert "Nothing is guaranteed" in page
