"""A model of a person's earlier days in live: fitted once, without guarded hours, and kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.live.joint_sums import largest_ratio
from tests.live.small_town import (
    DAILY,
    START,
    assert_no_truth,
    fix_of,
    folder_bytes,
    true_position,
)

from priste.errors import InvalidParameter
from priste.live.own_days import guards_own_days
from priste.live.person_stream import Stream, StreamOptions
from priste.policy import read_policy
from priste.traces import Fix, Trace, write_traces

FAMILY = (
    DAILY.replace('kind = "gaussian"\nsigma = 1.0', """\
kind = "stay-or-go"
stay = 0.7
decay = 1.0
home = "home"
stay_home = 0.8
back_home = 0.2
family = ["own", "roaming"]""")
    + '[regions.home]\ncells = [0]\n[adversary]\nknows = "population"\nalso = ["home"]\n'
)  # fmt: skip
DAYS = 14
EPSILON = 0.8
EVENT_STEPS = {4, 5}
"""The steps of a day in which the guarded event may happen (04:00 to 06:00)."""


def history(folder: Path, name: str, *, visits: bool = True) -> Path:
    """Write two weeks before the stream; ``visits`` is what they did in the guarded hours."""
    fixes = []
    for step in range(DAYS * 24):
        guarded = step % 24 in EVENT_STEPS
        where = true_position(step % 24) if visits or not guarded else true_position(0)
        fixes.append(Fix(None, fix_of(step).time - timedelta(days=DAYS), *where))
    path = folder / f"{name}.csv"
    write_traces([Trace.of(fixes)], path)
    return path


def opened(folder: Path, recording: Path | None, text: str = FAMILY) -> Stream:
    options = StreamOptions(seed=4)
    return Stream.open("ada", read_policy(text), folder, options, START, history=recording)


def released(stream: Stream, steps: range) -> list[tuple[float, float]]:
    found = []
    for step in steps:
        fix = fix_of(step)
        stream.take(fix, fix.time)
        point = stream.release(step)
        assert point is not None
        assert stream.trouble is None
        found.append((point.lat, point.lon))
    return found


def test_the_model_of_earlier_days_is_guarded_against_and_kept(tmp_path: Path) -> None:
    """Each model stays within ε, by its own joint probabilities; a restart needs no recording."""
    recording = history(tmp_path, "earlier")
    stream = opened(tmp_path / "state", recording)
    assert guards_own_days(stream.policy)
    assert len(stream.policy.models) == 3
    recording.unlink()
    released(stream, range(5))
    before = dict(stream.leakage)
    stream.close()
    stream = opened(tmp_path / "state", None)
    assert len(stream.policy.models) == 3
    assert dict(stream.leakage) == before
    released(stream, range(5, 14))
    protector = stream._protector
    told = [protector.ledger.likelihood(step) for step in range(14)]
    adversary = protector.state.terms.adversary
    for model in stream.policy.models:
        for prior in adversary.rows(model).rows:
            visit = (stream.policy.guarded_cells, EVENT_STEPS)
            assert largest_ratio(model, prior, told, [visit], range(15)) <= EPSILON + 1e-9
    assert_no_truth(folder_bytes(tmp_path / "state"))


def test_what_happened_in_guarded_hours_of_earlier_days_changes_nothing(tmp_path: Path) -> None:
    """Two pasts that differ only there: the same kept model and the same releases."""
    worlds = []
    for visits in (True, False):
        folder = tmp_path / str(visits)
        folder.mkdir()
        stream = opened(folder / "state", history(folder, "past", visits=visits))
        points = released(stream, range(8))
        stream.close()
        worlds.append((points, (folder / "state" / "own.model").read_bytes()))
    assert worlds[0] == worlds[1]


def test_own_needs_a_recording_where_it_is_asked_for(tmp_path: Path) -> None:
    """Named in the family it is refused without one; by default the other models are guarded."""
    with pytest.raises(InvalidParameter, match="take 'own' out of 'family'"):
        opened(tmp_path / "state", None)
    two = tmp_path / "two.csv"
    write_traces([Trace.of([fix_of(-30)])], two)
    with pytest.raises(InvalidParameter, match="too little"):
        opened(tmp_path / "state", two)
    by_default = FAMILY.replace('family = ["own", "roaming"]\n', "").replace(
        'family = ["own", "roaming"]', ""
    )
    stream = opened(tmp_path / "state", None, by_default)
    assert not guards_own_days(stream.policy)
    stream.close()
