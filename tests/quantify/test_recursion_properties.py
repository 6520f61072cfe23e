"""Properties that no implementation detail may break."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.quantify.strategies import (
    LAST_STEP,
    events,
    instances,
    likelihoods,
    matrices,
    models,
)

from priste import Grid, MarkovModel, Quantifier
from priste.events import Event, at, pattern, presence
from priste.quantify import JointProbabilities

ROUNDING = 1e-13
"""Both sides have at most a few hundred roundings."""


def observed(q: Quantifier, columns: list[list[float] | None]) -> Quantifier:
    for column in columns:
        q.observe(column)
    return q


def plain(joint: JointProbabilities) -> np.ndarray:
    """(4, rows) a, ā, b, d as plain floats: these streams are short."""
    scale = np.ldexp(1.0, joint.exponent)
    return np.stack(
        [
            joint.prior_event,
            joint.prior_complement,
            joint.event * scale,
            joint.complement * scale,
        ]
    )


def assert_same(
    first: JointProbabilities, second: JointProbabilities, order: tuple[int, ...] = (0, 1, 2, 3)
) -> None:
    np.testing.assert_allclose(plain(first)[list(order)], plain(second), rtol=ROUNDING, atol=0.0)


@examples(50)
@given(instances())
def test_negation_swaps_the_answers(instance):
    """a and ā, b and d change places for the negated event."""
    model, event, columns = instance
    columns = columns[: LAST_STEP + 1]
    q, negated = Quantifier(model, event), Quantifier(model, ~event)
    assert_same(
        observed(q, columns).joint_probabilities(),
        observed(negated, columns).joint_probabilities(),
        (1, 0, 3, 2),
    )


@examples(40)
@given(st.data())
def test_de_morgan(data):
    """not (A and B) and (not A or not B) are the same event, with the same numbers."""
    model = data.draw(models())
    size = model.grid.size
    first, second = data.draw(events(size)), data.draw(events(size))
    columns = data.draw(st.lists(likelihoods(size), max_size=LAST_STEP + 1))
    left = observed(Quantifier(model, ~(first & second)), columns)
    right = observed(Quantifier(model, ~first | ~second), columns)
    assert_same(left.joint_probabilities(), right.joint_probabilities())


@examples(40)
@given(st.data())
def test_relabelling_cells_permutes_the_rows(data):
    """Renaming the cells in model, event and releases only renames the rows."""
    size = 3
    order = data.draw(st.permutations(range(size)))
    new_name = {old: new for new, old in enumerate(order)}
    matrix = data.draw(matrices(size))
    regions = data.draw(st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=2, max_size=3))
    columns = data.draw(st.lists(likelihoods(size), max_size=4))
    steps = list(range(len(regions)))
    grid = Grid(rows=1, columns=size, cell_size=1.0)
    q = observed(Quantifier(MarkovModel(grid, matrix), pattern(regions, steps)), columns)
    renamed = observed(
        Quantifier(
            MarkovModel(grid, matrix[np.ix_(order, order)]),
            pattern([{new_name[c] for c in region} for region in regions], steps),
        ),
        [None if c is None else [c[old] for old in order] for c in columns],
    )
    np.testing.assert_allclose(
        plain(q.joint_probabilities())[:, list(order)],
        plain(renamed.joint_probabilities()),
        rtol=ROUNDING,
        atol=0.0,
    )


@examples(40)
@given(st.data())
def test_silence_changes_nothing(data):
    """Silence after the last release leaves b and d as they are, and equals ones."""
    model, event, columns = data.draw(instances())
    columns = columns[:LAST_STEP]
    method = data.draw(st.sampled_from(["forward", "replay"]))
    before = observed(Quantifier(model, event, method=method), columns)
    after = observed(before.copy(), [None])
    as_ones = observed(before.copy(), [[1.0] * model.grid.size])
    assert before.step == len(columns)
    assert_same(before.joint_probabilities(), after.joint_probabilities())
    assert_same(before.joint_probabilities(), as_ones.joint_probabilities())


def shifted(event_steps: list[int], at_step: int) -> list[int]:
    return [step if step <= at_step else step + 1 for step in event_steps]


@examples(40)
@given(st.data())
def test_splitting_a_step_changes_nothing(data):
    """A step in which nobody moves and nothing is released can be put in anywhere."""
    size = 3
    grid = Grid(rows=1, columns=size, cell_size=1.0)
    chain = [data.draw(matrices(size)) for _ in range(LAST_STEP)]
    split = data.draw(st.integers(0, LAST_STEP - 1))
    cells = data.draw(st.sets(st.integers(0, 2), min_size=1))
    steps = data.draw(st.lists(st.integers(0, LAST_STEP), min_size=1, max_size=3, unique=True))
    count = data.draw(st.integers(split + 1, LAST_STEP + 1))
    columns = [data.draw(likelihoods(size)) for _ in range(count)]
    longer = [*chain[:split], np.eye(size), *chain[split:]]

    def event(at_steps: list[int]) -> Event:
        return presence(cells, at_steps) & ~at([0], at_steps[0])

    q = observed(Quantifier(MarkovModel(grid, chain), event(steps)), columns)
    p = observed(
        Quantifier(MarkovModel(grid, longer), event(shifted(steps, split))),
        [*columns[: split + 1], None, *columns[split + 1 :]],
    )
    assert_same(q.joint_probabilities(), p.joint_probabilities())


@examples(40)
@given(st.data())
def test_scaling_a_release_scales_the_joint_probabilities_alone(data):
    """A column times a constant multiplies b and d by it, and moves no posterior."""
    model, event, columns = data.draw(instances())
    columns = columns[:LAST_STEP]
    column = data.draw(likelihoods(model.grid.size).filter(lambda c: c is not None))
    factor = data.draw(st.sampled_from([1e-300, 1e-5, 7.0, 1e290]))
    q = observed(Quantifier(model, event), [*columns, column])
    scaled = observed(Quantifier(model, event), [*columns, [x * factor for x in column]])
    first, second = q.joint_probabilities(), scaled.joint_probabilities()
    np.testing.assert_allclose(plain(first)[:2], plain(second)[:2], rtol=0.0)
    assume((first.event + first.complement).any())
    with np.errstate(divide="ignore"):
        before = np.log2(first.event) + first.exponent + np.log2(factor)
        after = np.log2(second.event) + second.exponent
    np.testing.assert_allclose(before, after, rtol=1e-12, atol=1e-12)


@examples(30)
@given(instances())
def test_methods_agree(instance):
    """The forward operator and the backward replay give the same numbers."""
    model, event, columns = instance
    columns = columns[: LAST_STEP + 1]
    forward = observed(Quantifier(model, event, method="forward"), columns)
    back = observed(Quantifier(model, event, method="replay"), columns)
    assert_same(forward.joint_probabilities(), back.joint_probabilities())


@examples(30)
@given(instances())
def test_asking_changes_no_answer(instance):
    """Asking after every observation, which mixes the methods, equals asking once."""
    model, event, columns = instance
    columns = columns[: LAST_STEP + 1]
    asked, quiet = Quantifier(model, event), Quantifier(model, event)
    for column in columns:
        asked.observe(column)
        asked.joint_probabilities()
        quiet.observe(column)
    assert_same(asked.joint_probabilities(), quiet.joint_probabilities())
