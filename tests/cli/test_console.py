"""What commands say and where: bars on terminals only, JSON that parses, errors as one panel."""

import io
import json
import math
import signal
import time

import pytest
import typer
from rich.console import Console

from priste.cli import console
from priste.cli.audit import sparkline
from priste.errors import TraceError


def a_console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80, color_system=None)


def written(given: Console) -> str:
    assert isinstance(given.file, io.StringIO)
    return given.file.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_bars_are_for_terminals(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """A terminal sees the work and what is left of it; a pipe sees nothing at all."""
    shown = a_console(terminal=terminal)
    monkeypatch.setattr(console, "notices", lambda: shown)
    with console.progress("Releasing") as tell:
        tell(3, 10)
    assert ("Releasing" in written(shown)) == terminal
    assert ("3/10" in written(shown)) == terminal
    assert terminal or written(shown) == ""


def test_work_that_nobody_watches_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal a line comes every so often, counted or not; short work says nothing."""
    shown = a_console(terminal=False)
    monkeypatch.setattr(console, "notices", lambda: shown)
    monkeypatch.setattr(console, "EVERY", 0.01)
    with console.progress("Fitting"):
        until = time.monotonic() + 20
        while "Fitting: 0 s so far" not in written(shown) and time.monotonic() < until:
            time.sleep(0.01)
    assert "Fitting: 0 s so far" in written(shown)
    lines = console._Lines(shown, "Simulating", "releases")
    lines.tell(1, 10)
    time.sleep(0.02)
    lines.tell(3, 10)
    assert "Simulating: 3 of 10 releases" in written(shown)
    assert " left" in written(shown)


def test_too_little_work_foretells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of thousands says nothing about the rest: the line has no remaining time."""
    shown = a_console(terminal=False)
    monkeypatch.setattr(console, "EVERY", 0.0)
    lines = console._Lines(shown, "Simulating", "releases")
    lines.tell(0, 5000)
    time.sleep(0.01)
    lines.tell(1, 5000)
    assert "1 of 5,000 releases" in written(shown)
    assert " left" not in written(shown)


def test_json_has_no_numbers_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    """Infinity is a text, an unknown number null, and keys are texts."""
    console.print_json({"a": math.inf, "b": [-math.inf, 1.5], "c": {"d": math.nan}, 7: (1,)})  # type: ignore[dict-item]
    found = json.loads(capsys.readouterr().out)
    assert found == {"a": "inf", "b": ["-inf", 1.5], "c": {"d": None}, "7": [1]}


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (TraceError("No [such] file."), 2, "No [such] file."),
        (PermissionError(13, "Permission denied", "x.csv"), 2, "Permission denied: 'x.csv'."),
        (KeyboardInterrupt(), 130, "Stopped."),
    ],
)
def test_errors_are_one_message_and_a_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, words: str
) -> None:
    """Known troubles end in a message as it is, markup or not, and an exit code."""
    shown = a_console(terminal=False)
    monkeypatch.setattr(console, "notices", lambda: shown)
    with pytest.raises(typer.Exit) as caught, console.clean_errors():
        raise error
    assert caught.value.exit_code == code
    assert words in written(shown)


def test_an_interrupt_that_a_library_turned_into_another_error_stops_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DuckDB raises a RuntimeError in its place when it comes during a query."""
    shown = a_console(terminal=False)
    monkeypatch.setattr(console, "notices", lambda: shown)

    def query() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("In words of its own.") from None

    with pytest.raises(typer.Exit) as caught, console.clean_errors():
        query()
    assert caught.value.exit_code == 130
    assert "Stopped." in written(shown)


def test_bugs_are_not_hidden() -> None:
    """Anything else comes through as it is."""
    with pytest.raises(ZeroDivisionError), console.clean_errors():
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="of ours"), console.clean_errors():
        raise RuntimeError("A bug of ours.")


def test_lines_over_time_keep_peaks() -> None:
    """However long the stream, its largest value is a full bar."""
    values = [0.0] * 1000
    values[617] = 2.0
    line = sparkline(values)
    assert len(line) == 64
    assert line.count("█") == 1
    assert line.index("█") == 617 * 64 // 1000
