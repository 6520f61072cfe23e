"""Two searches with the same answers: which of them is asked.

Compiling the kernels takes seconds once per installation, and loading them most of one in every
process. So the first questions of a process are answered by the plain search, until about as much
time has gone into it as loading takes.
"""

from __future__ import annotations

import threading
from typing import Any

from priste.quantify.worst_prior import kernels, plain_search
from priste.quantify.worst_prior.compilation import compile_kernels

PLAIN_WORK = 1_500_000
"""How many rows of columns the plain search goes through in a process, at some 0.6 µs each."""

COLUMN_WORK = 500
"""What a column costs beside its rows, in rows."""

_turn = threading.Lock()
_work_left = PLAIN_WORK
_ready = False


def compile_now() -> None:
    """Compile or load the kernels, and use them from now on."""
    global _ready
    with _turn:
        compile_kernels(vars(kernels))
        _ready = True


def column_search(events: kernels.Floats, *arguments: Any) -> None:
    """Do what ``kernels.column_search`` does, given the same arguments."""
    global _work_left
    if not _ready:
        columns, rows = events.shape
        _work_left -= columns * (rows + COLUMN_WORK)
        if _work_left > 0:
            plain_search.column_search(events, *arguments)
            return
        compile_now()
    kernels.column_search(events, *arguments)
