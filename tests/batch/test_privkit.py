"""The Privkit mechanism, on a stand-in of Privkit's data: its columns, its grouping, its loss."""

import math
from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import Any

import numpy as np
import pytest
from tests.cli.small_world import GRID, PATHS, POLICY, START

from priste import InvalidParameter
from priste.batch.privkit import EARTH_RADIUS_M, PristePPM, great_circle_metres
from priste.policy import Policy, read_policy


class Frame:
    """As much of a pandas frame as Privkit's mechanisms use: named columns, read and written."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    @property
    def columns(self) -> Iterator[str]:
        return iter(self._columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __setitem__(self, name: str, values: Any) -> None:
        assert len(values) == len(self._columns["lat"])
        self._columns[name] = list(values)


class LocationData:
    """What Privkit hands to a mechanism."""

    DATA_TYPE_ID = "location_data"

    def __init__(self, **columns: list[Any]) -> None:
        self.data = Frame(columns)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return read_policy(POLICY)


def trips(*users: str, zone: Any = UTC) -> LocationData:
    """Return two trajectories a user, given user by user, the second trajectory first."""
    rows = [
        (user, step // 6, START + timedelta(hours=step, minutes=minute), GRID.latlon(cell))
        for user in users
        for step, cell in sorted(enumerate(PATHS[user]), key=lambda row: -(row[0] // 6))
        for minute in (20, 40)
    ]
    return LocationData(
        uid=[row[0] for row in rows],
        tid=[row[1] for row in rows],
        datetime=[row[2].astimezone(UTC).replace(tzinfo=zone) for row in rows],
        lat=[row[3][0] for row in rows],
        lon=[row[3][1] for row in rows],
    )


def test_it_has_the_form_of_a_privkit_mechanism() -> None:
    """Six class attributes, of the kinds that Privkit's base class asks for."""
    for name in ("PPM_ID", "PPM_NAME", "PPM_INFO", "PPM_REF"):
        assert isinstance(getattr(PristePPM, name), str)
    assert list(PristePPM.DATA_TYPE_ID) == [LocationData.DATA_TYPE_ID]
    assert list(PristePPM.METRIC_ID) == ["quality_loss"]


def test_columns_hold_the_releases_of_one_stream_per_person(policy: Policy) -> None:
    """Every fix of a step has its one released point, and the loss is the distance to it."""
    data = trips("ada", "ben")
    ppm = PristePPM(policy, seed=4)
    assert ppm.execute(data) is data
    frame = data.data
    assert set(ppm.ledgers) == {"ada", "ben"}
    for row, (uid, when) in enumerate(zip(frame["uid"], frame["datetime"], strict=True)):
        released = ppm.ledgers[uid][policy.timeline.step_at(when)]
        assert released.cell is not None
        point = (frame["obf_lat"][row], frame["obf_lon"][row])
        assert point == pytest.approx(GRID.latlon(released.cell), abs=1e-6)
        arc = math.acos(
            min(
                1.0,
                math.sin(math.radians(frame["lat"][row])) * math.sin(math.radians(point[0]))
                + math.cos(math.radians(frame["lat"][row]))
                * math.cos(math.radians(point[0]))
                * math.cos(math.radians(point[1] - frame["lon"][row])),
            )
        )
        assert frame["quality_loss"][row] == pytest.approx(EARTH_RADIUS_M * arc, abs=1.0)
    for uid, ledger in ppm.ledgers.items():
        assert len(ledger) == len(PATHS[uid])
        assert max(release.leakage[0] for release in ledger) <= policy.events["visit"].epsilon


def test_a_seed_repeats_and_people_do_not_depend_on_each_other(policy: Policy) -> None:
    """The same seed gives the same columns, whoever else is in the data."""
    both, alone = trips("ada", "ben"), trips("ben")
    for data in (both, alone):
        PristePPM(policy, seed=9).execute(data)
    assert both.data["obf_lat"][-24:] == alone.data["obf_lat"]
    naive = trips("ben", zone=None)
    PristePPM(policy, seed=9).execute(naive)
    assert naive.data["obf_lon"] == alone.data["obf_lon"]  # the zone of this policy is UTC


def test_what_is_off_the_clock_has_no_release(policy: Policy) -> None:
    """A fix before the clock begins gets nan in all three columns, and nothing is made up."""
    data = trips("cleo")
    data.data["datetime"][0] = START - timedelta(hours=3)
    data.data["datetime"][1] = np.datetime64("2026-03-03T01:00:00")
    PristePPM(policy, seed=1).execute(data)
    for name in ("obf_lat", "obf_lon", "quality_loss"):
        assert all(math.isnan(value) for value in data.data[name][:2])
        assert not any(math.isnan(value) for value in data.data[name][2:])


@pytest.mark.parametrize("name", ["lat", "lon", "datetime"])
def test_missing_columns_are_named(policy: Policy, name: str) -> None:
    """Without places or times there is nothing to release."""
    data = LocationData(
        **{column: [1.0] for column in ("lat", "lon", "datetime") if column != name}
    )
    with pytest.raises(InvalidParameter, match=f"no {name}"):
        PristePPM(policy).execute(data)


def test_times_must_be_times(policy: Policy) -> None:
    """A text is refused, and the message holds no location."""
    data = LocationData(lat=[46.01], lon=[7.01], datetime=["2026-03-04"])
    with pytest.raises(InvalidParameter, match="Got str") as error:
        PristePPM(policy).execute(data)
    assert "46.01" not in str(error.value)


def test_distances_on_the_sphere() -> None:
    """A quarter of the way round, and from a place to itself."""
    lat, lon = np.array([0.0, 46.0]), np.array([0.0, 7.0])
    found = great_circle_metres(lat, lon, np.array([0.0, 46.0]), np.array([90.0, 7.0]))
    assert found.tolist() == pytest.approx([EARTH_RADIUS_M * math.pi / 2, 0.0])
