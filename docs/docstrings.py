"""Docstrings as the site shows them: examples as code, references as names."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^ *>>> .*\n?(?:^ *(?!>>>)\S.*\n?)*)+", re.MULTILINE)
STRAY_QUOTE = re.compile(r"^( *)> ?(?==)", re.MULTILINE)
"""A line that begins with a comparison would be shown as a quotation."""

REFERENCE = re.compile(r":\w+:`~?([^`<]+)`")


class Docstrings(griffe.Extension):
    """Turn doctests into code blocks and roles such as ``:class:`` into plain names."""

    def on_object(self, *, obj: griffe.Object, loader: Any, **kwargs: Any) -> None:
        """Change the text of one docstring."""
        if obj.docstring is not None:
            text = EXAMPLE.sub(
                lambda m: f"\n```pycon\n{m[0].rstrip()}\n```\n",
                STRAY_QUOTE.sub(r"\1\\>", obj.docstring.value),
            )
            obj.docstring.value = REFERENCE.sub(r"`\1`", text)
