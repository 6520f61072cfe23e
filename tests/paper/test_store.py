"""Jobs are values, and their results survive crashes."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper.running.jobs import Job, Results, seed_of
from paper.running.store import STORE, Store

from priste.errors import InvalidParameter, StateError

JOB = Job.of("stream", {"run": 1})
OTHER = Job.of("stream", {"run": 2})

plain = st.dictionaries(
    st.text(max_size=5), st.integers(-(10**9), 10**9) | st.booleans() | st.none(), max_size=4
)


@given(plain, plain)
def test_jobs_are_equal_when_their_parameters_are(
    one: dict[str, int], other: dict[str, int]
) -> None:
    """The digest tells jobs apart exactly as their parameters do, whatever their order."""
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    a, b = Job.of("stream", one), Job.of("stream", dict(reversed(other.items())))
    assert (a == b) == (a.digest == b.digest) == same
    assert a.parameters == one


def test_only_known_plain_jobs_are_made() -> None:
    """An unknown kind and a number that JSON cannot write are refused."""
    with pytest.raises(InvalidParameter, match="'kind' must be one of"):
        Job.of("dance", {})
    with pytest.raises(ValueError, match="JSON"):
        Job.of("stream", {"alpha": float("nan")})


def test_seeds_belong_to_their_parts() -> None:
    """Different runs, purposes and experiments draw differently; the same ones alike."""
    parts = [(seed, use, run) for seed in (1, 2) for use in ("walk", "noise") for run in range(50)]
    seeds = {seed_of(*each) for each in parts}
    assert len(seeds) == len(parts)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_results_are_there_after_opening_again(tmp_path: Path) -> None:
    """What was added is found again, with the time it took."""
    with Store(tmp_path) as store:
        store.add(JOB, {"budgets": [0.1, 0.2]}, 1.5)
    with Store(tmp_path) as store:
        assert store.results[JOB] == {"budgets": [0.1, 0.2]}
        assert store.seconds([JOB, JOB, OTHER]) == 1.5
        assert list(store.results.missing([JOB, OTHER, OTHER])) == [OTHER]


def test_an_unfinished_line_is_cut_off(tmp_path: Path) -> None:
    """A crash in the middle of a line costs that result alone, and the file goes on."""
    with Store(tmp_path) as store:
        store.add(JOB, {"x": 1}, 0.0)
    whole = (tmp_path / STORE).read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 1):
        (tmp_path / STORE).write_bytes(whole + whole[:cut])
        with Store(tmp_path) as store:
            assert store.results[JOB] == {"x": 1}
            store.add(OTHER, {"x": 2}, 0.0)
        with Store(tmp_path) as store:
            assert store.results.of([JOB, OTHER]) == [{"x": 1}, {"x": 2}]


def test_a_foreign_file_is_left_alone(tmp_path: Path) -> None:
    """A file that holds something else is named and not changed."""
    (tmp_path / STORE).write_bytes(b"my diary\n")
    with pytest.raises(StateError, match=r"Line 1 .* is no result"):
        Store(tmp_path)
    assert (tmp_path / STORE).read_bytes() == b"my diary\n"


def test_results_of_other_source_are_not_used(tmp_path: Path) -> None:
    """Other code may have computed something else."""
    with Store(tmp_path) as store:
        store.add(JOB, {"x": 1}, 0.0)
    text = (tmp_path / STORE).read_text()
    record = json.loads(text)
    (tmp_path / STORE).write_text(json.dumps({**record, "source": "0" * 24}) + "\n")
    with Store(tmp_path) as store:
        assert list(store.results.missing([JOB])) == [JOB]


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A second writer is refused while the first has the folder."""
    with Store(tmp_path), pytest.raises(StateError, match="Another process"):
        Store(tmp_path)
    Store(tmp_path).__exit__(None, None, None)


def test_results_speak_of_jobs() -> None:
    """Looking up a job that is not done is a KeyError, never an empty result."""
    with pytest.raises(KeyError):
        Results({})[JOB]
