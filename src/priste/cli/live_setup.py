"""``priste live setup``: a few questions, then files, a link for the phone, and tests."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import urlsplit

import typer

from priste.cli.console import clean_errors, progress, results
from priste.errors import InvalidParameter, PristeError

if TYPE_CHECKING:
    from rich.console import Console

    from priste.live.setting_up.answers import Answers
    from priste.live.setting_up.webhook_registration import HomeAssistant

PLAIN_WARNING = (
    "Plain HTTP in the local network: everybody in it (guests, other devices, the owner of the "
    "router) can read the phone's true locations and its token on their way to this machine."
)

Answer = TypeVar("Answer")


def setup(
    folder: Annotated[Path, typer.Argument(help="A new folder for everything that is written.")],
    person: Annotated[str, typer.Option(help="The name under which releases are served.")] = "me",
    home: Annotated[str | None, typer.Option(help="Where you live, as 46.0131,7.0192.")] = None,
    reach_km: Annotated[
        float, typer.Option(min=0.5, max=100, help="How far the map reaches around the home.")
    ] = 5.0,
    trace: Annotated[
        Path | None,
        typer.Option(help="A recorded trace: map, home and habits are taken from it."),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE", help="A place to keep deniable, as clinic=46.01,7.05,0.1. Repeats."
        ),
    ] = None,
    hours: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOURS", help="When, as 'wed 14:00-16:00' or '14:00-16:00'. May be repeated."
        ),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(min=0.01, max=10, help="How far odds may move: e^epsilon.")
    ] = 1.0,
    url: Annotated[
        str | None,
        typer.Option(help="The https:// address at which phones reach this machine."),
    ] = None,
    plain_lan: Annotated[
        bool, typer.Option("--plain-lan", help="Plain HTTP in the local network: it can be read.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on.")] = 8787,
    home_assistant: Annotated[
        str | None, typer.Option(help="The address of Home Assistant, or 'none'.")
    ] = None,
    home_assistant_token_file: Annotated[
        Path | None, typer.Option(help="A file with an access token of Home Assistant.")
    ] = None,
    out: Annotated[
        list[str] | None,
        typer.Option("--out", metavar="ADDRESS", help="A further output. May be repeated."),
    ] = None,
    unit: Annotated[
        Path | None,
        typer.Option(help="Where to write the systemd unit.  [default: asked; else in the folder]"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing, and use the defaults.")] = False,
) -> None:
    """Set up a service: policy, settings, link for the phone, unit.

    Every question is also an option. No location is sent to another machine.
    """
    with clean_errors():
        from priste.extras import need

        need("live", "priste live setup")
        from priste.live.addresses import Reach
        from priste.live.setting_up.answers import Answers, read_guarded, read_place

        ask = _Questions(asking=not yes and sys.stdin.isatty())
        if not plain_lan and url is None:
            url = ask.text("The https:// address of this machine for phones (empty for none)", "")
            if not url and ask.sure(f"{PLAIN_WARNING} Use it?"):
                plain_lan = True
        known = _home_assistant(ask, home_assistant, home_assistant_token_file, plain_lan)
        times = hours or [
            ask.need("When something must stay deniable", str.strip, "--hours", "wed 14:00-16:00")
        ]
        draft = None if trace is None else _draft(trace, times)
        where = _home_of(known, draft)
        lives = (
            read_place(home)
            if home
            else ask.need("Where you live, as LAT,LON", read_place, "--home", where)
        )
        places = [read_guarded(text) for text in guard or []] or [
            ask.need("A place to keep deniable then, as clinic=LAT,LON", read_guarded, "--guard")
        ]
        host = "127.0.0.1"
        if plain_lan:
            host = ask.text("The address of this machine in the local network", _lan_address())
        hooks = () if known is None else (known.webhook(person),)
        answers = Answers(
            person=person,
            home=lives,
            guarded=tuple(places),
            hours=tuple(times),
            reach_km=reach_km,
            epsilon=epsilon,
            listen=f"{host}:{port}",
            url=url or f"http://{host}:{port}",
            reach=Reach.PLAIN if plain_lan else Reach.HERE,
            outputs=(*hooks, *(out or [])),
            show_home=known is not None,
            draft=draft,
            history=trace,
        )
        with progress("Writing and checking the policy"):
            answers.write(folder, date.today())
        out_to = results()
        if not _try_outputs(folder, out_to):
            out_to.print("The output will be tried again and again; mend live.toml if it is wrong.")
        _write_unit(ask, folder, unit, out_to)
        _finish(answers, folder, out_to)


class _Questions:
    """Asks at a terminal; otherwise, and with --yes, defaults count."""

    def __init__(self, *, asking: bool) -> None:
        self.asking = asking

    def text(self, question: str, default: str, *, secret: bool = False) -> str:
        if not self.asking:
            return default
        shown = bool(default)
        return str(typer.prompt(question, default=default, hide_input=secret, show_default=shown))

    def sure(self, question: str) -> bool:
        return self.asking and typer.confirm(question, default=False)

    def need(
        self, question: str, read: Callable[[str], Answer], option: str, default: str = ""
    ) -> Answer:
        """Ask until an answer can be read; without a terminal name the option."""
        if not self.asking:
            if default:
                return read(default)
            raise InvalidParameter(
                "must be given where nothing can be asked",
                parameter=option,
                owner="priste live setup",
            )
        while True:
            try:
                return read(self.text(question, default))
            except PristeError as problem:
                typer.echo(str(problem))


def _home_assistant(
    ask: _Questions, url: str | None, token_file: Path | None, plain: bool
) -> HomeAssistant | None:
    from priste.live.addresses import secret_from
    from priste.live.setting_up.webhook_registration import HomeAssistant

    if url is None:
        url = ask.text("The address of Home Assistant, as https://HOST:8123 (empty for none)", "")
    if url in ("", "none"):
        return None
    if token_file is not None:
        token = secret_from(token_file)
    else:
        token = ask.text("A long-lived access token (profile page, at the bottom)", "", secret=True)
    if not token:
        raise InvalidParameter(
            "is needed to register with Home Assistant", parameter="--home-assistant-token-file"
        )
    return HomeAssistant(url, token, plain=plain)


def _draft(trace: Path, hours: Sequence[str]) -> str:
    """Return a policy drafted from a trace, read without the guarded hours."""
    from priste.policy import drafted
    from priste.traces import read_traces

    with progress("Reading the trace"):
        return drafted(read_traces(trace), guard=hours).text


def _home_of(known: HomeAssistant | None, draft: str | None) -> str:
    """Return the home that Home Assistant or a draft knows, as it is asked for; else nothing."""
    import tomllib

    if known is not None:
        stands = known.home()
        return f"{stands.lat},{stands.lon}"
    regions = tomllib.loads(draft)["regions"] if draft else {}
    circle = regions.get("home", {}).get("circle")
    return f"{circle['lat']},{circle['lon']}" if circle else ""


def _lan_address() -> str:
    """Return this machine's address in its network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _try_outputs(folder: Path, out: Console) -> bool:
    from priste.live.setting_up.trying import try_output
    from priste.live.settings import load_settings

    (person,) = load_settings(folder / "live.toml").people
    fine = True
    for address in person.outputs:
        wrong = asyncio.run(try_output(address))
        out.print(f"{address.shown}: {'answers' if wrong is None else wrong}", markup=False)
        fine = fine and wrong is None
    return fine


def _write_unit(ask: _Questions, folder: Path, unit: Path | None, out: Console) -> None:
    from priste.atomic_files import write_file
    from priste.live.setting_up.unit import USER_UNIT, unit_text

    if unit is None:
        asked = ask.sure(f"Start it with your session, by {USER_UNIT}?")
        unit = USER_UNIT.expanduser() if asked else folder / USER_UNIT.name
    unit.parent.mkdir(parents=True, exist_ok=True)
    write_file(unit, unit_text(folder / "live.toml"))
    out.print(f"Wrote the unit {unit}.", markup=False)


def _finish(answers: Answers, folder: Path, out: Console) -> None:
    from priste.live.addresses import is_loopback
    from priste.live.setting_up.owntracks_link import link, qr_code
    from priste.policy import load_policy

    policy = load_policy(folder / "policy.toml", try_events=False)
    address = link(answers.url, answers.person, answers.token)
    out.print(f"Guaranteed against {policy.chosen_adversary.words}:", markup=False)
    for name, each in {event.name: event for event in policy.events.values()}.items():
        out.print(f"  {name}: {each.guarantee.words()}", markup=False)
    out.print("For the OwnTracks app: open this link on the phone, or scan it. It holds the token.")
    if is_loopback(urlsplit(answers.url).hostname or ""):
        out.print(
            "It works on this machine only. For a phone give --url https://… (a reverse proxy or a "
            "tunnel to the port), or --plain-lan."
        )
    out.print(address, markup=False, soft_wrap=True, highlight=False)
    if sys.stdout.isatty():
        typer.echo(qr_code(address))
    out.print(f"What it will cost: priste forecast {folder / 'policy.toml'}", markup=False)
    out.print(f"Start it now:      priste live --config {folder / 'live.toml'}", markup=False)
