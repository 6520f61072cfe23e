"""``priste init``: a policy to use as it stands, or to edit."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import Tell, progress
from priste.cli.options import AS_IT_TELLS, Overwrite, Reading, User
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.forecast import Forecast, Row
    from priste.policy import Policy
    from priste.traces import Trace
    from priste.traces.sources import Source

FEWEST_FORESEEN = 12
"""A forecast of fewer steps than that, because the time was over, says nothing."""

FORECAST_SECONDS = 8.0
"""How long the forecast of a draft may compute, over the policy and each of its models."""

ONE_USER = "(The option is --as-user NAME.)"
OF_AN_EXAMPLE = "It is for a person who lives where people usually are."

MOST_NAMED = 3
"""For this many inputs the next command is written out."""

DAY = "%Y-%m-%d"
TIMES = [DAY, "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


@dataclass(frozen=True)
class Draft:
    """The policy that was written, what was made of the traces, and what it would cost.

    ``foreseen`` is None where nothing was forecast, or not enough; ``cost`` says so then.
    """

    path: Path
    regions: tuple[str, ...]
    notes: tuple[str, ...]
    cost: tuple[str, ...]
    foreseen: Row | None
    next_commands: tuple[str, ...]
    places: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        return {
            "policy": str(self.path),
            "places": None if self.places is None else str(self.places),
            "regions": list(self.regions),
            "notes": list(self.notes),
            "cost": list(self.cost),
            "forecast": None if self.foreseen is None else _metres(self.foreseen),
        }

    def show(self, out: Console) -> None:
        """Print where it is, what is in it, what it costs, and what comes next."""
        homes = "" if self.places is None else f" and {self.places}"
        out.print(f"Wrote {self.path}{homes}.", markup=False)
        for note in (*self.notes, *self.cost):
            out.print(note, markup=False)
        out.print("Its event is an example: edit places and events as you need them. Next:")
        for line in self.next_commands:
            out.print(f"  {line}", markup=False, soft_wrap=True)  # to be copied whole


def _metres(row: Row) -> dict[str, float]:
    cost = row.cost
    return {
        "released": cost.released.all.value,
        "uncalibrated": cost.uncalibrated.all.value,
        "constant": cost.constant.all.value,
    }


def init(
    traces: Annotated[
        list[Path] | None, typer.Argument(help="Files or folders to take map and places from.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The policy to write.")] = Path(
        "policy.toml"
    ),
    user: User = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            "--from",
            metavar="TIME",
            formats=TIMES,
            help="From this day on, as 2026-03-02 or 2026-03-02T08:00, in the zone.",
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(
            "--to",
            metavar="TIME",
            formats=TIMES,
            help="Up to the end of this day, or to this time.",
        ),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOURS",
            help="Guard this time of the day or week, as 'fri 18:00-20:00'. Nothing in the draft "
            "depends on what happened then. May be repeated.",
        ),
    ] = None,
    kind: Annotated[
        Path | None,
        typer.Option(help="Guard all places of one kind: a GeoJSON file such as clinics.geojson."),
    ] = None,
    forecast: Annotated[
        bool, typer.Option(help="Simulate for a few seconds what the draft would cost.")
    ] = True,
    reading: Reading = AS_IT_TELLS,
    overwrite: Overwrite = False,
) -> Draft:
    """Write a commented policy, from traces if some are given.

    Traces are read without the hours that the drafted event guards.
    """
    from priste.atomic_files import check_apart, check_writable, write_file
    from priste.policy import drafted, read_policy
    from priste.policy.draft.event_templates import DAILY

    inputs = traces or []
    check_writable(output, overwrite=overwrite)
    homes = output.with_name(f"{output.stem}.homes.csv")
    check_apart({"policy": output, "homes": homes}, {f"input {path}": path for path in inputs})
    if not inputs and (user or since or until or guard or kind):
        raise InvalidParameter(
            "must be given with --user, --from, --to, --guard and --kind, which are about them",
            parameter="traces",
            owner="init",
        )
    with progress("Reading the traces", "people") as tell:
        people = _given(inputs, reading, user, tell)
        hours = guard or ([DAILY] if kind is not None else [])
        given = _put_together(people, (reading.zone, since, _end_of(until), hours))
        paths = [os.path.relpath(path, output.parent) for path in inputs]
        draft = drafted(
            given.people if inputs else None,
            zone=reading.zone,
            source=_sources(paths, given.reading),
            format=reading.format,
            since=since,
            until=_end_of(until),
            homes=homes.name,
            guard=guard or (),
            kind=None if kind is None else os.path.relpath(kind, output.parent),
        )
    if draft.homes is not None:
        check_writable(homes, overwrite=overwrite)
    with progress("Reading the policy"):
        policy = read_policy(draft.text, folder=output.parent)
    write_file(output, draft.text, overwrite=overwrite)  # as private as the traces it is from
    if draft.homes is not None:
        write_file(homes, draft.homes, overwrite=overwrite)
    places = None if draft.homes is None else homes
    foreseen = _foreseen(policy, only_person(policy, given.people)) if forecast else None
    return Draft(
        output,
        tuple(policy.regions),
        (*given.notes, *draft.notes),
        (*_cost(foreseen), *([] if places is None else [OF_AN_EXAMPLE])) if forecast else (),
        None if foreseen is None else foreseen.rows[0],
        tuple(_next_commands(output, inputs, given.reading, places)),
        places,
    )


def _next_commands(
    policy: Path, inputs: Sequence[Path], reading: Reading, places: Path | None
) -> Iterator[str]:
    """Yield what to type next, with the options under which the traces were read."""
    yield f"priste explain {shlex.quote(str(policy))}"
    options = "" if places is None else f" --places {shlex.quote(str(places))}"
    options += "".join(f" {word}" for word in reading.words())
    sources = [shlex.quote(str(path)) for path in inputs] or ["TRIPS"]
    for source in sources[:MOST_NAMED]:
        yield f"priste protect {source} -p {shlex.quote(str(policy))}{options}"
    if len(sources) > MOST_NAMED:
        yield f"and so on, for each of the {len(sources)}"


def _sources(paths: Sequence[str], reading: Reading) -> str | list[str] | None:
    """Return what a model is fitted on; nothing where the policy could not read it alike."""
    if not paths or reading.column or reading.as_user:
        return None
    return paths[0] if len(paths) == 1 else list(paths)


@dataclass(frozen=True)
class _Given:
    """The people of the inputs, how they are to be read, and whose the files were taken to be.

    ``name`` is that of the one person whose parts the files may be, None where they may not.
    """

    people: list[Trace]
    reading: Reading
    notes: tuple[str, ...] = ()
    may_be_parts: bool = False
    name: str | None = None


def _given(inputs: Sequence[Path], reading: Reading, users: list[str] | None, tell: Tell) -> _Given:
    """Read the inputs."""
    wanted, seen = set(users or ()), set()
    people: list[Trace] = []
    sources: list[Source] = []
    for path in inputs:
        opened = reading.open(path)
        sources.append(opened.source)
        for trace in opened:
            seen.add(str(trace.user))
            if not wanted or str(trace.user) in wanted:
                people.append(trace)
            tell(len(seen), max(len(seen), len(opened.source.files)))
    missing = sorted(wanted - seen)
    if missing:
        known = ", ".join(sorted(seen)[:8])
        raise InvalidParameter(
            f"must be in what was given: {known}{', …' if len(seen) > 8 else ''}",
            parameter="user",
            value=", ".join(missing),
        )
    in_parts = len(sources) == 1 and sources[0].is_person_a_file
    unnamed = len(sources) > 1 and all(trace.user is None for trace in people)
    notes = dict.fromkeys(f"{each.owners} {ONE_USER}" for each in sources if each.owners)
    parts = len(people) > 1 and (in_parts or unnamed) and not wanted
    name = sources[0].root.resolve().name if in_parts else None
    return _Given(people, reading, tuple(notes), parts, name)


def _put_together(
    given: _Given,
    asked: tuple[str | None, datetime | None, datetime | None, Sequence[str]],
) -> _Given:
    """Put parts together that are clearly one person's: what lies in guarded hours is not read."""
    from priste.policy.draft.facts import guarded
    from priste.traces.one_person import are_one_person, joined

    rest = guarded(given.people, *asked)[2] if given.may_be_parts else []
    if not are_one_person(rest):
        return given
    note = (
        f"The {len(rest)} files were never recorded at the same time, and most go on where "
        "the one before ended: they are taken for one person's."
    )
    reading = replace(given.reading, as_user=given.name)
    return _Given([joined(rest, given.name)], reading, (note,))


def _end_of(until: datetime | None) -> datetime | None:
    """Return the end of a day that was given without a time."""
    if until is None or until.time() != datetime.min.time():
        return until
    return until + timedelta(days=1)


def only_person(policy: Policy, people: Sequence[Trace]) -> Trace | None:
    """Return the one person with fixes outside guarded hours, None if there are several."""
    present = [trace for trace in people if policy.windows.outside(trace) is not None]
    return present[0] if len(present) == 1 else None


def _foreseen(policy: Policy, trace: Trace | None) -> Forecast | None:
    """Return what the draft would cost, None where the time was too short to tell.

    On the trace of the one person it was drafted from, if there is one outside guarded hours.
    """
    from priste.forecast import QUICK_RELEASES, QUICK_RUNS, forecast

    with progress("Forecasting", "releases") as tell:
        few: dict[str, Any] = {
            "runs": QUICK_RUNS,
            "releases": QUICK_RELEASES,
            "neighbours": "models",
            "seconds": FORECAST_SECONDS,
        }
        try:
            found = forecast(policy, trace=trace, on_progress=tell, **few)
        except InvalidParameter:
            if trace is None:
                raise
            found = forecast(policy, on_progress=tell, **few)
    cost = found.rows[0].cost
    return found if cost.steps >= min(FEWEST_FORESEEN, cost.of_steps) else None


def _cost(found: Forecast | None) -> tuple[str, ...]:
    from priste.forecast import model_costs

    if found is None:
        return ("What it costs takes longer to simulate than fits here. Ask: priste forecast",)
    row = found.rows[0]
    return (f"Forecast: {row.sentence()}", *model_costs(found.rows), row.basis())
