"""Automata as values and as pictures."""

import re

import pytest

from priste.errors import InvalidParameter
from priste.events import ALWAYS, NEVER, Automaton, Layer, at, at_least, presence

HOME, CLINIC = frozenset({0, 1}), frozenset({5})


def test_the_drawing_shows_every_move() -> None:
    """For a small event the whole automaton can be read off the text."""
    event = presence([5], [2, 4]) & ~at([0, 1], 3)
    assert event.automaton().drawing() == "\n".join(
        [
            "start: world 0",
            "step 2: 1 world -> 2 worlds",
            "  world 0: other cells -> 0, {5} -> 1",
            "step 3: 2 worlds -> 3 worlds",
            "  world 0: other cells -> 0, {0, 1} -> 1",
            "  world 1: other cells -> 2, {0, 1} -> 1",
            "step 4: 3 worlds -> 2 worlds",
            "  world 0: other cells -> 0, {5} -> 1",
            "  world 1: any cell -> 0",
            "  world 2: any cell -> 1",
            "end: world 0 = did not happen, world 1 = happened",
        ]
    )


def test_dot_has_a_node_per_world_and_an_arrow_per_move() -> None:
    """Graphviz gets one node per world after each layer, and every arrow joins two of them."""
    automaton = at_least(2, [5], [0, 3, 7]).automaton()
    text = automaton.dot()
    nodes = set(re.findall(r'^  "([\d.]+)" \[', text, re.MULTILINE))
    arrows = re.findall(r'^  "([\d.]+)" -> "([\d.]+)" \[label="(step \d+: [^"]+)"\];', text, re.M)
    assert nodes == {f"{depth}.{w}" for depth, n in enumerate((1, 2, 3, 2)) for w in range(n)}
    assert {end for start, stop, _ in arrows for end in (start, stop)} <= nodes
    assert ("0.0", "1.1", "step 0: {5}") in arrows
    assert len(arrows) == 2 + 4 + 4
    assert 'label="happened"' in text
    assert text.startswith("digraph")
    assert text.endswith("}")


def test_constant_events_are_drawn_as_what_they_are() -> None:
    """An event that cannot go both ways says so."""
    assert ALWAYS.automaton().drawing() == "always happens: no step matters"
    assert NEVER.automaton().drawing() == "never happens: no step matters"
    assert "never happens" in NEVER.automaton().dot()


def test_long_automata_are_drawn_in_part() -> None:
    """Only the first layers are drawn, and the number of the others is told."""
    automaton = presence(range(0, 400, 2), range(1000)).automaton()
    assert "... 950 more layers, to step 999" in automaton.drawing()
    assert "998 more layers" in automaton.dot(max_layers=2)
    assert automaton.drawing(max_layers=1000).count("step ") == 1000
    assert max(map(len, automaton.drawing().splitlines())) < 120
    for draw in (automaton.drawing, automaton.dot):
        with pytest.raises(InvalidParameter, match="max_layers"):
            draw(max_layers=0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((-1, (HOME,), ((0, 1),), 2), "step"),
        ((0, (frozenset(),), ((0, 1),), 2), "empty"),
        ((0, (HOME, frozenset({1, 2})), ((0, 1, 1),), 2), "disjoint"),
        ((0, (HOME,), ((0, 1, 1),), 2), "one entry per class"),
        ((0, (HOME,), ((0, 2),), 2), "worlds 0 to 1"),
        ((0, (HOME,), ((0, -1),), 2), "worlds 0 to 1"),
    ],
)
def test_impossible_layers_are_refused(fields: tuple, words: str) -> None:
    """A layer built by hand must make sense by itself."""
    with pytest.raises(InvalidParameter, match=words):
        Layer(*fields)


def test_impossible_automata_are_refused() -> None:
    """Layers must follow each other in time, agree on their worlds, and end in two or more."""
    first = Layer(1, (HOME,), ((0, 1),), 2)
    second = Layer(2, (CLINIC,), ((0, 1), (1, 1)), 2)
    assert Automaton((first, second), None).run([9, 0, 9])
    for layers, constant in [
        ((), None),
        ((first,), True),
        ((second,), None),
        ((second, first), None),
        ((first, first), None),
        ((Layer(1, (HOME,), ((0, 0),), 1),), None),
    ]:
        with pytest.raises(InvalidParameter, match=r"Automaton|worlds"):
            Automaton(layers, constant)


def test_automata_say_how_wide_they_are() -> None:
    """``worlds`` counts after each layer, ``width`` is the largest, 1 for constants."""
    automaton = at_least(2, [5], [0, 3, 7]).automaton()
    assert automaton.worlds == (2, 3, 2)
    assert automaton.width == 3
    assert ALWAYS.automaton().worlds == ()
    assert ALWAYS.automaton().width == 1
    assert automaton.layers[0].class_of(5) == 1
    assert automaton.layers[0].class_of(6) == 0
