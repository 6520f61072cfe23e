"""XML files of fixes, read element by element; only the present element is in memory."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import cast

from priste.errors import TraceError
from priste.traces.sources import SourceFile

Element = ElementTree.Element


def elements(file: SourceFile, wanted: frozenset[str]) -> Iterator[Element]:
    """Yield each element whose tag is wanted, complete and in order, tags without namespaces.

    Errors say where the file breaks and show nothing of what it holds. A document type is refused:
    no format of fixes has a use for one, and entities can be made to fill the memory.
    """
    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(["start", "end"])
    path: list[Element] = []
    inside = 0
    before = b""
    with file.open() as opened:
        try:
            while block := opened.read(1 << 16):
                here = (before + block).replace(b"\0", b"")  # also in UTF-16
                before = block[-32:]  # a declaration may lie across two blocks
                if b"<!DOCTYPE" in here or b"<!ENTITY" in here:
                    raise TraceError(
                        f"{file.name} declares a document type or entities, which can be made to "
                        "fill the memory",
                        hint="Remove the declaration.",
                    )
                parser.feed(block)
                for event, element in cast(Iterator[tuple[str, object]], parser.read_events()):
                    if not isinstance(element, Element):
                        continue
                    if event == "start":
                        element.tag = str(element.tag).rpartition("}")[2]
                        path.append(element)
                        inside += element.tag in wanted
                        continue
                    path.pop()
                    if element.tag in wanted:
                        inside -= 1
                        yield element
                    if not inside:
                        element.clear()
                        if path:
                            path[-1].remove(element)
            parser.close()
        except ElementTree.ParseError as error:
            line, column = error.position
            raise TraceError(
                f"{file.name} is not well-formed XML: it breaks at line {line}, column {column}",
                hint="It may have been cut off.",
            ) from None
        except (ValueError, LookupError):  # an encoding that nobody knows
            raise TraceError(
                f"{file.name} is not text in the encoding that it declares.",
                hint="Save it as UTF-8.",
            ) from None


def text_of(element: Element, path: str) -> str | None:
    """Return the text of the first descendant along tags, such as "Position/LatitudeDegrees"."""
    found = element.findtext(path)
    return None if found is None else found.strip()


def number_of(text: str | None) -> float | None:
    """Return a text as a number, None where it is none."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
