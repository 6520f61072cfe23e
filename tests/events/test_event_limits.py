"""Events that need too many worlds are refused, and the message says where and why."""

import pytest

from priste.errors import InvalidParameter, PristeError, TooManyWorlds
from priste.events import Event, at, at_least, building, presence


def same_later(pairs: int) -> Event:
    """In cell 0 at step i exactly if at step pairs + i: all the first steps must be kept."""
    event = None
    for i in range(pairs):
        early, late = at([0], i), at([0], pairs + i)
        same = (early & late) | (~early & ~late)
        event = same if event is None else event & same
    return event


def test_width_is_bounded_and_the_reason_told() -> None:
    """The message has the width, the step, the limit and the parts that are open there."""
    event = same_later(7)
    with pytest.raises(TooManyWorlds) as caught:
        event.automaton(max_worlds=100)
    message = str(caught.value)
    # After the first half each of the 2**7 beginnings is a world of its own; then "failed" is.
    assert "129 worlds after step 7" in message or "128 worlds after step 6" in message
    assert "limit of 100" in message
    assert "'at({0}, " in message or "'pattern(" in message
    assert "more" in message
    assert isinstance(caught.value, PristeError)


def test_the_limit_is_the_exact_width() -> None:
    """An event is refused just below its width and accepted at it, cached or not."""
    width = same_later(5).automaton().width
    for event in (same_later(5), same_later(5)):
        assert event.automaton(max_worlds=width).width == width
        with pytest.raises(TooManyWorlds):
            event.automaton(max_worlds=width - 1)
    fresh = same_later(5)
    with pytest.raises(TooManyWorlds):
        fresh.automaton(max_worlds=width - 1)
    assert fresh.automaton(max_worlds=width).width == width


def test_an_explosion_is_stopped_on_the_way() -> None:
    """An event with 2**40 worlds is refused long before they are made."""
    with pytest.raises(TooManyWorlds, match="passes through at least"):
        same_later(40).automaton()


def test_counting_far_too_much_is_refused() -> None:
    """A count with too many open values names itself as the reason."""
    with pytest.raises(TooManyWorlds, match="51 worlds after step 49") as caught:
        at_least(50, [0], range(200)).automaton(max_worlds=50)
    assert "much to count: 'at_least(50, {0}, 0..199)'" in str(caught.value)
    with pytest.raises(TooManyWorlds, match="at least 20,000 worlds at step 19999"):
        at_least(20_000, [0], range(40_000)).automaton()
    # What cannot be reached any more is no world: nearly all of them is nearly none missing.
    assert at_least(199, [0], range(200)).automaton(max_worlds=3).width == 3


def test_a_part_that_is_wide_does_not_matter_if_the_whole_is_not() -> None:
    """Parts may be several times wider than the limit when the event itself is narrow."""
    wide = same_later(7)
    narrow = wide & at([5], 0) & at([6], 0)
    assert narrow.automaton(max_worlds=100).constant is False
    assert (wide | presence([0], [3])).automaton(max_worlds=100).width <= 100


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the allowed work or room is used up, the event is refused and says in which part."""
    for limit in ("MAX_WORK", "MAX_ROOM"):
        with monkeypatch.context() as patch:
            patch.setattr(building, limit, 50)
            with pytest.raises(TooManyWorlds, match="given up") as caught:
                same_later(5).automaton()
            assert "in the part '" in str(caught.value)
            assert "({0}" in str(caught.value)


@pytest.mark.parametrize("limit", [1, 0, -5, True, 2.0, "10", None])
def test_the_limit_must_make_sense(limit: object) -> None:
    """A limit below two worlds, or no whole number, is refused."""
    with pytest.raises(InvalidParameter, match="max_worlds"):
        at([0], 1).automaton(max_worlds=limit)
