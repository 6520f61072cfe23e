"""The options about personal places, and whose policy is which with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.policy import Policy, PolicyOf
    from priste.traces import Traces

Places = Annotated[
    Path | None,
    typer.Option(help="A table of users' own regions: user, region, lat, lon, radius_km."),
]
Place = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGION",
        help="A region whose column of the input holds the personal places, as 'latitude "
        "longitude radius_km': home, or home=COLUMN. May be repeated.",
    ),
]


def columns_of_regions(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield regions and the columns of their personal places.

    >>> list(columns_of_regions(["home", "clinic=doctor"]))
    [('home', 'home'), ('clinic', 'doctor')]
    """
    for text in given:
        region, _, column = text.partition("=")
        if not region:
            raise InvalidParameter(
                "must be a region, as home or home=COLUMN", parameter="place", value=text
            )
        yield region, column or region


def policy_of_everybody(
    policy: Policy,
    table: Path | None,
    columns: Sequence[str] | None = None,
    traces: Traces | None = None,
) -> PolicyOf | None:
    """Return what tells the policy of each user, from a table and columns of ``traces``.

    ``columns`` are as --place takes them. None where neither is given: then everybody has the
    policy as it is.
    """
    from priste.batch.own_places import places_in_columns, policy_of_user, read_own_places

    if table is None and not columns:
        return None
    if columns and traces is None:
        raise InvalidParameter(
            "needs the protected file, of which it is a column", parameter="place"
        )
    found = [] if table is None else list(read_own_places(table, policy.regions))
    if columns and traces is not None:
        regions = dict(columns_of_regions(columns))
        found += places_in_columns(traces, regions, policy.regions)
    return policy_of_user(policy, found)
