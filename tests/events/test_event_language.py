"""The event language: what it reads, how it prints, and where its errors point."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.events.formula_strategies import formulas
from tests.oracles.event_enumeration import Formula, to_event

from priste.errors import EventSyntaxError, InvalidParameter
from priste.events import ALWAYS, NEVER, at, at_least, parse_event, pattern, presence

REGIONS = {"home": [0, 1], "office": [2], "gym": range(4, 7), "St. Mary's": [8], "at": [9]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at(home, 3)", at([0, 1], 3)),
        ("presence(home, 3..7)", presence([0, 1], range(3, 8))),
        ("presence(home, 1,3,5)", presence([0, 1], [1, 3, 5])),
        ("presence(home, 9, 1..2, 2..3)", presence([0, 1], [1, 2, 3, 9])),
        ("pattern(home@3, office@5)", pattern([[0, 1], [2]], [3, 5])),
        ("pattern({0, 1, 5..9}@0)", at([0, 1, 5, 6, 7, 8, 9], 0)),
        ("at_least(2, gym, 0..20)", at_least(2, [4, 5, 6], range(21))),
        ('at("St. Mary\'s", 0)', at([8], 0)),
        ("at(at, 0)", at([9], 0)),
        ("true", ALWAYS),
        ("not false", ~NEVER),
        ("  at ( { 1 , 3 .. 4 } , 2 )\n", at([1, 3, 4], 2)),
        ("at(home,1) or at(home,2) and not at(home,3)",
         at([0, 1], 1) | (at([0, 1], 2) & ~at([0, 1], 3))),
        ("(at(home,1) or at(home,2)) and at(home,3)",
         (at([0, 1], 1) | at([0, 1], 2)) & at([0, 1], 3)),
        ("not (at(home,1) and not not at(home,2))", ~(at([0, 1], 1) & at([0, 1], 2))),
        ("at(home,1) or (at(home,2) or at(home,3))",
         at([0, 1], 1) | (at([0, 1], 2) | at([0, 1], 3))),
    ],
)  # fmt: skip
def test_reads_the_language(text: str, expected: object) -> None:
    """Each form of the language gives the event that Python writes."""
    assert parse_event(text, REGIONS) == expected


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (at([1, 0], 3), "at({0, 1}, 3)"),
        (presence([4], [7, 3, 4, 5]), "presence({4}, 3..5, 7)"),
        (at_least(2, range(3), [1]), "at_least(2, {0..2}, 1)"),
        (pattern([[1], [2]], [5, 3]), "pattern({1}@5, {2}@3)"),
        (~(at([0], 1) | ALWAYS), "not (at({0}, 1) or true)"),
        (at([0], 1) | at([0], 2) | (at([0], 3) | NEVER),
         "at({0}, 1) or at({0}, 2) or (at({0}, 3) or false)"),
        ((at([0], 1) & ~at([0], 2)) | at([0], 3), "at({0}, 1) and not at({0}, 2) or at({0}, 3)"),
    ],
)  # fmt: skip
def test_prints_the_language(event: object, text: str) -> None:
    """Events print as a person would write them, with brackets where they are needed."""
    assert str(event) == text


@examples(300)
@given(formulas)
def test_printing_and_reading_round_trip(formula: Formula) -> None:
    """Reading what an event prints gives an equal event, with no regions needed."""
    event = to_event(formula)
    again = parse_event(str(event), {})
    assert again == event
    assert hash(again) == hash(event)
    assert str(again) == str(event)


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "the end of the text"),
        ("   ", 3, "the end of the text"),
        ("at(hme, 3)", 3, "Did you mean 'home'?"),
        ("at(HOME, 3)", 3, "Did you mean 'home'?"),
        ("presense(home, 3)", 0, "Did you mean 'presence'"),
        ("at(home, 3) AND at(home, 4)", 12, "Did you mean 'and'?"),
        ("at(home, 3) at(home, 4)", 12, "Expected 'and' or 'or'"),
        ("at(home, 3) and", 15, "the end of the text"),
        ("at(home, 3) and or at(home, 4)", 16, "found 'or'"),
        ("at(home 3)", 8, "Expected ','"),
        ("at(home, -1)", 9, "whole number >= 0"),
        ("at(home, 1.5)", 9, "whole number >= 0"),
        ("at(home, ²)", 9, "whole number >= 0"),
        ("at(home, 3..4)", 9, "takes one step"),
        ("at(home, 3", 10, "Expected ')'"),
        ("at home", 3, "Expected '('"),
        ("((at(home, 3))", 0, "never closed"),
        ("at(home, 3))", 11, "never opened"),
        ("presence(home, 7..3)", 18, "must not go down"),
        ("presence(home, )", 15, "found ')'"),
        ("presence(home)", 13, "Expected ','"),
        ("presence({}, 3)", 10, "found '}'"),
        ("presence({1 2}, 3)", 12, "Expected ',' or '}'"),
        ("presence({1, home}, 3)", 13, "a cell number"),
        ("presence({99999999999}, 3)", 9, "cell number"),
        ("presence({0..99999999999}, 3)", 10, "spell out"),
        ("presence(home, 0..99999999999)", 15, "spell out"),
        ("at(home, 9999999999999999999)", 9, "at most 18 digits"),
        ("pattern(home, office)", 12, "Expected '@'"),
        ("pattern()", 8, "Expected a region"),
        ("at_least(home, 2, 0..3)", 9, "how often"),
        ("at_least(2, gym, 1, 1)", 0, "must all differ"),
        ('at("home, 3)', 3, "never closed"),
        ("at(home, 3) # why", 12, "found '#'"),
        ("at(empty, 3)", 3, "at least one cell"),
    ],
)  # fmt: skip
def test_errors_point_at_the_character(text: str, position: int, words: str) -> None:
    """Each mistake is reported at its own character, in words, with a caret under it."""
    with pytest.raises(EventSyntaxError) as caught:
        parse_event(text, {**REGIONS, "empty": []})
    message = str(caught.value)
    assert caught.value.position == position
    assert words in message
    _, shown, caret = message.rsplit("\n", 2)
    assert len(caret) - 1 == 2 + position
    assert shown[2:].rstrip() == text.rstrip()


def test_the_caret_stays_in_sight_of_long_and_broken_texts() -> None:
    """In a long text of several lines the error shows the part around its character."""
    text = "at(home, 1)\n or " + "at(home, 2) or " * 50 + "at(hmoe, 3)" + " or at(home, 4)" * 50
    with pytest.raises(EventSyntaxError) as caught:
        parse_event(text, REGIONS)
    _, shown, caret = str(caught.value).rsplit("\n", 2)
    assert text[caught.value.position :].startswith("hmoe")
    assert shown[len(caret) - 1 :].startswith("hmoe")
    assert len(shown) < 100


def test_steps_can_be_read_the_callers_way() -> None:
    """A step reader turns words of its own (here hours) into steps, ranges included."""

    def hours(first: str, last: str | None) -> list[int]:
        ends = [int(word.removesuffix(":00")) * 2 for word in (first, last or first)]
        return list(range(ends[0], ends[1] + 1))

    regions = {"home": [0]}
    assert parse_event("presence(home, 8:00..9:00)", regions, steps=hours) == presence(
        [0], [16, 17, 18]
    )
    assert parse_event('at(home, "8:00")', regions, steps=hours) == at([0], 16)
    with pytest.raises(EventSyntaxError, match="invalid literal") as caught:
        parse_event("at(home, noon)", regions, steps=hours)
    assert caught.value.position == 9
    with pytest.raises(EventSyntaxError, match="whole number >= 0"):
        parse_event("at(home, 1:00)", regions, steps=lambda first, last: [-1])
    with pytest.raises(EventSyntaxError, match="at least one step"):
        parse_event("at(home, 1:00)", regions, steps=lambda first, last: [])


@pytest.mark.parametrize(("text", "regions"), [(3, {}), (b"true", {}), ("true", [("a", [1])])])
def test_wrong_types_are_refused(text: object, regions: object) -> None:
    """Anything but text and a mapping of regions is an invalid parameter."""
    with pytest.raises(InvalidParameter, match="parse_event"):
        parse_event(text, regions)


WORDS = [
    "(",
    ")",
    "{",
    "}",
    "@",
    ",",
    ".",
    "..",
    "and",
    "or",
    "not",
    "at",
    "presence",
    "pattern",
    "at_least",
    "true",
    "home",
    "office",
    "0",
    "7",
    "-1",
    "1..3",
    "{0}",
    "é",
    '"',
]
garbage = st.lists(
    st.sampled_from([*WORDS, " ", "\n", "\x00", "at(home, 3)", "9" * 30]), max_size=12
)


def mistake_in(text: str) -> EventSyntaxError | None:
    """Read a text; return its syntax error, or None after checking that it round-trips."""
    try:
        event = parse_event(text, REGIONS)
    except EventSyntaxError as error:
        return error
    assert parse_event(str(event), {}) == event
    return None


@examples(400)
@given(garbage.map("".join) | st.text(max_size=30))
def test_garbage_is_read_or_refused_at_a_character(text: str) -> None:
    """Any text either is an event or an EventSyntaxError within the text; nothing else."""
    mistake = mistake_in(text)
    assert mistake is None or 0 <= mistake.position <= len(text)


def test_a_mistake_anywhere_in_a_good_text_never_escapes_as_another_error() -> None:
    """Deleting or replacing any one character gives an event or a syntax error."""
    text = 'not (presence(home, 3..7) and at_least(2, {0, 4..6}, 1, 2)) or pattern("at"@0, gym@1)'
    for place in range(len(text)):
        for wrong in ("", "(", ")", "..", "9", "x", '"', "@"):
            broken = text[:place] + wrong + text[place + 1 :]
            mistake = mistake_in(broken)
            assert mistake is None or 0 <= mistake.position <= len(broken)


def test_an_event_of_numbered_cells_needs_no_regions() -> None:
    """Text with cells by number is read without regions; a name then says how to give it."""
    assert parse_event("at({0, 4..6}, 3)") == at([0, 4, 5, 6], 3)
    with pytest.raises(EventSyntaxError, match=r"no region 'home'\. Give its cells with regions="):
        parse_event("at(home, 3)")
