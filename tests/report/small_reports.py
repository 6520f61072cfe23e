"""A small report, and a strict reader of pages."""

import math
from html.parser import HTMLParser

import numpy as np

from priste import Grid
from priste.audit import EventAudit
from priste.report import EventTrack, StreamReport
from priste.results import CONSTANT, PRISTE, UNCALIBRATED, Usefulness, Worth
from priste.results.usefulness import CURVE_KM

STEPS = 6


GRID = Grid(rows=3, columns=4, cell_size=0.5)


def a_worth() -> Usefulness:
    """Return made-up errors: a third of the releases within 25 m, two within 500 m, all at 1 km."""
    known = Worth(500.0, 900.0, 300.0, 0.66, 0.33, 450.0)
    told = np.select([CURVE_KM < 0.5, CURVE_KM < 1.0], [1 / 3, 2 / 3], 1.0)
    return Usefulness(
        errors=(0.0, 0.5, None, 1.0, None, None),
        ways={PRISTE: known, UNCALIBRATED: known, CONSTANT: known},
        shares={PRISTE: tuple(told.tolist()), UNCALIBRATED: tuple(told.tolist())},
        median=500.0,
        cell_size=0.5,
    )


def a_report(**changes: object) -> StreamReport:
    """Return a small stream that keeps its guarantee for one of two events."""
    kept = EventTrack(
        name="clinic <b>&",
        period=None,
        text="presence(clinic, 2..3)",
        epsilon=0.5,
        steps=(2, 3),
        guarded=EventAudit(
            (0.1, 0.2, 0.5, 0.4, 0.3, 0.3), (0.2,) * STEPS, 0.18, {3: 0.25, 7: 0.75}
        ),
        uncalibrated=EventAudit(
            (0.3, 1.0, 2.0, math.inf, math.inf, 3.0), (0.9,) * STEPS, 0.18, {3: 1.0}
        ),
    )
    known = {
        "title": "Ada's week",
        "grid": GRID,
        "times": tuple(f"Mon {h:02d}:00" for h in range(STEPS)),
        "guarantee": ("Nobody can tell.",),
        "regions": {"clinic": (5, 6)},
        "events": (kept,),
        "released": (0, 1, None, 5, 11, 11),
        "budgets": (1.0, 1.0, 0.0, 0.25, 0.5, 1.0),
        "full_budget": 1.0,
        "usefulness": a_worth(),
    }
    return StreamReport(**{**known, **changes})  # type: ignore[arg-type]


class Strict(HTMLParser):
    """Collects what a browser would fetch, and checks that elements close in order."""

    VOID = frozenset({"meta", "br", "path", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action", "data") and value:
                self.fetched.append(value)
