"""Small maps, models and events on which every history of a stream can be walked."""

from __future__ import annotations

import numpy as np

from priste.events import Event, at, at_least, pattern, presence
from priste.maps import Grid
from priste.mobility import MarkovModel

LINE = Grid(rows=1, columns=3, cell_size=1.0)

MATRIX = np.array([[0.5, 0.375, 0.125], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
"""Rows are exact in binary; one move is impossible."""

WALK = MarkovModel(LINE, MATRIX)

EVENTS: dict[str, Event] = {
    "at once": at([0], 0),
    "present later": presence([0], [1, 2]),
    "commute": pattern([[0], [2]], [0, 2]),
    "twice": at_least(2, [0, 1], [0, 1, 2]),
    "mixed": (at([0], 0) & ~at([2], 1)) | at([1], 2),
}
