"""``priste live``: the service between the true location and the apps, its status and its demo."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from priste.cli.console import (
    NOT_RUNNING,
    clean_errors,
    notices,
    print_json,
    printing,
    progress,
    results,
    warn_of_seed,
)
from priste.cli.live_setup import setup
from priste.cli.options import BesideEarlier
from priste.errors import InvalidParameter
from priste.extras import need

if TYPE_CHECKING:
    from priste.live.service import Service
    from priste.live.settings import Settings

app = typer.Typer(
    help="Release locations as they come, between phones and apps.",
    invoke_without_command=True,
    no_args_is_help=False,
)

State = Annotated[Path, typer.Option(help="The folder that keeps the streams: private.")]


@app.callback()
def live(
    context: typer.Context,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="The policy of one person, a TOML file.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Several people: settings in TOML.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--in",
            metavar="ADDRESS",
            help="Where fixes come from, as gpsd://127.0.0.1. May be repeated.",
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--out",
            metavar="ADDRESS",
            help="Where releases go, as nmea+tcp://127.0.0.1. May be repeated.",
        ),
    ] = None,
    state: State = Path("live-state"),
    listen: Annotated[
        str, typer.Option(help="The HTTP address for phones and pages, or 'none'.")
    ] = "127.0.0.1:8787",
    person: Annotated[str, typer.Option(help="The name under which releases are served.")] = "me",
    device: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only messages of this device. May be repeated."),
    ] = None,
    missing: Annotated[
        Literal["cover", "silence"], typer.Option(help="What a step without a fix releases.")
    ] = "cover",
    hold: Annotated[str, typer.Option(help="How long the last fix still counts, as 2h.")] = "0s",
    accuracy: Annotated[
        float | None,
        typer.Option(help="The accuracy that apps get, in m.  [default: half a diagonal]"),
    ] = None,
    point: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LAT,LON",
            help="A public point that stands for its cell, as home=46.01,7.02. Repeatable.",
        ),
    ] = None,
    avoid_guarded: Annotated[
        bool | None,
        typer.Option(
            "--avoid-guarded/--show-guarded",
            help="Release no point in a guarded place.  [default: avoid for Home Assistant]",
        ),
    ] = None,
    clock: Annotated[
        Literal["wall", "fixes"] | None,
        typer.Option(help="The clock that ends steps.  [default: fixes for recordings, else wall]"),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="A recording of earlier days, for a policy whose family has 'own'."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token that HTTP requests must carry.")
    ] = None,
    owntracks_key_file: Annotated[
        Path | None, typer.Option(help="A file with the key of the OwnTracks app's encryption.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="The certificate, for TLS.")] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the certificate.")] = None,
    expose: Annotated[
        bool, typer.Option("--expose", help="Allow addresses of other machines.")
    ] = False,
    plain_lan: Annotated[
        bool,
        typer.Option(
            "--plain-lan",
            help="Allow addresses of the local network without encryption: everybody in it can "
            "read tokens and true locations on their way.",
        ),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeatable draws, for experiments: NOT private.")
    ] = None,
    beside_earlier_releases: BesideEarlier = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show it at work on this machine, without a phone.")
    ] = False,
) -> None:
    """Release locations as they come, between phones and apps."""
    if context.invoked_subcommand is not None:
        return
    with clean_errors():
        need("live", "priste live")
        if demo:
            from priste.cli.live_demonstration import demonstrate

            demonstrate(results(), seed=1 if seed is None else seed)
            return
        warn_of_seed(seed)
        if (policy is None) == (config is None):
            raise InvalidParameter(
                "Give priste live a --policy for one person or a --config for several",
                hint="To see it at work first: priste live --demo",
            )
        if config is not None:
            from priste.live.settings import load_settings

            settings = load_settings(config)
        else:
            from priste.live.settings import ServiceDocument, read_point

            person_section = {
                "policy": str(policy),
                "devices": device or [],
                "token_file": _text(token_file),
                "owntracks_key_file": _text(owntracks_key_file),
                "in": inputs or [],
                "out": outputs or [],
                "missing": missing,
                "hold": hold,
                "accuracy": accuracy,
                "points": [read_point(each) for each in point or []],
                "avoid_guarded": avoid_guarded,
                "clock": clock,
                "history": _text(history),
            }
            document = ServiceDocument.model_validate(
                {
                    "state": str(state),
                    "listen": listen,
                    "certificate": _text(certificate),
                    "key": _text(key),
                    "expose": expose,
                    "plain_lan": plain_lan,
                    "people": {person: person_section},
                }
            )
            settings = document.settings(Path(), seed=seed)
        _run(settings, beside_earlier_releases)


app.command()(setup)


@app.command()
def status(
    state: State = Path("live-state"),
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of words.")
    ] = False,
) -> None:
    """Report the state of the service of a state folder."""
    with clean_errors():
        from priste.live.status import read_status

        found = read_status(state)
        with printing():
            if json:
                print_json(found)
            else:
                show_status(found, results())
                _show_page(found, state, results())
        if not found["running"]:
            raise typer.Exit(NOT_RUNNING)


@app.command()
def extension(
    target: Annotated[Path, typer.Argument(help="A new folder, or a file that ends with .xpi.")],
) -> None:
    """Write the browser extension that gives releases to web pages."""
    with clean_errors():
        from priste.live.browser_extension import export

        export(target)
        results().print(
            f"Written to {target}. How to load it: docs/how-to/browsers.md", markup=False
        )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _run(settings: Settings, beside_earlier: bool) -> None:
    import asyncio

    from priste.cli.released_before import LiveReleases
    from priste.live.logs import log_to_stderr
    from priste.live.service import Service
    from priste.quantify.worst_prior.compilation import spare_memory

    spare_memory()

    async def serve() -> None:
        service = Service(settings, releases=None if beside_earlier else LiveReleases())
        with progress("Reading policies and continuing streams"):
            service.open()
        log_to_stderr()
        await service.run(lambda running: _greet(running, notices()))

    asyncio.run(serve())


def _greet(service: Service, out: Console) -> None:
    """Say where everything is, once all of it listens."""
    from priste.live.own_days import guards_own_days

    settings, url = service.settings, service.url
    for person in service.people.values():
        stream = person.stream
        timeline = stream.policy.timeline
        step = stream.next_step
        if person.settings.clock == "wall":
            step = max(step, stream.step_at(service.clock.now()))
        out.print(
            f"[bold]{person.name}[/bold]: one release every {_length(timeline.step)}; the running "
            f"step began {timeline.time_of(step):%a %d %b %H:%M:%S}",
        )
        if stream.policy.depends_on_person:
            own = (
                "also guarded" if guards_own_days(stream.policy) else "not guarded (see --history)"
            )
            out.print(f"  {own} against a model of this person's earlier days")
        for line in person.inputs:
            out.print(f"  from  {line.address}", markup=False)
        if url is not None:
            out.print(f"  from  {url}/owntracks, …/osmand, …/overland, …/gpslogger", soft_wrap=True)
            out.print(f"  to    {url}/people/{person.name}/latest and …/events", soft_wrap=True)
        for outlet in person.outlets:
            port = getattr(outlet, "port", None)
            out.print(f"  to    {outlet.line.address}" + (f" (port {port})" if port else ""))
    out.print(f"How it is doing: priste live status --state {settings.state}", markup=False)


def _length(step: timedelta) -> str:
    """Return a length of time as the policy writes it, as 15min.

    >>> from datetime import timedelta
    >>> _length(timedelta(minutes=90)), _length(timedelta(hours=2))
    ('90min', '2h')
    """
    seconds = step.total_seconds()
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


def show_status(found: dict[str, Any], out: Console) -> None:
    """Print a status."""
    from priste.live.status import rows_of

    running = "running" if found["running"] else "[red]not running[/red]"
    out.print(f"{running}, process {found['process']}, status of {found['written'][:19]}Z")
    for name, person in found["people"].items():
        out.print(f"\n[bold]{name}[/bold]")
        for label, text in rows_of(person):
            out.print(f"  {label + ':' if label else '':<18}{text}", markup=False, soft_wrap=True)
        out.print(f"  guaranteed against {person['adversary']}", markup=False)
        table = Table("event", "leakage", "belief", "guarantee", box=None, padding=(0, 2))
        for event, each in person["events"].items():
            leakage, belief = f"{each['leakage']:.3f}", f"{100 * each['belief']:.1f} %"
            table.add_row(event, leakage, belief, each["guarantee"])
        out.print(table)
        for way, arrow in (("in", "from"), ("out", "to  ")):
            _show_lines(person[way], arrow, out)
    _show_lines(found["http"], "http", out)


def _show_page(found: dict[str, Any], state: Path, out: Console) -> None:
    """Print where the owner's page is, with its token."""
    from priste.live.access import owner_token

    if found["running"] and found["url"] is not None:
        page = f"{found['url']}/?token={owner_token(state)}"
        out.print(f"\nThe same as a page: {page}", markup=False, soft_wrap=True)


def _show_lines(lines: list[dict[str, Any]], arrow: str, out: Console) -> None:
    from priste.live.status import remarks_on

    for line in lines:
        said = f"{line['address']}: {line['state']}, {line['messages']} messages"
        out.print(f"  {arrow}  {said}", markup=False, soft_wrap=True)
        for remark in remarks_on(line):
            out.print(f"        {remark}", markup=False, soft_wrap=True)
