"""Nested formulas mean what they say, down to the depth that is allowed."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.events.formula_strategies import ALPHABET, STEPS, counts, places
from tests.oracles.event_enumeration import Formula, holds, to_event, trajectories

from priste.errors import InvalidParameter
from priste.events import at, diagram
from priste.events.building import MAX_NESTING

literals = places | places.map(lambda place: ("not", place)) | counts
turns = st.tuples(st.sampled_from(["and", "or", "not and", "not or", "uncalibrated not"]), literals)


def nested(start: Formula, layers: list[tuple[str, Formula]]) -> Formula:
    """Wrap one connective after the other around a formula."""
    formula = start
    for word, part in layers:
        if word == "uncalibrated not":
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


@examples(60)
@given(literals, st.lists(turns, min_size=25, max_size=60))
def test_nesting_dozens_deep(start: Formula, layers: list) -> None:
    """Chains nested dozens deep, with values that come back under either connective."""
    assert agrees_with_enumeration(nested(start, layers))


@examples(60)
@given(literals, st.lists(turns, min_size=25, max_size=60))
def test_forgetting_unused_nodes_changes_nothing(start: Formula, layers: list) -> None:
    """The automaton is the same when unused nodes are dropped and reused all the time."""
    formula = nested(start, layers)
    direct = to_event(formula).automaton()
    with patch.object(diagram.DiagramStore, "wants_collection", True):
        assert to_event(formula).automaton() == direct


def test_the_depth_has_a_limit_that_is_told() -> None:
    """One level more than the limit is refused with the limit and a way out."""
    event = at([0], 0)
    for i in range(MAX_NESTING):
        part = at([i % 3], i % 4)
        event = event & part if i % 2 else event | part
    assert event.automaton().constant is None
    with pytest.raises(InvalidParameter, match=f"more than {MAX_NESTING} levels"):
        (event | at([1], 1)).automaton()
