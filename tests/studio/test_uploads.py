"""Uploads are hostile until read: bounded, named safely, parsed in private, told in words."""

from __future__ import annotations

import gzip
import os
import signal
import threading
from pathlib import Path

import pytest
from tests.cli.small_world import write_trips
from tests.studio.running_studio import RunningStudio, Tab

from priste.studio import opening
from priste.studio.uploads import LARGEST_UPLOAD
from priste.studio.wire import Refused

MALFORMED = {
    "empty.csv": b"",
    "noise.csv": bytes(range(256)) * 50,
    "noise": b"\x00\x01\x02" * 1000,
    "broken.gpx": b"<?xml version='1.0'?><gpx><trk><trkseg><trkpt lat='46' lon='7'>",
    "bomb.gpx": b"<?xml version='1.0'?><!DOCTYPE g [<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;&a;'>]>"
    b"<gpx>&b;</gpx>",
    # The declaration lies across the end of a block of 64 KiB.
    "late.gpx": b"<!--".ljust(2**16 - 7, b" ") + b"--><!DOCTYPE g [<!ELEMENT a ANY>]><gpx></gpx>",
    "entity.kml": b"<!DOCTYPE k [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><kml>&f;</kml>",
    "deep.json": b"[" * 100_000,
    "half.parquet": b"PAR1" + b"\x00" * 100,
    "packed.csv": gzip.compress(b"a" * 10_000_000),
    # At 4,301 digits the compiled parser of JSON ends its process.
    "digits.json": b'{"locations": [{"timestampMs": ' + b"9" * 4_301 + b"}]}",
    "fixless.csv": b"user,time,lat,lon\nada,2026-03-04T00:00:00Z,,\n",
    "far.csv": b"user,time,lat,lon\nada,2026-03-04T00:00:00Z,946.5,7.0\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_told_in_words(tab: Tab, name: str) -> None:
    """No file brings anything but words, and the tab works on."""
    error = tab.upload(MALFORMED[name], name, 422)["error"]
    assert error["message"]
    assert "Traceback" not in error["message"]
    assert "unexpected" not in error["message"], error
    assert "946.5" not in error["message"]
    assert "Nothing is open" in tab.post("chances", {"setting": {}}, 409)["error"]["message"]


@pytest.mark.parametrize("name", ["broken.gpx", "digits.json"])
def test_a_file_that_is_refused_leaves_nothing(studio: RunningStudio, tab: Tab, name: str) -> None:
    """Neither the file nor its folder stays."""
    before = set(studio.folder.rglob("upload-*"))
    tab.upload(MALFORMED[name], name, 422)
    assert set(studio.folder.rglob("upload-*")) == before


def _crash(order: object) -> object:
    os.kill(os.getpid(), signal.SIGSEGV)
    return order


def _hang(order: object) -> object:
    threading.Event().wait()
    return order


@pytest.mark.parametrize(
    ("reader", "words"), [(_crash, "cannot be read to its end"), (_hang, "not read within")]
)
def test_a_reader_that_crashes_or_hangs_ends_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: object, words: str
) -> None:
    """A file is read in a process of its own, whose end is told in words."""
    monkeypatch.setattr(opening, "_read_within_bounds", reader)
    monkeypatch.setattr(opening, "LONGEST_OPENING", 60.0 if reader is _crash else 0.2)
    with pytest.raises(Refused, match=words):
        opening.open_file(write_trips(tmp_path, ("ada",)), "upload")


@pytest.mark.parametrize(
    "name",
    [
        "../../../evil.csv",
        "%2e%2e%2fevil.csv",
        "..",
        "a\\b.csv",
        "%00.csv",
        "x" * 300 + ".csv",
        "%E6%97%85" * 100 + ".csv",
    ],
)
def test_names_cannot_leave_the_folder(
    studio: RunningStudio, tab: Tab, tmp_path: Path, name: str
) -> None:
    """Whatever a file is called, it lies in its session's folder and reads as what it is."""
    content = write_trips(tmp_path, ("ada",)).read_bytes()
    opened = tab.upload(content, name)
    assert "/" not in opened["source"]["name"]
    assert not list(studio.folder.glob("evil*"))
    assert not list(studio.folder.parent.glob("evil*"))


def test_a_file_that_is_too_large_is_refused_in_words(studio: RunningStudio, tab: Tab) -> None:
    """More than 40 MB is refused after it was sent, and nothing of it is kept."""
    size = LARGEST_UPLOAD + 1

    def chunks() -> object:
        for _ in range(size // 1_000_000 + 1):
            yield b"x" * 1_000_000

    for content in (b"x" * size, chunks()):
        answer = tab.client.post(
            f"{tab.path}/upload",
            content=content,  # type: ignore[arg-type]  # an iterator of bytes
            headers={"X-Priste-Name": "big.csv"},
        )
        assert answer.status_code == 413
        assert "40 MB" in answer.json()["error"]["message"]
    kept = [path for path in studio.folder.rglob("*big*") if path.is_file()]
    assert not kept


def test_requests_that_are_no_json_are_told(tab: Tab, tmp_path: Path) -> None:
    """Bodies that are too large, no JSON, or no object are refused in words."""
    tab.open_small_world(tmp_path)
    for content, status in (
        (b"{", 422),
        (b"[1]", 422),
        (b"\xff", 422),
        (b"[" * 50_000, 422),
        (b" " * 5_000_000, 413),
    ):
        answer = tab.client.post(f"{tab.path}/explain", content=content)
        assert answer.status_code == status
        assert answer.json()["error"]["message"]
