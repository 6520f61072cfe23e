"""Frames of every kind go in, the same kind comes out, and what is drawn is one run's."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.batch.small_tables import table_of
from tests.cli.small_world import (
    EPSILON,
    GRID,
    PATHS,
    POLICY,
    QUICK,
    START,
    policy_of,
    trace_of,
    write_policy,
)

import priste
from priste.batch import protect_file
from priste.errors import InvalidParameter, OutsideMap, StateError, TraceError
from priste.results.evaluation import evaluate_traces
from priste.traces import Fix, Timeline, Trace, read_traces, write_traces
from priste.traces.frames import FRAME, open_frame, traces_of

EVENTS = ["visit", "homecoming"]


def points(table: pa.Table, system: str = "EPSG:3857") -> gpd.GeoDataFrame:
    """Return a table with its positions as points of a projected system."""
    data = table.to_pandas()
    places = gpd.points_from_xy(data.pop("lon"), data.pop("lat"), crs="EPSG:4326")
    return gpd.GeoDataFrame(data, geometry=places).to_crs(system)


moving_zones = pytest.mark.filterwarnings(
    "ignore:Time zone information dropped", "ignore:The inplace keyword"
)
"""What movingpandas itself warns of when trajectories are made."""


def trajectories(table: pa.Table) -> Any:
    moving = pytest.importorskip("movingpandas", reason=".ci/run installs it")
    return moving.TrajectoryCollection(points(table), traj_id_col="user", t="time")


def positionfixes(table: pa.Table) -> Any:
    trackintel = pytest.importorskip("trackintel", reason=".ci/run installs it")
    named = points(table, "EPSG:4326").rename(columns={"user": "user_id", "time": "tracked_at"})
    return trackintel.Positionfixes(named.rename_geometry("geom"))


def mobility_frame(table: pa.Table) -> pd.DataFrame:
    """Return the columns of scikit-mobility."""
    names = {"user": "uid", "time": "datetime", "lon": "lng"}
    return table.to_pandas().rename(columns=names)


class ArrowOnly:
    """Something of which nothing is known but that it has the Arrow C stream."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


KINDS: dict[str, tuple[Callable[[pa.Table], Any], str]] = {
    "pyarrow": (lambda table: table, "Table"),
    "pandas": (lambda table: table.to_pandas(), "DataFrame"),
    "pandas with times as index": (lambda t: t.to_pandas().set_index("time"), "DataFrame"),
    "polars": (pl.from_arrow, "DataFrame"),
    "lazy polars": (lambda table: pl.from_arrow(table).lazy(), "LazyFrame"),
    "DuckDB": (duckdb.from_arrow, "DuckDBPyRelation"),
    "geopandas": (points, "GeoDataFrame"),
    "Arrow with points": (
        lambda t: pa.table(points(t, "EPSG:4326").to_arrow(geometry_encoding="WKB")),
        "Table",
    ),
    "scikit-mobility": (mobility_frame, "DataFrame"),
    "movingpandas": (trajectories, "TrajectoryCollection"),
    "trackintel": (positionfixes, "Positionfixes"),
    "Arrow stream": (ArrowOnly, "Table"),
}


def positions(frame: Any) -> dict[str, np.ndarray]:
    """Return the positions of each user of a frame in the order of time."""
    return {
        str(trace.user): np.stack([trace.lat, trace.lon])
        for trace in traces_of(frame, {"user": "user"} if _is_collection(frame) else None)
    }


def _is_collection(frame: Any) -> bool:
    return type(frame).__name__ == "TrajectoryCollection"


@pytest.fixture(scope="module")
def file_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Trace]]:
    """Protect a file; return the state that knows of it, and what was released."""
    folder = tmp_path_factory.mktemp("file")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRISTE_STATE", str(folder / "priste"))
        write_traces([trace_of(user, PATHS[user]) for user in ("ada", "ben")], folder / "trips.csv")
        protect_file(policy_of(), read_traces(folder / "trips.csv"), folder / "out.csv")
    released = {str(trace.user): trace for trace in read_traces(folder / "out.csv")}
    return folder / "priste", released


@moving_zones
@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_gets_the_draws_of_the_file_with_the_same_rows(
    kind: str, file_run: tuple[Path, dict[str, Trace]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is protected first; each kind of frame of its rows then gets these very draws."""
    state, of_file = file_run
    monkeypatch.setenv("PRISTE_STATE", str(state))
    made, name = KINDS[kind]

    found = priste.protect(made(table_of("ada", "ben")), policy_of())

    assert type(found).__name__ == name
    told = positions(found)
    assert set(told) == set(of_file)
    for user, trace in of_file.items():
        assert told[user] == pytest.approx(np.stack([trace.lat, trace.lon]), abs=2e-7)


def test_leakage_columns_are_those_of_the_ledger() -> None:
    """Each row has what the stream had reached with its step, event by event and at most."""
    found, report = priste.protect(table_of("ada", "ben"), policy_of(), return_report=True)
    rows = found.to_pylist()
    assert found.column_names == ["user", "time", "lat", "lon", "leakage"] + [
        f"leakage_{name}" for name in EVENTS
    ]
    for user, ledger in report.ledgers.items():
        own = [row for row in rows if row["user"] == user]
        assert len(own) == len(ledger)
        for row, release in zip(own, ledger, strict=True):
            assert [row[f"leakage_{name}"] for name in EVENTS] == list(release.leakage)
            assert row["leakage"] == max(release.leakage)
            assert row["time"] == policy_of().timeline.middle_of(release.step)


def test_only_fixes_are_read_and_nothing_else_is_given_back() -> None:
    """Other columns, whatever they hold, change neither the run nor the result."""
    table = table_of("ada")
    diary = pa.array([f"secret {k}" for k in range(table.num_rows)])
    first = priste.protect(table, policy_of())
    second = priste.protect(table.append_column("diary", diary), policy_of())
    assert first.equals(second)


def test_users_and_zones_keep_their_types() -> None:
    """Numbers stay numbers, and times come back in the zone they were given in."""
    data = table_of("ada", "ben").to_pandas()
    data["user"] = data["user"].map({"ada": 7, "ben": 11})
    data["time"] = data["time"].dt.tz_convert("Europe/Vienna")
    found = priste.protect(data, policy_of())
    assert found["user"].tolist() == [11] * 12 + [7] * 12  # in the order of names
    assert str(found["time"].dt.tz) == "Europe/Vienna"
    assert found["time"].iloc[0] == pd.Timestamp("2026-03-04T00:30Z")


def test_columns_are_named_where_names_do_not_tell() -> None:
    """A frame with unusual names is refused with its names, and read when they are said."""
    data = table_of("ada").rename_columns(["driver", "hour", "northing", "easting"])
    with pytest.raises(TraceError, match="must name the 'time'"):
        priste.protect(data, policy_of())
    named = {"time": "hour", "lat": "northing", "lon": "easting"}
    found = priste.protect(data, policy_of(), columns=named)
    assert found.column_names[:4] == ["driver", "hour", "northing", "easting"]


def test_clock_times_need_their_zone() -> None:
    """Times without a zone are refused, and read with one."""
    data = table_of("ada").to_pandas()
    data["time"] = data["time"].dt.tz_localize(None)
    with pytest.raises(TraceError, match=r"zone.*the times of the frame carry none"):
        priste.protect(data, policy_of())
    assert len(priste.protect(data, policy_of(), zone="UTC")) == 12


@moving_zones
def test_a_trip_is_not_taken_for_a_person() -> None:
    """Trajectories without a column of people are refused until it is said who made them."""
    moving = pytest.importorskip("movingpandas", reason=".ci/run installs it")
    frame = points(table_of("ada", "ben")).rename(columns={"user": "trip"})
    trips = moving.TrajectoryCollection(frame, traj_id_col="trip", t="time")
    with pytest.raises(InvalidParameter, match="one person may have made several"):
        priste.protect(trips, policy_of())
    found = priste.protect(trips, policy_of(), columns={"user": "trip"})
    assert len(found) == 2
    one = priste.protect(trips.trajectories[0], policy_of(), columns={"user": "trip"})
    assert type(one).__name__ == "Trajectory"


def test_points_need_a_coordinate_system() -> None:
    """A GeoDataFrame without one is refused with the next step; so are points in metres."""
    bare = points(table_of("ada")).set_crs(None, allow_override=True)
    with pytest.raises(InvalidParameter, match="set_crs"):
        priste.protect(bare, policy_of())
    metres = pa.table(points(table_of("ada")).to_arrow(geometry_encoding="WKB"))
    with pytest.raises(InvalidParameter, match="another system"):
        priste.protect(metres, policy_of())


def test_what_is_no_frame_is_refused() -> None:
    """The error names what is taken, and shows nothing of what was given."""
    with pytest.raises(InvalidParameter, match="must be a frame: of pandas") as caught:
        open_frame([("ada", 46.01, 7.01)])
    assert "46.01" not in str(caught.value)


def test_the_register_knows_people_of_frames() -> None:
    """A grown frame goes on with its draws; the same locations under another name are refused."""
    table = table_of("ada")
    first = priste.protect(table.slice(0, 6), policy_of())
    whole = priste.protect(table, policy_of())
    assert whole.slice(0, first.num_rows)["lat"].equals(first["lat"])
    renamed = table.set_column(0, "user", pa.array(["zoe"] * table.num_rows))
    with pytest.raises(StateError, match="another name"):
        priste.protect(renamed, policy_of())
    assert priste.protect(renamed, policy_of(), beside_earlier_releases=True).num_rows == 12


def test_later_days_go_on_from_earlier_ones() -> None:
    """The second half of a day continues the stream of the first; an earlier one is refused."""
    text = QUICK[: QUICK.index("[events.visit]")]
    text += "[events.visit]\nformula = 'presence(clinic, \"20:00-22:00\")'\n"
    later = policy_of(text.replace("2026-03-04T00:00:00", "2026-03-04T12:00:00"))
    morning = table_of("ada")
    half_day = pa.scalar(timedelta(hours=12), pa.duration("us"))
    afternoon = morning.set_column(1, "time", pc.add(morning["time"], half_day))
    priste.protect(morning, policy_of())
    found, report = priste.protect(afternoon, later, return_report=True)
    assert report.continued == 1
    assert max(found["leakage"].to_pylist()) <= EPSILON + 1e-9
    earlier = QUICK.replace("2026-03-04T00:00:00", "2026-03-03T00:00:00")
    day = pa.scalar(timedelta(days=1), pa.duration("us"))
    before = morning.set_column(1, "time", pc.subtract(morning["time"], day))
    with pytest.raises(StateError, match="ada"):
        priste.protect(before, policy_of(earlier))


def test_a_position_off_the_map_stops_the_run(own_state: Path) -> None:
    """Nothing is drawn for anybody, as by the command line."""
    data = table_of("ada", "ben").to_pandas()
    data.loc[3, "lat"] = 47.0
    with pytest.raises(OutsideMap, match="1 of 2 people"):
        priste.protect(data, policy_of())
    assert not list(own_state.rglob("part-*"))


def test_a_run_is_kept_where_it_is_asked_to_be(tmp_path: Path) -> None:
    """The released file, its ledger and its journals lie at ``to``, and can be audited there."""
    place = tmp_path / "trips.parquet"
    found = priste.protect(table_of("ada"), policy_of(), to=place)
    assert positions(found).keys() == {str(t.user) for t in read_traces(place)}
    audited = priste.audit(place, write_policy(tmp_path))
    assert audited.verdict == "kept"
    with pytest.raises(InvalidParameter, match="Parquet"):
        priste.protect(table_of("ada"), policy_of(), to=tmp_path / "trips.csv")


def test_a_run_with_a_seed_is_kept_nowhere(own_state: Path) -> None:
    """It repeats, takes no part in the register, and leaves nothing behind."""
    found = [priste.protect(table_of("ada"), policy_of(), seed=3) for _ in range(2)]
    assert found[0].equals(found[1])
    assert not (own_state / "frames").exists()
    with pytest.raises(InvalidParameter, match="'to' of protect must be given"):
        priste.protect(table_of("ada"), policy_of(), seed=3, return_report=True)


def test_true_locations_do_not_stay_on_the_disk(
    own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frame lies in a private folder during the run, and nowhere after it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    priste.protect(table_of("ada"), policy_of())
    left = [path for place in (tmp_path, own_state) for path in place.rglob("*") if path.is_file()]
    assert left  # the run is kept
    assert not [path for path in left if path.name == FRAME]
    kept = own_state / "frames"
    assert not [path for path in kept.rglob("*") if path.stat().st_mode & 0o077 and path.is_dir()]
    assert os.listdir(kept)


def test_notes_of_a_run_are_warnings(tmp_path: Path) -> None:
    """A calibrator without a guarantee is said to be one."""
    text = POLICY.replace("pace = 0.3", 'calibrator = "uncalibrated"\nno_guarantee = true')
    with pytest.warns(UserWarning, match="guarantees nothing"):
        priste.protect(table_of("ada"), write_policy(tmp_path, text))


def test_an_audit_of_a_run_is_that_of_its_ledgers() -> None:
    """The worst leakage of each event is the largest of the ledgers; a frame of it is refused."""
    found, report = priste.protect(table_of("ada", "ben"), policy_of(), return_report=True)
    audited = priste.audit(report, policy_of())
    for name, (_, event) in audited.worst().items():
        assert event.max == pytest.approx(report.largest_leakage()[name], abs=1e-9)
    with pytest.raises(InvalidParameter, match="Audit the ledger"):
        priste.audit(found, policy_of())
    with pytest.raises(InvalidParameter, match="must be left out with a ledger"):
        priste.audit(report, policy_of(), alpha=1.0)


def test_an_audit_of_a_frame_is_that_of_its_cells() -> None:
    """True locations prove the visit; the same from the mechanism's side is finite."""
    from priste.results import audit_cells

    audited = priste.audit(table_of("ada"), policy_of(), mechanism="identity")
    assert audited.users["ada"]["visit"].max == np.inf
    by_noise = priste.audit(table_of("ada"), policy_of(), mechanism="policy")
    expected = audit_cells(policy_of(), tuple(PATHS["ada"]))
    assert by_noise.users["ada"]["visit"].leakage == expected["visit"].leakage


def test_frames_are_evaluated_as_their_traces(tmp_path: Path) -> None:
    """With a policy, and without one, a frame is its traces; those in both count."""
    truth, policy = table_of("ada", "ben"), policy_of()
    found = priste.protect(table_of("ada"), policy).to_pandas()
    true, told = ({t.user: t for t in traces_of(frame)} for frame in (truth, found))
    plain = priste.evaluate(truth, found)
    assert plain == priste.evaluate([true["ada"]], [told["ada"]])
    from priste.randomness import bit_source

    by_policy = priste.evaluate(truth, found, policy=policy)
    assert by_policy == evaluate_traces(policy, true, told, bit_source(1))
    with pytest.raises(InvalidParameter, match="a user in common"):
        priste.evaluate(table_of("cleo"), found)


def test_a_model_is_fitted_on_a_frame_as_on_its_cells() -> None:
    """The cells of each person from midnight on, counted as sequences of cells are."""
    hour = timedelta(hours=1)
    fitted = priste.MarkovModel.fit(GRID, pl.from_arrow(table_of("ada", "ben")), step=hour)
    by_hand = priste.MarkovModel.fit(GRID, [PATHS["ada"], PATHS["ben"]])
    assert fitted.fingerprint() == by_hand.fingerprint()
    with pytest.raises(InvalidParameter, match="must be a timedelta"):
        priste.MarkovModel.fit(GRID, table_of("ada"))


def test_geoparquet_goes_in_and_out(tmp_path: Path) -> None:
    """What geopandas wrote is protected, and geopandas reads the result with its system."""
    points(table_of("ada"), "EPSG:4326").to_parquet(tmp_path / "ada.parquet")
    policy = policy_of()
    protect_file(policy, read_traces(tmp_path / "ada.parquet"), tmp_path / "out.parquet")
    found = gpd.read_parquet(tmp_path / "out.parquet")
    assert found.crs.to_string() == "OGC:CRS84"
    frame = priste.protect(points(table_of("ada"), "EPSG:4326"), policy).geometry
    assert found.geometry.x.tolist() == pytest.approx(frame.x.tolist(), abs=2e-7)
    assert found.geometry.y.tolist() == pytest.approx(frame.y.tolist(), abs=2e-7)
    points(table_of("ada"), "EPSG:3857").to_parquet(tmp_path / "metres.parquet")
    with pytest.raises(TraceError, match="another coordinate system"):
        list(read_traces(tmp_path / "metres.parquet"))


def test_stays_of_a_frame_fill_their_steps() -> None:
    """A start and an end are a stay, as in a file."""
    trace = Trace.of([Fix("ada", START, 46.01, 7.01, START + timedelta(hours=2))])
    stays = pd.DataFrame(
        {
            "user_id": ["ada"],
            "started_at": [pd.Timestamp(START).as_unit("ns")],
            "finished_at": [pd.Timestamp(START + timedelta(hours=2))],
            "lat": [46.01],
            "lon": [7.01],
        }
    )
    (found,) = traces_of(stays)
    assert found.times.tolist() == trace.times.tolist()
    assert found.until.tolist() == trace.until.tolist()
    line = Timeline(START, timedelta(hours=1))
    assert len(line.cells(found, GRID).cells) == 3
