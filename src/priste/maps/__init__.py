"""The plane or the earth, cut into cells, and sets of those cells.

:class:`Grid` is the map, :class:`Region` a set of its cells, :func:`cell_numbers` the one
check of "any iterable of cell numbers" for the whole of priste.
"""

from priste.maps.cells import Cells, cell_numbers
from priste.maps.coverage import Cover
from priste.maps.distances import best_constant, kilometres
from priste.maps.grid import Grid, Outside
from priste.maps.projection import LocalProjection
from priste.maps.region import Region

__all__ = [
    "Cells",
    "Cover",
    "Grid",
    "LocalProjection",
    "Outside",
    "Region",
    "best_constant",
    "cell_numbers",
    "kilometres",
]
