"""Secrets: which answers there are, and the automaton that tells them apart."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.events.formula_strategies import ALPHABET, STEPS, formulas
from tests.oracles.event_enumeration import to_event

from priste import InvalidParameter, Secret, at, presence, together
from priste.events import MAX_ANSWERS, secret_from_dict
from priste.events import parse_event as read


@examples(60)
@given(st.lists(formulas, min_size=1, max_size=3))
def test_answers_are_the_combinations_that_happen(drawn) -> None:
    """Every trajectory gives the answer that its events say, and every answer is given by one."""
    events = {f"e{k}": to_event(formula) for k, formula in enumerate(drawn)}
    events = {name: e for name, e in events.items() if e.automaton().constant is None}
    if not events:
        return
    secret = together(events)
    seen = {}
    for path in itertools.product(ALPHABET, repeat=STEPS):
        truths = tuple(event.holds(path) for event in events.values())
        answer = secret.answer(path)
        number = secret.answers.index(answer)
        assert tuple(number in secret.parts[name] for name in events) == truths
        assert secret.holds(path) == (number < len(secret.answers) - 1)
        seen.setdefault(answer, truths)
    assert set(seen) <= set(secret.answers)
    assert len(set(seen.values())) == len(seen)


@examples(60)
@given(formulas)
def test_one_event_has_its_own_automaton(drawn) -> None:
    """A secret of one event is that event: the same automaton, world by world."""
    event = to_event(drawn)
    if event.automaton().constant is not None:
        return
    assert Secret({"it": event}).automaton() == event.automaton()
    assert together(event).automaton() == event.automaton()


def test_equal_events_make_no_further_answer() -> None:
    """Combinations that cannot happen have no answer, and worlds that behave alike are one."""
    visit = presence([0], [1, 2])
    assert together(visit, visit).answers == ("event0 and event1", "neither")
    assert together(visit, visit).automaton() == visit.automaton()
    inside = together({"day": presence([0], [1, 2, 3]), "noon": at([0], 2)})
    assert inside.answers == ("day and noon", "day only", "neither")


def test_answers_that_cover_everything_have_no_neither() -> None:
    """Where one of the events always happens no answer is that nothing did."""
    side = Secret({"west": at([0, 1], 2), "east": ~at([0, 1], 2)})
    assert side.answers == ("west", "east")
    assert not side.has_rest


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Secret({"a": presence([0], [1, 2]), "b": presence([1], [1, 2])}), "both happen"),
        (lambda: Secret({}), "one at least"),
        (lambda: Secret({"neither": at([0], 1)}), "neither"),
        (lambda: Secret({"a": at([0], 1) | ~at([0], 1)}), "always happens"),
        (lambda: together(), "one at least"),
        (lambda: together("at(0, 1)"), "Events"),
    ],
)
def test_what_cannot_be_a_secret_is_refused(make, words) -> None:
    """The error names the rule and the next step."""
    with pytest.raises(InvalidParameter, match=words):
        make()


def test_too_many_answers_say_how_many_and_what_to_leave_out() -> None:
    """Five independent events need 32 answers; without the last one 16 are enough."""
    events = {f"visit {k}": at([0], k) for k in range(5)}
    with pytest.raises(InvalidParameter, match="needs 32 answers") as refused:
        together(events)
    assert "Without 'visit 4' it needs 16" in str(refused.value)
    assert len(together(dict(list(events.items())[:4])).answers) == MAX_ANSWERS
    with pytest.raises(InvalidParameter, match="Leave out 1"):
        Secret({f"in {k}": at([k], 1) for k in range(16)})
    assert len(Secret({f"in {k}": at([k], 1) for k in range(15)}).answers) == MAX_ANSWERS


def test_many_events_that_exclude_each_other_are_counted_not_guessed() -> None:
    """Fourteen events at one step have 15 answers; with 17 the error states the count."""
    assert len(together(*(at([k], 2) for k in range(14))).answers) == 15
    with pytest.raises(InvalidParameter, match="needs 18 answers") as refused:
        together(*(at([k], 2) for k in range(17)))
    assert "it needs 16" in str(refused.value)
    with pytest.raises(InvalidParameter, match="These are 17 and 'neither'"):
        Secret({f"a{k}": at([k], 2) for k in range(17)})
    sides = {f"a{k}": at([k], 2) for k in range(16)} | {"other": ~at(range(16), 2)}
    with pytest.raises(InvalidParameter, match=r"These are 17\."):
        Secret(sides)


def test_a_secret_reads_back_from_its_dictionary() -> None:
    """What is written in a stream's file is the same secret."""
    for secret in (
        together({"a": presence([0], [1, 2]), "b": at([1], 2)}),
        Secret({"a": at([0], 1), "b": at([1], 1)}),
    ):
        described = secret.to_dict()
        again = secret_from_dict(described, {n: read(text) for n, text in described["events"]})
        assert again == secret
        assert hash(again) == hash(secret)
        assert again.automaton() == secret.automaton()
        assert again.answers == secret.answers
