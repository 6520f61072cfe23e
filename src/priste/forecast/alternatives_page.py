"""The comparison with alternatives as a table, a picture and a page: odds next to mean errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from priste.forecast.alternatives_compared import Comparison, EventFigures, Way
from priste.forecast.picture import save_drawn
from priste.report.charts import BarGroup, ValueBar
from priste.results import length, odds, percent, within

MOST_DRAWN = math.log(1e6)
"""Leakages above are drawn as this one; their words say what they are."""

NOTE = "odds on a logarithmic scale; the mark is the guarantee of the policy, red is above it"

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


EVENT, OWN_HISTORY = 1, 5
"""The places in ``HEADS`` of what is shown only where there are several events, or a trace."""


def shown_places(found: Comparison) -> tuple[int, ...]:
    """Return the places in ``HEADS`` of the columns that say something of this comparison."""
    left_out = set() if found.opened else {OWN_HISTORY}
    if len(found.ways[0].events) == 1:
        left_out.add(EVENT)
    return tuple(place for place in range(len(HEADS)) if place not in left_out)


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
                        _short(figures.leakage),
                        _short(figures.towards),
                        _short(figures.any_prior),
                        "–" if own is None else _short(own),
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


def _short(leakage: float) -> str:
    """Say a leakage in few letters, for a column of a table."""
    words = odds(leakage)
    return {"without limit": "∞", "more than a million×": "> 10⁶×"}.get(words, words)


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
        shown=shown_places(found),
        lines=lines_of(found),
        bounds=bounds,
    )


def groups_of(found: Comparison) -> tuple[BarGroup, ...]:
    """Return what is drawn of each way: how far odds moved at most, and the mean error."""
    widest = _widest(found)
    bound = min(min(each.epsilon for each in found.ways[0].events.values()), MOST_DRAWN)
    groups = []
    for way in found.ways:
        style = "good" if way.kept else "bad"
        moved = 100 * min(way.leakage, MOST_DRAWN) / MOST_DRAWN
        error = 0.0 if math.isnan(way.error) else 100 * way.error / widest
        level = 100 * bound / MOST_DRAWN
        bars = (
            ValueBar("odds moved at most", style, moved, odds(way.leakage), level=level),
            ValueBar("mean error", style, error, _said(way)),
        )
        groups.append(BarGroup(way.name, way.words, bars))
    return tuple(groups)


def save_comparison(found: Comparison, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the comparison by its suffix: a page (.html) or a picture."""
    page = partial(comparison_page, found)
    return save_drawn(path, page, groups_of(found), NOTE, overwrite=overwrite)


def _judged(figures: EventFigures) -> dict[int, float]:
    """Return the leakages over the directions of the guarantee, by their places in ``HEADS``."""
    own = {} if figures.own_history is None else {OWN_HISTORY: figures.own_history}
    return {2: figures.leakage, 4: figures.any_prior, **own}


def _widest(found: Comparison) -> float:
    return max([way.error for way in found.ways if not math.isnan(way.error)], default=1.0) or 1.0


def _said(way: Way) -> str:
    if math.isnan(way.error):
        return "nothing released"
    silent = f", {percent(way.silent)} silent" if way.silent > 0 else ""
    return length(way.error) + silent
