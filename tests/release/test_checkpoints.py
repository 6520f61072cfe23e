"""A stream that goes on from a checkpoint is the stream that replays all its steps."""

import json
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.release.kept_streams import (
    EVENTS,
    MODEL,
    PATH,
    STREAMS,
    begun,
    forged,
)
from tests.release.same_state import assert_same_state

from priste import (
    Protector,
    Quantifier,
)
from priste.release import stream_record
from priste.release.stream_file import checkpoint
from priste.release.stream_file import journal as files
from priste.release.stream_file.checkpoint import checkpoint_of

EVERY = 4


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams of this file are short."""
    monkeypatch.setattr(checkpoint, "EVERY", EVERY)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps that were replayed."""
    steps: list[int] = []
    original = stream_record.replayed

    def counting(record: Any, packed: Any, state: Any) -> Any:
        steps.append(state.step)
        return original(record, packed, state)

    monkeypatch.setattr(stream_record, "replayed", counting)
    return steps


def both(journal: Path) -> tuple[Protector, Protector]:
    """The stream of a journal with the help of its checkpoint, and without."""
    uncalibrated = Path(shutil.copy(journal, journal.with_name("alone")))
    return Protector.load(journal, rng=8), Protector.load(uncalibrated, rng=8)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_from_a_checkpoint_is_the_replayed_one(
    tmp_path: Path, name: str, replayed: list[int]
) -> None:
    """Equal to the bit: the state, the ledger, the table, and what is released from there on."""
    journal = tmp_path / "s"
    begun(journal, [*PATH, 5], **STREAMS[name])
    quick, slow = both(journal)
    assert replayed == [*range(12, 13), *range(13)]
    assert list(quick.ledger) == list(slow.ledger)
    assert_same_state(quick.state, slow.state)
    for cell in (3, 4, None, 0):
        assert quick.release(cell) == slow.release(cell)
    assert_same_state(quick.state, slow.state)
    quick.save(tmp_path / "quick")
    slow.save(tmp_path / "slow")
    assert (tmp_path / "quick").read_bytes() == (tmp_path / "slow").read_bytes()
    assert checkpoint_of(tmp_path / "quick").read_bytes() == (
        checkpoint_of(tmp_path / "slow").read_bytes()
    )


def test_the_journal_goes_on_after_a_checkpoint(tmp_path: Path, replayed: list[int]) -> None:
    """Resumed again and again, a journal holds the releases of a stream that never stopped."""
    begun(tmp_path / "whole", calibrator="uncalibrated")
    begun(tmp_path / "parts", PATH[:5], calibrator="uncalibrated")
    once = files.read(tmp_path / "whole").records
    for number in range(5, len(PATH)):
        with Protector.resume(tmp_path / "parts", rng=1) as p:
            assert p.next_step == number
            assert json.loads(json.dumps(p.ledger[0].cell)) == once[0]["output"]
            p.release(PATH[number])
    assert len(files.read(tmp_path / "parts").records) == len(PATH)
    assert max(np.bincount(replayed)) < EVERY + 1  # a step is replayed until it is covered


def altered(data: bytes, **changes: Any) -> bytes:
    """A checkpoint with other words in its head, and a digest that fits them."""
    _, head, numbers = data.split(b"\n", 2)
    told = json.loads(head)
    for name, value in changes.items():
        told[name] = value(told[name]) if callable(value) else value
    return forged(json.dumps(told).encode(), numbers)


DAMAGE: dict[str, Any] = {
    "empty": lambda data: b"",
    "cut short": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "another version": lambda data: data.replace(b"priste-checkpoint 1", b"priste-checkpoint 2", 1),
    "one bit": lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
    "another file's": lambda data: altered(data, chain="0" * 32),
    "a later step": lambda data: altered(data, step=lambda step: step + 1),
    "a step too far": lambda data: altered(data, step=10**9),
    "no step": lambda data: altered(data, step="8"),
    "other worlds": lambda data: altered(
        data, quantifiers=lambda all: [[{**one, "layout": "0" * 64} for one in q] for q in all]
    ),
    "more observed than steps": lambda data: altered(
        data, quantifiers=lambda all: [[{**one, "observed": 99} for one in q] for q in all]
    ),
    "error below none": lambda data: altered(
        data, quantifiers=lambda all: [[{**one, "inherited": -1.0} for one in q] for q in all]
    ),
    "one event less": lambda data: altered(data, quantifiers=lambda all: all[:1]),
    "no events": lambda data: altered(data, quantifiers=[]),
    "prediction of another step": lambda data: altered(data, prediction={"step": 1, "due": 1}),
    "other shapes": lambda data: altered(
        data, arrays=lambda all: [[kind, sorted(shape)] for kind, shape in all]
    ),
    "endless arrays": lambda data: altered(data, arrays=[["f8", [2**62, 2**62, 2**62]]]),
    "a list for a head": lambda data: b"priste-checkpoint 1 " + b"0" * 64 + b"\n[]\n",
    "deep": lambda data: altered(data, quantifiers=None).replace(
        b"null", b"[" * 9000 + b"]" * 9000
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_checkpoint_that_does_not_check_is_ignored(
    tmp_path: Path, name: str, replayed: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """The steps are replayed, the log tells why, and the stream is the same."""
    journal = tmp_path / "s"
    begun(journal)
    beside = checkpoint_of(journal)
    beside.write_bytes(DAMAGE[name](beside.read_bytes()))
    with caplog.at_level(logging.WARNING):
        quick, slow = both(journal)
    assert replayed == [*range(12), *range(12)]
    assert "is ignored" in caplog.text
    assert_same_state(quick.state, slow.state)


def test_numbers_that_are_no_scaled_rows_are_ignored(tmp_path: Path, replayed: list[int]) -> None:
    """Not a number, a negative one or one outside the scale, with a digest that fits."""
    journal = tmp_path / "s"
    begun(journal)
    data = checkpoint_of(journal).read_bytes()
    for value in (np.nan, -1.0, np.inf, 1e-300):
        checkpoint_of(journal).write_bytes(altered(data[:-56] + np.float64(value).tobytes() * 7))
        Protector.load(journal)
        assert len(replayed) == 12
        replayed.clear()


def test_a_checkpoint_of_another_stream_is_ignored(tmp_path: Path, replayed: list[int]) -> None:
    """Its digest is right, its step too; the chain of the journal is another one."""
    for name, seed in (("one", 1), ("two", 2)):
        begun(tmp_path / name, rng=seed)
    shutil.copy(checkpoint_of(tmp_path / "two"), checkpoint_of(tmp_path / "one"))
    Protector.load(tmp_path / "one")
    assert replayed == [*range(12)]


def test_a_journal_that_was_rolled_back_has_no_checkpoint(
    tmp_path: Path, replayed: list[int]
) -> None:
    """A checkpoint beyond the end of the journal is of releases that the journal does not hold."""
    journal = tmp_path / "s"
    begun(journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    assert Protector.load(journal).next_step == 11
    assert replayed == [*range(11)]


def test_checkpoints_are_private_and_cost_no_release(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Mode 0600; where none can be written, the stream goes on and the log tells."""
    begun(tmp_path / "s")
    assert checkpoint_of(tmp_path / "s").stat().st_mode & 0o777 == 0o600
    checkpoint_of(tmp_path / "t").mkdir()
    with caplog.at_level(logging.WARNING):
        begun(tmp_path / "t")
    assert "No checkpoint was kept" in caplog.text
    assert list(Protector.load(tmp_path / "t").ledger) == list(
        Protector.load(tmp_path / "s").ledger
    )


def test_a_checkpoint_that_is_too_large_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit counts all events; without a checkpoint all is as before."""
    monkeypatch.setattr(checkpoint, "LARGEST", 2 * 8 * 6 * (2 * 6 + 1) - 1)
    begun(tmp_path / "s")
    assert sorted(os.listdir(tmp_path)) == ["s"]
    monkeypatch.setattr(checkpoint, "LARGEST", 2 * 8 * 6 * (2 * 6 + 1))
    begun(tmp_path / "t")
    assert checkpoint_of(tmp_path / "t").exists()


columns = st.lists(
    st.one_of(
        st.none(),
        st.lists(st.floats(1e-300, 1.0), min_size=6, max_size=6),
        st.permutations([1.0, 0.0, 0.5, 1e-200, 1e-320, 0.25]),
    ),
    min_size=1,
    max_size=8,
)


@given(before=columns, after=columns)
@examples(40)
def test_any_history_survives_the_file(before: list[Any], after: list[Any]) -> None:
    """Any likelihoods, also such as need several bands of scaled rows, come back to the bit."""
    from priste.release.accountant import Prediction, StateSnapshot

    q = Quantifier(MODEL, EVENTS["clinic"], method="stream")
    for column in before:
        q.observe(column, 1e-12)
    taken = q.snapshot()
    assert taken is not None
    prediction = Prediction(MODEL, np.full(6, 1 / 6)).snapshot()
    whole = checkpoint.Checkpoint("ab", StateSnapshot(len(before), (taken,), prediction))
    read = checkpoint.decode(checkpoint.encode(whole))
    again = Quantifier(MODEL, EVENTS["clinic"], method="stream").restored(read.state.quantifiers[0])
    for column in after:
        for each in (q, again):
            each.observe(column)
    mine, theirs = q.joint_probabilities(), again.joint_probabilities()
    for name in ("event", "complement", "exponent"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name))
    assert mine.relative_error == theirs.relative_error
