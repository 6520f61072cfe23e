"""HTML of objects for notebooks: a title, what matters as a table, and the picture.

Everything is escaped, nothing is loaded, and colours follow the notebook. No true location is
shown: the objects hold none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from html import escape

from priste.display.object_pictures import picture
from priste.display.object_rows import rows
from priste.display.svg_drawing import chart_svg, map_svg
from priste.events import Event
from priste.maps import Grid, Region
from priste.mobility import MarkovModel
from priste.quantify import Leakage, Quantifier
from priste.release import Ledger, Protector, Release
from priste.report.charts import Chart
from priste.results import Evaluation, PolicyAudit, moved, odds, percent

LONGEST = 300
"""Characters of a formula that are shown."""

MOST_ROWS = 8

Facts = Mapping[str, str]


def html(shown: object) -> str:
    """Return what a notebook shows of an object."""
    drawn = picture(shown)
    image = ""
    if drawn is not None:
        image = chart_svg(drawn) if isinstance(drawn, Chart) else map_svg(drawn)
    title = escape(type(shown).__name__ if not isinstance(shown, Event) else "Event")
    return (
        f'<div class="priste"><p><b>{title}</b></p>{_table(facts(shown))}{image}'
        f"{_rows_of(shown)}</div>"
    )


@singledispatch
def facts(shown: object) -> Facts:
    """Return what matters of an object, by name and in words."""
    return {"": repr(shown)}


@facts.register
def _(shown: Grid) -> Facts:
    found = {
        "cells": f"{shown.size:,} ({shown.rows} rows, {shown.columns} columns)",
        "sides": f"{shown.width:g} km east, {shown.height:g} km north",
    }
    if shown.is_geographic:
        south, west = shown.latlon_at(0.0, 0.0)
        north, east = shown.latlon_at(shown.width, shown.height)
        found["corners"] = f"{south:.4f}, {west:.4f} to {north:.4f}, {east:.4f}"
    return found


@facts.register
def _(shown: Region) -> Facts:
    area = len(shown) * shown.grid.cell_size**2
    return {"cells": f"{len(shown):,} of {shown.grid.size:,}", "area": f"{area:g} km²"}


@facts.register
def _(shown: MarkovModel) -> Facts:
    moves = "the same at every step" if shown.horizon is None else f"{shown.horizon} moves"
    if shown.period not in (None, 1):
        moves = f"in a cycle of {shown.period} steps"
    return {
        "map": f"{shown.grid.rows} × {shown.grid.columns} cells of {shown.grid.cell_size:g} km",
        "order": str(shown.order),
        "moves": moves,
    }


@facts.register
def _(shown: Event) -> Facts:
    text = str(shown)
    found = {"formula": text if len(text) <= LONGEST else f"{text[:LONGEST]} …"}
    if shown.first_step is not None:
        found["steps"] = f"{shown.first_step} to {shown.last_step}"
    return found


@facts.register
def _(shown: Release) -> Facts:
    return {
        "step": str(shown.step),
        "released": "silence" if shown.cell is None else f"cell {shown.cell}",
        "leakage": ", ".join(map(_number, shown.leakage)),
        "odds moved by at most": ", ".join(odds(value) for value in shown.leakage),
        "budget": f"{shown.budget:.3g}",
        "against": shown.against or "–",
    }


@facts.register
def _(shown: Leakage) -> Facts:
    return {
        "leakage": f"{_number(shown.value)}: odds moved {moved(shown.value)}",
        "for the event": _number(shown.for_event),
        "against the event": _number(shown.against_event),
        "worst prior": _prior(shown),
    }


def _prior(shown: Leakage) -> str:
    named = {f"cell {cell}": weight for cell, weight in shown.worst_prior.items()}
    if not named:
        several = len({model for model, _ in shown.worst_given}) > 1
        named = {
            f"given prior {n}" + f" of model {model}" * several: weight
            for (model, n), weight in shown.worst_given.items()
        }
    if len(named) == 1:
        return next(iter(named))
    return ", ".join(f"{percent(weight)} {name}" for name, weight in named.items()) or "–"


@facts.register
def _(shown: Quantifier) -> Facts:
    found = shown.leakage()
    return {
        "adversary": shown.adversary.words(),
        "releases observed": str(shown.step),
        **({} if not shown.step else facts(found)),
    }


@facts.register
def _(shown: Ledger) -> Facts:
    return {
        "releases": f"{sum(not each.silent for each in shown):,} in {len(shown):,} steps",
        **_guaranteed(shown.event_names, shown.guarantees, _last(shown)),
        "against": shown.against or "–",
    }


@facts.register
def _(shown: Protector) -> Facts:
    return {
        "next step": str(shown.next_step),
        **_guaranteed(shown.event_names, shown.guarantees, shown.leakage),
        "against": shown.adversary.words(),
        "calibrator": str(shown.calibrator.describe()["kind"]),
    }


@facts.register
def _(shown: Evaluation) -> Facts:
    people = "1 person" if shown.people == 1 else f"{shown.people} people"
    share = percent(shown.coverage)
    return {"compared": f"{shown.steps:,} steps of {people}; {share} of the true steps"}


@facts.register
def _(shown: PolicyAudit) -> Facts:
    return {
        "streams": str(len(shown.users)),
        "released by": shown.emission,
        "against": shown.policy.chosen_adversary.words,
        **{
            f"{name}, worst user": f"odds moved by {odds(event.max)}; the policy's bound: {limit}"
            for name, (_, event) in shown.worst().items()
            for limit in [shown.policy.events[name].guaranteed]
        },
        "verdict": str(shown.verdict),
    }


def _last(shown: Ledger) -> tuple[float, ...]:
    return shown[-1].leakage if len(shown) else (0.0,) * len(shown.event_names)


def _guaranteed(
    names: Sequence[str], guarantees: Sequence[object] | None, leakage: Sequence[float]
) -> dict[str, str]:
    words = [""] * len(names)
    if guarantees is not None:
        words = [f" ({each.words()})" for each in guarantees]  # type: ignore[attr-defined]
    reached = leakage or (0.0,) * len(names)
    return {
        f"{name}": f"leakage {_number(value)}{limit}"
        for name, value, limit in zip(names, reached, words, strict=True)
    }


def _number(value: float) -> str:
    return "unbounded" if math.isinf(value) else f"{value:.3f}"


def _rows_of(shown: object) -> str:
    """Return the table below the picture, where there is one."""
    if isinstance(shown, Evaluation):
        ways = {name: way.lines() for name, way in shown.rows().items()}
        names = list(ways["released"])
        body = [[name, *(ways[way].get(name, "") for way in ways)] for name in names]
        return _grid(["", *ways], body)
    if isinstance(shown, Ledger) and len(shown):
        columns = rows(shown)
        body = [
            [_cell(columns[name][k]) for name in columns] for k in range(len(shown))[:MOST_ROWS]
        ]
        more = len(shown) - MOST_ROWS
        note = f"<p>and {more:,} more: to_frame() has all</p>" if more > 0 else ""
        return _grid(list(columns), body) + note
    return ""


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


_ALIGN = 'style="text-align:left;vertical-align:top"'


def _table(found: Facts) -> str:
    body = "".join(
        f"<tr><th {_ALIGN}>{escape(name)}</th><td {_ALIGN}>{escape(words)}</td></tr>"
        for name, words in found.items()
    )
    return f"<table>{body}</table>"


def _grid(names: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(words)}</td>' for words in line)}</tr>" for line in body
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
