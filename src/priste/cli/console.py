"""What commands say, and where: results on stdout, everything else on stderr.

A command is a function that returns what it found (:class:`Found`). What all commands do with
that is written here once: words or JSON, an error, and the exit code.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json as json_text
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, get_type_hints

import typer
from rich.console import Console
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from priste.cli.option_words import in_options
from priste.cli.options import Json, Reading
from priste.errors import OutputError, PristeError

DONE, BROKEN, REFUSED, NOT_GUARANTEED, QUARANTINED, NOT_RUNNING, STOPPED = 0, 1, 2, 3, 4, 5, 130
"""Exit codes: all is well; a guarantee is not kept; nothing was done; none was made; not done for
everybody; not running; stopped."""

CODES = {"kept": DONE, "broken": BROKEN, "not guaranteed": NOT_GUARANTEED}
"""The exit code of each verdict."""

AGAIN = 0.05
"""Seconds after which a termination that came at a bad moment comes again."""

STOPPED_WORDS = "Stopped. Nothing was written, and nothing is kept."
WHEN_STOPPED = {
    "protect": "Stopped. What was drawn is kept: run the same command to go on.",
    "demo": "Stopped. The folder of the demo is not finished: run it again.",
    "fit": "Stopped. No model was written.",
    "init": "Stopped. A policy that was not written yet is not written.",
}
"""What a command says when it is stopped; others write nothing before they end."""

Tell = Callable[[int, int], None]


class Found(Protocol):
    """What a command found, ready to be printed. One that judges a guarantee has a ``verdict``."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        ...

    def show(self, out: Console) -> None:
        """Print it in words."""
        ...


def command(run: Callable[..., Found]) -> Callable[..., None]:
    """Make a command line's command of a function.

    It gets ``--json``, and ``--format``, ``--zone`` and ``--column`` if the function takes a
    ``reading``; it ends with the exit code of what was found, or of what went wrong.
    """
    hints = get_type_hints(run, include_extras=True)
    takes_reading = "reading" in hints

    @functools.wraps(run)
    def told(*, json: bool, **given: Any) -> None:
        with clean_errors(WHEN_STOPPED.get(run.__name__, STOPPED_WORDS)):
            if takes_reading:
                given["reading"] = Reading(
                    **{each.name: given.pop(each.name) for each in fields(Reading)}
                )
            found = run(**given)
            _print(found, json=json)
        code = CODES[getattr(found, "verdict", "kept")]
        raise typer.Exit(code or (QUARANTINED if getattr(found, "quarantined", 0) else DONE))

    signature = _signature(run, hints)
    told.__signature__ = signature  # type: ignore[attr-defined]
    told.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    del told.__wrapped__  # its options are not those of the command
    return told


def _signature(run: Callable[..., Found], hints: Mapping[str, Any]) -> inspect.Signature:
    parameters = []
    for name, each in inspect.signature(run).parameters.items():
        if name == "reading":
            kinds = get_type_hints(Reading, include_extras=True)
            parameters += [
                _option(field.name, kinds[field.name], None) for field in fields(Reading)
            ]
        else:
            parameters.append(_option(name, hints[name], each.default))
    return inspect.Signature([*parameters, _option("json", Json, False)])


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _print(found: Found, *, json: bool) -> None:
    with printing():
        if json:
            print_json(found.to_dict())
        else:
            found.show(results())


@contextmanager
def printing() -> Iterator[None]:
    """Print results. A reader that has had enough is no error; a full disk is one."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as problem:
        silence()
        raise OutputError(
            f"The work is done, but its results could not be printed: {problem.strerror}.",
            hint="Make room, and ask again: what was made is kept.",
        ) from None


def silence() -> None:
    """Let what is still to be printed go nowhere, or the interpreter would complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Results(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command to end as it should."""
        raise BrokenPipeError


def results() -> Console:
    """Return the console of results, stdout."""
    return _Results(highlight=False)


def notices() -> Console:
    """Return the console of notices and errors, stderr."""
    return Console(stderr=True, highlight=False)


@contextmanager
def clean_errors(when_stopped: str = "Stopped.") -> Iterator[None]:
    """Turn errors that a person can do something about into a message and exit code 2.

    Nothing else is caught: a traceback of anything else is a bug to be reported. A request to
    terminate ends like Ctrl-C, with the words of ``when_stopped``.
    """
    stopped = threading.Event()
    try:
        with _requests_interrupt(stopped):
            yield
    except PristeError as error:
        _complain(in_options(error))
        raise typer.Exit(REFUSED) from None
    except OSError as error:
        where = f" {str(error.filename)!r}" if error.filename else ""
        _complain(f"{error.strerror or type(error).__name__}:{where}.")
        raise typer.Exit(REFUSED) from None
    except MemoryError:
        _complain(
            "There is not enough memory for this. Take larger cells, fewer workers or less data."
        )
        raise typer.Exit(REFUSED) from None
    except (KeyboardInterrupt, RuntimeError) as error:
        # DuckDB raises a RuntimeError in place of an interrupt that arrives during a query.
        if isinstance(error, RuntimeError) and not stopped.is_set():
            raise
        notices().print(when_stopped)
        raise typer.Exit(STOPPED) from None


@contextmanager
def _requests_interrupt(stopped: threading.Event) -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the work as Ctrl-C does, so that temporary files go.

    ``stopped`` is set when one of them does. What is ignored stays so, as SIGHUP under nohup.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        if _is_importing(frame):  # compiled modules abort where an import of theirs is interrupted
            again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        stopped.set()
        raise KeyboardInterrupt

    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows knows no SIGHUP
        if number is None or signal.getsignal(number) is signal.SIG_IGN:
            continue
        with suppress(ValueError):  # not in the main thread, where signals arrive
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals is vars(importlib._bootstrap):
            return True
        frame = frame.f_back
    return False


def _complain(message: str) -> None:
    notices().print(Text.assemble(("Error: ", "bold red"), message))


def indented(out: Console, text: str | Text, by: int = 2) -> None:
    """Print a paragraph of which every line is indented; nothing in it is markup."""
    out.print(Padding(Text.assemble(text), (0, 0, 0, by)))


def list_files(out: Console, files: Mapping[Path, str]) -> None:
    """Print files and what each of them is; names are never broken."""
    across = max(len(str(path)) for path in files)
    for path, what in files.items():
        out.print(f"  {path!s:<{across}}  {what}", markup=False, soft_wrap=True)


def warn(message: str) -> None:
    """Print a warning."""
    notices().print(Text(f"Warning: {message}", style="yellow"))


def warn_of_seed(seed: int | None) -> None:
    """Say that a seed is not private; nothing without one."""
    if seed is not None:
        warn(
            "with --seed the noise can be undone by an adversary who guesses the seed. Use it for "
            "experiments, never for real people."
        )


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON document; infinite numbers become the text "inf", unknown ones null."""
    sys.stdout.write(json_text.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


EVERY = 30.0
"""Seconds between lines of progress where there is no terminal."""

FORETELLING = 0.02
"""The share of what was left at first that must be done before it says how long the rest takes."""


@contextmanager
def progress(what: str, of: str = "") -> Iterator[Tell]:
    """Show a bar with the rate and the remaining time on a terminal; otherwise, at times, a line.

    The yielded function takes how much is done, and of how much; ``of`` says of what.
    """
    console = notices()
    if not console.is_terminal:
        lines = _Lines(console, what, of)
        with lines.while_nothing_is_told():
            yield lines.tell
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        _CountColumn(),
        *([TextColumn(of), _RateColumn()] if of else []),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield tell


class _CountColumn(MofNCompleteColumn):
    """How much is done, and of how much; nothing where nobody counts."""

    def render(self, task: Task) -> Text:
        """Return the count as text."""
        return Text("") if task.total is None else super().render(task)


class _RateColumn(ProgressColumn):
    """How much is done in a second."""

    def render(self, task: Task) -> Text:
        """Return the rate as text."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.3g}/s")


class _Lines:
    """Prints a line every so often: how much is done, or just that the work continues."""

    def __init__(self, console: Console, what: str, of: str) -> None:
        self._console, self._what, self._of = console, what, of
        self._begun = self._told = time.monotonic()
        self._first: int | None = None
        self._lock = threading.Lock()

    def tell(self, done: int, total: int) -> None:
        """Take how much is done, of how much; print it if the last line is long ago."""
        self._first = max(done - 1, 0) if self._first is None else self._first
        if self._is_time():
            made = done - self._first
            rate = made / (self._told - self._begun)
            tells = made > FORETELLING * (total - self._first)
            rest = f", {_duration((total - done) / rate)} left" if tells else ""
            words = f" {self._of}, {rate:.3g} a second" if self._of else ""
            self._console.print(f"{self._what}: {done:,} of {total:,}{words}{rest}")

    @contextmanager
    def while_nothing_is_told(self) -> Iterator[None]:
        """Print how long it has been where the work itself cannot tell how far it is."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(EVERY / 4):
                # Twice as patient as where steps are counted: a count says more.
                if self._is_time(2 * EVERY if self._first is not None else EVERY):
                    self._console.print(
                        f"{self._what}: {_duration(self._told - self._begun)} so far"
                    )

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _is_time(self, patience: float | None = None) -> bool:
        with self._lock:
            now = time.monotonic()
            if now - self._told < (EVERY if patience is None else patience):
                return False
            self._told = now
            return True


def _duration(seconds: float) -> str:
    """Return a length of time in words.

    >>> _duration(40), _duration(600), _duration(90_000)
    ('40 s', '10 min', '25.0 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
