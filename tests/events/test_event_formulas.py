"""Events as values: what they refuse, how they compare, and that size and depth do not matter."""

import copy
import functools
import itertools
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given
from tests.drawn_examples import examples
from tests.events.formula_strategies import formulas
from tests.oracles.event_enumeration import Formula, to_event

from priste.errors import InvalidParameter, PristeError
from priste.events import (
    ALWAYS,
    NEVER,
    Event,
    at,
    at_least,
    parse_event,
    pattern,
    predicates,
    presence,
)
from priste.maps import Grid, Region

DEEP = 5_000
"""Far deeper than Python's limit of recursion."""


@pytest.mark.parametrize(
    "make",
    [
        lambda: at([0], -1),
        lambda: at([0], True),
        lambda: at([0], 1.0),
        lambda: at([0], "3"),
        lambda: at([0], None),
        lambda: at(3, [0]),
        lambda: at(0, 3),
        lambda: at([], 3),
        lambda: at([-1], 3),
        lambda: at([True], 3),
        lambda: at([0.0], 3),
        lambda: at("home", 3),
        lambda: at([float("nan")], 3),
        lambda: presence([0], []),
        lambda: presence([0], 3),
        lambda: presence([0], [1, -2]),
        lambda: presence([0], [False]),
        lambda: presence([0], "3..7"),
        lambda: presence([], [1]),
        lambda: pattern([], []),
        lambda: pattern([[0], [1]], [3]),
        lambda: pattern([[0]], [3, 4]),
        lambda: pattern([0, 1], [3, 4]),
        lambda: pattern([[0], []], [3, 4]),
        lambda: pattern({"home": [0]}, [3]),
        lambda: at_least(-1, [0], [1]),
        lambda: at_least(True, [0], [1]),
        lambda: at_least(1.5, [0], [1]),
        lambda: at_least(2, [0], [1, 1]),
        lambda: at_least(10**5000 * -1, [0], [1]),
        lambda: at_least(1, [0], []),
    ],
)  # fmt: skip
def test_arguments_that_break_their_rule_are_refused(make: object) -> None:
    """Wrong steps, cells and counts are refused where they enter, in words."""
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert len(str(caught.value)) > 30
    assert isinstance(caught.value, PristeError)


def test_an_endless_iterable_of_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops at the largest number of steps instead of filling the memory."""
    monkeypatch.setattr(predicates, "MAX_STEPS", 1000)
    with pytest.raises(InvalidParameter, match="at most 1,000"):
        presence([0], itertools.count())


def test_cells_and_steps_may_be_regions_ranges_and_arrays() -> None:
    """Any iterable of numbers does, a Region included, and it is not kept or changed."""
    grid = Grid(rows=2, columns=3, cell_size=1.0)
    cells = [0, 1]
    event = at(cells, 3)
    cells.append(2)
    assert event == at(Region(grid, [1, 0]), np.int64(3)) == at(np.array([0, 1, 1]), 3)
    assert presence(range(2), np.arange(3)) == presence({0, 1}, (2, 1, 0, 0))
    assert pattern((range(1), {1}), iter([4, 2])) == at([0], 4) & at([1], 2)


def test_events_have_no_truth_value() -> None:
    """Python's own ``and``, which would silently drop an event, is refused."""
    with pytest.raises(InvalidParameter, match="&"):
        _ = at([0], 1) and at([0], 2)


def test_events_join_only_with_events() -> None:
    """Joining an event with anything else is a TypeError, as for other values."""
    with pytest.raises(TypeError):
        _ = at([0], 1) & True
    with pytest.raises(TypeError):
        _ = [0] | at([0], 1)
    assert at([0], 1) != "at({0}, 1)"


def test_events_do_not_change() -> None:
    """Attributes of an event can be neither set nor deleted."""
    event = at([0], 1)
    with pytest.raises(AttributeError):
        event.step = 2
    with pytest.raises(AttributeError):
        del event.first_step
    assert copy.deepcopy(event) is event
    assert copy.copy(event) is event


def test_first_and_last_step() -> None:
    """The steps an event names are known at once; constants name none."""
    event = ~(presence([0], [9, 4]) & ALWAYS) | NEVER
    assert (event.first_step, event.last_step) == (4, 9)
    assert (ALWAYS & ~NEVER).first_step is None
    assert (ALWAYS & ~NEVER).last_step is None


def test_equality_is_of_writing_and_equivalence_of_meaning() -> None:
    """``==`` compares how events are written, ``equivalent`` what they mean."""
    first, second = at([0], 1) | at([1], 1), at([0, 1], 1)
    assert first != second
    assert first.equivalent(second)
    assert not first.equivalent(at([0], 1))
    assert ~~first is first
    assert at([0], 1) & at([0], 2) != at([0], 1) | at([0], 2)
    assert len({at([0], 1), at([0], 1), at([0], 2), ~at([0], 1)}) == 3


@examples(100)
@given(formulas)
def test_pickling_gives_an_equal_event(formula: Formula) -> None:
    """Events travel between processes whole."""
    event = to_event(formula)
    again = pickle.loads(pickle.dumps(event))
    assert again == event
    assert hash(again) == hash(event)
    assert again.automaton() == event.automaton()


@pytest.mark.parametrize(
    "trajectory",
    [[], [0], [0, 1, True], [0, 1, -4711], [0, 1, 4711.0], [0, 1, "x4711"], 4711, [0, None, 1]],
)
def test_bad_trajectories_are_refused_without_being_shown(trajectory: object) -> None:
    """Too short or malformed trajectories are refused, and no cell of theirs is in the message."""
    event = at([0], 2)
    for evaluate in (event.holds, event.automaton().run):
        with pytest.raises(InvalidParameter) as caught:
            evaluate(trajectory)
        assert "4711" not in str(caught.value)


def test_trajectories_may_be_arrays_and_longer_than_needed() -> None:
    """A numpy array is a trajectory, and what follows the last step is ignored."""
    event = at([4], 1)
    assert event.holds(np.array([0, 4, 9, 9]))
    assert event.automaton().run(np.array([0, 4, 9, 9], dtype=np.uint8))
    assert ALWAYS.holds([])
    assert not NEVER.automaton().run([])


def joined_left(parts: list[Event]) -> Event:
    return functools.reduce(operator.or_, parts)


def joined_right(parts: list[Event]) -> Event:
    return functools.reduce(lambda inner, part: part | inner, parts)


def alternating(parts: list[Event]) -> Event:
    joins = itertools.cycle([operator.or_, operator.and_])
    return functools.reduce(lambda inner, part: next(joins)(inner, part), parts)


def negated_alternating(parts: list[Event]) -> Event:
    return functools.reduce(lambda inner, part: ~(inner | part), parts)


@pytest.mark.parametrize(
    ("join", "depth"),
    [(joined_left, DEEP), (joined_right, DEEP), (alternating, 900), (negated_alternating, 900)],
)
def test_depth_does_not_matter(join: object, depth: int) -> None:
    """Long chains, and nesting near the limit, do everything that small formulas do."""
    event = join([at([i % 7], i % 40) for i in range(depth)])
    again = join([at([i % 7], i % 40) for i in range(depth)])
    assert event == again
    assert hash(event) == hash(again)
    assert event != ~again
    assert len(repr(event)) < 300
    assert parse_event(str(event), {}) == event
    assert pickle.loads(pickle.dumps(event)) == event
    automaton = event.automaton()
    for trajectory in np.random.default_rng(1).integers(0, 9, size=(3, 40)):
        assert automaton.run(trajectory) == event.holds(trajectory)


def test_brackets_and_negations_may_be_nested_deeply() -> None:
    """The parser does not recurse, whatever is opened how often."""
    depth = 20_000
    text = "(" * depth + "not " * depth + "at({0}, 1)" + ")" * depth
    assert parse_event(text, {}) == at([0], 1)


def test_formulas_that_double_at_each_line_stay_small() -> None:
    """A formula whose text would have 2**120 terms is compared, hashed, evaluated, compiled."""

    def parity(steps: int) -> Event:
        event = at([0], 0)
        for step in range(1, steps):
            event = (event & ~at([0], step)) | (~event & at([0], step))
        return event

    event = parity(120)
    assert event == parity(120)
    assert len(repr(event)) < 300
    assert pickle.loads(pickle.dumps(event)) == event
    automaton = event.automaton()
    assert automaton.width == 2
    for visits in range(4):
        trajectory = [0] * visits + [1] * (120 - visits)
        assert event.holds(trajectory) == automaton.run(trajectory) == (visits % 2 == 1)


@pytest.mark.parametrize("join", [joined_left, joined_right])
def test_twenty_thousand_predicates_at_as_many_steps(join: object) -> None:
    """A long flat formula compiles into as many layers of two worlds."""
    count = 20_000
    automaton = join([at([0], i) for i in range(count)]).automaton()
    assert automaton.width == 2
    assert len(automaton.layers) == count
    assert automaton == presence([0], range(count)).automaton()


def test_long_nested_formulas_over_many_steps_compile() -> None:
    """Deep nesting along a long time is worked off by halves, in either direction of time."""
    steps = 1000
    forward = alternating([at([0], i) for i in range(600)])  # takes the square of their number
    backward = alternating([at([0], steps - i) for i in range(steps)])
    rng = np.random.default_rng(2)
    for event, width in ((forward, 2), (backward, 3)):
        automaton = event.automaton()
        assert automaton.width == width
        for trajectory in rng.integers(0, 2, size=(5, steps + 1)):
            assert automaton.run(trajectory) == event.holds(trajectory)
