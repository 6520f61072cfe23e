"""The automaton means what the formula means, and no automaton is smaller."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.events.formula_strategies import ALPHABET, STEPS, formulas
from tests.oracles.event_enumeration import (
    Formula,
    cells_told_apart,
    holds,
    to_event,
    trajectories,
    worlds_after_each_step,
)

from priste.events import ALWAYS, NEVER, at, at_least, pattern, presence


def meaning(formula: Formula) -> list[bool]:
    return [holds(formula, path) for path in trajectories(ALPHABET, STEPS)]


@examples(150)
@given(formulas)
def test_automaton_and_holds_agree_with_enumeration(formula: Formula) -> None:
    """On every trajectory the automaton, ``holds`` and the definition give one answer."""
    event = to_event(formula)
    automaton = event.automaton()
    for path in trajectories(ALPHABET, STEPS):
        expected = holds(formula, path)
        assert event.holds(path) == expected
        assert automaton.run(path) == expected


@examples(150)
@given(formulas)
def test_no_automaton_has_fewer_worlds(formula: Formula) -> None:
    """After every step there are exactly as many worlds as beginnings to tell apart."""
    automaton = to_event(formula).automaton()
    worlds_after = {layer.step: layer.worlds_after for layer in automaton.layers}
    expected = worlds_after_each_step(formula, ALPHABET, STEPS)
    worlds = 1
    for step in range(STEPS):
        worlds = worlds_after.get(step, worlds)
        assert worlds == expected[step]


@examples(100)
@given(formulas)
def test_layers_and_classes_are_the_ones_that_matter(formula: Formula) -> None:
    """A step has a layer exactly if its cell can matter, and classes are told apart there."""
    automaton = to_event(formula).automaton()
    classes = {layer.step: len(layer.classes) + 1 for layer in automaton.layers}
    for step in range(STEPS):
        assert classes.get(step, 1) == cells_told_apart(formula, ALPHABET, STEPS, step)


@examples(150)
@given(formulas)
def test_constant_events_are_found(formula: Formula) -> None:
    """``constant`` is set exactly for events that are the same on every trajectory."""
    values = set(meaning(formula))
    automaton = to_event(formula).automaton()
    assert automaton.constant == (values.pop() if len(values) == 1 else None)
    assert (automaton.layers == ()) == (automaton.constant is not None)


@examples(200)
@given(formulas, formulas)
def test_equal_automata_exactly_for_equivalent_events(first: Formula, second: Formula) -> None:
    """Two formulas have equal automata if and only if they agree on every trajectory."""
    same = meaning(first) == meaning(second)
    assert to_event(first).equivalent(to_event(second)) == same


@examples(100)
@given(formulas, formulas, formulas)
def test_laws_of_logic(a: Formula, b: Formula, c: Formula) -> None:
    """De Morgan, distribution, absorption, and negation twice leave the automaton the same."""
    e, f, g = to_event(a), to_event(b), to_event(c)
    assert (~(e & f)).automaton() == (~e | ~f).automaton()
    assert (~(e | f)).automaton() == (~e & ~f).automaton()
    assert (e & (f | g)).automaton() == ((e & f) | (e & g)).automaton()
    assert (e | (e & f)).automaton() == e.automaton()
    assert (~(~e | ~e)).automaton() == e.automaton()
    assert (e & ~e).automaton().constant is False
    assert (e | ~e).automaton().constant is True


@examples(100)
@given(formulas)
def test_negation_swaps_the_outcomes_and_nothing_else(formula: Formula) -> None:
    """The automaton of the negation differs in the last layer's targets alone."""
    plain, negated = to_event(formula).automaton(), (~to_event(formula)).automaton()
    if plain.constant is not None:
        assert negated.constant is (not plain.constant)
        return
    assert negated.layers[:-1] == plain.layers[:-1]
    swapped = tuple(tuple(1 - world for world in row) for row in plain.layers[-1].moves)
    assert negated.layers[-1].moves == swapped


@examples(100)
@given(formulas, st.permutations(range(7)))
def test_relabelling_cells_relabels_classes(formula: Formula, names: list[int]) -> None:
    """Renaming the cells renames them in the layers and keeps the number of worlds."""

    def renamed(part: Formula) -> Formula:
        if part[0] == "at":
            return ("at", part[1], {names[c] for c in part[2]})
        if part[0] == "at_least":
            return ("at_least", part[1], {names[c] for c in part[2]}, part[3])
        return (part[0], *map(renamed, part[1:]))

    plain, other = to_event(formula).automaton(), to_event(renamed(formula)).automaton()
    assert plain.worlds == other.worlds
    for left, right in zip(plain.layers, other.layers, strict=True):
        assert {frozenset(names[c] for c in cells) for cells in left.classes} == set(right.classes)


def test_presence_and_pattern_have_two_worlds() -> None:
    """The paper's two kinds of events need its two possible worlds, at any length."""
    visited = presence(range(10), range(3, 3000)).automaton()
    assert visited.width == 2
    assert len(visited.layers) == 2997
    commute = pattern([[i % 5, 9] for i in range(500)], range(500)).automaton()
    assert commute.width == 2
    assert [layer.step for layer in commute.layers] == list(range(500))


@pytest.mark.parametrize(("k", "steps"), [(1, 9), (3, 9), (5, 9), (4, 40), (20, 39)])
def test_counting_needs_one_world_per_count(k: int, steps: int) -> None:
    """At least k times takes the counts 0 to k, where that many are still open."""
    assert at_least(k, [0], range(steps)).automaton().width == min(k, steps - k + 1) + 1


def test_counting_equals_the_formula_it_stands_for() -> None:
    """At least 2 of 4 steps equals the "or" over all pairs of steps."""
    pairs = [at([1, 2], s) & at([1, 2], t) for s in range(4) for t in range(s)]
    expanded = pairs[0]
    for pair in pairs[1:]:
        expanded = expanded | pair
    assert at_least(2, [1, 2], range(4)).equivalent(expanded)
    assert presence([3], [4, 2]).equivalent(at([3], 2) | at([3], 4))


def test_counts_that_decide_nothing_are_constant() -> None:
    """At least none always happens, more often than there are steps never."""
    assert at_least(0, [1], [2, 3]).automaton().constant is True
    assert at_least(3, [1], [2, 3]).automaton().constant is False
    assert ALWAYS.automaton().constant is True
    assert NEVER.automaton().constant is False


def test_overlapping_regions_of_one_step_split_its_cells() -> None:
    """Cells are classed by which regions of their step hold them, as far as it matters."""
    event = (at([0, 1], 1) & at([5], 2)) | (at([1, 2], 1) & at([6], 2))
    first, second = event.automaton().layers
    assert first.classes == (frozenset({0}), frozenset({1}), frozenset({2}))
    assert second.classes == (frozenset({5}), frozenset({6}))
    # Two predicates whose difference cannot matter do not split anything.
    merged = (at([0, 1], 1) | at([1, 2], 1)).automaton().layers
    assert [layer.classes for layer in merged] == [(frozenset({0, 1, 2}),)]


def test_classes_are_ordered_by_smallest_cell_however_the_event_is_written() -> None:
    """The finer cells of one writing end up in the same order as the regions of another."""
    plain = (at([0, 5], 1) & at([0], 2)) | (at([3], 1) & at([1], 2))
    split = ((at([5], 1) | at([0], 1)) & at([0], 2)) | (at([3], 1) & at([1], 2))
    assert plain.automaton().layers[0].classes == (frozenset({0, 5}), frozenset({3}))
    assert split.automaton() == plain.automaton()


def test_steps_in_the_past_and_step_zero_are_ordinary() -> None:
    """Predicates may name steps in any order, and step 0 has a layer like any other."""
    event = at([1], 7) & at([2], 0) & ~at([1], 3)
    assert [layer.step for layer in event.automaton().layers] == [0, 3, 7]
    assert (event.first_step, event.last_step) == (0, 7)
    assert event.holds([2, 9, 9, 9, 9, 9, 9, 1])
