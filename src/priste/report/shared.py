"""A page that may be shared: what was released, and the public part of the policy.

Nothing else can get into it, because nothing else is given: no event, no region, no model, no
ledger and no true location. Two worlds with the same released cells and the same public part give
the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from priste.maps import Grid
from priste.policy import Policy
from priste.policy.adversary_choice import ASSUMED
from priste.report.map_view import MapDrawing, MapView, Panel
from priste.report.pages import page
from priste.results.wording import length
from priste.traces import CellOfEachStep, Timeline

Released = Mapping[str | None, CellOfEachStep]
"""The released cell of each step, by user."""

MOST_DRAWN = 6
"""How many users have a map and a list of releases of their own."""


KINDS = {
    "AnyPrior": "any prior about where the stream begins",
    "StartsIn": "adversaries who know about where the stream begins",
    "KnownPrior": "adversaries whose prior about where the stream begins is one of the policy's",
    "LastSeen": "adversaries who saw the person some time before",
    "PriorsWithin": "adversaries whose prior is near that of the policy",
}
OTHER_KIND = "the adversaries of the policy"
"""The kinds of adversary in words that name no place."""


@dataclass(frozen=True)
class PublicPart:
    """What of a policy may be known to everybody who gets its releases.

    The map and the clock, which the released file shows anyway; what is guaranteed about each
    event, without saying about which; the kinds of adversary, mechanism and calibrator.
    """

    grid: Grid
    timeline: Timeline
    guarantees: tuple[str, ...]
    adversary: str
    mechanism: str
    calibrator: str
    guaranteed: bool
    combinations: str

    @classmethod
    def of(cls, policy: Policy) -> PublicPart:
        """Return the public part of a policy."""
        return cls(
            policy.grid,
            policy.timeline,
            tuple(sorted({each.guaranteed for each in policy.events.values()})),
            KINDS.get(type(policy.chosen_adversary.adversary).__name__, OTHER_KIND),
            str(policy.mechanism.describe()["kind"]).replace("_", " "),
            str(policy.calibrator.describe()["kind"]),
            policy.calibrator.guaranteed,
            _combinations(policy),
        )


def _combinations(policy: Policy) -> str:
    """Say which combinations of events are covered, without naming an event."""
    secrets = sum(len(each.stated.answers) > 2 for each in policy.events.values())
    said = []
    if secrets:
        said.append(
            "Where several events or answers are guarded together, the bound holds between any two "
            "of their combinations."
        )
    if len(policy.events) > secrets:
        said.append(
            "Each event is guarded by itself: combinations of events are not bounded, such as that "
            "exactly one of two happened."
        )
    if policy.recurring():
        said.append(
            "Of an event that recurs each day or week is guarded. No bound holds for “at least "
            "once” and “every time”; the owner of the data computes from the releases how far both "
            "moved (priste audit)."
        )
    return " ".join(said)


@dataclass(frozen=True)
class _Stream:
    title: str
    releases: int
    steps: int
    map: MapView
    rows: tuple[tuple[str, int], ...]


def shared_page(public: PublicPart, released: Released) -> str:
    """Return the page as text: a pure function of what it is given."""
    streams = [_stream(public, user, cells) for user, cells in released.items()][:MOST_DRAWN]
    people = len(released)
    return page(
        "shared.html",
        title="What was released" + (f" for {people:,} users" if people > 1 else ""),
        public=public,
        streams=streams,
        people=people,
        releases=sum(cell is not None for cells in released.values() for cell in cells),
        cell_size=length(1000 * public.grid.cell_size),
        assumed=ASSUMED,
    )


def _stream(public: PublicPart, user: str | None, cells: CellOfEachStep) -> _Stream:
    there = [cell for cell in cells if cell is not None]
    drawing = MapDrawing(public.grid, sorted(set(there)), {})
    words = f"{len(there)} releases in {len(set(there))} cells; stronger cells have more."
    panel = Panel("What was released", words, drawing.counted(there, "released"))
    line = public.timeline
    return _Stream(
        "What was released" if user is None else f"What was released for {user}",
        len(there),
        len(cells),
        drawing.view([panel]),
        tuple(
            (f"{line.time_of(step):%a %d %b %Y %H:%M}", cell)
            for step, cell in enumerate(cells)
            if cell is not None
        ),
    )
