"""``priste studio`` on the command line: what it refuses, and that help stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from priste.cli.application import app
from priste.cli.studio import checked_tiles
from priste.errors import InvalidParameter


def complaint(*arguments: str) -> str:
    """Return what the command says when it refuses."""
    result = CliRunner().invoke(app, ["studio", "--no-open", *arguments])
    assert result.exit_code == 2, result.output
    return " ".join(result.output.replace("│", " ").split())


def test_what_cannot_be_opened_is_told_before_anything_listens(tmp_path: Path) -> None:
    """A missing file, a basemap that is none, and tiles without an address."""
    assert "must be a file or folder that is there" in complaint(str(tmp_path / "none.gpx"))
    assert "must be a file that is there" in complaint("--basemap", str(tmp_path / "none.pmtiles"))
    assert "{z}" in complaint("--tiles", "http://tiles.example/")


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    """Somebody else's port is not taken over."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port}" in complaint("--port", port)


@pytest.mark.parametrize(
    "address",
    [
        "http://tiles.example/{z}/{x}/{y}.png",
        "https://tiles.example/{z}/{x}.png",
        "https://tiles.example;script-src */{z}/{x}/{y}.png",
        "https://a b/{z}/{x}/{y}",
        "https://*/{z}/{x}/{y}",
        "https://'self'/{z}/{x}/{y}",
    ],
)
def test_tiles_cannot_change_the_security_policy(address: str) -> None:
    """The address becomes part of a header: only a plain host gets there."""
    with pytest.raises(InvalidParameter):
        checked_tiles(address)


def test_a_missing_extra_is_told_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the server's packages the command says what to install."""
    monkeypatch.setitem(sys.modules, "pmtiles", None)
    said = complaint()
    assert "pip install 'priste[studio]'" in said
    assert "pmtiles" in said


def test_help_loads_no_server() -> None:
    """``priste studio --help`` answers without loading what serves."""
    code = (
        "import sys; from priste.cli.application import app\n"
        "try: app(['studio', '--help'], prog_name='priste')\n"
        "except SystemExit: pass\n"
        "print([m for m in ('uvicorn', 'starlette', 'numpy', 'pmtiles') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
    assert "--basemap" in done.stdout
