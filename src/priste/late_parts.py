"""What lower packages ask of higher ones: by name, and loaded when it is first asked for.

Imports point one way. A few methods people look for on an object of a lower package are work of a
higher one: a model is fitted on a frame, a grid draws itself. These are all of them; no other
module names a package above its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PROVIDERS = {
    "frames": "priste.frames",
    "display": "priste.display",
}


def late(name: str) -> Any:
    """Return the module that does a piece of work for lower packages."""
    return import_module(PROVIDERS[name])
