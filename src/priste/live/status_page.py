"""The owner's page: one HTML document without scripts that shows the state of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import cos, radians
from typing import Any

from priste.live.point import Point
from priste.live.status import remarks_on, rows_of
from priste.policy.adversary_choice import ASSUMED

REFRESH = 10
"""Seconds after which the page loads itself again."""

_WIDTH = 480.0
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.15rem .8rem .15rem 0;text-align:left;
vertical-align:top}th{font-weight:600}svg{border:1px solid #ccc;background:#fafafa;max-width:100%}
.warn{color:#a00}
"""


def status_page(status: Mapping[str, Any], recent: Mapping[str, Sequence[Point]]) -> str:
    """Return the page of a status and of the last releases of each person."""
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh "
        f"content={REFRESH}><title>priste live</title><style>{_STYLE}</style><h1>priste live</h1>",
        f"<p>Running since {_text(status['started'][:19])}Z, process {_text(status['process'])}. "
        "This page shows which steps had a fix: it is only for you.</p>",
    ]
    for name, person in status["people"].items():
        parts.append(_person(name, person, recent.get(name, ())))
    if status["http"]:
        parts.append("<h2>HTTP</h2>" + _lines(status["http"], "posted to"))
    return "".join(parts) + "</html>"


def _person(name: str, person: dict[str, Any], points: Sequence[Point]) -> str:
    told = "".join(
        f"<tr><td>{_text(event)}<td>{_text(each['guarantee'])}<td>{each['leakage']:.3f}"
        f"<td>{100 * each['belief']:.1f} %"
        for event, each in person["events"].items()
    )
    return (
        f"<h2>{_text(name)}</h2><table>"
        + "".join(f"<tr><th>{_text(key)}<td>{_text(value)}" for key, value in rows_of(person))
        + f"</table><p>Guaranteed against {_text(person['adversary'])}. {ASSUMED}</p><table>"
        "<tr><th>event"
        f"<th>guarantee<th>leakage so far<th>largest belief{told}</table>"
        + _lines(person["in"], "from")
        + _lines(person["out"], "to")
        + _map(points)
    )


def _lines(lines: Sequence[dict[str, Any]], way: str) -> str:
    if not lines:
        return ""
    rows = [
        f"<tr><td>{_text(line['address'])}<td>{_text(line['state'])}<td>{line['messages']} messages"
        f"<td>{'<br>'.join(map(_text, remarks_on(line)))}"
        for line in lines
    ]
    return f"<table><tr><th colspan=4>{way}{''.join(rows)}</table>"


def _map(points: Sequence[Point]) -> str:
    """Return a picture of released points: north is up, the latest is large."""
    if not points:
        return ""
    lats, lons = [point.lat for point in points], [point.lon for point in points]
    shrink = max(cos(radians(sum(lats) / len(lats))), 0.01)
    wide = max((max(lons) - min(lons)) * shrink, max(lats) - min(lats), 0.01)
    scale, edge = (_WIDTH - 40) / wide, 20
    height = (max(lats) - min(lats)) * scale + 2 * edge
    dots = []
    for point in points:
        last = point is points[-1]
        dots.append(
            f"<circle cx={(point.lon - min(lons)) * shrink * scale + edge:.1f} "
            f"cy={(max(lats) - point.lat) * scale + edge:.1f} r={8 if last else 4} "
            f"fill={'#a30' if last else '#37a'} fill-opacity={1 if last else 0.4}>"
            f"<title>{_text(point.clock)}</title></circle>"
        )
    return (
        f"<p>The last {len(points)} releases, {wide * 111.2:.1f} km across; the latest in red.</p>"
        f"<svg role=img aria-label='Map of the last releases' width={_WIDTH:.0f} "
        f"height={height:.0f} viewBox='0 0 {_WIDTH:.0f} {height:.0f}'>{''.join(dots)}</svg>"
    )


def _text(value: object) -> str:
    return escape(str(value))
