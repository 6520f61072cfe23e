"""Saving, loading and resuming a stream: identical state, private files, nothing overwritten."""

import base64
import itertools
import json
import logging
import os
import re
import stat
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.release.same_state import assert_same_state

from priste import (
    AnyPrior,
    EmissionTable,
    Grid,
    Identity,
    InvalidParameter,
    LocationSet,
    MarkovModel,
    Mechanism,
    PlanarIsotropic,
    PlanarLaplace,
    Protector,
    StateError,
    Uniform,
    at,
    parse_event,
    presence,
)
from priste.randomness import BitSource
from priste.release import AccountantState, Certified, CheckedTable, Paper, ReleaseTable
from priste.release.release_tables import UncheckedTable
from priste.release.stream_file import journal as files
from priste.release.stream_record import pack, unpack

GRID = Grid(rows=3, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
MECH = PlanarLaplace(GRID, alpha=1.5)
CLINIC = presence([0, 1], [1, 2])
EVENTS = {"clinic": CLINIC, "later": at([4], 5) & ~at([8], 3)}
PATH = [4, 1, None, 0, 1, 4]


def fresh(**options: object) -> Protector:
    given: dict[str, object] = {
        "mechanism": MECH,
        "guarantee": [0.5, 0.8],
        "rng": 6,
        "adversary": AnyPrior(),
        "calibrator": Certified(guess=False),
        **options,
    }
    return Protector(MODEL, EVENTS, **given)  # type: ignore[arg-type]


FOUR_OUTPUTS = np.full((9, 4), 0.25)
FOUR_OUTPUTS[:4] = 0.125 + 0.5 * np.eye(4)
MECHANISMS: dict[str, Mechanism] = {
    "laplace": MECH,
    "identity": Identity(GRID),
    "uniform": Uniform(GRID),
    "table": EmissionTable(GRID, FOUR_OUTPUTS),
    "location set": LocationSet(MECH, delta=0.1),
}


@pytest.mark.parametrize("mech", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("calibrator", ["certified", "paper", "uncalibrated"])
def test_loading_restores_the_state_to_the_bit(
    tmp_path: Path, mech: Mechanism, calibrator: str
) -> None:
    """After save and load, ledger, quantifiers, prediction and the next table are identical."""
    if calibrator == "uncalibrated" and mech.budget == float("inf"):
        mech = MECH
    p = fresh(mechanism=mech, calibrator=calibrator, public_prior=np.arange(1, 10) / 45)
    for cell in PATH:
        p.release(cell)
    p.save(tmp_path / "s")
    again = Protector.load(tmp_path / "s", rng=1)
    assert list(again.ledger) == list(p.ledger)
    assert again.event_names == p.event_names
    assert_same_state(again.state, p.state)
    assert np.array_equal(again.distribution().joint, p.distribution().joint)


def test_planar_isotropic_streams_can_be_restored(tmp_path: Path) -> None:
    """The mechanism that rebuilds its hull every step replays as well."""
    p = fresh(mechanism=PlanarIsotropic(GRID, alpha=1.0, delta=0.1))
    for cell in PATH:
        p.release(cell)
    p.save(tmp_path / "s")
    assert_same_state(Protector.load(tmp_path / "s").state, p.state)


def test_many_models_are_stored(tmp_path: Path) -> None:
    """All guarded models come back from the file, also sparse and time-varying ones."""
    models = [
        MODEL,
        MarkovModel.gaussian(GRID, sigma=1.0, reach=1.5),
        MarkovModel(GRID, [np.eye(9), MODEL.transition(0).toarray()], cycle=True),
    ]
    p = Protector(models, EVENTS, MECH, 0.5, rng=1, adversary=AnyPrior())
    for cell in PATH:
        p.release(cell)
    p.save(tmp_path / "s")
    assert_same_state(Protector.load(tmp_path / "s").state, p.state)


def test_a_journal_is_a_state_file(tmp_path: Path) -> None:
    """A journal and a saved state of one stream have the same bytes, and load the same."""
    p = fresh(journal=tmp_path / "j")
    for cell in PATH:
        p.release(cell)
    p.save(tmp_path / "s")
    p.save(tmp_path / "j")  # all there already
    p.close()
    assert (tmp_path / "j").read_bytes() == (tmp_path / "s").read_bytes()
    with Protector.resume(tmp_path / "s") as resumed:
        assert list(resumed.ledger) == list(p.ledger)


def test_every_release_is_on_the_disk_when_it_is_returned(tmp_path: Path) -> None:
    """After each release, the file alone tells all of them."""
    with fresh(journal=tmp_path / "j") as p:
        for cell in PATH:
            r = p.release(cell)
            records = files.read(tmp_path / "j").records
            assert len(records) == r.step + 1
            assert records[-1]["output"] == r.cell


def test_resume_continues_and_repeats_nothing(tmp_path: Path) -> None:
    """Released steps come back unchanged after a restart; new ones continue the file."""
    with fresh(journal=tmp_path / "j") as p:
        first = [p.release(cell) for cell in PATH]
    with Protector.resume(tmp_path / "j", rng=123) as q:
        assert [q.release(0, step=k) for k in range(len(PATH))] == first
        assert q.release(4).step == len(PATH)
    assert len(Protector.load(tmp_path / "j").ledger) == len(PATH) + 1


def test_an_interrupted_and_resumed_stream_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    """Restarting before every step changes neither budgets nor outputs, given the same bits."""
    bits = np.random.default_rng(5)
    with fresh(journal=tmp_path / "j", rng=bits) as p:
        pass
    for cell in PATH:
        with Protector.resume(tmp_path / "j", rng=bits) as p:
            p.release(cell)
    whole = fresh(rng=np.random.default_rng(5))
    for cell in PATH:
        whole.release(cell)
    assert list(p.ledger) == list(whole.ledger)


def test_a_torn_last_line_is_cut_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A journal that ends inside a line resumes without it, and says how many bytes went."""
    with fresh(journal=tmp_path / "j") as p:
        for cell in PATH:
            p.release(cell)
    data = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(data[:-10])
    with caplog.at_level(logging.WARNING):
        loaded = Protector.load(tmp_path / "j")
    assert loaded.torn_bytes > 0
    assert "unfinished" in caplog.text
    assert (tmp_path / "j").read_bytes() == data[:-10]  # load never writes
    with Protector.resume(tmp_path / "j") as q:
        assert q.torn_bytes == loaded.torn_bytes
        assert list(q.ledger) == list(p.ledger)[:-1]
    assert data.startswith((tmp_path / "j").read_bytes())


def test_files_hold_no_true_location_and_no_generator(tmp_path: Path) -> None:
    """Two users with the same releases and different cells have the same file, but for its name."""

    class Fixed(BitSource):
        def number(self) -> Iterator[int]:
            return itertools.repeat(0)  # always the first possible output

    texts = []
    for true in (3, 7):
        p = fresh(rng=Fixed(), journal=tmp_path / f"j{true}")
        for _ in range(4):
            p.release(true)
        p.close()
        contents = files.read(tmp_path / f"j{true}")
        header = {key: value for key, value in contents.header.items() if key != "stream"}
        texts.append(json.dumps([header, contents.records]))
    assert texts[0] == texts[1]
    assert not re.search("seed|bit_generator|PCG|true_cell", texts[0])


def test_files_are_private(tmp_path: Path) -> None:
    """Journals and saved states are 0600 under a lax umask."""
    before = os.umask(0)
    try:
        p = fresh(journal=tmp_path / "j")
        p.save(tmp_path / "s")
        p.save(tmp_path / "s")
    finally:
        os.umask(before)
    p.close()
    for name in ("j", "s"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_other_files_are_never_overwritten(tmp_path: Path) -> None:
    """A foreign file, another stream, or a later state of this one refuses to be replaced."""
    note = tmp_path / "note.txt"
    note.write_text("dear diary")
    p, other = fresh(), fresh()
    p.release(4)
    for attempt in (lambda: p.save(note), lambda: fresh(journal=note)):
        with pytest.raises(StateError):
            attempt()
    assert note.read_text() == "dear diary"
    other.save(tmp_path / "other")
    kept = (tmp_path / "other").read_bytes()
    with pytest.raises(StateError, match="another stream"):
        p.save(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == kept
    p.save(tmp_path / "s")
    earlier = Protector.load(tmp_path / "s")
    p.release(4)
    p.save(tmp_path / "s")
    kept = (tmp_path / "s").read_bytes()
    with pytest.raises(StateError, match="more of this one"):
        earlier.save(tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == kept


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    """Any flipped bit of a real state file is an error, and the file stays as it was found."""
    p = fresh()
    for cell in PATH:
        p.release(cell)
    p.save(tmp_path / "s")
    data = (tmp_path / "s").read_bytes()
    rng = np.random.default_rng(0)
    hurt = tmp_path / "hurt"
    lines = [0, *(k + 1 for k, byte in enumerate(data[:-1]) if byte == 10)]
    places = {*lines, *(k - 1 for k in lines if k), len(data) - 1}
    places |= set(rng.integers(0, len(data), 200).tolist())
    for place in sorted(places):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        hurt.write_bytes(bytes(damaged))
        with pytest.raises(StateError):
            Protector.load(hurt)
        with pytest.raises(StateError):
            p.save(hurt)
        assert hurt.read_bytes() == bytes(damaged)


@pytest.mark.parametrize("key", ["grid", "models", "events", "mechanism", "calibrator", "stream"])
def test_a_header_that_checks_but_lacks_a_part_is_refused(tmp_path: Path, key: str) -> None:
    """A well-formed file with a missing or strange part is a StateError, never another error."""
    p = fresh()
    p.release(4)
    p.save(tmp_path / "s")
    contents = files.read(tmp_path / "s")
    for number, value in enumerate((None, 3, {}, [], "x")):
        header = dict(contents.header)
        header[key] = value
        if key == "stream" and isinstance(value, str):
            continue
        path = tmp_path / f"bad{number}"
        files.create(path, header, contents.records)
        with pytest.raises(StateError):
            Protector.load(path)
    header = {k: v for k, v in contents.header.items() if k != key}
    files.create(tmp_path / "without", header, contents.records)
    with pytest.raises(StateError):
        Protector.load(tmp_path / "without")


@pytest.mark.parametrize(
    "change",
    [
        {"step": 5}, {"output": 99}, {"output": "4"}, {"budget": 7.0}, {"budget": None},
        {"leakage": []}, {"leakage": "x"}, {"digest": "0" * 32}, {"attempts": None}, {"hints": 3},
        {"likelihood": "!!"}, {"step": "0"},
    ],
)  # fmt: skip
def test_a_record_that_checks_but_makes_no_sense_is_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    """Records with impossible values are StateErrors, and the message names the file."""
    p = fresh()
    p.release(4)
    p.save(tmp_path / "s")
    contents = files.read(tmp_path / "s")
    files.create(tmp_path / "bad", contents.header, [{**contents.records[0], **change}])
    with pytest.raises(StateError, match="bad"):
        Protector.load(tmp_path / "bad")


def text_of(column: np.ndarray) -> str:
    return base64.b64encode(pack(column)).decode("ascii")


def test_columns_are_stored_once_and_to_the_bit(tmp_path: Path) -> None:
    """Equal columns are stored with the first release that has them; a wrong one is refused."""
    p = fresh(calibrator="uncalibrated")
    for _ in range(6):
        p.release(4)
    p.save(tmp_path / "s")
    contents = files.read(tmp_path / "s")
    digests = [record["digest"] for record in contents.records]
    assert ["likelihood" in record for record in contents.records] == [
        digest not in digests[:place] for place, digest in enumerate(digests)
    ]
    for record, release in zip(contents.records, p.ledger, strict=True):
        if "likelihood" in record:
            packed = base64.b64decode(record["likelihood"])
            column = unpack(packed)
            assert np.array_equal(column, MECH.likelihood(release.cell))
    other = {**contents.records[0], "likelihood": text_of(MECH.likelihood(8) * 0.5)}
    files.create(tmp_path / "other", contents.header, [other])
    with pytest.raises(StateError, match="does not match its digest"):
        Protector.load(tmp_path / "other")


@pytest.mark.parametrize("packed", ["!", "", "eJwDAAAAAAE=", 7, None, text_of(np.arange(3) / 3)])
def test_what_is_no_column_is_refused(tmp_path: Path, packed: object) -> None:
    """A column that cannot be unpacked, or is one of another map, is a StateError."""
    p = fresh()
    p.release(4)
    p.save(tmp_path / "s")
    contents = files.read(tmp_path / "s")
    files.create(tmp_path / "bad", contents.header, [{**contents.records[0], "likelihood": packed}])
    with pytest.raises(StateError, match="bad"):
        Protector.load(tmp_path / "bad")


def test_a_small_text_does_not_become_a_large_column(tmp_path: Path) -> None:
    """A text that unpacks to a gigabyte is refused before it has."""
    bomb = zlib.compress(bytes(2**27 + 8))
    with pytest.raises(ValueError, match="not a list of floats"):
        unpack(bomb)


BINDING = {"user": "ada", "policy": "5f3a", "source": "0c"}


def test_a_stream_says_what_it_belongs_to(tmp_path: Path) -> None:
    """The binding survives journal, save and change of policy, and is insisted on when given."""
    with fresh(journal=tmp_path / "j", binding=BINDING) as p:
        p.release(4)
        p.save(tmp_path / "s")
    for path in (tmp_path / "j", tmp_path / "s"):
        assert Protector.load(path, binding=BINDING).binding == BINDING
        assert Protector.load(path).binding == BINDING
    changed = Protector.load(tmp_path / "s").with_policy(CLINIC, 0.9)
    assert changed.binding == BINDING
    other = Protector.load(tmp_path / "s").with_policy(CLINIC, 0.9, binding={"user": "ada"})
    assert other.binding == {"user": "ada"}


@pytest.mark.parametrize(
    "expected",
    [{**BINDING, "user": "bob"}, {"user": "ada"}, {**BINDING, "stream": "x"}, {}],
)
def test_a_stream_of_something_else_is_refused(tmp_path: Path, expected: dict[str, str]) -> None:
    """Another text, a missing name and a name too many are refused, by name, file untouched."""
    with fresh(journal=tmp_path / "j", binding=BINDING) as p:
        p.release(4)
    before = (tmp_path / "j").read_bytes()
    for opened in (Protector.load, Protector.resume):
        with pytest.raises(StateError, match="belongs to something else: its '"):
            opened(tmp_path / "j", binding=expected)
    assert (tmp_path / "j").read_bytes() == before
    Protector.resume(tmp_path / "j", binding=BINDING).close()  # the lock was given back


@pytest.mark.parametrize("binding", [{"user": 1}, {1: "user"}, "user", {"user": "x" * 1001}])
def test_a_binding_maps_names_to_texts(binding: object) -> None:
    """Anything else is refused by name."""
    with pytest.raises(InvalidParameter, match="'binding'"):
        fresh(binding=binding)


class Tilted:
    """A calibrator of one's own whose table is no member of the mechanism's family."""

    guaranteed = False

    def __init__(self, share: float) -> None:
        self.share = share

    def propose(self, state: AccountantState) -> UncheckedTable:
        table = state.mechanism.emission()
        tilted = self.share * table + (1 - self.share) / table.shape[1]
        outputs = np.arange(table.shape[1])
        return UncheckedTable(ReleaseTable(tilted, outputs, len(outputs), 1.0, hints=(state.step,)))

    def describe(self) -> dict[str, object]:
        return {"kind": "tilted", "share": self.share}


def test_a_calibrator_of_ones_own_is_replayed_from_its_columns(tmp_path: Path) -> None:
    """Columns that the mechanism does not determine are stored; loading needs the object."""
    p = fresh(calibrator=Tilted(0.1))
    for cell in PATH:
        p.release(cell)
    p.save(tmp_path / "s")
    with pytest.raises(StateError, match="calibrator"):
        Protector.load(tmp_path / "s")
    with pytest.raises(StateError, match="calibrator"):
        Protector.load(tmp_path / "s", calibrator=Tilted(0.2))
    again = Protector.load(tmp_path / "s", calibrator=Tilted(0.1))
    assert_same_state(again.state, p.state)
    assert again.state.hints == (5,)


def test_a_mechanism_must_be_the_one_of_the_file(tmp_path: Path) -> None:
    """Another mechanism than the stream's is refused; an equal one is taken."""
    p = fresh()
    p.release(4)
    p.save(tmp_path / "s")
    with pytest.raises(StateError, match="'mechanism'"):
        Protector.load(tmp_path / "s", mechanism=PlanarLaplace(GRID, 1.0))
    same = Protector.load(tmp_path / "s", mechanism=PlanarLaplace(GRID, 1.5))
    assert list(same.ledger) == list(p.ledger)


def test_a_changed_policy_is_remembered(tmp_path: Path) -> None:
    """A stream over its new limit still refuses after a restart."""
    from priste import ReleaseRefused

    p = fresh(calibrator=Certified(guess=False))
    for cell in (1, 1, 0):
        p.release(cell)
    p.with_policy(EVENTS["clinic"], 1e-5, journal=tmp_path / "j").close()
    with Protector.resume(tmp_path / "j") as q, pytest.raises(ReleaseRefused):
        q.release(4)


def test_a_failing_disk_stops_the_protector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a release cannot be written it is not returned, and only resuming goes on."""
    p = fresh(journal=tmp_path / "j")
    first = p.release(4)

    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StateError, match="Input/output error"):
        p.release(4)
    monkeypatch.undo()
    with pytest.raises(StateError, match="has stopped"):
        p.release(4)
    assert p.release(0, step=0) is first
    with Protector.resume(tmp_path / "j") as q:
        assert q.ledger[0] == first
        assert q.next_step in (1, 2)


def test_an_interrupt_inside_a_release_stops_the_protector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a release is being written cannot lead to two records for one step."""
    p = fresh(journal=tmp_path / "j")
    real = os.fsync

    def interrupted(fd: int) -> None:
        real(fd)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        p.release(4)
    monkeypatch.undo()
    with pytest.raises(StateError, match="interrupted"):
        p.release(4)
    with Protector.resume(tmp_path / "j") as q:
        assert q.next_step == 1  # it was written, so it counts


def test_a_problem_before_anything_was_written_does_not_stop_it() -> None:
    """A calibrator that fails leaves the stream as it was; the next call works."""

    class Fails(Certified):
        broken = True

        def propose(self, state: AccountantState) -> CheckedTable:
            if self.broken:
                raise MemoryError
            return super().propose(state)

    calibrator = Fails()
    p = fresh(calibrator=calibrator)
    with pytest.raises(MemoryError):
        p.release(4)
    calibrator.broken = False
    assert p.release(4).step == 0


def test_two_processes_cannot_share_a_journal(tmp_path: Path) -> None:
    """While one process has a journal open, another one is told so; afterwards it may."""
    script = (
        "import sys\nfrom priste import Protector, StateError\n"
        "try:\n    Protector.resume(sys.argv[1]).close()\n    print('opened')\n"
        "except StateError as e:\n    print('in use' in str(e))\n"
    )

    def other_process() -> str:
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "j")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    with fresh(journal=tmp_path / "j") as p:
        p.release(4)
        assert other_process() == "True"
        with pytest.raises(StateError, match="in use"):
            Protector.load(tmp_path / "j")
    assert other_process() == "opened"


def test_a_fork_cannot_write_to_its_parents_journal(tmp_path: Path) -> None:
    """A forked child shares the lock; it is refused by its process number."""
    p = fresh(journal=tmp_path / "j")
    p.release(4)
    child = os.fork()
    if child == 0:
        try:
            p.release(4)
        except StateError as problem:
            os._exit(7 if "fork" in str(problem) else 8)
        os._exit(9)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert p.release(4).step == 1
    p.close()


def test_event_texts_survive(tmp_path: Path) -> None:
    """An event from the language comes back from a file with the same meaning."""
    text = "at_least(2, gym, 0..4) and not (at(home, 1) or pattern(gym@2, home@3))"
    event = parse_event(text, {"gym": [1, 2, 5], "home": [8]})
    p = Protector(MODEL, event, MECH, 0.5, rng=1, adversary=AnyPrior())
    for cell in PATH:
        p.release(cell)
    p.save(tmp_path / "s")
    assert_same_state(Protector.load(tmp_path / "s").state, p.state)


def test_a_checker_must_be_given_again(tmp_path: Path) -> None:
    """A stream with a solver in the loop needs that solver to be loaded."""
    paper = Paper(checker=lambda moments, epsilon, seconds: False, max_attempts=3)
    p = fresh(calibrator=paper)
    p.release(4)
    p.save(tmp_path / "s")
    with pytest.raises(StateError, match="calibrator"):
        Protector.load(tmp_path / "s")
    assert Protector.load(tmp_path / "s", calibrator=paper).next_step == 1
