"""What an audit takes positions for: centres of cells, and mechanisms at another level."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste import (
    EmissionTable,
    Grid,
    InvalidParameter,
    LocationSet,
    PlanarIsotropic,
    PlanarLaplace,
)
from priste.audit import at_level, share_off_centre

GRID = Grid.covering(46.0, 7.0, 46.05, 7.08, 0.5)


@pytest.mark.parametrize("decimals", [5, 6, 9])
def test_centres_as_files_keep_them_are_centres(decimals) -> None:
    """Rounded to five decimals of a degree, every centre of a map is still one."""
    lat, lon = GRID.latlon(np.arange(GRID.size))
    assert share_off_centre(GRID, np.round(lat, decimals), np.round(lon, decimals)) == 0.0


@given(st.integers(0, GRID.size - 1), st.floats(0.03, 0.49), st.booleans())
def test_a_position_beside_a_centre_is_seen(cell, shift, across) -> None:
    """A shift along one axis by 3 % of a cell or more is no rounding."""
    x, y = GRID.centers[cell] + np.array([shift, 0.0] if across else [0.0, shift]) * 0.5
    centre = GRID.latlon(cell)
    moved = GRID.latlon_at(x, y)
    assert share_off_centre(GRID, [centre[0], moved[0]], [centre[1], moved[1]]) == 0.5


def test_positions_off_the_map_say_nothing() -> None:
    """Only what is on the map is judged."""
    assert share_off_centre(GRID, [50.0], [7.0]) == 0.0
    assert share_off_centre(GRID, [], []) == 0.0


PLANE = Grid(rows=2, columns=3, cell_size=1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda alpha: PlanarLaplace(PLANE, alpha),
        lambda alpha: LocationSet(PlanarLaplace(PLANE, alpha), 0.2),
        lambda alpha: PlanarIsotropic(PLANE, alpha, cells=range(4)),
    ],
    ids=["laplace", "location set", "isotropic"],
)
@pytest.mark.parametrize("alpha", [0.3, 0.5, 4.0])
def test_another_level_is_the_mechanism_made_at_it(make, alpha) -> None:
    """Below, at and above its own level: the table is that of the mechanism with that alpha."""
    assert np.allclose(at_level(make(0.5), alpha).emission(), make(alpha).emission(), atol=1e-12)


def test_a_table_cannot_be_made_louder() -> None:
    """A table has no alpha to raise, and a level is a number >= 0."""
    table = EmissionTable(PLANE, np.full((6, 6), 1 / 6))
    with pytest.raises(InvalidParameter, match="budget"):
        at_level(table, table.budget + 1.0)
    with pytest.raises(InvalidParameter, match="per km"):
        at_level(PlanarLaplace(PLANE, 0.5), -1.0)
