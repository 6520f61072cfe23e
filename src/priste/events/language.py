"""The event language: text to formulas.

    event    =  event "or" event | event "and" event | "not" event | "(" event ")"
             |  "true" | "false"
             |  "at" "(" region "," step ")"
             |  "presence" "(" region "," steps ")"
             |  "pattern" "(" region "@" step { "," region "@" step } ")"
             |  "at_least" "(" number "," region "," steps ")"
    region   =  name | quoted name | "{" numbers "}"
    numbers  =  number [ ".." number ] { "," number [ ".." number ] }
    steps    =  step [ ".." step ] { "," step [ ".." step ] }

``not`` binds tightest, then ``and``, then ``or``; equal ones are read from the left.
Ranges include both ends. A step is a number unless the caller reads steps its own way.
Nothing here recurses, so brackets may be nested a million deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeAlias

from priste.errors import EventSyntaxError, InvalidParameter
from priste.events.formula import ALWAYS, NEVER, At, Event
from priste.events.predicates import counting, pattern_of, step_numbers
from priste.maps.cells import Cells, cell_numbers

SHOWN_BEFORE = 50
SHOWN_AFTER = 30
"""How much of the text an error shows around its character."""

SUGGESTIONS = 3
"""How many close names an error offers at most."""

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[^\W\d][\w-]*")
_QUOTED = re.compile(r'"[^"\n]*"')
# Steps and numbers: everything up to a blank, a mark of the language, or the ".." of a range.
_WORD = re.compile(r'(?:(?!\.\.)[^\s,(){}@"])+')


class Scanner:
    """A place in a text, and what can be read from there. Blanks never matter."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._skip_blanks()

    @property
    def at_end(self) -> bool:
        """Whether nothing but blanks is left."""
        return self.position == len(self.text)

    def sees(self, mark: str) -> bool:
        """Return whether a mark such as ``(`` or ``..`` comes next."""
        return self.text.startswith(mark, self.position)

    def take(self, mark: str) -> bool:
        """Step over a mark if it comes next; return whether it did."""
        if not self.sees(mark):
            return False
        self._advance(self.position + len(mark))
        return True

    def expect(self, mark: str, after: str) -> None:
        """Step over a mark that must come next."""
        if not self.take(mark):
            raise self.error(f"Expected '{mark}' after {after}, found {self.found()}.")

    def name(self) -> str | None:
        """Read a name without quotes if one comes next."""
        return self._match(_NAME)

    def quoted(self) -> str | None:
        """Read a text in double quotes if one comes next; the quotes are dropped."""
        if self.sees('"') and _QUOTED.match(self.text, self.position) is None:
            raise self.error("This quotation mark is never closed.")
        found = self._match(_QUOTED)
        return None if found is None else found[1:-1]

    def word(self) -> str | None:
        """Read a word for a number or step: up to a blank, a mark or ``..``; or quoted."""
        found = self.quoted()
        return self._match(_WORD) if found is None else found

    def found(self) -> str:
        """Describe what stands here, for an error."""
        if self.at_end:
            return "the end of the text"
        match = _NAME.match(self.text, self.position) or _WORD.match(self.text, self.position)
        text = match.group() if match else self.text[self.position]
        return f"'{text[:40]}'"

    def error(self, message: str, position: int | None = None) -> EventSyntaxError:
        """Return the error for a character (by default the next), with a line that shows it."""
        place = self.position if position is None else position
        line_start = self.text.rfind("\n", 0, place) + 1
        line_end = self.text.find("\n", place)
        line_end = len(self.text) if line_end < 0 else line_end
        start = max(line_start, place - SHOWN_BEFORE)
        end = min(line_end, place + SHOWN_AFTER)
        before = "..." if start > line_start else ""
        after = "..." if end < line_end else ""
        # Other blanks than spaces would move the caret away from its character.
        shown = re.sub(r"\s", " ", self.text[start:end])
        caret = " " * (len(before) + place - start) + "^"
        return EventSyntaxError(
            f"The event cannot be read at character {place}. {message}\n"
            f"  {before}{shown}{after}\n  {caret}",
            place,
        )

    def _match(self, expression: re.Pattern[str]) -> str | None:
        match = expression.match(self.text, self.position)
        if match is None:
            return None
        self._advance(match.end())
        return match.group()

    def _advance(self, position: int) -> None:
        self.position = position
        self._skip_blanks()

    def _skip_blanks(self) -> None:
        match = _SPACE.match(self.text, self.position)
        if match is not None:
            self.position = match.end()


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known names closest to a wrong one, or with all of a few."""
    names = list(known)
    lowered = {candidate.lower(): candidate for candidate in names}
    close = get_close_matches(name.lower(), lowered, n=SUGGESTIONS)
    if close:
        return f" Did you mean {' or '.join(repr(lowered[c]) for c in close)}?"
    if not names:
        return ""
    more = ", ..." if len(names) > SUGGESTIONS else ""
    return f" Known: {', '.join(repr(n) for n in names[:SUGGESTIONS])}{more}."


StepReader: TypeAlias = Callable[[str, str | None], Iterable[int]]
"""Reads one entry of a list of steps: the word, and the word after ``..`` or ``None``.

Returns the step numbers meant; raises ``ValueError`` with a message for the user.
"""

MAX_NUMBERS = 10_000_000
"""The most numbers that the ranges of one text may spell out."""

MAX_DIGITS = 18
"""Numbers have at most this many digits."""

_TIGHTNESS = {"or": 1, "and": 2, "not": 3}
_PREDICATES = ("at", "presence", "pattern", "at_least")
_STARTERS = (*_PREDICATES, "not", "true", "false")
_NO_REGIONS: Mapping[str, Cells] = MappingProxyType({})


def parse_event(
    text: str, regions: Mapping[str, Cells] = _NO_REGIONS, *, steps: StepReader | None = None
) -> Event:
    """Read an event from text; ``regions`` gives the cells of the names in it.

    Without regions, cells are written by number: ``parse_event(str(event)) == event`` for every
    event. Names that are not plain words are written in double quotes. ``steps`` replaces how
    steps are read (clock times, say).

    Raises :class:`EventSyntaxError`, whose ``position`` counts characters from 0 and whose
    message points at that character and offers close names.

    >>> e = parse_event("presence(clinic, 3..5) and not at({7}, 9)", {"clinic": [0, 1]})
    >>> print(e)
    presence({0, 1}, 3..5) and not at({7}, 9)
    >>> parse_event("at(clinc, 3)", {"clinic": [0, 1]})
    Traceback (most recent call last):
    ...
    priste.errors.EventSyntaxError: The event cannot be read at character 3. There is no region \
'clinc'. Did you mean 'clinic'?
      at(clinc, 3)
         ^
    """
    if not isinstance(text, str):
        raise InvalidParameter(
            "must be a str", parameter="text", owner="parse_event", value=type(text)
        )
    if not isinstance(regions, Mapping):
        raise InvalidParameter(
            "must map names to cells, such as {'home': [0, 1]}",
            parameter="regions",
            owner="parse_event",
            value=type(regions),
        )
    return _Parser(text, regions, steps).event()


class _Parser:
    """One reading of one text, from left to right."""

    def __init__(self, text: str, regions: Mapping[str, Cells], steps: StepReader | None) -> None:
        self._scanner = Scanner(text)
        self._regions = regions
        self._read_steps = steps
        self._known_regions: dict[str, frozenset[int]] = {}
        self._numbers_left = MAX_NUMBERS

    def event(self) -> Event:
        """Read the whole text: operands and connectives in turn, connectives on a stack."""
        scanner = self._scanner
        operands: list[Event] = []
        pending: list[tuple[str, int]] = []
        while True:
            self._read_operand(operands, pending)
            while scanner.sees(")"):
                _apply(operands, pending, 0)
                if not pending:
                    raise scanner.error("This bracket was never opened.")
                pending.pop()
                scanner.take(")")
            if scanner.at_end:
                break
            place = scanner.position
            word = scanner.name()
            if word not in ("and", "or"):
                scanner.position = place
                hint = suggestion(word, ("and", "or")) if word else ""
                raise scanner.error(f"Expected 'and' or 'or', found {scanner.found()}.{hint}")
            _apply(operands, pending, _TIGHTNESS[word])
            pending.append((word, place))
        _apply(operands, pending, 0)
        if pending:
            raise scanner.error("This bracket is never closed.", pending[-1][1])
        return operands[0]

    def _read_operand(self, operands: list[Event], pending: list[tuple[str, int]]) -> None:
        scanner = self._scanner
        while True:
            place = scanner.position
            if scanner.take("("):
                pending.append(("(", place))
                continue
            word = scanner.name()
            if word != "not":
                break
            pending.append(("not", place))
        if word == "true" or word == "false":
            operands.append(ALWAYS if word == "true" else NEVER)
        elif word in _PREDICATES:
            scanner.expect("(", f"'{word}'")
            operands.append(self._predicate(word, place))
            scanner.expect(")", f"what '{word}' is about")
        else:
            scanner.position = place
            hint = suggestion(word, _STARTERS) if word else ""
            raise scanner.error(
                f"Expected {', '.join(_PREDICATES)}, 'not', 'true', 'false' or '(', "
                f"found {scanner.found()}.{hint}"
            )

    def _predicate(self, word: str, place: int) -> Event:
        scanner = self._scanner
        if word == "pattern":
            return pattern_of(self._places())
        count = 1
        if word == "at_least":
            count = self._number("how often")
            scanner.expect(",", "the number of 'at_least'")
        cells = self._region()
        scanner.expect(",", "the region")
        if word == "at":
            return At(self._one_step("at"), cells)
        numbers = self._steps()
        if word == "presence":
            numbers = sorted(set(numbers))
        try:
            return counting(count, cells, numbers, word)
        except InvalidParameter as refused:
            raise scanner.error(str(refused), place) from None

    def _places(self) -> Iterable[tuple[int, frozenset[int]]]:
        while True:
            cells = self._region()
            self._scanner.expect("@", "the region")
            yield self._one_step("pattern"), cells
            if not self._scanner.take(","):
                break

    def _region(self) -> frozenset[int]:
        scanner = self._scanner
        place = scanner.position
        if scanner.take("{"):
            return self._cell_set(place)
        name = scanner.quoted()
        if name is None:
            name = scanner.name()
        if name is None:
            raise scanner.error(
                f"Expected a region: a name or cells such as {{0, 4..9}}. Found {scanner.found()}."
            )
        if name not in self._known_regions:
            if name not in self._regions:
                hint = suggestion(name, self._regions)
                if not self._regions:
                    hint = " Give its cells with regions={...}, or write them: {0, 4..9}."
                raise scanner.error(f"There is no region {name!r}.{hint}", place)
            try:
                cells = cell_numbers(self._regions[name], name=name)
            except InvalidParameter as refused:
                raise scanner.error(str(refused), place) from refused
            self._known_regions[name] = cells
        return self._known_regions[name]

    def _cell_set(self, place: int) -> frozenset[int]:
        cells: set[int] = set()
        while True:
            cells.update(self._number_range("a cell number"))
            if not self._scanner.take(","):
                break
        if not self._scanner.take("}"):
            raise self._scanner.error(
                f"Expected ',' or '}}' in a set of cells, found {self._scanner.found()}."
            )
        try:
            return cell_numbers(cells, name="cells")
        except InvalidParameter as refused:
            raise self._scanner.error(str(refused), place) from None

    def _one_step(self, predicate: str) -> int:
        place = self._scanner.position
        numbers = self._step_entry()
        if len(numbers) != 1:
            raise self._scanner.error(
                f"'{predicate}' takes one step here. Got {len(numbers)}. "
                "For any of several steps use presence.",
                place,
            )
        return numbers[0]

    def _steps(self) -> list[int]:
        numbers: list[int] = []
        while True:
            numbers.extend(self._step_entry())
            if not self._scanner.take(","):
                return numbers

    def _step_entry(self) -> list[int]:
        """Read one entry of a list of steps, the caller's way if there is one."""
        scanner = self._scanner
        if self._read_steps is None:
            return list(self._number_range("a step number"))
        place = scanner.position
        first = self._word("a step")
        last = self._word("a step") if scanner.take("..") else None
        try:
            numbers = step_numbers(self._read_steps(first, last), "this")
        except EventSyntaxError:
            raise
        except ValueError as refused:
            raise scanner.error(str(refused), place) from refused
        self._spend(len(numbers), place)
        return numbers

    def _number_range(self, what: str) -> range:
        place = self._scanner.position
        first = self._number(what)
        if not self._scanner.take(".."):
            return range(first, first + 1)
        end = self._scanner.position
        last = self._number(what)
        if last < first:
            raise self._scanner.error(f"A range must not go down. Got {first}..{last}.", end)
        self._spend(last - first + 1, place)
        return range(first, last + 1)

    def _number(self, what: str) -> int:
        place = self._scanner.position
        word = self._word(what)
        if not (word.isascii() and word.isdecimal()):
            raise self._scanner.error(
                f"Expected {what}, a whole number >= 0. Found '{word[:40]}'.", place
            )
        if len(word) > MAX_DIGITS:
            raise self._scanner.error(
                f"Numbers have at most {MAX_DIGITS} digits. Got {len(word)}.", place
            )
        return int(word)

    def _word(self, what: str) -> str:
        word = self._scanner.word()
        if word is None:
            raise self._scanner.error(f"Expected {what}, found {self._scanner.found()}.")
        return word

    def _spend(self, numbers: int, place: int) -> None:
        # A dozen characters can spell out more numbers than fit the memory.
        self._numbers_left -= numbers
        if self._numbers_left < 0:
            raise self._scanner.error(
                f"The ranges of an event may spell out {MAX_NUMBERS:,} numbers in all. "
                "With this one there are more.",
                place,
            )


def _apply(operands: list[Event], pending: list[tuple[str, int]], tightness: int) -> None:
    """Apply the pending connectives that bind at least this tightly, back to a bracket."""
    while pending and pending[-1][0] != "(" and _TIGHTNESS[pending[-1][0]] >= tightness:
        word, _ = pending.pop()
        last = operands.pop()
        if word == "not":
            operands.append(~last)
        elif word == "and":
            operands.append(operands.pop() & last)
        else:
            operands.append(operands.pop() | last)
