"""Decision diagrams: one node per meaning, and choices as the truth table says."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.events.diagram import FALSE, TRUE, DiagramStore, DiagramTooWide, WorkExhausted

STEPS = 3
CLASSES = 3
tables = st.lists(st.booleans(), min_size=CLASSES**STEPS, max_size=CLASSES**STEPS)


def roomy_store() -> DiagramStore:
    return DiagramStore(max_nodes=10_000, max_work=10**6, max_room=10**6)


def diagram_of(store: DiagramStore, table: list[bool], step: int = 0) -> int:
    """Spell out a truth table, first step first."""
    if len(table) == 1:
        return TRUE if table[0] else FALSE
    size = len(table) // CLASSES
    parts = [table[i * size : (i + 1) * size] for i in range(CLASSES)]
    return store.make(step, tuple(diagram_of(store, part, step + 1) for part in parts))


def table_of(store: DiagramStore, node: int) -> list[bool]:
    """Follow the diagram for every sequence of classes."""
    values = []
    for path in product(range(CLASSES), repeat=STEPS):
        end = node
        while end > TRUE:
            end = store.arrows(end)[path[store.step(end)]]
        values.append(end == TRUE)
    return values


@examples(150)
@given(tables, tables, tables)
def test_choices_follow_the_truth_table(c: list[bool], t: list[bool], o: list[bool]) -> None:
    """A choice equals one diagram where the condition holds and the other elsewhere."""
    store = roomy_store()
    condition, then, otherwise = (diagram_of(store, table) for table in (c, t, o))
    # Ends, and diagrams that are each other's condition, are where shortcuts are taken.
    for a, b, d in product((FALSE, TRUE, condition, then, otherwise), repeat=3):
        chosen = store.choose(a, b, d)
        rows = zip(table_of(store, a), table_of(store, b), table_of(store, d), strict=True)
        expected = [yes if holds else no for holds, yes, no in rows]
        assert table_of(store, chosen) == expected
        assert chosen == diagram_of(store, expected)


@examples(100)
@given(st.lists(tables, max_size=5), st.sampled_from([FALSE, TRUE]))
def test_joins_follow_the_truth_table(some: list[list[bool]], absorbing: int) -> None:
    """Any number of diagrams, none included, are joined by "and" and "or"."""
    store = roomy_store()
    joined = store.join([diagram_of(store, table) for table in some], absorbing)
    join = any if absorbing == TRUE else all
    rows = zip(*some, strict=True) if some else [()] * CLASSES**STEPS
    assert joined == diagram_of(store, [join(row) for row in rows])


@examples(50)
@given(tables, tables)
def test_kept_diagrams_survive_forgetting(first: list[bool], second: list[bool]) -> None:
    """Forgetting drops what is not below a root, and its numbers are used again."""
    store = roomy_store()
    kept, dropped = diagram_of(store, first), diagram_of(store, second)
    before = table_of(store, kept)
    store.keep_only([kept])
    assert table_of(store, kept) == before
    if dropped > TRUE:
        assert diagram_of(store, second) == diagram_of(store, second)
        assert table_of(store, diagram_of(store, second)) == second
    assert diagram_of(store, first) == kept
    assert store.reachable([FALSE, TRUE]) == set()


def test_every_bound_ends_the_operation() -> None:
    """Too many nodes at a step, too much work and too little room are each refused."""
    patterns = [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    wide = [bool(row[i]) for row in patterns for i in range(3) for _ in range(3)]
    other = [bool((i * 7) % 3) for i in range(27)]
    for bounds, error in [
        ({"max_nodes": 1}, DiagramTooWide),
        ({"max_work": 3}, WorkExhausted),
        ({"max_room": 20}, WorkExhausted),
    ]:
        store = DiagramStore(**{"max_nodes": 10, "max_work": 1000, "max_room": 1000, **bounds})
        with pytest.raises(error):
            store.join([diagram_of(store, wide), diagram_of(store, other)], TRUE)
