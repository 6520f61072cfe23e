"""``priste journal``: check the journal of a stream, and cut off what a crash left unfinished."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from priste.cli.console import clean_errors, results, warn

app = typer.Typer(help="Check or repair the journal of a stream.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="A journal, as live-state/me/000000.journal.")]


@app.command()
def check(file: File) -> None:
    """Report whether a journal is complete, and what it holds.

    The journal is not changed. The exit code is 2 if it is damaged.
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
            help="Cut a damaged journal after its last good line; later releases are forgotten.",
        ),
    ] = False,
) -> None:
    """Cut off an unfinished last line, which was never released.

    A journal that is damaged before its end is not changed, unless --forget-releases is given. Then
    it is cut after the last good line, and a copy is kept. The guarantee no longer covers the steps
    after that line, because they could be drawn a second time.
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
                f"{file}: cut after {len(sound.records)} steps; {copy} is a copy of the damaged "
                "journal. Later releases are forgotten: do not release their steps again."
            )
            return
        cut = f"{contents.torn} bytes cut off" if contents.torn else "nothing to cut off"
        out.print(f"{file}: {len(contents.records)} steps; {cut}")
