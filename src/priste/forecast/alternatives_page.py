"""The comparison with alternatives as a table, a picture and a page: odds next to mean errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from priste.forecast.alternatives_compared import Comparison, Way
from priste.forecast.picture import save_drawn
from priste.report.charts import BarGroup, ValueBar
from priste.results import length, odds, percent

MOST_DRAWN = math.log(1e6)
"""Leakages above are drawn as this one; their words say what they are."""

NOTE = "odds on a logarithmic scale; the mark is the guarantee of the policy, red did not keep it"

HEADS = {
    "way": "way to release",
    "event": "event",
    "odds": "odds moved",
    "towards": "towards it",
    "sure": "sure of it at most",
    "any": "any prior",
    "own": "own history",
    "before": "belief before",
    "belief": "belief after",
    "error": "mean error",
    "silent": "silent",
}
"""The columns: their short names, which the command line shows, and their heads on a page."""


def shown_columns(found: Comparison) -> tuple[str, ...]:
    """Return the columns that are not empty in this comparison."""
    figures = list(found.ways[0].events.values())
    says = {
        "event": len(figures) > 1,
        "sure": any(math.isinf(each.epsilon) for each in figures),
        "own": found.opened,
        "before": len(figures) > 1,
        "belief": found.happened > 0,
        "silent": any(way.silent > 0 for way in found.ways),
    }
    return tuple(name for name in HEADS if says.get(name, True))


@dataclass(frozen=True)
class Line:
    """One row of the table: the text of each column, and widths of bars in percent.

    ``over`` are the columns of adversaries against whom the guarantee did not hold, guaranteed or
    not; ``level`` is the mark of the guarantee, None where it bounds no odds.
    """

    cells: dict[str, str]
    words: str
    over: frozenset[str]
    leakage_width: float
    error_width: float
    level: float | None


def lines_of(found: Comparison) -> tuple[Line, ...]:
    """Return a line for each way to release and event."""
    widest = _widest(found)
    lines = []
    for way in found.ways:
        for number, (name, figures) in enumerate(way.events.items()):
            most, own, first = figures.reached, figures.own_history, number == 0
            cells = {
                "way": way.name if first else "",
                "event": name,
                "odds": _short(most.leakage),
                "towards": _short(most.towards),
                "sure": percent(most.belief),
                "any": _short(figures.any_prior.leakage),
                "own": "–" if own is None else _short(own.leakage),
                "before": percent(figures.before),
                "belief": "–" if math.isnan(figures.after) else percent(figures.after),
                "error": length(way.error) if first else "",
                "silent": percent(way.silent) if first else "",
            }
            asked = {"odds": most, "sure": most, "any": figures.any_prior, "own": own}
            lines.append(
                Line(
                    cells,
                    way.words if first else "",
                    frozenset(column for column, each in asked.items() if each and not each.kept),
                    _share(most.leakage),
                    0.0 if math.isnan(way.error) else round(100 * way.error / widest, 2),
                    None if math.isinf(figures.epsilon) else _share(figures.epsilon),
                )
            )
    return tuple(lines)


def _share(leakage: float) -> float:
    return round(100 * min(leakage, MOST_DRAWN) / MOST_DRAWN, 2)


def _short(leakage: float) -> str:
    """Say a leakage in few letters, for a column of a table."""
    words = odds(leakage)
    return {"without limit": "∞", "more than a million×": "> 10⁶×"}.get(words, words)


def comparison_page(found: Comparison, *, title: str = "Ways to release, compared") -> str:
    """Return the page of a comparison, self-contained: a pure function of what was found."""
    from priste.report.pages import page

    return page(
        "alternatives.html",
        title=title,
        found=found,
        heads=HEADS,
        shown=shown_columns(found),
        lines=lines_of(found),
        before=[percent(each.before) for each in found.ways[0].events.values()],
    )


def groups_of(found: Comparison) -> tuple[BarGroup, ...]:
    """Return what is drawn of each way: how far odds moved at most, and the mean error."""
    widest = _widest(found)
    bound = min(each.epsilon for each in found.ways[0].events.values())
    groups = []
    for way in found.ways:
        error = 0.0 if math.isnan(way.error) else 100 * way.error / widest
        style = "good" if way.kept else "bad"
        level = None if math.isinf(bound) else _share(bound)
        bars = (
            ValueBar(
                "odds moved at most", style, _share(way.leakage), odds(way.leakage), level=level
            ),
            ValueBar("mean error", "good", error, _said(way)),
        )
        groups.append(BarGroup(f"{way.words} ({way.name})", way.words, bars))
    return tuple(groups)


def save_comparison(found: Comparison, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the comparison by its suffix: a page (.html) or a picture."""
    page = partial(comparison_page, found)
    return save_drawn(path, page, groups_of(found), NOTE, overwrite=overwrite)


def _widest(found: Comparison) -> float:
    return max([way.error for way in found.ways if not math.isnan(way.error)], default=1.0) or 1.0


def _said(way: Way) -> str:
    if math.isnan(way.error):
        return "nothing released"
    silent = f", {percent(way.silent)} silent" if way.silent > 0 else ""
    return length(way.error) + silent
