"""What a result was computed by is written beside it, and nothing that names a person."""

import getpass
import platform
from pathlib import Path

import priste
from priste.reproduce.running import provenance


def test_the_digest_follows_the_source_that_computes(tmp_path, monkeypatch) -> None:
    """A change of a computing module changes it; a change of what shows results does not."""
    for name in ("quantify/a.py", "cli/b.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)

    def digest() -> str:
        provenance.source_digest.cache_clear()
        return provenance.source_digest()

    first = digest()
    (tmp_path / "cli/b.py").write_text("x = 2\n")
    assert digest() == first
    (tmp_path / "quantify/a.py").write_text("x = 2\n")
    second = digest()
    assert second != first
    (tmp_path / "quantify/a.py").rename(tmp_path / "quantify/c.py")
    assert digest() not in (first, second)
    provenance.source_digest.cache_clear()


def test_the_account_names_what_numbers_depend_on_and_nobody() -> None:
    """Source, libraries and processor are there; the host, the user and folders are not."""
    account = provenance.account_of_machine()
    assert account["priste"] == priste.__version__
    assert len(account["source"]) == 24
    assert account["libraries"]["numpy"]
    text = repr(account)
    assert str(Path.home()) not in text
    assert platform.node() not in text or len(platform.node()) < 4
    assert f"/{getpass.getuser()}" not in text
