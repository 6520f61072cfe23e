"""A stream writes nothing outside its own files: a killed one leaves no model behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.release.kept_streams import PATH, begun

from priste import Protector


def test_streams_use_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no temporary folder, a stream is begun, kept and continued all the same."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "there is no such folder"))
    (tmp_path / "stream").mkdir()
    begun(tmp_path / "stream" / "a.journal")
    again = Protector.load(tmp_path / "stream" / "a.journal")
    assert len(again.ledger) == len(PATH)
    again.save(tmp_path / "stream" / "state")
    assert len(Protector.load(tmp_path / "stream" / "state").ledger) == len(PATH)
