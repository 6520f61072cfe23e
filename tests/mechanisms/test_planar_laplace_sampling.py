"""Draws on maps of the earth against the continuous distribution: radius, angle, and isotropy.

Each test draws 20,000 cells from the centre of a fine map at latitude 0, 40 or 65, places each draw
uniformly in its cell, and compares geodesic distances with Gamma(2, 1/alpha) and azimuths with the
uniform distribution by Kolmogorov and Smirnov's statistic. A right sampler exceeds its limit,
0.0191, with a probability below 1e-6 (cells of a tenth of 1/alpha add less than 0.001). Seeds are
fixed. The power is shown by the wrong distributions at the end: each of them exceeds the limit.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from pyproj import Geod
from scipy.stats import gamma

from priste.maps import Grid
from priste.mechanisms import PlanarLaplace
from priste.randomness import ExactDistribution

DRAWS = 20_000
FALSE_ALARM = 1e-6
LIMIT = math.sqrt(-math.log(FALSE_ALARM / 2) / 2 / DRAWS)

ALPHA = 2.0
CELL_KM = 0.05
HALF_SIDE_KM = 6.0
KM_PER_DEGREE = 111.3
LATITUDES = (0.0, 40.0, 65.0)
EARTH = Geod(ellps="WGS84")


def kolmogorov_distance(values, cumulative):
    """The largest gap between the empirical and the stated distribution function."""
    expected = cumulative(np.sort(values))
    steps = np.arange(len(values) + 1) / len(values)
    return float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))


def radius_distribution(kilometres):
    return gamma.cdf(kilometres, 2, scale=1 / ALPHA)


def angle_distribution(degrees):
    return (np.asarray(degrees) + 180.0) / 360.0


@pytest.fixture(scope="module", params=LATITUDES)
def draws(request):
    """The grid, the cell at its centre, and x, y (km) of draws, spread over their cells."""
    latitude = request.param
    half_lat = HALF_SIDE_KM / KM_PER_DEGREE
    half_lon = half_lat / math.cos(math.radians(latitude))
    grid = Grid.covering(
        latitude - half_lat, 10 - half_lon, latitude + half_lat, 10 + half_lon, CELL_KM
    )
    centre = grid.cell_at(latitude, 10.0)
    rng = np.random.default_rng(int(latitude) + 1)
    distribution = ExactDistribution(PlanarLaplace(grid, ALPHA).row(centre))
    cells = np.array([distribution.draw(rng) for _ in range(DRAWS)])
    spread = rng.uniform(-CELL_KM / 2, CELL_KM / 2, size=(DRAWS, 2))
    x, y = (grid.centers[cells] + spread).T
    return grid, centre, x, y


def radii_and_angles(grid, centre, x, y):
    lat, lon = grid.latlon_at(x, y)
    start_lat, start_lon = grid.latlon(centre)
    azimuth, _, metres = EARTH.inv(np.full(len(x), start_lon), np.full(len(x), start_lat), lon, lat)
    return metres / 1000.0, azimuth


def test_radius_distribution(draws):
    """Geodesic distances of draws follow Gamma(2, 1/alpha) at every latitude."""
    radii, _ = radii_and_angles(*draws)
    assert kolmogorov_distance(radii, radius_distribution) < LIMIT


def test_angle_distribution(draws):
    """Azimuths of draws are uniform at every latitude: the noise is isotropic on the ground."""
    _, angles = radii_and_angles(*draws)
    assert kolmogorov_distance(angles, angle_distribution) < LIMIT


def test_radius_does_not_depend_on_the_direction(draws):
    """North-south and east-west draws have the same radius distribution, not only the same mean."""
    radii, angles = radii_and_angles(*draws)
    upright = np.abs(np.cos(np.radians(angles))) > math.sqrt(0.5)
    for half in (radii[upright], radii[~upright]):
        assert kolmogorov_distance(half, radius_distribution) < LIMIT * math.sqrt(DRAWS / len(half))


def test_sample_draws_as_the_distribution_used_here_does(draws):
    """Mechanism.sample and the distribution built once give the same draws from the same bits."""
    grid, centre, _, _ = draws
    mechanism = PlanarLaplace(grid, ALPHA)
    distribution = ExactDistribution(mechanism.row(centre))
    assert [mechanism.sample(centre, seed) for seed in range(3)] == [
        distribution.draw(seed) for seed in range(3)
    ]


@pytest.mark.parametrize("draws", [40.0, 65.0], indirect=True)
def test_power_against_noise_in_degrees(draws):
    """Noise added in degrees, squeezed by the latitude, would be found at 40 and 65 degrees."""
    grid, centre, x, y = draws
    latitude = grid.latlon(centre)[0]
    middle = grid.centers[centre][0]
    squeezed = middle + (x - middle) * math.cos(math.radians(latitude))
    _, angles = radii_and_angles(grid, centre, squeezed, y)
    assert kolmogorov_distance(angles, angle_distribution) > LIMIT


def test_power_against_wrong_radii(draws):
    """A scale off by a tenth, or the exponential radius of a usual mistake, would be found."""
    radii, _ = radii_and_angles(*draws)
    assert kolmogorov_distance(radii * 1.1, radius_distribution) > LIMIT
    assert kolmogorov_distance(radii * 0.9, radius_distribution) > LIMIT
    exponential = np.random.default_rng(0).exponential(2 / ALPHA, DRAWS)
    assert kolmogorov_distance(exponential, radius_distribution) > 2 * LIMIT
