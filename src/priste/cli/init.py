"""``priste init``: a policy to use as it stands, or to edit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import progress
from priste.cli.options import AS_IT_TELLS, Overwrite, Reading, User
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.policy import Policy
    from priste.traces import Trace

FORECAST_SECONDS = 10.0
FEWEST_FORESEEN = 12
"""A forecast of fewer steps than that, because the time was over, says nothing."""

DAY = "%Y-%m-%d"
TIMES = [DAY, "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


@dataclass(frozen=True)
class Draft:
    """The policy that was written, what was made of the traces, and what it would cost."""

    path: Path
    regions: tuple[str, ...]
    notes: tuple[str, ...]
    cost: tuple[str, ...]
    example: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/cli.md."""
        return {
            "policy": str(self.path),
            "regions": list(self.regions),
            "notes": list(self.notes),
            "cost": list(self.cost),
        }

    def show(self, out: Console) -> None:
        """Print where it is, what is in it, what it costs, and what comes next."""
        out.print(f"Wrote {self.path}.", markup=False)
        for note in (*self.notes, *self.cost):
            out.print(note, markup=False)
        out.print(
            "Its event is an example: edit places and events as you need them. Next: "
            f"priste explain {self.path}, and priste protect {self.example} -p {self.path}",
            markup=False,
        )


def init(
    traces: Annotated[
        list[Path] | None, typer.Argument(help="Files or folders to take map and places from.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")] = Path(
        "policy.toml"
    ),
    user: User = None,
    since: Annotated[
        datetime | None,
        typer.Option("--from", formats=TIMES, help="From this day or time on, in the zone."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option("--to", formats=TIMES, help="Up to the end of this day, or to this time."),
    ] = None,
    forecast: Annotated[
        bool, typer.Option(help="Simulate for a few seconds what the draft would cost.")
    ] = True,
    reading: Reading = AS_IT_TELLS,
    overwrite: Overwrite = False,
) -> Draft:
    """Write a commented policy that works as it stands, from traces if some are given."""
    from priste.policy import drafted, read_policy
    from priste.whole_files import check_apart, check_writable, write_whole

    inputs = traces or []
    check_writable(output, overwrite=overwrite)
    check_apart({"policy": output}, {f"input {path}": path for path in inputs})
    if not inputs and (user or since or until):
        raise InvalidParameter("--user, --from and --to choose from traces. Name a file or folder.")
    with progress("Reading the traces"):
        paths = [os.path.relpath(path, output.parent) for path in inputs]
        draft = drafted(
            _chosen(inputs, reading, user) if inputs else None,
            zone=reading.zone,
            source=_sources(paths, reading),
            format=reading.format,
            since=since,
            until=_end_of(until),
        )
    with progress("Reading the policy"):
        policy = read_policy(draft.text, folder=output.parent)
    write_whole(output, draft.text, overwrite=overwrite)  # as private as the traces it is from
    cost = _cost(policy) if forecast else ()
    example = str(inputs[0]) if inputs else "TRIPS"
    return Draft(output, tuple(policy.regions), draft.notes, cost, example)


def _sources(paths: Sequence[str], reading: Reading) -> str | list[str] | None:
    """Return what a model is fitted on; nothing where the policy could not read it alike."""
    if not paths or reading.column or reading.as_user:
        return None
    return paths[0] if len(paths) == 1 else list(paths)


def _chosen(inputs: Sequence[Path], reading: Reading, users: list[str] | None) -> Iterator[Trace]:
    wanted, seen = set(users or ()), set()
    for path in inputs:
        for trace in reading.open(path):
            seen.add(str(trace.user))
            if not wanted or str(trace.user) in wanted:
                yield trace
    missing = sorted(wanted - seen)
    if missing:
        known = ", ".join(sorted(seen)[:8])
        raise InvalidParameter(
            f"There is no user {', '.join(map(repr, missing))} in what was given. There are: "
            f"{known}{', …' if len(seen) > 8 else ''}."
        )


def _end_of(until: datetime | None) -> datetime | None:
    """Return the end of a day that was given without a time."""
    if until is None or until.time() != datetime.min.time():
        return until
    return until + timedelta(days=1)


def _cost(policy: Policy) -> tuple[str, ...]:
    """Return what the draft would cost, in sentences."""
    from priste.forecast import quick_forecast

    with progress("Forecasting") as tell:
        row = quick_forecast(policy, seconds=FORECAST_SECONDS, on_progress=tell)
    if row.cost.steps < min(FEWEST_FORESEEN, row.cost.of_steps):
        return ("What it costs takes longer to simulate than fits here. Ask: priste forecast",)
    return (f"Forecast: {row.sentence()}", row.basis())
