"""What a result was computed by is written beside it, and nothing that names a person."""

import getpass
import platform
from pathlib import Path

import priste
from priste.reproduce.running import provenance
from priste.reproduce.running.jobs import _PERFORMERS


def test_the_digest_follows_the_source_that_computes(tmp_path, monkeypatch) -> None:
    """A change of a computing module changes it; a change of what shows results does not."""
    computing = "reproduce/experiments/together.py"
    for name in ("quantify/a.py", "cli/b.py", *provenance.SHOWING_FILES, computing):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)

    def digest() -> str:
        provenance.source_digest.cache_clear()
        return provenance.source_digest()

    first = digest()
    for shown in ("cli/b.py", *provenance.SHOWING_FILES):
        (tmp_path / shown).write_text("x = 2\n")
        assert digest() == first
    (tmp_path / computing).write_text("x = 2\n")
    assert digest() != first
    (tmp_path / computing).write_text("x = 1\n")
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


def test_files_that_show_results_are_there() -> None:
    """A file that was moved would count as one that computes, and nobody would notice."""
    package = Path(priste.__file__).parent
    assert all((package / name).is_file() for name in provenance.SHOWING_FILES)


def test_what_does_jobs_counts_as_computing() -> None:
    """No module that does jobs is among those that merely show."""
    left_out = {name.removesuffix(".py").replace("/", ".") for name in provenance.SHOWING_FILES}
    for module in _PERFORMERS.values():
        assert module.removeprefix("priste.") not in left_out
