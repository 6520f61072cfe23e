"""Gaussian movement with places that people leave late: a home, or everywhere beyond the map."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.beyond import seldom_beyond
from priste.mobility.gaussian import gaussian_factors
from priste.mobility.model import MarkovModel
from priste.mobility.smoothed_counts import smoothed
from priste.mobility.structured import SeparableTransition
from priste.mobility.validation import MAX_NUMBER, probability_array


def lingering_gaussian(
    grid: Grid, sigma: float, stay: ArrayLike, *, beyond: float | None = None
) -> MarkovModel:
    """Return the model that stays with probability ``stay[cell]`` and else moves as a Gaussian.

    ``stay`` (m,) is in [0, 1); ``sigma`` as in :meth:`MarkovModel.gaussian`, which this is with
    ``stay`` 0 everywhere. The Gaussian may come out where it began, so somebody stays a little
    longer than 1 / (1 - stay) steps on average. With ``beyond`` in (0, 1] moves to the border of
    the map are made rarer until at most about that share of the time is spent there.

    >>> model = lingering_gaussian(Grid(rows=1, columns=2, cell_size=1.0), 1e6, [0.0, 0.5])
    >>> model.transition(0).toarray().round(3)
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    sigma = check_float(sigma, "sigma", "lingering_gaussian", why="km", above=0, most=MAX_NUMBER)
    stays = probability_array(stay, name="'stay' of lingering_gaussian")
    if stays.shape != (grid.size,) or np.any(stays >= 1.0):
        raise InvalidParameter(
            f"must hold a number in [0, 1) for each of the {grid.size} cells",
            parameter="stay",
            owner="lingering_gaussian",
            got=f"shape {stays.shape}, up to {stays.max(initial=0.0):g}",
        )
    factors = gaussian_factors(grid, sigma)
    if beyond is not None:
        factors = seldom_beyond(factors, lambda _: 1.0 - stays, beyond, "lingering_gaussian")
    prior = SeparableTransition(*factors)
    counts = sparse.csr_array(sparse.diags_array(stays))
    return MarkovModel(grid, smoothed(counts, prior, 1.0 - stays))
