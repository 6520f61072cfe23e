"""What a result was computed by is written beside it, and nothing that names a person."""

import getpass
import platform
from pathlib import Path

from paper.running import provenance
from paper.running.jobs import PERFORMERS

import priste

TREE = {
    "paper/__init__.py": "",
    "paper/doing.py": "def perform():\n    from priste.quantify import a\n",
    "paper/showing.py": "import paper.doing\n",
    "src/priste/__init__.py": "",
    "src/priste/quantify/__init__.py": "",
    "src/priste/quantify/a.py": "import priste.quantify.b, numpy\n",
    "src/priste/quantify/b.py": "x = 1\n",
    "src/priste/cli.py": "import priste.quantify.a\n",
}


def test_the_digest_follows_the_source_that_computes(tmp_path, monkeypatch) -> None:
    """A change of what does jobs or is imported by it counts; a change of what shows them not."""
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    monkeypatch.setattr(provenance, "PERFORMERS", {"a kind": "paper.doing"})

    def digest() -> str:
        provenance.source_digest.cache_clear()
        return provenance.source_digest()

    first = digest()
    for name in TREE:
        with (tmp_path / name).open("a") as file:
            file.write("y = 2\n")
        shows = name in ("paper/showing.py", "src/priste/cli.py")
        assert (digest() == first) == shows, name
        (tmp_path / name).write_text(TREE[name])
        assert digest() == first
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


def test_what_does_jobs_counts_and_what_draws_does_not() -> None:
    """The sources of the digest hold the performers and the core, and no door and no drawing."""
    found = provenance.computing_sources(provenance._ROOT, PERFORMERS.values())
    named = {path.relative_to(provenance._ROOT).as_posix() for path in found}
    assert {f"{module.replace('.', '/')}.py" for module in PERFORMERS.values()} <= named
    assert "src/priste/quantify/quantifier.py" in named
    assert "paper/experiments/together.py" in named
    showing = ("src/priste/cli", "src/priste/report", "paper/page", "paper/experiments/curve")
    assert not {name for name in named if name.startswith(showing)}
