"""What notebooks ask of an object: its HTML, its picture, its rows as a frame.

The work is done by :mod:`priste.display`, which stands above the packages whose objects it shows
and is loaded when one of them is first looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from priste.late_parts import late

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Showable:
    """An object that renders itself in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(late("display").html(self))


class Plottable(Showable):
    """An object with a picture."""

    __slots__ = ()

    def plot(self) -> Figure:
        """Draw it as a matplotlib figure, which a notebook shows and ``savefig`` writes."""
        figure: Figure = late("display").plot(self)
        return figure


class Tabular:
    """An object with rows."""

    __slots__ = ()

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rows as a frame of pandas, polars or pyarrow.

        ``backend`` names the library; by default it is the first of these that is installed.
        """
        return late("display").frame(self, backend)
