"""``priste studio``: the page on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from priste.cli.console import clean_errors, notices, warn_of_seed
from priste.cli.options import Format, Zone
from priste.errors import InvalidParameter
from priste.extras import need


def studio(
    file: Annotated[
        Path | None, typer.Argument(help="A trace to begin with, in any format priste reads.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="A policy for FILE; a draft if none is given."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is a free one.")] = 0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Only print the address; open no browser.")
    ] = False,
    basemap: Annotated[
        Path | None, typer.Option(help="Streets from a file: town.pmtiles or town.geojson.")
    ] = None,
    tiles: Annotated[
        str | None,
        typer.Option(
            help="Offer map images from this address, as https://HOST/{z}/{x}/{y}.png. Its owner "
            "sees which area you look at, once you switch them on in the page."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeatable draws, for experiments: NOT private.")
    ] = None,
    format: Format = None,
    zone: Zone = None,
) -> None:
    """Open a page on this machine to choose and try a policy."""
    with clean_errors():
        need("studio", "priste studio")
        from priste.cli.released_before import StudioReleases
        from priste.studio.basemap import open_basemap
        from priste.studio.routes import Studio
        from priste.studio.server import Server

        if file is not None and not file.exists():
            raise InvalidParameter(
                "must be a file or folder that is there",
                parameter="file",
                owner="studio",
                value=str(file),
            )
        if policy is not None and (file is None or not policy.is_file()):
            raise InvalidParameter(
                "must be a file, together with a FILE to begin with",
                parameter="policy",
                value=str(policy),
            )
        warn_of_seed(seed)
        pages = Studio(
            file=None if file is None else file.resolve(),
            policy=None if policy is None else policy.resolve(),
            reading={"format": format, "zone": zone},
            basemap=None if basemap is None else open_basemap(basemap),
            tiles=None if tiles is None else checked_tiles(tiles),
            seed=seed,
            register=StudioReleases(),
        )
        server = Server(pages, port)

        def greet() -> None:
            out = notices()
            out.print("The studio runs on this machine only. Open it in a browser:")
            out.print(f"  {server.address}", soft_wrap=True, markup=False, highlight=False)
            out.print("Stop it with Ctrl-C; what was not exported is then gone.")
            if not no_open:
                import webbrowser

                webbrowser.open(server.address)

        server.run(greet)


def checked_tiles(address: str) -> str:
    """Return the address of tiles; it becomes part of a security policy, so it must be plain.

    >>> checked_tiles("https://tiles.example/{z}/{x}/{y}.png")
    'https://tiles.example/{z}/{x}/{y}.png'
    """
    import re

    plain = r"https://[A-Za-z0-9.-]+(:\d{1,5})?/[A-Za-z0-9._~/{}=&?-]*"
    if re.fullmatch(plain, address) and all(part in address for part in ("{z}", "{x}", "{y}")):
        return address
    raise InvalidParameter(
        "must be an address such as https://HOST/{z}/{x}/{y}.png, with https and all "
        "of {z}, {x} and {y}",
        parameter="tiles",
        value=address,
    )
