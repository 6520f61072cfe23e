"""Charts and maps of the report as SVG elements that stand in a notebook, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from priste.report.charts import HEIGHT as CHART_HEIGHT
from priste.report.charts import WIDTH as CHART_WIDTH
from priste.report.charts import Chart
from priste.report.figures import LINES, REGION_INKS, SHADED, WINDOW
from priste.report.map_view import SHADES, Layer, MapView

WIDE, HIGH = 520, 150
"""Pixels of a chart, without its labels."""

MAP_WIDE = 340
LEFT, BELOW, ABOVE = 56, 20, 34

_TEXT = 'fill="currentColor" font-size="11" font-family="sans-serif"'
_AXIS = 'stroke="currentColor" stroke-opacity="0.25" fill="none"'
_DASHES = {"-": "", "--": ' stroke-dasharray="5 3"', ":": ' stroke-dasharray="2 3"'}


def chart_svg(chart: Chart) -> str:
    """Return a chart as SVG: bands, lines, levels with their texts, ticks and a legend."""
    parts = []
    for band in chart.bands:
        x, wide = band.begin / 100 * WIDE, band.width / 100 * WIDE
        parts.append(
            f'<rect x="{x:.1f}" y="0" width="{wide:.1f}" height="{HIGH}" fill="{WINDOW}" '
            'fill-opacity="0.6"/>'
        )
    parts.append(f'<path d="M0 0V{HIGH}H{WIDE}" {_AXIS}/>')
    for mark in chart.up:
        y = mark.at / 100 * HIGH
        parts.append(f'<path d="M0 {y:.1f}H{WIDE}" {_AXIS}/>')
        parts.append(_text(-6, y + 4, mark.text, "end"))
    for mark in chart.across:
        parts.append(_text(mark.at / 100 * WIDE, HIGH + 15, mark.text, "middle"))
    for mark in chart.levels:
        y = mark.at / 100 * HIGH
        parts.append(
            f'<path d="M0 {y:.1f}H{WIDE}" stroke="currentColor" stroke-dasharray="5 3" '
            'stroke-opacity="0.7"/>'
        )
        parts.append(_text(WIDE, y - 4, mark.text, "end"))
    scale = f"scale({WIDE / CHART_WIDTH} {HIGH / CHART_HEIGHT})"
    x = 0.0
    for line in chart.lines:
        ink, dashes = LINES[line.style]
        look = f'stroke="{ink}" stroke-width="2" fill="none"{_DASHES[dashes]}'
        parts.append(
            f'<path d="{line.path}" transform="{scale}" {look} vector-effect="non-scaling-stroke" '
            'stroke-linecap="round"/>'
        )
        if line.label:
            parts.append(f'<path d="M{x:.0f} -10h18" {look}/>')
            parts.append(_text(x + 24, -6, line.label, "start"))
            x += 40 + 6.4 * len(line.label)
    return _svg(parts, WIDE, HIGH, chart.words)


def map_svg(view: MapView) -> str:
    """Return a map as SVG, its panels side by side."""
    high = MAP_WIDE * view.rows / view.columns
    cell = MAP_WIDE / view.columns
    drawn = []
    for number, panel in enumerate(view.panels):
        parts = [f'<rect width="{MAP_WIDE}" height="{high:.1f}" {_AXIS}/>']
        if view.columns <= 60:
            lines = "".join(f"M{x} 0V{view.rows}" for x in range(1, view.columns))
            lines += "".join(f"M0 {y}H{view.columns}" for y in range(1, view.rows))
            parts.append(_scaled(f'<path d="{lines}" {_AXIS} {_THIN}/>', cell))
        parts += [_layer(layer, cell) for layer in (*view.backdrop, *panel.layers)]
        for region in view.regions:
            ink = REGION_INKS[region.number % len(REGION_INKS)]
            path = f'<path d="{region.path}" stroke="{ink}" fill="none" {_THICK}/>'
            parts.append(_scaled(path, cell))
        for label in view.labels:
            x, y = label.x / 100 * MAP_WIDE, label.y / 100 * high + 4
            parts.append(_text(x, y, label.text, "middle"))
        parts.append(_text(0, -8, panel.title, "start", bold=True))
        bar = view.bar_width / 100 * MAP_WIDE
        parts.append(
            f'<path d="M{MAP_WIDE - bar:.1f} -6H{MAP_WIDE}" stroke="currentColor" '
            'stroke-width="2"/>'
        )
        parts.append(_text(MAP_WIDE - bar - 6, -3, view.bar_words, "end"))
        for mark in view.up:
            parts.append(_text(-6, mark.at / 100 * high + 4, mark.text, "end"))
        for mark in view.across:
            parts.append(_text(mark.at / 100 * MAP_WIDE, high + 15, mark.text, "middle"))
        shift = number * (MAP_WIDE + LEFT + 8)
        drawn.append(f'<g transform="translate({shift} 0)">{"".join(parts)}</g>')
    wide = len(drawn) * (MAP_WIDE + LEFT + 8) - LEFT - 8
    return _svg(drawn, wide, high, "; ".join(panel.words for panel in view.panels))


_THIN = 'vector-effect="non-scaling-stroke" stroke-width="0.5"'
_THICK = 'vector-effect="non-scaling-stroke" stroke-width="2"'


def _layer(layer: Layer, cell: float) -> str:
    ink = SHADED[layer.kind]
    share = 0.25 + 0.65 * layer.shade / SHADES
    return _scaled(f'<path d="{layer.path}" fill="{ink}" fill-opacity="{share:.2f}"/>', cell)


def _scaled(path: str, cell: float) -> str:
    return f'<g transform="scale({cell:.4f})">{path}</g>'


def _text(x: float, y: float, words: str, anchor: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_TEXT}{weight}>'
        f"{escape(words)}</text>"
    )


def _svg(parts: Sequence[str], wide: float, high: float, words: str) -> str:
    box = f"{-LEFT} {-ABOVE} {wide + LEFT + 16:.0f} {high + ABOVE + BELOW:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" role="img" '
        f'aria-label="{escape(words)}" style="max-width:{wide + LEFT + 16:.0f}px;width:100%">'
        f"{''.join(parts)}</svg>"
    )
