"""Benchmarks tell what they do, and do nothing when asked for help or for an unknown word."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
NAMES = sorted(
    path.stem for path in FOLDER.glob("*.py") if "\ndef main(arguments" in path.read_text()
)


class Worked(Exception):
    """Something was begun."""


@pytest.fixture
def main(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """The ``main`` of a benchmark in which whatever begins the work raises."""
    module = importlib.import_module(f"benchmarks.{request.param}")

    def begin(*_: object, **__: object) -> None:
        raise Worked

    for name in ("warm_up", "tempfile", "Console", "importlib", "Grid", "Geolife", "built_in_city"):
        monkeypatch.setattr(module, name, begin, raising=False)
    return module.main


def test_every_benchmark_is_looked_at() -> None:
    """All that ``python -m benchmarks`` runs, and itself."""
    from benchmarks.__main__ import BENCHMARKS, WITH_DATA

    assert {*BENCHMARKS, *WITH_DATA, "__main__"} == set(NAMES)


@pytest.mark.parametrize("main", NAMES, indirect=True)
def test_help_and_unknown_words_begin_nothing(main, capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` ends well and tells; an unknown word ends with 2 and is named."""
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert not end.value.code
    assert "python -m benchmarks" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["no-such-word"])
    assert end.value.code == 2
    assert "error:" in capsys.readouterr().err
