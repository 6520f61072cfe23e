"""What commands say, and where: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from priste.errors import PristeError

KEPT, BROKEN, REFUSED = 0, 1, 2
"""Exit codes: all is well; done, but a promise is not kept; nothing was done."""

Tell = Callable[[int, int], None]


def results() -> Console:
    """Return the console of results, stdout."""
    return Console(highlight=False)


def notices() -> Console:
    """Return the console of notices and errors, stderr."""
    return Console(stderr=True, highlight=False)


@contextmanager
def clean_errors() -> Iterator[None]:
    """Turn errors that a person can do something about into one panel and exit code 2.

    Nothing else is caught: a traceback of anything else is a bug to be reported.
    """
    try:
        yield
    except PristeError as error:
        _complain(str(error))
        raise typer.Exit(REFUSED) from None
    except OSError as error:
        where = f" {str(error.filename)!r}" if error.filename else ""
        _complain(f"{error.strerror or type(error).__name__}:{where}.")
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        notices().print("Stopped. What was released is kept: run the same command to go on.")
        raise typer.Exit(130) from None


def _complain(message: str) -> None:
    notices().print(
        Panel(Text(message), title="Error", title_align="left", border_style="red", padding=(0, 1))
    )


def warn_of_seed(seed: int | None) -> None:
    """Say that a seed is not private; nothing without one."""
    if seed is not None:
        notices().print(
            Text(
                "Warning: with --seed the noise can be undone by whoever knows or guesses the "
                "seed. Use it for experiments, never for real people.",
                style="yellow",
            )
        )


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON document; infinite numbers become the text "inf", unknown ones null."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


@contextmanager
def progress(what: str) -> Iterator[Tell]:
    """Show a bar with the remaining time on a terminal; nothing at all elsewhere.

    The yielded function takes how much is done, and of how much.
    """
    console = notices()
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield tell
