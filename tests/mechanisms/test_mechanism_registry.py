"""Descriptions of mechanisms that cannot be restored are refused, never guessed."""

from __future__ import annotations

import pytest

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import EmissionTable, Identity, LocationSet, mechanism_from_dict

GRID = Grid(1, 2, 1.0)
TABLE = EmissionTable(GRID, [[0.5, 0.5], [0.25, 0.75]]).describe()
SET = LocationSet(Identity(GRID), 0.0).describe()


@pytest.mark.parametrize(
    "saved",
    [
        {},
        {"kind": "magic"},
        {"kind": ["uniform"]},
        {"kind": "planar_laplace"},
        {"kind": "planar_laplace", "alpha": "0.5"},
        {"kind": "planar_laplace", "alpha": -1.0},
        {"kind": "uniform", "alpha": 1.0},
        {"kind": "planar_isotropic", "alpha": 1.0, "cells": None, "delta": None, "belief": None},
        {**TABLE, "table": [[0.5, 0.5], [0.25, 0.75]]},
        {**TABLE, "table": {"shape": [2, 2], "float64": "not base64!"}},
        {**TABLE, "table": {"shape": [2, 3], "float64": TABLE["table"]["float64"]}},
        {**TABLE, "table": {"shape": [2, -2], "float64": TABLE["table"]["float64"]}},
        {**TABLE, "table": {"shape": [2, 2], "float64": None}},
        {**TABLE, "budget": 2},
        {**TABLE, "output_cells": [0, 7]},
        {**SET, "base": {"kind": "magic"}},
        {**SET, "base": None},
        {**SET, "delta": 1.5},
        {**SET, "belief": None},
        None,
        "uniform",
        [],
    ],
)
def test_broken_descriptions_are_refused(saved):
    """Unknown kinds, missing, extra and damaged entries raise InvalidParameter."""
    with pytest.raises(InvalidParameter):
        mechanism_from_dict(GRID, saved)


def test_a_description_for_another_map_is_refused():
    """A table for two cells does not restore on a map of three."""
    with pytest.raises(InvalidParameter, match="one row for each"):
        mechanism_from_dict(Grid(1, 3, 1.0), TABLE)
