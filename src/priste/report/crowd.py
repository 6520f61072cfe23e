"""Many users on one page: a table of all, and how leakage and distances are distributed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from priste.report.charts import Bar, Scale, histogram
from priste.results.run_summary import RunSummary, UserSummary
from priste.results.usefulness import Worth
from priste.results.wording import length, odds, percent

MOST_LISTED = 2000
"""How many users are listed: with more, those with the largest leakage."""

BARS = 10
"""About how many bars a histogram has."""


@dataclass(frozen=True)
class Cell:
    """One cell of the table: what it says, and what it is sorted by."""

    text: str
    key: float | str


@dataclass(frozen=True)
class Histogram:
    """How a number is distributed over users."""

    title: str
    words: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Crowd:
    """What a page says about all users together."""

    summary: RunSummary
    lines: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    histograms: tuple[Histogram, ...]


def crowd(summary: RunSummary) -> Crowd:
    """Return the table of all users, those with the largest leakage first."""
    users = sorted(summary.users, key=lambda user: -summary.used(user)[0])[:MOST_LISTED]
    heads = ["user", "releases", "odds moved", "of what is allowed", "about"]
    if summary.ways:
        heads += ["mean error", "far from events", "near them", "in the true cell"]
    return Crowd(
        summary,
        summary.lines(),
        tuple(heads),
        tuple(_row(summary, user) for user in users),
        tuple(_histograms(summary)),
    )


def _row(summary: RunSummary, user: UserSummary) -> tuple[Cell, ...]:
    share, about = summary.used(user)
    largest = max(user.leakage, default=0.0)
    cells = [
        Cell(user.user or "–", user.user or ""),
        Cell(f"{user.releases:,}", user.releases),
        Cell(odds(largest), _key(largest)),
        Cell(f"{share:.0%}".replace("%", " %"), _key(share)),
        Cell(about, about),
    ]
    if summary.ways:
        worth = user.worth or Worth(*(math.nan,) * 5)
        cells += [
            Cell(length(metres), _key(metres))
            for metres in (worth.everywhere, worth.far, worth.near)
        ]
        exact = worth.exact
        cells.append(Cell("–" if math.isnan(exact) else percent(exact), _key(exact)))
    return tuple(cells)


def _key(value: float) -> float:
    """Return what a number is sorted by: without limit comes last, what is no number first."""
    return -1.0 if math.isnan(value) else min(round(value, 4), 1e9)


def _histograms(summary: RunSummary) -> list[Histogram]:
    shares = [summary.used(user)[0] for user in summary.users]
    found = []
    if any(shares):
        edges = [k / BARS for k in range(BARS)]
        words = [f"{100 * edge:.0f} to {100 * edge + 10:.0f} %" for edge in edges]
        if max(shares) > 1:
            edges, words = [*edges, 1.0 + 1e-12], [*words, "over"]
        bars = histogram([min(s, 1.0 - 1e-12) if s <= 1 else s for s in shares], words, edges)
        found.append(
            Histogram("Leakage, as a share of what is allowed", "users by their leakage", bars)
        )
    metres = [
        user.worth.everywhere
        for user in summary.users
        if user.worth is not None and not math.isnan(user.worth.everywhere)
    ]
    if metres and max(metres) > 0:
        ticks = Scale(0.0, max(metres)).ticks(BARS)
        words = [
            f"{length(low)} to {length(high)}"
            for low, high in zip(ticks, [*ticks[1:], max(metres)], strict=True)
        ]
        found.append(
            Histogram(
                "Mean error, from the true fix",
                "users by their mean error",
                histogram(metres, words, ticks),
            )
        )
    return found
