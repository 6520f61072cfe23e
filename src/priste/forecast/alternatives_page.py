"""The comparison with alternatives as a table, a picture and a page: odds beside mean errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from priste.forecast.alternatives_compared import Comparison, EventFigures, Way
from priste.forecast.picture import FAR, NEAR, save_drawn
from priste.results import length, odds, percent, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DRAWN = math.log(1e6)
"""Leakages above are drawn as this one; their words say what they are."""

HEADS = (
    "way to release",
    "event",
    "odds moved",
    "towards it",
    "any prior",
    "own history",
    "belief before",
    "and after",
    "mean error",
    "silent",
)


@dataclass(frozen=True)
class Line:
    """One row of the table: texts in the order of ``HEADS``, and widths of bars in percent.

    ``over`` are the places of leakages above what the policy allows, guaranteed or not.
    """

    cells: tuple[str, ...]
    words: str
    over: frozenset[int]
    leakage_width: float
    error_width: float


def lines_of(found: Comparison) -> tuple[Line, ...]:
    """Return a line for each way to release and event."""
    widest = _widest(found)
    lines = []
    for way in found.ways:
        for number, (name, figures) in enumerate(way.events.items()):
            own, first = figures.own_history, number == 0
            lines.append(
                Line(
                    (
                        way.name if first else "",
                        name,
                        odds(figures.leakage),
                        odds(figures.towards),
                        odds(figures.any_prior),
                        "–" if own is None else odds(own),
                        percent(figures.before),
                        "–" if math.isnan(figures.after) else percent(figures.after),
                        length(way.error) if first else "",
                        percent(way.silent) if first else "",
                    ),
                    way.words if first else "",
                    frozenset(
                        place
                        for place, leakage in _judged(figures).items()
                        if not within(leakage, figures.epsilon)
                    ),
                    round(100 * min(figures.leakage, MOST_DRAWN) / MOST_DRAWN, 2),
                    0.0 if math.isnan(way.error) else round(100 * way.error / widest, 2),
                )
            )
    return tuple(lines)


def comparison_page(found: Comparison, *, title: str = "Ways to release, compared") -> str:
    """Return the page of a comparison, self-contained: a pure function of what was found."""
    from priste.report.pages import page

    bounds = {
        name: round(100 * min(figures.epsilon, MOST_DRAWN) / MOST_DRAWN, 2)
        for name, figures in found.ways[0].events.items()
    }
    return page(
        "alternatives.html",
        title=title,
        found=found,
        heads=HEADS,
        lines=lines_of(found),
        bounds=bounds,
    )


def comparison_figure(found: Comparison) -> Figure:
    """Return the picture: per way how far odds moved at most, and the mean error beside it."""
    import matplotlib
    from matplotlib.figure import Figure

    from priste.report.figures import INK, STYLE

    names = [way.name for way in found.ways]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 1.4 + 0.3 * len(names)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for place, way in enumerate(found.ways):
            ink = FAR if way.kept else NEAR
            drawn = min(way.leakage, MOST_DRAWN)
            left.barh(place, max(drawn, 0.02), color=ink, height=0.6)
            left.text(drawn + 0.15, place, odds(way.leakage), va="center", fontsize=7.5)
            if math.isnan(way.error):
                right.text(0.02, place, "nothing released", va="center", fontsize=7.5)
            else:
                right.barh(place, way.error / 1000, color=ink, height=0.6)
                right.text(
                    way.error / 1000 + 0.01 * _widest(found) / 1000,
                    place,
                    _said(way),
                    va="center",
                    fontsize=7.5,
                )
        for figures in found.ways[0].events.values():
            left.axvline(min(figures.epsilon, MOST_DRAWN), color=INK, linewidth=1.0, linestyle=":")
        ticks = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
        left.set_xticks(
            [math.log(tick) for tick in ticks], ["1", "10", "100", "10³", "10⁴", "10⁵", "10⁶"]
        )
        left.set_xlim(0, MOST_DRAWN + 5)
        left.set_yticks(range(len(names)), names)
        left.set_ylim(len(names) - 0.5, -0.5)
        left.set(title="Odds of the event moved at most ×")
        right.set(title="Mean error, km")
        right.set_xlim(0, 1.3 * _widest(found) / 1000)
        for axes in (left, right):
            axes.grid(visible=False, axis="y")
            axes.set_axisbelow(True)
        figure.supxlabel("dotted: the guarantee of the policy; red: above it", fontsize=8)
    return figure


def save_comparison(found: Comparison, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the comparison by its suffix: a page (.html) or a picture."""
    return save_drawn(
        path, lambda: comparison_page(found), lambda: comparison_figure(found), overwrite=overwrite
    )


def _judged(figures: EventFigures) -> dict[int, float]:
    """Return the leakages over the directions of the guarantee, by their places in ``HEADS``."""
    own = {} if figures.own_history is None else {5: figures.own_history}
    return {2: figures.leakage, 4: figures.any_prior, **own}


def _widest(found: Comparison) -> float:
    return max([way.error for way in found.ways if not math.isnan(way.error)], default=1.0) or 1.0


def _said(way: Way) -> str:
    silent = f", {percent(way.silent)} silent" if way.silent > 0 else ""
    return length(way.error) + silent
