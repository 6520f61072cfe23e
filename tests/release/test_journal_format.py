"""The file format of state files and journals: every byte counts, nothing foreign is touched."""

import errno
import os
import stat
from pathlib import Path

import pytest

from priste.errors import StateError
from priste.release.stream_file import journal as files

HEADER = {"stream": "ab12", "terms": "as agreed"}
RECORDS = [{"step": k, "output": 3 * k, "leakage": [0.125 * k]} for k in range(4)]


def written(path: Path, records: list[dict[str, object]] = RECORDS) -> bytes:
    files.create(path, HEADER, records)
    return path.read_bytes()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """A file gives back its header and records, and ends where its bytes end."""
    data = written(tmp_path / "s")
    contents = files.read(tmp_path / "s")
    assert contents.header == HEADER
    assert list(contents.records) == RECORDS
    assert (contents.end, contents.torn) == (len(data), 0)


def test_appended_records_equal_records_written_at_once(tmp_path: Path) -> None:
    """A journal grown record by record has the same bytes as a file written in one go."""
    files.create(tmp_path / "grown", HEADER)
    journal, _ = files.Journal.open(tmp_path / "grown")
    journal.append(RECORDS[:1])
    journal.append(RECORDS[1:])
    journal.close()
    assert (tmp_path / "grown").read_bytes() == written(tmp_path / "whole")


def test_cut_at_every_byte(tmp_path: Path) -> None:
    """A file cut anywhere loses at most its unfinished last line, or is refused; never more."""
    data = written(tmp_path / "s")
    ends = [k + 1 for k, byte in enumerate(data) if byte == 10]  # magic, header, then records
    cut = tmp_path / "cut"
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        header_end = ends[1] - 1  # a header that lacks only its newline checks
        if length < header_end:
            with pytest.raises(StateError):
                files.Journal.open(cut)
            assert cut.read_bytes() == data[:length]
            continue
        journal, contents = files.Journal.open(cut)
        journal.close()
        whole = sum(1 for end in ends[2:] if end - 1 <= length)
        assert list(contents.records) == RECORDS[:whole]
        assert cut.read_bytes() == data[: ends[1 + whole]]


def test_every_bit_matters(tmp_path: Path) -> None:
    """One flipped bit anywhere is noticed, and the file stays as it was found."""
    data = written(tmp_path / "s", RECORDS[:2])
    hurt = tmp_path / "hurt"
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            hurt.write_bytes(bytes(damaged))
            with pytest.raises(StateError):
                files.Journal.open(hurt)
            assert hurt.read_bytes() == bytes(damaged)


@pytest.mark.parametrize("change", ["drop", "swap", "repeat", "splice"])
def test_lines_cannot_be_moved(tmp_path: Path, change: str) -> None:
    """Lines removed from the middle, swapped, repeated or taken from another file are noticed."""
    lines = written(tmp_path / "s").splitlines(keepends=True)
    other = files.encode({"stream": "other"}, RECORDS)[0].splitlines(keepends=True)
    changed = {
        "drop": lines[:3] + lines[4:],
        "swap": [*lines[:3], lines[4], lines[3], *lines[5:]],
        "repeat": [*lines[:4], lines[3], *lines[4:]],
        "splice": lines[:3] + other[3:],
    }[change]
    path = tmp_path / "changed"
    path.write_bytes(b"".join(changed))
    with pytest.raises(StateError, match="corrupt"):
        files.read(path)


def test_garbage_after_the_end_is_not_a_torn_line(tmp_path: Path) -> None:
    """Only the beginning of a frame counts as torn; text or a wrong digest does not."""
    data = written(tmp_path / "s")
    path = tmp_path / "tail"
    for tail in (
        b"\0\0\0\0hello",
        b"hello\0",
        b"hello",
        b"R 0000",
        b"R 00000002 " + b"0" * 32 + b" {}",
    ):
        path.write_bytes(data + tail)
        if tail == b"R 0000":
            assert files.read(path).torn == len(tail)
        else:
            with pytest.raises(StateError, match="corrupt"):
                files.Journal.open(path)
            assert path.read_bytes() == data + tail


def test_blocks_that_never_reached_the_disk_are_torn(tmp_path: Path) -> None:
    """NULs in place of the end of the last append, or of whole blocks of it, are cut off."""
    before = written(tmp_path / "s", RECORDS[:2])
    line = written(tmp_path / "t", RECORDS[:3])[len(before) :]
    path = tmp_path / "nul"
    for kept in range(len(line)):  # the rest has room in the file and no content
        path.write_bytes(before + line[:kept] + b"\0" * (len(line) - kept))
        journal, contents = files.Journal.open(path)
        journal.close()
        assert (len(contents.records), contents.torn) == (2, len(line))
        assert path.read_bytes() == before
    path.write_bytes(before + b"\0" * 4_096)
    assert files.read(path).torn == 4_096
    first_lost = files.BLOCK - len(before) % files.BLOCK  # the block in which the append begins
    if 2 <= first_lost < len(line):
        path.write_bytes(before + b"\0" * first_lost + line[first_lost:])
        assert files.read(path).torn == len(line)
        path.write_bytes(before + b"\0" * (first_lost - 1) + line[first_lost - 1 :])
        with pytest.raises(StateError, match="corrupt"):  # no block ends there
            files.read(path)


def test_a_last_line_that_lacks_its_first_letter_alone_is_read(tmp_path: Path) -> None:
    """A block may end after the first byte of an append; the digest shows the rest is whole."""
    before = written(tmp_path / "s", RECORDS[:2])
    line = written(tmp_path / "t", RECORDS[:3])[len(before) :]
    path = tmp_path / "nul"
    path.write_bytes(before + b"\0" + line[1:])
    journal, contents = files.Journal.open(path)
    journal.close()
    assert (len(contents.records), contents.torn) == (3, 0)
    assert path.read_bytes() == before + line
    for damaged in (
        before + b"\0" + line[1:-2] + b" \n",  # something else is damaged as well
        before[: before.rfind(b"R")] + b"\0" + before[before.rfind(b"R") + 1 :] + line,  # not last
    ):
        path.write_bytes(damaged)
        with pytest.raises(StateError, match="corrupt"):
            files.Journal.open(path)
        assert path.read_bytes() == damaged


def test_blocks_lost_before_acknowledged_lines_are_damage(tmp_path: Path) -> None:
    """Where whole lines follow the NULs something was lost that had been acknowledged."""
    before, whole = written(tmp_path / "s", RECORDS[:1]), written(tmp_path / "t", RECORDS)
    path = tmp_path / "nul"
    end = len(before) + files.BLOCK - len(before) % files.BLOCK
    path.write_bytes(before + b"\0" * (end - len(before)) + whole[end:] + whole[len(before) :])
    with pytest.raises(StateError, match="corrupt"):
        files.read(path)


def test_a_journal_that_is_removed_or_replaced_in_use_takes_nothing(tmp_path: Path) -> None:
    """What would be written to a file without a name would be forgotten."""
    for change in ("removed", "replaced"):
        path = tmp_path / change
        data = written(path, RECORDS[:1])
        journal, _ = files.Journal.open(path)
        path.rename(tmp_path / f"old {change}")
        if change == "replaced":
            path.write_bytes(data)
        with pytest.raises(StateError, match="removed or replaced"):
            journal.append(RECORDS[1:2])
        assert (tmp_path / f"old {change}").read_bytes() == data


def test_a_line_whose_fsync_failed_is_written_again_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line can be read and may not be on the disk: opening writes all of it again."""
    path = tmp_path / "j"
    before = written(path, RECORDS[:1])
    journal, _ = files.Journal.open(path)
    fsync = os.fsync

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StateError, match="cannot be written"):
        journal.append(RECORDS[1:2])
    with pytest.raises(StateError, match="cannot be continued"):
        files.Journal.open(path)
    written_again: list[bytes] = []
    write = os.write

    def writing(fd: int, data: bytes) -> int:
        written_again.append(bytes(data))
        return write(fd, data)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "write", writing)
    journal, contents = files.Journal.open(path)
    journal.close()
    assert len(contents.records) == 2
    assert b"".join(written_again) == path.read_bytes()
    assert path.read_bytes().startswith(before)


def test_a_second_name_of_a_journal_is_removed_when_it_is_opened(tmp_path: Path) -> None:
    """A crash between the two steps of its creation leaves one."""
    path = tmp_path / "j"
    written(path, RECORDS[:1])
    os.link(path, tmp_path / f".j.{'0' * 16}.part")
    journal, _ = files.Journal.open(path)
    assert [each.name for each in tmp_path.iterdir()] == ["j"]
    journal.close()


def test_a_line_with_a_wrong_length_is_not_taken_for_a_torn_one(tmp_path: Path) -> None:
    """A whole last line without newline whose length was changed is corrupt: it was acknowledged.

    So is the beginning of a line of another step, and a line whose end was cut inside out.
    """
    data = written(tmp_path / "s")
    lines = data.splitlines(keepends=True)
    whole = lines[-1].rstrip(b"\n")
    longer = b"R %08x" % (int(whole[2:10], 16) + 1) + whole[10:]
    other_step = whole[:-5].replace(b'{"step":3,', b'{"step":7,')
    no_record = whole[: whole.index(b"{")] + b"[1, 2"
    path = tmp_path / "tail"
    for tail in (longer, other_step, no_record):
        path.write_bytes(b"".join(lines[:-1]) + tail)
        with pytest.raises(StateError, match="corrupt"):
            files.Journal.open(path)
        assert path.read_bytes().endswith(tail)
    path.write_bytes(b"".join(lines[:-1]) + whole[:-5])
    assert files.read(path).torn == len(whole) - 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "only 0 bytes"),
        (b"prist", "only 5 bytes"),
        (b"PK\x03\x04 a zip file", "not a state file"),
        (b"priste-stream 0\nanything", "version 0"),
        (b"priste-stream 2\nanything", "version 2"),
        (b"priste-stream 1\n", "ends before its header"),
    ],
)
def test_foreign_and_other_versions(tmp_path: Path, content: bytes, message: str) -> None:
    """Foreign files and other versions are named as such, and survive every attempt."""
    path = tmp_path / "s"
    path.write_bytes(content)
    with pytest.raises(StateError, match=message):
        files.read(path)
    with pytest.raises(StateError, match=message):
        files.replace(path, HEADER, RECORDS)
    with pytest.raises(StateError, match="already a file"):
        files.create(path, HEADER)
    assert path.read_bytes() == content


def test_missing_files_and_folders(tmp_path: Path) -> None:
    """A path that is not there, or is a folder, is a StateError with the system's reason."""
    for action in (files.read, files.Journal.open, files.refuse_if_locked):
        with pytest.raises(StateError, match="No such file"):
            action(tmp_path / "nothing")
    with pytest.raises(StateError, match="Is a directory"):
        files.Journal.open(tmp_path)
    with pytest.raises(StateError, match="cannot be written"):
        files.create(tmp_path / "no folder" / "s", HEADER)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o377])
def test_files_are_private(tmp_path: Path, umask: int) -> None:
    """New and replaced files have mode 0600 whatever the umask, and no temporary file remains."""
    before = os.umask(umask)
    try:
        files.create(tmp_path / "s", HEADER)
        files.replace(tmp_path / "s", HEADER, RECORDS)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


def test_replace_only_goes_forward(tmp_path: Path) -> None:
    """A saved state is replaced by a later one of its stream, not by an earlier or another one."""
    path = tmp_path / "s"
    files.replace(path, HEADER, RECORDS[:2])
    files.replace(path, HEADER, RECORDS[:3])
    kept = path.read_bytes()
    for header, records in (
        (HEADER, RECORDS[:2]),
        ({"stream": "other"}, RECORDS),
        (HEADER, [*RECORDS[:2], {"step": 2, "output": 99}, RECORDS[3]]),
    ):
        with pytest.raises(StateError, match="another stream, or more"):
            files.replace(path, header, records)
    assert path.read_bytes() == kept


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A journal in use cannot be opened, loaded or replaced by anybody else."""
    files.create(tmp_path / "s", HEADER)
    journal, _ = files.Journal.open(tmp_path / "s")
    with pytest.raises(StateError, match="in use"):
        files.Journal.open(tmp_path / "s")
    with pytest.raises(StateError, match="in use"):
        files.refuse_if_locked(tmp_path / "s")
    with pytest.raises(StateError, match="in use"):
        files.replace(tmp_path / "s", HEADER, RECORDS)
    journal.close()
    files.Journal.open(tmp_path / "s")[0].close()


def test_a_journal_that_somebody_else_wrote_to_stops(tmp_path: Path) -> None:
    """Bytes that appear in the file from elsewhere end the writing; nothing is added to them."""
    files.create(tmp_path / "s", HEADER)
    journal, _ = files.Journal.open(tmp_path / "s")
    with (tmp_path / "s").open("ab") as stranger:
        stranger.write(b"x")
    seen = (tmp_path / "s").read_bytes()
    with pytest.raises(StateError, match="Something else wrote"):
        journal.append(RECORDS[:1])
    with pytest.raises(StateError, match="closed"):
        journal.append(RECORDS[:1])
    assert (tmp_path / "s").read_bytes() == seen


def test_a_full_disk_closes_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk takes only half a line, the journal closes, and opens again without it."""
    files.create(tmp_path / "s", HEADER, RECORDS[:1])
    journal, _ = files.Journal.open(tmp_path / "s")
    real = os.write

    def half(fd: int, data: bytes) -> int:
        real(fd, bytes(data)[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(StateError, match="No space left"):
        journal.append(RECORDS[1:2])
    monkeypatch.undo()
    again, contents = files.Journal.open(tmp_path / "s")
    again.close()
    assert list(contents.records) == RECORDS[:1]
    assert contents.torn > 0
