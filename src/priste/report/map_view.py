"""Maps as plain values: what was released and, if asked, the truth, side by side.

All panels of a map show the same part of it, with coordinates at the edges, a scale bar, the named
regions and where people are. Positions are in cells
from the north-west corner of the part shown; labels are in percent of it, so that they stay text
of the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.report.charts import NICE, Mark, Scale
from priste.results.wording import degrees

Floats = NDArray[np.float64]

SHADES = 5
"""How many shades tell counts apart."""

MARGIN = 1.5
"""How many cells are shown around everything else."""

FEWEST_CELLS = 8
"""The part shown is at least this many cells wide and high, where the map is."""

TALLEST = 1.25
"""The part shown is at most so much taller than wide; and at most 1.8 times as wide as tall."""
WIDEST = 1.8

LETTER_SHARE = 0.024
"""About how wide a letter is on a phone, as a share of a panel's width, and how high a line is."""
LINE_SHARE = 0.07


@dataclass(frozen=True)
class Label:
    """A text at a place of a panel, in percent from the left and the top."""

    x: float
    y: float
    text: str
    number: int


@dataclass(frozen=True)
class Outline:
    """A named region, its number among the regions, and the edges of its border.

    An edge begins at (x, y) and is one cell long, ``down`` or to the right.
    """

    name: str
    number: int
    edges: tuple[tuple[int, int, bool], ...]

    @property
    def path(self) -> str:
        """The border as a path of SVG."""
        return "".join(f"M{x} {y}{'v' if down else 'h'}1" for x, y, down in self.edges)


@dataclass(frozen=True)
class Layer:
    """Cells of one shade: rows (x, y, width) of cells, from their north-west corner.

    ``style`` is that of the layer, and ``shade`` goes from 1 to ``SHADES``.
    """

    kind: str
    shade: int
    runs: tuple[tuple[int, int, int], ...]

    @property
    def style(self) -> str:
        """The style of the layer with its shade."""
        return f"{self.kind}-{self.shade}"

    @property
    def path(self) -> str:
        """The cells as a path of SVG."""
        return "".join(f"M{x} {y}h{wide}v1h-{wide}z" for x, y, wide in self.runs)


@dataclass(frozen=True)
class Dot:
    """A round mark at a cell; its size says how much."""

    x: float
    y: float
    radius: float
    words: str


@dataclass(frozen=True)
class Panel:
    """One picture of the map."""

    title: str
    words: str
    layers: tuple[Layer, ...]
    dots: tuple[Dot, ...] = ()


@dataclass(frozen=True)
class MapView:
    """The part of the map that is shown, and what all its panels share."""

    rows_shown: range
    columns_shown: range
    backdrop: tuple[Layer, ...]
    regions: tuple[Outline, ...]
    labels: tuple[Label, ...]
    across: tuple[Mark, ...]
    up: tuple[Mark, ...]
    bar_width: float
    bar_words: str
    panels: tuple[Panel, ...] = ()

    @property
    def columns(self) -> int:
        """How many columns are shown."""
        return len(self.columns_shown)

    @property
    def rows(self) -> int:
        """How many rows are shown."""
        return len(self.rows_shown)


class MapDrawing:
    """Draws panels of one part of a map: that which holds ``seen`` cells and the regions."""

    def __init__(
        self, grid: Grid, seen: Iterable[int], regions: Mapping[str, Sequence[int]]
    ) -> None:
        self._grid = grid
        self._regions = regions
        self._window = _window(grid, [*seen, *(c for cells in regions.values() for c in cells)])

    def view(self, panels: Sequence[Panel], *, population: Floats | None = None) -> MapView:
        """Return the map with these panels."""
        rows, columns = self._window
        width = len(columns) * self._grid.cell_size
        kilometres = _round_below(width / 3)
        return MapView(
            rows_shown=rows,
            columns_shown=columns,
            backdrop=() if population is None else self.shaded(population, "people"),
            regions=tuple(
                Outline(name, number, self._border(cells))
                for number, (name, cells) in enumerate(self._regions.items())
            ),
            labels=self._labels(),
            across=self._east_marks(),
            up=self._north_marks(),
            bar_width=round(100 * kilometres / width, 3),
            bar_words=f"{kilometres:g} km" if kilometres >= 1 else f"{1000 * kilometres:g} m",
            panels=tuple(panels),
        )

    def counted(self, cells: Iterable[int | None], style: str) -> tuple[Layer, ...]:
        """Return how often each cell is there, in shades."""
        counts = np.zeros(self._grid.size)
        for cell in cells:
            if cell is not None:
                counts[cell] += 1
        return self.shaded(counts, style)

    def shaded(self, weights: Floats, style: str) -> tuple[Layer, ...]:
        """Return weights in shades; the darkest is the largest, and 0 is not drawn.

        Shades follow the square root; otherwise the home would hide all other cells.
        """
        top = float(weights.max(initial=0.0))
        if top <= 0:
            return ()
        shade = np.ceil(SHADES * np.sqrt(weights / top) - 1e-9).astype(int)
        table = shade.reshape(self._grid.rows, self._grid.columns)
        return tuple(
            Layer(style, number, drawn)
            for number in range(1, SHADES + 1)
            if (drawn := self._cells(table == number))
        )

    def dots(self, weights: Mapping[int, float], words: str) -> tuple[Dot, ...]:
        """Return marks whose area follows the weights, which are shares."""
        found = []
        for cell, weight in sorted(weights.items()):
            x, y = self._center(cell)
            # A dot must be seen on a map of many cells too.
            radius = max(len(self._window[1]), len(self._window[0])) * 0.035
            found.append(
                Dot(round(x, 2), round(y, 2), round(radius * math.sqrt(weight) + 0.15, 2), words)
            )
        return tuple(found)

    def _center(self, cell: int) -> tuple[float, float]:
        row, column = divmod(cell, self._grid.columns)
        rows, columns = self._window
        return column - columns.start + 0.5, rows.stop - row - 0.5

    def _cells(self, chosen: NDArray[np.bool_]) -> tuple[tuple[int, int, int], ...]:
        """Return chosen cells (rows, columns) as runs, neighbours in a row joined."""
        rows, columns = self._window
        parts = []
        for row in rows:
            inside = np.flatnonzero(chosen[row, columns.start : columns.stop])
            for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
                if len(run):
                    parts.append((int(run[0]), rows.stop - row - 1, len(run)))
        return tuple(parts)

    def _border(self, cells: Sequence[int]) -> tuple[tuple[int, int, bool], ...]:
        """Return the edges that separate a set of cells from the others."""
        inside, wide = set(cells), self._grid.columns
        rows, columns = self._window
        parts = []
        for cell in sorted(inside):
            row, column = divmod(cell, wide)
            x, y = column - columns.start, rows.stop - row - 1
            if column == 0 or cell - 1 not in inside:
                parts.append((x, y, True))
            if column == wide - 1 or cell + 1 not in inside:
                parts.append((x + 1, y, True))
            if cell - wide not in inside:
                parts.append((x, y + 1, False))
            if cell + wide not in inside:
                parts.append((x, y, False))
        return tuple(parts)

    def _labels(self) -> tuple[Label, ...]:
        """Place each region's name above it, below or beside it; where all is taken, nowhere."""
        rows, columns = self._window
        tall = len(rows) / len(columns)  # a panel's height in widths
        line = LINE_SHARE / tall
        taken: list[tuple[float, float, float, float]] = []
        found = []
        for number, (name, cells) in enumerate(self._regions.items()):
            centers = np.array([self._center(cell) for cell in cells])
            low, high = centers.min(axis=0) - 0.5, centers.max(axis=0) + 0.5
            middle = (low + high) / 2
            wide = LETTER_SHARE * (len(name) + 1)
            x = middle[0] / len(columns)
            above, below = low[1] / len(rows) - line * 0.6, high[1] / len(rows) + line * 0.6
            right = high[0] / len(columns) + wide / 2 + 0.01
            left = low[0] / len(columns) - wide / 2 - 0.01
            beside = middle[1] / len(rows)
            for at_x, at_y in ((x, above), (x, below), (right, beside), (left, beside)):
                at_x = min(max(at_x, wide / 2), 1 - wide / 2)
                box = (at_x - wide / 2, at_y - line / 2, at_x + wide / 2, at_y + line / 2)
                inside = box[1] >= 0 and box[3] <= 1
                if inside and not any(_overlap(box, other) for other in taken):
                    taken.append(box)
                    found.append(Label(round(100 * at_x, 2), round(100 * at_y, 2), name, number))
                    break
        return tuple(found)

    def _east_marks(self) -> tuple[Mark, ...]:
        """Return longitudes along the southern edge, or km on a map of the plane."""
        rows, columns = self._window
        side = self._grid.cell_size
        first, last = columns.start * side, columns.stop * side
        if not self._grid.is_geographic:
            scale = Scale(first, last)
            return tuple(Mark(100 * scale.at(x), f"{x:g} km") for x in scale.ticks(4))
        y = rows.start * side
        low, high = (self._grid.latlon_at(x, y)[1] for x in (first, last))
        scale = Scale(low, high if high > low else high + 360)
        return tuple(
            Mark(round(100 * scale.at(lon), 2), degrees((lon + 180) % 360 - 180, "E", "W"))
            for lon in scale.ticks(3)
        )

    def _north_marks(self) -> tuple[Mark, ...]:
        """Return latitudes along the western edge, or km on a map of the plane."""
        rows, columns = self._window
        side = self._grid.cell_size
        first, last = rows.start * side, rows.stop * side
        if not self._grid.is_geographic:
            scale = Scale(first, last)
            return tuple(Mark(100 - 100 * scale.at(y), f"{y:g} km") for y in scale.ticks(4))
        x = columns.start * side
        low, high = (self._grid.latlon_at(x, y)[0] for y in (first, last))
        scale = Scale(low, high)
        return tuple(
            Mark(round(100 - 100 * scale.at(lat), 2), degrees(lat, "N", "S"))
            for lat in scale.ticks(3)
        )


def _window(grid: Grid, cells: Sequence[int]) -> tuple[range, range]:
    """Return the rows and columns to be shown: those of the cells, with a margin, not too long."""
    if not cells:
        return range(grid.rows), range(grid.columns)
    rows = [cell // grid.columns for cell in cells]
    columns = [cell % grid.columns for cell in cells]

    def around(low: int, high: int, size: int, least: float) -> range:
        begin, end = low - MARGIN, high + 1 + MARGIN
        lack = max(0.0, min(least, size) - (end - begin)) / 2
        begin, end = math.floor(begin - lack), math.ceil(end + lack)
        if begin < 0:
            begin, end = 0, end - begin
        if end > size:
            begin, end = begin - (end - size), size
        return range(max(0, begin), min(size, end))

    tall = around(min(rows), max(rows), grid.rows, FEWEST_CELLS)
    wide = around(min(columns), max(columns), grid.columns, max(FEWEST_CELLS, len(tall) / TALLEST))
    tall = around(min(rows), max(rows), grid.rows, max(FEWEST_CELLS, len(wide) / WIDEST))
    return tall, wide


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _round_below(value: float) -> float:
    """Return the largest round number that is not above a value.

    >>> _round_below(7.3), _round_below(0.9)
    (5.0, 0.5)
    """
    power = 10.0 ** math.floor(math.log10(value))
    return max(float(f"{n * power:.12g}") for n in NICE if n * power <= value * (1 + 1e-9))
