"""XML files of fixes, read element by element: nothing is held but the element at hand."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from priste.errors import TraceError

Element = ElementTree.Element


def elements(file: IO[bytes], name: str, wanted: frozenset[str]) -> Iterator[Element]:
    """Yield each element whose tag, without its namespace, is wanted, complete and in order.

    Errors say where the file breaks and show nothing of what it holds. A document type is refused:
    no format of fixes has a use for one, and entities can be made to fill the memory.
    """
    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(["start", "end"])
    depth = 0
    before = b""
    try:
        while block := file.read(1 << 16):
            here = before + block  # a declaration may lie across two blocks
            before = block[-len(b"<!DOCTYPE") :]
            if b"<!DOCTYPE" in here or b"<!ENTITY" in here:
                raise TraceError(
                    f"{name} declares a document type or entities, which can be made to fill the "
                    "memory. Remove the declaration."
                )
            parser.feed(block)
            for event, element in cast(Iterator[tuple[str, object]], parser.read_events()):
                if not isinstance(element, Element):
                    continue
                is_wanted = tag(element) in wanted
                if event == "start":
                    depth += is_wanted
                elif is_wanted:
                    depth -= 1
                    yield element
                    element.clear()
                elif depth == 0:
                    element.clear()
        parser.close()
    except (zlib.error, zipfile.BadZipFile, EOFError):  # of a document in an archive
        raise TraceError(f"{name} cannot be unpacked to its end. It may be damaged.") from None
    except ElementTree.ParseError as error:
        line, column = error.position
        raise TraceError(
            f"{name} is not well-formed XML: it breaks at line {line}, column {column}. It may "
            "have been cut off."
        ) from None


def tag(element: Element) -> str:
    """Return the tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def text_of(element: Element, *path: str) -> str | None:
    """Return the text of the first descendant along tags without namespaces."""
    for name in path:
        found = next((child for child in element if tag(child) == name), None)
        if found is None:
            return None
        element = found
    return element.text


def number_of(text: str | None) -> float | None:
    """Return a text as a number, None where it is none."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def write_lines(target: Path, lines: Iterator[str]) -> None:
    """Write lines of XML as UTF-8."""
    with target.open("w", encoding="utf-8", newline="\n") as out:
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        out.writelines(f"{line}\n" for line in lines)
