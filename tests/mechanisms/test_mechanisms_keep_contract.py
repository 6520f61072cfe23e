"""Every mechanism passes the inherited contract suite."""

from __future__ import annotations

import numpy as np
from tests.mechanisms.mechanism_contract import BUDGET_SHARES, MechanismContract

from priste.maps import Grid
from priste.mechanisms import (
    EmissionTable,
    Identity,
    LocationSet,
    PlanarIsotropic,
    PlanarLaplace,
    Uniform,
)

SQUARE = Grid(rows=4, columns=5, cell_size=0.5)
LINE = Grid(rows=1, columns=6, cell_size=2.0)
UPRIGHT = Grid(rows=3, columns=1, cell_size=1.0)
SINGLE = Grid(rows=1, columns=1, cell_size=1.0)
EARTH = Grid.covering(40.0, 116.0, 40.03, 116.05, cell_size=1.0)
GRIDS = (SQUARE, LINE, UPRIGHT, SINGLE, EARTH)


def random_table(rows, columns, seed):
    return np.random.default_rng(seed).dirichlet(np.full(columns, 0.5), size=rows)


def beliefs(grid):
    rng = np.random.default_rng(3)
    return [np.full(grid.size, 1.0 / grid.size), rng.dirichlet(np.full(grid.size, 0.3))]


class TestPlanarLaplaceContract(MechanismContract):
    def mechanisms(self):
        return [PlanarLaplace(g, alpha) for g in GRIDS for alpha in (0.01, 1.0, 40.0)]


class TestIdentityContract(MechanismContract):
    def mechanisms(self):
        return [Identity(g) for g in GRIDS]


class TestUniformContract(MechanismContract):
    def mechanisms(self):
        return [Uniform(g) for g in GRIDS]


class TestEmissionTableContract(MechanismContract):
    def mechanisms(self):
        zeros = random_table(20, 20, 1)
        zeros[:, 3] = 0.0
        zeros[2, 5] = 0.0
        return [
            EmissionTable(SQUARE, random_table(20, 20, 0)),
            EmissionTable(SQUARE, zeros / zeros.sum(axis=1, keepdims=True), budget=0.75),
            EmissionTable(SQUARE, random_table(20, 3, 2), output_cells=[7, 0, 7]),
            EmissionTable(LINE, random_table(6, 9, 2)),
            EmissionTable(LINE, random_table(6, 2, 5), background=[0.5, 0.5]),
            EmissionTable(SINGLE, [[0.25, 0.75]]),
        ]

    def test_less_budget_says_less(self):
        """Mixing brings every row nearer to the background, in proportion to the budget.

        Outputs that are impossible from some cells keep alpha infinite until the background fills
        them, so the distance of rows is what is compared.
        """
        for mechanism in self.mechanisms():
            silent = mechanism.with_budget(0.0).emission()
            full = np.abs(mechanism.emission() - silent).sum(axis=1)
            for weaker in self.weaker(mechanism):
                apart = np.abs(weaker.emission() - silent).sum(axis=1)
                share = weaker.budget / mechanism.budget
                np.testing.assert_allclose(apart, share * full, rtol=1e-9, atol=1e-14)


class TestLocationSetContract(MechanismContract):
    def mechanisms(self):
        bases = [PlanarLaplace(g, 1.0) for g in GRIDS]
        bases.append(EmissionTable(SQUARE, random_table(20, 3, 2), output_cells=[7, 0, 7]))
        return [
            LocationSet(base, delta, belief)
            for base in bases
            for delta in (0.0, 0.3)
            for belief in beliefs(base.grid)
        ]


class TestPlanarIsotropicContract(MechanismContract):
    def mechanisms(self):
        fixed = [
            PlanarIsotropic(SQUARE, 1.0, cells=range(20)),
            PlanarIsotropic(SQUARE, 0.5, cells=[0, 6, 12]),  # on a diagonal: a segment
            PlanarIsotropic(SQUARE, 2.0, cells=[3, 8]),
            PlanarIsotropic(SQUARE, 2.0, cells=[11]),  # a point
            PlanarIsotropic(SQUARE, 900.0, cells=[0, 3, 9, 17]),
            PlanarIsotropic(UPRIGHT, 1.0, cells=[0, 2]),
            PlanarIsotropic(EARTH, 1.0, cells=[0, 1, EARTH.size - 1]),
        ]
        following = [
            PlanarIsotropic(grid, 1.0, delta=0.2, belief=belief)
            for grid in (SQUARE, LINE, SINGLE)
            for belief in beliefs(grid)
        ]
        return fixed + following

    def weaker(self, mechanism):
        return [mechanism.with_budget(mechanism.budget * s) for s in BUDGET_SHARES]
