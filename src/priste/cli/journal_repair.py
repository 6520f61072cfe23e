"""``priste journal``: look at the journal of a stream, and mend what a crash left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from priste.cli.console import clean_errors, results, warn

app = typer.Typer(help="Check or repair the journal of a stream.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="A journal, as live-state/me/000000.journal.")]


@app.command()
def check(file: File) -> None:
    """Report whether a journal is whole, and what it holds.

    Nothing is changed. Exit code 2 if it is damaged.
    """
    with clean_errors():
        from priste.release.stream_file import journal

        contents = journal.read(file)
        binding = contents.header.get("binding") or {}
        out = results()
        out.print(f"{file}: {len(contents.records)} steps, every line matches its digest")
        for name, value in sorted(binding.items()):
            out.print(f"  {name}: {value}", markup=False)
        if contents.torn:
            out.print(
                f"  then {contents.torn} bytes of an unreturned release: the next start, "
                "or priste journal repair, cuts them off"
            )


@app.command()
def repair(
    file: File,
    forget_releases: Annotated[
        bool,
        typer.Option(
            "--forget-releases",
            help="Cut a damaged journal after its last sound line; what follows is forgotten.",
        ),
    ] = False,
) -> None:
    """Cut off what a crash left of the last line.

    A journal that is damaged before its end is left as it is, unless --forget-releases is given.
    Then it is cut after the last line that checks, a copy stays beside it, and about the steps
    after that line nothing is guaranteed any more: they would be drawn a second time.
    """
    with clean_errors():
        from priste.atomic_files import write_file
        from priste.errors import StateError
        from priste.release.stream_file import journal

        out = results()
        try:
            opened, contents = journal.Journal.open(file)
            opened.close()
        except StateError as problem:
            if not forget_releases:
                raise
            data = file.read_bytes()
            sound = journal.sound_part(data, file)
            copy = file.with_name(f"{file.name}.damaged")
            write_file(copy, data)
            write_file(file, data[: sound.end], overwrite=True)
            warn(f"{problem}")
            out.print(
                f"{file}: cut after {len(sound.records)} steps; what it was is in {copy}. Whatever "
                "was released after them is forgotten: do not release those steps again."
            )
            return
        cut = f"{contents.torn} bytes cut off" if contents.torn else "nothing to cut off"
        out.print(f"{file}: {len(contents.records)} steps; {cut}")
