"""What a stream belongs to: a user, a policy, a data set; kept in its file, insisted on later.

A journal of somebody else, or of another policy, is as well-formed as the right one. Continuing
it would print wrong guarantees, so a door that opens a journal says what it expects to find.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priste.errors import InvalidParameter, StateError

LONGEST_TEXT = 1000
"""Characters of a name or a text in a binding, at most: fingerprints, not documents."""

Binding = dict[str, str]


def checked_binding(binding: Mapping[str, str] | None) -> Binding:
    """Return a binding in the order of its names, or raise InvalidParameter.

    >>> checked_binding({"user": "ada", "policy": "5f3a"})
    {'policy': '5f3a', 'user': 'ada'}
    """
    if binding is None:
        return {}
    if not isinstance(binding, Mapping):
        raise InvalidParameter(
            "The 'binding' of a stream must be a mapping from names to texts. "
            f"Got {type(binding).__name__}."
        )
    for name, text in binding.items():
        for part in (name, text):
            if not isinstance(part, str) or len(part) > LONGEST_TEXT:
                raise InvalidParameter(
                    "The 'binding' of a stream must map names to texts of at most "
                    f"{LONGEST_TEXT} characters; a digest stands for what is longer."
                )
    return dict(sorted(binding.items()))


def check_binding(
    header: Mapping[str, Any], expected: Mapping[str, str] | None, path: Path
) -> Binding:
    """Return what the stream of a header belongs to; StateError if something else is expected.

    ``expected`` None expects nothing.
    """
    try:
        found = checked_binding(header["binding"])
    except (KeyError, InvalidParameter) as problem:
        raise StateError(
            f"The state file {str(path)!r} does not say what it belongs to. It was left as it is."
        ) from problem
    if expected is None:
        return found
    wanted = checked_binding(expected)
    if wanted == found:
        return found
    differing = [
        f"its {name!r} is {_shown(found.get(name))} where {_shown(wanted.get(name))} is expected"
        for name in sorted({*wanted, *found})
        if wanted.get(name) != found.get(name)
    ]
    raise StateError(
        f"The stream in {str(path)!r} belongs to something else: {'; '.join(differing)}. "
        "Continuing it here would guarantee what is not so. It was left as it is; give the file "
        "of this stream, or begin a new one at another path."
    )


def _shown(text: str | None) -> str:
    if text is None:
        return "missing"
    return repr(text if len(text) <= 80 else text[:77] + "...")
