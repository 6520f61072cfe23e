"""What settings cost, drawn: metres near and far from the events, with intervals, side by side.

As a page of its own, which stretches with the window, or as a picture in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from priste.atomic_files import check_writable, write_file
from priste.audit.estimates import Estimate
from priste.errors import InvalidParameter
from priste.forecast.policy_cost import Row
from priste.forecast.simulation import Metres
from priste.report.charts import BarGroup, ValueBar
from priste.results import length

PICTURES = ("png", "pdf", "svg")
NOTE = "mean errors, far from the events and near them; the line is where 80 of 100 cases lie"


def groups_of(rows: Sequence[Row]) -> tuple[BarGroup, ...]:
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
    return tuple(BarGroup(name, words, _bars(metres, widest)) for name, words, metres in told)


def _kinds(metres: Metres) -> dict[str, Estimate]:
    if metres.near is None or metres.far is None:
        return {"everywhere": metres.all}
    return {"far": metres.far, "near": metres.near}


def _high(metres: Metres) -> float:
    # An interval of few streams can be far wider than anything: it is cut off, not the means.
    return max(min(each.high, 2 * each.value) for each in _kinds(metres).values())


def _bars(metres: Metres, widest: float) -> tuple[ValueBar, ...]:
    def share(value: float) -> float:
        return round(100 * min(max(value, 0.0), widest) / widest, 2)

    return tuple(
        ValueBar(
            name,
            "bad" if name == "near" else "good",
            share(each.value),
            f"{length(each.value)} ({length(max(each.low, 0.0))} to {length(each.high)})",
            share(each.low),
            share(each.high),
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


def check_plot(path: Path, *, overwrite: bool = False) -> str:
    """Return what kind of picture a path asks for, before any work is done for it.

    Raises InvalidParameter for another suffix, OutputExists if something is there.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in (*PICTURES, "html"):
        raise InvalidParameter(
            "must end in .html, .png, .pdf or .svg", parameter="plot", value=path.name
        )
    check_writable(path, overwrite=overwrite)
    return kind


def save_forecast(rows: Sequence[Row], path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the picture of a forecast, by its suffix: a page (.html) or a picture."""
    page = partial(forecast_page, rows)
    return save_drawn(path, page, groups_of(rows), NOTE, overwrite=overwrite)


def save_drawn(
    path: str | Path,
    page: Callable[[], str],
    groups: Sequence[BarGroup],
    note: str,
    *,
    overwrite: bool = False,
) -> Path:
    """Write a page, or its bars as a picture, as the suffix asks."""
    path = Path(path)
    if check_plot(path, overwrite=overwrite) == "html":
        return write_file(path, page(), overwrite=overwrite)
    from priste.report.figures import bars_figure, save_figure

    return save_figure(bars_figure(groups, note), path, overwrite=overwrite)
