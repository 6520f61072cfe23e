"""Small random instances: models with zeros, time-varying, of second order; events; releases."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from priste.events import Event, at, at_least, pattern, presence
from priste.maps import Grid
from priste.mobility import MarkovModel

LAST_STEP = 3


def row_weights(size: int) -> st.SearchStrategy[list[float]]:
    """A row that sums to 1 up to rounding, often with zeros and with tiny entries."""
    weight = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, 1e-9])
    rows = st.lists(weight, min_size=size, max_size=size).filter(any)
    return rows.map(lambda row: [x / sum(row) for x in row])


def matrices(size: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(row_weights(size), min_size=size, max_size=size).map(np.array)


@st.composite
def models(draw: st.DrawFn, steps: int = LAST_STEP + 1, second_order: bool = True) -> MarkovModel:
    size = draw(st.integers(2, 3))
    grid = Grid(rows=1, columns=size, cell_size=1.0)
    kinds = ["one", "sequence"] + (["second"] if second_order else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "one":
        return MarkovModel(grid, draw(matrices(size)))
    if kind == "sequence":
        return MarkovModel(grid, [draw(matrices(size)) for _ in range(steps)])
    table = np.array([draw(matrices(size)) for _ in range(size)])
    return MarkovModel.second_order(grid, draw(matrices(size)), table)


@st.composite
def events(draw: st.DrawFn, size: int, depth: int = 2) -> Event:
    cells = st.sets(st.integers(0, size - 1), min_size=1)
    steps = st.lists(st.integers(0, LAST_STEP), min_size=1, max_size=3, unique=True)
    kind = draw(st.sampled_from(["at", "presence", "pattern", "at_least", "and", "or", "not"]))
    if depth == 0 or kind == "at":
        return at(draw(cells), draw(st.integers(0, LAST_STEP)))
    if kind == "presence":
        return presence(draw(cells), draw(steps))
    if kind == "pattern":
        chosen = draw(steps)
        return pattern([draw(cells) for _ in chosen], chosen)
    if kind == "at_least":
        chosen = draw(steps)
        return at_least(draw(st.integers(1, len(chosen))), draw(cells), chosen)
    inner = draw(events(size, depth - 1))
    if kind == "not":
        return ~inner
    other = draw(events(size, depth - 1))
    return inner & other if kind == "and" else inner | other


def likelihoods(size: int) -> st.SearchStrategy[list[float] | None]:
    """A column with zeros, tiny numbers and densities; None for silence."""
    value = st.sampled_from([0.0, 0.1, 0.7, 1.0, 1e-12, 3.5])
    column = st.lists(value, min_size=size, max_size=size).filter(any)
    return st.one_of(st.none(), column)


@st.composite
def instances(
    draw: st.DrawFn, second_order: bool = True
) -> tuple[MarkovModel, Event, list[list[float] | None]]:
    """(model, event, observations), the observations before, during or after the event."""
    model = draw(models(second_order=second_order))
    size = model.grid.size
    event = draw(events(size))
    count = draw(st.integers(0, LAST_STEP + 2))
    return model, event, [draw(likelihoods(size)) for _ in range(count)]


def distributions(size: int) -> st.SearchStrategy[list[float]]:
    return row_weights(size)
