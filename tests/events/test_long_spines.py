"""Deeply nested formulas, which are compiled by halves, mean what they say."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from tests.events.formula_strategies import ALPHABET, STEPS, budget, counts, formulas, places
from tests.oracles.event_enumeration import Formula, holds, to_event, trajectories

from priste.events import building, diagram

literals = places | places.map(lambda place: ("not", place)) | counts
turns = st.tuples(st.sampled_from(["and", "or", "not and", "not or", "bare not"]), literals)


def nested(start: Formula, layers: list[tuple[str, Formula]]) -> Formula:
    """Wrap one connective after the other around a formula."""
    formula = start
    for word, part in layers:
        if word == "bare not":
            formula = ("not", formula)
        elif word.startswith("not "):
            formula = ("not", (word.removeprefix("not "), formula, part))
        else:
            formula = (word, formula, part)
    return formula


def agrees_with_enumeration(formula: Formula) -> bool:
    automaton = to_event(formula).automaton()
    paths = trajectories(ALPHABET, STEPS)
    return all(automaton.run(path) == holds(formula, path) for path in paths)


@budget(60)
@given(literals, st.lists(turns, min_size=25, max_size=60))
def test_nesting_beyond_the_short_spine(start: Formula, layers: list) -> None:
    """Chains nested dozens deep, with values that come back under either connective."""
    assert agrees_with_enumeration(nested(start, layers))


@budget(100)
@given(formulas)
def test_halving_agrees_with_the_direct_way(formula: Formula) -> None:
    """Any formula gives the same automaton when every spine is worked off by halves."""
    direct = to_event(formula).automaton()
    with patch.object(building, "SHORT_SPINE", 1):
        assert to_event(formula).automaton() == direct


@budget(60)
@given(literals, st.lists(turns, min_size=25, max_size=60))
def test_forgetting_unused_nodes_changes_nothing(start: Formula, layers: list) -> None:
    """The automaton is the same when unused nodes are dropped and reused all the time."""
    formula = nested(start, layers)
    direct = to_event(formula).automaton()
    always = patch.object(diagram.DiagramStore, "wants_collection", True)
    with always, patch.object(building, "SHORT_SPINE", 1):
        assert to_event(formula).automaton() == direct


def test_a_value_met_again_further_in_is_known() -> None:
    """Under its own connective it changes nothing, under the other it decides."""
    a, b, c = ("at", 0, {0}), ("at", 1, {0}), ("at", 2, {0})
    inside = ("and", c, ("not", ("at", 3, {1})))
    with patch.object(building, "SHORT_SPINE", 1):
        for formula in (
            ("or", a, ("and", b, ("or", a, ("and", c, inside)))),
            ("or", a, ("and", b, ("or", c, ("and", a, inside)))),
            ("and", a, ("or", b, ("and", a, ("or", c, inside)))),
            ("and", a, ("or", b, ("and", c, ("or", a, inside)))),
        ):
            assert agrees_with_enumeration(formula)
