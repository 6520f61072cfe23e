"""``priste init``: a policy to edit."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import progress
from priste.cli.options import AS_IT_TELLS, Overwrite, Reading


@dataclass(frozen=True)
class Draft:
    """The policy that was written."""

    path: Path
    regions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/cli.md."""
        return {"policy": str(self.path), "regions": list(self.regions)}

    def show(self, out: Console) -> None:
        """Print where it is and what comes next."""
        out.print(
            f"Wrote {self.path}. Edit its places and events, then: priste explain {self.path}",
            markup=False,
        )


def init(
    traces: Annotated[
        Path | None, typer.Argument(help="A trace to take the map and places from.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")] = Path(
        "policy.toml"
    ),
    reading: Reading = AS_IT_TELLS,
    overwrite: Overwrite = False,
) -> Draft:
    """Write a commented policy to edit, from a trace if one is given."""
    from priste.policy import draft_policy, read_policy
    from priste.whole_files import check_apart, check_writable, write_whole

    check_writable(output, overwrite=overwrite)
    check_apart({"policy": output}, {} if traces is None else {"traces": traces})
    with progress("Reading the traces"):
        source = None if traces is None else reading.open(traces)
        path = None if traces is None else os.path.relpath(traces, output.parent)
        text = draft_policy(source, zone=reading.zone, source=path, format=reading.format)
        policy = read_policy(text, folder=output.parent)
    write_whole(output, text, overwrite=overwrite)  # as private as the traces it is made from
    return Draft(output, tuple(policy.regions))
