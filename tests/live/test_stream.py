"""A stream without a service: one release per step, restarts, gaps, nothing true on the disk."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.live.small_town import (
    DAILY,
    GRID,
    HOUR,
    PATH,
    POLICY,
    START,
    assert_no_truth,
    fix_of,
    folder_bytes,
    true_position,
)

from priste import OddsBound
from priste.batch.streams import protect_stream
from priste.errors import InvalidParameter, StateError
from priste.live.collecting import OPEN_STEPS, SLOTS
from priste.live.person_stream import Stream, StreamOptions, Taken
from priste.policy import read_policy
from priste.traces import Fix

SEED = 5


def opened(folder: Path, text: str = POLICY, **options: object) -> Stream:
    chosen = StreamOptions(**{"seed": SEED, **options})  # type: ignore[arg-type]
    return Stream.open("ada", read_policy(text), folder, chosen, START)


def run(stream: Stream, steps: range) -> list[tuple[float, float] | None]:
    points = []
    for step in steps:
        fix = fix_of(step)
        assert stream.take(fix, fix.time) is (Taken.GUARDED if stream.guards(step) else Taken.KEPT)
        point = stream.release(step)
        points.append(None if point is None else (point.lat, point.lon))
    return points


@pytest.fixture(scope="module")
def expected() -> list[tuple[float, float]]:
    """What `priste protect` releases for the same cells, seed and policy."""
    done = protect_stream(read_policy(POLICY), None, PATH, seed=SEED)
    cells = [cell for cell in done.cells if cell is not None]
    assert len(cells) == len(PATH)
    return [tuple(round(x, 7) for x in GRID.latlon(cell)) for cell in cells]  # type: ignore[misc]


def test_live_releases_what_a_file_would(
    tmp_path: Path, expected: list[tuple[float, float]]
) -> None:
    """Step for step the same points as for a file, at the step's time, with one accuracy."""
    stream = opened(tmp_path)
    assert run(stream, range(12)) == expected
    latest = stream.latest
    assert latest is not None
    assert (latest.step, latest.time) == (11, START + 11 * HOUR)
    assert latest.accuracy == 707.0  # half the diagonal of a cell, whatever the fix said
    assert_no_truth(folder_bytes(tmp_path) + repr(stream._collector).encode())


def test_a_step_is_released_once(tmp_path: Path, expected: list[tuple[float, float]]) -> None:
    """Asking again, or coming late with another fix, changes nothing."""
    stream = opened(tmp_path)
    run(stream, range(3))
    assert stream.release(2) is None
    assert stream.take(fix_of(2), START + 3 * HOUR) is Taken.LATE
    assert stream.latest is not None
    assert (stream.latest.lat, stream.latest.lon) == expected[2]
    assert stream.next_step == 3


def test_a_restart_goes_on_and_draws_nothing_again(
    tmp_path: Path, expected: list[tuple[float, float]]
) -> None:
    """Opened again after every step, a stream releases what it would have without stopping."""
    points: list[tuple[float, float] | None] = []
    for step in range(5):
        stream = opened(tmp_path)
        assert stream.next_step == step
        if step:
            assert stream.latest is not None
            assert (stream.latest.lat, stream.latest.lon) == expected[step - 1]
            assert stream.release(step - 1) is None
        points += run(stream, range(step, step + 1))
        stream.close()
    assert points == expected[:5]


def test_a_crash_before_the_point_was_kept_loses_nothing(
    tmp_path: Path, expected: list[tuple[float, float]]
) -> None:
    """The journal knows the release; its point is made of it when the stream is opened."""
    stream = opened(tmp_path)
    run(stream, range(2))
    stream.close()
    (tmp_path / "latest.json").unlink()
    again = opened(tmp_path)
    assert again.latest is not None
    assert (again.latest.step, again.latest.lat, again.latest.lon) == (1, *expected[1])
    assert again.next_step == 2


def test_an_older_journal_put_back_is_noticed(tmp_path: Path) -> None:
    """A step that apps were given must be in the journal; else it would be drawn twice."""
    stream = opened(tmp_path)
    run(stream, range(1))
    older = (tmp_path / "000000.journal").read_bytes()
    run(stream, range(1, 2))
    stream.close()
    (tmp_path / "000000.journal").write_bytes(older)
    with pytest.raises(StateError, match="older copy"):
        opened(tmp_path)


def test_two_services_cannot_share_a_stream(tmp_path: Path) -> None:
    """The journal has one writer."""
    stream = opened(tmp_path)
    with pytest.raises(StateError, match="in use"):
        opened(tmp_path)
    stream.close()
    opened(tmp_path).close()


def test_a_missing_fix_is_covered_without_being_counted(tmp_path: Path) -> None:
    """A cover is a point like any other; the Protector has silence, and no leakage moves."""
    stream = opened(tmp_path)
    run(stream, range(2))
    before = stream.leakage
    point = stream.release(2)
    assert point is not None
    assert GRID.cell_at(point.lat, point.lon) in range(9)
    assert stream.leakage == before
    assert stream._protector.ledger[2].silent
    assert stream.counts.covered == 1
    stream.close()
    assert opened(tmp_path).latest == point  # and a restart does not draw another


def test_a_cover_knows_nothing_of_the_truth(tmp_path: Path) -> None:
    """With the same past releases the cover is the same, wherever the person really was."""
    here, there = opened(tmp_path / "a"), opened(tmp_path / "b")
    for stream, cell in ((here, 0), (there, 8)):
        lat, lon = GRID.latlon(cell)
        stream.take(Fix(None, START + timedelta(minutes=90), lat, lon), START + 2 * HOUR)
    covers = [stream.release(0) for stream in (here, there)]
    assert covers[0] is not None
    assert covers[1] is not None
    assert (covers[0].lat, covers[0].lon) == (covers[1].lat, covers[1].lon)


def test_silence_may_be_chosen_instead(tmp_path: Path) -> None:
    """Then a step without a fix has no point, and apps keep the one before."""
    stream = opened(tmp_path, missing="silence")
    run(stream, range(1))
    latest = stream.latest
    assert stream.release(1) is None
    assert stream.latest == latest
    assert stream.next_step == 2


def test_the_last_fix_may_hold_for_a_while(
    tmp_path: Path, expected: list[tuple[float, float]]
) -> None:
    """For devices that are silent when they do not move, the last fix stands for two hours."""
    stream = opened(tmp_path, hold=timedelta(hours=2))
    points = run(stream, range(1))
    held = stream.release(1)  # the path stays in cell 0 for two steps
    assert held is not None
    assert [*points, (held.lat, held.lon)] == expected[:2]
    assert stream.counts.released == 2
    stream.release(2)  # by now the fix is more than two hours old
    stream.release(3)
    assert (stream.counts.covered, stream.counts.guarded) == (1, 1)


@pytest.mark.parametrize(
    ("minutes", "now", "verdict"),
    [
        (-30, 0, Taken.BEFORE),
        (30, 30, Taken.KEPT),
        (31, 30, Taken.KEPT),
        (32, 30, Taken.EARLY),
        (10**6, 30, Taken.EARLY),
    ],
)
def test_fixes_of_other_times_do_not_count(
    tmp_path: Path, minutes: int, now: int, verdict: Taken
) -> None:
    """A fix from before the clock, or ahead of ours by more than a minute, is refused."""
    stream = opened(tmp_path)
    fix = Fix(None, START + timedelta(minutes=minutes), *true_position(0))
    assert stream.take(fix, START + timedelta(minutes=now)) is verdict


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    """However many fixes come, a step keeps so many and no more, and so many steps are open."""
    stream = opened(tmp_path)
    for number in range(3 * SLOTS):
        when = START + number * HOUR / (3 * SLOTS)
        stream.take(Fix(None, when, *true_position(0)), when)
    assert len(stream._collector._open[0]) <= SLOTS
    far = START + 50 * HOUR
    verdicts = [stream.take(fix_of(step), far) for step in range(1, 8)]
    assert verdicts.count(Taken.KEPT) == OPEN_STEPS - 1
    assert verdicts[-1] is Taken.CROWDED


def test_beyond_the_map_is_its_border(tmp_path: Path) -> None:
    """A fix outside counts for the nearest cell: to leave it out would tell that it was outside."""
    inside, outside = opened(tmp_path / "in"), opened(tmp_path / "out")
    lat, lon = GRID.latlon(0)
    inside.take(Fix(None, START, lat, lon), START)
    outside.take(Fix(None, START, lat - 1, lon - 1), START)
    first, second = inside.release(0), outside.release(0)
    assert first is not None
    assert second is not None
    assert (first.lat, first.lon) == (second.lat, second.lon)
    assert outside.counts.released == 1


def test_a_change_of_events_counts_the_past(tmp_path: Path) -> None:
    """Another ε goes on with the same releases; one that the past breaks stops the truth."""
    stream = opened(tmp_path)
    run(stream, range(4))
    told = stream.leakage["visit"]
    stream.close()
    looser = opened(tmp_path, POLICY.replace("epsilon = 0.8", "epsilon = 0.9"))
    run(looser, range(4, 5))
    assert looser.told()["visit"][0] == OddsBound(0.9, 0.9)
    assert looser.leakage["visit"] != 0.0
    assert len(looser._protector.ledger) == 5
    looser.close()
    strict = opened(tmp_path, POLICY.replace("epsilon = 0.8", f"epsilon = {told / 10}"))
    assert strict.counts.released == 0
    points = run(strict, range(5, 6))
    assert points[0] is not None  # a cover: the stream looks as before
    assert strict.counts.covered == 1
    assert strict.trouble is not None
    assert "'visit'" in strict.trouble


@pytest.mark.parametrize(
    "change",
    [("sigma = 1.0", "sigma = 1.5"), ("alpha = 1.5", "alpha = 1.0"), ('"1h"', '"30min"')],
)
def test_other_ground_is_another_stream(tmp_path: Path, change: tuple[str, str]) -> None:
    """Map, clock, model and mechanism cannot change under a stream."""
    opened(tmp_path, DAILY).close()
    with pytest.raises(StateError, match="another state folder"):
        opened(tmp_path, DAILY.replace(*change))


def test_a_policy_whose_events_are_over_is_refused(tmp_path: Path) -> None:
    """There is nothing to guard, and saying so is better than guarding nothing."""
    policy = read_policy(POLICY)
    with pytest.raises(InvalidParameter, match="nothing to guard"):
        Stream.open("ada", policy, tmp_path, StreamOptions(), START + 30 * HOUR)
