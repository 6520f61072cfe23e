"""Make the first picture of README.md: where Ada was on an afternoon, and what the app received.

Run ``python docs/pictures/make_afternoon_picture.py``. The afternoon is the second treatment of
``priste demo`` with its default seed. Every release is shown with the fix nearest to it in time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import matplotlib

from priste.maps import Grid, Region
from priste.policy import load_policy
from priste.report.figures import BARE, GUARDED, INK, QUIET, SHADED, STYLE
from priste.traces import Fix, read_traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = Path(__file__).parent.parent / "images" / "afternoon.png"
ZONE = ZoneInfo("Europe/Zurich")
BEGIN = datetime(2026, 3, 11, 12, tzinfo=ZONE)
END = datetime(2026, 3, 11, 18, tzinfo=ZONE)


def hourly(town: Path) -> list[tuple[Fix, Fix]]:
    """Return each release of the afternoon, after the true fix nearest to it in time."""
    true = list(read_traces(town / "ada.csv").one())
    released = list(read_traces(town / "released.csv").one())
    return [
        (min(true, key=lambda fix: abs(fix.time - release.time)), release)
        for release in released
        if BEGIN <= release.time < END
    ]


def draw_places(axes: Axes, grid: Grid, regions: dict[str, Region]) -> None:
    """Draw the named places; the guarded one stands out."""
    from matplotlib.patches import Rectangle

    for name, region in regions.items():
        corners = [grid.bounds_of(cell) for cell in region.cells]
        west, south = min(c[0] for c in corners), min(c[1] for c in corners)
        east, north = max(c[2] for c in corners), max(c[3] for c in corners)
        ink = BARE if name == "hospital" else QUIET
        axes.add_patch(
            Rectangle((west, south), east - west, north - south, ec=ink, fc="#f1f4f7", lw=1.8)
        )
        words = f"{name} (guarded)" if name == "hospital" else name
        axes.annotate(words, ((west + east) / 2, south), (0, -4), textcoords="offset points",
                      ha="center", va="top", color=ink if name == "hospital" else INK)  # fmt: skip


def draw_way(
    axes: Axes, grid: Grid, fixes: Sequence[Fix], times: Sequence[datetime], ink: str
) -> None:
    """Draw the way through the fixes, with the times beside each place."""
    points = [grid.xy(fix.lat, fix.lon) for fix in fixes]
    x, y = zip(*points, strict=True)
    axes.plot(x, y, "-", color=ink, lw=1.2, alpha=0.4)
    axes.plot(x, y, "o", color=ink, ms=9, mec="white")
    hours: dict[int, list[str]] = {}
    for fix, time in zip(fixes, times, strict=True):
        hours.setdefault(grid.cell_at(fix.lat, fix.lon), []).append(
            f"{time.astimezone(ZONE):%H:%M}"
        )
    for fix in fixes:
        written = "\n".join(hours.pop(grid.cell_at(fix.lat, fix.lon), ()))
        axes.annotate(written, grid.xy(fix.lat, fix.lon), (24, 0), textcoords="offset points",
                      va="center", color=ink, fontweight="bold",
                      bbox={"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8})  # fmt: skip


def main() -> None:
    """Run the demo and draw the picture."""
    matplotlib.use("Agg")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with tempfile.TemporaryDirectory() as name:
        town = Path(name) / "town"
        subprocess.run([sys.executable, "-m", "priste", "demo", "--folder", town], check=True)
        policy = load_policy(town / "policy.toml")
        pairs = hourly(town)
    times = [release.time for _, release in pairs]
    with rc_context({**STYLE, "axes.grid": False, "font.size": 10, "axes.titlesize": 12}):
        figure = Figure(figsize=(7.2, 4.05), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.set_title("Where Ada was on Wednesday")
        right.set_title("What the app received")
        for axes in (left, right):
            draw_places(axes, policy.grid, dict(policy.regions))
            axes.set(xlim=(0, policy.grid.width), ylim=(0, policy.grid.height), aspect="equal")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(True)
        draw_way(left, policy.grid, [true for true, _ in pairs], times, SHADED["true"])
        draw_way(right, policy.grid, [release for _, release in pairs], times, GUARDED)
        figure.savefig(PICTURE, dpi=160, metadata={"Software": None})


if __name__ == "__main__":
    main()
