"""The tables that commands print, made from the numbers of reports; they fit 80 columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from priste.cli.forecast import interval
from priste.quantify import Guarantee
from priste.report import StreamReport
from priste.results import length, odds, percent, within

if TYPE_CHECKING:
    from priste.forecast import Row
    from priste.forecast.alternatives_compared import Comparison
    from priste.results import AnyPriorLeakage

GOOD, BAD = "green", "red"


def _table(*heads: str, title: str | None = None) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        min_width=None if title is None else len(title),
    )
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right")
    return table


def _within(leakage: float, epsilon: float) -> Text:
    return Text(odds(leakage), style=GOOD if within(leakage, epsilon) else BAD)


def guarantee_table(
    guarantees: Mapping[str, Guarantee],
    leakages: Mapping[str, float],
    beliefs: Mapping[str, float],
    any_prior: AnyPriorLeakage | None = None,
) -> Table:
    """Show what is guaranteed about each event and what was reached.

    With ``any_prior`` also what other adversaries could have learnt.
    """
    heads = ["event", "guaranteed", "reached", "ε", "leakage"]
    table = _table(*heads, *([] if any_prior is None else ["any prior"]))
    for name, guarantee in guarantees.items():
        found = leakages[name]
        if guarantee.belief_cap is not None:
            good = within(beliefs[name], guarantee.belief_cap)
            guaranteed, reached = f"≤ {percent(guarantee.belief_cap)}", percent(beliefs[name])
            bound = "–"
        else:
            largest = guarantee.largest_leakage
            good = within(found, largest)
            guaranteed, reached = _ways(guarantee) + odds(largest), odds(max(found, 0.0))
            bound = f"{largest:g}"
        row: list[str | Text] = [guaranteed, Text(reached, style=GOOD if good else BAD), bound]
        row += [f"{found:.3f}", *([] if any_prior is None else [any_prior.words(name)])]
        table.add_row(name, *row)
    return table


def users_table(made: Mapping[str, Any]) -> Table:
    """Show what users leaked and are off, from the numbers of a run of many."""
    table = _table("over users", "half", "19 of 20", "largest")
    for name, event in made["events"].items():
        spread = event["of_users"]
        table.add_row(
            f"leakage: {name}",
            *(f"{value:.3f}" for value in (*spread.values(), event["max"])),
        )
    metres = made["metres"]
    table.add_row("metres off", *(length(value) for value in metres["of_users"].values()), "")
    return table


def metres_table(made: Mapping[str, Any]) -> Table:
    """Show how far releases are from the truth, near and far from the events, next to others."""
    sides = ("everywhere", "far", "near")
    table = _table("mean error, from the true fix", "everywhere", "far from events", "near them")
    for way, each in made["metres"].items():
        if way != "of_users":
            table.add_row(way.replace("_", " "), *(length(each[side]) for side in sides))
    return table


def _ways(guarantee: Guarantee) -> str:
    """Return an arrow for each direction that is bounded, where both are not bounded alike."""
    if guarantee.up == guarantee.down:
        return ""
    return ("↑" if guarantee.up < math.inf else "") + ("↓" if guarantee.down < math.inf else "")


def odds_table(report: StreamReport) -> Table:
    """Show how far odds can move about each event, with and without priste."""
    table = _table(
        "event",
        "guaranteed",
        "uncalibrated",
        "with priste",
        title="How far the adversary's odds can move",
    )
    for event in report.events:
        alone = (
            Text("–")
            if event.uncalibrated is None
            else _within(event.uncalibrated.max, event.epsilon)
        )
        table.add_row(
            event.label, odds(event.epsilon), alone, _within(event.guarded.max, event.epsilon)
        )
    return table


def belief_table(report: StreamReport) -> Table:
    """Show what an adversary believes about each event before and after all releases."""
    table = _table(
        "event", "before", "uncalibrated", "with priste", title="What an adversary then believes"
    )
    for event in report.events:
        alone = "–" if event.uncalibrated is None else percent(_last(event.uncalibrated.belief))
        table.add_row(
            event.label,
            percent(event.guarded.prior_belief),
            alone,
            percent(_last(event.guarded.belief)),
        )
    return table


def cost_table(report: StreamReport) -> Table:
    """Show how far releases are from the truth, near and far from the events, and of a constant."""
    table = _table(
        "mean error",
        "everywhere",
        "far from events",
        "near them",
        "within a cell",
        title="What it costs: metres from the true fix to the released point",
    )
    if report.usefulness is not None:
        for name, way in report.usefulness.ways.items():
            lengths = [length(metres) for metres in (way.everywhere, way.far, way.near)]
            table.add_row(name, *lengths, percent(way.within_a_cell))
    return table


def worth_table(ways: Mapping[str, Mapping[str, str]]) -> Table:
    """Show measures down and ways of releasing across; all ways have the same measures."""
    table = _table("", *ways)
    for measure in next(iter(ways.values())):
        table.add_row(measure, *(way[measure] for way in ways.values()))
    return table


def forecast_table(rows: Sequence[Row]) -> Table:
    """Show what settings cost: means, and in which range they lie in 80 of 100 cases."""
    table = _table("mean error", "everywhere", "far", "near", "of a constant")
    for row in rows:
        told = row.cost.released
        sides = ["–" if each is None else length(each.value) for each in (told.far, told.near)]
        table.add_row(row.name, interval(told.all), *sides, f"{row.cost.over_constant:.2f}")
    return table


def comparison_table(found: Comparison) -> Table:
    """Show ways to release next to each other: how far they move odds, and their mean error."""
    from priste.forecast.alternatives_page import lines_of, shown_columns

    shown = shown_columns(found)
    table = _table(*shown)
    table.columns[0].no_wrap = True
    for line in lines_of(found):
        cells = {column: Text(line.cells[column]) for column in shown}
        for column in {"odds", "sure", "any", "own"}.intersection(shown):
            cells[column].stylize(BAD if column in line.over else GOOD)
        table.add_row(*cells.values())
    return table


def _last(beliefs: Sequence[float]) -> float:
    return beliefs[-1]
