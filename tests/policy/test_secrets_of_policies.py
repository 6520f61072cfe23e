"""Policies with secrets: events together, one event per answer, neighbouring days and weeks."""

from __future__ import annotations

import math

import pytest
from tests.live.small_town import DAILY, GROUP, POLICY, TOGETHER, WHICH

from priste import KnownPrior, PolicyError, Quantifier, Secret
from priste.audit import audit_recurrence
from priste.live.rolling import RollingEvents
from priste.policy import explain_policy, read_policy
from priste.policy.document import Document
from priste.results.audits import audit_recurrences
from priste.results.wording import recurrence_words

LONG = DAILY.replace("steps = 12", "steps = 72")
NEIGHBOURS = LONG + 'together = "days"\nspan = 2\n'


def test_events_together_are_one_secret() -> None:
    """Events that a secret lists are guarded in it, and not by themselves as well."""
    policy = read_policy(TOGETHER)
    (event,) = policy.events.values()
    assert event.label == "health"
    assert event.event.answers == ("visit and group", "visit only", "group only", "neither")
    assert event.guaranteed.startswith("the odds between any two of its 4 answers")
    protector = policy.protector(rng=1)
    assert protector.release(4).leakage[0] <= 0.8 + 1e-8
    said = explain_policy(policy)
    assert "health: every combination of visit and group." in said.guaranteed
    assert not any("Combinations of" in line for line in said.not_guaranteed)


def test_one_event_per_answer() -> None:
    """A secret of answers stands beside events, and the page says what is not covered."""
    policy = read_policy(POLICY + WHICH)
    assert list(policy.events) == ["visit", "which"]
    assert policy.events["which"].event.answers == ("first", "second", "neither")
    assert policy.events["which"].guarantee.down == math.inf
    said = explain_policy(policy)
    assert "which: which of its answers holds: first, second, neither." in said.guaranteed
    assert any("Combinations of visit and which" in line for line in said.not_guaranteed)
    assert read_policy(POLICY[: POLICY.index("[events.visit]")] + WHICH).events.keys() == {"which"}


def test_neighbouring_days_are_guarded_together() -> None:
    """Three days with a span of two are two secrets, whose answers name the days."""
    policy = read_policy(NEIGHBOURS)
    assert list(policy.events) == [
        "visit, 2026-03-04 and 2026-03-05",
        "visit, 2026-03-05 and 2026-03-06",
    ]
    first = policy.events["visit, 2026-03-04 and 2026-03-05"]
    assert first.event.answers[1] == "2026-03-04 only"
    assert [period for _, period, _ in first.recurrences] == ["2026-03-04", "2026-03-05"]
    assert len(policy.recurring()["visit"]) == 3
    three = read_policy(NEIGHBOURS.replace("span = 2", "span = 3"))
    assert len(three.events) == 1
    assert not three.recurring()  # one secret covers all of them
    assert read_policy(LONG).recurring()["visit"] == policy.recurring()["visit"]


def test_documents_with_secrets_round_trip() -> None:
    """TOML, JSON and the document say the same."""
    for text in (TOGETHER, POLICY + WHICH, NEIGHBOURS):
        document = Document.from_toml(text)
        assert Document.from_json(document.to_json()) == document
        assert Document.from_toml(document.to_toml()) == document


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (POLICY + '[secrets.a]\ntogether = ["visit", "nobody"]\n', "there is no event 'nobody'"),
        (POLICY + '[secrets.a]\ntogether = ["visit", "visit"]\n', "each event once"),
        (POLICY + "[secrets.a]\nepsilon = 1.0\n", "give 'together'"),
        (POLICY + GROUP + '[secrets.visit]\ntogether = ["visit", "group"]\n', "rename one"),
        (TOGETHER.replace("[secrets.h", "epsilon = 0.5\n[secrets.h"), "guarantee"),
        (POLICY + 'together = "days"\nspan = 2\n', "needs every = 'day'"),
        (LONG + 'together = "weeks"\nspan = 2\n', "needs every = 'week'"),
        (LONG + 'together = "days"\n', "'together' and 'span' together"),
        (LONG + 'together = "days"\nspan = 5\n', "less than or equal to 4"),
        (POLICY + WHICH.replace(" and not at(clinic, 3)", ""), "can both happen"),
        (
            POLICY
            + "[secrets.sides]\nodds_up = 1.0\n"
            + "answers = { in = 'at(clinic, 3)', out = 'not at(clinic, 3)' }\n",
            "cover everything",
        ),
        (POLICY[: POLICY.index("[events.visit]")], "name at least one event"),
    ],
)
def test_mistakes_in_secrets_are_named(text: str, words: str) -> None:
    """Each mistake says where it stands and what would be right."""
    with pytest.raises(PolicyError, match=words):
        read_policy(text)


def test_too_many_events_together_say_what_to_leave_out() -> None:
    """Five independent events need 32 answers; the mistake names one to leave out."""
    events = "".join(f"[events.e{k}]\nformula = 'at(clinic, {k})'\n" for k in range(1, 6))
    listed = ", ".join(f'"e{k}"' for k in range(1, 6))
    head = POLICY[: POLICY.index("[events.visit]")]
    with pytest.raises(PolicyError, match=r"needs 32 answers.*Without 'e5' it needs 16"):
        read_policy(f"{head}{events}[secrets.all]\ntogether = [{listed}]\n")


def test_a_live_stream_asks_for_every_window_ahead() -> None:
    """At any step all windows of neighbouring days with today or tomorrow in them are guarded."""
    policy = read_policy(NEIGHBOURS)
    due = RollingEvents(policy, 0).due(24 + 7)
    assert list(due) == [
        "visit, 2026-03-04 and 2026-03-05",
        "visit, 2026-03-05 and 2026-03-06",
        "visit, 2026-03-06 and 2026-03-07",
    ]
    first = due["visit, 2026-03-04 and 2026-03-05"]
    assert first.event == policy.events["visit, 2026-03-04 and 2026-03-05"].event
    begun = RollingEvents(policy, 24).due(24)  # the first day was over before the stream began
    assert next(iter(begun)) == "visit, 2026-03-05"
    found = RollingEvents(policy, 0).labelled("visit, 2026-03-04 and 2026-03-05", 24 * 4)
    assert found is not None
    assert isinstance(found.event, Secret)
    once = RollingEvents(read_policy(TOGETHER), 0).due(0)
    assert list(once) == ["health"]
    assert once["health"].event == read_policy(TOGETHER).events["health"].event


def test_recurring_events_have_an_audit_line() -> None:
    """How far "at least once" and "every time" moved is that of the joined events, step by step."""
    policy = read_policy(LONG.replace("[release]", '[adversary]\nknows = "population"\n[release]'))
    protector = policy.protector(rng=4)
    for step in range(72):
        protector.release((step * 5) % 9)
    columns = [protector.ledger.likelihood(step) for step in range(72)]
    found = audit_recurrences(policy, columns)["visit"]
    assert found.periods == 3
    days = policy.recurring()["visit"]
    for joined, reported in (
        (days[0] | days[1] | days[2], found.at_least_once),
        (days[0] & days[1] & days[2], found.every_time),
    ):
        asked = Quantifier(
            policy.models, joined, policy.chosen_adversary.adversary, family=policy.family
        )
        most = 0.0
        for column in columns:
            asked.observe(column)
            most = max(most, asked.leakage().value)
        assert reported == pytest.approx(most, abs=1e-9)
    words = recurrence_words("visit", found)
    assert words.startswith('visit, over its 3 periods: the odds of "at least once" moved by')
    assert '"every time"' in words


def test_what_is_not_open_has_no_line() -> None:
    """Times that exclude each other cannot be every time."""
    policy = read_policy(LONG)
    (first, *_) = policy.recurring()["visit"]
    prior = KnownPrior(policy.model.stationary())
    found = audit_recurrence(policy.models, [first, ~first], [], prior)
    assert (found.at_least_once, found.every_time) == (None, None)
