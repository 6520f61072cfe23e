"""Whose the files of a folder are: by dates in their names, by what they hold, or one each."""

from __future__ import annotations

from pathlib import Path, PurePath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.traces.folders_of_people import folder_of, part

from priste.traces import read_traces
from priste.traces.file_owners import owners_by_name
from priste.traces.one_person import are_one_person, joined


@pytest.mark.parametrize(
    ("names", "owners"),
    [
        (["2024-05-01.gpx", "2024-05-02_0815.gpx"], ["me", "me"]),
        (["route_2024-05-01_7.30am.gpx", "route_2024-05-02_10.05pm.gpx"], ["route", "route"]),
        (["20240501081500.gpx", "20240502.gpx"], ["me", "me"]),
        (["2024-05-01T08:15:00Z.tcx", "2024-05-01 08-15-00.tcx"], ["me", "me"]),
        (["2024/2024_MAY.json", "2024/2024_JUNE.json"], ["me", "me"]),
        (["ada-2024-05-01.gpx", "bob-2024-05-01.gpx"], ["ada", "bob"]),
        (["ada/20240501.gpx", "bob/20240501.gpx"], ["ada", "bob"]),
        (["user1_20240501.gpx", "user2_20240501.gpx"], ["user1", "user2"]),
        (["1234567890.gpx", "1234567891.gpx"], None),
        (["20249901.gpx", "20240101.gpx"], None),
        (["2024-05-01.gpx", "ada.gpx"], None),
        (["2024-05-01.gpx"], None),
    ],
)
def test_dates_in_names_are_not_people(names: list[str], owners: list[str] | None) -> None:
    """The rest of the path names the person, or the folder does; all files must have a date."""
    each_its_own = [PurePath(name).with_suffix("").as_posix() for name in names]
    expected = (each_its_own, None) if owners is None else (owners, "date")
    assert owners_by_name([PurePath(name) for name in names], "me") == expected


@given(st.lists(st.text(max_size=30), min_size=2, max_size=4))
def test_any_names_are_answered(names: list[str]) -> None:
    """Whatever files are called, there is an owner for each."""
    found, _ = owners_by_name([PurePath(f"f{name}".replace("\0", "")) for name in names], "me")
    assert len(found) == len(names)
    assert all(found)


def test_daily_files_are_one_user_and_it_is_said(tmp_path: Path) -> None:
    """Files named by date are one stream, and the report says so and what to do if they are not."""
    folder = folder_of(tmp_path / "ada", {"2026-03-02.gpx": part(0), "2026-03-03.gpx": part(1)})
    traces = read_traces(folder)
    assert [(trace.user, len(trace)) for trace in traces] == [("ada", 14)]
    assert "taken for one person's, 'ada'" in " ".join(traces.report.lines())


def test_other_files_are_users_of_their_own_and_it_is_said(tmp_path: Path) -> None:
    """Where nothing tells, each file is a person, and the report names what says otherwise."""
    folder = folder_of(tmp_path / "club", {"ada.gpx": part(0), "bob.gpx": part(0)})
    traces = read_traces(folder)
    assert [trace.user for trace in traces] == ["ada", "bob"]
    assert "name that one user" in " ".join(traces.report.lines())
    assert read_traces(folder, user="me").report.owners is None


def test_parts_of_one_person_are_told_from_people() -> None:
    """No two at a time and going on in space is one person; overlap or jumps are several."""
    days = [part(day) for day in range(4)]
    assert are_one_person(days)
    assert are_one_person(list(reversed(days)))
    assert are_one_person([part(0, to=46.1), part(1, lat=46.1), part(2)])
    assert not are_one_person([*days, part(1.02)])  # at the same time as another
    assert not are_one_person([part(day, lat=46.0 + day, to=46.0 + day) for day in range(4)])
    assert not are_one_person(days[:1])
    whole = joined(list(reversed(days)), "me")
    assert len(whole) == 28
    assert whole.user == "me"
    assert np.all(np.diff(whole.times) > 0)
