"""What settings cost, drawn: metres near and far from the events, with intervals, side by side.

As a page of its own, which stretches with the window, or as a picture in a file.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from priste.atomic_files import check_writable, write_file
from priste.audit.estimates import Estimate
from priste.errors import InvalidParameter
from priste.extras import need
from priste.forecast.policy_cost import Row
from priste.forecast.simulation import Cost, Metres

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = ("png", "pdf", "svg")

NEAR, FAR = "#c8553d", "#0b6e6e"


@dataclass(frozen=True)
class Bar:
    """A mean with its interval, in percent of the width; ``words`` says both."""

    name: str
    style: str
    width: float
    low: float
    high: float
    words: str


@dataclass(frozen=True)
class Group:
    """One setting, or what it is compared with."""

    name: str
    words: str
    bars: tuple[Bar, ...]


def groups_of(rows: Sequence[Row]) -> tuple[Group, ...]:
    """Return what is drawn: the uncalibrated mechanism and one constant point, then every setting.

    The comparisons are those of the first row, and as long as its streams are.
    """
    first = rows[0].cost
    told = [
        ("uncalibrated", "no guarantee at all", first.uncalibrated),
        ("constant point", "the same point always", first.constant),
        *((row.name, row.guarantee, row.cost.released) for row in rows),
    ]
    widest = max(_high(metres) for _, _, metres in told) or 1.0
    return tuple(Group(name, words, _bars(metres, widest)) for name, words, metres in told)


def _kinds(metres: Metres) -> dict[str, Estimate]:
    if metres.near is None or metres.far is None:
        return {"everywhere": metres.all}
    return {"far": metres.far, "near": metres.near}


def _high(metres: Metres) -> float:
    # An interval of few streams can be far wider than anything: it is cut off, not the means.
    return max(min(each.high, 2 * each.value) for each in _kinds(metres).values())


def _bars(metres: Metres, widest: float) -> tuple[Bar, ...]:
    from priste.results import length

    def share(value: float) -> float:
        return round(100 * min(max(value, 0.0), widest) / widest, 2)

    return tuple(
        Bar(
            name,
            name,
            share(each.value),
            share(each.low),
            share(each.high),
            f"{length(each.value)} ({length(max(each.low, 0.0))} to {length(each.high)})",
        )
        for name, each in _kinds(metres).items()
    )


def forecast_page(rows: Sequence[Row], *, title: str = "What the policy will cost") -> str:
    """Return the page of a forecast, self-contained: a pure function of the rows."""
    from priste.report.pages import page

    return page(
        "forecast.html",
        title=title,
        first=rows[0],
        groups=groups_of(rows),
    )


def forecast_figure(rows: Sequence[Row]) -> Figure:
    """Return the picture of a forecast: a line for each setting, a mark for near and for far."""
    import matplotlib
    from matplotlib.figure import Figure

    from priste.report.figures import INK, STYLE

    first = rows[0].cost
    told = {
        "uncalibrated": first.uncalibrated,
        "constant point": first.constant,
        **{row.name: row.cost.released for row in rows},
    }
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 1.2 + 0.42 * len(told)), layout="constrained")
        axes = figure.subplots()
        inks = {"near": NEAR, "far": FAR, "everywhere": FAR}
        for place, metres in enumerate(told.values()):
            for shift, (kind, each) in zip((-0.14, 0.14), _kinds(metres).items(), strict=False):
                axes.plot(
                    [max(each.low, 0.0) / 1000, each.high / 1000],
                    [place + shift] * 2,
                    color=inks[kind],
                    linewidth=1.4,
                    alpha=0.6,
                )
                axes.plot(each.value / 1000, place + shift, "o", color=inks[kind], markersize=6)
        widest = max(_high(metres) for metres in told.values()) or 1.0
        axes.set_xlim(0, 1.05 * widest / 1000)
        axes.set_yticks(range(len(told)), list(told))
        axes.set_ylim(len(told) - 0.5, -0.5)
        axes.axhline(1.5, color=INK, linewidth=0.8)
        axes.grid(visible=False, axis="y")
        axes.set(
            xlabel="mean error in km, and where it lies in 80 of 100 cases",
            title="What the policy and its neighbours cost",
        )
        for kind in _kinds(first.released):
            axes.plot([], [], "o-", color=inks[kind], label=_legend(kind, first))
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def _legend(kind: str, cost: Cost) -> str:
    words = {"near": "near the events", "far": "far from them", "everywhere": "everywhere"}
    return f"{words[kind]} ({cost.runs} streams)"


def check_plot(path: Path, *, overwrite: bool = False) -> str:
    """Return what kind of picture a path asks for, before any work is done for it.

    Raises InvalidParameter for another suffix, OutputExists if something is there.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in (*PICTURES, "html"):
        raise InvalidParameter(
            f"The picture must end in .html, .png, .pdf or .svg. Got {path.name!r}."
        )
    check_writable(path, overwrite=overwrite)
    return kind


def save_forecast(rows: Sequence[Row], path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the picture of a forecast, by its suffix: a page (.html) or a picture."""
    return save_drawn(
        path, lambda: forecast_page(rows), lambda: forecast_figure(rows), overwrite=overwrite
    )


def save_drawn(
    path: str | Path,
    page: Callable[[], str],
    figure: Callable[[], Figure],
    *,
    overwrite: bool = False,
) -> Path:
    """Write a page or a picture, as the suffix asks; equal figures give equal bytes."""
    path = Path(path)
    kind = check_plot(path, overwrite=overwrite)
    if kind == "html":
        return write_file(path, page(), overwrite=overwrite)
    need("plots", "Drawing a picture", "matplotlib")
    import matplotlib

    from priste.report.figures import STYLE

    drawn = io.BytesIO()
    dateless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
    with matplotlib.rc_context(STYLE):
        figure().savefig(drawn, format=kind, dpi=160, metadata=dateless[kind])
    return write_file(path, drawn.getvalue(), overwrite=overwrite)
