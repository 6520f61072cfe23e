"""Reading event text word by word, with errors that point at the character."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from priste.errors import EventSyntaxError

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
