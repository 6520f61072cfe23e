"""Files that were written once are read for ever, on every machine, and their streams go on."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.release.kept_streams import GOLDEN, LEDGERS, PATH, STREAMS

from priste import Protector
from priste.release.stream_file import checkpoint, journal
from priste.release.stream_file.checkpoint import checkpoint_of

SAME = 1e-12
"""How far, relatively, two machines may be apart: far above the error of these short streams."""

NAMES = sorted(path.name for path in GOLDEN.glob("*.journal"))


def test_every_kind_of_stream_has_a_golden_file() -> None:
    """No golden file is forgotten by the tests below, and each has its checkpoint."""
    assert set(NAMES) == set(json.loads(LEDGERS.read_text()))
    assert len(NAMES) == len(STREAMS)
    assert all(checkpoint_of(GOLDEN / name).exists() for name in NAMES)


@pytest.fixture
def copied(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A golden file to go on with, without its checkpoint."""
    return Path(shutil.copy(GOLDEN / request.param, tmp_path))


@pytest.mark.parametrize("copied", NAMES, indirect=True)
def test_a_golden_file_loads_and_its_stream_goes_on(copied: Path) -> None:
    """Its releases are those that were noted when it was written; nothing is drawn again."""
    noted = json.loads(LEDGERS.read_text())[copied.name]
    loaded = Protector.load(copied)
    assert loaded.ledger.json_lines().splitlines() == noted
    with Protector.resume(copied, rng=1) as going:
        assert going.torn_bytes == 0
        assert going.next_step == len(PATH)
        before = going.release(1, step=3)
        assert before == loaded.ledger[3]
        going.release(1)
    assert Protector.load(copied).next_step == len(PATH) + 1


@pytest.mark.parametrize("copied", NAMES, indirect=True)
def test_a_golden_checkpoint_is_what_its_journal_means(copied: Path) -> None:
    """A checkpoint of another machine is taken, and leads to the state that a replay leads to."""
    slow = Protector.load(copied).state
    shutil.copy(checkpoint_of(GOLDEN / copied.name), checkpoint_of(copied))
    assert checkpoint.found(copied, journal.read(copied).chains) is not None
    quick = Protector.load(copied).state
    np.testing.assert_allclose(quick.predicted(), slow.predicted(), rtol=SAME)
    assert (quick.leakage, quick.belief) == (slow.leakage, slow.belief)
    likelihood = np.linspace(0.5, 1.0, 6)
    pairs = zip(
        quick.joint_probabilities(likelihood), slow.joint_probabilities(likelihood), strict=True
    )
    for (mine, _), (theirs, _) in pairs:
        assert mine.relative_error == theirs.relative_error
        np.testing.assert_allclose(
            np.log2(mine.event) + mine.exponent, np.log2(theirs.event) + theirs.exponent, rtol=SAME
        )


@pytest.mark.parametrize("version", [b"0", b"2", b"17"])
def test_another_version_is_named(tmp_path: Path, version: bytes) -> None:
    """A file of another version of the format is left as it is, and the message names both."""
    from priste import StateError

    data = (
        (GOLDEN / NAMES[0])
        .read_bytes()
        .replace(b"priste-stream 1\n", b"priste-stream %s\n" % version)
    )
    (tmp_path / "j").write_bytes(data)
    with pytest.raises(
        StateError, match=f"version {int(version)} of its format; this priste reads version 1"
    ):
        Protector.load(tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == data
