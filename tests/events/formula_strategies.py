"""Random formulas of the oracle's kind, small enough to enumerate every trajectory."""

from hypothesis import strategies as st

CELLS = 3
"""Regions name cells 0 to 2; cell 3 stands for every cell that no region names."""
STEPS = 4
ALPHABET = range(CELLS + 1)


regions = st.frozensets(st.integers(0, CELLS - 1), min_size=1)
steps = st.integers(0, STEPS - 1)
step_sets = st.frozensets(steps, min_size=1).map(sorted)

places = st.tuples(st.just("at"), steps, regions)
counts = st.tuples(st.just("at_least"), st.integers(0, STEPS + 1), regions, step_sets)
constants = st.sampled_from([("true",), ("false",)])


def joined(parts: st.SearchStrategy[tuple]) -> st.SearchStrategy[tuple]:
    """Formulas one level deeper than the given ones."""
    lists = st.lists(parts, min_size=2, max_size=4)
    return st.one_of(
        parts.map(lambda part: ("not", part)),
        lists.map(lambda some: ("and", *some)),
        lists.map(lambda some: ("or", *some)),
    )


formulas = st.recursive(places | places | counts | constants, joined, max_leaves=8)
